"""Keep a library in order: adopt another one, verify files against their hashes, remove old ones, forget runs of long ago."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Collection
from functools import partial
from pathlib import Path

from ..errors import LibraryError, ReelbookError
from ..util.printable import format_count
from .judgements import Judgement, merge_judgements, read_judgements
from .ledger import claims, transitions, writer
from .ledger.transitions import COMPLETED, Entry, State
from .ledger.writer import CALL_SECONDS, Ledger
from .shelf import HASHES, SHA256, SUFFIXES, Shelf, hash_file, list_files

DAMAGED = "damaged"
"""The folder to which damaged files are moved; they are never deleted."""
MIN_AGE_SECONDS = 86_400.0
"""Minimum age for removal: younger partial downloads, and files not yet referenced by a run, may still be in use."""
DERIVED_FOLDERS = ("posters", "previews", "strips", "measures")
"""The folders next to the shelf with what is made from its files."""
_TEXTS = "input || ' ' || coalesce(output, '') || ' ' || coalesce(media, '')"
_STORED = tuple(name for name in transitions.STORED_COLUMNS if name != "id")
_PAID = (State.ACCEPTED, State.STORED, State.FAILED, State.CANCELLED)
"""States in which a run has a request, and can be continued from its row."""
_WITHOUT_RESULT = (State.PLANNED, State.REJECTED, State.FAILED, State.CANCELLED)
"""States in which a run is sent again when it is wanted again."""


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
        ledger.submit(partial(_insert, entry, lost), line=claims.make_acceptance(entry, entry.request_id or ""))
        for entry in (entry._replace(name=None) for entry in new)
    ]
    for done in written:
        done.result(CALL_SECONDS)
    judged = ledger.transact_now(lambda db: merge_judgements(db, judgements))
    return (
        f"{format_count(len(new), 'run')}, {format_count(files, 'file')} and {format_count(judged, 'judgement')} came from "
        f"{folder}; {format_count(len(entries) - len(new), 'run')} here already, "
        f"{format_count(len(lost), 'file')} missing or damaged there"
    )


def _insert(entry: Entry, lost: set[str], db: sqlite3.Connection) -> None:
    """Insert a run of another library, as another take of its input if need be; without its files it is fetched again."""
    values = {name: getattr(entry, name) for name in _STORED} | {"owner": None, "name": None}
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


def verify_files(shelf: Shelf, ledger: Ledger, only: Collection[int] | None = None) -> str:
    """Check all files, or those of some runs: damaged ones are moved aside, and runs that lost a file reopened."""
    stored = ledger.find_entries("state = 'stored' AND media IS NOT NULL")
    chosen = {sha256 for run in stored if only is None or run.id in only for sha256 in run.hashes}
    files = {sha256: Path(path) for sha256, path in shelf.paths().items() if only is None or sha256 in chosen}
    damaged = [path for sha256, path in files.items() if hash_file(path) != sha256]
    aside = shelf.folder / DAMAGED
    for path in damaged:
        aside.mkdir(mode=0o700, exist_ok=True)
        path.replace(aside / path.name)
    missing = chosen - shelf.hashes()
    lost = _mark_lost(ledger, [run.id for run in stored if not missing.isdisjoint(run.hashes)])
    moved = f" and moved to {aside}" if damaged else ""
    return (
        f"{format_count(len(files), 'file')} checked: {len(damaged):,} damaged{moved}, {len(missing):,} missing, "
        f"{format_count(len(lost), 'run')} to be fetched again"
    )


def prune_files(shelf: Shelf, ledger: Ledger, days: float, keep: Collection[int], *, yes: bool) -> dict[int, int]:
    """Remove old files that no run needs; with `yes` also those of old runs.

    Returns how many bytes each of these runs has, or had, by its number.
    """
    before = time.time() - days * 86_400
    is_old = "state = 'stored' AND media IS NOT NULL AND owner IS NULL AND coalesce(finished, created) < ?"
    old = [run for run in ledger.find_entries(is_old, before) if run.id not in keep]
    going = {run.id for run in old}
    # Source pictures and the files of unfinished runs are kept, and those of all runs that are not old.
    needed, named = set[str](), set[str]()
    for run_id, source, results in ledger.select("id, input, coalesce(output, '') || ' ' || coalesce(media, '')"):
        sources, files = HASHES.findall(source), HASHES.findall(results)
        named.update(sources, files)
        needed.update(sources, () if run_id in going else files)
    files_here = {sha256: Path(path) for sha256, path in shelf.paths().items() if sha256 not in needed}
    losing = {run.id: [files_here[sha256] for sha256 in {*run.hashes} if sha256 in files_here] for run in old}
    sizes = {run: sum(path.stat().st_size for path in paths) for run, paths in losing.items() if paths}
    files_to_remove = _find_spare(shelf, named, min(before, time.time() - MIN_AGE_SECONDS))
    if yes:
        # Rows first: a file without a row does less harm than a row without its file.
        marked = _mark_lost(ledger, list(sizes))
        still = {path for run in sizes if run not in marked for path in losing[run]}
        files_to_remove += [path for run in marked for path in losing[run] if path not in still]
    for path in files_to_remove:
        path.unlink(missing_ok=True)
    _remove_orphaned_derived(shelf)
    return sizes


def forget_runs(shelf: Shelf, ledger: Ledger, before: float) -> None:
    """Remove the files, inputs and outputs of runs that ended before this moment; what they cost stays counted.

    Uncertain runs, and those that are not finished, stay as they are.
    """
    where = "coalesce(finished, created) < ? AND owner IS NULL AND input <> '{}' AND state IN (?, ?, ?, ?)"
    ended = (before, State.STORED, State.FAILED, State.CANCELLED, State.REJECTED)

    def find_hashes(db: sqlite3.Connection, query: str, *values: object) -> set[str]:
        return {sha256 for (texts,) in db.execute(query, values) for sha256 in HASHES.findall(texts)}

    def forget(db: sqlite3.Connection) -> set[str]:
        hashes = find_hashes(db, f"SELECT {_TEXTS} FROM runs WHERE {where}", *ended)
        db.execute("PRAGMA secure_delete = ON")
        db.execute(f"UPDATE runs SET input = '{{}}', output = NULL, media = NULL, body = NULL WHERE {where}", ended)
        claims.forget_before(db, ledger.folder, before)
        return hashes - find_hashes(db, f"SELECT {_TEXTS} FROM runs")

    forgotten = ledger.transact_now(forget)
    for sha256 in forgotten:
        shelf.discard(sha256)
    if forgotten:
        ledger.renew_backup()
    _remove_orphaned_derived(shelf)


def _mark_lost(ledger: Ledger, runs: Collection[int]) -> tuple[int, ...]:
    """Reopen stored runs, so that their files are downloaded again when next used; returns those reopened."""

    def mark(db: sqlite3.Connection) -> tuple[int, ...]:
        stored = dict(db.execute("SELECT id, id FROM runs WHERE state = ? AND owner IS NULL", (State.STORED,)))
        free = tuple(run for run in runs if run in stored)
        for run in free:
            transitions.move(db, run, COMPLETED)
        return free

    return ledger.transact_now(mark) if runs else ()


def _find_spare(shelf: Shelf, named: Collection[str], before: float) -> list[Path]:
    """Old partial downloads, and old files that no run names."""
    spare = []
    for entry, facts in list_files(shelf.folder):
        is_orphan = entry.name[64:] in SUFFIXES and SHA256.fullmatch(entry.name[:64]) and entry.name[:64] not in named
        if (is_orphan or entry.name.endswith((".part", ".part.json"))) and facts.st_mtime < before:
            spare.append(Path(entry.path))
    return spare


def _remove_orphaned_derived(shelf: Shelf) -> None:
    """Remove what was made from files that no longer exist."""
    here = shelf.paths()
    for name in DERIVED_FOLDERS:
        for derived in (shelf.folder.parent / name).glob("*"):
            if SHA256.fullmatch(derived.name[:64]) and derived.name[:64] not in here:
                with contextlib.suppress(OSError):
                    derived.unlink()
