"""JSON Schema checks of lists and objects, apart from their contents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...errors import Problem
from ..problems import Loc, compact_value, format_literal, format_number, format_subject, unknown_field
from .frozen_json import Record, equality_key, thaw
from .schema_view import rules_for_field


def list_problems(value: tuple[Any, ...], rule: Mapping[str, Any], loc: Loc) -> Iterator[Problem]:
    """Problems of a list, apart from those of its entries.

    >>> [problem.message for problem in list_problems((1, 1.0), {"uniqueItems": True}, ("sizes",))]
    ['`sizes[1]` = 1.0 repeats `sizes[0]`; all entries must differ.']
    """
    yield from _count(len(value), rule, "Items", ("entry", "entries"), loc)
    if rule.get("uniqueItems"):
        places: dict[Any, int] = {}
        again = (place for place, item in enumerate(value) if places.setdefault(equality_key(item), place) != place)
        for place in again:
            first, item = (*loc, places[equality_key(value[place])]), thaw(value[place])
            words = f"{format_subject((*loc, place))} = {format_literal(item)} repeats {format_subject(first)}; all entries must differ."
            yield Problem((*loc, place), words, "not_unique", compact_value(item))
            return


def object_problems(
    value: Record, rule: Mapping[str, Any], loc: Loc, *, with_messages: bool = True
) -> Iterator[Problem]:
    """Problems of an object, apart from those of its fields. Without `with_messages` some are empty, which is quicker.

    >>> rule = {"required": ["path"], "properties": {"path": {}, "scale": {}}, "additionalProperties": False}
    >>> [problem.message for problem in object_problems(Record({"scael": 1}), rule, ())]
    ['`path` is required.', 'There is no field `scael`. Did you mean `scale`?']
    """
    yield from (_missing((*loc, name)) for name in rule.get("required", ()) if name not in value)
    for name, others in rule.get("dependentRequired", {}).items():
        absent = [other for other in others if name in value and other not in value]
        yield from (_missing((*loc, other), f" where {format_literal(name)} is given") for other in absent)
    yield from _count(len(value), rule, "Properties", ("field", "fields"), loc)
    known = rule.get("properties", ())
    for name in value:
        if not rules_for_field(rule, name):
            place = (*loc, name)
            yield (
                unknown_field(place, thaw(value[name]), known)
                if with_messages
                else Problem(place, "", "extra_forbidden")
            )


def _missing(loc: Loc, where: str = "") -> Problem:
    return Problem(loc, f"{format_subject(loc)} is required{where}.", "missing")


def _count(size: int, rule: Mapping[str, Any], what: str, names: tuple[str, str], loc: Loc) -> Iterator[Problem]:
    for word, kind, bound in ((f"min{what}", "too_short", "at least"), (f"max{what}", "too_long", "at most")):
        if word in rule and (size < rule[word] if kind == "too_short" else size > rule[word]):
            name = names[0] if rule[word] == 1 else names[1]
            yield Problem(
                loc, f"{format_subject(loc)} needs {bound} {format_number(rule[word])} {name} and has {size}.", kind
            )
