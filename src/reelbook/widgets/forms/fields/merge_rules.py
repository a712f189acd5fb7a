"""Two rules of a JSON schema as one, as far as a form draws them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

ABOUT = {"title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly"}
"""What is said about a value without judging it."""


def both(one: Schema, other: Schema) -> Schema | None:
    """One rule for what two rules ask, as far as it is drawn; None where it cannot be. The first one says what it is called.

    >>> both({"minimum": 0, "title": "Size"}, {"minimum": 1, "maximum": 9, "title": "Area"})
    {'minimum': 1, 'title': 'Size', 'maximum': 9}
    """
    whole = dict(one)
    for word, value in other.items():
        own = whole.setdefault(word, value)
        if own == value or word in ABOUT or word.startswith("x-"):
            continue
        joined = _joined(word, own, value)
        if joined is None:
            return None
        whole[word] = joined
    return whole


def _joined(word: str, own: Any, other: Any) -> Any:
    match word:
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
