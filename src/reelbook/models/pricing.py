"""Price estimates of runs, exact to the credit."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, cast

from ..errors import BadRates
from .base import Input
from .catalog import CATALOG, Endpoint, find_endpoint
from .image_to_video import ImageToVideo
from .images_to_video import ImagesToVideo
from .problems import format_literal
from .smart_resize import SmartResize
from .text_to_video import TextToVideo

MAX_PLACES = 12
RATE = rf"\d{{1,6}}(\.\d{{1,{MAX_PLACES}}})?"
"""How a rates file writes a rate, below a million."""

PriceSource = Literal["exact", "assumed"]
Unit = Literal["second", "image", "megapixel"]


UNITS: Mapping[type[Input], tuple[Unit, ...]] = {
    TextToVideo: ("second", "megapixel"),
    ImageToVideo: ("second",),
    SmartResize: ("image", "megapixel"),
    ImagesToVideo: ("second", "image"),
}
"""The units that are known before a run; the size of a clip from a picture, for example, is not."""


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
    source: PriceSource = "assumed"
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


@dataclass(frozen=True, slots=True)
class Rate:
    """Credits for one unit of a run's output."""

    unit: Unit
    rate: Decimal


@dataclass(frozen=True, slots=True)
class Rates:
    """Per-unit rates by model, supplied by the user. Estimates from them are labelled as assumed."""

    by_model: Mapping[str, Rate] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str | Path) -> Rates:
        """The rates in a TOML file, one table per model: `unit = "second"` and `rate = "0.4375"`."""
        try:
            tables = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise BadRates(
                f"The rates in {path} could not be read: {error}. "
                'Write one table for each model, such as ["svc/smart-resize"], with unit = "image" and rate = "0.4375".'
            ) from error
        return cls({model: _rate(str(path), model, table) for model, table in tables.items()})


def estimate(request: Input, rates: Rates | None = None) -> Estimate:
    """The estimate of a run from the catalog, or from the given rates.

    >>> estimate(TextToVideo(prompt="a paper boat", enable_detail_pass=True))
    Estimate(106 credits, assumed): base 53, detail pass × 2.0
    """
    row = find_endpoint(request.endpoint_id)
    if row is None:
        return Estimate(credits=None)
    base, lines = _base(row, request, rates)
    amount = base
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


def quantity(request: Input, unit: Unit) -> Fraction:
    """How many units a run produces, as an exact fraction: a third of a second must not round a price up.

    >>> quantity(TextToVideo(prompt="a paper boat", num_frames=121), "second")
    Fraction(121, 24)
    """
    match request, unit:
        case TextToVideo(), "second":
            return Fraction(request.num_frames, request.frame_rate)
        case TextToVideo(), "megapixel":
            width, height = request.frame_size
            return Fraction(width * height * request.num_frames, 1_000_000)
        case ImageToVideo(), "second":
            return Fraction(int(request.duration))
        case SmartResize(), "image":
            return Fraction(request.num_images_per_size * len(request.target_sizes))
        case SmartResize(), "megapixel":
            pixels = sum(size.width * size.height for size in request.target_sizes)
            return Fraction(request.num_images_per_size * pixels, 1_000_000)
        case ImagesToVideo(), "second":
            return request.total_frames / Fraction(str(request.fps))
        case ImagesToVideo(), "image":
            return Fraction(len(request.images))
    raise BadRates(f"A run of {request.endpoint_id} cannot be counted in {unit}s.")


def _base(row: Endpoint, request: Input, rates: Rates | None) -> tuple[Fraction, list[Line]]:
    rate = rates.by_model.get(row.id) if rates else None
    if rate is None:
        return Fraction(row.base_credits), [Line("base", credits=Decimal(row.base_credits))]
    units = quantity(request, rate.unit)
    amount = Fraction(rate.rate) * units
    label = f"{float(units):g} {rate.unit}{'' if units == 1 else 's'} at {rate.rate} each (your rates)"
    # Rounded up, so that the sum of the lines never rounds to fewer credits than are charged.
    return amount, [Line(label, credits=Decimal(math.ceil(amount * 10_000)).scaleb(-4))]


def _rate(path: str, model: str, table: Any) -> Rate:
    row = find_endpoint(model)
    if row is None:
        raise BadRates(f"{path} names the model {model!r}; the catalog has {', '.join(row.id for row in CATALOG)}.")
    units = UNITS[row.input]
    rate = table.get("rate") if isinstance(table, dict) else None
    # A TOML float has already lost its last digits. An exact 1e999999999 would fill the memory.
    is_rate = isinstance(rate, (str, int)) and re.fullmatch(RATE, str(rate)) is not None
    if not isinstance(table, dict) or table.keys() != {"unit", "rate"} or table["unit"] not in units or not is_rate:
        how = f'unit = "{units[0]}"{f", or {units[1]}" if len(units) > 1 else ""}, and rate = "0.4375" as text'
        raise BadRates(
            f"{path}: {model} has {format_literal(table)}; write {how}, with at most {MAX_PLACES} places, and nothing else."
        )
    return Rate(cast(Unit, table["unit"]), Decimal(table["rate"]))
