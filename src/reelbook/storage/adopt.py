"""Adopt another library: copy its files, and add the runs and judgements that are not in this one."""

from __future__ import annotations

import contextlib
import sqlite3
from functools import partial
from pathlib import Path

from ..errors import LibraryError, ReelbookError
from ..util.printable import format_count
from .judgements import Judgement, merge_judgements, read_judgements
from .ledger import transitions, writer
from .ledger.claims import make_acceptance
from .ledger.transitions import Entry, State
from .ledger.writer import CALL_SECONDS, Ledger
from .shelf import HASHES, Shelf, hash_file

MEDIA = "media"
"""The folder of a library's files, unless its shelf is somewhere else."""
_STORED = tuple(name for name in transitions.STORED_COLUMNS if name != "id")
_PAID = (State.ACCEPTED, State.STORED, State.FAILED, State.CANCELLED)
"""States in which a run has a request, and can be continued from its row."""
_WITHOUT_RESULT = (State.PLANNED, State.REJECTED, State.FAILED, State.CANCELLED)
"""States in which a run is sent again when it is wanted again."""


def find_library(folder: Path) -> Path:
    """Find the folder of a library, given that folder or its parent."""
    for path in (folder, folder / ".reelbook"):
        if (path / writer.NAME).is_file():
            return path
    raise ReelbookError(
        f"There is no library in {folder}. Check the path; rb.connect(library={str(folder)!r}) creates a new one there."
    )


def adopt_library(folder: Path, theirs: Shelf, ledger: Ledger, shelf: Shelf) -> str:
    """Add the runs of the library in this folder, which is only read. A request that is here already stays as it is."""
    entries, judgements = _read_library(folder)
    known = ledger.transact_now(_read_requests)
    new = [entry for entry in entries if (entry.service, entry.request_id) not in known]
    files, lost = 0, set[str]()
    # Files are copied before rows: a row may be stored only if its files exist.
    for sha256 in dict.fromkeys(sha256 for entry in new for sha256 in (*entry.hashes, *HASHES.findall(entry.input))):
        if shelf.find(sha256) is not None:
            continue
        path = theirs.find(sha256)
        if path is not None and hash_file(path) == sha256:
            shelf.keep(path.read_bytes(), path.suffix)
            files += 1
        else:
            lost.add(sha256)
    lost &= {sha256 for entry in new for sha256 in entry.hashes}
    written = [
        ledger.submit(partial(_insert, entry, lost), line=make_acceptance(entry, entry.request_id or ""))
        for entry in new
    ]
    for done in written:
        done.result(CALL_SECONDS)
    judged = ledger.transact_now(lambda db: merge_judgements(db, judgements)) if judgements else 0
    here = len(entries) - len(new)
    more = {
        f"{format_count(judged, 'judgement')} of clips came with them": judged,
        f"{format_count(here, 'run')} here already": here,
        f"{format_count(len(lost), 'file')} missing or damaged there, fetched again when next wanted": lost,
    }
    text = f"{format_count(len(new), 'run')} and {format_count(files, 'file')} came from {folder}"
    return "; ".join([text, *(words for words, count in more.items() if count)])


def _insert(entry: Entry, lost: set[str], db: sqlite3.Connection) -> None:
    """Insert a run of another library, as another take of its input if need be; without its files it is fetched again."""
    values = {name: getattr(entry, name) for name in _STORED} | {"owner": None}
    if not lost.isdisjoint(entry.hashes):
        values["state"] = State.ACCEPTED
    where = "service = ? AND identity = ? AND take = ?"
    for same in transitions.find_entries(db, where, entry.service, entry.identity, entry.take):
        free = transitions.get_next_take(db, entry.service, entry.identity)
        if same.owner is None and same.state in _WITHOUT_RESULT and values["state"] not in _WITHOUT_RESULT:
            # Their result takes its place, or a sweep would pay for this take once more.
            transitions.update_run(db, same.id, take=free)
        else:
            values["take"] = free
    transitions.insert_run(db, **values)


def _read_requests(db: sqlite3.Connection) -> set[tuple[str, str]]:
    """The requests of this library; also those of earlier attempts, which only the events have."""
    query = (
        "SELECT service, request_id FROM runs UNION SELECT service, note FROM events JOIN runs ON runs.id = events.run"
    )
    return {(service, request) for service, request in db.execute(query) if request is not None}


def _read_library(folder: Path) -> tuple[list[Entry], list[Judgement]]:
    """The runs of a ledger that have a request, and its judgements."""
    try:
        # Read-only, because the folder may be.
        address = f"{(folder / writer.NAME).absolute().as_uri()}?mode=ro"
        with writer.translate_errors(folder), contextlib.closing(sqlite3.connect(address, uri=True)) as db:
            writer.check(db, folder)
            states = ", ".join(f"'{state}'" for state in _PAID)
            valid = "json_valid(input) AND json_valid(coalesce(media, '[]'))"
            where = f"request_id IS NOT NULL AND state IN ({states}) AND {valid} ORDER BY id"
            return transitions.find_entries(db, where), read_judgements(db)
    except LibraryError as error:
        raise ReelbookError(
            f"The library in {folder} cannot be read ({error.reason}), so nothing was taken from it. Open it once "
            f'with rb.connect(library="{folder}"), which puts right what a crash has left, then adopt it again.'
        ) from error
