"""Tables without the sender's folders, and without addresses that give access to files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ...models.catalog import CATALOG
from ...sweeps.table_files import IMAGES, VIDEO

if TYPE_CHECKING:
    import pandas as pd

OUTPUT, URL = "output_", "url"
PLAIN = "biufcmM"
"""The kinds of dtypes that hold numbers and times, and no texts."""

_BARE = re.compile(r"https?://[^\s'\"<>\\]+", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://|data:|file_[0-9a-f]+\Z|sha256:", re.IGNORECASE)


def make_shareable(table: pd.DataFrame) -> pd.DataFrame:
    """The table without the addresses of results, which give access to them, and the folders of source pictures."""
    # By position: a joined table may have two columns of the same name.
    shared = table.loc[:, [not is_address_column(str(name)) for name in table.columns]].copy()
    fields = find_picture_fields()
    for place, name in enumerate(map(str, shared.columns)):
        if name in fields:
            shared.isetitem(place, _make_column(shared.index, map(_strip_folders, shared.iloc[:, place])).array)
    return shared


def rename_files(table: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """The table with these names in place of the paths of its files."""

    def rename(value: Any) -> Any:
        if isinstance(value, str):
            return names.get(value)
        is_list = isinstance(value, (list, tuple)) or type(value).__name__ == "ndarray"
        return [rename(path) for path in value] if is_list else None

    changed = table.copy()
    for name in (VIDEO, IMAGES):
        if name in table.columns:
            changed[name] = _make_column(table.index, map(rename, table[name]))
    return changed


def find_picture_fields() -> set[str]:
    """The names of the fields with source pictures, of all models."""
    pictures = {"images", "frames"}
    for row in CATALOG:
        for name, field in row.input.model_fields.items():
            extra = field.json_schema_extra
            if isinstance(extra, dict) and extra.get("x-media") == "image":
                pictures.add(name)
    return pictures


def _strip_folders(value: Any) -> Any:
    """The value with file names in place of paths."""
    if isinstance(value, str):
        return value if _ADDRESS.match(value) else re.split(r"[/\\]", value)[-1]
    if isinstance(value, Mapping):
        return {name: _strip_folders(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)) or type(value).__name__ == "ndarray":
        return [_strip_folders(item) for item in value]
    return value


def _make_column(index: pd.Index[Any], values: Iterable[Any]) -> pd.Series[Any]:
    import pandas as pd

    return pd.Series(list(values), index=index, dtype=object)


# Addresses of results, each of which gives access to its file.


def is_address_column(name: str) -> bool:
    """Whether a column holds only addresses of results.

    >>> [is_address_column(name) for name in ("output_video_url", "output_video", "image_url")]
    [True, False, False]
    """
    return name.startswith(OUTPUT) and _is_address(name)


def hide_addresses(name: str, values: pd.Series[Any]) -> pd.Series[Any]:
    """The values of an output without the addresses in them: each size of a resize repeats its pictures."""
    if not name.startswith(OUTPUT) or name in (VIDEO, IMAGES) or is_address_column(name) or values.dtype.kind in PLAIN:
        return values
    return _make_column(values.index, map(strip_addresses, values))


def strip_addresses(value: Any) -> Any:
    """The value of an `output_…` column without addresses at any depth, also inside a text.

    >>> strip_addresses([{"images": [{"url": "https://a/b?token=1", "width": 9}], "zip_url": None}])
    [{'images': [{'width': 9}]}]
    >>> strip_addresses('{"url": "https://a/b?token=1", "seed": 7}')
    '{"url": "…", "seed": 7}'
    """
    if isinstance(value, Mapping):
        return {name: strip_addresses(item) for name, item in value.items() if not _is_address(str(name))}
    if isinstance(value, (list, tuple, set, frozenset)) or type(value).__name__ == "ndarray":
        return [strip_addresses(item) for item in value]
    return _BARE.sub("…", value) if isinstance(value, str) else value


def _is_address(name: str) -> bool:
    words = name.lower().split("_")
    return words[-1] in (URL, f"{URL}s")
