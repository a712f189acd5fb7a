"""The state of a sweep: the status of every run, and the totals for progress displays."""

from __future__ import annotations

import heapq
import re
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import ReelbookError, RunFailed, ServiceError
from ...media.local_file import LocalFile
from ...runs.follower import error_kind_of
from ...storage.ledger.transitions import get_settled_credits
from ...storage.run_status import ENDED, SWEEP_STATUSES, WITHOUT_RESULT, RunStatus, get_sweep_status
from ..plan.plan_rows import Row
from .ledger_lookup import LedgerRow, RunName, has_result

if TYPE_CHECKING:
    from ...runs.run import Run


_DATA_URI = re.compile(r"(data:[^\s,]{0,80},)[A-Za-z0-9+/=%_-]{24,}")

UNDER_WAY = frozenset({RunStatus.WAITING, RunStatus.RUNNING})
MAX_LATEST, MAX_RESULTS, MAX_RECENT_ENDS = 8, 24, 40
MIN_ENDS = 8
"""From this many ended runs on, only their rate determines the remaining time, no longer the forecast."""


class Snapshot(NamedTuple):
    """State of a run of a sweep before an attempt to send it."""

    status: str
    error_type: str | None
    error: str | None
    reserved: int


@dataclass(eq=False, slots=True)
class Standing:
    """State of one run of a sweep, shared by all rows with the same input and take."""

    row: Row
    name: RunName | None
    """The name in the ledger; None if the run is impossible or its pictures cannot be read."""
    rows: int = 1
    """The number of rows of the plan that share this run."""
    status: str = RunStatus.NOT_STARTED
    error_type: str | None = None
    error: str | None = None
    paid: bool = False
    """Whether the run was paid for earlier and its result is still missing."""
    from_library: bool = False
    spent: int = 0
    reserved: int = 0
    """Credits that the run may still cost, or may have cost."""
    earlier: int = 0
    """Credits that the run had cost, or may have cost, before this sweep."""
    is_paid_here: bool = False
    """Whether this sweep pays for the run."""
    id: int | None = None
    """The id in the library."""
    file: Path | None = None
    """The first file, once downloaded."""
    run: Run | None = field(default=None, repr=False)

    def update_from(self, stored: LedgerRow | None, files: Mapping[str, str]) -> None:
        """Set the state from the ledger; `files` are the files of the shelf."""
        if stored is None:
            return
        self.id, self.status = stored.id, get_sweep_status(stored.state)
        if self.status == RunStatus.COMPLETED and not has_result(stored, files):
            self.status = RunStatus.WAITING  # Its files are downloaded again at no cost.
        if self.status == RunStatus.COMPLETED and stored.files:
            self.file = Path(files[stored.files[0]])
        self.error_type, self.error = (
            (stored.error_type or stored.state, stored.error) if stored.error else (None, None)
        )
        self.paid = self.status in UNDER_WAY or self.status == RunStatus.UNFINISHED
        self.spent = get_settled_credits(stored.state, stored.charged, stored.spent, stored.cost)
        self.reserved, self.earlier = stored.cost - self.spent, stored.cost

    @property
    def paid_now(self) -> tuple[int, int]:
        """Credits that this sweep has paid for the run, and that it may have paid or may still pay."""
        if not self.is_paid_here:
            return 0, 0
        spent = max(self.spent - self.earlier, 0)
        return spent, max(self.spent + self.reserved - self.earlier, 0) - spent


@dataclass(frozen=True, slots=True)
class Group:
    """Runs that failed with the same type of error."""

    error_type: str
    count: int
    first: int
    """The number of the first such run in the plan."""
    example: str


class Result(NamedTuple):
    """A completed row, for progress displays."""

    number: int
    """The number of the row in the plan."""
    path: Path
    """The first file."""
    values: Mapping[str, Any]
    """The values of the row in the columns that vary."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A snapshot of the state of a sweep."""

    state: str
    """`preparing`, `running`, `paused`, `stopping` while active runs end, then `done`."""
    reason: str | None
    """Why sending has stopped; None if the sweep continues or is complete."""
    counts: Mapping[str, int]
    """The number of rows with each status, including zeros."""
    from_library: int
    """The number of completed rows that cost nothing now."""
    spent: int
    """Credits that the runs of the plan have cost."""
    reserved: int
    """Credits that the runs may still cost, or may have cost."""
    spent_now: int
    """The part of `spent` that this sweep has paid."""
    reserved_now: int
    """The part of `reserved` that this sweep may pay, or may have paid."""
    budget: int | None
    """The limit on the total cost of the runs, including what was paid earlier."""
    spend: int | None
    """The limit on what this sweep pays."""
    per_minute: float | None
    """The recent rate of ended runs."""
    seconds_left: float | None
    elapsed: float
    """Seconds since the start."""
    differs: tuple[int, int] | None
    """A run's price or charge as stated by the service, and the higher known price that the limits count instead."""
    failures: tuple[Group, ...]
    """The failed runs by type of error, the most frequent first."""
    results: tuple[Result, ...]
    """During the sweep, the newest results first, followed by those of the library; afterwards, the first results in
    the order of the plan."""
    affordable: int | None = None
    """The number of rows that the limits pay for, with those in the library; None if that is all of them."""
    queued: int = 0
    """The number of runs in the service's queue, which cost nothing if cancelled."""
    queued_credits: int = 0
    """Credits reserved for the queued runs."""
    waits: str = ""
    """The reason for the current pause before the next request, as text; empty if there is none."""

    @property
    def total(self) -> int:
        """The number of rows of the plan."""
        return sum(self.counts.values())

    @property
    def finished(self) -> int:
        """The number of rows whose status is final."""
        return sum(self.counts[status] for status in (*ENDED, RunStatus.IMPOSSIBLE))

    @property
    def under_way(self) -> int:
        """The number of rows that are waiting or running."""
        return self.counts[RunStatus.WAITING] + self.counts[RunStatus.RUNNING]


class Tally:
    """The runs of a sweep and their running totals. Modified on the background loop, readable from any thread."""

    def __init__(self) -> None:
        self.by_row: dict[int, Standing] = {}
        self._runs: list[Standing] = []
        self._guard = threading.Lock()
        self._counts = Counter(dict.fromkeys(SWEEP_STATUSES, 0))
        self._spent = self._reserved = self._spent_now = self._reserved_now = self._from_library = 0
        self._differs: tuple[int, int] | None = None
        self._failed: dict[str, dict[Standing, None]] = {}
        self._latest: deque[Standing] = deque(maxlen=MAX_LATEST)
        self._ends: deque[float] = deque(maxlen=MAX_RECENT_ENDS)
        self._began = time.monotonic()
        self._ended: float | None = None
        self.forecast: float | None = None
        """Seconds that the entire sweep was expected to take at its start."""
        self.affordable: int | None = None
        """The number of rows that the limits paid for at its start; None if that was all of them."""

    def __iter__(self) -> Iterator[Standing]:
        return iter(self._runs)

    def add(self, run: Standing, numbers: list[int]) -> None:
        """Add a run and the numbers of the rows that share it."""
        run.rows = len(numbers)
        with self._guard:
            self._runs.append(run)
            self.by_row |= dict.fromkeys(numbers, run)
            self._count(run, 1)

    def change(
        self, run: Standing, status: str, error: BaseException | None = None, *, spent: int | None = None, reserved: int = 0,
        is_paid_here: bool | None = None,
    ) -> None:  # fmt: skip
        """Update the status, error and cost of a run."""
        with self._guard:
            self._count(run, -1)
            run.status = status
            run.error_type, run.error = (None, None) if error is None else (get_error_type(error), format_error(error))
            run.spent, run.reserved = run.spent if spent is None else spent, reserved
            run.is_paid_here = run.is_paid_here if is_paid_here is None else is_paid_here
            self._count(run, 1)

    def restore(self, run: Standing, snapshot: Snapshot) -> None:
        """Restore the state of a run from before an attempt."""
        with self._guard:
            self._count(run, -1)
            run.status, run.error_type, run.error, run.reserved = snapshot
            run.is_paid_here = False
            self._count(run, 1)

    def record_end(self, run: Standing, media: tuple[LocalFile, ...], *, from_library: bool) -> None:
        """Record the end of a run, for the rate of ended runs and the latest results."""
        with self._guard:
            run.from_library = from_library
            self._from_library += run.rows * from_library
            if not from_library:
                self._ends.append(time.monotonic())
            if media:
                run.file = media[0].path
                self._latest.appendleft(run)

    def note_difference(self, stated: int | None, least: int) -> None:
        """Record that the service states less than the known price of a run."""
        if stated is not None and stated < least:
            self._differs = stated, least

    @property
    def differs(self) -> tuple[int, int] | None:
        """A run's price as stated by the service, and the known price that is counted; None if they agree."""
        return self._differs

    def count_stored(self) -> None:
        """Count the runs that are completed at the start as from the library."""
        with self._guard:
            for run in self._runs:
                run.from_library = run.status == RunStatus.COMPLETED
                self._from_library += run.rows * run.from_library

    def finish(self) -> None:
        """Record the end of the sweep."""
        self._ended = time.monotonic()

    def progress(
        self, state: str, reason: str | None, budget: int | None, spend: int | None, *, planned: int = 0
    ) -> Progress:
        """A snapshot of the current state; `planned` is the number of rows, used while no run has been added."""
        with self._guard:
            counts = dict(self._counts)
            if not self._runs:
                counts[RunStatus.NOT_STARTED] = planned
            pace = self._ends_per_second()
            left = counts[RunStatus.NOT_STARTED] + counts[RunStatus.WAITING] + counts[RunStatus.RUNNING]
            groups = [
                Group(name, sum(run.rows for run in runs), min(run.row.number for run in runs), next(iter(runs)).error or "")
                for name, runs in self._failed.items() if runs
            ]  # fmt: skip
            return Progress(
                state=state, reason=reason, counts=counts, from_library=self._from_library, spent=self._spent,
                reserved=self._reserved, spent_now=self._spent_now, reserved_now=self._reserved_now, budget=budget,
                spend=spend, differs=self._differs, per_minute=None if pace is None else pace * 60,
                seconds_left=self._seconds_left(left, pace) if state == "running" else None,
                elapsed=(self._ended or time.monotonic()) - self._began,
                failures=tuple(sorted(groups, key=lambda group: (-group.count, group.first))),
                results=tuple(self._results(state)), affordable=self.affordable,
            )  # fmt: skip

    def _results(self, state: str) -> Iterator[Result]:
        is_moving = state in ("preparing", "running", "stopping")
        made = (run for run in self._runs if run.status == RunStatus.COMPLETED and run.file is not None)
        if is_moving:
            listed = list(dict.fromkeys([*self._latest, *islice(made, MAX_LATEST)]))[:MAX_LATEST]
        else:
            listed = heapq.nsmallest(MAX_RESULTS, made, key=lambda run: run.row.number)
        return (Result(run.row.number, run.file, run.row.values) for run in listed if run.file is not None)

    def _seconds_left(self, runs: int, pace: float | None) -> float | None:
        """Estimated seconds left: at first the forecast, increasingly weighted by the actual rate as runs end.

        A forecast that has elapsed was too short, so that only the rate counts then.
        """
        forecast_left = None if self.forecast is None else self.forecast - (time.monotonic() - self._began)
        if not pace:
            return forecast_left if forecast_left is not None and forecast_left > 0 else None
        by_pace = runs / pace
        if forecast_left is None or forecast_left <= 0:
            return by_pace
        share = min(1.0, len(self._ends) / MIN_ENDS)
        return share * by_pace + (1 - share) * forecast_left

    def _ends_per_second(self) -> float | None:
        """Ended runs per second, over the recent ones until now; None for fewer than two."""
        if len(self._ends) < 2:
            return None
        since = (self._ended or time.monotonic()) - self._ends[0]
        return (len(self._ends) - 1) / since if since > 0 else None

    def _count(self, run: Standing, sign: int) -> None:
        self._counts[run.status] += sign * run.rows
        self._spent += sign * run.spent
        self._reserved += sign * run.reserved
        self._spent_now += sign * run.paid_now[0]
        self._reserved_now += sign * run.paid_now[1]
        if run.status in WITHOUT_RESULT and run.error_type is not None:
            group = self._failed.setdefault(run.error_type, {})
            if sign > 0:
                group[run] = None
            else:
                group.pop(run, None)


def get_error_type(error: BaseException) -> str:
    """The short name of an error, for the `error_type` column."""
    if isinstance(error, ServiceError) and error.error_type:
        return error.error_type
    return error_kind_of(error) if isinstance(error, ReelbookError) else type(error).__name__


def format_error(error: BaseException) -> str:
    """Format an error for a table, where the run and its model are in other columns."""
    if isinstance(error, RunFailed):
        return cut_data_uris(error.message)
    return cut_data_uris(str(error) if isinstance(error, ReelbookError) else f"{type(error).__name__}: {error}")


def cut_data_uris(text: str) -> str:
    """Truncate the data URIs in a text.

    >>> cut_data_uris(f"The picture data:image/png;base64,{'iVBOR' * 9} is damaged.")
    'The picture data:image/png;base64,… is damaged.'
    """
    return _DATA_URI.sub(r"\1…", text)
