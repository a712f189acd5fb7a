"""Input and output of smart-resize, and its sizes and canvases."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, core_schema

from .base import File, Input, Output
from .images import Picture
from .value_types import Flag, Integer, Ordered, Seed, Text, coerce_int, coerce_tuple, is_wire_json

FORMATS: Mapping[str, Mapping[str, str]] = {
    "Posts": {
        "Square": "1080x1080",
        "Portrait 4:5": "1080x1350",
        "Story": "1080x1920",
        "Landscape post": "1080x566",
        "Link preview": "1200x630",
        "Pin": "1000x1500",
        "Video cover": "1280x720",
        "Page header": "1500x500",
    },
    "Screens": {
        "HD": "1280x720",
        "Full HD": "1920x1080",
        "Full HD, upright": "1080x1920",
        "Quad HD": "2560x1440",
        "Ultra HD (4K)": "3840x2160",
        "Ultrawide": "3440x1440",
        "Tablet": "2048x1536",
        "Phone": "1170x2532",
    },
    "Banners": {
        "Medium rectangle": "300x250",
        "Large rectangle": "336x280",
        "Half page": "300x600",
        "Skyscraper": "160x600",
        "Leaderboard": "728x90",
        "Billboard": "970x250",
        "Mobile banner": "320x50",
        "Large mobile banner": "320x100",
    },
    "Print": {
        "A4 at 150 dpi": "1240x1754",
        "A4 at 150 dpi, landscape": "1754x1240",
        "A4 at 300 dpi": "2480x3508",
        "A5 at 150 dpi": "874x1240",
        "Postcard (A6) at 300 dpi": "1240x1748",
        "Letter at 150 dpi": "1275x1650",
        "Photo 10 × 15 cm at 300 dpi": "1181x1772",
        "Photo 13 × 18 cm at 300 dpi": "1535x2126",
    },
    "Small": {
        "Thumbnail": "320x180",
        "Avatar": "400x400",
        "App icon": "512x512",
        "Favicon": "64x64",
    },
}
"""Width and height by name, in groups."""

_BY_NAME = {name.casefold(): size for group in FORMATS.values() for name, size in group.items()}


def find_format(name: str) -> str | None:
    """The size of a named format, ignoring case; None for an unknown name.

    >>> find_format("story"), find_format(" Full HD "), find_format("stories")
    ('1080x1920', '1920x1080', None)
    """
    return _BY_NAME.get(" ".join(name.split()).casefold())


def find_format_name(size: str) -> str | None:
    """The first named format of a size; None where no format has it.

    >>> find_format_name("1080x1920"), find_format_name("1x1")
    ('Story', None)
    """
    return next((name for group in FORMATS.values() for name, known in group.items() if known == size), None)


Tier = Literal["1K", "2K", "4K"]
TIERS: dict[Tier, int] = {"1K": 1, "2K": 2, "4K": 4}
MIN_SIDE, MAX_SIDE = 16, 6336
MAX_SIZES = 100
_SIZE_TEXT = re.compile(r"\s*0*([1-9][0-9]{0,4})\s*[xX×✕*]\s*0*([1-9][0-9]{0,4})\s*(?:px)?\s*", re.IGNORECASE)


@dataclass(frozen=True, order=True, slots=True)
class Size:
    """A width and a height in pixels, written `<width>x<height>`.

    >>> Size.read("1080x1920"), str(Size(300, 600))
    (Size(1080, 1920), '300x600')
    """

    width: int
    height: int

    PATTERN: ClassVar[str] = "^[1-9][0-9]{0,4}x[1-9][0-9]{0,4}$"

    def __str__(self) -> str:
        return f"{self.width}x{self.height}"

    def __repr__(self) -> str:
        return f"Size({self.width}, {self.height})"

    @classmethod
    def read(cls, text: str) -> Self:
        """Parse the exact form `<width>x<height>`."""
        if not re.fullmatch(cls.PATTERN, text):
            raise cls._format_error(text)
        width, _, height = text.partition("x")
        return cls(int(width), int(height))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a size in any spelling, or the name of a common format.

        >>> Size.parse("1080 × 1920"), Size.parse("story")
        (Size(1080, 1920), Size(1080, 1920))
        """
        text = find_format(text) or text
        found = _SIZE_TEXT.fullmatch(text)
        return cls(int(found[1]), int(found[2])) if found else cls.read(text)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(
            cls._validated, serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "pattern": cls.PATTERN, "x-media": "size"}

    @classmethod
    def _validated(cls, value: Any, info: ValidationInfo) -> Self:
        size = cls._from_any(value, only_text=is_wire_json(info))
        if size != size.clamped():
            raise PydanticCustomError(
                "size_range",
                "a side is {least} to {most} pixels long",
                {"least": MIN_SIDE, "most": MAX_SIDE, "nearest": str(_nearest_possible(size))},
            )
        return size

    @classmethod
    def _from_any(cls, value: Any, only_text: bool) -> Self:
        if isinstance(value, str):
            return cls.read(value) if only_text else cls.parse(value)
        if isinstance(value, cls):
            return value
        try:
            if not only_text:
                width, height = coerce_tuple(value)
                return cls(coerce_int(width), coerce_int(height))
        except ValueError:
            pass
        raise cls._format_error("")

    @classmethod
    def _format_error(cls, text: str) -> PydanticCustomError:
        # Two numbers are a size in any spelling: 1080 x 1920, 1080×1920, 1080*1920.
        sides = re.findall(r"[0-9]{1,9}", text[:100])
        nearest = str(_nearest_possible(cls(int(sides[0]), int(sides[1])))) if len(sides) == 2 else ""
        return PydanticCustomError(
            "size_form", "a size is written <width>x<height>, such as 1080x1920", {"nearest": nearest}
        )

    def clamped(self) -> Self:
        """The nearest size whose sides are within bounds."""
        return type(self)(*(min(max(side, MIN_SIDE), MAX_SIDE) for side in (self.width, self.height)))


@dataclass(frozen=True, slots=True)
class Preset:
    """One of the editing model's canvas sizes."""

    aspect_ratio: str
    resolution: Tier
    width: int
    height: int

    def covers(self, size: Size) -> bool:
        """Whether the target fits on this canvas without enlarging anything."""
        return self.width >= size.width and self.height >= size.height

    def stretch(self, size: Size) -> Fraction:
        """Ratio of the two aspect ratios: 1 is the same shape, 2 is twice as wide or twice as tall."""
        wider = Fraction(self.width * size.height, self.height * size.width)
        return max(wider, 1 / wider)


_AT_1K = {
    "1:1": (1024, 1024),
    "2:3": (848, 1264),
    "3:2": (1264, 848),
    "3:4": (896, 1200),
    "4:3": (1200, 896),
    "4:5": (928, 1152),
    "5:4": (1152, 928),
    "9:16": (768, 1376),
    "16:9": (1376, 768),
    "21:9": (1584, 672),
}
PRESETS: tuple[Preset, ...] = tuple(
    Preset(aspect, tier, width * factor, height * factor)
    for tier, factor in TIERS.items()
    for aspect, (width, height) in _AT_1K.items()
)
"""All canvases, tier by tier. They are not in the specification; these are the sizes of models of this family."""


def preset_for(size: Size, resolution: Tier = "1K") -> Preset | None:
    """The canvas for a target: in the lowest tier that covers it, the nearest shape; None where none covers it.

    >>> preset_for(Size(1080, 1920))
    Preset(aspect_ratio='9:16', resolution='2K', width=1536, height=2752)
    """
    for tier in list(TIERS)[list(TIERS).index(resolution) :]:
        covering = [preset for preset in PRESETS if preset.resolution == tier and preset.covers(size)]
        if covering:
            return min(covering, key=lambda preset: (preset.stretch(size), preset.width * preset.height))
    return None


def _nearest_possible(size: Size) -> Size:
    """The largest size of about the same shape that is within bounds and has a canvas."""
    inside = size.clamped()
    if preset_for(inside):
        return inside
    # The largest scale at which it fits some canvas.
    shrink = max(
        min(Fraction(preset.width, inside.width), Fraction(preset.height, inside.height)) for preset in PRESETS
    )
    return Size(int(inside.width * shrink), int(inside.height * shrink)).clamped()


class SmartResize(Input):
    """Input of the smart-resize model.

    >>> SmartResize(image_url="https://example.org/boat.png", target_sizes=["1080x1920", (300, 600)]).target_sizes
    (Size(1080, 1920), Size(300, 600))
    """

    endpoint_id: ClassVar[str] = "svc/smart-resize"

    image_url: Picture
    """The picture to recompose."""
    target_sizes: Annotated[tuple[Size, ...], Ordered] = Field(min_length=1, max_length=MAX_SIZES)
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
    seed: Seed | None = None
    """The starting point for randomness; every size uses the same."""
    sync_mode: Flag = False
    """Put the pictures into the response instead of linking to them."""

    @model_validator(mode="after")
    def _every_target_has_a_preset(self) -> Self:
        errors = [
            InitErrorDetails(type=_uncovered(size), loc=("target_sizes", place), input=str(size))
            for place, size in enumerate(self.target_sizes)
            if preset_for(size, self.resolution) is None
        ]
        if errors:
            raise ValidationError.from_exception_data(type(self).__name__, errors)
        return self


def _uncovered(size: Size) -> PydanticCustomError:
    largest = max(PRESETS, key=lambda preset: (preset.width * preset.height, preset.width))
    return PydanticCustomError(
        "no_preset",
        "no canvas covers {size}: the largest is {largest}, and {nearest} is the most of this shape",
        {
            "size": str(size),
            "largest": f"{largest.width}x{largest.height}",
            "nearest": str(_nearest_possible(size)),
        },
    )


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
