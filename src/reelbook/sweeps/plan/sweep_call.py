"""Sweep: the callable behind `rb.sweep`, which creates a plan or reads one from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...models.base import Input
from .make_plan import make_plan
from .plan import Plan
from .plan_file import FindModel, read_plan


class Sweep:
    """Plan runs for every combination of the values of some fields. Nothing is sent before `plan.run(budget=…)`.

    `rb.sweep(boat, seed=range(4), num_frames=[49, 97])` plans eight runs of one input; `rb.sweep.read("boats.toml")` reads a plan from a file.
    Besides axes by name, it accepts `rb.zipped(…)`, `rb.sampled(…)`, `rb.template(…)`, `rb.derived(…)` and DataFrames.

    Example::

        plan = rb.sweep(boat, seed=range(2), num_frames=[9, 17])
        plan.credits
    """

    def __call__(self, base: Input, /, *parts: Any, **axes: Any) -> Plan:
        """Plan every combination of the parts and axes, the last one varying fastest; nothing is sent.

        Positional arguments: `zipped(…)`, `sampled(…)`, `template(…)`, `derived(…)`, a DataFrame, or a dict of axes for
        names that are not Python identifiers, such as `{"images[0].frames": [12, 24]}`.

        >>> from reelbook.models.text_to_video import TextToVideo
        >>> boat = TextToVideo(prompt="a paper boat")
        >>> sweep(boat, seed=range(4), num_frames=[49, 97, 121], aspect_ratio=["16:9", "1:1"])
        24 runs of svc/text-to-video-13b-distilled, 1,272 credits (assumed)
          seed          4  0, 1, 2, 3
          num_frames    3  49, 97, 121
          aspect_ratio  2  16:9, 1:1
          prompt           'a paper boat'
        """
        return make_plan(base, *parts, **axes)

    def read(self, path: str | Path, *, models: FindModel | None = None) -> Plan:
        """Read a plan written by `plan.to_toml(path)`; `models` provides the input classes of other models."""
        return read_plan(path, models=models)

    def __repr__(self) -> str:
        return "sweep(base, *parts, **axes)"


sweep = Sweep()
