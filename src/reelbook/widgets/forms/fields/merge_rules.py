"""Merges two rules of a JSON schema, as far as a form draws them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....models.described.schema_view import ANNOTATIONS

Schema = Mapping[str, Any]


def merge_rules(one: Schema, other: Schema) -> Schema | None:
    """One rule for two rules, as far as it is drawn; None if impossible. Annotations of the first have precedence.

    >>> merge_rules({"minimum": 0, "title": "Size"}, {"minimum": 1, "maximum": 9, "title": "Area"})
    {'minimum': 1, 'title': 'Size', 'maximum': 9}
    """
    merged = dict(one)
    for keyword, value in other.items():
        own = merged.setdefault(keyword, value)
        if own == value or keyword in ANNOTATIONS or keyword.startswith("x-"):
            continue
        joined = _merge_keyword(keyword, own, value)
        if joined is None:
            return None
        merged[keyword] = joined
    return merged


def _merge_keyword(keyword: str, own: Any, other: Any) -> Any:
    match keyword:
        case "minimum" | "exclusiveMinimum" | "minLength" | "minItems":
            return max(own, other)
        case "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems":
            return min(own, other)
        case "enum":
            return [value for value in own if value in other]
        case "required":
            return list(dict.fromkeys([*own, *other]))
        case "allOf":
            return [*own, *other]
        case "type":
            return "integer" if {str(own), str(other)} == {"integer", "number"} else None
        case "properties":
            shared = own.keys() & other.keys()
            return {**own, **other, **{name: {"allOf": [own[name], other[name]]} for name in shared}}
    return None
