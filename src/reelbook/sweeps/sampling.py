"""Drawing of values that cover wide ranges evenly, as a Latin hypercube or a Sobol sequence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from importlib import import_module
from numbers import Real
from typing import Any, Literal

from ..errors import InvalidInput, Problem, ReelbookError
from ..models.base import Input
from ..models.problems import format_bounds, format_number
from .field_paths import Schema, get_schema, parse_field_path
from .values import coerce_axis_values, usage_error

Method = Literal["latin", "sobol"]
Domain = tuple[float, float] | list[Any]
"""The lowest and highest value of a field, or the values to choose from."""
Draw = Callable[[float], Any]
"""Maps a number between 0 and 1 to a value."""


def draw_values(
    model: type[Input], count: int, domains: Mapping[str, Domain], *, seed: int, method: Method
) -> dict[str, tuple[Any, ...]]:
    """Draw `count` values of each field, jointly, so that they cover all domains evenly."""
    draws = [_make_draw(model, name, domain) for name, domain in domains.items()]
    columns = zip(*_points(count, len(draws), seed=seed, method=method), strict=True)
    return {name: tuple(map(draw, column)) for name, draw, column in zip(domains, draws, columns, strict=True)}


def parse_domain(name: str, given: Any) -> Domain:
    """What a field is drawn from: a range for a tuple of two numbers, else values to choose from."""
    is_pair = isinstance(given, tuple) and len(given) == 2
    if not is_pair or not all(isinstance(end, Real) and not isinstance(end, bool) for end in given):
        return list(coerce_axis_values(name, given))
    low, high = (float(end) if not float(end).is_integer() else int(end) for end in given)
    if not -math.inf < low <= high < math.inf:
        raise usage_error(
            f"`{name}` is to be drawn from {format_number(low)} to {format_number(high)}; give two numbers, the smaller one first."
        )
    return low, high


def _make_draw(model: type[Input], name: str, domain: Domain) -> Draw:
    """The function that maps a number between 0 and 1 to a value of a field."""
    rule = get_schema(model, parse_field_path(model, name))
    if isinstance(domain, list):
        # A single entry for a list field is wrapped in a list.
        is_listed = rule.get("type") == "array"
        values = [[value] if is_listed and not isinstance(value, list) else value for value in domain]
        return lambda point: values[int(point * len(values))]
    low, high = domain
    _check_range(model, name, domain, rule)
    step = _step_size(rule)
    if step is None:
        return lambda point: low + point * (high - low)
    first = int((Decimal(repr(low)) / step).to_integral_value(ROUND_CEILING))
    last = int((Decimal(repr(high)) / step).to_integral_value(ROUND_FLOOR))
    if first > last:
        ends = f"from {format_number(low)} to {format_number(high)}"
        raise _range_error(model, name, f"`{name}` has no value {ends}: it takes multiples of {step}.")
    is_integral = step == step.to_integral_value()

    def draw(point: float) -> Any:
        # As a fraction, because a range of seeds can have more values than a float distinguishes.
        value = (first + int(Fraction(point) * (last - first + 1))) * step
        return int(value) if is_integral else float(value)

    return draw


def _check_range(model: type[Input], name: str, domain: tuple[float, float], rule: Schema) -> None:
    if "enum" in rule or rule.get("type") not in ("integer", "number", None):
        no_range = f"`{name}` is not a number, so it has no range; give a list of values to choose from."
        raise _range_error(model, name, no_range)
    is_inside = all(
        rule.get("minimum", end) <= end <= rule.get("maximum", end)
        and ("exclusiveMinimum" not in rule or end > rule["exclusiveMinimum"])
        and ("exclusiveMaximum" not in rule or end < rule["exclusiveMaximum"])
        for end in domain
    )
    if not is_inside:
        ends = " to ".join(map(format_number, domain))
        raise _range_error(
            model, name, f"`{name}` is to be drawn from {ends}, which leaves {format_bounds(rule)}. Stay inside them."
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
