"""Measure many local files in parallel, with a cache."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from contextlib import closing
from pathlib import Path

from ...errors import ReelbookError
from ...util.replace_file import replace_file
from . import measure_pool
from .gauge import Value
from .measure_file import Measured, measure_file
from .measure_pool import Order
from .metrics import METRICS, Metric, select_metrics

__all__ = ["METRICS", "Cache", "Measured", "Metric", "OnProgress", "Value", "measure_file", "measure_files"]

OnProgress = Callable[[int, int], object]
"""A callback, called with the number of files done and of all files."""

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

    Files are decoded in child processes, which end with this call however it ends, or by the given executor. (A thread
    pool decodes in this process, which dies with a decoder that crashes.) With a cache, only missing figures are
    measured. `progress` is called in this thread; repeated files count once.

    >>> measure_files([], ["sharpness"])
    []
    """
    names = select_metrics(metrics, has_reference=reference is not None)
    compares = any(METRICS[name].compares for name in names)
    batch = _Batch(names, _found(reference) if reference is not None and compares else None, cache)
    places = [_absolute(path) for path in paths]
    different = list(dict.fromkeys(places))
    done = {place: figures for place in different if (figures := batch.known(place)) is not None}
    orders = [batch.order(place) for place in different if place not in done]
    if progress is not None:
        progress(len(done), len(different))
    # Closing matters: whatever interrupts this loop, an error of the callback included, also ends the processes.
    with closing(measure_pool.measure_orders(orders) if executor is None else _measure_by(executor, orders)) as results:
        for number, figures in results:
            place = orders[number].path
            done[place] = batch.completed(place, figures)
            if progress is not None:
                progress(len(done), len(different))
    return [dict(done[place]) for place in places]


class _Batch:
    """The metrics wanted by one call, and the figures already known of each file."""

    def __init__(self, names: tuple[str, ...], reference: str | None, cache: Cache | None) -> None:
        self._names, self._reference, self._cache = names, reference, cache
        compared = _sha256(reference) if cache is not None and reference is not None else None
        self._keys = {name: _key(METRICS[name], name, compared) for name in names}
        self._hashes: dict[str, str | None] = {}
        self._known: dict[str, Measured] = {}

    def known(self, place: str) -> Measured | None:
        """The cached figures of a file, None if any is missing; `completed` merges those found with measured ones."""
        if self._cache is None:
            return None
        sha256 = self._hashes[place] = _sha256(place)
        cached = self._cache.find(sha256) if sha256 else {}
        known = self._known[place] = {name: cached[key] for name, key in self._keys.items() if key in cached}
        return {**self._complete(known), "error": None} if len(known) == len(self._names) else None

    def order(self, place: str) -> Order:
        """The order for the metrics of a file not found in the cache."""
        return Order(
            place, tuple(name for name in self._names if name not in self._known.get(place, {})), self._reference
        )

    def completed(self, place: str, figures: Measured) -> Measured:
        """All figures of a file, cached and just measured; the latter are added to the cache."""
        error = figures.pop("error", None)
        sha256 = self._hashes.get(place)
        # Failures are not cached: a later attempt may have more memory, or a better decoder.
        if self._cache is not None and sha256 is not None and error is None:
            self._cache.keep(sha256, {self._keys[name]: value for name, value in figures.items()})
        return {**self._complete({**self._known.get(place, {}), **figures}), "error": error}

    def _complete(self, figures: Measured) -> Measured:
        return {name: figures.get(name) for name in self._names}


def _measure_by(executor: Executor, orders: list[Order]) -> Generator[tuple[int, Measured], None, None]:
    """Yield the index and the figures of each order as an executor completes it."""
    numbers: dict[Future[Measured], int] = {}
    lost: list[tuple[int, Measured]] = []
    try:
        for number, order in enumerate(orders):
            try:
                future = executor.submit(measure_file, order.path, order.metrics, reference=order.reference)
                numbers[future] = number
            except BrokenExecutor as error:
                lost.append((number, _lost(order, error)))
        yield from lost
        for future in as_completed(numbers):
            number = numbers[future]
            try:
                yield number, dict(future.result())
            # An error of any type in one file must not stop the others.
            except Exception as error:
                yield number, _lost(orders[number], error)
    finally:
        for future in numbers:
            future.cancel()


def _lost(order: Order, error: Exception) -> Measured:
    # Some errors have no message, such as that of a cluster that was closed.
    reason = f"{type(error).__name__}: {error}".removesuffix(": ")
    words = f"{order.path} could not be measured: the executor lost it ({reason}). Measure it again."
    return {**dict.fromkeys(order.metrics), "error": words}


def _key(metric: Metric, name: str, reference: str | None) -> str:
    """The key of a figure in the cache."""
    return f"{name} {metric.version}" + (f" {reference}" if metric.compares else "")


def _absolute(path: Path | str) -> str:
    return os.path.abspath(Path(path).expanduser())  # noqa: PTH100  # Path.resolve reads the disk, and may raise.


def _found(reference: Path | str) -> str:
    """The reference's absolute path; `ReelbookError` if it is missing, once rather than for each file."""
    place = _absolute(reference)
    if not os.path.isfile(place):  # noqa: PTH113  # Path.is_file may raise.
        raise ReelbookError(f"There is no reference at {place}. Give the path of a video or a picture.")
    return place


def _sha256(place: str) -> str | None:
    """The hash of a file's content, taken from its name for a file on the shelf; None if it cannot be read."""
    if _SHELF_NAME.fullmatch(Path(place).stem):
        return Path(place).stem
    try:
        with Path(place).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


class Cache:
    """Figures by the hash of a file's content and by name; entries that cannot be read or written are ignored.

    Every measurement adds a small file and changes none, so any number of processes may share a folder.

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
        found: dict[str, Value] = {}
        with contextlib.suppress(OSError):
            for path in sorted(self._place(sha256).glob("*.json")):
                found |= _read_figures(path)
        return found

    def keep(self, sha256: str, values: Mapping[str, Value]) -> None:
        """Add figures; disk errors are ignored."""
        if not values:
            return
        # The same names have the same values, so concurrent writers do not matter.
        name = hashlib.sha256(json.dumps(sorted(values)).encode()).hexdigest()[:16]
        place = self._place(sha256)
        with contextlib.suppress(OSError):
            place.mkdir(parents=True, exist_ok=True)
            replace_file(place / f"{name}.json", json.dumps(dict(values)).encode())

    def _place(self, sha256: str) -> Path:
        return self.folder / sha256[:2] / sha256


def _read_figures(path: Path) -> dict[str, Value]:
    """The figures in one file; none if it is incomplete or of another format."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(values, dict):
        return {}
    return {name: value for name, value in values.items() if value is None or isinstance(value, (int, float, str))}
