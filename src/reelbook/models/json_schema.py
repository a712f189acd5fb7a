"""JSON schemas of classes, and which of their rules apply to a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel


@lru_cache(maxsize=256)
def schema_of(model: type[BaseModel]) -> Mapping[str, Any]:
    """The JSON schema of a class."""
    return model.model_json_schema()


def rules_at(schema: Mapping[str, Any], loc: Iterable[str | int]) -> list[Mapping[str, Any]]:
    """All rules of a schema that may apply to the value at a place.

    >>> rules_at({"properties": {"sizes": {"items": {"type": "integer"}}}}, ("sizes", 3))
    [{'type': 'integer'}]
    """
    rules = list(_applicable(schema, schema))
    for step in loc:
        rules = [inner for rule in rules for inner in _applicable(_rule_for_step(rule, step), schema)]
    return rules


def rule_at(schema: Mapping[str, Any], loc: Iterable[str | int]) -> Mapping[str, Any]:
    """The first rule with a type or choices, other than null, for the value at a place; empty where there is none.

    >>> rule_at({"properties": {"seed": {"anyOf": [{"type": "null"}, {"type": "integer"}]}}}, ("seed",))
    {'type': 'integer'}
    """
    typed = (rule for rule in rules_at(schema, loc) if not rule.keys().isdisjoint(("type", "enum", "const")))
    return next((rule for rule in typed if rule.get("type") != "null"), {})


def _applicable(rule: Any, schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A rule and all that it refers to or offers for the same value."""
    if isinstance(rule, Mapping):
        yield rule
        if "$ref" in rule:
            yield from _applicable(schema.get("$defs", {}).get(rule["$ref"].removeprefix("#/$defs/")), schema)
        for form in rule.get("anyOf", ()):
            yield from _applicable(form, schema)


def _rule_for_step(rule: Mapping[str, Any], step: str | int) -> Any:
    """The rule for one field of an object, or for one entry of a list."""
    if isinstance(step, int):
        first = rule.get("prefixItems", ())
        return first[step] if step < len(first) else rule.get("items")
    return rule.get("properties", {}).get(step, rule.get("additionalProperties"))
