"""The files of a library: how much they take, and whether they are whole."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import ReelbookError
from .byte_count import Bytes
from .ledger import transitions
from .ledger.reads import pages
from .ledger.transitions import Entry
from .ledger.writer import Ledger
from .merge.library_merge import Progress, files_of
from .shelf import SHA256, SUFFIXES, Shelf

DAMAGED = "damaged"
"""The folder beside the files where damaged ones are moved, never deleted."""

_TOGETHER = 256


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
        told = [f"{many(self.checked, 'file')} checked"]
        told += [f"{len(self.damaged):,} damaged and moved to {self.damaged[0].parent}"] if self.damaged else []
        told += [f"{len(self.missing):,} missing"] if self.missing else []
        if self.runs:
            shown = ", ".join(map(str, self.runs[:10])) + (", …" if len(self.runs) > 10 else "")
            told.append(f"{many(len(self.runs), 'run')} to be fetched again ({shown})")
        told += [f"{many(len(self.strangers), 'stranger')} left alone"] if self.strangers else []
        return f"<{', '.join(told if not self.sound or self.strangers else [*told, 'all sound'])}>"


def size_of(shelf: Shelf) -> Bytes:
    """What all files take on this machine."""
    return Bytes(
        sum(entry.stat().st_size for entry in entries_in(shelf.folder) if entry.is_file(follow_symlinks=False))
    )


def paths_of(shelf: Shelf) -> Mapping[str, str]:
    """Where each file is on this machine, by its hash."""
    try:
        names = os.listdir(shelf.folder)  # noqa: PTH208  # Names alone: a hundred thousand paths would take a second.
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return {name[:64]: f"{shelf.folder}{os.sep}{name}" for name in names if name[64:] in SUFFIXES}


def verified(
    shelf: Shelf, ledger: Ledger, progress: Progress | None = None, only: Collection[int] | None = None
) -> Verified:
    """Read every file again, or those of some runs. Damaged ones are moved aside, and the runs that lose one are set to fetch it again."""
    chosen = None if only is None else frozenset(only)
    mine = (
        None if chosen is None else {name for one in stored_runs(ledger) if one.id in chosen for name in hashes_of(one)}
    )
    names = [(sha256, path) for sha256, path, _ in shelf.names() if path.exists() and (mine is None or sha256 in mine)]
    damaged: list[Path] = []
    for done, (sha256, path) in enumerate(names, 1):
        if not _is_whole(path, sha256):
            damaged.append(_aside(path))
        if progress is not None:
            progress(done, len(names))
    known = {sha256 for sha256, _, _ in shelf.names()}
    lost: dict[str, None] = {}
    runs = []
    for entry in stored_runs(ledger):
        gone = [sha256 for sha256 in hashes_of(entry) if sha256 not in known]
        if gone and (mine is None or not mine.isdisjoint(gone)):
            lost |= dict.fromkeys(gone)
            runs.append(entry.id)
    marked = mark_lost(ledger, runs)
    return Verified(len(names), tuple(damaged), tuple(lost), tuple(_strangers(shelf) if mine is None else ()), marked)


def mark_lost(ledger: Ledger, runs: Sequence[int]) -> tuple[int, ...]:
    """Set stored runs so that their files are fetched again when they are next wanted; returns those that were."""
    return tuple(run for run, marked in zip(runs, _marked(ledger, runs), strict=True) if marked)


def stored_runs(ledger: Ledger) -> Iterator[Entry]:
    """The runs whose files are on the shelf."""
    found = pages(
        ledger, ", ".join(list(Entry.__dataclass_fields__)[1:]), where="state = 'stored' AND media IS NOT NULL"
    )
    return (Entry(*row) for rows in found for row in rows)


def hashes_of(entry: Entry) -> list[str]:
    """The hashes of its files."""
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
    for entry in entries_in(shelf.folder):
        part = entry.name.endswith((".part", ".part.json"))
        is_ours = (SHA256.fullmatch(entry.name[:64]) and entry.name[64:] in SUFFIXES) or part or entry.name == DAMAGED
        if not is_ours:
            yield Path(entry.path)


def entries_in(folder: Path) -> Iterator[os.DirEntry[str]]:
    """What lies in a folder; nothing where there is none."""
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except (FileNotFoundError, NotADirectoryError):
        return


def _marked(ledger: Ledger, runs: Sequence[int]) -> list[bool]:
    owner, marked = ledger.owner if runs else "", []
    for start in range(0, len(runs), _TOGETHER):
        asked = [ledger.ask(_refetched(run, owner)) for run in runs[start : start + _TOGETHER]]
        marked += [future.result() for future in asked]
    return marked


def _refetched(run: int, owner: str) -> Callable[[sqlite3.Connection], bool]:
    def mark(db: sqlite3.Connection) -> bool:
        entry = transitions.read(db, run)
        if entry.state != transitions.STORED or entry.owner is not None:
            return False
        transitions.refetch(db, run, owner)
        transitions.left(db, run, owner)
        return True

    return mark


def many(count: int, what: str) -> str:
    """A number with its noun."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
