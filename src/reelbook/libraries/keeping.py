"""The files of a library: how much they take, whether they are whole, and which can go."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from ..errors import ReelbookError
from . import ledger
from .adopting import Progress, files_of
from .books import Books
from .ledger import Entry
from .pages import pages
from .shelf import SHA256, SUFFIXES, Shelf
from .sizes import Bytes

DAMAGED = "damaged"
"""The folder beside the files where damaged ones are moved, never deleted."""

LEAST_AGE_SECONDS = 86_400.0
"""Half a download, or a file that no run names yet, may be somebody's work of this moment; after a day it is not."""

_NAMED = re.compile(r"[0-9a-f]{64}")
_TOGETHER = 256


MADE = ("posters", "previews")
"""The folders beside the shelf with what is made from its files for showing them."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What was found when every file was read again."""

    checked: int
    damaged: tuple[Path, ...] = ()
    """Where the damaged files are now."""
    missing: tuple[str, ...] = ()
    """The hashes of files that a run names and that are nowhere."""
    strangers: tuple[Path, ...] = ()
    """What lies there and is no file of a library."""
    runs: tuple[int, ...] = ()
    """Runs that have lost a file: `rb.run` with the same input fetches it again."""

    @property
    def sound(self) -> bool:
        """Whether everything is as it should be."""
        return not (self.damaged or self.missing)

    def __repr__(self) -> str:
        told = [f"{_many(self.checked, 'file')} checked"]
        told += [f"{len(self.damaged):,} damaged and moved to {self.damaged[0].parent}"] if self.damaged else []
        told += [f"{len(self.missing):,} missing"] if self.missing else []
        if self.runs:
            shown = ", ".join(map(str, self.runs[:10])) + (", …" if len(self.runs) > 10 else "")
            told.append(f"{_many(len(self.runs), 'run')} to be fetched again ({shown})")
        told += [f"{_many(len(self.strangers), 'stranger')} left alone"] if self.strangers else []
        return f"<{', '.join(told if not self.sound or self.strangers else [*told, 'all sound'])}>"


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

    def __repr__(self) -> str:
        files, size = _many(self.removed, "file"), self.size
        told = f"{files} ({size}) would be removed" if self.dry_run else f"{files} ({size}) removed"
        if not self.at_stake:
            return f"<{told}>"
        runs = f"{_many(len(self.at_stake), 'run')} ({self.at_stake_size}, paid with {self.at_stake_credits:,} credits)"
        if self.done:
            return f"<{told}, among them those of {runs}, which can only be had again for money>"
        return f"<{told}; the files of {runs} can only be had again for money: prune(…, yes=True) removes them too>"


def size_of(shelf: Shelf) -> Bytes:
    """What all files take on this machine."""
    return Bytes(sum(entry.stat().st_size for entry in _entries(shelf) if entry.is_file(follow_symlinks=False)))


def paths_of(shelf: Shelf) -> Mapping[str, str]:
    """Where each file is on this machine, by its hash."""
    try:
        names = os.listdir(shelf.folder)  # noqa: PTH208  # Names alone: a hundred thousand paths would take a second.
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return {name[:64]: f"{shelf.folder}{os.sep}{name}" for name in names if name[64:] in SUFFIXES}


def verified(shelf: Shelf, books: Books, progress: Progress | None = None) -> Verified:
    """Read every file again. Damaged ones are moved aside, and the runs that lose one are set to fetch it again."""
    names = [(sha256, path) for sha256, path, _ in shelf.names() if path.exists()]
    damaged: list[Path] = []
    for done, (sha256, path) in enumerate(names, 1):
        if not _is_whole(path, sha256):
            damaged.append(_aside(path))
        if progress is not None:
            progress(done, len(names))
    known = {sha256 for sha256, _, _ in shelf.names()}
    lost: dict[str, None] = {}
    runs = []
    for entry in _stored(books):
        gone = [sha256 for sha256 in _hashes(entry) if sha256 not in known]
        if gone:
            lost |= dict.fromkeys(gone)
            runs.append(entry.id)
    marked = mark_lost(books, runs)
    return Verified(len(names), tuple(damaged), tuple(lost), tuple(_strangers(shelf)), marked)


def mark_lost(books: Books, runs: Sequence[int]) -> tuple[int, ...]:
    """Set stored runs so that their files are fetched again when they are next wanted; returns those that were."""
    return tuple(run for run, marked in zip(runs, _marked(books, runs), strict=True) if marked)


def pruned(
    shelf: Shelf,
    books: Books,
    older_than: timedelta,
    keep: Collection[int],
    *,
    dry_run: bool = False,
    yes: bool = False,
) -> Pruned:
    """Remove what is old and can be had again; with `yes` also what can not."""
    before = time.time() - older_than.total_seconds()
    old, kept = _sorted(books, before, keep)
    spare = _spare(shelf, books, min(before, time.time() - LEAST_AGE_SECONDS))
    sizes = {sha256: (path, size) for sha256, path, size in shelf.names() if path.exists()}
    mine = {sha256 for entry in old for sha256 in _hashes(entry) if sha256 in sizes} - kept
    copied = _copied(shelf, {sha256: sizes[sha256][1] for sha256 in mine}) if mine else set()
    lost = mine - copied
    losing = [entry for entry in old if not lost.isdisjoint(_hashes(entry))]
    going = [*spare, *(sizes[sha256] for sha256 in sorted(copied))]
    if yes and not dry_run:
        # The rows first: a row that promises a file which is gone would be worse than a file without a row.
        marked = set(mark_lost(books, [entry.id for entry in losing]))
        still = {sha256 for entry in losing if entry.id not in marked for sha256 in _hashes(entry)}
        going += [sizes[sha256] for sha256 in sorted(lost - still)]
    removed = [(path, size) for path, size in going if dry_run or _removed(path)]
    if not dry_run:
        _drop_made_of_nothing(shelf)
    return Pruned(
        len(removed), Bytes(sum(size for _, size in removed)), tuple(entry.id for entry in losing),
        Bytes(sum(sizes[sha256][1] for sha256 in lost)), sum(entry.credits or 0 for entry in losing), dry_run,
        yes and not dry_run,
    )  # fmt: skip


def _stored(books: Books) -> Iterator[Entry]:
    found = pages(
        books, ", ".join(list(Entry.__dataclass_fields__)[1:]), where="state = 'stored' AND media IS NOT NULL"
    )
    return (Entry(*row) for rows in found for row in rows)


def _hashes(entry: Entry) -> list[str]:
    return [str(file.get("sha256")) for file in files_of(entry)]


def _is_whole(path: Path, sha256: str) -> bool:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == sha256
    except FileNotFoundError:
        return True  # Somebody has just removed it, so it is missing and not damaged.
    except OSError as error:
        if error.errno is not None and isinstance(error, PermissionError):
            raise ReelbookError(
                f"{path} cannot be read ({error.strerror}). Make it readable for you, then verify again."
            ) from error
        return False  # The disk itself gives it back no more.


def _aside(path: Path) -> Path:
    """Move a damaged file out of the way, under a name that is free."""
    folder = path.parent / DAMAGED
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        target, number = folder / path.name, 1
        while target.exists():
            number += 1
            target = folder / f"{path.stem}-{number}{path.suffix}"
        return path.replace(target)
    except OSError as error:
        raise ReelbookError(
            f"{path} is damaged and could not be moved to {folder} ({error.strerror}). Make the folder writable, then verify again."
        ) from error


def _strangers(shelf: Shelf) -> Iterator[Path]:
    for entry in _entries(shelf):
        part = entry.name.endswith((".part", ".part.json"))
        is_ours = (SHA256.fullmatch(entry.name[:64]) and entry.name[64:] in SUFFIXES) or part or entry.name == DAMAGED
        if not is_ours:
            yield Path(entry.path)


def _entries(shelf: Shelf) -> Iterator[os.DirEntry[str]]:
    return _in(shelf.folder)


def _in(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except (FileNotFoundError, NotADirectoryError):
        return


def _marked(books: Books, runs: Sequence[int]) -> list[bool]:
    owner, marked = books.owner if runs else "", []
    for start in range(0, len(runs), _TOGETHER):
        asked = [books.ask(_refetched(run, owner)) for run in runs[start : start + _TOGETHER]]
        marked += [future.result() for future in asked]
    return marked


def _refetched(run: int, owner: str) -> Callable[[sqlite3.Connection], bool]:
    def mark(db: sqlite3.Connection) -> bool:
        entry = ledger.read(db, run)
        if entry.state != ledger.STORED or entry.owner is not None:
            return False
        ledger.refetch(db, run, owner)
        ledger.left(db, run, owner)
        return True

    return mark


def _sorted(books: Books, before: float, keep: Collection[int]) -> tuple[list[Entry], set[str]]:
    """The stored runs that are old enough, and the files that all others name, which therefore stay."""
    chosen = frozenset(keep)
    old: list[Entry] = []
    kept: set[str] = set()
    for entry in _stored(books):
        if (entry.finished or entry.created) < before and entry.id not in chosen and entry.owner is None:
            old.append(entry)
        else:
            kept.update(_hashes(entry))
    # Pictures of inputs, and files of runs that are not finished here.
    unfinished = "CASE WHEN state != 'stored' THEN coalesce(output, '') || coalesce(media, '') END"
    for rows in pages(books, f"input || ' ' || coalesce({unfinished}, '')"):
        kept.update(sha256 for _, text in rows for sha256 in _NAMED.findall(text))
    return old, kept


def _spare(shelf: Shelf, books: Books, before: float) -> list[tuple[Path, int]]:
    """Halves of downloads, and files that no row names, if they are old."""
    texts = pages(books, "input || ' ' || coalesce(output, '') || ' ' || coalesce(media, '')")
    known = {sha256 for rows in texts for _, text in rows for sha256 in _NAMED.findall(text)}
    found = []
    for entry in _entries(shelf):
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
    here = {entry.name[:64] for entry in _entries(shelf)}
    for name in MADE:
        for kept in _in(shelf.folder.parent / name):
            if SHA256.fullmatch(kept.name[:64]) and kept.name[:64] not in here:
                with contextlib.suppress(OSError):
                    os.unlink(kept.path)  # noqa: PTH108  # A DirEntry has no unlink.


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
