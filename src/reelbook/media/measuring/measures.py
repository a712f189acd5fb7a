"""Measure many local files in parallel; figures of files on a library's shelf are kept beside it."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import closing
from pathlib import Path

from ...errors import ReelbookError
from ...util.replace_file import PRIVATE, replace_file
from ..derived_cache import get_cache_path
from .metrics import METRICS, Measured, Metric, Value, measure_file, select_metrics

OnProgress = Callable[[int, int], object]
"""A callback, called with the number of files done and of all files."""

WAKE_SECONDS = 0.5
"""Interval at which a wait wakes: Windows delivers Ctrl-C only then."""
FOLDER = "measures"
"""The folder of a library with the figures of its files."""


def measure_files(
    paths: Iterable[Path | str],
    metrics: Collection[str] | None = None,
    *,
    reference: Path | str | None = None,
    executor: Executor | None = None,
    progress: OnProgress | None = None,
) -> list[Measured]:
    """Measure many files; returns their figures in order, with the reason under `error` for a file that failed.

    Files are decoded in threads, or by the given executor. Of a file on a shelf, only figures that are not kept yet are
    measured. `progress` is called in this thread; repeated files count once.

    >>> measure_files([], ["sharpness"])
    []
    """
    names = select_metrics(metrics, has_reference=reference is not None)
    compares = any(METRICS[name].compares for name in names)
    other = _find_reference(reference) if reference is not None and compares else None
    keys = {name: _key(METRICS[name], name, other) for name in names}
    listed = [_absolute(path) for path in paths]
    kept = {path: _read_figures(path) for path in dict.fromkeys(listed)}
    figures: dict[str, Measured] = {
        path: {name: known[key] for name, key in keys.items() if key in known} for path, known in kept.items()
    }
    errors: dict[str, Value] = dict.fromkeys(figures)
    missing = {path: tuple(name for name in names if name not in known) for path, known in figures.items()}
    due = {path: wanted for path, wanted in missing.items() if wanted}
    count = len(figures) - len(due)
    if progress is not None:
        progress(count, len(figures))
    # Closing matters: whatever interrupts this loop, an error of the callback included, also cancels what has not begun.
    with closing(_measure(executor, due, other)) as results:
        for path, measured in results:
            errors[path] = measured.pop("error", None)
            # Failures are not kept: a later attempt may have more memory, or a better decoder.
            if errors[path] is None:
                _keep_figures(path, {key: measured[name] for name, key in keys.items() if key and name in measured})
            figures[path] |= measured
            count += 1
            if progress is not None:
                progress(count, len(figures))
    return [{**{name: figures[path].get(name) for name in names}, "error": errors[path]} for path in listed]


def _measure(
    executor: Executor | None, due: Mapping[str, tuple[str, ...]], reference: str | None
) -> Generator[tuple[str, Measured], None, None]:
    """Yield the path and the missing figures of each file as an executor completes it."""
    # Threads suffice: decoders and numpy work outside of Python's lock.
    pool = executor or ThreadPoolExecutor(max(1, min(len(due), os.cpu_count() or 1)), "reelbook-measure")
    paths: dict[Future[Measured], str] = {}
    try:
        for path, names in due.items():
            try:
                paths[pool.submit(measure_file, path, names, reference=reference)] = path
            except BrokenExecutor as error:
                yield path, _lost(path, names, error)
        pending = {*paths}
        while pending:
            wait(pending, WAKE_SECONDS, FIRST_COMPLETED)
            # `wait` does not count a future that was cancelled by its executor.
            done = {future for future in pending if future.done()}
            pending -= done
            for future in done:
                path = paths[future]
                # An error in one file must not stop the others.
                failure = CancelledError() if future.cancelled() else future.exception()
                yield path, dict(future.result()) if failure is None else _lost(path, due[path], failure)
    finally:
        for future in paths:
            future.cancel()
        if executor is None:
            pool.shutdown(wait=False)


def _lost(path: str, names: tuple[str, ...], error: BaseException) -> Measured:
    # Some errors have no message, such as that of a cluster that was closed.
    reason = f"{type(error).__name__}: {error}".removesuffix(": ")
    words = f"{path} could not be measured: the executor lost it ({reason}). Measure it again."
    return {**dict.fromkeys(names), "error": words}


def _key(metric: Metric, name: str, reference: str | None) -> str:
    """The name under which a figure is kept; empty for a comparison with a file that may change under its name."""
    if not metric.compares:
        return f"{name} {metric.version}"
    is_shelved = reference is not None and get_cache_path(reference, FOLDER, "") is not None
    return f"{name} {metric.version} {Path(reference or '').stem}" if is_shelved else ""


def _absolute(path: Path | str) -> str:
    return os.path.abspath(Path(path).expanduser())  # noqa: PTH100  # Path.resolve reads the disk, and may raise.


def _find_reference(reference: Path | str) -> str:
    """The reference's absolute path; `ReelbookError` if it is missing, once rather than for each file."""
    path = _absolute(reference)
    if not os.path.isfile(path):  # noqa: PTH113  # Path.is_file may raise.
        raise ReelbookError(f"There is no reference at {path}. Give the path of a video or a picture.")
    return path


def _read_figures(path: str) -> dict[str, Value]:
    """The figures that are kept of a file, by their keys."""
    entry = get_cache_path(path, FOLDER, "figures.json")
    try:
        values = json.loads(entry.read_text(encoding="utf-8")) if entry else None
    except (OSError, ValueError):
        return {}
    figures = values.items() if isinstance(values, dict) else ()
    return {name: value for name, value in figures if value is None or isinstance(value, (int, float, str))}


def _keep_figures(path: str, figures: Mapping[str, Value]) -> None:
    """Keep figures of a file on a shelf; disk errors are ignored.

    Of two processes that measure the same file at once, one may measure some of its figures again.
    """
    if entry := get_cache_path(path, FOLDER, "figures.json"):
        with contextlib.suppress(OSError):
            entry.parent.mkdir(mode=0o700, exist_ok=True)
            replace_file(entry, json.dumps({**_read_figures(path), **figures}).encode(), mode=PRIVATE)
