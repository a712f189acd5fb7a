"""Adopt another library: copy its files, and add the runs and judgements that are not in this one."""

from __future__ import annotations

import contextlib
import hashlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from sqlite3 import Connection

from ..errors import LibraryError, ReelbookError
from ..util.printable import format_count
from .judgements import Judgement, is_sound, merge_judgements, read_judgements
from .ledger import transitions, writer
from .ledger.claims import make_acceptance
from .ledger.transitions import MAX_CREDITS, Entry, State
from .ledger.writer import CALL_SECONDS, Ledger
from .shelf import HASHES, Bytes, Shelf

MEDIA = "media"
"""The folder of a library's files, unless its shelf is elsewhere."""

_STORED = tuple(name for name in transitions.STORED_COLUMNS if name != "id")
_KEPT = ("id", "owner", "service", "identity", "take", "model", "input", "created", "spent", "unpriced")
"""The columns that a run here keeps when the other library has more of the same request."""
_UNPAID = (State.PLANNED, State.REJECTED, State.FAILED, State.CANCELLED)
PROGRESS = {
    State.ACCEPTED: 1, transitions.EXPIRED: 2, State.FAILED: 3, State.CANCELLED: 3, transitions.COMPLETED: 4, State.STORED: 5,
}  # fmt: skip
"""How far a run with a request is, by its stage."""
_SOUND = " AND ".join([
    f"state IN ({', '.join(repr(str(state)) for state in State)})",
    *(f"typeof({name}) IN ('integer', 'null') AND coalesce({name}, 0) BETWEEN 0 AND {MAX_CREDITS}"
      for name in ("take", "attempt", "spent", "unpriced", "price", "charged")),
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
        more = {
            f"{format_count(self.judgements, 'judgement')} of clips came with them": self.judgements,
            f"{format_count(self.known, 'run')} here already": self.known,
            f"{format_count(self.busy, 'run')} left out, because a notebook follows them: adopt again later": self.busy,
            f"{format_count(self.lost, 'file')} missing or damaged there, fetched again when next wanted": self.lost,
            f"{format_count(self.skipped, 'row')} without a run": self.skipped,
        }
        return f"<{'; '.join([text, *(words for words, count in more.items() if count)])}>"


def find_library(folder: Path) -> Path:
    """Find the folder of a library, given that folder or its parent."""
    for path in (folder, folder / ".reelbook"):
        if (path / writer.NAME).is_file():
            return path
    raise ReelbookError(
        f"There is no library in {folder}: no {writer.NAME} is there. Name the folder that holds it, such as project/.reelbook."
    )


def adopt_library(folder: Path, theirs: Shelf, ledger: Ledger, shelf: Shelf) -> Adopted:
    """Merge the library in this folder into `ledger` and `shelf`. It is only read; repeats have no effect."""
    entries, skipped, judgements = _read_library(folder)
    free = [entry for entry in entries if entry.owner is None]
    # Files are copied before rows: a row may be stored only if its files exist.
    sizes, missing = _copy_files(free, theirs, shelf)
    free = [
        replace(entry, state=State.ACCEPTED, stage=transitions.COMPLETED)
        if entry.state == State.STORED and not missing.isdisjoint(entry.hashes)
        else entry
        for entry in free
    ]
    requests = ledger.transact_now(read_requests)
    outcomes = [ledger.submit(partial(merge_run, other=entry, requests=requests)) for entry in free]
    counts = Counter(outcome.result(CALL_SECONDS) for outcome in outcomes)
    new = [(entry, entry.request_id) for entry in free if entry.request_id and entry.request_id not in requests]
    for written in [ledger.submit(lambda db: None, line=make_acceptance(entry, request)) for entry, request in new]:
        written.result(CALL_SECONDS)
    judged = ledger.transact_now(lambda db: merge_judgements(db, judgements)) if judgements else 0
    busy = len(entries) - len(free) + counts["busy"]
    return Adopted(
        folder, counts["added"], len(sizes), Bytes(sum(sizes.values())), counts["known"], busy, len(missing),
        skipped + counts["skipped"], judged,
    )  # fmt: skip


def merge_run(db: Connection, other: Entry, requests: Collection[str]) -> str:
    """Merge a row of another library: "added", "known", "busy" or "skipped". `requests` are all that this library has had."""
    where = "service = ? AND (identity = ? OR request_id = ?)"
    here = transitions.find_entries(db, where, other.service, other.identity, other.request_id)
    same = next((entry for entry in here if other.request_id and entry.request_id == other.request_id), None)
    # The row in a copy of this ledger, or one that was adopted before.
    twin = next((entry for entry in here if entry.identity == other.identity and entry.created == other.created), None)
    if (
        same is None
        and twin is not None
        and other.request_id
        and twin.state == State.UNCERTAIN
        and twin.sent == other.sent
    ):
        same = twin  # The other library has the answer that was lost here.
    if same is not None:
        return _update(db, same, other)
    # One that was never sent has neither a key nor a cost.
    was_sent = other.state not in _UNPAID[:2] or other.attempt_key or other.spent or other.unpriced
    is_known = twin is not None if other.request_id is None else other.output is None and other.request_id in requests
    if is_known or not was_sent:
        return "known" if here else "skipped"
    values = {name: getattr(other, name) for name in _STORED}
    next_take = transitions.get_next_take(db, other.service, other.identity)
    before = next((entry for entry in here if (entry.identity, entry.take) == (other.identity, other.take)), None)
    is_unpaid = before is not None and before.state in _UNPAID and before.owner is None and before.attempt_key is None
    if before is not None and is_unpaid and other.state in (State.ACCEPTED, State.STORED):
        # It would be sent once more, though its result is known. As another take it stays counted.
        db.execute(
            "INSERT OR IGNORE INTO scopes SELECT scope, service, identity, ? FROM scopes WHERE service = ? AND identity = ? AND take = ?",
            (next_take, other.service, other.identity, other.take),
        )
        transitions.update_run(db, before.id, take=next_take)
    elif before is not None:
        values["take"] = next_take
    transitions.insert_run(db, **values)
    return "added"


def _update(db: Connection, ours: Entry, other: Entry) -> str:
    """Take over what the other library has more of a request: its input, or how far it is."""
    changes = {}
    if _is_attached(ours) and not _is_attached(other):
        takes = transitions.get_next_take(db, other.service, other.identity)
        changes = {"identity": other.identity, "take": takes, "model": other.model, "input": other.input}
    if PROGRESS.get(other.stage, 0) > PROGRESS.get(ours.stage, 0):
        changes |= {name: getattr(other, name) for name in _STORED if name not in _KEPT}
        if other.charged is None:
            del changes["charged"]
    if not changes or ours.owner is not None:
        return "busy" if changes else "known"
    transitions.update_run(db, ours.id, **changes)
    transitions.record_event(db, ours.id, transitions.get_entry(db, ours.id).stage, other.request_id)
    return "added"


def read_requests(db: Connection) -> set[str]:
    """All requests that a library has had."""
    return {str(note) for (note,) in db.execute("SELECT note FROM events WHERE note IS NOT NULL")}


def _is_attached(entry: Entry) -> bool:
    return entry.identity.startswith(transitions.ATTACHED)


def _copy_files(entries: Sequence[Entry], theirs: Shelf, ours: Shelf) -> tuple[dict[str, int], set[str]]:
    """Copy the files of runs and of their inputs that are not here yet.

    Returns the sizes of those copied by hash, and the hashes of those missing or damaged there.
    """
    results = dict.fromkeys(sha256 for entry in entries for sha256 in entry.hashes)
    # Sixty-four hexadecimal digits in an input need not be the hash of a file.
    sources = dict.fromkeys(sha256 for entry in entries for sha256 in HASHES.findall(entry.input))
    sizes: dict[str, int] = {}
    missing: set[str] = set()
    for sha256 in {**results, **sources}:
        if ours.find(sha256) is None:
            path = theirs.find(sha256)
            content = b"" if path is None else path.read_bytes()
            if path is not None and hashlib.sha256(content).hexdigest() == sha256:
                ours.keep(content, path.suffix)
                sizes[sha256] = len(content)
            elif sha256 in results:
                missing.add(sha256)
    return sizes, missing


def _read_library(folder: Path) -> tuple[list[Entry], int, list[Judgement]]:
    """The valid rows of a ledger that is only read, the number of invalid ones, and judgements."""
    try:
        with contextlib.closing(writer.copy_to_memory(folder)) as db:
            entries = transitions.find_entries(db, f"{_SOUND} ORDER BY id")
            (count,) = db.execute("SELECT count(*) FROM runs").fetchone()
            judgements = [judgement for judgement in read_judgements(db) if is_sound(judgement)]
    except LibraryError as error:
        raise ReelbookError(
            f"The library in {folder} cannot be read ({error.reason}), so nothing was taken from it. Open it once "
            f'with rb.connect(library="{folder}"), which puts right what a crash has left, then adopt it again.'
        ) from error
    return entries, count - len(entries), judgements
