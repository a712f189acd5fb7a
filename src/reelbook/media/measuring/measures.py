"""Measure many local files in parallel; figures of files on a library's shelf are kept beside it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path

from ...errors import ReelbookError
from ..derived_cache import FileVersion, get_file_version, read_or_make
from .metrics import METRICS, Measured, measure_file, select_metrics

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
    progress: OnProgress | None = None,
) -> list[Measured]:
    """Measure many files; returns their figures in order, with the reason under `error` for a file that failed.

    Files are decoded in threads, which suffice: decoders and numpy work outside of Python's lock. What was measured before
    of a file on a shelf, compared with the same reference, is read again. `progress` is called in this thread; repeated
    files count once.

    >>> measure_files([], ["sharpness"])
    []
    """
    names = select_metrics(metrics, has_reference=reference is not None)
    compares = any(METRICS[name].compares for name in names)
    other = get_file_version(reference) if reference is not None and compares else None
    if compares and other is None:
        # Said once, rather than for each file.
        raise ReelbookError(f"There is no reference at {reference}. Give the path of a video or a picture.")
    listed = [str(Path(path).expanduser()) for path in paths]
    figures: dict[str, Measured] = {}
    different = dict.fromkeys(listed)
    report = progress or (lambda done, of: None)
    report(0, len(different))
    pool = ThreadPoolExecutor(max(1, min(len(different), os.cpu_count() or 1)), "reelbook-measure")
    try:
        pending = {pool.submit(_read_or_measure, path, names, other): path for path in different}
        while pending:
            for future in wait(pending, WAKE_SECONDS, FIRST_COMPLETED).done:
                figures[pending.pop(future)] = future.result()
                report(len(figures), len(different))
    finally:
        # Whatever interrupts this loop, an error of the callback included, also cancels what has not begun.
        pool.shutdown(wait=False, cancel_futures=True)
    return [dict(figures[path]) for path in listed]


def _read_or_measure(path: str, names: tuple[str, ...], reference: FileVersion | None) -> Measured:
    """The figures of one file, which are kept if it is on a shelf."""
    asked = hashlib.sha256(repr((names, reference)).encode(errors="backslashreplace")).hexdigest()[:16]
    measured: Measured = {}

    def measure(file: FileVersion) -> bytes | None:
        measured.update(measure_file(path, names, reference=reference.path if reference else None))
        # Failures are not kept: a later attempt may have more memory, or a better decoder.
        return None if measured["error"] else json.dumps(measured).encode()

    try:
        content = read_or_make(path, FOLDER, f"{asked}.json", measure)
    except ReelbookError as error:
        return {**dict.fromkeys(names), "error": str(error)}
    return measured if content is None else dict(json.loads(content))
