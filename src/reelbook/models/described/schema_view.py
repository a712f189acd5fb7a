"""Queries on rules: which apply to a value, its fields and its entries, and with which keywords.

Rules are the schemas of `normalised_schema.py`, whose references are all of the form `#/$defs/<name>`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .regex_patterns import matches

Rule = Mapping[str, Any] | bool
Defs = Mapping[str, Rule]

ONE_RULE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
UNEVALUATED = ("unevaluatedItems", "unevaluatedProperties")
RULES_IN_A_LIST = ("allOf", "anyOf", "oneOf", "prefixItems")
RULES_BY_NAME = ("properties", "patternProperties", "dependentSchemas")

ANNOTATIONS = frozenset(
    ("title", "description", "default", "deprecated", "example", "examples", "readOnly", "writeOnly")
)
"""Keywords that do not affect validation, besides extensions."""


def get_annotations(rule: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of a rule that do not affect validation: title, description, default and extensions.

    >>> get_annotations({"type": "string", "title": "Picture", "x-media": "image"})
    {'title': 'Picture', 'x-media': 'image'}
    """
    return {word: value for word, value in rule.items() if word in ANNOTATIONS or word.startswith("x-")}


def find_applicable_rules(rules: Iterable[Rule], defs: Defs) -> list[Mapping[str, Any]]:
    """These rules and all subschemas that apply to the same value, each once.

    >>> find_applicable_rules([{"$ref": "#/$defs/Seed"}], {"Seed": {"type": "integer"}})
    [{'$ref': '#/$defs/Seed'}, {'type': 'integer'}]
    """
    found: dict[int, Mapping[str, Any]] = {}
    waiting = list(rules)
    for rule in waiting:
        if not isinstance(rule, bool) and id(rule) not in found:
            found[id(rule)] = rule
            # `not` does not describe what is allowed.
            waiting += [part for part in in_place_rules(rule, defs) if part is not rule.get("not")]
    return list(found.values())


def in_place_rules(rule: Mapping[str, Any], defs: Defs) -> Iterator[Rule]:
    """The subschemas that apply to the same value as the rule itself."""
    yield from referenced_rules(rule, defs)
    for word in ("allOf", "anyOf", "oneOf"):
        yield from rule.get(word, ())
    yield from (rule[word] for word in ("not", "if", "then", "else") if word in rule)
    yield from rule.get("dependentSchemas", {}).values()


def rules_for_step(rules: Iterable[Mapping[str, Any]], step: str | int) -> list[Rule]:
    """The rules for one field of an object, or for one entry of a list.

    >>> rules_for_step([{"items": {"type": "integer"}}, {"items": {"minimum": 0}}], 3)
    [{'type': 'integer'}, {'minimum': 0}]
    """
    if isinstance(step, int):
        return [rules_for_entry(rule, step) for rule in rules]
    return [part for rule in rules for part in rules_for_field(rule, step)]


def rules_at(schema: Mapping[str, Any], loc: Iterable[str | int]) -> list[Mapping[str, Any]]:
    """All rules of a schema that may apply to the value at a place.

    >>> rules_at({"properties": {"sizes": {"items": {"type": "integer"}}}}, ("sizes", 3))
    [{'type': 'integer'}]
    """
    defs = schema.get("$defs", {})
    rules = find_applicable_rules([schema], defs)
    for step in loc:
        rules = find_applicable_rules(rules_for_step(rules, step), defs)
    return rules


def rule_at(schema: Mapping[str, Any], loc: Iterable[str | int]) -> Mapping[str, Any]:
    """The first rule with a type or choices, other than null, for the value at a place; empty where there is none.

    >>> rule_at({"properties": {"seed": {"anyOf": [{"type": "null"}, {"type": "integer"}]}}}, ("seed",))
    {'type': 'integer'}
    """
    typed = (rule for rule in rules_at(schema, loc) if not rule.keys().isdisjoint(("type", "enum", "const")))
    return next((rule for rule in typed if rule.get("type") != "null"), {})


def rules_for_entry(rule: Mapping[str, Any], place: int) -> Rule:
    """The rule for one entry of a list.

    >>> rules_for_entry({"prefixItems": [{"type": "string"}], "items": False}, 0)
    {'type': 'string'}
    """
    first = rule.get("prefixItems", ())
    found: Rule = first[place] if place < len(first) else rule.get("items", True)
    return found


def rules_for_field(rule: Mapping[str, Any], name: str) -> list[Rule]:
    """The rules for one field of an object; empty where such a field is not allowed.

    >>> rules_for_field({"properties": {"a": {"minimum": 0}}, "additionalProperties": {"type": "integer"}}, "b")
    [{'type': 'integer'}]
    """
    own = [rule["properties"][name]] if name in rule.get("properties", ()) else []
    own += [part for pattern, part in rule.get("patternProperties", {}).items() if matches(pattern, name)]
    others = rule.get("additionalProperties", True)
    return own or ([] if others is False else [others])


def types_of(rule: Rule, defs: Defs) -> tuple[str, ...]:
    """The JSON types that a rule allows, in order; empty where it names none.

    >>> types_of({"anyOf": [{"type": "string"}, {"type": ["integer", "null"]}]}, {})
    ('string', 'integer', 'null')
    """
    return _types_of(rule, defs, {})


def _types_of(rule: Rule, defs: Defs, known: dict[int, tuple[str, ...]]) -> tuple[str, ...]:
    if isinstance(rule, bool):
        return ()
    if id(rule) not in known:
        known[id(rule)] = _types_in(rule, defs, known)
    return known[id(rule)]


def _types_in(rule: Mapping[str, Any], defs: Defs, known: dict[int, tuple[str, ...]]) -> tuple[str, ...]:
    if "type" in rule:
        return (rule["type"],) if isinstance(rule["type"], str) else tuple(rule["type"])
    found = [_types_of(part, defs, known) for part in (*referenced_rules(rule, defs), *rule.get("allOf", ()))]
    for word in ("anyOf", "oneOf"):
        parts = [_types_of(part, defs, known) for part in rule.get(word, ())]
        found += [tuple(dict.fromkeys(name for names in parts for name in names))] if all(parts) else []
    return next(filter(None, found), ())


def referenced_rules(rule: Mapping[str, Any], defs: Defs) -> tuple[Rule, ...]:
    """The rule that `$ref` points to, as a tuple; empty without a `$ref`."""
    return (defs[rule["$ref"].removeprefix("#/$defs/")],) if "$ref" in rule else ()


def find_keyword(rule: Rule, word: str, defs: Defs, missing: Any = None) -> Any:
    """The value of a keyword such as `default` in a rule, or in those it refers to by `$ref` or `allOf`.

    >>> find_keyword({"allOf": [{"$ref": "#/$defs/Seed"}]}, "default", {"Seed": {"default": 7}})
    7
    """
    seen: set[int] = set()
    waiting = [rule]
    for part in waiting:
        if isinstance(part, bool) or id(part) in seen:
            continue
        if word in part:
            return part[word]
        seen.add(id(part))
        waiting += [*referenced_rules(part, defs), *part.get("allOf", ())]
    return missing
