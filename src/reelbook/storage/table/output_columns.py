"""Columns of the runs' outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...util.printable import printable
from .typed_columns import ColumnBuilder


def build_output_columns(builders: Mapping[str, ColumnBuilder]) -> dict[str, ColumnBuilder]:
    """Columns of the output; of files only their URLs at the service."""
    found: dict[str, ColumnBuilder] = {}
    for name, builder in builders.items():
        if any(map(_is_file, builder.values)):
            found[f"output_{name}_url"] = builder.mapped(_address)
        elif any(isinstance(value, list) and any(map(_is_file, value)) for value in builder.values):
            found[f"output_{name}_url"] = builder.mapped(_addresses)
        else:
            found[f"output_{name}"] = builder.mapped(_escape_controls)
    return found


def _escape_controls(value: Any) -> Any:
    """A value of the output with control characters escaped: pandas prints them unescaped."""
    if isinstance(value, str):
        return value if value.isprintable() else printable(value)
    if isinstance(value, list):
        return [_escape_controls(item) for item in value]
    return (
        {_escape_controls(name): _escape_controls(item) for name, item in value.items()}
        if isinstance(value, dict)
        else value
    )


def _is_file(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("url"), str)


def _address(value: Any) -> str | None:
    # A file embedded in the response has no address: it is on the shelf.
    return value["url"] if _is_file(value) and value["url"].startswith(("https://", "http://")) else None


def _addresses(value: Any) -> list[str | None] | None:
    return [_address(item) for item in value] if isinstance(value, list) else None
