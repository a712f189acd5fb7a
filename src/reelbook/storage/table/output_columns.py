"""Columns of the runs' outputs."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any

from ...util.printable import map_texts, printable
from .typed_columns import ColumnBuilder

_PLAIN = {str, int, float, bool, NoneType}


def build_output_columns(builders: Mapping[str, ColumnBuilder]) -> dict[str, ColumnBuilder]:
    """Columns of the output; of files only their URLs at the service."""
    found: dict[str, ColumnBuilder] = {}
    for name, builder in builders.items():
        kinds = set(map(type, builder.values))
        if dict in kinds and any(map(_is_file, builder.values)):
            found[f"output_{name}_url"] = builder.mapped(_address)
        elif list in kinds and any(isinstance(value, list) and any(map(_is_file, value)) for value in builder.values):
            found[f"output_{name}_url"] = builder.mapped(_addresses)
        elif kinds <= _PLAIN and "".join(value for value in builder.values if type(value) is str).isprintable():
            found[f"output_{name}"] = builder
        else:
            found[f"output_{name}"] = builder.mapped(_escape_controls)
    return found


def _escape_controls(value: Any) -> Any:
    """A value of the output with control characters escaped: pandas prints them unescaped."""
    return map_texts(value, lambda text: text if text.isprintable() else printable(text))


def _is_file(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("url"), str)


def _address(value: Any) -> str | None:
    # A file embedded in the response has no address: it is on the shelf.
    return value["url"] if _is_file(value) and value["url"].startswith(("https://", "http://")) else None


def _addresses(value: Any) -> list[str | None] | None:
    return [_address(item) for item in value] if isinstance(value, list) else None
