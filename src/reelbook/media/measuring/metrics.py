"""The table of metrics, by name; and all metrics of one file, measured in one pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ...errors import ReelbookError
from ...util.printable import suggest
from . import figures
from .figures import LEVELS
from .measured_frames import MeasuredFile, MeasuredFrame, Moment, open_frames

Value = float | int | str | None
"""A measured figure; None if it does not apply, such as the motion of a picture."""
Measured = dict[str, Value]
"""The figures of one file by metric name, and under `error` the reason why there are none."""

Better = Literal["higher", "lower", "as you want it"]


class Rule(NamedTuple):
    """How a metric is computed."""

    collect: Callable[[Moment], Any]
    """The figure of each frame, if it has one."""
    finish: Callable[[Sequence[Any], MeasuredFile], Value]
    """The figure of the file, from those of its frames."""


class Metric(NamedTuple):
    """A metric: its rule, definition, unit and range."""

    rule: Rule
    meaning: str
    """What it means, in a few words."""
    definition: str
    """How it is computed."""
    unit: str
    minimum: float = 0
    """The lowest possible figure."""
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
        return f"{self.minimum:g} and up" if self.maximum is None else f"{self.minimum:g} to {self.maximum:g}"


def _mean(values: Sequence[float], film: MeasuredFile) -> float | None:
    return sum(values) / len(values) if values else None


def _of_frames(figure: Callable[[MeasuredFrame], float]) -> Rule:
    """The mean of a figure over all frames."""
    return Rule(lambda moment: figure(moment.frame), _mean)


def _fact(fact: Callable[[MeasuredFile], Value]) -> Rule:
    """A property of the file that is known after decoding it."""
    return Rule(lambda moment: None, lambda values, film: fact(film))


def _find_motion(values: Sequence[float], film: MeasuredFile) -> float | None:
    """The mean change times the frame rate: a scene that moves steadily has the same figure at 12 and at 24 frames per second."""
    change = _mean(values, film)
    return None if change is None or film.rate is None else change * film.rate


def _find_share(values: Sequence[float], film: MeasuredFile) -> float | None:
    """How much of the range of levels the mean error leaves."""
    error = _mean(values, film)
    return None if error is None else (LEVELS - error) / LEVELS


def _find_loop_closure(film: MeasuredFile) -> float | None:
    if film.first is None or film.last is None or film.frames < 2:
        return None
    return figures.similarity(film.first.luma, film.last.luma)


def _find_ratio(values: Sequence[float], film: MeasuredFile) -> float | None:
    """The peak signal-to-noise ratio of all frames together; infinite where all is equal."""
    error = _mean(values, film)
    if error is None:
        return None
    return 10 * math.log10(LEVELS**2 / error) if error else math.inf


METRICS: dict[str, Metric] = {
    "sharpness": Metric(
        _of_frames(figures.sharpness),
        "edges and fine texture; noise raises it, too",
        "the variance of the Laplacian of the luma, with the longer side at 512 pixels; mean over the frames",
        "levels²",
        better="higher",
    ),
    "brightness": Metric(
        _of_frames(figures.brightness),
        "how light it is: 0 is black",
        "the mean of the luma (BT.601 weights); mean over the frames",
        "levels",
        maximum=255,
    ),
    "contrast": Metric(
        _of_frames(figures.contrast),
        "how far light and dark are apart within a frame",
        "the standard deviation of the luma (RMS contrast, Peli 1990); mean over the frames",
        "levels",
        maximum=127.5,
    ),
    "colourfulness": Metric(
        _of_frames(figures.colourfulness),
        "how colourful it looks: 0 is grey, beyond 80 is very colourful",
        "√(σ²rg + σ²yb) + 0.3·√(μ²rg + μ²yb) with rg = R − G and yb = (R + G)/2 − B (Hasler and Süsstrunk 2003); "
        "mean over the frames",
        "levels",
    ),
    "motion": Metric(
        Rule(figures.change, _find_motion),
        "how much changes, be it by motion, light or cuts",
        "the mean absolute difference of the luma of neighbouring frames, times the frames per second",
        "levels per second",
    ),
    "temporal_flickering": Metric(
        Rule(figures.flicker, _find_share),
        "how steady it is: 1 is a still; VBench's temporal_flickering",
        "(255 − MAE) / 255, where MAE is the mean absolute difference of neighbouring frames over all pixels and "
        "colours at full size (Huang et al., VBench, CVPR 2024). VBench judges still scenes only; nothing is left out "
        "here, so that motion counts as flicker: compare films of like motion",
        "share",
        maximum=1,
        better="higher",
    ),
    "loop_closure": Metric(
        _fact(_find_loop_closure),
        "whether the end meets the beginning: 1 is the same picture",
        "the structural similarity (see ssim) of the last and the first frame",
        "share",
        minimum=-1,
        maximum=1,
        better="higher",
    ),
    "ssim": Metric(
        Rule(figures.likeness, _mean),
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
        Rule(figures.squared_error, _find_ratio),
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
            names_known = ", ".join(METRICS)
            raise ReelbookError(f"There is no metric {name!r}.{suggest(name, METRICS)} The metrics are: {names_known}.")
        if METRICS[name].compares and not has_reference:
            raise ReelbookError(f"{name} compares with a reference. Give one with reference=…, or leave it out.")
    return names


def measure_file(
    path: Path | str, metrics: Collection[str] | None = None, *, reference: Path | str | None = None
) -> Measured:
    """Measure one file in this process; `measure_files` does so in others.

    A file that cannot be read, or whose reference cannot, has no figures and the reason under `error`. All metrics are
    measured if none are named.
    """
    names = select_metrics(metrics, has_reference=reference is not None)
    compares = any(METRICS[name].compares for name in names)
    with ExitStack() as stack:
        opened = Path(path)
        # Decoders raise errors of many types for a broken file.
        try:
            film, frames = stack.enter_context(open_frames(opened))
            if reference is None or not compares:
                return {**_measure(names, film, frames, iter(())), "error": None}
            opened = Path(reference)
            _, others = stack.enter_context(open_frames(opened))
            first = next(others)
            opened = Path(path)
            return {**_measure(names, film, frames, chain([first], others)), "error": None}
        except Exception as error:
            return {**dict.fromkeys(names), "error": _format_error(opened, error)}


def _measure(
    names: tuple[str, ...], film: MeasuredFile, frames: Iterator[MeasuredFrame], others: Iterator[MeasuredFrame]
) -> Measured:
    values: dict[str, list[Any]] = {name: [] for name in names}
    for frame in frames:
        moment = Moment(frame, film.last, next(others, None))
        for name, collected in values.items():
            if (value := METRICS[name].rule.collect(moment)) is not None:
                collected.append(value)
        film.first, film.last = film.first or frame, frame
    if film.last is None:
        raise EOFError("no frames")
    return {name: METRICS[name].rule.finish(collected, film) for name, collected in values.items()}


def _format_error(path: Path, error: Exception) -> str:
    """An error as a sentence, with what to do about it."""
    if isinstance(error, FileNotFoundError):
        reason = "is not there"
    elif isinstance(error, (EOFError, StopIteration)):
        reason = "holds no frames"
    elif isinstance(error, MemoryError):
        return f"{path} needs more memory than there is for measuring it. Make it smaller."
    else:
        reason = f"cannot be read ({type(error).__name__})"
    return f"{path} {reason}. rb.attach downloads it again."
