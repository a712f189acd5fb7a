"""Measure many local files in parallel, with a cache."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path

from ...errors import ReelbookError
from ...util.replace_file import replace_file
from .metrics import METRICS, Measured, Metric, Value, measure_file, select_metrics

OnProgress = Callable[[int, int], object]
"""A callback, called with the number of files done and of all files."""

WAKE_SECONDS = 0.5
"""Interval at which a wait wakes: Windows delivers Ctrl-C only then."""
_SHELF_NAME = re.compile(r"[0-9a-f]{64}")


def measure_files(
    paths: Iterable[Path | str],
    metrics: Collection[str] | None = None,
    *,
    reference: Path | str | None = None,
    executor: Executor | None = None,
    cache: Cache | None = None,
    progress: OnProgress | None = None,
) -> list[Measured]:
    """Measure many files; returns their figures in order, with the reason under `error` for a file that failed.

    Files are decoded in threads, or by the given executor. With a cache, only missing figures are measured. `progress` is
    called in this thread; repeated files count once.

    >>> measure_files([], ["sharpness"])
    []
    """
    names = select_metrics(metrics, has_reference=reference is not None)
    compares = any(METRICS[name].compares for name in names)
    other = _find_reference(reference) if reference is not None and compares else None
    compared = _sha256(other) if cache is not None and other is not None else None
    keys = {name: _key(METRICS[name], name, compared) for name in names}
    listed = [_absolute(path) for path in paths]
    hashes = {path: None if cache is None else _sha256(path) for path in dict.fromkeys(listed)}
    figures = {path: _find_known(cache, sha256, keys) for path, sha256 in hashes.items()}
    errors: dict[str, Value] = dict.fromkeys(hashes)
    missing = {path: tuple(name for name in names if name not in known) for path, known in figures.items()}
    due = {path: wanted for path, wanted in missing.items() if wanted}
    count = len(hashes) - len(due)
    if progress is not None:
        progress(count, len(hashes))
    # Closing matters: whatever interrupts this loop, an error of the callback included, also cancels what has not begun.
    with closing(_measure(executor, due, other)) as results:
        for path, measured in results:
            errors[path] = measured.pop("error", None)
            sha256 = hashes[path]
            # Failures are not cached: a later attempt may have more memory, or a better decoder.
            if cache is not None and sha256 is not None and errors[path] is None:
                cache.keep(sha256, {keys[name]: value for name, value in measured.items()})
            figures[path] |= measured
            count += 1
            if progress is not None:
                progress(count, len(hashes))
    return [{**{name: figures[path].get(name) for name in names}, "error": errors[path]} for path in listed]


def _find_known(cache: Cache | None, sha256: str | None, keys: Mapping[str, str]) -> Measured:
    """The figures of a file that are in the cache."""
    cached = cache.find(sha256) if cache is not None and sha256 is not None else {}
    return {name: cached[key] for name, key in keys.items() if key in cached}


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
            done, pending = wait(pending, WAKE_SECONDS, FIRST_COMPLETED)
            for future in done:
                path = paths[future]
                # An error in one file must not stop the others.
                failure = future.exception()
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
    """The key of a figure in the cache."""
    return f"{name} {metric.version}" + (f" {reference}" if metric.compares else "")


def _absolute(path: Path | str) -> str:
    return os.path.abspath(Path(path).expanduser())  # noqa: PTH100  # Path.resolve reads the disk, and may raise.


def _find_reference(reference: Path | str) -> str:
    """The reference's absolute path; `ReelbookError` if it is missing, once rather than for each file."""
    path = _absolute(reference)
    if not os.path.isfile(path):  # noqa: PTH113  # Path.is_file may raise.
        raise ReelbookError(f"There is no reference at {path}. Give the path of a video or a picture.")
    return path


def _sha256(path: str) -> str | None:
    """The hash of a file's content, taken from its name for a file on the shelf; None if it cannot be read."""
    if _SHELF_NAME.fullmatch(Path(path).stem):
        return Path(path).stem
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


class Cache:
    """Figures by the hash of a file's content and by name; entries that cannot be read or written are ignored.

    Of two processes that measure the same file at once, one may measure some of its figures again.

    >>> from tempfile import mkdtemp
    >>> cache = Cache(mkdtemp())
    >>> cache.keep("c0ffee", {"sharpness 1": 12.5})
    >>> cache.find("c0ffee"), cache.find("decaf")
    ({'sharpness 1': 12.5}, {})
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    def find(self, sha256: str) -> dict[str, Value]:
        """All cached figures of the file with this hash."""
        try:
            values = json.loads(self._get_path(sha256).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        figures = values.items() if isinstance(values, dict) else ()
        return {name: value for name, value in figures if value is None or isinstance(value, (int, float, str))}

    def keep(self, sha256: str, values: Mapping[str, Value]) -> None:
        """Add figures; disk errors are ignored."""
        path = self._get_path(sha256)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, json.dumps({**self.find(sha256), **values}).encode())

    def _get_path(self, sha256: str) -> Path:
        return self.folder / sha256[:2] / f"{sha256}.json"
