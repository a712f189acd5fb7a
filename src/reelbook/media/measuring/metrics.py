"""The table of metrics, by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Literal, NamedTuple

from ...errors import ReelbookError
from ...util.printable import suggest
from . import frame_figures, motion, similarity
from .gauge import Fact, Gauge, MeanOfFrames, Value
from .measured_frames import MeasuredFile, MeasuredFrame

Better = Literal["higher", "lower", "as you want it"]


class Metric(NamedTuple):
    """A metric: its gauge, definition, unit and range."""

    gauge: Callable[[MeasuredFile], Gauge]
    """Creates its gauge for one file; the gauge's docstring explains the formula."""
    meaning: str
    """What it means, in a few words."""
    definition: str
    """How it is computed."""
    unit: str
    minimum: float | None = 0
    """The lowest possible figure; None if figures have no order."""
    maximum: float | None = None
    """The highest possible figure; None if unbounded."""
    better: Better = "as you want it"
    """Which direction is better, other things being equal."""
    version: int = 1
    """Incremented when the figure for the same file changes, so that earlier cache entries are not used."""
    compares: bool = False
    """Whether it requires a reference."""

    @property
    def range(self) -> str:
        """The range of the figures as text."""
        if self.minimum is None:
            return ""
        return f"{self.minimum:g} and up" if self.maximum is None else f"{self.minimum:g} to {self.maximum:g}"


def _of_frames(figure: Callable[[MeasuredFrame], float]) -> Callable[[MeasuredFile], Gauge]:
    return lambda film: MeanOfFrames(figure)


def _fact(fact: Callable[[MeasuredFile], Value]) -> Callable[[MeasuredFile], Gauge]:
    return lambda film: Fact(fact)


METRICS: dict[str, Metric] = {
    "sharpness": Metric(
        _of_frames(frame_figures.sharpness),
        "edges and fine texture; noise raises it, too",
        "the variance of the Laplacian of the luma, with the longer side at 512 pixels; mean over the frames",
        "levels²",
        better="higher",
    ),
    "brightness": Metric(
        _of_frames(frame_figures.brightness),
        "how light it is: 0 is black",
        "the mean of the luma (BT.601 weights); mean over the frames",
        "levels",
        maximum=255,
    ),
    "contrast": Metric(
        _of_frames(frame_figures.contrast),
        "how far light and dark are apart within a frame",
        "the standard deviation of the luma (RMS contrast, Peli 1990); mean over the frames",
        "levels",
        maximum=127.5,
    ),
    "colourfulness": Metric(
        _of_frames(frame_figures.colourfulness),
        "how colourful it looks: 0 is grey, beyond 80 is very colourful",
        "√(σ²rg + σ²yb) + 0.3·√(μ²rg + μ²yb) with rg = R − G and yb = (R + G)/2 − B (Hasler and Süsstrunk 2003); "
        "mean over the frames",
        "levels",
    ),
    "motion": Metric(
        lambda film: motion.Motion(),
        "how much changes, be it by motion, light or cuts",
        "the mean absolute difference of the luma of neighbouring frames, times the frames per second",
        "levels per second",
    ),
    "motion_smoothness_linear": Metric(
        lambda film: motion.MotionSmoothness(),
        "how evenly it moves; of the form of VBench's motion_smoothness, and another quantity",
        "(255 − MAE) / 255, where MAE is the mean absolute difference of a frame from the mean of its two neighbours, "
        "in luma. VBench has a network (AMT) draw the frame between them; a mean cannot move things, so compare films "
        "of like speed",
        "share",
        maximum=1,
        better="higher",
    ),
    "temporal_flickering": Metric(
        lambda film: motion.TemporalFlickering(),
        "how steady it is: 1 is a still; VBench's temporal_flickering",
        "(255 − MAE) / 255, where MAE is the mean absolute difference of neighbouring frames over all pixels and "
        "colours at full size (Huang et al., VBench, CVPR 2024). VBench judges still scenes only; nothing is left out "
        "here, so that motion counts as flicker: compare films of like motion",
        "share",
        maximum=1,
        better="higher",
    ),
    "loop_closure": Metric(
        lambda film: similarity.LoopClosure(),
        "whether the end meets the beginning: 1 is the same picture",
        "the structural similarity (see ssim) of the last and the first frame",
        "share",
        minimum=-1,
        maximum=1,
        better="higher",
    ),
    "perceptual_hash": Metric(
        lambda film: frame_figures.PerceptualHash(),
        "how the middle frame looks: pictures alike differ in few bits",
        "64 bits, one for each low wave of its cosine transform: whether it is above the median",
        "hexadecimal",
        minimum=None,
    ),
    "ssim": Metric(
        lambda film: similarity.Ssim(),
        "how alike it is to the reference in structure: 1 is equal",
        "the structural similarity (Wang et al. 2004), windows of 8 × 8 at every fourth pixel of the luma, with the "
        "longer side at 512 pixels; frame by frame, mean over the frames that both have",
        "share",
        minimum=-1,
        maximum=1,
        better="higher",
        compares=True,
    ),
    "psnr": Metric(
        lambda film: similarity.Psnr(),
        "how little it differs from the reference: infinite where all is equal",
        "10·log₁₀(255² / MSE) over all pixels, colours and frames that both have, at the size of the reference",
        "dB",
        maximum=math.inf,
        better="higher",
        compares=True,
    ),
    "frame_count": Metric(
        _fact(lambda film: film.frames), "frames that are really there", "counted while decoding", "frames", minimum=1
    ),
    "duration": Metric(
        _fact(lambda film: film.duration), "how long it plays", "from the first frame to the end of the last one", "seconds"
    ),
    "width": Metric(_fact(lambda film: film.width), "width", "of the first frame", "pixels", minimum=1),
    "height": Metric(_fact(lambda film: film.height), "height", "of the first frame", "pixels", minimum=1),
    "bytes": Metric(_fact(lambda film: film.bytes), "size of the file", "as it lies on the disk", "bytes", minimum=1),
}  # fmt: skip
"""All metrics by name."""

VBENCH = {"dynamic_degree": "motion", "motion_smoothness": "motion_smoothness_linear"}
"""VBench's metrics that require networks, and the nearest metric that does not."""


def select_metrics(metrics: Collection[str] | str | None, *, has_reference: bool) -> tuple[str, ...]:
    """Validate the names of the metrics and remove duplicates; all that can be measured if none are named.

    >>> select_metrics(["sharpness", "ssim"], has_reference=False)
    Traceback (most recent call last):
    reelbook.errors.ReelbookError: ssim compares with a reference. Give one with reference=…, or leave it out.
    """
    if metrics is None:
        return tuple(name for name, metric in METRICS.items() if has_reference or not metric.compares)
    names = tuple(dict.fromkeys([metrics] if isinstance(metrics, str) else metrics))
    for name in names:
        if name not in METRICS:
            raise ReelbookError(
                f"There is no metric {name!r}. {_hint(str(name))}The metrics are: {', '.join(METRICS)}."
            )
        if METRICS[name].compares and not has_reference:
            raise ReelbookError(f"{name} compares with a reference. Give one with reference=…, or leave it out.")
    return names


def _hint(name: str) -> str:
    if name in VBENCH:
        return f"VBench's needs a network; {VBENCH[name]!r} goes the same way and is another quantity. "
    hint = suggest(name, METRICS).strip()
    return f"{hint} " if hint else ""
