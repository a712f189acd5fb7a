"""What a page that is given away says of a table: no folders of the sender, and no addresses that give access to files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from ...models.catalog import CATALOG
from ...sweeps.table_files import IMAGES, VIDEO

if TYPE_CHECKING:
    import pandas as pd

OUTPUT, URL = "output_", "url"
PLAIN = "biufcmM"
"""The kinds of dtypes that hold numbers and times, and no texts."""

_ADDRESS_IN_TEXT = re.compile(r"https?://[^\s'\"<>\\]+", re.IGNORECASE)
_NO_PATH = re.compile(r"https?://|data:|file_[0-9a-f]+\Z|sha256:", re.IGNORECASE)


def make_shareable(table: pd.DataFrame) -> pd.DataFrame:
    """The table without columns of addresses, and with values that may be shared."""
    # By position: a joined table may have two columns of the same name.
    shared = table.loc[:, [not is_address_column(str(name)) for name in table.columns]].copy()
    for place, name in enumerate(map(str, shared.columns)):
        values = shared.iloc[:, place]
        if (without := share_values(name, values)) is not values:
            shared.isetitem(place, without.array)
    return shared


def share_values(name: str, values: pd.Series[Any], *, has_files: bool = True) -> pd.Series[Any]:
    """The values of a column: of source pictures without their folders, of outputs without addresses.

    Those of the files themselves are kept, unless it is only their names that are shown.
    """
    change: Callable[[Any], Any] | None = None
    if name in find_picture_fields() or (name in (VIDEO, IMAGES) and not has_files):
        change = strip_folders
    elif name.startswith(OUTPUT) and name not in (VIDEO, IMAGES) and not is_address_column(name):
        change = strip_addresses
    if change is None or values.dtype.kind in PLAIN:
        return values
    import pandas as pd

    return pd.Series([change(value) for value in values], index=values.index, dtype=object)


@cache
def find_picture_fields() -> frozenset[str]:
    """The names of the fields with source pictures, of all models."""
    marked = {
        name
        for row in CATALOG
        for name, field in row.input.model_fields.items()
        if isinstance(field.json_schema_extra, dict) and field.json_schema_extra.get("x-media") == "image"
    }
    return frozenset({"images", "frames", *marked})


def strip_folders(value: Any) -> Any:
    """The value with file names in place of paths, also in a list of them as text.

    >>> strip_folders("/home/ana/boat.png, https://example.org/a/b.png, C:\\\\pictures\\\\sea.png for 12 frames")
    'boat.png, https://example.org/a/b.png, sea.png for 12 frames'
    """
    if isinstance(value, str):
        parts = value.split(", ")
        return ", ".join(part if _NO_PATH.match(part) else re.split(r"[/\\]", part)[-1] for part in parts)
    return _change_items(value, strip_folders)


def is_address_column(name: str) -> bool:
    """Whether a column holds only addresses of results, each of which gives access to its file.

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
    return _ADDRESS_IN_TEXT.sub("…", value) if isinstance(value, str) else _change_items(value, strip_addresses)


def _change_items(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, Mapping):
        return {name: change(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)) or type(value).__name__ == "ndarray":
        return [change(item) for item in value]
    return value


def _is_address(name: str) -> bool:
    words = name.lower().split("_")
    return words[-1] in (URL, f"{URL}s")
