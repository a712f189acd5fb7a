"""Validation of JSON values by a JSON Schema, with a readable sentence for each problem.

It checks frozen values (see `frozen_json.py`) by normalised rules (see `normalised_schema.py`). Formats are not
checked, as the standard leaves them to the application.

Results are cached by rule and place, so that no description makes validation slow. The tests compare them with those
of jsonschema-rs, which cannot replace this module: the time it takes to list errors doubles with every level of
overlapping alternatives (8 s for 14 levels) and of nested `unevaluatedProperties` (20 s for 18).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ...errors import Problem
from ..problems import (
    MAX_LISTED,
    WANTED,
    Loc,
    compact_value,
    find_meant_value,
    format_list,
    format_literal,
    format_number,
    format_subject,
    not_a_choice,
    unknown_field,
    wrong_type,
)
from .container_rules import list_problems, object_problems
from .frozen_json import Record, equality_key, json_type, thaw
from .scalar_rules import number_problems, text_problems
from .schema_view import Defs, Rule, find_keyword, referenced_rules, rules_for_entry, rules_for_field, types_of
from .unevaluated import find_evaluating_rules, find_unevaluated_entries, find_unevaluated_fields

Alternative = tuple[Sequence[Any], tuple[str, ...]]
"""The values that one of several alternatives lists, if it lists any, and its types."""

KINDS = {
    "integer": "int_type",
    "number": "float_type",
    "string": "string_type",
    "boolean": "bool_type",
    "array": "list_type",
    "object": "dict_type",
    "null": "none_required",
}
"""The kind of problem for a value that is not of a JSON type."""

MAX_DEPTH = 150
"""Maximum number of nested rules: each takes up to four calls, and Python's recursion limit is a thousand."""

REFUSED = Problem((), "", "refused")
"""Placeholder for any problem where no message is required."""


def problems(value: Any, rule: Rule, defs: Defs) -> list[Problem]:
    """All problems of a frozen value under a rule; empty where the rule accepts it.

    >>> [problem.message for problem in problems(0.07, {"type": "number", "multipleOf": 0.05}, {})]
    ['The input = 0.07 is not a multiple of 0.05. The nearest allowed value is 0.05.']
    """
    found = _Validator(defs).problems(value, rule, ())
    return list({(problem.loc, problem.kind, problem.message): problem for problem in found}.values())


def accepts(value: Any, rule: Rule, defs: Defs) -> bool:
    """Whether the rule accepts a frozen value.

    >>> accepts(49.0, {"type": "integer"}, {}), accepts(True, {"type": "integer"}, {})
    (True, False)
    """
    return _Validator(defs).accepts(value, rule, ())


class _Validator:
    """Checks one value, with a cache, since rules that share parts would multiply the work."""

    def __init__(self, defs: Defs) -> None:
        self.defs = defs
        self.with_messages = True
        self.depth = 0
        self.results: dict[tuple[int, Loc, bool], list[Problem]] = {}

    def accepts(self, value: Any, rule: Rule, loc: Loc) -> bool:
        before, self.with_messages = self.with_messages, False
        found = self.problems(value, rule, loc)
        self.with_messages = before
        return not found

    def problems(self, value: Any, rule: Rule, loc: Loc) -> list[Problem]:
        if isinstance(rule, bool):
            return [] if rule else [_not_allowed(loc, value)]
        key = (id(rule), loc, self.with_messages)
        if key not in self.results:
            if self.depth >= MAX_DEPTH:
                words = f"{format_subject(loc[:1])} nests too deeply to be checked."
                return [Problem(loc[:1], words, "too_deep")]
            self.depth += 1
            self.results[key] = self._check_rule(value, rule, loc)
            self.depth -= 1
        return self.results[key]

    def _check_rule(self, value: Any, rule: Mapping[str, Any], loc: Loc) -> list[Problem]:
        if "type" in rule and not _has_type(value, rule["type"]):
            return [self._wrong_type(value, rule, types_of(rule, self.defs), loc)]
        # Without messages one problem is enough.
        found = list(islice(self._own_problems(value, rule, loc), None if self.with_messages else 1))
        for item, part, place in _find_inner(value, rule, self.defs, loc):
            if found and not self.with_messages:
                return found
            found += self.problems(item, part, place)
        if self.with_messages or not found:
            found += self._by_alternatives(value, rule, loc)
        if self.with_messages or not found:
            found += self._by_unevaluated(value, rule, loc)
        # Rules that share parts find the same problem again, which would double at every level.
        return list({id(problem): problem for problem in found}.values())

    def _own_problems(self, value: Any, rule: Mapping[str, Any], loc: Loc) -> Iterator[Problem]:
        """Problems of a value, apart from those of its contents."""
        if "enum" in rule or "const" in rule:
            yield from self._by_choices(value, rule, loc)
        match json_type(value):
            case "integer" | "number":
                yield from number_problems(value, rule, loc, with_messages=self.with_messages)
            case "string":
                yield from text_problems(value, rule, loc)
            case "array":
                yield from list_problems(value, rule, loc)
            case "object":
                yield from object_problems(value, rule, loc, with_messages=self.with_messages)
                # A name has no path in the value under which its result could be cached.
                named = rule.get("propertyNames", True)
                for name in (name for name in value if not _Validator(self.defs).accepts(name, named, ())):
                    words = f"A field of {format_subject(loc)} may not be named {format_literal(name)}."
                    yield Problem((*loc, name), words, "property_name", compact_value(name))

    def _by_choices(self, value: Any, rule: Mapping[str, Any], loc: Loc) -> Iterator[Problem]:
        key = equality_key(value)
        for kind, choices in (("enum", rule.get("enum")), ("const", [rule["const"]] if "const" in rule else None)):
            if choices is None or any(equality_key(choice) == key for choice in choices):
                continue
            yield _not_a_listed_value(value, kind, choices, loc) if self.with_messages else REFUSED

    def _by_alternatives(self, value: Any, rule: Mapping[str, Any], loc: Loc) -> list[Problem]:
        found: list[Problem] = []
        for word in ("anyOf", "oneOf"):
            accepting = [part for part in rule.get(word, ()) if self.accepts(value, part, loc)]
            if word in rule and not accepting:
                found += self._by_closest(value, rule[word], loc) if self.with_messages else [REFUSED]
            elif word == "oneOf" and len(accepting) > 1:
                forms = f"{len(accepting)} of the {len(rule[word])} forms it may have, and must fit exactly one"
                found.append(_problem(loc, value, f"fits {forms}", "one_of"))
        if "contains" in rule and isinstance(value, tuple):
            count = sum(self.accepts(item, rule["contains"], (*loc, place)) for place, item in enumerate(value))
            fewest, largest = rule.get("minContains", 1), rule.get("maxContains", len(value))
            if not fewest <= count <= largest:
                wanted = (
                    format_number(fewest)
                    if fewest == largest
                    else f"{format_number(fewest)} to {format_number(largest)}"
                )
                words = f"{format_subject(loc)} needs {wanted} of a certain kind of entries and has {count}."
                found.append(Problem(loc, words, "contains", compact_value(thaw(value))))
        if "not" in rule and self.accepts(value, rule["not"], loc):
            found.append(_problem(loc, value, "is what the description rules out", "not_allowed"))
        if "if" in rule:
            part = rule.get("then" if self.accepts(value, rule["if"], loc) else "else", True)
            found += self.problems(value, part, loc)
        return found

    def _by_unevaluated(self, value: Any, rule: Mapping[str, Any], loc: Loc) -> list[Problem]:
        """Problems of fields and entries that no other keyword evaluates."""
        found: list[Problem] = []
        if isinstance(value, Record) and "unevaluatedProperties" in rule:
            others, rules_here = (
                rule["unevaluatedProperties"],
                find_evaluating_rules(value, rule, self.defs, loc, self.accepts),
            )
            known = {name for part in rules_here for name in part.get("properties", ())}
            for name in find_unevaluated_fields(value, rules_here):
                place, item = (*loc, name), value[name]
                unknown = [unknown_field(place, thaw(item), known)] if self.with_messages else [REFUSED]
                found += unknown if others is False else self.problems(item, others, place)
        if isinstance(value, tuple) and "unevaluatedItems" in rule:
            rules_here = find_evaluating_rules(value, rule, self.defs, loc, self.accepts)
            for at in find_unevaluated_entries(value, rules_here, loc, self.accepts):
                found += self.problems(value[at], rule["unevaluatedItems"], (*loc, at))
        return found

    def _by_closest(self, value: Any, parts: Sequence[Rule], loc: Loc) -> list[Problem]:
        """Problems by the alternative that was probably meant: right type, right constants, fewest problems."""
        forms = [(_choices_of(part, self.defs), types_of(part, self.defs)) for part in parts]
        if all(_is_other(value, choices, types) for choices, types in forms):
            return [self._matches_no_alternative(value, parts, forms, loc)]
        found = [self.problems(value, part, loc) for part in parts]
        return min(found, key=lambda problems: _distance(problems, loc))

    def _matches_no_alternative(
        self, value: Any, parts: Sequence[Rule], forms: Sequence[Alternative], loc: Loc
    ) -> Problem:
        """The problem of a value that has none of the types and is none of the choices."""
        choices = list({equality_key(choice): choice for choices, _ in forms for choice in choices}.values())
        types = [name for choices, names in forms if not choices for name in names]
        known = [name for _, names in forms for name in names]
        if set(types) <= {"null"} and all(names for _, names in forms) and not _has_type(value, known):
            return self._wrong_type(value, {"anyOf": parts}, known, loc)
        if set(types) <= {"null"}:
            return _not_a_listed_value(value, "enum" if len(choices) > 1 else "const", choices, loc)
        return self._wrong_type(value, {"anyOf": parts}, types, loc, choices)

    def _wrong_type(
        self, value: Any, rule: Rule, types: Sequence[str], loc: Loc, choices: Sequence[Any] = ()
    ) -> Problem:
        if not self.with_messages:
            return REFUSED
        named = list(dict.fromkeys(name for name in types if name != "null")) or ["null"]
        is_infinite = isinstance(value, float) and not math.isfinite(value)
        wanted = [WANTED["finite_number" if is_infinite and name == "number" else KINDS[name]] for name in named]
        names = format_list([format_literal(choice) for choice in choices[: MAX_LISTED + 1]], len(choices))
        wanted += [f"{'one of ' if len(choices) > 1 else ''}{names}"] if choices else []
        words = wanted[0] if len(wanted) == 1 else f"{', '.join(wanted[:-1])} or {wanted[-1]}"
        plain = thaw(value)
        corrected = next(
            (
                corrected
                for corrected in (find_meant_value(plain, KINDS[name]) for name in named)
                if corrected is not None
            ),
            None,
        )
        # Suggest only a value that the rule accepts.
        legal = corrected is not None and _Validator(self.defs).accepts(corrected, rule, ())
        return wrong_type(loc, KINDS[named[0]], plain, words, corrected if legal else None)


def _find_inner(value: Any, rule: Mapping[str, Any], defs: Defs, loc: Loc) -> Iterator[tuple[Any, Rule, Loc]]:
    """Yield further checks: the value itself by other rules, and its contents."""
    for part in (*referenced_rules(rule, defs), *rule.get("allOf", ())):
        yield value, part, loc
    if isinstance(value, tuple):
        for place, item in enumerate(value):
            yield item, rules_for_entry(rule, place), (*loc, place)
    elif isinstance(value, Record):
        for name, item in value.items():
            for part in rules_for_field(rule, name):
                yield item, part, (*loc, name)
            if name in rule.get("dependentSchemas", ()):
                yield value, rule["dependentSchemas"][name], loc


def _has_type(value: Any, types: str | Sequence[str]) -> bool:
    kind, named = json_type(value), (types,) if isinstance(types, str) else types
    return kind in named or (kind == "integer" and "number" in named)


def _choices_of(rule: Rule, defs: Defs) -> Sequence[Any]:
    """The values that a rule lists as the only ones; empty where it lists none."""
    const = find_keyword(rule, "const", defs, missing=...)
    choices: Sequence[Any] = find_keyword(rule, "enum", defs, missing=()) if const is ... else [const]
    return choices


def _is_other(value: Any, choices: Sequence[Any], types: Sequence[str]) -> bool:
    """Whether a value does not match an alternative at all, rather than being wrong in a detail."""
    if choices:
        return all(equality_key(choice) != equality_key(value) for choice in choices)
    return bool(types) and not _has_type(value, types)


def _not_a_listed_value(value: Any, kind: str, choices: Sequence[Any], loc: Loc) -> Problem:
    if len(choices) != 1:
        return not_a_choice(loc, kind, thaw(value), choices)
    words = f"{format_subject(loc)} = {format_literal(thaw(value))} has to be {format_literal(choices[0])}."
    return Problem(loc, words, kind, compact_value(thaw(value)), choices[0])


def _distance(found: Sequence[Problem], loc: Loc) -> tuple[bool, int, float]:
    """How far a value is from an alternative, by its problems under it."""
    other_type = any(problem.loc == loc and problem.kind in WANTED for problem in found)
    other_choice = sum(problem.kind in ("const", "enum") and len(problem.loc) <= len(loc) + 1 for problem in found)
    # A misspelt field is evidence for an alternative.
    typos = sum(problem.kind == "extra_forbidden" and problem.nearest is not None for problem in found)
    return other_type, other_choice, len(found) - typos


def _not_allowed(loc: Loc, value: Any) -> Problem:
    return Problem(loc, f"{format_subject(loc)} is not allowed here.", "not_allowed", compact_value(thaw(value)))


def _problem(loc: Loc, value: Any, what: str, kind: str) -> Problem:
    return Problem(
        loc, f"{format_subject(loc)} = {format_literal(thaw(value))} {what}.", kind, compact_value(thaw(value))
    )
