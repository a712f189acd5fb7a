"""Price estimates of runs, exact to the credit."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as validated_dataclass

from ..errors import BadRates, UnknownModel
from .base import Input
from .catalog import Endpoint, find_endpoint, get_endpoint
from .image_to_video import ImageToVideo
from .images_to_video import ImagesToVideo
from .smart_resize import SmartResize
from .text_to_video import TextToVideo

Unit = Literal["second", "image", "megapixel"]

UNITS: Mapping[type[Input], Mapping[Unit, Callable[[Any], Fraction]]] = {
    TextToVideo: {
        "second": lambda run: Fraction(run.num_frames, run.frame_rate),
        "megapixel": lambda run: Fraction(math.prod(run.frame_size) * run.num_frames, 1_000_000),
    },
    ImageToVideo: {"second": lambda run: Fraction(run.duration)},
    SmartResize: {
        "image": lambda run: Fraction(run.num_images_per_size * len(run.target_sizes)),
        "megapixel": lambda run: Fraction(
            run.num_images_per_size * sum(size.width * size.height for size in run.target_sizes), 1_000_000
        ),
    },
    ImagesToVideo: {
        "second": lambda run: run.total_frames / Fraction(str(run.fps)),
        "image": lambda run: Fraction(len(run.images)),
    },
}
"""How many units a run has, as exact fractions: a third of a second must not round a price up.

Only the units that are known before a run; the size of a clip from a picture, for example, is not.
"""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a breakdown: either an amount of credits, or a factor on the lines above."""

    label: str
    credits: Decimal | None = None
    factor: Decimal | None = None

    def __str__(self) -> str:
        return f"{self.label} {self.credits:f}" if self.credits is not None else f"{self.label} × {self.factor:f}"


@dataclass(frozen=True, slots=True)
class Estimate:
    """The price of a run, its breakdown and its source.

    Example::

        rb.estimate(boat.revised(enable_detail_pass=True)).credits
    """

    credits: int | None
    """Whole credits; None where the price is not known."""
    breakdown: tuple[Line, ...] = ()
    rate_card: str | None = None
    source: Literal["exact", "assumed"] = "assumed"
    """`exact` from the service itself, `assumed` from the built-in catalog."""
    catalog: int | None = field(default=None, compare=False)
    """The price in the catalog; None where the catalog does not have the model."""

    @property
    def counted(self) -> int | None:
        """The price that budgets count: the higher of the service's and the catalog's."""
        if self.credits is None or self.catalog is None:
            return self.catalog if self.credits is None else self.credits
        return max(self.credits, self.catalog)

    @property
    def is_suspect(self) -> bool:
        """Whether the service's price is below the catalog's."""
        return self.credits is not None and self.counted != self.credits

    def __repr__(self) -> str:
        amount = "unknown" if self.credits is None else f"{self.credits} credits, {self.source}"
        lines = ", ".join(map(str, self.breakdown))
        counted = f"; limits count {self.counted}" if self.is_suspect else ""
        return f"Estimate({amount}{counted})" + (f": {lines}" if lines else "")


@validated_dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Rate:
    """Credits for one unit of a run's output."""

    unit: Unit
    rate: Decimal = Field(ge=0, lt=1_000_000, decimal_places=12)


Rates = Mapping[str, Rate]
"""Per-unit rates by model, supplied by the user. Estimates from them are labelled as assumed."""


def read_rates(path: str | Path) -> Rates:
    """The rates in a TOML file, one table per model: `unit = "second"` and `rate = 0.4375`."""
    try:
        # In decimal, as written: a binary number would have lost its last digits.
        tables = tomllib.loads(Path(path).read_text(encoding="utf-8"), parse_float=Decimal)
        rates = TypeAdapter(dict[str, Rate]).validate_python(tables)
        for model, rate in rates.items():
            _units_of(get_endpoint(model), rate.unit)
    except (OSError, ValueError, RecursionError, UnknownModel) as error:
        reason = str(error)
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            reason = f"{' '.join(map(str, first['loc']))}: {first['msg'].lower()}"
        raise BadRates(
            f"The rates in {path} cannot be used: {reason[:600].rstrip('.')}. "
            'Write one table for each model, such as ["svc/smart-resize"], with unit = "image" and rate = 0.4375.'
        ) from error
    return rates


def estimate(request: Input, rates: Rates | None = None) -> Estimate:
    """The estimate of a run from the catalog, or from the given rates.

    >>> estimate(TextToVideo(prompt="a paper boat", enable_detail_pass=True))
    Estimate(106 credits, assumed): base 53, detail pass × 2.0
    """
    row = find_endpoint(request.endpoint_id)
    if row is None:
        return Estimate(credits=None)
    amount, lines = Fraction(row.base_credits), [Line("base", credits=Decimal(row.base_credits))]
    if rates and (rate := rates.get(row.id)):
        units = _units_of(row, rate.unit)(request)
        amount = Fraction(rate.rate) * units
        label = f"{float(units):g} {rate.unit}{'' if units == 1 else 's'} at {rate.rate} each (your rates)"
        # Rounded up, so that the sum of the lines never rounds to fewer credits than are charged.
        lines = [Line(label, credits=Decimal(math.ceil(amount * 10_000)).scaleb(-4))]
    for switch, factor in row.multipliers:
        # An input built from a description may lack the switch.
        if getattr(request, switch, False):
            amount *= Fraction(factor)
            lines.append(Line(switch.removeprefix("enable_").replace("_", " "), factor=factor))
    if amount < row.minimum_credits:
        amount = Fraction(row.minimum_credits)
        lines.append(Line("at least", credits=Decimal(row.minimum_credits)))
    rounded = math.ceil(amount)
    return Estimate(rounded, tuple(lines), row.rate_card, "assumed", rounded)


def _units_of(row: Endpoint, unit: Unit) -> Callable[[Any], Fraction]:
    units = UNITS[row.input]
    if unit not in units:
        raise BadRates(f"{row.id} is counted in {' or '.join(f'{name}s' for name in units)}, not in {unit}s.")
    return units[unit]
