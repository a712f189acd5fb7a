"""What a JSON Schema says about a list or an object as a whole, and which rules it has for what is inside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...errors import Problem
from ..problems import Loc, kept, number, shown, subject, unknown_field
from .frozen_json import Record, sameness, thawed
from .regex_patterns import matches

Rule = Mapping[str, Any] | bool


def list_problems(value: tuple[Any, ...], rule: Mapping[str, Any], loc: Loc) -> Iterator[Problem]:
    """What is wrong with a list, whatever its entries.

    >>> [problem.message for problem in list_problems((1, 1.0), {"uniqueItems": True}, ("sizes",))]
    ['`sizes[1]` = 1.0 repeats `sizes[0]`; all entries must differ.']
    """
    yield from _count(len(value), rule, "Items", ("entry", "entries"), loc)
    if rule.get("uniqueItems"):
        places: dict[Any, int] = {}
        again = (place for place, item in enumerate(value) if places.setdefault(sameness(item), place) != place)
        for place in again:
            first, item = (*loc, places[sameness(value[place])]), thawed(value[place])
            words = f"{subject((*loc, place))} = {shown(item)} repeats {subject(first)}; all entries must differ."
            yield Problem((*loc, place), words, "not_unique", kept(item))
            return


def object_problems(value: Record, rule: Mapping[str, Any], loc: Loc, *, words: bool = True) -> Iterator[Problem]:
    """What is wrong with an object, whatever is in its fields. Without `words` some say nothing, which is quicker.

    >>> rule = {"required": ["path"], "properties": {"path": {}, "scale": {}}, "additionalProperties": False}
    >>> [problem.message for problem in object_problems(Record({"scael": 1}), rule, ())]
    ['`path` is required.', 'There is no field `scael`. Did you mean `scale`?']
    """
    yield from (_missing((*loc, name)) for name in rule.get("required", ()) if name not in value)
    for name, others in rule.get("dependentRequired", {}).items():
        absent = [other for other in others if name in value and other not in value]
        yield from (_missing((*loc, other), f" where {shown(name)} is given") for other in absent)
    yield from _count(len(value), rule, "Properties", ("field", "fields"), loc)
    known = rule.get("properties", ())
    for name in value:
        if not rules_for_field(rule, name):
            place = (*loc, name)
            yield unknown_field(place, thawed(value[name]), known) if words else Problem(place, "", "extra_forbidden")


def rules_for_entry(rule: Mapping[str, Any], place: int) -> Rule:
    """What the rule of a list says about one of its entries.

    >>> rules_for_entry({"prefixItems": [{"type": "string"}], "items": False}, 0)
    {'type': 'string'}
    """
    first = rule.get("prefixItems", ())
    found: Rule = first[place] if place < len(first) else rule.get("items", True)
    return found


def rules_for_field(rule: Mapping[str, Any], name: str) -> list[Rule]:
    """What the rule of an object says about one of its fields; nothing where there must not be such a field.

    >>> rules_for_field({"properties": {"a": {"minimum": 0}}, "additionalProperties": {"type": "integer"}}, "b")
    [{'type': 'integer'}]
    """
    own = [rule["properties"][name]] if name in rule.get("properties", ()) else []
    own += [part for pattern, part in rule.get("patternProperties", {}).items() if matches(pattern, name)]
    others = rule.get("additionalProperties", True)
    return own or ([] if others is False else [others])


def _missing(loc: Loc, where: str = "") -> Problem:
    return Problem(loc, f"{subject(loc)} is required{where}.", "missing")


def _count(size: int, rule: Mapping[str, Any], what: str, names: tuple[str, str], loc: Loc) -> Iterator[Problem]:
    for word, kind, bound in ((f"min{what}", "too_short", "at least"), (f"max{what}", "too_long", "at most")):
        if word in rule and (size < rule[word] if kind == "too_short" else size > rule[word]):
            name = names[0] if rule[word] == 1 else names[1]
            yield Problem(loc, f"{subject(loc)} needs {bound} {number(rule[word])} {name} and has {size}.", kind)
