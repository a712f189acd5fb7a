"""Adopt another library: copy its files, and add the runs and judgements that are not in this one."""

from __future__ import annotations

import contextlib
import hashlib
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from sqlite3 import Connection

from ..errors import LibraryError, ReelbookError
from ..util.printable import format_count
from .judgements import Judgement, is_sound, merge_judgements, read_judgements
from .ledger import connection, transitions
from .ledger.claims import make_acceptance
from .ledger.transitions import MAX_CREDITS, Entry, State
from .ledger.writer import CALL_SECONDS, Ledger
from .shelf import HASHES, Bytes, Shelf

MEDIA = "media"
"""The folder of a library's files, unless its shelf is elsewhere."""

_BATCH_ROWS = 256
_NAMES = tuple(name for name in transitions.STORED_COLUMNS if name != "id")
_UNPAID = (State.PLANNED, State.REJECTED, State.FAILED, State.CANCELLED)
PROGRESS = {
    State.ACCEPTED: 1, transitions.EXPIRED: 2, State.FAILED: 3, State.CANCELLED: 3, transitions.COMPLETED: 4, State.STORED: 5,
}  # fmt: skip
"""How far a run with a request is, by its stage."""
_SOUND = " AND ".join([
    f"state IN ({', '.join(repr(str(state)) for state in State)})",
    *(f"typeof({name}) = 'text'" for name in ("service", "identity", "model", "input")),
    *(f"typeof({name}) IN ('text', 'null')" for name in ("request_id", "attempt_key", "error", "error_type")),
    *(f"typeof({name}) IN ('integer', 'real', 'null')" for name in ("created", "sent", "finished")),
    *(f"typeof({name}) IN ('integer', 'null') AND coalesce({name}, 0) BETWEEN 0 AND {MAX_CREDITS}"
      for name in ("take", "attempt", "spent", "unpriced", "price", "charged", "floor")),
    *(f"({name} IS NULL OR CASE WHEN json_valid({name}) THEN json_type({name}) END = '{kind}')"
      for name, kind in (("input", "object"), ("output", "object"), ("media", "array"))),
])  # fmt: skip
"""Whether the values of a row of somebody else's ledger are such that a run can be continued from them."""


@dataclass(frozen=True, slots=True)
class Adopted:
    """The result of `adopt`."""

    source: Path
    runs: int
    """Runs inserted or updated in this library."""
    files: int
    """Files copied, each checked against its hash."""
    size: Bytes
    known: int
    """Runs that were in this library already."""
    busy: int
    """Runs left out because a process follows them, in either library."""
    lost: int
    """Files missing or damaged in the other library; they are downloaded again when next used."""
    skipped: int
    """Rows that were never sent or are invalid."""
    judgements: int = 0
    """Judgements of clips that were not in this library yet."""

    def __repr__(self) -> str:
        text = f"{format_count(self.runs, 'run')} and {format_count(self.files, 'file')} ({self.size}) came from {self.source}"
        more = [f"{format_count(self.judgements, 'judgement')} of clips came with them"] if self.judgements else []
        more += [f"{self.known:,} runs were here already"] if self.known else []
        if self.busy:
            more.append(
                f"{format_count(self.busy, 'run')} left out, because a notebook follows them: adopt again later"
            )
        if self.lost:
            more.append(f"{format_count(self.lost, 'file')} missing or damaged there, fetched again when next wanted")
        if self.skipped:
            more.append(f"{format_count(self.skipped, 'row')} without a run")
        return f"<{'; '.join([text, *more])}>"


def find_library(folder: Path) -> Path:
    """Find the folder of a library, given that folder or its parent."""
    for place in (folder, folder / ".reelbook"):
        if (place / connection.NAME).is_file():
            return place
    raise ReelbookError(
        f"There is no library in {folder}: no {connection.NAME} is there. Name the folder that holds it, such as project/.reelbook."
    )


def adopt_library(folder: Path, theirs: Shelf, ledger: Ledger, shelf: Shelf) -> Adopted:
    """Merge the library in this folder into `ledger` and `shelf`. It is only read; repeats have no effect."""
    entries, skipped, judgements = _read_library(folder)
    free = [entry for entry in entries if entry.owner is None]
    counts: Counter[str] = Counter(skipped=skipped, busy=len(entries) - len(free))
    copier = _FileCopier(theirs, shelf)
    # Requests that this library has had, also those of attempts before the latest one.
    requests = ledger.transact_now(read_requests)
    for start in range(0, len(free), _BATCH_ROWS):
        batch = [copier.copy_files(entry) for entry in free[start : start + _BATCH_ROWS]]
        futures = [ledger.submit(partial(merge_run, other=entry, requests=requests)) for entry in batch]
        merged = [future.result(CALL_SECONDS) for future in futures]
        counts.update(outcome for outcome, _ in merged)
        paid = [entry for _, entry in merged if entry is not None and entry.request_id is not None]
        lines = [make_acceptance(entry, entry.request_id or "") for entry in paid]
        for written in [ledger.submit(lambda db: None, line=line) for line in lines]:
            written.result(CALL_SECONDS)
    judged = ledger.transact_now(lambda db: merge_judgements(db, judgements)) if judgements else 0
    return Adopted(
        folder, counts["added"], copier.files, Bytes(copier.size), counts["known"], counts["busy"], copier.lost,
        counts["skipped"], judged,
    )  # fmt: skip


def merge_run(db: Connection, other: Entry, requests: Collection[str]) -> tuple[str, Entry | None]:
    """Merge a row of another library; returns "added", "known", "busy" or "skipped", and the row that was written.

    A row here is replaced if the other one is further with the same request, or if this one was not paid for.
    """
    rows = db.execute(
        f"SELECT {transitions.COLUMNS} FROM entries WHERE service = ? AND (identity = ? OR request_id = ?)",
        (other.service, other.identity, other.request_id),
    )
    here = [Entry(*row) for row in rows]
    takes = {entry.take for entry in here if entry.identity == other.identity}
    free_take = other.take if other.take not in takes else max(takes) + 1
    same = next((entry for entry in here if other.request_id and entry.request_id == other.request_id), None)
    if same is not None:
        ours = same
        if _is_attached(same) and not _is_attached(other):
            ours = replace(same, identity=other.identity, take=free_take, model=other.model, input=other.input)
        if PROGRESS.get(other.stage, 0) > PROGRESS.get(same.stage, 0):
            ours = _take_over(ours, other, ours.spent, ours.unpriced)
        return ("known", None) if ours == same else _write(db, same, ours)
    # A row of a copy of this ledger, or one that was adopted before.
    twin = next((entry for entry in here if entry.created == other.created), None)
    is_earlier = twin is not None and other.attempt <= twin.attempt
    if other.request_id is not None:
        is_earlier = other.request_id in requests
    # One that was never sent has neither a key nor a cost.
    was_sent = other.state not in _UNPAID[:2] or other.attempt_key is not None or other.spent or other.unpriced
    if not was_sent or (other.output is None and is_earlier):
        return ("known" if here else "skipped"), None
    if twin is not None and twin.state == State.UNCERTAIN and (twin.attempt, twin.sent) == (other.attempt, other.sent):
        # The other library has the answer that was lost here.
        return _write(db, twin, _take_over(twin, other, other.spent, other.unpriced))
    place = twin or next((entry for entry in here if entry.take == other.take), None)
    is_unpaid = place is not None and place.state in _UNPAID and place.attempt_key is None
    if place is not None and is_unpaid and other.state in (State.ACCEPTED, State.STORED):
        # Copies of one ledger have the same earlier attempts; otherwise both were paid.
        combine = max if place is twin else int.__add__
        spent, unpriced = combine(place.counted, other.spent), combine(place.unknown, other.unpriced)
        return _write(db, place, _take_over(place, other, spent, unpriced))
    return _write(db, None, replace(other, take=free_take, owner=None))


def _take_over(ours: Entry, other: Entry, spent: int, unpriced: int) -> Entry:
    """Our row with what the other library knows of the run."""
    kept = {name: getattr(ours, name) for name in ("id", "identity", "take", "model", "input", "created")}
    charged = ours.charged if other.charged is None and ours.request_id == other.request_id else other.charged
    attempt = max(ours.attempt, other.attempt)
    return replace(other, **kept, charged=charged, attempt=attempt, spent=spent, unpriced=unpriced)


def _write(db: Connection, before: Entry | None, entry: Entry) -> tuple[str, Entry | None]:
    values = {name: getattr(entry, name) for name in _NAMES}
    if before is None:
        return "added", transitions.get_entry(db, transitions.insert_run(db, **values))
    if before.owner is not None:
        return "busy", None
    transitions.update_run(db, before.id, **values)
    transitions.record_event(db, before.id, entry.stage, entry.request_id)
    return "added", transitions.get_entry(db, before.id)


def read_requests(db: Connection) -> set[str]:
    """All requests that a library has had."""
    return {str(note) for (note,) in db.execute("SELECT note FROM events WHERE note IS NOT NULL")}


def _is_attached(entry: Entry) -> bool:
    return entry.identity.startswith(transitions.ATTACHED)


class _FileCopier:
    """Copies files from one shelf to another, and counts them."""

    def __init__(self, theirs: Shelf, ours: Shelf) -> None:
        self.files = self.size = self.lost = 0
        self._theirs, self._ours = theirs, ours
        self._seen: dict[str, bool] = {}

    def copy_files(self, entry: Entry) -> Entry:
        """Copy the files of a run and of its input; returns its row, as completed if a file is missing.

        Files are copied before rows: a row may be stored only if its files exist.
        """
        for sha256 in dict.fromkeys(HASHES.findall(entry.input)):
            self._copy(sha256, is_source=True)
        # A list, so that all are copied, even after a missing one.
        copied = [self._copy(str(file.get("sha256"))) for file in entry.files]
        if entry.state == State.STORED and not all(copied):
            return replace(entry, state=State.ACCEPTED, stage=transitions.COMPLETED)
        return entry

    def _copy(self, sha256: str, *, is_source: bool = False) -> bool:
        """Copy a file that is not here yet; false if it is missing or damaged there."""
        if sha256 not in self._seen:
            self._seen[sha256] = self._ours.find(sha256) is not None
            path = None if self._seen[sha256] else self._theirs.find(sha256)
            content = None if path is None else path.read_bytes()
            if path is not None and content is not None and hashlib.sha256(content).hexdigest() == sha256:
                self._ours.keep(content, path.suffix)
                self._seen[sha256] = True
                self.files, self.size = self.files + 1, self.size + len(content)
            # Sixty-four hexadecimal digits in an input need not be the hash of a file.
            self.lost += not self._seen[sha256] and not is_source
        return self._seen[sha256]


def _read_library(folder: Path) -> tuple[list[Entry], int, list[Judgement]]:
    """The valid rows of a ledger that is only read, the number of invalid ones, and judgements."""
    try:
        with contextlib.closing(connection.copy_to_memory(folder)) as db:
            rows = db.execute(f"SELECT {transitions.COLUMNS} FROM entries WHERE {_SOUND} ORDER BY id").fetchall()
            (count,) = db.execute("SELECT count(*) FROM runs").fetchone()
            judgements = [judgement for judgement in read_judgements(db) if is_sound(judgement)]
    except LibraryError as error:
        raise ReelbookError(
            f"The library in {folder} cannot be read ({error.reason}), so nothing was taken from it. Open it once "
            f'with rb.connect(library="{folder}"), which puts right what a crash has left, then adopt it again.'
        ) from error
    return [Entry(*row) for row in rows], count - len(rows), judgements
