"""Rules in a JSON schema: which of them apply to a value, and two of them as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Rule = Mapping[str, Any] | bool

ANNOTATIONS = frozenset(
    ("title", "description", "default", "deprecated", "example", "examples", "readOnly", "writeOnly")
)
"""Keywords that do not affect validation, besides extensions."""


def is_annotation(keyword: str) -> bool:
    """Whether a keyword does not affect validation: a title, a description, a default, or an extension."""
    return keyword in ANNOTATIONS or keyword.startswith("x-")


def get_types(rule: Mapping[str, Any]) -> list[str]:
    """The types that a rule names.

    >>> get_types({"type": ["string", "null"]}), get_types({"properties": {}}), get_types({})
    (['string', 'null'], ['object'], [])
    """
    types = rule.get("type", "object" if "properties" in rule else [])
    return [types] if isinstance(types, str) else list(types)


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
    others = rule.get("items", True) if isinstance(step, int) else rule.get("additionalProperties", True)
    wanted: Rule = rule.get("properties", {}).get(step, others)
    return wanted


def merge_rules(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """One rule for two that both apply. Of what no single rule can say, and of annotations, the first's stays.

    >>> merge_rules({"minimum": 0, "title": "Size"}, {"minimum": 1, "maximum": 9, "title": "Area"})
    {'minimum': 1, 'title': 'Size', 'maximum': 9}
    """
    merged = dict(one)
    for keyword, value in other.items():
        own = merged.setdefault(keyword, value)
        if own != value and not is_annotation(keyword):
            merged[keyword] = _merge_keyword(keyword, own, value)
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
        case "type":
            types = [get_types({"type": own}), get_types({"type": other})]
            both = [kind for kind in types[0] if kind in types[1]]
            if not both and "integer" in (*types[0], *types[1]) and "number" in (*types[0], *types[1]):
                both = ["integer"]
            return (both[0] if len(both) == 1 else both) or own
        case "properties":
            shared = {name: {"allOf": [own[name], other[name]]} for name in own if name in other}
            return {**own, **other, **shared}
        case "items":
            return {"allOf": [own, other]}
    return own
