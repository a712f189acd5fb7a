"""Rules in a JSON schema: which of them apply to a value, and two of them as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Rule = Mapping[str, Any] | bool
Defs = Mapping[str, Rule]

ANNOTATIONS = frozenset(
    ("title", "description", "default", "deprecated", "example", "examples", "readOnly", "writeOnly")
)
"""Keywords that do not affect validation, besides extensions."""


def is_annotation(keyword: str) -> bool:
    """Whether a keyword does not affect validation: a title, a description, a default, or an extension."""
    return keyword in ANNOTATIONS or keyword.startswith("x-")


def rules_at(schema: Mapping[str, Any], loc: Iterable[str | int]) -> list[Mapping[str, Any]]:
    """All rules of a schema that may apply to the value at a place.

    >>> rules_at({"properties": {"sizes": {"items": {"type": "integer"}}}}, ("sizes", 3))
    [{'type': 'integer'}]
    """
    defs = schema.get("$defs", {})
    rules = find_applicable_rules([schema], defs)
    for step in loc:
        rules = find_applicable_rules([part for rule in rules for part in _rules_for_step(rule, step)], defs)
    return rules


def rule_at(schema: Mapping[str, Any], loc: Iterable[str | int]) -> Mapping[str, Any]:
    """The first rule with a type or choices, other than null, for the value at a place; empty where there is none.

    >>> rule_at({"properties": {"seed": {"anyOf": [{"type": "null"}, {"type": "integer"}]}}}, ("seed",))
    {'type': 'integer'}
    """
    typed = (rule for rule in rules_at(schema, loc) if not rule.keys().isdisjoint(("type", "enum", "const")))
    return next((rule for rule in typed if rule.get("type") != "null"), {})


def find_applicable_rules(rules: Iterable[Rule], defs: Defs) -> list[Mapping[str, Any]]:
    """These rules and all subschemas that apply to the same value, each once.

    >>> find_applicable_rules([{"$ref": "#/$defs/Seed"}], {"Seed": {"type": "integer"}})
    [{'$ref': '#/$defs/Seed'}, {'type': 'integer'}]
    """
    applicable: dict[int, Mapping[str, Any]] = {}
    waiting = list(rules)
    for rule in waiting:
        if not isinstance(rule, Mapping) or id(rule) in applicable:
            continue
        applicable[id(rule)] = rule
        if isinstance(rule.get("$ref"), str):
            waiting.append(defs.get(rule["$ref"].removeprefix("#/$defs/"), True))
        waiting += [part for word in ("allOf", "anyOf", "oneOf") for part in rule.get(word, ())]
        waiting += [rule[word] for word in ("if", "then", "else") if word in rule]
        waiting += rule.get("dependentSchemas", {}).values()
    return list(applicable.values())


def _rules_for_step(rule: Mapping[str, Any], step: str | int) -> list[Rule]:
    """The rules for one field of an object, or for one entry of a list."""
    if isinstance(step, int):
        first = rule.get("prefixItems", ())
        return [first[step] if step < len(first) else rule.get("items", True)]
    if step in rule.get("properties", ()):
        return [rule["properties"][step]]
    return [rule.get("additionalProperties", True)]


def merge_rules(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any] | None:
    """One rule for two that both apply; None where no single one says the same. Annotations of the first stay.

    >>> merge_rules({"minimum": 0, "title": "Size"}, {"minimum": 1, "maximum": 9, "title": "Area"})
    {'minimum': 1, 'title': 'Size', 'maximum': 9}
    """
    merged = dict(one)
    for keyword, value in other.items():
        own = merged.setdefault(keyword, value)
        if own == value or is_annotation(keyword):
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
