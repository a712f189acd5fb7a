"""The catalog: one row per model, with its classes and its price; and estimates of what runs cost, exact to the credit."""

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
from .base import Input, Output
from .image_to_video import ImageToVideo, ImageToVideoOutput
from .images_to_video import ImagesToVideo, ImagesToVideoOutput
from .smart_resize import SmartResize, SmartResizeOutput
from .text_to_video import TextToVideo, TextToVideoOutput

Unit = Literal["second", "image", "megapixel"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model: its purpose, input and output classes, and price."""

    id: str
    category: str
    purpose: str
    input: type[Input]
    output: type[Output]
    rate_card: str = "video-standard"
    base_credits: int = 53
    minimum_credits: int = 53
    multipliers: tuple[tuple[str, Decimal], ...] = ()
    """Switches of the input that multiply the base price."""
    price_neutral: tuple[str, ...] = ("seed", "prompt", "negative_prompt", "image_url", "loras")
    """Fields that do not affect the price: runs that differ only in them cost the same."""
    is_deterministic: bool = False
    """Whether it uses no randomness: the same input always gives the same result."""
    units: Mapping[Unit, Callable[[Any], Fraction]] = field(default_factory=dict, compare=False)
    """How many units a run has, as exact fractions: a third of a second must not round a price up.

    Only the units that are known before a run; the size of a clip from a picture, for example, is not.
    """

    def get_units(self, unit: Unit) -> Callable[[Any], Fraction]:
        """The function that counts these units in an input; raises `BadRates` where there is none."""
        if unit not in self.units:
            raise BadRates(f"{self.id} is counted in {' or '.join(f'{name}s' for name in self.units)}, not in {unit}s.")
        return self.units[unit]


CATALOG: tuple[Endpoint, ...] = (
    Endpoint(
        TextToVideo.endpoint_id,
        "text-to-video",
        "Turns a prompt into a clip, with LoRA weights if you like.",
        TextToVideo,
        TextToVideoOutput,
        multipliers=(("enable_detail_pass", Decimal("2.0")),),
        units={
            "second": lambda run: Fraction(run.num_frames, run.frame_rate),
            "megapixel": lambda run: Fraction(math.prod(run.frame_size) * run.num_frames, 1_000_000),
        },
    ),
    Endpoint(
        ImageToVideo.endpoint_id,
        "image-to-video",
        "Sets a picture in motion as the prompt describes. The premium tier.",
        ImageToVideo,
        ImageToVideoOutput,
        units={"second": lambda run: Fraction(run.duration)},
    ),
    Endpoint(
        SmartResize.endpoint_id,
        "image-to-image",
        "Recomposes a picture for other sizes, exact to the pixel.",
        SmartResize,
        SmartResizeOutput,
        rate_card="default",
        base_credits=11,
        minimum_credits=11,
        units={
            "image": lambda run: Fraction(run.num_images_per_size * len(run.target_sizes)),
            "megapixel": lambda run: Fraction(
                run.num_images_per_size * sum(size.width * size.height for size in run.target_sizes), 1_000_000
            ),
        },
    ),
    Endpoint(
        ImagesToVideo.endpoint_id,
        "image-to-video",
        "Joins pictures into a video, each shown for as many frames as you like.",
        ImagesToVideo,
        ImagesToVideoOutput,
        price_neutral=("url",),
        is_deterministic=True,
        units={
            "second": lambda run: run.total_frames / Fraction(str(run.fps)),
            "image": lambda run: Fraction(len(run.images)),
        },
    ),
)


def get_endpoint(endpoint_id: str) -> Endpoint:
    """The catalog row of a model; raises `UnknownModel` where there is none."""
    row = find_endpoint(endpoint_id)
    if row is None:
        raise UnknownModel(endpoint_id, [row.id for row in CATALOG])
    return row


def find_endpoint(endpoint_id: str | None) -> Endpoint | None:
    """The catalog row of a model; None where there is none."""
    return next((row for row in CATALOG if row.id == endpoint_id), None)


def is_reusable(request: Input) -> bool:
    """Whether the same input gives the same result: it has a seed, or its model is deterministic."""
    row = find_endpoint(request.endpoint_id)
    return (row is not None and row.is_deterministic) or request._values().get("seed") is not None


# Prices.


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
            get_endpoint(model).get_units(rate.unit)
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
        units = row.get_units(rate.unit)(request)
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
