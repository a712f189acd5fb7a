"""How the runs of a plan stand: their names in the ledger and what it knows of them; and a sweep summed up for displays."""

from __future__ import annotations

import asyncio
import hashlib
import heapq
import json
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..errors import InvalidInput, ReelbookError, RunFailed, ServiceError, UncertainRun
from ..models.images import Image, pictures_of
from ..runs.run import error_kind_of
from ..storage.ledger.transitions import Entry, State
from ..storage.ledger.writer import Ledger
from ..storage.run_identity import format_canonical, make_identity
from ..storage.run_status import ENDED, STATUSES, STATUSES_BY_STAGE, WITHOUT_RESULT, RunStatus
from ..transport.picture_sources import read_sources
from ..util.background_loop import background
from ..util.data_address import is_data_address
from ..util.printable import format_count

if TYPE_CHECKING:
    from ..runs.run import Run
    from ..runs.submit import ClientContext
    from .plan import Plan, Row

CALL_SECONDS = 120.0
MAX_RESULTS, MAX_RECENT_ENDS = 24, 40
UNDER_WAY = frozenset({RunStatus.WAITING, RunStatus.RUNNING})
Known = Mapping[Hashable, int]
"""What the library knows of a plan: the credits of the runs that it has with their results, by the rows' keys."""
RunKey = tuple[str, int]
"""Identity and take, which together identify a run of a service."""
K = TypeVar("K", bound=Hashable)


# What the ledger knows of a plan.


class RunName(NamedTuple):
    """The identification of a run in the ledger, and its input in canonical form."""

    identity: str
    take: int
    input: str

    @property
    def key(self) -> RunKey:
        """The key in the ledger of a service."""
        return self.identity, self.take


async def name_rows(
    rows: Iterable[Row], context: ClientContext, *, take: int = 0
) -> tuple[str, dict[Hashable, RunName | InvalidInput]]:
    """The service's name, and by key the ledger names of the possible rows, or the error of one's pictures."""
    names: dict[Hashable, RunName | InvalidInput] = {}
    hashes: dict[str, str] = {}
    for row in rows:
        if row.input is None or row.key in names:
            continue
        # By their content, and those at a URL by that. One that is shared by many rows is read once.
        pictures = pictures_of(row.input)
        local = {loc: each for loc, each in pictures if isinstance(each, Image) or is_data_address(each)}
        try:
            if not hashes.keys() >= set(local.values()):
                sources = await read_sources(row.input, library=context.shelf.find)
                hashes |= {picture: sources[loc].sha256 for loc, picture in local.items()}
            text = format_canonical(row.input, {loc: hashes[picture] for loc, picture in local.items()})
            names[row.key] = RunName(make_identity(row.input.endpoint_id, text), row.take + take, text)
        except InvalidInput as error:
            names[row.key] = error
        await asyncio.sleep(0)  # What else runs on the loop does not wait for thousands of rows.
    return await context.name(), names


def find_rows(ledger: Ledger, service: str, names: Mapping[K, RunName | InvalidInput | None]) -> dict[K, Entry]:
    """The entries of those runs that are in the ledger, by the keys of their names."""
    keys = {key: name.key for key, name in names.items() if isinstance(name, RunName)}
    identities = json.dumps([identity for identity, _ in keys.values()])
    found = ledger.find_entries("service = ? AND identity IN (SELECT value FROM json_each(?))", service, identities)
    stored = {(entry.identity, entry.take): entry for entry in found}
    return {key: stored[name] for key, name in keys.items() if name in stored}


def find_known(plan: Plan, context: ClientContext, *, take: int = 0) -> Known:
    """What the library knows of a plan, queried once for all its rows."""
    service, names = background.wait(name_rows(plan.distinct, context, take=take), CALL_SECONDS)
    entries, files = find_rows(context.ledger, service, names), context.shelf.paths()
    return {key: entry.credits or 0 for key, entry in entries.items() if has_result(entry, files)}


def make_budget_scope(service: str, keys: Iterable[RunKey]) -> str:
    """The name of the budget of these runs in the ledger: equal for the same runs in any notebook and order."""
    listed = json.dumps([service, sorted(set(keys))])
    return f"plan {hashlib.sha256(listed.encode()).hexdigest()[:32]}"


def has_result(entry: Entry, files: Mapping[str, str]) -> bool:
    """Whether the library has the result with all its files, so that no request is necessary."""
    return entry.state == State.STORED and all(sha256 in files for sha256 in entry.hashes)


def count_credits(entry: Entry, price: int | None) -> int:
    """What limits count for a run, with an attempt of unknown price at this one."""
    return entry.counted + entry.unknown * (price or 0)


# The state of a sweep.


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
    spent: int = 0
    reserved: int = 0
    """Credits that the run may still cost, or may have cost."""
    earlier: int = 0
    """Credits that the run had cost, or may have cost, before this sweep."""
    is_paid_here: bool = False
    """Whether this sweep pays for the run."""
    file: Path | None = None
    """The first file, once downloaded."""
    ended: float | None = None
    """When the service has run it for this sweep, by the monotonic clock."""
    run: Run | None = field(default=None, repr=False)

    def load(self, entry: Entry, files: Mapping[str, str], price: int | None = None) -> None:
        """Set the state from the ledger; `files` are those of the shelf, `price` is what an unknown price counts."""
        self.status = STATUSES_BY_STAGE[entry.stage]
        if has_result(entry, files):
            self.file = next((Path(files[sha256]) for sha256 in entry.hashes), None)
        elif self.status == RunStatus.COMPLETED:
            self.status = RunStatus.WAITING  # Its files are downloaded again at no cost.
        if entry.error:
            self.error_type, self.error = entry.error_type or entry.stage, entry.error
        self.count(entry, price)
        self.earlier = self.spent + self.reserved

    def count(self, entry: Entry, price: int | None) -> None:
        """Split what limits count for the run into what it has cost for certain, and what it may have cost."""
        self.spent, self.reserved = entry.certain, count_credits(entry, price) - entry.certain

    def change(self, status: str, error: BaseException | None = None) -> None:
        """Update the status and the error."""
        self.error_type, self.error = (None, None) if error is None else (get_error_type(error), format_error(error))
        self.status = status

    @property
    def is_paid(self) -> bool:
        """Whether the run is paid for, and its result is still missing."""
        return self.status in UNDER_WAY or self.status == RunStatus.UNFINISHED


def load_standings(
    rows: Iterable[Row], names: Mapping[Hashable, RunName | InvalidInput], context: ClientContext, service: str,
    *, price: int | None = None,
) -> list[Standing]:  # fmt: skip
    """The distinct runs of the rows with their state in the library; `names` are by the rows' keys."""
    stored, files = find_rows(context.ledger, service, names), context.shelf.paths()
    runs: dict[object, Standing] = {}
    for row in rows:
        name = names.get(row.key)
        key = name.key if isinstance(name, RunName) else row.number
        if key in runs:
            runs[key].numbers.append(row.number)
            continue
        runs[key] = make_standing(row, name)
        if row.key in stored:
            runs[key].load(stored[row.key], files, price)
    return list(runs.values())


def make_standing(row: Row, name: RunName | InvalidInput | None = None) -> Standing:
    """How a row stands before the library was asked."""
    standing = Standing(row, name if isinstance(name, RunName) else None, [row.number])
    if row.input is None:
        standing.status, standing.error_type, standing.error = RunStatus.IMPOSSIBLE, "impossible", row.problem
    elif isinstance(name, InvalidInput):
        standing.change(RunStatus.FAILED, name)
    return standing


@dataclass(frozen=True, slots=True)
class Group:
    """Runs that failed with the same type of error."""

    error_type: str
    count: int
    first: int
    """The number of the first such run in the plan."""
    example: str


class Result(NamedTuple):
    """A completed row, for progress displays: its number, its first file, and its values in the columns that vary."""

    number: int
    path: Path
    values: Mapping[str, Any]


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
    failures: tuple[Group, ...]
    """The failed runs by type of error, the most frequent first."""
    results: tuple[Result, ...]
    """The newest results during the sweep, afterwards the first ones in the order of the plan."""
    queued: int = 0
    """The number of runs in the service's queue, which cost nothing if cancelled."""
    queued_credits: int = 0
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
        return sum(self.counts[status] for status in UNDER_WAY)


def make_progress(standings: Sequence[Standing], *, now: float, began: float, **facts: Any) -> Progress:
    """Sum up how the runs stand. `now` and `began` are by the monotonic clock; `facts` are further fields."""
    counts = Counter(dict.fromkeys(STATUSES, 0))
    completed = [run for run in standings if run.status == RunStatus.COMPLETED]
    failed: dict[str, list[Standing]] = {}
    for run in standings:
        counts[run.status] += len(run.numbers)
        if run.status in WITHOUT_RESULT and run.error_type is not None:
            failed.setdefault(run.error_type, []).append(run)
    groups = [
        Group(kind, sum(len(run.numbers) for run in runs), min(run.row.number for run in runs), runs[0].error or "")
        for kind, runs in failed.items()
    ]
    listed = heapq.nsmallest(MAX_RESULTS, completed, key=lambda run: run.row.number)
    if facts["state"] in ("preparing", "running", "stopping"):
        listed = heapq.nlargest(MAX_RESULTS, completed, key=lambda run: run.ended or 0.0)
    queued = [run for run in standings if run.status == RunStatus.WAITING and run.run is not None]
    ends = sorted(run.ended for run in standings if run.ended is not None)[-MAX_RECENT_ENDS:]
    pace = (len(ends) - 1) / (now - ends[0]) if len(ends) > 1 and now > ends[0] else None
    left = sum(counts[status] for status in (RunStatus.NOT_STARTED, *UNDER_WAY))
    paid = [run for run in standings if run.is_paid_here]
    spent_now = sum(max(run.spent - run.earlier, 0) for run in paid)
    counted_now = sum(max(run.spent + run.reserved - run.earlier, 0) for run in paid)
    return Progress(
        counts=counts, from_library=sum(len(run.numbers) for run in completed if not run.is_paid_here), elapsed=now - began,
        spent=sum(run.spent for run in standings), reserved=sum(run.reserved for run in standings),
        spent_now=spent_now, reserved_now=counted_now - spent_now,
        per_minute=pace and pace * 60, seconds_left=left / pace if pace and facts["state"] == "running" else None,
        failures=tuple(sorted(groups, key=lambda group: (-group.count, group.first))),
        results=tuple(Result(run.row.number, run.file, run.row.given) for run in listed if run.file is not None),
        queued=len(queued), queued_credits=sum(run.reserved for run in queued), **facts,
    )  # fmt: skip


def format_interrupt(progress: Progress) -> str:
    """The message for a user who interrupted a sweep: what has ended, what goes on, and how to continue."""
    of = f"{progress.counts[RunStatus.COMPLETED]:,} of {format_count(progress.total, 'run')} completed"
    unsent = format_count(progress.counts[RunStatus.NOT_STARTED], "run")
    sentences = [f"You interrupted a sweep: {of}, and {unsent} will not be sent."]
    if progress.under_way:
        cost = f", and may still cost {progress.reserved:,} credits" if progress.reserved else ""
        sentences.append(f"{format_count(progress.under_way, 'run')} under way will go on in the background{cost}.")
    if progress.queued:
        back = f" and get {progress.queued_credits:,} credits back" if progress.queued_credits else ""
        sentences.append(f"To cancel the {progress.queued:,} in the service's queue{back}: rb.cancel_queued().")
    return " ".join([*sentences, "Run the same plan again to continue: nothing is paid for twice."])


def get_error_type(error: BaseException) -> str:
    """The short name of an error, for the `error_type` column."""
    if isinstance(error, UncertainRun):
        return "uncertain"
    if isinstance(error, ServiceError) and error.error_type:
        return error.error_type
    return error_kind_of(error) if isinstance(error, ReelbookError) else type(error).__name__


def format_error(error: BaseException) -> str:
    """Format an error for a table, where the run and its model are in other columns."""
    if isinstance(error, RunFailed):
        return error.message
    return str(error) if isinstance(error, ReelbookError) else f"{type(error).__name__}: {error}"
