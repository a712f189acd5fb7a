"""Which files of a library can go to make room, and what those cost that can only be had again for money."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from ..errors import ReelbookError
from .byte_count import Bytes
from .ledger.reads import pages
from .ledger.transitions import Entry
from .ledger.writer import Ledger
from .shelf import SHA256, SUFFIXES, Shelf
from .table.library_table import INDEX, VIDEOS
from .uncertain import words_of
from .verify import entries_in, hashes_of, many, mark_lost, stored_runs

LEAST_AGE_SECONDS = 86_400.0
"""Half a download, or a file that no run names yet, may be somebody's work of this moment; after a day it is not."""

MADE = ("posters", "previews")
"""The folders beside the shelf with what is made from its files for showing them."""

_NAMED = re.compile(r"[0-9a-f]{64}")
_LISTED = 10
"""Runs that a line of text names each."""


class Going(NamedTuple):
    """An old run whose files can only be had again for money."""

    run: int
    what: str
    model: str
    finished: float
    files: int
    size: Bytes
    credits: int | None
    """What it has cost."""
    path: Path
    """One of its files."""
    is_video: bool


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was removed, and what would only go for good."""

    removed: int
    size: Bytes
    """What the removed files took."""
    at_stake: tuple[int, ...] = ()
    """Old runs whose files can only be had again for money."""
    at_stake_size: Bytes = field(default=Bytes(0))
    at_stake_credits: int = 0
    """What those runs have cost."""
    dry_run: bool = False
    done: bool = False
    """Whether the files of those runs were removed too."""
    going: tuple[Going, ...] = ()
    """The same runs, each with its size and its price."""

    @property
    def frame(self) -> pd.DataFrame:
        """Those runs as a table: what was asked, how large its files are, and what they have cost."""
        names = ["prompt", "model", "finished", "files", "bytes", "credits"]
        rows = [
            (one.what, one.model, pd.Timestamp(one.finished, unit="s", tz="UTC"), one.files, int(one.size), one.credits)
            for one in self.going
        ]
        index = pd.Index([one.run for one in self.going], dtype="int64", name=INDEX)
        return pd.DataFrame(rows, columns=names, index=index).astype({"credits": "Int64"})

    @property
    def words(self) -> str:
        """What was done and what was not, in a sentence."""
        files, size = many(self.removed, "file"), self.size
        told = f"{files} ({size}) would be removed" if self.dry_run else f"{files} ({size}) removed"
        if not self.at_stake:
            return told
        runs = f"{many(len(self.at_stake), 'run')} ({self.at_stake_size}, paid with {self.at_stake_credits:,} credits)"
        if self.done:
            return f"{told}, among them those of {runs}, which can only be had again for money"
        return f"{told}; the files of {runs} can only be had again for money: prune(…, yes=True) removes them too"

    def __repr__(self) -> str:
        prices = ["unknown" if one.credits is None else f"{one.credits:,}" for one in self.going[:_LISTED]]
        lines = [
            f"  run {one.run}: {one.what}, {one.size}, {price} credits"
            for one, price in zip(self.going, prices, strict=False)
        ]
        more = [f"  and {len(self.going) - _LISTED:,} more, see .frame"] if len(self.going) > _LISTED else []
        return "\n".join([f"<{self.words}{':' if lines else ''}", *lines, *more]) + ">"


def pruned(
    shelf: Shelf,
    ledger: Ledger,
    older_than: timedelta,
    keep: Collection[int],
    *,
    dry_run: bool = False,
    yes: bool = False,
) -> Pruned:
    """Remove what is old and can be had again; with `yes` also what can not."""
    before = time.time() - older_than.total_seconds()
    old, kept = _sorted(ledger, before, keep)
    spare = _spare(shelf, ledger, min(before, time.time() - LEAST_AGE_SECONDS))
    sizes = {sha256: (path, size) for sha256, path, size in shelf.names() if path.exists()}
    mine = {sha256 for entry in old for sha256 in hashes_of(entry) if sha256 in sizes} - kept
    copied = _copied(shelf, {sha256: sizes[sha256][1] for sha256 in mine}) if mine else set()
    lost = mine - copied
    losing = [entry for entry in old if not lost.isdisjoint(hashes_of(entry))]
    listed = tuple(_going(entry, sizes, lost) for entry in losing)
    going = [*spare, *(sizes[sha256] for sha256 in sorted(copied))]
    if yes and not dry_run:
        # The rows first: a row that promises a file which is gone would be worse than a file without a row.
        marked = set(mark_lost(ledger, [entry.id for entry in losing]))
        still = {sha256 for entry in losing if entry.id not in marked for sha256 in hashes_of(entry)}
        going += [sizes[sha256] for sha256 in sorted(lost - still)]
    removed = [(path, size) for path, size in going if dry_run or _removed(path)]
    if not dry_run:
        _drop_made_of_nothing(shelf)
    return Pruned(
        len(removed), Bytes(sum(size for _, size in removed)), tuple(entry.id for entry in losing),
        Bytes(sum(sizes[sha256][1] for sha256 in lost)), sum(entry.credits or 0 for entry in losing), dry_run,
        yes and not dry_run, listed,
    )  # fmt: skip


def _going(entry: Entry, sizes: Mapping[str, tuple[Path, int]], lost: Collection[str]) -> Going:
    mine = [sizes[sha256] for sha256 in dict.fromkeys(hashes_of(entry)) if sha256 in lost]
    path = mine[0][0]
    return Going(
        entry.id, words_of(entry), entry.model, entry.finished or entry.created, len(mine),
        Bytes(sum(size for _, size in mine)), entry.credits, path, path.suffix in VIDEOS,
    )  # fmt: skip


def _sorted(ledger: Ledger, before: float, keep: Collection[int]) -> tuple[list[Entry], set[str]]:
    """The stored runs that are old enough, and the files that all others name, which therefore stay."""
    chosen = frozenset(keep)
    old: list[Entry] = []
    kept: set[str] = set()
    for entry in stored_runs(ledger):
        if (entry.finished or entry.created) < before and entry.id not in chosen and entry.owner is None:
            old.append(entry)
        else:
            kept.update(hashes_of(entry))
    # Pictures of inputs, and files of runs that are not finished here.
    unfinished = "CASE WHEN state != 'stored' THEN coalesce(output, '') || coalesce(media, '') END"
    for rows in pages(ledger, f"input || ' ' || coalesce({unfinished}, '')"):
        kept.update(sha256 for _, text in rows for sha256 in _NAMED.findall(text))
    return old, kept


def _spare(shelf: Shelf, ledger: Ledger, before: float) -> list[tuple[Path, int]]:
    """Halves of downloads, and files that no row names, if they are old."""
    texts = pages(ledger, "input || ' ' || coalesce(output, '') || ' ' || coalesce(media, '')")
    known = {sha256 for rows in texts for _, text in rows for sha256 in _NAMED.findall(text)}
    found = []
    for entry in entries_in(shelf.folder):
        part = entry.name.endswith((".part", ".part.json"))
        orphan = entry.name[64:] in SUFFIXES and SHA256.fullmatch(entry.name[:64]) and entry.name[:64] not in known
        if (part or orphan) and entry.is_file(follow_symlinks=False):
            facts = entry.stat()
            if facts.st_mtime < before:
                found.append((Path(entry.path), facts.st_size))
    return found


def _copied(shelf: Shelf, files: Mapping[str, int]) -> set[str]:
    """Those of the files (their hashes and sizes) that another shelf has too, whole."""
    if shelf._remote is None:
        return set()
    there = {name[:64]: size for name, size in shelf._remote.names()}
    return {sha256 for sha256, size in files.items() if there.get(sha256) == size}


def _removed(path: Path) -> bool:
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise ReelbookError(
            f"{path} could not be removed ({error.strerror}). Make its folder writable, then prune again; what is gone so far is marked so."
        ) from error
    return True


def _drop_made_of_nothing(shelf: Shelf) -> None:
    """Posters and small copies of files that are gone; they can be made again from the files, so that losing one loses nothing."""
    here = {entry.name[:64] for entry in entries_in(shelf.folder)}
    for name in MADE:
        for kept in entries_in(shelf.folder.parent / name):
            if SHA256.fullmatch(kept.name[:64]) and kept.name[:64] not in here:
                with contextlib.suppress(OSError):
                    os.unlink(kept.path)  # noqa: PTH108  # A DirEntry has no unlink.
