"""What can be measured, by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection
from typing import NamedTuple

from ...errors import ReelbookError
from . import light, likeness, motion
from .frames import Film, Frame
from .gauge import Fact, Gauge, MeanOfFrames, Value
from .hashing import PerceptualHash


class Metric(NamedTuple):
    """One thing that can be measured."""

    gauge: Callable[[Film], Gauge]
    """Makes what measures it in one file; the formula stands in the docstring there."""
    meaning: str
    unit: str
    version: int = 1
    """Raised when the figure changes for the same file, so that none from before is taken for it."""
    compares: bool = False
    """Whether it needs a reference."""


def _of_frames(figure: Callable[[Frame], float]) -> Callable[[Film], Gauge]:
    return lambda film: MeanOfFrames(figure)


def _fact(fact: Callable[[Film], Value]) -> Callable[[Film], Gauge]:
    return lambda film: Fact(fact)


METRICS: dict[str, Metric] = {
    "sharpness": Metric(
        _of_frames(light.sharpness), "variance of the Laplacian of the luma, at a common size", "levels²"
    ),
    "brightness": Metric(_of_frames(light.brightness), "mean luma", "levels (0 to 255)"),
    "contrast": Metric(_of_frames(light.contrast), "standard deviation of the luma within a frame", "levels"),
    "colourfulness": Metric(_of_frames(light.colourfulness), "colourfulness by Hasler and Süsstrunk", "levels"),
    "motion": Metric(lambda film: motion.Motion(), "change of the luma from frame to frame", "levels per second"),
    "dynamic_degree": Metric(
        motion.DynamicDegree,
        "mean optical flow, by Lucas–Kanade and not by VBench's network",
        "% of the longer side per second",
    ),
    "motion_smoothness": Metric(
        lambda film: motion.MotionSmoothness(),
        "how well its neighbours foretell a frame, by their mean and not by VBench's network",
        "share (0 to 1)",
    ),
    "temporal_flickering": Metric(
        lambda film: motion.TemporalFlickering(),
        "steadiness by VBench's formula, where 1 is a still; films with motion are not left out",
        "share (0 to 1)",
    ),
    "loop_closure": Metric(
        lambda film: likeness.LoopClosure(), "structural similarity of the last and the first frame", "share (up to 1)"
    ),
    "perceptual_hash": Metric(lambda film: PerceptualHash(), "how the middle frame looks", "64 bits, hexadecimal"),
    "ssim": Metric(
        lambda film: likeness.Ssim(), "structural similarity to the reference", "share (up to 1)", compares=True
    ),
    "psnr": Metric(lambda film: likeness.Psnr(), "peak signal-to-noise ratio to the reference", "dB", compares=True),
    "frame_count": Metric(_fact(lambda film: film.frames), "frames that are really there", "frames"),
    "duration": Metric(_fact(lambda film: film.duration), "from the first frame to the end of the last one", "seconds"),
    "width": Metric(_fact(lambda film: film.width), "width of the first frame", "pixels"),
    "height": Metric(_fact(lambda film: film.height), "height of the first frame", "pixels"),
    "bytes": Metric(_fact(lambda film: film.bytes), "size of the file", "bytes"),
}
"""Everything that can be measured."""


def chosen(metrics: Collection[str] | str | None, *, has_reference: bool) -> tuple[str, ...]:
    """The names of what is to be measured, each once; everything that can be, if nothing is named.

    >>> chosen(["sharpness", "ssim"], has_reference=False)
    Traceback (most recent call last):
    reelbook.errors.ReelbookError: ssim compares with a reference. Give one with reference=…, or leave it out.
    """
    if metrics is None:
        return tuple(name for name, metric in METRICS.items() if has_reference or not metric.compares)
    names = tuple(dict.fromkeys([metrics] if isinstance(metrics, str) else metrics))
    for name in names:
        if name not in METRICS:
            near = difflib.get_close_matches(str(name), METRICS, n=1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            raise ReelbookError(f"There is no metric {name!r}. {hint}There are: {', '.join(METRICS)}.")
        if METRICS[name].compares and not has_reference:
            raise ReelbookError(f"{name} compares with a reference. Give one with reference=…, or leave it out.")
    return names
