"""Tables without the sender's folders, and without addresses that give access to files."""

from __future__ import annotations

import re
from collections.abc import Mapping
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
    shared = _without_addresses(table.loc[:, [not is_address_column(str(name)) for name in table.columns]])
    for name in find_picture_fields() & set(shared.columns):
        shared[name] = _make_column(shared, [_strip_folders(value) for value in shared[name]])
    return shared


def rename_files(table: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """The table with these names in place of the paths of its files."""
    changed = table.copy()
    if VIDEO in table.columns:
        changed[VIDEO] = _make_column(table, [_rename(value, names) for value in table[VIDEO]])
    if IMAGES in table.columns:
        found = [None if value is None or isinstance(value, (float, str)) else value for value in table[IMAGES]]
        changed[IMAGES] = _make_column(
            table, [value and [_rename(one, names) for one in value] for value in map(_as_list, found)]
        )
    return changed


def _without_addresses(table: pd.DataFrame) -> pd.DataFrame:
    """A copy without addresses inside the values of outputs: each size of a resize repeats its pictures."""
    cleaned = table.copy()
    for place, name in enumerate(map(str, table.columns)):
        values = table.iloc[:, place]
        if name.startswith(OUTPUT) and name not in (VIDEO, IMAGES) and values.dtype.kind not in PLAIN:
            cleaned.isetitem(place, _make_column(table, [strip_addresses(value) for value in values]).array)
    return cleaned


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


def _rename(value: Any, names: Mapping[str, str]) -> Any:
    return names.get(value) if isinstance(value, str) else None


def _as_list(value: Any) -> list[Any] | None:
    return None if value is None or type(value).__name__ == "NAType" else list(value)


def _make_column(table: pd.DataFrame, values: list[Any]) -> pd.Series[Any]:
    import pandas as pd

    return pd.Series(values, index=table.index, dtype=object)


# Addresses of results, each of which gives access to its file.


def is_address_column(name: str) -> bool:
    """Whether a column holds only addresses of results.

    >>> [is_address_column(name) for name in ("output_video_url", "output_video", "image_url")]
    [True, False, False]
    """
    return name.startswith(OUTPUT) and _is_address(name)


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
