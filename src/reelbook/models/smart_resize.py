"""Input and output of smart-resize, and its sizes and canvases."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from .base import File, Input, Output
from .images import Picture
from .value_types import Flag, Integer, Ordered, Text, coerce_int, coerce_tuple, is_wire_json

_SIZES = json.loads(Path(__file__).with_name("common_sizes.json").read_text("utf-8"))
FORMATS: Mapping[str, Mapping[str, str]] = _SIZES["formats"]
"""Width and height by name, in groups."""
_BY_NAME = {name.casefold(): size for group in FORMATS.values() for name, size in group.items()}

Tier = Literal["1K", "2K", "4K"]
TIERS: dict[Tier, int] = {"1K": 1, "2K": 2, "4K": 4}
MIN_SIDE, MAX_SIDE = 16, 6336
MAX_SIZES = 100
_PATTERN = "([1-9][0-9]{0,4})x([1-9][0-9]{0,4})"
_SPELLINGS = r"\s*0*([1-9][0-9]{0,4})\s*[xX×✕*]\s*0*([1-9][0-9]{0,4})\s*(?:[pP][xX])?\s*"


def find_format_name(size: str) -> str | None:
    """The first named format of a size, such as "Story"; None where no format has it."""
    return next((name for group in FORMATS.values() for name, its_size in group.items() if its_size == size), None)


@dataclass(frozen=True, order=True, slots=True)
class Size:
    """A width and a height in pixels, written `<width>x<height>`.

    >>> Size.parse("1080 × 1920"), Size.parse("story"), str(Size(300, 600))
    (Size(1080, 1920), Size(1080, 1920), '300x600')
    """

    width: int
    height: int

    def __str__(self) -> str:
        return f"{self.width}x{self.height}"

    def __repr__(self) -> str:
        return f"Size({self.width}, {self.height})"

    @classmethod
    def parse(cls, text: str, *, exact: bool = False) -> Self:
        """Parse a size in any spelling, or the name of a common format; in `exact` form only as a service takes it."""
        text = text if exact else _BY_NAME.get(" ".join(text.split()).casefold(), text)
        sides = re.fullmatch(_PATTERN if exact else _SPELLINGS, text)
        if sides is None:
            raise PydanticCustomError("size_form", "a size is written <width>x<height>, such as 1080x1920")
        return cls(int(sides[1]), int(sides[2]))


def _read_size(value: Any, info: ValidationInfo) -> Size:
    """A size from a text, or in Python from a pair."""
    if is_wire_json(info) or isinstance(value, str):
        return Size.parse(value if isinstance(value, str) else "", exact=is_wire_json(info))
    text = ""
    # Not a pair, or with numbers too long to be written.
    with suppress(ValueError):
        width, height = (value.width, value.height) if isinstance(value, Size) else coerce_tuple(value)
        text = f"{coerce_int(width)}x{coerce_int(height)}"
    return Size.parse(text)


_SCHEMA = {"type": "string", "pattern": "^[1-9][0-9]{0,4}x[1-9][0-9]{0,4}$", "x-media": "size"}
TargetSize = Annotated[
    Size, PlainValidator(_read_size), PlainSerializer(str, when_used="json"), WithJsonSchema(_SCHEMA)
]


@dataclass(frozen=True, slots=True)
class Preset:
    """One of the editing model's canvas sizes."""

    aspect_ratio: str
    resolution: Tier
    width: int
    height: int


PRESETS = tuple(
    Preset(aspect, tier, width * factor, height * factor)
    for tier, factor in TIERS.items()
    for aspect, (width, height) in _SIZES["canvases"].items()
)
"""All canvases, tier by tier. They are not in the specification; these are the sizes of models of this family."""


def preset_for(size: Size, resolution: Tier = "1K") -> Preset | None:
    """The canvas for a target: in the lowest tier that covers it, the nearest shape; None where none covers it, or a side is too short.

    >>> preset_for(Size(1080, 1920))
    Preset(aspect_ratio='9:16', resolution='2K', width=1536, height=2752)
    """

    def rank(preset: Preset) -> tuple[int, Fraction, int]:
        wider = Fraction(preset.width * size.height, preset.height * size.width)
        return TIERS[preset.resolution], max(wider, 1 / wider), preset.width * preset.height

    is_large_enough = min(size.width, size.height) >= MIN_SIDE
    tiers = [preset for preset in PRESETS if TIERS[preset.resolution] >= TIERS[resolution] and is_large_enough]
    covering = [preset for preset in tiers if preset.width >= size.width and preset.height >= size.height]
    return min(covering, key=rank, default=None)


class SmartResize(Input):
    """Input of the smart-resize model.

    >>> SmartResize(image_url="https://example.org/boat.png", target_sizes=["1080x1920", (300, 600)]).target_sizes
    (Size(1080, 1920), Size(300, 600))
    """

    endpoint_id: ClassVar[str] = "svc/smart-resize"

    image_url: Picture
    """The picture to recompose."""
    target_sizes: Annotated[tuple[TargetSize, ...], Ordered] = Field(min_length=1, max_length=MAX_SIZES)
    """The sizes to make: each in pixels, such as 1080x1920, or the name of a format, such as story."""
    prompt: Text = ""
    """An extra instruction, such as "keep the left side". Without one the picture changes as little as possible."""
    resolution: Tier = "1K"
    """The smallest canvas to work on; sizes that need a larger one get it. The size of the result stays the same."""
    num_images_per_size: Integer = Field(default=1, ge=1, le=4)
    """Variants of each size."""
    output_format: Literal["jpeg", "png", "webp"] = "png"
    """File format of the results."""
    safety_tolerance: Literal["1", "2", "3", "4", "5", "6"] = "4"
    """How tolerant the safety check is: 1 is strict, 6 is lenient."""
    seed: Integer | None = None
    """The starting point for randomness; every size uses the same."""
    sync_mode: Flag = False
    """Put the pictures into the response instead of linking to them."""

    @model_validator(mode="after")
    def _every_target_has_a_preset(self) -> Self:
        errors = [
            InitErrorDetails(type=_no_canvas(size), loc=("target_sizes", at), input=str(size))
            for at, size in enumerate(self.target_sizes)
            if preset_for(size, self.resolution) is None
        ]
        if errors:
            raise ValidationError.from_exception_data(type(self).__name__, errors)
        return self


def _no_canvas(size: Size) -> PydanticCustomError:
    """The error of a size without a canvas, with the largest one of about its shape that has a canvas."""
    sides = [min(max(side, MIN_SIDE), MAX_SIDE) for side in (size.width, size.height)]
    scale = max(min(Fraction(preset.width, sides[0]), Fraction(preset.height, sides[1])) for preset in PRESETS)
    nearest = [max(int(side * min(scale, Fraction(1))), MIN_SIDE) for side in sides]
    largest = max(PRESETS, key=lambda preset: (preset.width * preset.height, preset.width))
    bounds = f"{MIN_SIDE} to {MAX_SIDE} pixels long, and the largest canvas has {largest.width}x{largest.height}"
    facts = {"bounds": bounds, "nearest": str(Size(*nearest))}
    return PydanticCustomError("no_canvas", "no canvas covers it: a side is {bounds}", facts)


class ResizedImage(File):
    """One recomposed picture."""

    width: int | None = None
    """Its width in pixels."""
    height: int | None = None
    """Its height in pixels."""


class ResizeResult(Output):
    """What was made for one target size."""

    width: int | None = None
    """The width that was asked for."""
    height: int | None = None
    """The height that was asked for."""
    aspect_ratio: str | None = None
    """The shape of the canvas that was used."""
    resolution: str | None = None
    """The tier of the canvas that was used."""
    images: tuple[ResizedImage, ...] = ()
    """The pictures of this size, as far as the service repeats them here."""
    description: str | None = None
    """What was done for this size, in words."""


class SmartResizeOutput(Output):
    """Output of the smart-resize model."""

    images: tuple[ResizedImage, ...]
    """All pictures: the variants of the first size, then those of the second, and so on."""
    results: tuple[ResizeResult, ...] = ()
    """One entry for each size."""
    description: str = ""
    """What was done, in words."""
