"""A table as it may be sent to somebody else: without the folders of whoever sends it, and without addresses that open files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...models.catalog import CATALOG
from ...sweeps.results.accessor import IMAGES, VIDEO
from .strip_addresses import OUTPUT, PLAIN, is_address_column, strip_addresses

if TYPE_CHECKING:
    import pandas as pd

_ADDRESS = re.compile(r"https?://|data:|file_[0-9a-f]+\Z|sha256:", re.IGNORECASE)


def make_shareable(table: pd.DataFrame) -> pd.DataFrame:
    """The table without the addresses of results, which are a right to fetch them, and with the names alone of source pictures."""
    # By position: a table that was joined may have two columns of one name.
    kept = _without_results(table.loc[:, [not is_address_column(str(name)) for name in table.columns]])
    for name in _picture_fields() & set(kept.columns):
        kept[name] = _objects(kept, [_named(value) for value in kept[name]])
    return kept


def rename_files(table: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """The table with these names in place of the paths of its files."""
    changed = table.copy()
    if VIDEO in table.columns:
        changed[VIDEO] = _objects(table, [_renamed(value, names) for value in table[VIDEO]])
    if IMAGES in table.columns:
        found = [None if value is None or isinstance(value, (float, str)) else value for value in table[IMAGES]]
        changed[IMAGES] = _objects(
            table, [value and [_renamed(one, names) for one in value] for value in map(_list, found)]
        )
    return changed


def _without_results(table: pd.DataFrame) -> pd.DataFrame:
    """A copy, what came back without the addresses that stand deeper in it: each size of a resize repeats its pictures."""
    kept = table.copy()
    for place, name in enumerate(map(str, table.columns)):
        values = table.iloc[:, place]
        if name.startswith(OUTPUT) and name not in (VIDEO, IMAGES) and values.dtype.kind not in PLAIN:
            kept.isetitem(place, _objects(table, [strip_addresses(value) for value in values]).array)
    return kept


def _picture_fields() -> set[str]:
    """The fields of all models that hold source pictures, alone or in parts."""
    pictures = {"images", "frames"}
    for row in CATALOG:
        for name, field in row.input.model_fields.items():
            extra = field.json_schema_extra
            if isinstance(extra, dict) and extra.get("x-media") == "image":
                pictures.add(name)
    return pictures


def _named(value: Any) -> Any:
    """The value with the last parts of its paths."""
    if isinstance(value, str):
        return value if _ADDRESS.match(value) else re.split(r"[/\\]", value)[-1]
    if isinstance(value, Mapping):
        return {name: _named(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)) or type(value).__name__ == "ndarray":
        return [_named(item) for item in value]
    return value


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    return names.get(value) if isinstance(value, str) else None


def _list(value: Any) -> list[Any] | None:
    return None if value is None or type(value).__name__ == "NAType" else list(value)


def _objects(table: pd.DataFrame, values: list[Any]) -> pd.Series[Any]:
    import pandas as pd

    return pd.Series(values, index=table.index, dtype=object)
