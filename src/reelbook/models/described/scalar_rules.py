"""JSON Schema checks of a number or a text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from ...errors import Problem
from ..images import Image
from ..problems import Loc, compact_value, format_bounds, format_literal, format_number, format_subject, outside
from .regex_patterns import matches

Rule = Mapping[str, Any]

_KINDS = {
    "minimum": "greater_than_equal",
    "exclusiveMinimum": "greater_than",
    "maximum": "less_than_equal",
    "exclusiveMaximum": "less_than",
}


def number_problems(value: float, rule: Rule, loc: Loc, *, with_messages: bool = True) -> Iterator[Problem]:
    """Problems of a number. Without `with_messages` their messages are empty, which is quicker.

    >>> [problem.message for problem in number_problems(11, {"maximum": 10, "multipleOf": 4}, ("steps",))]
    ['`steps` = 11 is outside the bounds (at most 10). The nearest allowed value is 8.']
    """
    beyond = [word for word in _KINDS if word in rule and _is_beyond(value, word, rule[word])]
    if not beyond and ("multipleOf" not in rule or is_multiple(value, rule["multipleOf"])):
        return
    kind = _KINDS[beyond[0]] if beyond else "multiple_of"
    if not with_messages:
        yield Problem(loc, "", kind)
        return
    what = (
        f"outside {format_bounds(limits(rule))}" if beyond else f"not a multiple of {format_number(rule['multipleOf'])}"
    )
    yield outside(loc, kind, value, f"is {what}", nearest_number(value, rule))


def text_problems(value: str, rule: Rule, loc: Loc) -> Iterator[Problem]:
    """Problems of a text.

    >>> [problem.message for problem in text_problems("boat", {"maxLength": 3}, ("name",))]
    ['`name` has 4 characters; at most 3 are allowed. Shorten it.']
    """
    if isinstance(value, Image):
        # The text sent in its place is not known yet, so only the service can check it.
        return
    shortest, longest = rule.get("minLength", 0), rule.get("maxLength", math.inf)
    has = f"{format_subject(loc)} has {len(value):,} character{'s' if len(value) != 1 else ''}"
    if len(value) < shortest:
        yield Problem(loc, f"{has}; at least {int(shortest):,} are needed.", "string_too_short", compact_value(value))
    if len(value) > longest:
        words = f"{has}; at most {int(longest):,} are allowed. Shorten it."
        yield Problem(loc, words, "string_too_long", compact_value(value), value[: int(longest)])
    if "pattern" in rule and not matches(rule["pattern"], value):
        words = f"{format_subject(loc)} = {format_literal(value)} does not have the form `{rule['pattern'][:200]}`."
        yield Problem(loc, words, "string_pattern_mismatch", compact_value(value))


def is_multiple(value: float, step: float) -> bool:
    """Whether one number is a multiple of another, both taken as written.

    >>> is_multiple(0.15, 0.05), is_multiple(2**53 + 1, 3), is_multiple(1e300, 0.1), is_multiple(float("inf"), 2)
    (True, True, True, False)
    """
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return (_as_fraction(value) / _as_fraction(step)).denominator == 1


def limits(rule: Rule) -> dict[str, Any]:
    """The effective bounds: of two the tighter one, and integers for an integer.

    >>> limits({"type": "integer", "exclusiveMinimum": 0, "maximum": 9.5}), limits({"exclusiveMinimum": 0})
    ({'minimum': 1, 'maximum': 9}, {'exclusiveMinimum': 0})
    """
    ends = {word: rule[word] for word in _KINDS if word in rule}
    if _is_integer(rule):
        low = [math.ceil(ends["minimum"])] if "minimum" in ends else []
        low += [math.floor(ends["exclusiveMinimum"]) + 1] if "exclusiveMinimum" in ends else []
        high = [math.floor(ends["maximum"])] if "maximum" in ends else []
        high += [math.ceil(ends["exclusiveMaximum"]) - 1] if "exclusiveMaximum" in ends else []
        return {**({"minimum": max(low)} if low else {}), **({"maximum": min(high)} if high else {})}
    if {"minimum", "exclusiveMinimum"} <= ends.keys():
        del ends["exclusiveMinimum" if ends["minimum"] > ends["exclusiveMinimum"] else "minimum"]
    if {"maximum", "exclusiveMaximum"} <= ends.keys():
        del ends["exclusiveMaximum" if ends["maximum"] < ends["exclusiveMaximum"] else "maximum"]
    return ends


def nearest_number(value: float, rule: Rule) -> float | None:
    """The number closest to the value within bounds and steps; None where there is none.

    >>> nearest_number(0.33, {"multipleOf": 0.05, "maximum": 0.3}), nearest_number(-1, {"exclusiveMinimum": 0})
    (0.3, None)
    """
    if isinstance(value, float) and not math.isfinite(value):
        return None
    ends = {word: _as_fraction(bound) for word, bound in limits(rule).items()}
    target = _as_fraction(value)
    target = max(target, ends.get("minimum", target), ends.get("exclusiveMinimum", target))
    target = min(target, ends.get("maximum", target), ends.get("exclusiveMaximum", target))
    candidates = [target]
    if "multipleOf" in rule:
        step = _as_fraction(rule["multipleOf"])
        # An integer can only be a multiple of the step's numerator.
        step = Fraction(step.numerator) if _is_integer(rule) else step
        candidates = [(round(target / step) + offset) * step for offset in (0, -1, 1)]
    legal = [item for item in candidates if not any(_is_beyond(item, word, ends[word]) for word in ends)]
    nearest = min(legal, key=lambda item: abs(item - target), default=None)
    try:
        return None if nearest is None else nearest.numerator if nearest.denominator == 1 else float(nearest)
    except OverflowError:
        return None


def _is_beyond(value: Any, word: str, bound: Any) -> bool:
    match word:
        case "minimum":
            return bool(value < bound)
        case "exclusiveMinimum":
            return bool(value <= bound)
        case "maximum":
            return bool(value > bound)
        case _:
            return bool(value >= bound)


def _is_integer(rule: Rule) -> bool:
    types = rule.get("type")
    return types == "integer" or (isinstance(types, (list, tuple)) and "integer" in types and "number" not in types)


def _as_fraction(value: float) -> Fraction:
    """A number as its shortest decimal, not as its binary digits: 0.05 is 1/20."""
    return Fraction(value) if isinstance(value, int) else Fraction(Decimal(repr(value)))
