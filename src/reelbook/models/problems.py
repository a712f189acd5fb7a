"""Validation errors as sentences that name the field, the value, its bounds and a correction."""

from __future__ import annotations

import difflib
import math
import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ValidationError

from ..errors import Problem
from ..util.printable import replace_surrogates
from .value_types import MAX_DEPTH

Loc = tuple[str | int, ...]

MAX_PROBLEMS = 100
"""How many problems of one input are listed; a hostile list can have a million, and each takes time to format."""
MAX_LISTED, MAX_COMPARED = 40, 1000
"""How many names or choices a sentence lists, and how many are compared to find the one that was meant."""

WANTED = {
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "string_sub_type": "text",
    "string_unicode": "text that can be written as UTF-8",
    "bool_type": "True or False",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_type": "an object with its fields",
    "model_attributes_type": "an object with its fields",
    "none_required": "nothing (null)",
    "json_type": "a text, a number, True or False, a list or an object",
    "json_depth": f"at most {MAX_DEPTH} levels of lists and objects",
}
"""What a value should be, by the kind of error that says it is of the wrong type."""
_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
}


def problems_of(model: type[BaseModel], error: ValidationError) -> list[Problem]:
    """Each validation error as a problem, in the order of the fields.

    The message of one: "`num_frames` = 5 is outside 9 to 1441. The nearest allowed value is 9."
    """
    findings = error.errors(include_url=False)
    outer = {finding["loc"][:length] for finding in findings for length in range(len(finding["loc"]))}
    # A list counts as too short, too, where its entries are wrong.
    findings = [finding for finding in findings if finding["type"] != "too_short" or finding["loc"] not in outer]
    problems = [_problem(schema_of(model), finding) for finding in findings[:MAX_PROBLEMS]]
    if len(findings) > MAX_PROBLEMS:
        rest = f"{len(findings) - MAX_PROBLEMS:,} more problems are not listed. Fix these first."
        problems.append(Problem((), rest, "more"))
    return problems


def _problem(schema: Mapping[str, Any], finding: Mapping[str, Any]) -> Problem:
    loc, kind, value, facts = finding["loc"], finding["type"], finding["input"], finding.get("ctx", {})
    if isinstance(facts.get("problem"), Problem):
        ready: Problem = facts["problem"]
        return ready
    if not loc and "field" in facts:
        loc = (facts["field"],)
    rules, rule, nearest = rules_at(schema, loc), rule_at(schema, loc), facts.get("nearest") or None
    subject = format_subject(loc)
    shown = f"{subject} = {format_literal(value)}"
    match kind:
        case "missing":
            return Problem(loc, f"{subject} is required.", kind)
        case "extra_forbidden":
            return unknown_field(loc, value, rule_at(schema, loc[:-1]).get("properties", ()))
        case "literal_error" | "enum":
            choices = rule.get("enum", [rule["const"]] if "const" in rule else [])
            return not_a_choice(loc, kind, value, facts.get("choices", choices))
        case _ if kind in WANTED:
            if kind in ("int_type", "float_type") and type(value) in (str, float):
                with suppress(ValueError):
                    nearest = nearest_number(float(value), rule)
            return wrong_type(loc, kind, value, WANTED[kind], nearest)
        case "greater_than_equal" | "less_than_equal" | "greater_than" | "less_than" | "multiple_of":
            limits = next((rule for rule in rules if not rule.keys().isdisjoint((*_BOUNDS, "multipleOf"))), rule)
            nearest, bounds = nearest_number(value, limits), format_bounds(limits)
            what = f"outside {bounds}" if " to " in bounds else f"outside the bounds ({bounds})"
            what = f"not a multiple of {format_number(facts['multiple_of'])}" if kind == "multiple_of" else what
            words = f"{shown} is {what}."
        case "string_pattern_mismatch":
            words = f"{shown} does not have the form `{facts['pattern'][:200]}`."
        case "too_short" | "too_long" | "string_too_short" | "string_too_long":
            bound = f"at least {facts['min_length']:,}" if "min_length" in facts else f"at most {facts['max_length']:,}"
            entry, entries = ("character", "characters") if kind.startswith("string") else ("entry", "entries")
            # A value without a length is an iterator, which was read up to its limit.
            has = f"{len(value):,}" if hasattr(value, "__len__") else "none" if kind == "too_short" else "more"
            words = f"{subject} needs {bound} {entry if bound.endswith(' 1') else entries} and has {has}."
        case "picture":
            words = f"{subject} {facts['reason']}"
        case _ if not finding["loc"]:
            return Problem(loc, f"{finding['msg']}", kind, None, nearest)
        case _:
            words = f"{shown}: {finding['msg'].rstrip('.')}."
    if nearest is not None:
        words += f" The nearest allowed value is {nearest if isinstance(nearest, str) else format_number(nearest)}."
    return Problem(loc, words, kind, compact_value(value), nearest)


def unknown_field(loc: Loc, value: Any, known: Iterable[str]) -> Problem:
    """The problem of a field that does not exist, with the one that was probably meant."""
    name = str(loc[-1])
    names = sorted(set(known) - {name})
    close = difflib.get_close_matches(name[:100], names[:MAX_COMPARED], n=1, cutoff=0.6)
    hint = f" Did you mean `{close[0]}`?" if close else f" The fields are: {_join(names)}." if names else ""
    where = f" of {format_subject(loc[:-1])}" if len(loc) > 1 else ""
    words = f"There is no field `{format_literal(name)[1:-1]}`{where}.{hint}"
    return Problem(loc, words, "extra_forbidden", compact_value(value), *close)


def not_a_choice(loc: Loc, kind: str, value: Any, choices: Sequence[Any]) -> Problem:
    """The problem of a value that is not on the list, with the choice that was probably meant."""
    nearest = _nearest_choice(value, choices[:MAX_COMPARED])
    hint = f" Did you mean {nearest!r}?" if nearest is not None else ""
    names = _join([format_literal(choice) for choice in choices[: MAX_LISTED + 1]], len(choices))
    words = f"{format_subject(loc)} = {format_literal(value)} is not one of {names}.{hint}"
    return Problem(loc, words, kind, compact_value(value), nearest)


def wrong_type(loc: Loc, kind: str, value: Any, wanted: str, nearest: Any) -> Problem:
    """The problem of a value of the wrong type, with what was probably meant."""
    hint = f" Did you mean {nearest!r}?" if nearest is not None else ""
    given = "nothing (null)" if value is None else f"{format_literal(value)} ({type(value).__name__})"
    words = f"{format_subject(loc)} needs {wanted}, not {given}.{hint}"
    return Problem(loc, words, kind, compact_value(value), nearest)


def nearest_number(value: float, rule: Mapping[str, Any]) -> float | None:
    """The number closest to the value within bounds and steps; None where there is none."""
    low, high = rule.get("minimum", -math.inf), rule.get("maximum", math.inf)
    above, below = rule.get("exclusiveMinimum", -math.inf), rule.get("exclusiveMaximum", math.inf)
    nearest = min(max(value, low), high)
    steps = [nearest]
    if "multipleOf" in rule or rule.get("type") == "integer":
        # As written, not in binary digits: 0.05 is 1/20.
        step = Fraction(str(rule.get("multipleOf", 1)))
        multiples = [(round(Fraction(str(nearest)) / step) + offset) * step for offset in (0, -1, 1)]
        steps = [int(number) if number.denominator == 1 else float(number) for number in multiples]
    allowed = [item for item in steps if low <= item <= high and above < item < below]
    return min(allowed, key=lambda item: abs(item - nearest), default=None)


def _nearest_choice(value: Any, choices: Sequence[Any]) -> Any:
    """The choice that was probably meant: by number where all are numbers ("1080p" → "720p"), else by spelling."""
    if not isinstance(value, (str, int, float)) or isinstance(value, bool) or compact_value(value) is not value:
        # Neither text nor a number, or implausibly long.
        return None
    numbers = [re.fullmatch(r"(\d+(?:\.\d+)?)[a-zA-Z]{0,2}", str(item)[:100]) for item in (value, *choices)]
    if choices and None not in numbers:
        first, *others = [float(number[1]) for number in numbers if number]
        return min(zip(others, choices, strict=True), key=lambda pair: abs(pair[0] - first))[1]
    by_text = {str(choice): choice for choice in choices}
    close = difflib.get_close_matches(str(value), by_text, n=1, cutoff=0.0)
    return by_text[close[0]] if close else None


# The parts of a sentence.


def format_subject(loc: Loc) -> str:
    """The subject of a sentence about a field path, such as `loras[0].scale`."""
    return f"`{Problem(loc, '', '').field}`" if loc else "The input"


def format_literal(value: Any, max_chars: int = 60) -> str:
    """A value as code, shortened, because a prompt or a data URI can be megabytes long.

    >>> format_literal("a paper boat", max_chars=8), format_literal(10**400), format_literal([[[[["deep"]]]]])
    ("'a paper…'", 'a very long number', '[[[[...]]]]')
    """
    if isinstance(value, str) and len(value) > max_chars:
        # Cut before repr, so that a long text costs nothing.
        return repr(value[: max_chars - 1] + "…")
    if isinstance(value, int) and value.bit_length() > 200:
        return "a very long number"
    try:
        text = _SHORT.repr(value)
    except Exception:
        # The `repr` of any object may raise anything.
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"


_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxlong, _SHORT.maxother = 4, 60, 60, 60
"""A `repr` with bounds on nesting and on the length of texts."""


def compact_value(value: Any) -> Any:
    """The value if it is plain and short, else its literal: a problem must be small and picklable."""
    if type(value) is str:
        plain = len(value) <= 100 and value == replace_surrogates(value)
    else:
        plain = value is None or type(value) in (bool, float) or (type(value) is int and value.bit_length() <= 200)
    return value if plain else format_literal(value)


def format_bounds(rule: Mapping[str, Any]) -> str:
    """The bounds of a number as text; empty where it has none.

    >>> format_bounds({"minimum": 9, "maximum": 1441}), format_bounds({"exclusiveMinimum": 0, "maximum": 9})
    ('9 to 1441', 'more than 0 and at most 9')
    """
    if "minimum" in rule and "maximum" in rule:
        return f"{format_number(rule['minimum'])} to {format_number(rule['maximum'])}"
    return " and ".join(f"{words} {format_number(rule[key])}" for key, words in _BOUNDS.items() if key in rule)


def format_number(value: float) -> str:
    """A number in its usual notation, 24 rather than 24.0."""
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return format_literal(int(value) if is_whole else value)


def _join(words: Sequence[str], total: int | None = None) -> str:
    """Words separated by commas; those beyond the first forty are only counted."""
    more = (len(words) if total is None else total) - MAX_LISTED
    return ", ".join(words[:MAX_LISTED]) + (f" and {more:,} more" if more > 0 else "")


# The rules of a JSON schema.


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
