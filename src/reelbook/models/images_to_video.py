"""Input and output of images-to-video."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from .base import File, Input, Output, Part
from .images import Picture, is_picture, require_list
from .value_types import Integer, Ordered, Real, coerce_float, coerce_tuple, is_wire_json

MAX_FRAMES = 100_000
"""Maximum number of frames; the specification has no limit, and one is required."""


class Frame(Part):
    """One picture and how long it is shown."""

    url: Picture
    """The picture to show."""
    frames: Integer = Field(ge=1, le=MAX_FRAMES)
    """How many frames it is shown for."""


def _or_bare_pictures(schema: dict[str, Any]) -> None:
    """Add an address alone, without a number of frames, to the schema of the pictures."""
    schema["items"] = {"anyOf": [schema["items"], {"type": "string", "x-media": "image"}]}


class ImagesToVideo(Input):
    """Input of the images-to-video model.

    >>> show = ImagesToVideo(images=[Frame(url="https://example.org/a.png", frames=12), "https://example.org/b.png"])
    >>> [frame.frames for frame in show.images]
    [12, 24]
    """

    endpoint_id: ClassVar[str] = "svc/frames-api/images-to-video"

    images: Annotated[tuple[Frame, ...], Ordered, BeforeValidator(require_list)] = Field(
        min_length=1, json_schema_extra=_or_bare_pictures
    )
    """The pictures in order. One without a number of frames is held for one second."""
    fps: Real = Field(default=24.0, ge=1, le=120)
    """Frames per second of the video."""

    @model_validator(mode="before")
    @classmethod
    def _hold_bare_pictures_for_a_second(cls, values: Any, info: ValidationInfo) -> Any:
        if not isinstance(values, dict) or "images" not in values:
            return values
        # Fields report their own problems later; until then any number will do.
        second, exact = 24, is_wire_json(info)
        try:
            images = coerce_tuple(values["images"] if exact else require_list(values["images"]))
        except PydanticCustomError:
            return values
        with suppress(PydanticCustomError):
            second = min(max(1, round(coerce_float(values.get("fps", 24)))), 120)
        frames = [
            {"url": image, "frames": second} if isinstance(image, str) or (not exact and is_picture(image)) else image
            for image in images
        ]
        return {**values, "images": frames}

    @model_validator(mode="after")
    def _fit_one_video(self) -> Self:
        if self.total_frames > MAX_FRAMES:
            raise PydanticCustomError(
                "too_many_frames",
                "`images` add up to {frames} frames; one video holds {most} at most. "
                "Hold them shorter, or make several videos.",
                {"field": "images", "frames": f"{self.total_frames:,}", "most": f"{MAX_FRAMES:,}"},
            )
        return self

    @property
    def total_frames(self) -> int:
        """How many frames the video will have."""
        return sum(frame.frames for frame in self.images)


class ImagesToVideoOutput(Output):
    """Output of the images-to-video model."""

    video: File
    """The video that was made."""
