"""Validation errors as sentences that name the field, the value, its bounds and a correction."""

from __future__ import annotations

import difflib
import math
import re
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..errors import Problem
from ..util.printable import replace_surrogates
from .json_schema import rule_at, rules_at, schema_of
from .value_types import MAX_DIGITS

Schema = Mapping[str, Any]
Loc = tuple[str | int, ...]

MAX_PROBLEMS = 100
"""How many problems of one input are listed; a hostile list can have a million, and each takes time to format."""
MAX_LISTED = 40
"""How many names or choices a sentence lists; a hostile description can have thousands."""
MAX_COMPARED = 1000
"""How many names or choices are compared to find the one that was meant, as each takes time."""

WANTED = {
    "int_type": "a whole number",
    "int_size": f"a whole number of at most {MAX_DIGITS:,} digits",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "string_sub_type": "text",
    "string_unicode": "text that can be written as UTF-8",
    "bool_type": "True or False",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object with its fields",
    "model_attributes_type": "an object with its fields",
    "none_required": "nothing (null)",
}


def problems_of(model: type[BaseModel], error: ValidationError) -> list[Problem]:
    """Each validation error as a problem, in the order of the fields.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> try:
    ...     TextToVideo.model_validate({"prompt": "a boat", "num_frames": 5})
    ... except ValidationError as error:
    ...     problems_of(TextToVideo, error)[0].message
    '`num_frames` = 5 is outside 9 to 1441. The nearest allowed value is 9.'
    """
    schema = schema_of(model)
    findings = error.errors(include_url=False)
    places = {found["loc"] for found in findings}
    independent = [found for found in findings if not _is_consequence(found, places)]
    problems = [_problem(schema, found) for found in independent[:MAX_PROBLEMS]]
    if len(independent) > MAX_PROBLEMS:
        rest = f"{len(independent) - MAX_PROBLEMS:,} more problems are not listed. Fix these first."
        problems.append(Problem((), rest, "more"))
    return problems


def format_field_path(loc: Sequence[str | int]) -> str:
    """A field path as a Python expression.

    >>> format_field_path(("loras", 0, "scale"))
    'loras[0].scale'
    """
    return Problem(tuple(loc), "", "").field


def format_literal(value: Any, max_chars: int = 60) -> str:
    """A value as code, shortened, because a prompt or a data URI can be megabytes long.

    >>> format_literal("a paper boat", max_chars=8), format_literal(10**400), format_literal([[[[["deep"]]]]])
    ("'a paper…'", 'a number of about 401 digits', '[[[[...]]]]')
    """
    if isinstance(value, str) and len(value) > max_chars:
        # Cut before repr, so that a long text costs nothing.
        return repr(value[: max_chars - 1] + "…")
    if isinstance(value, (bytes, bytearray)) and len(value) > max_chars // 4:
        return f"{len(value):,} bytes"
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 200:
        return f"a number of about {math.ceil(value.bit_length() * math.log10(2)):,} digits"
    if isinstance(value, (list, tuple, dict, set)) and len(value) > 5:
        return f"a {type(value).__name__} of {len(value):,}"
    try:
        text = _SHORT.repr(value)
    except Exception:
        # The `repr` of any object may raise anything.
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"


def compact_value(value: Any) -> Any:
    """The value if it is plain and short, else its literal: a problem must be small and picklable."""
    if type(value) is str:
        plain = len(value) <= 100 and value == replace_surrogates(value)
    else:
        plain = value is None or type(value) in (bool, float) or (type(value) is int and value.bit_length() <= 200)
    return value if plain else format_literal(value)


_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxlong, _SHORT.maxother = 4, 60, 60, 60
"""A `repr` with bounds on nesting and on the length of texts."""


def _problem(schema: Schema, found: ErrorDetails) -> Problem:
    facts: Mapping[str, Any] = found.get("ctx", {})
    if isinstance(facts.get("problem"), Problem):
        # A validator of ours has said it already, without the value: it may be a key.
        ready: Problem = facts["problem"]
        return ready
    loc = (*found["loc"], facts["field"]) if not found["loc"] and "field" in facts else found["loc"]
    kind, value, subject, rules = found["type"], found["input"], format_subject(loc), rules_at(schema, loc)
    rule = rule_at(schema, loc)
    match kind:
        case "missing":
            return Problem(loc, f"{subject} is required.", kind)
        case "extra_forbidden":
            whole = rule_at(schema, loc[:-1])
            return unknown_field(loc, value, {*whole.get("properties", ()), *whole.get("required", ())})
        case "greater_than_equal" | "less_than_equal" | "greater_than" | "less_than":
            bounded = next((rule for rule in rules if not rule.keys().isdisjoint(_BOUND_WORDS)), rule)
            return outside(loc, kind, value, f"is outside {format_bounds(bounded)}", nearest_number(value, bounded))
        case "multiple_of":
            stepped = next((rule for rule in rules if "multipleOf" in rule), rule)
            what = f"is not a multiple of {format_number(facts['multiple_of'])}"
            return outside(loc, kind, value, what, nearest_number(value, stepped))
        case "literal_error" | "enum":
            choices = rule.get("enum", [rule["const"]] if "const" in rule else [])
            return not_a_choice(loc, kind, value, facts.get("choices", choices))
        case "alternatives":
            wanted = [WANTED[kind] for kind in facts["kinds"] if kind != "none_required"]
            words = wanted[0] if len(wanted) == 1 else f"{', '.join(wanted[:-1])} or {wanted[-1]}"
            meant = (find_meant_value(value, kind) for kind in facts["kinds"])
            return wrong_type(loc, kind, value, words, next((item for item in meant if item is not None), None))
        case "json_type":
            stray = facts["stray"]
            return wrong_type((*loc, *stray.loc), kind, stray.value, stray.wanted or "a JSON value", None)
        case "string_unicode" if "properties" in rule:
            words = f"{subject} has a field {format_literal(value)}, which cannot be written as UTF-8."
        case _ if kind in WANTED:
            return wrong_type(loc, kind, value, WANTED[kind], _legal(find_meant_value(value, kind), rule))
        case "string_too_short":
            has = f"{len(value):,} character{'s' if len(value) != 1 else ''}"
            words = f"{subject} has {has}; at least {facts['min_length']:,} are needed."
        case "string_pattern_mismatch":
            words = f"{subject} = {format_literal(value)} does not have the form `{facts['pattern'][:200]}`."
        case "string_too_long":
            most = facts["max_length"]
            words = f"{subject} has {len(value):,} characters; at most {most:,} are allowed. Shorten it."
            return Problem(loc, words, kind, compact_value(value), value[:most])
        case "too_short" | "too_long":
            words = f"{subject} {_format_wrong_length(kind, value, facts)}"
        case "picture":
            words = f"{subject} {facts['reason']}"
        case _ if not found["loc"]:
            return Problem(loc, f"{found['msg']}", kind, None, facts.get("nearest"))
        case _:
            nearest = facts.get("nearest") or None
            hint = f" The nearest allowed value is {nearest}." if nearest else ""
            words = f"{subject} = {format_literal(value)}: {found['msg'].rstrip('.')}.{hint}"
            return Problem(loc, words, kind, compact_value(value), nearest)
    return Problem(loc, words, kind, compact_value(value))


def _is_consequence(found: ErrorDetails, places: set[tuple[str | int, ...]]) -> bool:
    """Whether a list only counts as too short because its entries are wrong, which is reported separately."""
    loc = found["loc"]
    return found["type"] == "too_short" and any(place[: len(loc)] == loc != place for place in places)


def _nearest_choice(value: Any, choices: Sequence[Any]) -> Any:
    """The choice that was probably meant: by number where all are numbers ("1080p" → "720p"), else by spelling."""
    if not isinstance(value, (str, int, float)) or isinstance(value, bool) or compact_value(value) is not value:
        # Neither text nor a number, or implausibly long.
        return None
    numbers = [_leading_number(item) for item in (value, *choices)]
    if choices and None not in numbers:
        return min(zip(numbers[1:], choices, strict=True), key=lambda pair: abs(pair[0] - numbers[0]))[1]  # type: ignore[operator]
    close = difflib.get_close_matches(str(value), [str(choice) for choice in choices], n=1, cutoff=0.0)
    return next((choice for choice in choices if close and str(choice) == close[0]), None)


def _leading_number(value: Any) -> float | None:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)[a-zA-Z]{0,2}", str(value)[:100])
    return float(found[1]) if found else None


def unknown_field(loc: Loc, value: Any, known: Iterable[str]) -> Problem:
    """The problem of a field that does not exist, with the one that was probably meant."""
    name = str(loc[-1])
    names = sorted(set(known) - {name})
    close = difflib.get_close_matches(name[:100], names[:MAX_COMPARED], n=1, cutoff=0.6)
    hint = f" Did you mean `{close[0]}`?" if close else f" The fields are: {format_list(names)}." if names else ""
    where = f" of `{format_field_path(loc[:-1])}`" if len(loc) > 1 else ""
    words = f"There is no field `{format_literal(name)[1:-1]}`{where}.{hint}"
    return Problem(loc, words, "extra_forbidden", compact_value(value), *close)


def not_a_choice(loc: Loc, kind: str, value: Any, choices: Sequence[Any]) -> Problem:
    """The problem of a value that is not on the list, with the choice that was probably meant."""
    nearest = _nearest_choice(value, choices[:MAX_COMPARED])
    hint = f" Did you mean {nearest!r}?" if nearest is not None else ""
    names = format_list([format_literal(choice) for choice in choices[: MAX_LISTED + 1]], len(choices))
    words = f"{format_subject(loc)} = {format_literal(value)} is not one of {names}.{hint}"
    return Problem(loc, words, kind, compact_value(value), nearest)


def outside(loc: Loc, kind: str, value: Any, what: str, nearest: Any) -> Problem:
    """The problem of a number out of bounds or off its steps, with the nearest allowed one."""
    hint = f" The nearest allowed value is {format_number(nearest)}." if nearest is not None else ""
    words = f"{format_subject(loc)} = {format_literal(value)} {what}.{hint}"
    return Problem(loc, words, kind, compact_value(value), nearest)


def wrong_type(loc: Loc, kind: str, value: Any, wanted: str, nearest: Any) -> Problem:
    """The problem of a value of the wrong type, with what was probably meant."""
    hint = f" Did you mean {nearest!r}?" if nearest is not None else ""
    given = "nothing (null)" if value is None else f"{format_literal(value)} ({type(value).__name__})"
    words = f"{format_subject(loc)} needs {wanted}, not {given}.{hint}"
    return Problem(loc, words, kind, compact_value(value), nearest)


def _format_wrong_length(kind: str, value: Any, facts: Mapping[str, Any]) -> str:
    bound = facts["min_length" if kind == "too_short" else "max_length"]
    one, many = ("field", "fields") if facts.get("field_type") == "Dictionary" else ("entry", "entries")
    wanted = f"{'at least' if kind == 'too_short' else 'at most'} {bound:,} {one if bound == 1 else many}"
    # A value without a length is an iterator, which was read up to its limit.
    has = f"{len(value):,}" if hasattr(value, "__len__") else "none" if kind == "too_short" else "more"
    return f"needs {wanted} and has {has}."


def format_subject(loc: Loc) -> str:
    """The subject of a sentence about a field path."""
    return f"`{format_field_path(loc)}`" if loc else "The input"


def format_bounds(rule: Schema) -> str:
    """The bounds of a number as text.

    >>> format_bounds({"minimum": 9, "maximum": 1441}), format_bounds({"exclusiveMinimum": 0, "maximum": 2147483647})
    ('9 to 1441', 'the bounds (more than 0 and at most 2147483647)')
    """
    if "minimum" in rule and "maximum" in rule and not {"exclusiveMinimum", "exclusiveMaximum"} & set(rule):
        return f"{format_number(rule['minimum'])} to {format_number(rule['maximum'])}"
    words = {
        "minimum": "at least",
        "exclusiveMinimum": "more than",
        "maximum": "at most",
        "exclusiveMaximum": "less than",
    }
    return f"the bounds ({' and '.join(f'{words[key]} {format_number(rule[key])}' for key in words if key in rule)})"


def format_number(value: float) -> str:
    """A number in its usual notation, 24 rather than 24.0.

    >>> format_number(24.0), format_number(0.15), format_number(1234567)
    ('24', '0.15', '1234567')
    """
    return format_literal(
        int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else value
    )


def format_list(words: Sequence[str], total: int | None = None) -> str:
    """Words separated by commas; those beyond the first forty are only counted.

    >>> format_list(["'a'", "'b'"])
    "'a', 'b'"
    """
    more = (len(words) if total is None else total) - MAX_LISTED
    return ", ".join(words[:MAX_LISTED]) + (f" and {more:,} more" if more > 0 else "")


_BOUND_WORDS = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")


def nearest_number(value: float, rule: Schema) -> float | None:
    """The number closest to the value within bounds and steps; None where there is none.

    >>> nearest_number(0.33, {"multipleOf": 0.05, "maximum": 0.3}), nearest_number(-1, {"exclusiveMinimum": 0})
    (0.3, None)
    >>> nearest_number(0, {"type": "integer", "exclusiveMinimum": 0, "maximum": 9})
    1
    """
    low, high = rule.get("minimum", -math.inf), rule.get("maximum", math.inf)
    above, below = rule.get("exclusiveMinimum", -math.inf), rule.get("exclusiveMaximum", math.inf)
    nearest = min(max(value, low), high)
    if "multipleOf" in rule or rule.get("type") == "integer":
        # As written, not in binary digits: 0.05 is 1/20.
        step = Fraction(str(rule.get("multipleOf", 1)))
        places = [round(Fraction(str(nearest)) / step) + offset for offset in (0, -1, 1)]
        steps = [int(at * step) if (at * step).denominator == 1 else float(at * step) for at in places]
    else:
        steps = [nearest]
    allowed = [item for item in steps if low <= item <= high and above < item < below]
    return min(allowed, key=lambda item: abs(item - nearest), default=None)


_TRUE, _FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")


def find_meant_value(value: Any, kind: str) -> Any:
    """What a value of the wrong type was probably meant to be; None where that is unclear."""
    try:
        if kind == "string_type" and isinstance(value, (int, float)) and not isinstance(value, bool):
            return str(value)
        if kind == "int_type" and isinstance(value, str) and len(value) < 20:
            return int(value)
        if kind == "int_type" and isinstance(value, float) and abs(value) < 1e15:
            return round(value)
        if kind == "float_type" and isinstance(value, str) and len(value) < 20 and math.isfinite(float(value)):
            return float(value)
        if kind == "bool_type" and isinstance(value, (str, int, float)) and value in (0, 1, *_TRUE, *_FALSE):
            return value in (1, *_TRUE)
    except (ValueError, OverflowError, TypeError):
        pass
    return None


def _legal(value: Any, rule: Schema) -> Any:
    """The value, or the nearest number that the rule allows."""
    return nearest_number(value, rule) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
