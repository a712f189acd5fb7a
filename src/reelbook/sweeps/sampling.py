"""Drawing of values that cover wide ranges evenly, as a Latin hypercube or a Sobol sequence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from importlib import import_module
from numbers import Real
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from ..errors import InvalidInput, Problem, ReelbookError
from ..models.base import Input
from ..models.problems import format_bounds, format_number
from .field_paths import Schema, get_schema, parse_field_path
from .values import coerce_axis_values, usage_error

Method = Literal["latin", "sobol"]
Draw = Callable[[float], Any]
"""Maps a number between 0 and 1 to a value."""


class Range(BaseModel):
    """All numbers between two bounds, inclusive."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    low: int | float
    high: int | float


class Choices(BaseModel):
    """Values to choose from with equal probability."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    choices: tuple[Any, ...]


def draw_values(
    model: type[Input], count: int, fields: Mapping[str, Range | Choices], *, seed: int, method: Method
) -> dict[str, tuple[Any, ...]]:
    """Draw `count` values of each field, jointly, so that they cover all domains evenly."""
    draws = [_make_draw(model, name, domain) for name, domain in fields.items()]
    columns = zip(*_points(count, len(draws), seed=seed, method=method), strict=True)
    return {name: tuple(map(draw, column)) for name, draw, column in zip(fields, draws, columns, strict=True)}


def parse_domain(name: str, given: Any) -> Range | Choices:
    """What a field is drawn from: a range for a tuple of two numbers, else values to choose from."""
    is_pair = isinstance(given, tuple) and len(given) == 2
    if not is_pair or not all(isinstance(end, Real) and not isinstance(end, bool) for end in given):
        return Choices(choices=coerce_axis_values(name, given))
    low, high = (float(end) if not float(end).is_integer() else int(end) for end in given)
    if not -math.inf < low <= high < math.inf:
        raise usage_error(
            f"`{name}` is to be drawn from {format_number(low)} to {format_number(high)}; give two numbers, the smaller one first.",
            "sample_range",
            name,
        )
    return Range(low=low, high=high)


def _make_draw(model: type[Input], name: str, domain: Range | Choices) -> Draw:
    """The function that maps a number between 0 and 1 to a value of a field."""
    rule = get_schema(model, parse_field_path(model, name))
    if isinstance(domain, Choices):
        values = domain.choices
        # A single entry for a list field is wrapped in a list.
        if rule.get("type") == "array":
            values = tuple(value if isinstance(value, list) else [value] for value in values)
        return lambda point: values[int(point * len(values))]
    _check_range(model, name, domain, rule)
    step = _step_size(rule)
    if step is None:
        return lambda point: domain.low + point * (domain.high - domain.low)
    first = int((Decimal(repr(domain.low)) / step).to_integral_value(ROUND_CEILING))
    last = int((Decimal(repr(domain.high)) / step).to_integral_value(ROUND_FLOOR))
    if first > last:
        raise _range_error(
            model,
            name,
            f"`{name}` has no value from {format_number(domain.low)} to {format_number(domain.high)}: it takes multiples of {step}.",
        )
    is_integral = step == step.to_integral_value()

    def draw(point: float) -> Any:
        # As a fraction, because a range of seeds can have more values than a float distinguishes.
        value = (first + int(Fraction(point) * (last - first + 1))) * step
        return int(value) if is_integral else float(value)

    return draw


def _check_range(model: type[Input], name: str, domain: Range, rule: Schema) -> None:
    if "enum" in rule or rule.get("type") not in ("integer", "number", None):
        no_range = f"`{name}` is not a number, so it has no range; give a list of values to choose from."
        raise _range_error(model, name, no_range)
    ends = (domain.low, domain.high)
    is_inside = all(
        rule.get("minimum", end) <= end <= rule.get("maximum", end)
        and ("exclusiveMinimum" not in rule or end > rule["exclusiveMinimum"])
        and ("exclusiveMaximum" not in rule or end < rule["exclusiveMaximum"])
        for end in ends
    )
    if not is_inside:
        raise _range_error(
            model,
            name,
            f"`{name}` is to be drawn from {format_number(domain.low)} to {format_number(domain.high)}, "
            f"which leaves {format_bounds(rule)}. Stay inside them.",
        )


def _step_size(rule: Schema) -> Decimal | None:
    """The number of which every value is a multiple: 1 for integers, None if any number is valid."""
    step = Decimal(str(rule["multipleOf"])) if "multipleOf" in rule else None
    if rule.get("type") != "integer":
        return step
    if step is None:
        return Decimal(1)
    # The integral multiples of 2.5 are those of 5.
    return step * Fraction(step).denominator


def _range_error(model: type[Input], name: str, sentence: str) -> InvalidInput:
    return InvalidInput(model.__name__, [Problem((name,), sentence, "sample_range")])


def _points(count: int, dimensions: int, *, seed: int, method: Method) -> Iterator[Sequence[float]]:
    """Points that cover the unit cube evenly."""
    try:
        qmc = import_module("scipy.stats.qmc")
    except ImportError:
        raise ReelbookError(
            "Drawing a sample needs scipy, which is not installed here: pip install 'reelbook[sampling]'"
        ) from None
    if method == "latin":
        yield from qmc.LatinHypercube(dimensions, rng=seed).random(count).tolist()
    else:
        # Only powers of two are balanced; a prefix of one is the next best.
        yield from qmc.Sobol(dimensions, rng=seed).random_base2(math.ceil(math.log2(count))).tolist()[:count]
