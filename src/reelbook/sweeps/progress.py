"""The state of a sweep: how every run stands, and a summary of them for progress displays."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InvalidInput, ReelbookError, RunFailed, ServiceError
from ..runs.follow import error_kind_of
from ..storage.ledger.transitions import Entry
from ..storage.run_status import ENDED, SWEEP_STATUSES, WITHOUT_RESULT, RunStatus, get_sweep_status
from ..storage.tidy import get_paths
from ..util.printable import format_count
from .ledger_lookup import RunName, find_rows
from .plan_rows import Row

if TYPE_CHECKING:
    from ..runs.run import Run
    from ..runs.submit import ClientContext


_DATA_URI = re.compile(r"(data:[^\s,]{0,80},)[A-Za-z0-9+/=%_-]{24,}")

UNDER_WAY = frozenset({RunStatus.WAITING, RunStatus.RUNNING})
MAX_LATEST, MAX_RESULTS, MAX_RECENT_ENDS = 8, 24, 40


@dataclass(eq=False, slots=True)
class Standing:
    """How one run of a sweep stands; rows with the same input and take share it. Changed on the background loop only."""

    row: Row
    name: RunName | None
    """The name in the ledger; None if the run is impossible or its pictures cannot be read."""
    numbers: list[int] = field(default_factory=list)
    """The rows of the plan that share this run."""
    status: str = RunStatus.NOT_STARTED
    error_type: str | None = None
    error: str | None = None
    paid: bool = False
    """Whether the run was paid for earlier and its result is still missing."""
    from_library: bool = False
    """Whether its result costs this sweep nothing."""
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
    ended: float | None = None
    """When the service has run it for this sweep, by the monotonic clock."""
    run: Run | None = field(default=None, repr=False)

    def update_from(self, stored: Entry, files: Mapping[str, str]) -> None:
        """Set the state from the ledger; `files` are the files of the shelf."""
        self.id, self.status = stored.id, get_sweep_status(stored.stage)
        if self.status == RunStatus.COMPLETED:
            hashes = stored.hashes
            if all(sha256 in files for sha256 in hashes):
                self.file = Path(files[hashes[0]]) if hashes else None
            else:
                self.status = RunStatus.WAITING  # Its files are downloaded again at no cost.
        if stored.error:
            self.error_type, self.error = stored.error_type or stored.stage, cut_data_uris(stored.error)
        self.paid = self.status in UNDER_WAY or self.status == RunStatus.UNFINISHED
        self.from_library = self.status == RunStatus.COMPLETED
        self.spent, self.reserved, self.earlier = stored.certain, stored.counted - stored.certain, stored.counted

    def change(self, status: str, error: BaseException | None = None) -> None:
        """Update the status and the error."""
        self.error_type, self.error = (None, None) if error is None else (get_error_type(error), format_error(error))
        self.status = status

    @property
    def is_due(self) -> bool:
        """Whether the run is to be sent or followed; an uncertain run must be resolved by the user."""
        return self.name is not None and self.status not in (RunStatus.UNCERTAIN, RunStatus.COMPLETED)

    @property
    def paid_now(self) -> tuple[int, int]:
        """Credits that this sweep has paid for the run, and that it may have paid or may still pay."""
        if not self.is_paid_here:
            return 0, 0
        spent = max(self.spent - self.earlier, 0)
        return spent, max(self.spent + self.reserved - self.earlier, 0) - spent


def load_standings(
    rows: Iterable[Row], names: Mapping[int, RunName | InvalidInput], context: ClientContext, service: str, *, unknown: int = 0
) -> list[Standing]:  # fmt: skip
    """The distinct runs of the rows with their state in the library; `names` are by the rows' numbers.

    `unknown` is what an attempt of unknown price counts.
    """
    keys = [name.key for name in names.values() if isinstance(name, RunName)]
    stored, files = find_rows(context.ledger, service, keys, unknown=unknown), get_paths(context.shelf)
    runs: dict[object, Standing] = {}
    for row in rows:
        name = names.get(row.number)
        key = name.key if isinstance(name, RunName) else row.number
        if key not in runs:
            runs[key] = make_standing(row, name)
            if isinstance(name, RunName) and name.key in stored:
                runs[key].update_from(stored[name.key], files)
        runs[key].numbers.append(row.number)
    return list(runs.values())


def make_standing(row: Row, name: RunName | InvalidInput | None = None) -> Standing:
    """How a row stands before the library was asked."""
    if row.input is None:
        return Standing(row, None, status=RunStatus.IMPOSSIBLE, error_type="impossible", error=row.problem)
    if isinstance(name, InvalidInput):
        return Standing(row, None, status=RunStatus.FAILED, error_type=get_error_type(name), error=format_error(name))
    return Standing(row, name)


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


def make_progress(standings: Sequence[Standing], *, now: float, began: float, planned: int, **facts: Any) -> Progress:
    """Sum up how the runs stand; `planned` is the number of rows, used before their states are known.

    `now` and `began` are by the monotonic clock; `facts` are further fields.
    """
    state = facts["state"]
    counts = Counter(dict.fromkeys(SWEEP_STATUSES, 0))
    counts[RunStatus.NOT_STARTED] = 0 if standings else planned
    failed: dict[str, list[Standing]] = {}
    for run in standings:
        counts[run.status] += len(run.numbers)
        if run.status in WITHOUT_RESULT and run.error_type is not None:
            failed.setdefault(run.error_type, []).append(run)
    groups = [
        Group(kind, sum(len(run.numbers) for run in runs), min(run.row.number for run in runs), runs[0].error or "")
        for kind, runs in failed.items()
    ]
    completed = [run for run in standings if run.status == RunStatus.COMPLETED and run.file is not None]
    if state in ("preparing", "running", "stopping"):
        listed = heapq.nsmallest(MAX_LATEST, completed, key=lambda run: -(run.ended or 0.0))
    else:
        listed = heapq.nsmallest(MAX_RESULTS, completed, key=lambda run: run.row.number)
    queued = [run for run in standings if run.status == RunStatus.WAITING and run.run is not None]
    ends = sorted(run.ended for run in standings if run.ended is not None)[-MAX_RECENT_ENDS:]
    pace = (len(ends) - 1) / (now - ends[0]) if len(ends) > 1 and now > ends[0] else None
    left = sum(counts[status] for status in (RunStatus.NOT_STARTED, *UNDER_WAY))
    return Progress(
        counts=counts, from_library=sum(len(run.numbers) for run in standings if run.from_library), elapsed=now - began,
        spent=sum(run.spent for run in standings), reserved=sum(run.reserved for run in standings),
        spent_now=sum(run.paid_now[0] for run in standings), reserved_now=sum(run.paid_now[1] for run in standings),
        per_minute=pace and pace * 60, seconds_left=left / pace if pace and state == "running" else None,
        failures=tuple(sorted(groups, key=lambda group: (-group.count, group.first))),
        results=tuple(Result(run.row.number, run.file, run.row.values) for run in listed if run.file is not None),
        queued=len(queued), queued_credits=sum(run.reserved for run in queued), **facts,
    )  # fmt: skip


def format_interrupt(progress: Progress) -> str:
    """The message for a user who interrupted a sweep: what has ended, what goes on, and how to continue."""
    completed, at_work = progress.counts[RunStatus.COMPLETED], progress.counts[RunStatus.RUNNING]
    waiting = max(progress.counts[RunStatus.WAITING] - progress.queued, 0)
    parts = [
        (at_work, "is being worked on", "are being worked on"),
        (progress.queued, "waits in the service's queue", "wait in the service's queue"),
        (waiting, "is being sent", "are being sent"),
    ]
    under_way = [f"{format_count(count, 'run')} {is_ if count == 1 else are}" for count, is_, are in parts if count]
    unsent = format_count(progress.counts[RunStatus.NOT_STARTED], "run")
    of = f"{completed:,} of {format_count(progress.total, 'run')} {'is' if completed == 1 else 'are'} completed"
    sentences = [f"You interrupted a sweep: {of}, and {unsent} will not be sent."]
    if under_way:
        cost = f", which may still cost {progress.reserved:,} credits" if progress.reserved else ""
        sentences.append(f"In the background, {' and '.join(under_way)}{cost}.")
    if progress.queued:
        back = f" and get {progress.queued_credits:,} credits back" if progress.queued_credits else ""
        sentences.append(f"To cancel what is queued{back}: rb.cancel_queued().")
    return " ".join([*sentences, "Run the same plan again to continue: nothing is paid for twice."])


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
