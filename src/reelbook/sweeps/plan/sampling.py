"""Samples: a few runs that cover wide ranges evenly, as a Latin hypercube or a Sobol sequence."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from importlib import import_module
from typing import Any, Literal, get_args

from ...errors import InvalidInput, Problem, ReelbookError
from ...models.base import Input
from ...models.problems import format_bounds, format_literal, format_number
from ..sweep_errors import MAX_RUNS, too_many, usage_error
from .axes import Assignment, Table
from .axis_values import coerce_axis_values, coerce_value
from .field_paths import Schema, get_schema, parse_field_path

Method = Literal["latin", "sobol"]
Draw = Callable[[float], Any]
"""Maps a number between 0 and 1 to a value."""


@dataclass(frozen=True, slots=True)
class Range:
    """All numbers between two bounds, inclusive."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Choices:
    """Values to choose from with equal probability."""

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Sampled:
    """Runs whose values are drawn jointly, so that a few runs cover all ranges evenly."""

    count: int
    fields: Mapping[str, Range | Choices]
    seed: int = 0
    method: Method = "latin"
    drawn: Mapping[str, tuple[Any, ...]] | None = None
    """The values, if already drawn: a plan file stores them, so that it can be run again without scipy."""
    labels: frozenset[str] = field(default=frozenset(), init=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The fields that are drawn."""
        return tuple(self.fields)

    def __len__(self) -> int:
        return self.count

    def table(self, model: type[Input]) -> Table:
        """One setting for each draw."""
        drawn = self.drawn if self.drawn is not None else self.values(model)
        names = {name: parse_field_path(model, name).name for name in self.fields}
        columns = [drawn[name] for name in self.fields]
        settings = [Assignment(dict(zip(names.values(), row, strict=True)), {}) for row in zip(*columns, strict=True)]
        return Table(tuple(names.values()), settings)

    def values(self, model: type[Input]) -> dict[str, tuple[Any, ...]]:
        """Draw the values of each field."""
        draws = [_make_draw(model, name, domain) for name, domain in self.fields.items()]
        points = _points(self.count, len(draws), seed=self.seed, method=self.method)
        columns = zip(*points, strict=True)
        return {
            name: tuple(draw(point) for point in column)
            for name, draw, column in zip(self.fields, draws, columns, strict=True)
        }

    @property
    def fingerprint(self) -> str:
        """A short hash of the parameters of the sample."""
        domains = {
            name: [domain.low, domain.high] if isinstance(domain, Range) else {"choices": domain.values}
            for name, domain in self.fields.items()
        }
        text = json.dumps([self.count, domains, self.seed, self.method], default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def sampled(
    n: int, fields: Mapping[str, Any] | None = None, /, *, seed: int = 0, method: Method = "latin", **more: Any
) -> Sampled:
    """Draw `n` runs that cover the ranges of some fields evenly: `(low, high)` for numbers, a list for choices.

    Fields with the name of a parameter, such as `seed`, go in the dict: `sampled(40, {"seed": (0, 99)}, seed=1)`.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> few = sampled(3, num_frames=(9, 257), resolution=["480p", "720p"])
    >>> {name: len(values) for name, values in few.values(TextToVideo).items()}
    {'num_frames': 3, 'resolution': 3}
    """
    n, seed = coerce_value(n), coerce_value(seed)
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise usage_error(f"sampled() needs a number of runs of at least 1, not {format_literal(n)}.", "sample_count")
    if n > MAX_RUNS:
        raise too_many(n)
    if method not in get_args(Method):
        known = " or ".join(map(repr, get_args(Method)))
        raise usage_error(f"sampled() knows the methods {known}, not {format_literal(method)}.", "sample_method")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        hint = ' To draw the seeds of the runs, write sampled(n, {"seed": (0, 99)}).'
        raise usage_error(
            f"The sampler's own seed is a whole number from 0, not {format_literal(seed)}.{hint}", "sample_seed"
        )
    if fields is not None and not isinstance(fields, Mapping):
        raise usage_error(
            f"sampled(n, …) takes fields by name, such as num_frames=(9, 257), not {format_literal(fields)}.",
            "axis_name",
        )
    domains = {name: _parse_domain(name, given) for name, given in {**(fields or {}), **more}.items()}
    if not domains:
        raise usage_error("sampled() has no fields; name at least one, such as num_frames=(9, 257).", "empty_axis")
    return Sampled(n, domains, seed, method)


def _parse_domain(name: str, given: Any) -> Range | Choices:
    if isinstance(given, tuple) and any(isinstance(end, float) and not math.isfinite(end) for end in given):
        raise usage_error(
            f"`{name}` is to be drawn from {format_literal(given)}, which has no end; give two numbers.",
            "sample_range",
            name,
        )
    if isinstance(given, tuple) and len(given) == 2 and all(map(_is_number, given)):
        low, high = (float(end) if not float(end).is_integer() else int(end) for end in given)
        if low > high:
            raise usage_error(
                f"`{name}` is to be drawn from {format_number(low)} to {format_number(high)}; the smaller end comes first.",
                "sample_range",
                name,
            )
        return Range(low, high)
    return Choices(coerce_axis_values(name, given))


def _is_number(value: Any) -> bool:
    try:
        # Includes numpy numbers; a boolean is a choice.
        return not isinstance(value, (bool, str, bytes)) and math.isfinite(value)
    except (TypeError, ValueError, OverflowError):
        return False


def _make_draw(model: type[Input], name: str, domain: Range | Choices) -> Draw:
    """The function that maps a number between 0 and 1 to a value of a field."""
    if isinstance(domain, Choices):
        values = domain.values
        rule = get_schema(model, parse_field_path(model, name))
        # A single entry for a list field is wrapped in a list.
        if rule.get("type") == "array":
            values = tuple(value if isinstance(value, list) else [value] for value in values)
        return lambda point: values[int(point * len(values))]
    rule = get_schema(model, parse_field_path(model, name))
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
        raise _range_error(
            model, name, f"`{name}` is no number, so it has no range; give a list of values to choose from."
        )
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
