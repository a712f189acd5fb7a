"""Every run ever made here: as a table, to search, to settle, to pass on, and to keep in order."""

from __future__ import annotations

import contextlib
import functools
import sqlite3
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from numbers import Integral
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from ..errors import ReelbookError
from ..util.name_hints import Hinting, answering
from .byte_count import Bytes
from .export import Write, exported, folder_of
from .ledger import connection, transitions
from .ledger.reads import pages, some
from .ledger.schema import SCHEMA
from .ledger.transitions import Entry
from .ledger.writer import Ledger
from .merge.library_merge import MEDIA, Adopted, Progress, adopted, files_of, library_in
from .prune import Pruned, pruned
from .search import found, span
from .select_runs import Selection, Which, select, usage_error
from .shelf import SHA256, Shelf
from .table.library_table import READ, VIDEOS, WORDS, parsed, suffix_of, table
from .uncertain import Uncertain, Uncertainties, Ways, words_of
from .verify import Verified, paths_of, size_of, verified

T = TypeVar("T")

_LAST = 6
_READ, _ENTRY = (", ".join(names[1:]) for names in (READ, tuple(Entry.__dataclass_fields__)))


class NoSuchRun(ReelbookError, KeyError):
    """A number that no run of this library has."""

    def __init__(self, folder: str, run: Any) -> None:
        super().__init__(folder, run)
        self.folder, self.run = folder, run

    def __str__(self) -> str:
        return (
            f"There is no run {self.run!r} in the library in {self.folder}. The numbers are the index of library.frame; "
            "find(prompt=…) looks for a run by what was asked."
        )


@dataclass(frozen=True, slots=True)
class Recent:
    """One of the last runs, as far as a short list shows it."""

    run: int
    what: str
    model: str
    status: str
    credits: int | None
    credits_source: str
    created: float
    path: Path | None
    """Its first file, if that is on this machine."""
    is_video: bool
    seed: int | None = None
    """What tells it from others that were asked alike."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A library in a few numbers."""

    folder: Path
    runs: int
    by_status: dict[str, int]
    """How many runs there are of each status, the most frequent first."""
    credits: int
    """What all runs have cost, or may have cost, as far as is known."""
    certain: bool
    """Whether the service itself has told all of that."""
    size: Bytes
    files: int
    uncertain: int
    last: tuple[Recent, ...]
    """The last runs, the newest first."""


class Library(Hinting):
    """What `rb.library()` gives. Nothing is made on disk until something is written."""

    def __init__(
        self,
        folder: Path | None,
        ledger: Ledger | Callable[[], Ledger],
        shelf: Shelf,
        *,
        fetch: Callable[[Entry], Any] | None = None,
        resend: Callable[[Entry], Any] | None = None,
        attach: Callable[[Entry, str], Any] | None = None,
        write: Write | None = None,
        runs: Callable[[Sequence[Entry]], Sequence[Any]] | None = None,
    ) -> None:
        """`ledger` may be a function that opens them when they are first needed; what needs a client is handed in."""
        self._given = ledger
        self.folder = folder if folder is not None else self._ledger.folder
        self._shelf, self._fetch, self._write, self._runs = shelf, fetch, write, runs
        self._ways = Ways(attach, resend)

    @property
    def frame(self) -> pd.DataFrame:
        """One row for each run, the newest last: inputs under their own names, `output_…`, then how it went."""
        rows = pages(self._ledger, _READ) if self._is_there else iter(())
        frame = table(rows, paths_of(self._shelf))
        frame.attrs["reelbook"] = {"library": str(self.folder)}
        return frame

    @answering("library.find(prompt='fox')")
    def find(self, **fields: Any) -> pd.DataFrame:
        """The runs where every field is as wanted: `find(prompt="boat", model="text-to-video", since="7d")`.

        Text is looked for anywhere in a field, in capitals or not; anything else is equal; of a list, one entry is enough;
        None means that the field is empty.
        """
        return found(self.frame, fields)

    @property
    def uncertain(self) -> Uncertainties:
        """Runs whose answer was lost, with `attach(request_id)`, `resubmit()` and `write_off()` for each."""
        found = pages(self._ledger, _ENTRY, where="state = 'uncertain'") if self._is_there else iter(())
        return Uncertainties(Uncertain(Entry(*row), self._ledger, self._ways) for rows in found for row in rows)

    def export(self, folder: str | Path, where: Which = None, *, progress: Progress | None = None) -> Path:
        """A folder for others: the files under names to read, each with its provenance, and `runs.csv` and `runs.json`.

        `where` says which runs: the rows of any table of runs, a `Run`, a job, request ids, or a function of a row; they
        are found by request id and service. What is in the folder stays; done again, it copies what is missing. In
        `runs.csv` an apostrophe stands before what a spreadsheet would take for a formula.
        """
        target = folder_of(folder, "The runs are exported to a folder")
        frame = self._rows(where)
        return exported(target, self._entries(frame.index), frame, self._local(frame), self._write, progress)

    def runs_with(self, sha256: str) -> list[Entry]:
        """The runs that have made a file of this content, the newest last."""
        # Of a text of a stranger, the quotes have backslashes; and a hash has no wildcards.
        where = f'media LIKE \'%"sha256":"{sha256}"%\'' if SHA256.fullmatch(sha256) else "0"
        found = pages(self._ledger, _ENTRY, where=where) if self._is_there else iter(())
        return [Entry(*row) for rows in found for row in rows]

    def run(self, which: Any) -> Any:
        """The `Run` of a number here, of a request id, or of a row of a table, with its video and pictures."""
        is_number = isinstance(which, Integral) and not isinstance(which, bool)
        found = Selection([int(which)], [], []) if is_number else self._find(which)
        entries = self._entries(found.runs)
        if len(entries) > 1:
            raise usage_error(f"This names {len(entries):,} runs, and run() gives one. Take runs(…) for all of them.")
        if not entries and not found.unsent:
            raise NoSuchRun(str(self.folder), which)
        if not entries or entries[0].request_id is None:
            said = found.unsent[0] if not entries else f"run {entries[0].id} of the library"
            state = "" if not entries else f" It is {WORDS.get(entries[0].state, entries[0].state)}."
            raise ReelbookError(
                f"There is no run to look at: no service has accepted {said}.{state} Run the same again to send it; "
                "rb.library().uncertain lists what may have been paid for."
            )
        return self._made(entries)[0]

    def numbers(self, where: Which) -> list[int]:
        """The numbers of the runs that are meant, in the ways of `export`; what is not here or is ambiguous is refused."""
        return self._find(where).runs

    def runs(self, where: Which = None) -> list[Any]:
        """The `Run` of each row that is meant, as for `export`; of all if none is named. Rows that were never sent are left out."""
        each = list(self) if where is None else [run for run in self._find(where).each if run is not None]
        entries = [entry for entry in self._entries(dict.fromkeys(each)) if entry.request_id is not None]
        made = dict(zip((entry.id for entry in entries), self._made(entries), strict=True))
        return [made[run] for run in each if run in made]

    def adopt(self, other: str | Path | Library, *, progress: Progress | None = None) -> Adopted:
        """Take in the runs and files of another library, which stays as it is. Done twice, nothing more happens."""
        if isinstance(other, Library):
            place, theirs = library_in(other.folder), other._shelf
        else:
            place = library_in(folder_of(other, "Another library is adopted by its folder"))
            theirs = Shelf(place / MEDIA)
        return adopted(place, theirs, self._ledger, self._shelf, progress=progress)

    def verify(self, where: Which = None, *, mend: bool = False, progress: Progress | None = None) -> Verified:
        """Read every file again. Damaged ones are moved aside, and their runs fetch them again when next wanted.

        `mend=True` fetches them now. `where` names the runs whose files are read, as for `export`; otherwise all are.
        """
        only = None if where is None else self._select(where).runs
        if not self._is_there:
            return Verified(0)
        report = verified(self._shelf, self._ledger, progress, only)
        if mend and report.runs:
            if self._fetch is None:
                raise ReelbookError(
                    f"{report!r} To fetch files again now, a client is needed: connect first, then rb.library().verify(mend=True)."
                )
            for entry in self._entries(report.runs):
                self._fetch(entry)
        return report

    @property
    def size(self) -> Bytes:
        """How much room the files take on this machine."""
        return size_of(self._shelf)

    def prune(
        self,
        older_than: str | float | timedelta = "30d",
        *,
        keep: Which = None,
        dry_run: bool = False,
        yes: bool = False,
    ) -> Pruned:
        """Make room: remove old files that can be had again, and say which old runs' files could only be had for money.

        Those are listed in a table and go with `yes=True` alone. Rows always stay. `keep` names runs that keep their
        files, in the same ways as `where` of `export`, but never by numbers alone; `dry_run=True` removes nothing.
        """
        age = span(older_than)
        kept = [] if keep is None else self._select(keep, removes=True).runs
        if keep is not None and not kept:
            raise usage_error(
                "`keep` names no run, so that the files of all old runs would go. Check what it is to select; "
                "leave it out if nothing is to be kept."
            )
        if not self._is_there:
            return Pruned(0, Bytes(0), dry_run=dry_run)
        return pruned(self._shelf, self._ledger, age, kept, dry_run=dry_run, yes=yes)

    def summary(self, last: int = _LAST) -> Summary:
        """The library in a few numbers, with its last runs."""
        sizes = list(paths_of(self._shelf))
        nothing = Summary(self.folder, 0, {}, 0, True, self.size, len(sizes), 0, ())
        return self._look(lambda db: self._summed(db, nothing, last), lambda: nothing)

    def __len__(self) -> int:
        return self._look(lambda db: int(db.execute("SELECT count(*) FROM runs").fetchone()[0]), int)

    def __iter__(self) -> Iterator[int]:
        """The numbers of all runs."""
        numbers: list[int] = self._look(
            lambda db: [row[0] for row in db.execute("SELECT id FROM runs ORDER BY id")], list
        )
        return iter(numbers)

    def __contains__(self, run: object) -> bool:
        return isinstance(run, Integral) and bool(self._entries([int(run)]))

    def __getitem__(self, run: int) -> pd.Series[Any]:
        """One run as a row of the table, without the fields of other models."""
        if run not in self:
            raise NoSuchRun(str(self.folder), run)
        return table([some(self._ledger, _READ, [run])], paths_of(self._shelf)).iloc[0]

    def __bool__(self) -> bool:
        # An empty library is a library all the same.
        return True

    def __repr__(self) -> str:
        count = len(self)
        return f"<Library in {self.folder}: {count:,} {'run' if count == 1 else 'runs'}, {self.size}>"

    @functools.cached_property
    def _ledger(self) -> Ledger:
        return self._given() if callable(self._given) else self._given

    @property
    def _is_there(self) -> bool:
        return (self.folder / connection.NAME).exists()

    def _look(self, work: Callable[[sqlite3.Connection], T], otherwise: Callable[[], T]) -> T:
        return self._ledger.look(work) if self._is_there else otherwise()

    def _find(self, which: Which, *, removes: bool = False) -> Selection:
        """The runs that are meant."""
        return select(which, self._read_if_present, lambda: self.frame, removes=removes)

    def _select(self, which: Which, *, removes: bool = False) -> Selection:
        """The same, with a word about rows that were never sent."""
        found = self._find(which, removes=removes)
        if found.unsent:
            few = ", ".join(found.unsent[:4]) + (", …" if len(found.unsent) > 4 else "")
            warnings.warn(
                f"Left out, because nothing was ever sent for it: {few}. The library has no run of it.", stacklevel=3
            )
        return found

    def _read_if_present(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What the ledger says; an empty one where nothing was run here yet."""
        if self._is_there:
            return self._ledger.look(work)
        with contextlib.closing(sqlite3.connect(":memory:")) as db:
            db.executescript(SCHEMA)
            return work(db)

    def _rows(self, where: Which) -> pd.DataFrame:
        if where is None:
            return self.frame
        runs = self._select(where).runs
        frame = self.frame
        return frame[frame.index.isin(runs)]

    def _made(self, entries: Sequence[Entry]) -> Sequence[Any]:
        if self._runs is None:
            raise ReelbookError(
                "This library was opened without what makes runs of its rows. Take it from rb.library()."
            )
        return self._runs(entries)

    def _entries(self, runs: Collection[Any]) -> list[Entry]:
        return [Entry(*row) for row in some(self._ledger, _ENTRY, runs)] if self._is_there else []

    def _local(self, frame: pd.DataFrame) -> dict[str, str]:
        """Where the files of these runs are; those on another shelf are brought here."""
        here = dict(paths_of(self._shelf))
        for entry in self._entries(frame.index):
            for sha256 in (str(file.get("sha256")) for file in files_of(entry)):
                if sha256 not in here and (path := self._shelf.find(sha256)) is not None:
                    here[sha256] = str(path)
        return here

    def _summed(self, db: sqlite3.Connection, nothing: Summary, last: int) -> Summary:
        counts: dict[str, int] = {}
        for state, count in db.execute("SELECT state, count(*) FROM runs GROUP BY state ORDER BY count(*) DESC"):
            word = WORDS.get(state, state)
            counts[word] = counts.get(word, 0) + count
        cost = db.execute(
            f"SELECT coalesce(sum({_COST}), 0), sum({_COST} > 0 AND charged IS NULL) FROM runs"
        ).fetchone()
        newest = f"SELECT {transitions.COLUMNS} FROM runs ORDER BY created DESC, id DESC LIMIT ?"
        paths = paths_of(self._shelf)
        recent = tuple(_recent(Entry(*row), paths) for row in db.execute(newest, (last,)))
        return Summary(
            nothing.folder, sum(counts.values()), dict(sorted(counts.items(), key=lambda one: -one[1])), int(cost[0]),
            not cost[1], nothing.size, nothing.files, counts.get("uncertain", 0), recent,
        )  # fmt: skip


_COST = """(spent + CASE WHEN charged IS NOT NULL THEN charged WHEN state IN ('planned', 'rejected') THEN 0
    ELSE coalesce(price, 0) END)"""
"""What a run has cost, or may have cost, as far as its price is known."""


def _recent(entry: Entry, paths: Any) -> Recent:
    file = next(iter(files_of(entry)), {})
    path = paths.get(str(file.get("sha256")))
    return Recent(
        entry.id, words_of(entry), entry.model, WORDS.get(entry.state, entry.state), entry.credits,
        "charged" if entry.charged is not None else "estimated", entry.created, Path(path) if path else None,
        suffix_of(file) in VIDEOS, _seed(entry),
    )  # fmt: skip


def _seed(entry: Entry) -> int | None:
    """The seed that was used, else the one that was asked for."""
    told = (known.get("seed") for known in parsed([entry.output, entry.input]) if isinstance(known, dict))
    return next((seed for seed in told if type(seed) is int), None)
