"""The table of metrics, by name; and all metrics of one file, measured in one pass."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

from ...errors import ReelbookError
from ...util.printable import suggest
from . import figures
from .figures import Value, find_mean
from .measured_frames import MeasuredFile, MeasuredFrame, Moment, open_frames

Measured = dict[str, Value]
"""The figures of one file by metric name, and under `error` the reason why there are none."""

Better = Literal["higher", "lower", "as you want it"]


class Metric(NamedTuple):
    """A metric: its meaning, unit, and how it is computed; the formulas are in `figures`."""

    meaning: str
    unit: str
    collect: Callable[[Moment], float | None]
    """The figure of each frame; None if it has none."""
    finish: Callable[[Sequence[float], MeasuredFile], Value] = find_mean
    """The figure of the file, from those of its frames."""
    better: Better = "as you want it"
    """Which direction is better, other things being equal."""
    compares: bool = False
    """Whether it requires a reference."""


def _fact(meaning: str, unit: str, fact: Callable[[MeasuredFile], Value], better: Better = "as you want it") -> Metric:
    """A property of the file that is known after decoding it."""
    return Metric(meaning, unit, lambda moment: None, lambda values, film: fact(film), better)


METRICS = {
    "sharpness": Metric("edges and fine texture; noise raises it, too", "levels²", figures.sharpness, better="higher"),
    "brightness": Metric("how light it is: 0 is black, 255 white", "levels", figures.brightness),
    "contrast": Metric("how far light and dark are apart", "levels", figures.contrast),
    "colourfulness": Metric("0 is grey, beyond 80 is very colourful", "levels", figures.colourfulness),
    "motion": Metric(
        "how much changes, by motion, light or cuts", "levels per second", figures.change, figures.find_pace
    ),
    "temporal_flickering": Metric(
        "how steady it is: 1 is a still", "share", figures.flicker, figures.find_steadiness, "higher"
    ),
    "loop_closure": _fact(
        "whether the end meets the beginning: 1 is equal", "share", figures.compare_ends, "higher"
    ),
    "ssim": Metric(
        "how alike it is to the reference: 1 is equal", "share", figures.likeness, better="higher", compares=True
    ),
    "psnr": Metric(
        "how little it differs from the reference", "dB", figures.squared_error, figures.find_ratio, "higher", compares=True
    ),
    "frame_count": _fact("frames that are really there", "frames", lambda film: film.frames),
    "duration": _fact("how long it plays", "seconds", lambda film: film.duration),
    "width": _fact("width", "pixels", lambda film: film.width),
    "height": _fact("height", "pixels", lambda film: film.height),
    "bytes": _fact("size of the file", "bytes", lambda film: film.bytes),
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
    """Measure one file; `measure_files` does so with many at once.

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
    values: dict[str, list[float]] = {name: [] for name in names}
    for frame in frames:
        moment = Moment(frame, film.last, next(others, None))
        for name, collected in values.items():
            if (value := METRICS[name].collect(moment)) is not None:
                collected.append(value)
        film.first, film.last = film.first or frame, frame
    if film.last is None:
        raise EOFError("no frames")
    return {name: METRICS[name].finish(collected, film) for name, collected in values.items()}


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
