"""The fields and entries that `unevaluatedProperties` and `unevaluatedItems` apply to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ..problems import Loc
from .frozen_json import Record
from .regex_patterns import matches
from .schema_view import UNEVALUATED, Defs, Rule, referenced_rules

Accepts = Callable[[Any, Rule, Loc], bool]
"""Whether a rule accepts the value at a place."""


def find_evaluating_rules(
    value: Any, rule: Mapping[str, Any], defs: Defs, loc: Loc, accepts: Accepts
) -> list[Mapping[str, Any]]:
    """The rule and all subschemas that evaluate the value; of alternatives, those that accept it."""
    found: list[Mapping[str, Any]] = [{word: part for word, part in rule.items() if word not in UNEVALUATED}]
    known: set[int] = set()
    for evaluating in found:
        for part in _referenced_rules(value, evaluating, defs, lambda part: accepts(value, part, loc)):
            if not isinstance(part, bool) and id(part) not in known:
                known.add(id(part))
                found.append(part)
    return found


def find_unevaluated_fields(value: Record, evaluating: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The fields that none of these rules evaluates.

    >>> list(find_unevaluated_fields(Record({"a": 1, "b": 2}), [{"properties": {"a": {}}}, {"patternProperties": {"^c": {}}}]))
    ['b']
    """
    rules = list(evaluating)
    return (name for name in value if not any(_evaluates(rule, name) for rule in rules))


def find_unevaluated_entries(
    value: tuple[Any, ...], evaluating: Iterable[Mapping[str, Any]], loc: Loc, accepts: Accepts
) -> Iterator[int]:
    """The places in a list that none of these rules evaluates."""
    rules = list(evaluating)
    if any("items" in rule or "unevaluatedItems" in rule for rule in rules):
        return
    contained = [rule["contains"] for rule in rules if "contains" in rule]
    for place in range(max((len(rule.get("prefixItems", ())) for rule in rules), default=0), len(value)):
        if not any(accepts(value[place], rule, (*loc, place)) for rule in contained):
            yield place


def _referenced_rules(value: Any, rule: Mapping[str, Any], defs: Defs, fits: Callable[[Rule], bool]) -> Iterator[Rule]:
    yield from referenced_rules(rule, defs)
    yield from rule.get("allOf", ())
    for word in ("anyOf", "oneOf"):
        yield from filter(fits, rule.get(word, ()))
    if "if" in rule:
        condition_holds = fits(rule["if"])
        yield rule["if"] if condition_holds else True
        yield rule.get("then" if condition_holds else "else", True)
    if isinstance(value, Record):
        yield from (part for name, part in rule.get("dependentSchemas", {}).items() if name in value)


def _evaluates(rule: Mapping[str, Any], name: str) -> bool:
    covers_all = "additionalProperties" in rule or "unevaluatedProperties" in rule
    return (
        covers_all
        or name in rule.get("properties", ())
        or any(matches(pattern, name) for pattern in rule.get("patternProperties", ()))
    )
