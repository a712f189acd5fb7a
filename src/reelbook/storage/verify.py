"""Verify the files of a library against their hashes, and list and measure them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import ReelbookError
from ..util.printable import format_count
from .byte_count import Bytes
from .ledger import transitions
from .ledger.reads import read_pages
from .ledger.transitions import Entry, State
from .ledger.writer import Ledger
from .merge.library_merge import OnProgress, get_files
from .shelf import SHA256, SUFFIXES, Shelf, hash_file, list_entries, list_files

DAMAGED = "damaged"
"""The folder to which damaged files are moved; they are never deleted."""

ENTRY_COLUMNS = ", ".join(list(Entry.__dataclass_fields__)[1:])
"""The columns of an `Entry` after its number."""
_RUNS_PER_COMMIT = 256


@dataclass(frozen=True, slots=True)
class Verified:
    """The result of `verify`."""

    checked: int
    damaged: tuple[Path, ...] = ()
    """The paths to which damaged files were moved."""
    missing: tuple[str, ...] = ()
    """Hashes of files that a run references and that are not on the shelf."""
    strangers: tuple[Path, ...] = ()
    """Other entries in the folder, which are not files of a library."""
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
        parts += [f"{format_count(len(self.strangers), 'stranger')} left alone"] if self.strangers else []
        return f"<{', '.join(parts if not self.sound or self.strangers else [*parts, 'all sound'])}>"


def get_size(shelf: Shelf) -> Bytes:
    """Total size of the files on this machine."""
    return Bytes(
        sum(facts.st_size for entry, facts in list_files(shelf.folder) if entry.is_file(follow_symlinks=False))
    )


def get_paths(shelf: Shelf) -> Mapping[str, str]:
    """The path of each file on this machine, by hash."""
    try:
        names = os.listdir(shelf.folder)  # noqa: PTH208  # A hundred thousand Path objects would take a second.
    except (FileNotFoundError, NotADirectoryError):
        return {}
    start = f"{shelf.folder}{os.sep}"
    return {name[:64]: start + name for name in names if name[64:] in SUFFIXES}


def verify_files(
    shelf: Shelf, ledger: Ledger, progress: OnProgress | None = None, only: Collection[int] | None = None
) -> Verified:
    """Check all files, or those of some runs: damaged ones are moved aside, and runs that lost a file reopened."""
    chosen = None if only is None else frozenset(only)
    mine = (
        None
        if chosen is None
        else {name for run in read_stored_runs(ledger) if run.id in chosen for name in get_hashes(run)}
    )
    names = [(sha256, path) for sha256, path, _ in shelf.names() if path.exists() and (mine is None or sha256 in mine)]
    damaged: list[Path] = []
    for done, (sha256, path) in enumerate(names, 1):
        if not _is_intact(path, sha256):
            damaged.append(_move_aside(path))
        if progress is not None:
            progress(done, len(names))
    known = {sha256 for sha256, _, _ in shelf.names()}
    lost: dict[str, None] = {}
    runs = []
    for entry in read_stored_runs(ledger):
        gone = [sha256 for sha256 in get_hashes(entry) if sha256 not in known]
        if gone and (mine is None or not mine.isdisjoint(gone)):
            lost |= dict.fromkeys(gone)
            runs.append(entry.id)
    marked = mark_lost(ledger, runs)
    return Verified(
        len(names), tuple(damaged), tuple(lost), tuple(_find_strangers(shelf) if mine is None else ()), marked
    )


def mark_lost(ledger: Ledger, runs: Sequence[int]) -> tuple[int, ...]:
    """Reopen stored runs, so that their files are downloaded again when next used; returns those reopened."""
    return tuple(run for run, marked in zip(runs, _mark_lost_each(ledger, runs), strict=True) if marked)


def read_entries(ledger: Ledger, where: str) -> Iterator[Entry]:
    """Iterate over the runs for which a condition on their columns holds."""
    return (Entry(*row) for rows in read_pages(ledger, ENTRY_COLUMNS, where=where) for row in rows)


def read_stored_runs(ledger: Ledger) -> Iterator[Entry]:
    """Iterate over the runs in the state `stored` with files."""
    return read_entries(ledger, "state = 'stored' AND media IS NOT NULL")


def get_hashes(entry: Entry) -> list[str]:
    """The hashes of a run's files."""
    return [str(file.get("sha256")) for file in get_files(entry)]


def _is_intact(path: Path, sha256: str) -> bool:
    try:
        return hash_file(path) == sha256
    except FileNotFoundError:
        return True  # Just removed: it is missing, not damaged.
    except OSError as error:
        if error.errno is not None and isinstance(error, PermissionError):
            raise ReelbookError(
                f"{path} cannot be read ({error.strerror}). Make it readable for you, then verify again."
            ) from error
        return False  # The disk cannot read it.


def _move_aside(path: Path) -> Path:
    """Move a damaged file to the folder of damaged ones, under an unused name."""
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


def _find_strangers(shelf: Shelf) -> Iterator[Path]:
    for entry in list_entries(shelf.folder):
        part = entry.name.endswith((".part", ".part.json"))
        is_ours = (SHA256.fullmatch(entry.name[:64]) and entry.name[64:] in SUFFIXES) or part or entry.name == DAMAGED
        if not is_ours:
            yield Path(entry.path)


def _mark_lost_each(ledger: Ledger, runs: Sequence[int]) -> list[bool]:
    owner, marked = ledger.owner if runs else "", []
    for start in range(0, len(runs), _RUNS_PER_COMMIT):
        futures = [ledger.submit(_make_reopening(run, owner)) for run in runs[start : start + _RUNS_PER_COMMIT]]
        marked += [future.result() for future in futures]
    return marked


def _make_reopening(run: int, owner: str) -> Callable[[sqlite3.Connection], bool]:
    def mark(db: sqlite3.Connection) -> bool:
        entry = transitions.get_entry(db, run)
        if entry.state != State.STORED or entry.owner is not None:
            return False
        transitions.reopen(db, run, owner)
        transitions.release(db, run, owner)
        return True

    return mark
