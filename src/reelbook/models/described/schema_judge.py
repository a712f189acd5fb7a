"""A judge of JSON values: what a JSON Schema says about one, in sentences for a person.

It judges frozen values (see `frozen.py`) by rules whose references are all of the form `#/$defs/<name>` and never
lead back to themselves without a step into the value; `openapi.py` makes such rules. Formats are not judged, as the
standard leaves them to whoever reads the value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ...errors import Problem
from ..problems import (
    MAX_LISTED,
    WANTED,
    Loc,
    converted,
    kept,
    listed,
    not_a_choice,
    number,
    shown,
    subject,
    unknown_field,
    wrong_type,
)
from .container_rules import list_problems, object_problems, rules_for_entry, rules_for_field
from .frozen_json import Record, kind_of, sameness, thawed
from .scalar_rules import number_problems, text_problems
from .unevaluated import entries_left, fields_left, heard

Rule = Mapping[str, Any] | bool
Defs = Mapping[str, Rule]
Form = tuple[Sequence[Any], tuple[str, ...]]
"""The only values that one of several forms lists, if it lists any, and its types."""

KINDS = {
    "integer": "int_type",
    "number": "float_type",
    "string": "string_type",
    "boolean": "bool_type",
    "array": "list_type",
    "object": "dict_type",
    "null": "none_required",
}
"""JSON's types and the kind of problem that another type is."""

DEEPEST = 150
"""How many rules may be open at once: each takes up to four calls, and Python's stack ends after a thousand."""

REFUSED = Problem((), "", "refused")
"""Stands for any problem where only yes or no counts."""


def problems(value: Any, rule: Rule, defs: Defs) -> list[Problem]:
    """Everything that the rule finds wrong with a frozen value; nothing where it accepts it.

    >>> [problem.message for problem in problems(0.07, {"type": "number", "multipleOf": 0.05}, {})]
    ['The input = 0.07 is not a multiple of 0.05. The nearest allowed value is 0.05.']
    """
    found = _Trial(defs).problems(value, rule, ())
    return list({(problem.loc, problem.kind, problem.message): problem for problem in found}.values())


def accepts(value: Any, rule: Rule, defs: Defs) -> bool:
    """Whether the rule accepts a frozen value.

    >>> accepts(49.0, {"type": "integer"}, {}), accepts(True, {"type": "integer"}, {})
    (True, False)
    """
    return _Trial(defs).accepts(value, rule, ())


def types_of(rule: Rule, defs: Defs) -> tuple[str, ...]:
    """The JSON types that a rule admits, in its own order; empty where it names none.

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
    found = [_types_of(part, defs, known) for part in (*followed(rule, defs), *rule.get("allOf", ()))]
    for word in ("anyOf", "oneOf"):
        parts = [_types_of(part, defs, known) for part in rule.get(word, ())]
        found += [tuple(dict.fromkeys(name for names in parts for name in names))] if all(parts) else []
    return next(filter(None, found), ())


def followed(rule: Mapping[str, Any], defs: Defs) -> tuple[Rule, ...]:
    """What a rule refers to: one rule, or none."""
    return (defs[rule["$ref"].removeprefix("#/$defs/")],) if "$ref" in rule else ()


def said_by(rule: Rule, word: str, defs: Defs, missing: Any = None) -> Any:
    """What a rule, or one that always goes with it, has for a word such as `default`.

    >>> said_by({"allOf": [{"$ref": "#/$defs/Seed"}]}, "default", {"Seed": {"default": 7}})
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
        waiting += [*followed(part, defs), *part.get("allOf", ())]
    return missing


class _Trial:
    """One value before one rule. Verdicts are remembered, since rules that share parts would multiply the work."""

    def __init__(self, defs: Defs) -> None:
        self.defs = defs
        self.words = True
        self.depth = 0
        self.verdicts: dict[tuple[int, Loc, bool], list[Problem]] = {}

    def accepts(self, value: Any, rule: Rule, loc: Loc) -> bool:
        before, self.words = self.words, False
        found = self.problems(value, rule, loc)
        self.words = before
        return not found

    def problems(self, value: Any, rule: Rule, loc: Loc) -> list[Problem]:
        if isinstance(rule, bool):
            return [] if rule else [_not_allowed(loc, value)]
        key = (id(rule), loc, self.words)
        if key not in self.verdicts:
            if self.depth >= DEEPEST:
                words = f"{subject(loc[:1])} nests too deeply to be checked."
                return [Problem(loc[:1], words, "too_deep")]
            self.depth += 1
            self.verdicts[key] = self._judged(value, rule, loc)
            self.depth -= 1
        return self.verdicts[key]

    def _judged(self, value: Any, rule: Mapping[str, Any], loc: Loc) -> list[Problem]:
        if "type" in rule and not _has_type(value, rule["type"]):
            return [self._wrong_type(value, rule, types_of(rule, self.defs), loc)]
        # Without words one problem is enough.
        found = list(islice(self._own(value, rule, loc), None if self.words else 1))
        for item, part, place in _inside(value, rule, self.defs, loc):
            if found and not self.words:
                return found
            found += self.problems(item, part, place)
        if self.words or not found:
            found += self._by_alternatives(value, rule, loc)
        if self.words or not found:
            found += self._by_what_is_left(value, rule, loc)
        # Rules that share parts find the same problem again, which would double at every level.
        return list({id(problem): problem for problem in found}.values())

    def _own(self, value: Any, rule: Mapping[str, Any], loc: Loc) -> Iterator[Problem]:
        """What is wrong with a value apart from what is inside of it."""
        if "enum" in rule or "const" in rule:
            yield from self._by_choices(value, rule, loc)
        match kind_of(value):
            case "integer" | "number":
                yield from number_problems(value, rule, loc, words=self.words)
            case "string":
                yield from text_problems(value, rule, loc)
            case "array":
                yield from list_problems(value, rule, loc)
            case "object":
                yield from object_problems(value, rule, loc, words=self.words)
                # A name has no place in the value, under which its verdict could be remembered.
                named = rule.get("propertyNames", True)
                for name in (name for name in value if not _Trial(self.defs).accepts(name, named, ())):
                    words = f"A field of {subject(loc)} may not be named {shown(name)}."
                    yield Problem((*loc, name), words, "property_name", kept(name))

    def _by_choices(self, value: Any, rule: Mapping[str, Any], loc: Loc) -> Iterator[Problem]:
        key = sameness(value)
        for kind, choices in (("enum", rule.get("enum")), ("const", [rule["const"]] if "const" in rule else None)):
            if choices is None or any(sameness(choice) == key for choice in choices):
                continue
            yield _not_chosen(value, kind, choices, loc) if self.words else REFUSED

    def _by_alternatives(self, value: Any, rule: Mapping[str, Any], loc: Loc) -> list[Problem]:
        found: list[Problem] = []
        for word in ("anyOf", "oneOf"):
            fitting = [part for part in rule.get(word, ()) if self.accepts(value, part, loc)]
            if word in rule and not fitting:
                found += self._by_closest(value, rule[word], loc) if self.words else [REFUSED]
            elif word == "oneOf" and len(fitting) > 1:
                forms = f"{len(fitting)} of the {len(rule[word])} forms it may have, and must fit exactly one"
                found.append(_problem(loc, value, f"fits {forms}", "one_of"))
        if "contains" in rule and isinstance(value, tuple):
            hits = sum(self.accepts(item, rule["contains"], (*loc, place)) for place, item in enumerate(value))
            least, most = rule.get("minContains", 1), rule.get("maxContains", len(value))
            if not least <= hits <= most:
                wanted = number(least) if least == most else f"{number(least)} to {number(most)}"
                words = f"{subject(loc)} needs {wanted} of a certain kind of entries and has {hits}."
                found.append(Problem(loc, words, "contains", kept(thawed(value))))
        if "not" in rule and self.accepts(value, rule["not"], loc):
            found.append(_problem(loc, value, "is what the description rules out", "not_allowed"))
        if "if" in rule:
            part = rule.get("then" if self.accepts(value, rule["if"], loc) else "else", True)
            found += self.problems(value, part, loc)
        return found

    def _by_what_is_left(self, value: Any, rule: Mapping[str, Any], loc: Loc) -> list[Problem]:
        """What is wrong with fields and entries that no other keyword speaks of."""
        found: list[Problem] = []
        if isinstance(value, Record) and "unevaluatedProperties" in rule:
            others, speaking = rule["unevaluatedProperties"], heard(value, rule, self.defs, loc, self.accepts)
            known = {name for part in speaking for name in part.get("properties", ())}
            for name in fields_left(value, speaking):
                place, item = (*loc, name), value[name]
                unknown = [unknown_field(place, thawed(item), known)] if self.words else [REFUSED]
                found += unknown if others is False else self.problems(item, others, place)
        if isinstance(value, tuple) and "unevaluatedItems" in rule:
            speaking = heard(value, rule, self.defs, loc, self.accepts)
            for at in entries_left(value, speaking, loc, self.accepts):
                found += self.problems(value[at], rule["unevaluatedItems"], (*loc, at))
        return found

    def _by_closest(self, value: Any, parts: Sequence[Rule], loc: Loc) -> list[Problem]:
        """What is wrong by the alternative that was probably meant: right type, right constants, fewest problems."""
        forms = [(_choices_of(part, self.defs), types_of(part, self.defs)) for part in parts]
        if all(_is_other(value, choices, types) for choices, types in forms):
            return [self._of_no_form(value, parts, forms, loc)]
        found = [self.problems(value, part, loc) for part in parts]
        return min(found, key=lambda problems: _distance(problems, loc))

    def _of_no_form(self, value: Any, parts: Sequence[Rule], forms: Sequence[Form], loc: Loc) -> Problem:
        """What is wrong with a value that has none of the types and is none of the choices."""
        choices = _each_once(choice for choices, _ in forms for choice in choices)
        types = [name for choices, names in forms if not choices for name in names]
        known = [name for _, names in forms for name in names]
        if set(types) <= {"null"} and all(names for _, names in forms) and not _has_type(value, known):
            return self._wrong_type(value, {"anyOf": parts}, known, loc)
        if set(types) <= {"null"}:
            return _not_chosen(value, "enum" if len(choices) > 1 else "const", choices, loc)
        return self._wrong_type(value, {"anyOf": parts}, types, loc, choices)

    def _wrong_type(
        self, value: Any, rule: Rule, types: Sequence[str], loc: Loc, choices: Sequence[Any] = ()
    ) -> Problem:
        if not self.words:
            return REFUSED
        named = list(dict.fromkeys(name for name in types if name != "null")) or ["null"]
        endless = isinstance(value, float) and not math.isfinite(value)
        wanted = [WANTED["finite_number" if endless and name == "number" else KINDS[name]] for name in named]
        names = listed([shown(choice) for choice in choices[: MAX_LISTED + 1]], len(choices))
        wanted += [f"{'one of ' if len(choices) > 1 else ''}{names}"] if choices else []
        words = wanted[0] if len(wanted) == 1 else f"{', '.join(wanted[:-1])} or {wanted[-1]}"
        plain = thawed(value)
        meant = next((meant for meant in (converted(plain, KINDS[name]) for name in named) if meant is not None), None)
        # A hint that leads to the next refusal is none.
        legal = meant is not None and _Trial(self.defs).accepts(meant, rule, ())
        return wrong_type(loc, KINDS[named[0]], plain, words, meant if legal else None)


def _inside(value: Any, rule: Mapping[str, Any], defs: Defs, loc: Loc) -> Iterator[tuple[Any, Rule, Loc]]:
    """What else must be judged: the value itself by further rules, and what is inside of it."""
    for part in (*followed(rule, defs), *rule.get("allOf", ())):
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
    kind, named = kind_of(value), (types,) if isinstance(types, str) else types
    return kind in named or (kind == "integer" and "number" in named)


def _choices_of(rule: Rule, defs: Defs) -> Sequence[Any]:
    """The values that a rule lists as the only ones; empty where it lists none."""
    const = said_by(rule, "const", defs, missing=...)
    choices: Sequence[Any] = said_by(rule, "enum", defs, missing=()) if const is ... else [const]
    return choices


def _is_other(value: Any, choices: Sequence[Any], types: Sequence[str]) -> bool:
    """Whether a value is of another kind than a form, and not just wrong in something smaller."""
    if choices:
        return all(sameness(choice) != sameness(value) for choice in choices)
    return bool(types) and not _has_type(value, types)


def _each_once(values: Iterable[Any]) -> list[Any]:
    return list({sameness(value): value for value in values}.values())


def _not_chosen(value: Any, kind: str, choices: Sequence[Any], loc: Loc) -> Problem:
    if len(choices) != 1:
        return not_a_choice(loc, kind, thawed(value), choices)
    words = f"{subject(loc)} = {shown(thawed(value))} has to be {shown(choices[0])}."
    return Problem(loc, words, kind, kept(thawed(value)), choices[0])


def _distance(found: Sequence[Problem], loc: Loc) -> tuple[bool, int, float]:
    """How far a value is from a form, by its problems with it."""
    other_type = any(problem.loc == loc and problem.kind in WANTED for problem in found)
    other_choice = sum(problem.kind in ("const", "enum") and len(problem.loc) <= len(loc) + 1 for problem in found)
    # A field that is only misspelt speaks for a form.
    typos = sum(problem.kind == "extra_forbidden" and problem.nearest is not None for problem in found)
    return other_type, other_choice, len(found) - typos


def _not_allowed(loc: Loc, value: Any) -> Problem:
    return Problem(loc, f"{subject(loc)} is not allowed here.", "not_allowed", kept(thawed(value)))


def _problem(loc: Loc, value: Any, what: str, kind: str) -> Problem:
    return Problem(loc, f"{subject(loc)} = {shown(thawed(value))} {what}.", kind, kept(thawed(value)))
