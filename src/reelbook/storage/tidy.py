"""Keep a library in order: verify its files against their hashes, remove old ones, and forget runs of long ago."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from ..util.printable import format_count
from .ledger import claims
from .ledger.transitions import Entry, State, reopen
from .ledger.writer import Ledger
from .shelf import HASHES, SHA256, SUFFIXES, Bytes, Shelf, hash_file, list_entries, list_files
from .table import INDEX_NAME
from .uncertain import format_entry_input

DAMAGED = "damaged"
"""The folder to which damaged files are moved; they are never deleted."""
MIN_AGE_SECONDS = 86_400.0
"""Minimum age for removal: younger partial downloads, and files not yet referenced by a run, may still be in use."""
DERIVED_FOLDERS = ("posters", "previews")
"""The folders next to the shelf with posters and previews made from its files."""
_TEXTS = "input || ' ' || coalesce(output, '') || ' ' || coalesce(media, '')"
_LISTED = 10


# Verify.


@dataclass(frozen=True, slots=True)
class Verified:
    """The result of `verify`."""

    checked: int
    damaged: tuple[Path, ...] = ()
    """The paths to which damaged files were moved."""
    missing: tuple[str, ...] = ()
    """Hashes of files that a run references and that are not on the shelf."""
    runs: tuple[int, ...] = ()
    """Runs that have lost a file: `rb.run` with the same input downloads it again."""

    @property
    def sound(self) -> bool:
        """Whether no file is damaged or missing."""
        return not (self.damaged or self.missing)

    def __repr__(self) -> str:
        parts = [f"{format_count(self.checked, 'file')} checked"]
        parts += [f"{len(self.damaged):,} damaged and moved to {self.damaged[0].parent}"] if self.damaged else []
        parts += [f"{len(self.missing):,} missing"] if self.missing else []
        if self.runs:
            numbers = ", ".join(map(str, self.runs[:10])) + (", …" if len(self.runs) > 10 else "")
            parts.append(f"{format_count(len(self.runs), 'run')} to be fetched again ({numbers})")
        return f"<{', '.join([*parts, 'all sound'] if self.sound else parts)}>"


def verify_files(shelf: Shelf, ledger: Ledger, only: Collection[int] | None = None) -> Verified:
    """Check all files, or those of some runs: damaged ones are moved aside, and runs that lost a file reopened."""
    all_stored = read_stored_runs(ledger)
    stored = [run for run in all_stored if only is None or run.id in only]
    mine = None if only is None else {sha256 for run in stored for sha256 in run.hashes}
    names = [(sha256, path) for sha256, path, _ in shelf.names() if path.exists() and (mine is None or sha256 in mine)]
    damaged = [_move_aside(path) for sha256, path in names if not _is_intact(path, sha256)]
    known = {sha256 for sha256, _, _ in shelf.names()}
    missing = dict.fromkeys(sha256 for run in stored for sha256 in run.hashes if sha256 not in known)
    lost = [run.id for run in all_stored if not missing.keys().isdisjoint(run.hashes)]
    return Verified(len(names), tuple(damaged), tuple(missing), _mark_lost(ledger, lost))


def get_paths(shelf: Shelf) -> Mapping[str, str]:
    """The path of each file on this machine, by hash."""
    try:
        names = os.listdir(shelf.folder)  # noqa: PTH208  # A hundred thousand Path objects would take a second.
    except (FileNotFoundError, NotADirectoryError):
        return {}
    start = f"{shelf.folder}{os.sep}"
    return {name[:64]: start + name for name in names if name[64:] in SUFFIXES}


def read_stored_runs(ledger: Ledger) -> list[Entry]:
    """The runs in the state `stored` with files."""
    return ledger.find_entries("state = 'stored' AND media IS NOT NULL")


def _is_intact(path: Path, sha256: str) -> bool:
    try:
        return hash_file(path) == sha256
    except FileNotFoundError:
        return True  # Just removed: it is missing, not damaged.
    except PermissionError:
        raise
    except OSError:
        return False  # The disk cannot read it.


def _move_aside(path: Path) -> Path:
    folder = path.parent / DAMAGED
    folder.mkdir(mode=0o700, exist_ok=True)
    return path.replace(folder / path.name)


def _mark_lost(ledger: Ledger, runs: Collection[int]) -> tuple[int, ...]:
    """Reopen stored runs, so that their files are downloaded again when next used; returns those reopened."""

    def mark(db: sqlite3.Connection) -> tuple[int, ...]:
        stored = dict(db.execute("SELECT id, id FROM runs WHERE state = ? AND owner IS NULL", (State.STORED,)))
        free = tuple(run for run in runs if run in stored)
        for run in free:
            reopen(db, run, None)
        return free

    return ledger.transact_now(mark)


# Prune.


class PrunedRun(NamedTuple):
    """An old run whose files would have to be paid for again."""

    run: int
    what: str
    model: str
    finished: float
    files: int
    size: Bytes
    credits: int | None
    """Its cost."""
    path: Path
    """One of its files."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """The result of `prune`: the files removed, and the runs whose files would have to be paid for again."""

    removed: int
    size: Bytes
    """Total size of the removed files."""
    going: tuple[PrunedRun, ...] = ()
    """Old runs whose files would have to be paid for again, each with its size and cost."""
    dry_run: bool = False
    done: bool = False
    """Whether the files of those runs were removed too."""

    @property
    def frame(self) -> pd.DataFrame:
        """Those runs as a table: input, model, size of the files, and cost."""
        frame = pd.DataFrame(list(self.going), columns=list(PrunedRun._fields)).set_index("run").drop(columns="path")
        frame["finished"] = pd.to_datetime(frame["finished"], unit="s", utc=True)
        return (
            frame.rename(columns={"what": "prompt", "size": "bytes"})
            .rename_axis(INDEX_NAME)
            .astype({"credits": "Int64"})
        )

    @property
    def words(self) -> str:
        """The result as a sentence."""
        removed = (
            f"{format_count(self.removed, 'file')} ({self.size}) {'would be removed' if self.dry_run else 'removed'}"
        )
        if not self.going:
            return removed
        size, paid = Bytes(sum(run.size for run in self.going)), sum(run.credits or 0 for run in self.going)
        runs = f"{format_count(len(self.going), 'run')} ({size}, paid with {paid:,} credits)"
        if self.done:
            return f"{removed}, among them those of {runs}, which could only be made again for money"
        return (
            f"{removed}; the files of {runs} could only be made again for money: prune(…, yes=True) removes them, too"
        )

    def __repr__(self) -> str:
        prices = ["unknown" if run.credits is None else f"{run.credits:,}" for run in self.going[:_LISTED]]
        lines = [
            f"  run {run.run}: {run.what}, {run.size}, {price} credits"
            for run, price in zip(self.going, prices, strict=False)
        ]
        more = [f"  and {len(self.going) - _LISTED:,} more, see .frame"] if len(self.going) > _LISTED else []
        return "\n".join([f"<{self.words}{':' if lines else ''}", *lines, *more]) + ">"


def prune_files(
    shelf: Shelf,
    ledger: Ledger,
    older_than: timedelta,
    keep: Collection[int],
    *,
    dry_run: bool = False,
    yes: bool = False,
) -> Pruned:
    """Remove old files that can be restored at no cost; with `yes` also those that cannot."""
    before, kept = time.time() - older_than.total_seconds(), frozenset(keep)
    old = [
        entry
        for entry in read_stored_runs(ledger)
        if (entry.finished or entry.created) < before and entry.id not in kept and entry.owner is None
    ]
    going = {entry.id for entry in old}
    # Source pictures and the files of unfinished runs are kept, and those of all runs that are not old.
    needed, known = set[str](), set[str]()
    for run, source, results in ledger.select("id, input, coalesce(output, '') || ' ' || coalesce(media, '')"):
        sources, files = HASHES.findall(source), HASHES.findall(results)
        known.update(sources, files)
        needed.update(sources, () if run in going else files)
    sizes = {sha256: (path, size) for sha256, path, size in shelf.names() if path.exists()}
    mine = {sha256 for entry in old for sha256 in entry.hashes if sha256 in sizes} - needed
    copied = shelf.find_copied({sha256: sizes[sha256][1] for sha256 in mine})
    lost = mine - copied
    losing = [entry for entry in old if not lost.isdisjoint(entry.hashes)]
    files_to_remove = _find_spare(shelf, known, min(before, time.time() - MIN_AGE_SECONDS))
    files_to_remove += [sizes[sha256] for sha256 in sorted(copied)]
    if yes and not dry_run:
        # Rows first: a file without a row does less harm than a row without its file.
        marked = set(_mark_lost(ledger, [entry.id for entry in losing]))
        still = {sha256 for entry in losing if entry.id not in marked for sha256 in entry.hashes}
        files_to_remove += [sizes[sha256] for sha256 in sorted(lost - still)]
    if not dry_run:
        for path, _ in files_to_remove:
            path.unlink(missing_ok=True)
        _remove_orphaned_derived(shelf)
    described = tuple(_describe(entry, sizes, lost) for entry in losing)
    size = Bytes(sum(size for _, size in files_to_remove))
    return Pruned(len(files_to_remove), size, described, dry_run, yes and not dry_run)


def _describe(entry: Entry, sizes: Mapping[str, tuple[Path, int]], lost: Collection[str]) -> PrunedRun:
    mine = [sizes[sha256] for sha256 in dict.fromkeys(entry.hashes) if sha256 in lost]
    return PrunedRun(
        entry.id, format_entry_input(entry), entry.model, entry.finished or entry.created, len(mine),
        Bytes(sum(size for _, size in mine)), entry.credits, mine[0][0],
    )  # fmt: skip


def _find_spare(shelf: Shelf, known: Collection[str], before: float) -> list[tuple[Path, int]]:
    """Old partial downloads, and old files that no row references."""
    spare = []
    for entry, facts in list_files(shelf.folder):
        is_orphan = entry.name[64:] in SUFFIXES and SHA256.fullmatch(entry.name[:64]) and entry.name[:64] not in known
        is_spare = is_orphan or entry.name.endswith((".part", ".part.json"))
        if is_spare and entry.is_file(follow_symlinks=False) and facts.st_mtime < before:
            spare.append((Path(entry.path), facts.st_size))
    return spare


def _remove_orphaned_derived(shelf: Shelf) -> None:
    """Remove posters and previews of files that no longer exist; both can always be made again from the files."""
    here = {entry.name[:64] for entry in list_entries(shelf.folder)}
    for name in DERIVED_FOLDERS:
        for derived in list_entries(shelf.folder.parent / name):
            if SHA256.fullmatch(derived.name[:64]) and derived.name[:64] not in here:
                with contextlib.suppress(OSError):
                    os.unlink(derived.path)  # noqa: PTH108  # A DirEntry has no unlink.


# Forget.


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
