"""Figures computed from local files, many at once."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Generator, Iterable
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from contextlib import closing
from pathlib import Path

from ...errors import ReelbookError
from . import measure_pool
from .gauge import Value
from .measure_cache import Cache
from .measure_file import Measured, measure_file
from .measure_pool import Order
from .metrics import METRICS, Metric, select_metrics

__all__ = ["METRICS", "Cache", "Measured", "Metric", "Progress", "Value", "measure_file", "measure_files"]

Progress = Callable[[int, int], object]
"""Called with the number of files done and of all files."""

_SHELF_NAME = re.compile(r"[0-9a-f]{64}")


def measure_files(
    paths: Iterable[Path | str],
    metrics: Collection[str] | None = None,
    *,
    reference: Path | str | None = None,
    executor: Executor | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> list[Measured]:
    """The figures of many files, in their order; a file that cannot be measured says why under `error`.

    Files are decoded in processes of our own, which end with this call however it ends, or by any executor. (One of
    threads decodes in this process, where a decoder that crashes takes everything with it.) With a cache, only what
    is not known yet is measured. `progress` is called in this thread; files that are there twice count once.

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
    # Closing matters: what interrupts this loop, a callback's own error included, ends the processes too.
    with closing(measure_pool.measure_orders(orders) if executor is None else _answers_by(executor, orders)) as answers:
        for number, answer in answers:
            place = orders[number].path
            done[place] = batch.completed(place, answer)
            if progress is not None:
                progress(len(done), len(different))
    return [dict(done[place]) for place in places]


class _Batch:
    """What is wanted of all files of one call, and what is known of each already."""

    def __init__(self, names: tuple[str, ...], reference: str | None, cache: Cache | None) -> None:
        self._names, self._reference, self._cache = names, reference, cache
        compared = _sha256(reference) if cache is not None and reference is not None else None
        self._keys = {name: _key(METRICS[name], name, compared) for name in names}
        self._hashes: dict[str, str | None] = {}
        self._known: dict[str, Measured] = {}

    def known(self, place: str) -> Measured | None:
        """The figures of a file if none is missing; those there are count later, when the rest is measured."""
        if self._cache is None:
            return None
        sha256 = self._hashes[place] = _sha256(place)
        kept = self._cache.find(sha256) if sha256 else {}
        known = self._known[place] = {name: kept[key] for name, key in self._keys.items() if key in kept}
        return {**self._complete(known), "error": None} if len(known) == len(self._names) else None

    def order(self, place: str) -> Order:
        """What is still to be measured of a file."""
        return Order(
            place, tuple(name for name in self._names if name not in self._known.get(place, {})), self._reference
        )

    def completed(self, place: str, answer: Measured) -> Measured:
        """The figures of a file from what was known and what was measured now; the latter is kept."""
        error = answer.pop("error", None)
        sha256 = self._hashes.get(place)
        # Not what failed: the next try may find more memory, or a better decoder.
        if self._cache is not None and sha256 is not None and error is None:
            self._cache.keep(sha256, {self._keys[name]: value for name, value in answer.items()})
        return {**self._complete({**self._known.get(place, {}), **answer}), "error": error}

    def _complete(self, figures: Measured) -> Measured:
        return {name: figures.get(name) for name in self._names}


def _answers_by(executor: Executor, orders: list[Order]) -> Generator[tuple[int, Measured], None, None]:
    """What an executor makes of the orders, by their number and as it comes."""
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
            # Whatever befell it there, the others go on.
            except Exception as error:
                yield number, _lost(orders[number], error)
    finally:
        for future in numbers:
            future.cancel()


def _lost(order: Order, error: Exception) -> Measured:
    # Some errors have no words, such as that of a cluster which was closed meanwhile.
    reason = f"{type(error).__name__}: {error}".removesuffix(": ")
    words = f"{order.path} could not be measured: the executor lost it ({reason}). Measure it again."
    return {**dict.fromkeys(order.metrics), "error": words}


def _key(metric: Metric, name: str, reference: str | None) -> str:
    """The name of a figure in the cache."""
    return f"{name} {metric.version}" + (f" {reference}" if metric.compares else "")


def _absolute(path: Path | str) -> str:
    return os.path.abspath(Path(path).expanduser())  # noqa: PTH100  # Path.resolve would look at the disk, and may raise.


def _found(reference: Path | str) -> str:
    """The reference's full path, if it is there: said once, and not once for each file."""
    place = _absolute(reference)
    if not os.path.isfile(place):  # noqa: PTH113  # Path.is_file may raise.
        raise ReelbookError(f"There is no reference at {place}. Give the path of a video or a picture.")
    return place


def _sha256(place: str) -> str | None:
    """The hash of a file's content; None where it cannot be read. The shelf's files are named by theirs."""
    if _SHELF_NAME.fullmatch(Path(place).stem):
        return Path(place).stem
    try:
        with Path(place).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
