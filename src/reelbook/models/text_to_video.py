"""Input and output of text-to-video."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from .base import File, Input, Output, Part
from .value_types import Flag, Integer, MultipleOf, Ordered, Real, Text

Resolution = Literal["480p", "720p"]
AspectRatio = Literal["9:16", "1:1", "16:9"]

FRAME_SIZES: dict[tuple[Resolution, AspectRatio], tuple[int, int]] = {
    ("720p", "16:9"): (1280, 720),
    ("720p", "9:16"): (720, 1280),
    ("720p", "1:1"): (720, 720),
    ("480p", "16:9"): (854, 480),
    ("480p", "9:16"): (480, 854),
    ("480p", "1:1"): (480, 480),
}
"""Width and height of the clip. They are not in the specification; these are common values."""


class LoRA(Part):
    """One set of LoRA weights to mix in."""

    path: Text
    """URL or path of the weights."""
    scale: Real = Field(default=1.0, ge=0, le=4)
    """How strongly the weights act."""
    weight_name: Text | None = None
    """Which weights to take, for a model repository that holds several."""


class TextToVideo(Input):
    """Input of the text-to-video model.

    >>> TextToVideo(prompt="a paper boat on a rainy street", num_frames=49, seed=7)
    TextToVideo(prompt='a paper boat on a rainy street', seed=7, num_frames=49)
    """

    endpoint_id: ClassVar[str] = "svc/text-to-video-13b-distilled"

    prompt: Text
    """What the clip should show."""
    negative_prompt: Text = "worst quality, inconsistent motion, blurry, jittery, distorted"
    """What the clip should avoid. It has little effect here, because a distilled model works without guidance."""
    loras: Annotated[tuple[LoRA, ...], Ordered] = ()
    """LoRA weights to mix in, in order."""
    resolution: Resolution = "720p"
    """Pixels along the shorter side."""
    aspect_ratio: AspectRatio = "16:9"
    """Width to height."""
    seed: Integer | None = None
    """The starting point for randomness: the same seed and settings give the same clip."""
    num_frames: Integer = Field(default=121, ge=9, le=1441)
    """Length of the clip in frames; 121 is about five seconds at 24 per second."""
    frame_rate: Integer = Field(default=24, ge=1, le=60)
    """Frames per second."""
    first_pass_num_inference_steps: Integer = Field(default=8, ge=2, le=12)
    """Steps of the first pass, which lays out the scene."""
    second_pass_num_inference_steps: Integer = Field(default=8, ge=2, le=12)
    """Steps of the second pass, which adds the details."""
    second_pass_skip_initial_steps: Integer = Field(default=5, ge=1, le=11)
    """Steps skipped at the start of the second pass, so that it changes only fine details; fewer than the pass has."""
    expand_prompt: Flag = False
    """Let a language model expand the prompt first."""
    reverse_video: Flag = False
    """Play the clip backwards."""
    enable_safety_checker: Flag = True
    """Check the prompt and the result. It can be turned off only if the account has permission."""
    enable_detail_pass: Flag = False
    """Refine the details in another pass, at twice the base price."""
    temporal_adain_factor: Annotated[Real, MultipleOf("0.05")] = Field(default=0.5, ge=0, le=1)
    """How closely later parts of a long clip keep the colours of its beginning: high is steady, low may drift."""
    tone_map_compression_ratio: Annotated[Real, MultipleOf("0.05")] = Field(default=0.0, ge=0, le=1)
    """How strongly the range from dark to bright is compressed: 0 is not at all, 1 fully."""

    @model_validator(mode="after")
    def _leave_steps_to_run(self) -> Self:
        skipped, steps = self.second_pass_skip_initial_steps, self.second_pass_num_inference_steps
        if skipped >= steps:
            raise PydanticCustomError(
                "skip_too_large",
                "`second_pass_skip_initial_steps` = {skipped} must be less than "
                "`second_pass_num_inference_steps` = {steps}, or the second pass has nothing to do. "
                "The nearest allowed value is {nearest}.",
                {"field": "second_pass_skip_initial_steps", "skipped": skipped, "steps": steps, "nearest": steps - 1},
            )
        return self

    @property
    def frame_size(self) -> tuple[int, int]:
        """Width and height of the clip."""
        return FRAME_SIZES[self.resolution, self.aspect_ratio]


class TextToVideoOutput(Output):
    """Output of the text-to-video model."""

    video: File
    """The finished clip."""
    seed: int
    """The seed that was used."""
    prompt: str
    """The prompt that was used; longer than yours with `expand_prompt`."""
