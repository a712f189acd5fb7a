"""JSON schemas of classes, and which of their rules apply to a value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

Rule = Mapping[str, Any] | bool


@lru_cache(maxsize=256)
def schema_of(model: type[BaseModel]) -> Mapping[str, Any]:
    """The JSON schema of a class."""
    return model.model_json_schema()


def rules_at(schema: Mapping[str, Any], loc: Iterable[str | int]) -> list[Mapping[str, Any]]:
    """All rules of a schema that may apply to the value at a place.

    >>> rules_at({"properties": {"sizes": {"items": {"type": "integer"}}}}, ("sizes", 3))
    [{'type': 'integer'}]
    """
    defs = schema.get("$defs", {})
    rules = _find_applicable([schema], defs)
    for step in loc:
        rules = _find_applicable([_rule_for_step(rule, step) for rule in rules], defs)
    return rules


def rule_at(schema: Mapping[str, Any], loc: Iterable[str | int]) -> Mapping[str, Any]:
    """The first rule with a type or choices, other than null, for the value at a place; empty where there is none.

    >>> rule_at({"properties": {"seed": {"anyOf": [{"type": "null"}, {"type": "integer"}]}}}, ("seed",))
    {'type': 'integer'}
    """
    typed = (rule for rule in rules_at(schema, loc) if not rule.keys().isdisjoint(("type", "enum", "const")))
    return next((rule for rule in typed if rule.get("type") != "null"), {})


def _find_applicable(rules: Iterable[Rule], defs: Mapping[str, Rule]) -> list[Mapping[str, Any]]:
    """These rules and all that they refer to or offer for the same value, each once."""
    applicable: dict[int, Mapping[str, Any]] = {}
    waiting = list(rules)
    for rule in waiting:
        if not isinstance(rule, Mapping) or id(rule) in applicable:
            continue
        applicable[id(rule)] = rule
        if isinstance(rule.get("$ref"), str):
            waiting.append(defs.get(rule["$ref"].removeprefix("#/$defs/"), True))
        waiting += rule.get("anyOf", ())
    return list(applicable.values())


def _rule_for_step(rule: Mapping[str, Any], step: str | int) -> Rule:
    """The rule for one field of an object, or for one entry of a list."""
    if isinstance(step, int):
        first: list[Rule] = rule.get("prefixItems", [])
        return first[step] if step < len(first) else rule.get("items", True)
    wanted: Rule = rule.get("properties", {}).get(step, rule.get("additionalProperties", True))
    return wanted
