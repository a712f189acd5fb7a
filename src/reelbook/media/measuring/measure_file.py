"""Measure all metrics of one file in one pass."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack
from pathlib import Path

from .gauge import Value
from .measured_frames import MeasuredFrame, open_frames
from .metrics import METRICS, select_metrics

Measured = dict[str, Value]
"""The figures of one file by metric name, and under `error` the reason why there are none."""


def measure_file(
    path: Path | str, metrics: Collection[str] | None = None, *, reference: Path | str | None = None
) -> Measured:
    """Measure one file in this process; `measure_files` does so in others.

    A file that cannot be read has no figures and the reason under `error`; a reference that cannot be read leaves out
    only the metrics that compare with it. All metrics are measured if none are named.
    """
    names = select_metrics(metrics, has_reference=reference is not None)
    compares = any(METRICS[name].compares for name in names)
    with ExitStack() as stack:
        other = _Reference(Path(reference), stack) if reference is not None and compares else None
        try:
            values = _measured(Path(path), names, other, stack)
        # Decoders raise errors of many types for a broken file.
        except Exception as error:
            return {**dict.fromkeys(names), "error": _sentence(Path(path), error)}
        if other is None or other.error is None:
            return {**values, "error": None}
        values |= {name: None for name in names if METRICS[name].compares}
        return {**values, "error": other.error}


def _measured(path: Path, names: tuple[str, ...], other: _Reference | None, stack: ExitStack) -> Measured:
    film, frames = stack.enter_context(open_frames(path))
    gauges = None
    for frame in frames:
        if gauges is None:
            # Some need the frame rate, which is known with the first frame.
            gauges = {name: METRICS[name].gauge(film) for name in names}
        reference = other.next() if other is not None else None
        for gauge in gauges.values():
            gauge.update(frame, reference)
    if gauges is None:
        raise EOFError("no frames")
    return {name: gauge.value(film) for name, gauge in gauges.items()}


class _Reference:
    """Iterates over the reference's frames; raises nothing, but sets `error`."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self._path, self._stack = path, stack
        self._frames: Iterator[MeasuredFrame] | None = None
        self.error: str | None = None

    def next(self) -> MeasuredFrame | None:
        """The next frame; None after the last one or an error."""
        if self.error is not None:
            return None
        try:
            if self._frames is None:
                _, self._frames = self._stack.enter_context(open_frames(self._path))
            return next(self._frames, None)
        except Exception as error:
            self.error = f"No comparison: {_sentence(self._path, error)}"
            return None


def _sentence(path: Path, error: Exception) -> str:
    """An error as a sentence, with what to do about it."""
    if isinstance(error, FileNotFoundError):
        reason = "is not there"
    elif isinstance(error, EOFError):
        reason = "holds no frames"
    elif isinstance(error, MemoryError):
        return f"{path} needs more memory than there is for measuring it. Make it smaller."
    else:
        reason = f"cannot be read ({type(error).__name__})"
    return f"{path} {reason}. rb.attach downloads it again."
