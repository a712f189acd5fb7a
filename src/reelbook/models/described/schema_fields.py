"""The fields of an object whose rule may be combined from references, parts and alternatives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeVar

from .normalised_schema import field_order, sort_fields
from .schema_view import (
    UNEVALUATED,
    Defs,
    Rule,
    find_applicable_rules,
    get_annotations,
    referenced_rules,
    rules_for_field,
    types_of,
)

T = TypeVar("T")

_NEEDS_SIBLINGS = {
    "properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "items", "prefixItems",
    "unevaluatedItems", "contains", "minContains", "maxContains", "if", "then", "else",
}  # fmt: skip
"""Keywords whose meaning depends on other keywords, so that two rules with them cannot be merged into one."""
_FREE = {"type", "minProperties", "maxProperties"}
"""Keywords that a rule may have and still allow an object of any fields."""


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of an object, and which of them are required."""

    rules: Mapping[str, Rule]
    required: tuple[str, ...] = ()


def fields_of(rule: Rule, defs: Defs) -> Fields:
    """The fields of an object, each with the rules of all parts and alternatives merged.

    >>> parts = [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"a": {"minLength": 1}}}]
    >>> fields_of({"allOf": parts}, {})
    Fields(rules={'a': {'type': 'string', 'minLength': 1}}, required=('a',))
    """
    found = _Gatherer(defs).fields(rule)
    applicable = find_applicable_rules([rule], defs)
    listed = (field_order(part) for part in applicable)
    rules = {**found.rules, **dict(_only_named(rule, applicable, found.rules))}
    return Fields(sort_fields(rules, next(filter(None, listed), ())), found.required)


def find_field_names(applicable: Iterable[Mapping[str, Any]]) -> list[str]:
    """The names of all fields that these rules list or require."""
    return list(dict.fromkeys(name for rule in applicable for name in (*_listed_fields(rule), *_required_names(rule))))


def is_closed(applicable: Sequence[Mapping[str, Any]], defs: Defs) -> bool:
    """Whether fields that are not listed are refused.

    A description that lists fields and does not mention others is treated as closed, although JSON Schema would accept
    any field: a typo must not cost credits.

    >>> listed = {"properties": {"a": {}}}
    >>> is_closed([listed], {}), is_closed([listed, {"additionalProperties": True}], {}), is_closed([{}], {})
    (True, False, False)
    """
    return any(map(_listed_fields, applicable)) and not any(_allows_other_fields(rule, defs) for rule in applicable)


def _listed_fields(rule: Mapping[str, Any]) -> Mapping[str, Rule]:
    listed: Mapping[str, Rule] = rule.get("properties", {})
    return listed


def _required_names(rule: Mapping[str, Any]) -> Iterator[str]:
    yield from rule.get("required", ())
    for names in rule.get("dependentRequired", {}).values():
        yield from names


def _only_named(
    rule: Rule, applicable: Iterable[Mapping[str, Any]], known: Mapping[str, Rule]
) -> Iterator[tuple[str, Rule]]:
    """The fields that are required and listed nowhere, with the object's rule for other fields."""
    anything: Rule = {}
    for name in find_field_names(applicable):
        others = [] if isinstance(rule, bool) else rules_for_field(rule, name)
        if name not in known and others:
            yield name, reduce(_merge_rules, others, anything)


def _allows_other_fields(rule: Mapping[str, Any], defs: Defs) -> bool:
    others = [rule.get(word, False) for word in ("additionalProperties", "unevaluatedProperties")]
    forms = [part for word in ("anyOf", "oneOf") for part in rule.get(word, ())]
    return (
        "patternProperties" in rule or others != [False, False] or any(_allows_any_object(part, defs) for part in forms)
    )


def _allows_any_object(rule: Rule, defs: Defs) -> bool:
    """Whether an alternative allows any fields, rather than adding a condition on the listed ones."""
    while not isinstance(rule, bool) and set(rule) - set(get_annotations(rule)) == {"$ref"}:
        rule = referenced_rules(rule, defs)[0]
    if isinstance(rule, bool):
        return rule
    validating = set(rule) - set(get_annotations(rule))
    return validating <= _FREE and _admits_objects(rule, defs)


def _admits_objects(rule: Rule, defs: Defs) -> bool:
    types = types_of(rule, defs)
    return rule is not False and (not types or "object" in types)


class _Gatherer:
    """Collects fields, with a cache, since rules that share parts would multiply the work."""

    def __init__(self, defs: Defs) -> None:
        self.defs = defs
        self.known: dict[int, Fields] = {}

    def fields(self, rule: Rule) -> Fields:
        if isinstance(rule, bool):
            return Fields({})
        if id(rule) not in self.known:
            self.known[id(rule)] = _merge_fields([part for word in rule for part in self.parts(word, rule)])
        return self.known[id(rule)]

    def parts(self, word: str, rule: Mapping[str, Any]) -> Iterator[Fields]:
        """The fields that one keyword adds."""
        match word:
            case "properties":
                yield Fields(rule[word])
            case "required":
                yield Fields({}, tuple(rule[word]))
            case "$ref":
                yield from map(self.fields, referenced_rules(rule, self.defs))
            case "allOf":
                yield from map(self.fields, rule[word])
            case "anyOf" | "oneOf":
                yield self.either([part for part in rule[word] if _admits_objects(part, self.defs)])
            case "then" | "else":
                yield self.either([rule[word], True])
            case "dependentSchemas":
                yield from (self.either([part, True]) for part in rule[word].values())

    def either(self, forms: Sequence[Rule]) -> Fields:
        """The fields of an object that matches one of several alternatives."""
        found = [self.fields(form) for form in forms]
        rules: dict[str, Rule] = {}
        for name in dict.fromkeys(name for fields in found for name in fields.rules):
            # An alternative that does not list the field accepts anything there, or refuses it.
            listing = [fields.rules[name] for fields in found if name in fields.rules]
            unlisted = [form for form, fields in zip(forms, found, strict=True) if name not in fields.rules]
            rules[name] = _merge_alternatives([*listing, *([] if all(map(self.refuses_others, unlisted)) else [{}])])
        required = found[0].required if found else ()
        return Fields(rules, tuple(name for name in required if all(name in fields.required for fields in found)))

    def refuses_others(self, form: Rule) -> bool:
        return any(rule.get("additionalProperties") is False for rule in find_applicable_rules([form], self.defs))


def _merge_fields(parts: Iterable[Fields]) -> Fields:
    rules: dict[str, Rule] = {}
    required: dict[str, None] = {}
    for part in parts:
        for name, rule in part.rules.items():
            rules[name] = _merge_rules(rules[name], rule) if name in rules else rule
        required.update(dict.fromkeys(part.required))
    return Fields(rules, tuple(required))


def _merge_rules(one: Rule, other: Rule) -> Rule:
    """One rule that is equivalent to both."""
    if one == other or other is True or one is False:
        return one
    if isinstance(one, bool) or isinstance(other, bool):
        return other
    apart = get_annotations(one).keys() | get_annotations(other).keys()
    conflicts = any(one[word] != other[word] for word in one.keys() & other.keys() - apart)
    # The meaning of `unevaluated…` depends on all keywords beside it.
    counts_all = not (one.keys() | other.keys()).isdisjoint(UNEVALUATED)
    if conflicts or counts_all or (_NEEDS_SIBLINGS & one.keys() and _NEEDS_SIBLINGS & other.keys()):
        return {"allOf": [one, other], **get_annotations(one), **get_annotations(other)}
    return {**one, **other}


def _merge_alternatives(rules: Sequence[Rule]) -> Mapping[str, Any]:
    """One rule that accepts what any of several accepts."""
    unique = _unique([{} if rule is True else {"not": {}} if rule is False else rule for rule in rules])
    if len(unique) == 1:
        return unique[0]
    annotation_sets = [get_annotations(rule) for rule in unique if rule]
    common = {
        word: value
        for word, value in annotation_sets[0].items()
        if all(annotated.get(word) == value for annotated in annotation_sets)
    }
    choices = [_choices(rule) for rule in unique]
    if None in choices or len(_unique([rule.get("type") for rule in unique])) > 1:
        return {"anyOf": unique, **common}
    types = {"type": unique[0]["type"]} if "type" in unique[0] else {}
    return {**types, "enum": _unique([value for listed in choices for value in listed or ()]), **common}


def _choices(rule: Mapping[str, Any]) -> list[Any] | None:
    """The values that a rule lists; None where it has other keywords."""
    validating = set(rule) - set(get_annotations(rule)) - {"type"}
    return [rule["const"]] if validating == {"const"} else rule["enum"] if validating == {"enum"} else None


def _unique(items: Sequence[T]) -> list[T]:
    return [
        item for place, item in enumerate(items) if not any(item is other or item == other for other in items[:place])
    ]
