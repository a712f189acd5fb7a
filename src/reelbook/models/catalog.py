"""The catalog: one row per model, with its classes and its price."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from ..errors import UnknownModel
from .base import Input, Output
from .image_to_video import ImageToVideo, ImageToVideoOutput
from .images_to_video import ImagesToVideo, ImagesToVideoOutput
from .smart_resize import SmartResize, SmartResizeOutput
from .text_to_video import TextToVideo, TextToVideoOutput


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


CATALOG: tuple[Endpoint, ...] = (
    Endpoint(
        TextToVideo.endpoint_id,
        "text-to-video",
        "Turns a prompt into a clip, with LoRA weights if you like.",
        TextToVideo,
        TextToVideoOutput,
        multipliers=(("enable_detail_pass", Decimal("2.0")),),
    ),
    Endpoint(
        ImageToVideo.endpoint_id,
        "image-to-video",
        "Sets a picture in motion as the prompt describes. The premium tier.",
        ImageToVideo,
        ImageToVideoOutput,
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
    ),
    Endpoint(
        ImagesToVideo.endpoint_id,
        "image-to-video",
        "Joins pictures into a video, each shown for as many frames as you like.",
        ImagesToVideo,
        ImagesToVideoOutput,
        price_neutral=("url",),
        is_deterministic=True,
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
