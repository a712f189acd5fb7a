"""Input and output of image-to-video."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from .base import File, Input, Output
from .images import Picture
from .value_types import Real, Text


class ImageToVideo(Input):
    """Input of the image-to-video model.

    >>> ImageToVideo(prompt="slowly closer", image_url="https://example.org/boat.png", duration="10").duration
    '10'
    """

    endpoint_id: ClassVar[str] = "svc/video-gen/v2.1/master/image-to-video"

    prompt: Text = Field(max_length=2500)
    """What should happen in the clip."""
    image_url: Picture
    """The picture to start from."""
    duration: Literal["5", "10"] = "5"
    """Length of the clip in seconds."""
    cfg_scale: Real = Field(default=0.5, ge=0, le=1)
    """How closely to follow the prompt: 0 is freely, 1 to the letter."""
    negative_prompt: Text = "blur, distort, and low quality"
    """What the clip should avoid."""


class ImageToVideoOutput(Output):
    """Output of the image-to-video model."""

    video: File
    """The finished clip."""
