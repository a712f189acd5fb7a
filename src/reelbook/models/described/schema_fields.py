"""The fields of an object, however its rule is put together: by reference, of several parts, in alternative forms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeVar

from .container_rules import rules_for_field
from .normalised_schema import UNEVALUATED, about, order_of, ordered, parts_in_place
from .schema_judge import Defs, Rule, followed, types_of

T = TypeVar("T")

_NEEDS_SIBLINGS = {
    "properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "items", "prefixItems",
    "unevaluatedItems", "contains", "minContains", "maxContains", "if", "then", "else",
}  # fmt: skip
"""Keywords that mean something else beside other keywords, so that two rules with them cannot be written as one."""
_FREE = {"type", "minProperties", "maxProperties"}
"""What a rule may say and still allow an object of any fields."""


@dataclass(frozen=True, slots=True)
class Fields:
    """What a rule says about the fields of an object as a whole."""

    rules: Mapping[str, Rule]
    required: tuple[str, ...] = ()


def fields_of(rule: Rule, defs: Defs) -> Fields:
    """The fields of an object, with what any form of it says about each.

    >>> parts = [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"a": {"minLength": 1}}}]
    >>> fields_of({"allOf": parts}, {})
    Fields(rules={'a': {'type': 'string', 'minLength': 1}}, required=('a',))
    """
    found = _Gatherer(defs).fields(rule)
    speaking = spoken([rule], defs)
    listed = (order_of(part) for part in speaking)
    rules = {**found.rules, **dict(_only_named(rule, speaking, found.rules))}
    return Fields(ordered(rules, next(filter(None, listed), ())), found.required)


def spoken(rules: Iterable[Rule], defs: Defs) -> list[Mapping[str, Any]]:
    """Every rule that says something about a value that these rules speak of, each once.

    >>> spoken([{"$ref": "#/$defs/Seed"}], {"Seed": {"type": "integer"}})
    [{'$ref': '#/$defs/Seed'}, {'type': 'integer'}]
    """
    found: dict[int, Mapping[str, Any]] = {}
    waiting = list(rules)
    for rule in waiting:
        if not isinstance(rule, bool) and id(rule) not in found:
            found[id(rule)] = rule
            # What is ruled out says nothing about what is allowed.
            waiting += [part for part in parts_in_place(rule, defs) if part is not rule.get("not")]
    return list(found.values())


def names_in(speaking: Iterable[Mapping[str, Any]]) -> list[str]:
    """The names of all fields that these rules list, or ask for without a word about them."""
    return list(dict.fromkeys(name for rule in speaking for name in (*_listed(rule), *_asked_for(rule))))


def is_closed(speaking: Sequence[Mapping[str, Any]], defs: Defs) -> bool:
    """Whether fields that are not listed are refused.

    A description that lists fields and says nothing about others means these fields, although JSON Schema would let
    anything pass: a typo must not cost credits.

    >>> listed = {"properties": {"a": {}}}
    >>> is_closed([listed], {}), is_closed([listed, {"additionalProperties": True}], {}), is_closed([{}], {})
    (True, False, False)
    """
    return any(map(_listed, speaking)) and not any(_opens(rule, defs) for rule in speaking)


def _listed(rule: Mapping[str, Any]) -> Mapping[str, Rule]:
    listed: Mapping[str, Rule] = rule.get("properties", {})
    return listed


def _asked_for(rule: Mapping[str, Any]) -> Iterator[str]:
    yield from rule.get("required", ())
    for names in rule.get("dependentRequired", {}).values():
        yield from names


def _only_named(
    rule: Rule, speaking: Iterable[Mapping[str, Any]], known: Mapping[str, Rule]
) -> Iterator[tuple[str, Rule]]:
    """The fields that are asked for and listed nowhere, with what the object says about any such field."""
    anything: Rule = {}
    for name in names_in(speaking):
        others = [] if isinstance(rule, bool) else rules_for_field(rule, name)
        if name not in known and others:
            yield name, reduce(_both, others, anything)


def _opens(rule: Mapping[str, Any], defs: Defs) -> bool:
    others = [rule.get(word, False) for word in ("additionalProperties", "unevaluatedProperties")]
    forms = [part for word in ("anyOf", "oneOf") for part in rule.get(word, ())]
    return "patternProperties" in rule or others != [False, False] or any(_is_free(part, defs) for part in forms)


def _is_free(rule: Rule, defs: Defs) -> bool:
    """Whether a form is an object of any fields, rather than one more condition for the fields that are listed."""
    while not isinstance(rule, bool) and set(rule) - set(about(rule)) == {"$ref"}:
        rule = followed(rule, defs)[0]
    if isinstance(rule, bool):
        return rule
    judging = set(rule) - set(about(rule))
    return judging <= _FREE and _admits_objects(rule, defs)


def _admits_objects(rule: Rule, defs: Defs) -> bool:
    types = types_of(rule, defs)
    return rule is not False and (not types or "object" in types)


class _Gatherer:
    """Collects fields. What was collected is remembered, since rules that share parts would multiply the work."""

    def __init__(self, defs: Defs) -> None:
        self.defs = defs
        self.known: dict[int, Fields] = {}

    def fields(self, rule: Rule) -> Fields:
        if isinstance(rule, bool):
            return Fields({})
        if id(rule) not in self.known:
            self.known[id(rule)] = _all_of([part for word in rule for part in self.parts(word, rule)])
        return self.known[id(rule)]

    def parts(self, word: str, rule: Mapping[str, Any]) -> Iterator[Fields]:
        """What one keyword adds."""
        match word:
            case "properties":
                yield Fields(rule[word])
            case "required":
                yield Fields({}, tuple(rule[word]))
            case "$ref":
                yield from map(self.fields, followed(rule, self.defs))
            case "allOf":
                yield from map(self.fields, rule[word])
            case "anyOf" | "oneOf":
                yield self.either([part for part in rule[word] if _admits_objects(part, self.defs)])
            case "then" | "else":
                yield self.either([rule[word], True])
            case "dependentSchemas":
                yield from (self.either([part, True]) for part in rule[word].values())

    def either(self, forms: Sequence[Rule]) -> Fields:
        """The fields of an object that has one of several forms."""
        found = [self.fields(form) for form in forms]
        rules: dict[str, Rule] = {}
        for name in dict.fromkeys(name for fields in found for name in fields.rules):
            # A form that does not list the field takes anything in its place, or refuses it.
            listing = [fields.rules[name] for fields in found if name in fields.rules]
            silent = [form for form, fields in zip(forms, found, strict=True) if name not in fields.rules]
            rules[name] = _one_of([*listing, *([] if all(map(self.refuses_others, silent)) else [{}])])
        required = found[0].required if found else ()
        return Fields(rules, tuple(name for name in required if all(name in fields.required for fields in found)))

    def refuses_others(self, form: Rule) -> bool:
        return any(rule.get("additionalProperties") is False for rule in spoken([form], self.defs))


def _all_of(parts: Iterable[Fields]) -> Fields:
    rules: dict[str, Rule] = {}
    required: dict[str, None] = {}
    for part in parts:
        for name, rule in part.rules.items():
            rules[name] = _both(rules[name], rule) if name in rules else rule
        required.update(dict.fromkeys(part.required))
    return Fields(rules, tuple(required))


def _both(one: Rule, other: Rule) -> Rule:
    """One rule that says what two say."""
    if one == other or other is True or one is False:
        return one
    if isinstance(one, bool) or isinstance(other, bool):
        return other
    apart = about(one).keys() | about(other).keys()
    conflicts = any(one[word] != other[word] for word in one.keys() & other.keys() - apart)
    # What these judge is what no keyword beside them speaks of.
    counts_all = not (one.keys() | other.keys()).isdisjoint(UNEVALUATED)
    if conflicts or counts_all or (_NEEDS_SIBLINGS & one.keys() and _NEEDS_SIBLINGS & other.keys()):
        return {"allOf": [one, other], **about(one), **about(other)}
    return {**one, **other}


def _one_of(rules: Sequence[Rule]) -> Mapping[str, Any]:
    """One rule that accepts what any of several accepts."""
    unique = _unique([{} if rule is True else {"not": {}} if rule is False else rule for rule in rules])
    if len(unique) == 1:
        return unique[0]
    saying = [about(rule) for rule in unique if rule]
    common = {word: value for word, value in saying[0].items() if all(said.get(word) == value for said in saying)}
    choices = [_choices(rule) for rule in unique]
    if None in choices or len(_unique([rule.get("type") for rule in unique])) > 1:
        return {"anyOf": unique, **common}
    types = {"type": unique[0]["type"]} if "type" in unique[0] else {}
    return {**types, "enum": _unique([value for listed in choices for value in listed or ()]), **common}


def _choices(rule: Mapping[str, Any]) -> list[Any] | None:
    """The values that a rule lists; None where it says more than that."""
    judging = set(rule) - set(about(rule)) - {"type"}
    return [rule["const"]] if judging == {"const"} else rule["enum"] if judging == {"enum"} else None


def _unique(items: Sequence[T]) -> list[T]:
    return [
        item for place, item in enumerate(items) if not any(item is other or item == other for other in items[:place])
    ]
