"""How a sweep stands: every run with its status, and the sums that a panel shows."""

from __future__ import annotations

import heapq
import re
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import ReelbookError, RunCancelled, RunFailed, ServiceError
from ...media.local_file import LocalFile
from ...runs.follower import error_kind_of
from ...storage.ledger.transitions import State
from ..plan.plan_rows import Row
from .ledger_lookup import LedgerRow, RunName, has_result

if TYPE_CHECKING:
    from ...runs.run import Run


class SweepStatus(StrEnum):
    """How a run of a sweep stands; also the text in its table. The last two only while it is under way.

    Of an unfinished one, which is paid for, the result could not be had: the same plan run again asks for it at no cost.
    """

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNFINISHED = "unfinished"
    UNCERTAIN = "uncertain"
    IMPOSSIBLE = "impossible"
    NOT_STARTED = "not started"
    WAITING = "waiting"
    RUNNING = "running"


STATUSES = tuple(status.value for status in SweepStatus)


_DATA_URI = re.compile(r"(data:[^\s,]{0,80},)[A-Za-z0-9+/=%_-]{24,}")

UNDER_WAY = frozenset({SweepStatus.WAITING, SweepStatus.RUNNING})
OVER = frozenset({SweepStatus.COMPLETED, SweepStatus.FAILED, SweepStatus.CANCELLED})
MAX_LATEST, MAX_RESULTS, MAX_RECENT_ENDS = 8, 24, 40
MIN_ENDS = 8
"""After so many ends their pace alone tells how long the rest takes."""

_STATUS_OF_STATE: Mapping[str, str] = {
    State.PLANNED: SweepStatus.NOT_STARTED, State.INTENT: SweepStatus.WAITING, State.SENDING: SweepStatus.WAITING, State.ACCEPTED: SweepStatus.WAITING,
    State.RUNNING: SweepStatus.RUNNING, State.COMPLETED: SweepStatus.RUNNING, State.STORED: SweepStatus.COMPLETED, State.REJECTED: SweepStatus.FAILED,
    State.EXPIRED: SweepStatus.UNFINISHED, State.FAILED: SweepStatus.FAILED, State.CANCELLED: SweepStatus.CANCELLED, State.UNCERTAIN: SweepStatus.UNCERTAIN,
}  # fmt: skip


class Snapshot(NamedTuple):
    """A run of a sweep before it was tried."""

    status: str
    error_type: str | None
    error: str | None
    reserved: int


@dataclass(eq=False, slots=True)
class Standing:
    """One run of a sweep: what it is, and how it stands. Several rows that ask for the same share it."""

    row: Row
    name: RunName | None
    """What the ledger calls it; None where it is impossible or its pictures cannot be read."""
    rows: int = 1
    """How many rows of the plan ask for it."""
    status: str = SweepStatus.NOT_STARTED
    error_type: str | None = None
    error: str | None = None
    paid: bool = False
    """Whether it was paid for already and is still to be followed to its end."""
    from_library: bool = False
    spent: int = 0
    reserved: int = 0
    """What it may cost yet, or may have cost."""
    earlier: int = 0
    """What it had cost, or may have cost, before this sweep began."""
    is_paid_here: bool = False
    """Whether this sweep pays for it."""
    id: int | None = None
    """Its number in the library."""
    file: Path | None = None
    """Its first file, once it is here."""
    run: Run | None = field(default=None, repr=False)

    def update_from(self, stored: LedgerRow | None, files: Mapping[str, str]) -> None:
        """As the ledger has it; `files` has the files of the shelf."""
        if stored is None:
            return
        self.id, self.status = stored.id, _STATUS_OF_STATE.get(stored.state, SweepStatus.UNCERTAIN)
        if self.status == SweepStatus.COMPLETED and not has_result(stored, files):
            self.status = SweepStatus.WAITING  # For its files, which are fetched again at no cost.
        if self.status == SweepStatus.COMPLETED and stored.files:
            self.file = Path(files[stored.files[0]])
        self.error_type, self.error = (
            (stored.error_type or stored.state, stored.error) if stored.error else (None, None)
        )
        self.paid = self.status in UNDER_WAY or self.status == SweepStatus.UNFINISHED
        is_open = self.paid or self.status == SweepStatus.UNCERTAIN or (stored.charged is None and self.status != SweepStatus.COMPLETED)  # fmt: skip
        spent = stored.spent if is_open else min(stored.spent + stored.charged, stored.cost) if stored.charged is not None else stored.cost  # fmt: skip
        self.spent, self.reserved = spent, stored.cost - spent
        self.earlier = stored.cost

    @property
    def paid_now(self) -> tuple[int, int]:
        """What this sweep has paid for it, and what it may have paid, or may pay yet."""
        if not self.is_paid_here:
            return 0, 0
        spent = max(self.spent - self.earlier, 0)
        return spent, max(self.spent + self.reserved - self.earlier, 0) - spent


@dataclass(frozen=True, slots=True)
class Group:
    """Runs that failed for the same reason."""

    error_type: str
    count: int
    first: int
    """The number of the first of them in the plan."""
    example: str


class Result(NamedTuple):
    """A completed row as a panel shows it."""

    number: int
    """The number of the row in the plan."""
    path: Path
    """Its first file."""
    values: Mapping[str, Any]
    """Its values of what varies."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How a sweep stands at one moment."""

    state: str
    """`preparing`, `running`, `paused`, `stopping` while the last runs end, then `done`."""
    reason: str | None
    """Why it sends nothing more; None where it goes on, or has reached its end."""
    counts: Mapping[str, int]
    """How many rows of the plan have each status; all statuses are there."""
    from_library: int
    """How many of the completed rows cost nothing now."""
    spent: int
    """Credits that the runs of this plan have cost."""
    reserved: int
    """Credits that they may cost yet, or may have cost."""
    spent_now: int
    """Of the credits spent, those that this sweep has paid."""
    reserved_now: int
    """Of the credits reserved, those that this sweep may pay, or may have paid."""
    budget: int | None
    """The ceiling on what the runs cost, whoever pays and whenever."""
    spend: int | None
    """The ceiling on what this sweep pays."""
    per_minute: float | None
    """How many runs have ended in a minute lately."""
    seconds_left: float | None
    elapsed: float
    """Seconds since the start."""
    differs: tuple[int, int] | None
    """What the service says of a run's price or charge, and the larger known price that the limits count in its place."""
    failures: tuple[Group, ...]
    """What went wrong, the most frequent reason first."""
    results: tuple[Result, ...]
    """While it runs the latest results, the newest first, and then those of the library; after that the first of all, in
    the order of the plan."""
    queued: int = 0
    """How many runs wait in the service's queue: cancelled, they cost nothing."""
    queued_credits: int = 0
    """What is set aside for them."""
    waits: str = ""
    """What it waits for before it asks the service again; empty for nothing."""

    @property
    def total(self) -> int:
        """How many rows the plan has."""
        return sum(self.counts.values())

    @property
    def finished(self) -> int:
        """How many rows nothing more happens to."""
        return sum(
            self.counts[status]
            for status in (
                SweepStatus.COMPLETED,
                SweepStatus.FAILED,
                SweepStatus.CANCELLED,
                SweepStatus.UNFINISHED,
                SweepStatus.UNCERTAIN,
                SweepStatus.IMPOSSIBLE,
            )
        )

    @property
    def under_way(self) -> int:
        """How many runs the service has."""
        return self.counts[SweepStatus.WAITING] + self.counts[SweepStatus.RUNNING]


class Tally:
    """The runs of a sweep, counted as they change. Changed on the background loop, read from anywhere."""

    def __init__(self) -> None:
        self.by_row: dict[int, Standing] = {}
        self._runs: list[Standing] = []
        self._guard = threading.Lock()
        self._counts = Counter(dict.fromkeys(STATUSES, 0))
        self._spent = self._reserved = self._spent_now = self._reserved_now = self._from_library = 0
        self._differs: tuple[int, int] | None = None
        self._failed: dict[str, dict[Standing, None]] = {}
        self._latest: deque[Standing] = deque(maxlen=MAX_LATEST)
        self._ends: deque[float] = deque(maxlen=MAX_RECENT_ENDS)
        self._began = time.monotonic()
        self._ended: float | None = None
        self.forecast: float | None = None
        """Seconds that the whole may take, before anything has shown it."""

    def __iter__(self) -> Iterator[Standing]:
        return iter(self._runs)

    def add(self, one: Standing, numbers: list[int]) -> None:
        """One more run, and the rows that ask for it."""
        one.rows = len(numbers)
        with self._guard:
            self._runs.append(one)
            self.by_row |= dict.fromkeys(numbers, one)
            self._count(one, 1)

    def change(
        self, one: Standing, status: str, error: BaseException | None = None, *, spent: int | None = None, reserved: int = 0,
        is_paid_here: bool | None = None,
    ) -> None:  # fmt: skip
        """What has become of a run."""
        with self._guard:
            self._count(one, -1)
            one.status = status
            one.error_type, one.error = (None, None) if error is None else (get_error_type(error), format_error(error))
            one.spent, one.reserved = one.spent if spent is None else spent, reserved
            one.is_paid_here = one.is_paid_here if is_paid_here is None else is_paid_here
            self._count(one, 1)

    def restore(self, one: Standing, snapshot: Snapshot) -> None:
        """A run as it was before it was tried."""
        with self._guard:
            self._count(one, -1)
            one.status, one.error_type, one.error, one.reserved = snapshot
            one.is_paid_here = False
            self._count(one, 1)

    def record_end(self, one: Standing, media: tuple[LocalFile, ...], *, from_library: bool) -> None:
        """A run has come to its end here: it counts for the pace, and its first file is shown."""
        with self._guard:
            one.from_library = from_library
            self._from_library += one.rows * from_library
            if not from_library:
                self._ends.append(time.monotonic())
            if media:
                one.file = media[0].path
                self._latest.appendleft(one)

    def note_difference(self, stated: int | None, least: int) -> None:
        """Note that the service says less than a run is known to cost."""
        if stated is not None and stated < least:
            self._differs = stated, least

    @property
    def differs(self) -> tuple[int, int] | None:
        """What the service says of a run's price, and the known price that is counted; None where they agree."""
        return self._differs

    def count_stored(self) -> None:
        """Count those that are completed at the beginning as from the library."""
        with self._guard:
            for one in self._runs:
                one.from_library = one.status == SweepStatus.COMPLETED
                self._from_library += one.rows * one.from_library

    def finish(self) -> None:
        """Stop the clock."""
        self._ended = time.monotonic()

    def progress(
        self, state: str, reason: str | None, budget: int | None, spend: int | None, *, planned: int = 0
    ) -> Progress:
        """How it stands now; `planned` is how many rows there are, for as long as none is counted here."""
        with self._guard:
            counts = dict(self._counts)
            if not self._runs:
                counts[SweepStatus.NOT_STARTED] = planned
            pace = self._ends_per_second()
            left = counts[SweepStatus.NOT_STARTED] + counts[SweepStatus.WAITING] + counts[SweepStatus.RUNNING]
            groups = [
                Group(name, sum(one.rows for one in runs), min(one.row.number for one in runs), next(iter(runs)).error or "")
                for name, runs in self._failed.items() if runs
            ]  # fmt: skip
            return Progress(
                state=state, reason=reason, counts=counts, from_library=self._from_library, spent=self._spent,
                reserved=self._reserved, spent_now=self._spent_now, reserved_now=self._reserved_now, budget=budget,
                spend=spend, differs=self._differs, per_minute=None if pace is None else pace * 60,
                seconds_left=self._seconds_left(left, pace) if state == "running" else None,
                elapsed=(self._ended or time.monotonic()) - self._began,
                failures=tuple(sorted(groups, key=lambda group: (-group.count, group.first))),
                results=tuple(self._results(state)),
            )  # fmt: skip

    def _results(self, state: str) -> Iterator[Result]:
        is_moving = state in ("preparing", "running", "stopping")
        made = (one for one in self._runs if one.status == SweepStatus.COMPLETED and one.file is not None)
        if is_moving:
            listed = list(dict.fromkeys([*self._latest, *islice(made, MAX_LATEST)]))[:MAX_LATEST]
        else:
            listed = heapq.nsmallest(MAX_RESULTS, made, key=lambda one: one.row.number)
        return (Result(one.row.number, one.file, one.row.values) for one in listed if one.file is not None)

    def _seconds_left(self, runs: int, pace: float | None) -> float | None:
        """Seconds until the rest has ended: at first as it was foretold, and the more have ended, the more by their pace.

        What was foretold and is over was too little, so that the pace alone counts then.
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
        """Ends in a second, from the first of the last ones until now; a single end tells nothing."""
        if len(self._ends) < 2:
            return None
        since = (self._ended or time.monotonic()) - self._ends[0]
        return (len(self._ends) - 1) / since if since > 0 else None

    def _count(self, one: Standing, sign: int) -> None:
        self._counts[one.status] += sign * one.rows
        self._spent += sign * one.spent
        self._reserved += sign * one.reserved
        self._spent_now += sign * one.paid_now[0]
        self._reserved_now += sign * one.paid_now[1]
        if (
            one.status in (SweepStatus.FAILED, SweepStatus.CANCELLED, SweepStatus.UNFINISHED, SweepStatus.UNCERTAIN)
            and one.error_type is not None
        ):
            group = self._failed.setdefault(one.error_type, {})
            if sign > 0:
                group[one] = None
            else:
                group.pop(one, None)


def get_error_type(error: BaseException) -> str:
    """A short name for what went wrong, for the column of a table."""
    if isinstance(error, ServiceError) and error.error_type:
        return error.error_type
    return error_kind_of(error) if isinstance(error, ReelbookError) else type(error).__name__


def format_error(error: BaseException) -> str:
    """Format an error as one text, its reason first; the run and its model are stated beside it."""
    if isinstance(error, RunFailed):
        return cut_data_uris(error.message)
    return cut_data_uris(str(error) if isinstance(error, ReelbookError) else f"{type(error).__name__}: {error}")


def cut_data_uris(text: str) -> str:
    """The text with its pictures, which may be written out in letters, cut.

    >>> cut_data_uris(f"The picture data:image/png;base64,{'iVBOR' * 9} is damaged.")
    'The picture data:image/png;base64,… is damaged.'
    """
    return _DATA_URI.sub(r"\1…", text)


def get_end_status(failure: ReelbookError | None) -> str:
    """The status of a run that has ended."""
    if failure is None:
        return SweepStatus.COMPLETED
    # What went wrong on the way here was no failure of the run, which is paid for.
    return {RunCancelled: SweepStatus.CANCELLED, RunFailed: SweepStatus.FAILED}.get(
        type(failure), SweepStatus.UNFINISHED
    )
