"""Remove old files of a library, and report those that would have to be paid for again."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from ..errors import ReelbookError
from ..util.printable import format_count
from .byte_count import Bytes
from .ledger import accepted
from .ledger.reads import read_pages
from .ledger.transitions import Entry, State
from .ledger.writer import Ledger
from .shelf import SHA256, SUFFIXES, Shelf, list_entries, list_files
from .table.library_table import INDEX_NAME, VIDEOS
from .uncertain import format_entry_input
from .verify import get_hashes, mark_lost, read_stored_runs

MIN_AGE_SECONDS = 86_400.0
"""Minimum age for removal: younger partial downloads, and files not yet referenced by a run, may still be in use."""

DERIVED_FOLDERS = ("posters", "previews")
"""The folders next to the shelf with posters and previews made from its files."""

_NAMED = re.compile(r"[0-9a-f]{64}")
_LISTED = 10
"""Maximum number of runs listed in the text of a result."""


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
    is_video: bool


@dataclass(frozen=True, slots=True)
class Pruned:
    """The result of `prune`: the files removed, and the runs whose files would have to be paid for again."""

    removed: int
    size: Bytes
    """Total size of the removed files."""
    at_stake: tuple[int, ...] = ()
    """Old runs whose files would have to be paid for again."""
    at_stake_size: Bytes = field(default=Bytes(0))
    at_stake_credits: int = 0
    """Cost of those runs."""
    dry_run: bool = False
    done: bool = False
    """Whether the files of those runs were removed too."""
    going: tuple[PrunedRun, ...] = ()
    """Those runs, each with its size and cost."""

    @property
    def frame(self) -> pd.DataFrame:
        """Those runs as a table: input, model, size of the files, and cost."""
        names = ["prompt", "model", "finished", "files", "bytes", "credits"]
        rows = [
            (run.what, run.model, pd.Timestamp(run.finished, unit="s", tz="UTC"), run.files, int(run.size), run.credits)
            for run in self.going
        ]
        index = pd.Index([run.run for run in self.going], dtype="int64", name=INDEX_NAME)
        return pd.DataFrame(rows, columns=names, index=index).astype({"credits": "Int64"})

    @property
    def words(self) -> str:
        """The result as a sentence."""
        files, size = format_count(self.removed, "file"), self.size
        removed = f"{files} ({size}) would be removed" if self.dry_run else f"{files} ({size}) removed"
        if not self.at_stake:
            return removed
        runs = f"{format_count(len(self.at_stake), 'run')} ({self.at_stake_size}, paid with {self.at_stake_credits:,} credits)"
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
    before = time.time() - older_than.total_seconds()
    old, needed = _split_by_age(ledger, before, keep)
    spare = _find_spare(shelf, ledger, min(before, time.time() - MIN_AGE_SECONDS))
    sizes = {sha256: (path, size) for sha256, path, size in shelf.names() if path.exists()}
    mine = {sha256 for entry in old for sha256 in get_hashes(entry) if sha256 in sizes} - needed
    copied = _find_copied(shelf, {sha256: sizes[sha256][1] for sha256 in mine}) if mine else set()
    lost = mine - copied
    losing = [entry for entry in old if not lost.isdisjoint(get_hashes(entry))]
    listed = tuple(_describe(entry, sizes, lost) for entry in losing)
    going = [*spare, *(sizes[sha256] for sha256 in sorted(copied))]
    if yes and not dry_run:
        # Rows first: a file without a row does less harm than a row without its file.
        marked = set(mark_lost(ledger, [entry.id for entry in losing]))
        still = {sha256 for entry in losing if entry.id not in marked for sha256 in get_hashes(entry)}
        going += [sizes[sha256] for sha256 in sorted(lost - still)]
    removed = [(path, size) for path, size in going if dry_run or _remove(path)]
    if not dry_run:
        _remove_orphaned_derived(shelf)
    return Pruned(
        len(removed), Bytes(sum(size for _, size in removed)), tuple(entry.id for entry in losing),
        Bytes(sum(sizes[sha256][1] for sha256 in lost)), sum(entry.credits or 0 for entry in losing), dry_run,
        yes and not dry_run, listed,
    )  # fmt: skip


def _describe(entry: Entry, sizes: Mapping[str, tuple[Path, int]], lost: Collection[str]) -> PrunedRun:
    mine = [sizes[sha256] for sha256 in dict.fromkeys(get_hashes(entry)) if sha256 in lost]
    path = mine[0][0]
    return PrunedRun(
        entry.id, format_entry_input(entry), entry.model, entry.finished or entry.created, len(mine),
        Bytes(sum(size for _, size in mine)), entry.credits, path, path.suffix in VIDEOS,
    )  # fmt: skip


def _split_by_age(ledger: Ledger, before: float, keep: Collection[int]) -> tuple[list[Entry], set[str]]:
    """The stored runs that are old enough, and the hashes referenced by all other runs, which must be kept."""
    chosen = frozenset(keep)
    old: list[Entry] = []
    needed: set[str] = set()
    for entry in read_stored_runs(ledger):
        if (entry.finished or entry.created) < before and entry.id not in chosen and entry.owner is None:
            old.append(entry)
        else:
            needed.update(get_hashes(entry))
    # Source pictures, and files of runs that are not stored yet.
    unfinished = "CASE WHEN state != 'stored' THEN coalesce(output, '') || coalesce(media, '') END"
    for rows in read_pages(ledger, f"input || ' ' || coalesce({unfinished}, '')"):
        needed.update(sha256 for _, text in rows for sha256 in _NAMED.findall(text))
    return old, needed


def _find_spare(shelf: Shelf, ledger: Ledger, before: float) -> list[tuple[Path, int]]:
    """Old partial downloads, and old files that no row references."""
    texts = read_pages(ledger, "input || ' ' || coalesce(output, '') || ' ' || coalesce(media, '')")
    known = {sha256 for rows in texts for _, text in rows for sha256 in _NAMED.findall(text)}
    found = []
    for entry, facts in list_files(shelf.folder):
        part = entry.name.endswith((".part", ".part.json"))
        orphan = entry.name[64:] in SUFFIXES and SHA256.fullmatch(entry.name[:64]) and entry.name[:64] not in known
        if (part or orphan) and entry.is_file(follow_symlinks=False) and facts.st_mtime < before:
            found.append((Path(entry.path), facts.st_size))
    return found


def _find_copied(shelf: Shelf, files: Mapping[str, int]) -> set[str]:
    """The files, by hash and size, that the remote shelf also has, with the same size."""
    if shelf._remote is None:
        return set()
    remote = {name[:64]: size for name, size in shelf._remote.names()}
    return {sha256 for sha256, size in files.items() if remote.get(sha256) == size}


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise ReelbookError(
            f"{path} could not be removed ({error.strerror}). Make its folder writable, then prune again; what is gone so far is marked so."
        ) from error
    return True


def _remove_orphaned_derived(shelf: Shelf) -> None:
    """Remove posters and previews of files that no longer exist; both can always be made again from the files."""
    here = {entry.name[:64] for entry in list_entries(shelf.folder)}
    for name in DERIVED_FOLDERS:
        for derived in list_entries(shelf.folder.parent / name):
            if SHA256.fullmatch(derived.name[:64]) and derived.name[:64] not in here:
                with contextlib.suppress(OSError):
                    os.unlink(derived.path)  # noqa: PTH108  # A DirEntry has no unlink.


def forget_runs(shelf: Shelf, ledger: Ledger, before: float) -> None:
    """Remove the files, inputs and outputs of runs that ended before this moment; what they cost stays counted.

    Uncertain runs, and those that are not finished, stay as they are.
    """
    where = "coalesce(finished, created) < ? AND owner IS NULL AND input <> '{}' AND state IN (?, ?, ?, ?)"
    ended = (before, State.STORED, State.FAILED, State.CANCELLED, State.REJECTED)
    text = "input || ' ' || coalesce(output, '') || ' ' || coalesce(media, '')"

    def forget(db: sqlite3.Connection) -> set[str]:
        hashes = {
            sha256
            for (texts,) in db.execute(f"SELECT {text} FROM runs WHERE {where}", ended)
            for sha256 in _NAMED.findall(texts)
        }
        db.execute("PRAGMA secure_delete = ON")
        db.execute(f"UPDATE runs SET input = '{{}}', output = NULL, media = NULL, body = NULL WHERE {where}", ended)
        needed = {sha256 for (texts,) in db.execute(f"SELECT {text} FROM runs") for sha256 in _NAMED.findall(texts)}
        accepted.forget_before(db, ledger.folder, before)
        return hashes - needed

    forgotten = ledger.transact_now(forget)
    for sha256 in forgotten:
        shelf.discard(sha256)
    if forgotten:
        ledger.renew_backup()
    _remove_orphaned_derived(shelf)
