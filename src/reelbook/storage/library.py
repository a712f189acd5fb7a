"""`Library`: all runs in a folder as a table, with search, export, adoption, verification and pruning."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from numbers import Integral
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import ReelbookError
from .adopt import MEDIA, Adopted, adopt_library, find_library
from .export import Axes, Numbers, Write, export_runs, read_export_rows
from .judgements import Judgements
from .ledger import writer
from .ledger.transitions import Entry
from .ledger.writer import Ledger
from .library_folder import parse_folder
from .run_status import RunStatus, get_library_status
from .search import filter_rows, parse_span
from .select_runs import Selection, Which, find_table, select_runs, usage_error
from .shelf import SHA256, Bytes, Shelf
from .table import READ_COLUMNS, build_table, parse_texts
from .tidy import Pruned, Verified, get_paths, prune_files, verify_files
from .uncertain import Uncertain, Uncertainties, format_entry_input

_READ = ", ".join(READ_COLUMNS)


class NoSuchRun(ReelbookError, KeyError):
    """No run of this library has this number."""

    def __init__(self, folder: str, run: Any) -> None:
        super().__init__(folder, run)
        self.folder, self.run = folder, run

    def __str__(self) -> str:
        return (
            f"There is no run {self.run!r} in the library in {self.folder}. The numbers are the index of library.frame; "
            "find(prompt=…) finds a run by its input."
        )


@dataclass(frozen=True, slots=True)
class Recent:
    """A recent run with the facts for a short list."""

    run: int
    what: str
    model: str
    status: str
    credits: int | None
    credits_source: str
    created: float
    path: Path | None
    """The path of its first file, if that is on this machine."""
    seed: int | None = None
    """Its seed, which distinguishes it from runs with the same input."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Summary figures of a library."""

    folder: Path
    runs: int
    by_status: dict[str, int]
    """Number of runs by status, the most frequent first."""
    credits: int
    """Actual or possible cost of all runs with known prices."""
    certain: bool
    """Whether the service charged all of it, and nothing is estimated."""
    size: Bytes
    files: int
    uncertain: int
    last: tuple[Recent, ...]
    """The most recent runs, newest first."""


class Library:
    """The runs and files in a folder, returned by `rb.library()`. Nothing is created on disk before the first write.

    Example::

        rb.run(boat)
        library = rb.library()
        len(library), library.uncertain
    """

    def __init__(
        self,
        folder: Path | None,
        ledger: Ledger | Callable[[], Ledger],
        shelf: Shelf,
        *,
        resend: Callable[[Entry], Any] | None = None,
        attach: Callable[[Entry, str], Any] | None = None,
        write: Write | None = None,
        runs: Callable[[Sequence[Entry]], Sequence[Any]] | None = None,
    ) -> None:
        """`ledger` may be a function that opens it lazily; the other functions are operations that require a client."""
        self._given = ledger
        self.folder = folder if folder is not None else self._ledger.folder
        self._shelf, self._write, self._runs = shelf, write, runs
        self._attach, self._resend = attach, resend

    @property
    def frame(self) -> pd.DataFrame:
        """One row per run, newest last: the fields of the input, `output_…`, then status, credits and times."""
        frame = build_table(self._select(_READ), get_paths(self._shelf))
        frame.attrs["reelbook"] = {"library": str(self.folder)}
        return frame

    def find(self, **fields: Any) -> pd.DataFrame:
        """The runs whose fields all match: `find(prompt="boat", model="text-to-video", since="7d")`.

        Text matches anywhere in a field, ignoring case; other values must be equal; a list matches if any entry does;
        None matches empty fields.
        """
        return filter_rows(self.frame, fields)

    @property
    def uncertain(self) -> Uncertainties:
        """The uncertain runs, each with `attach(request_id)`, `resubmit()` and `write_off()`."""
        entries = self._find_entries("state = 'uncertain'")
        return Uncertainties(Uncertain(entry, self._ledger, self._attach, self._resend) for entry in entries)

    def export(self, folder: str | Path, where: Which = None) -> Path:
        """Copy runs to a folder: the files under readable names with provenance, `runs.csv` and `runs.json`.

        `where` selects the runs: the rows of any table of runs, a `Run`, a job, or request ids; they are found by
        request id and service. Rows of a table keep its numbers, and its axes are in the names. Existing files are kept;
        a repeated export copies only what is missing. Judgements among these runs are in `runs.json`. In `runs.csv`, text that a
        spreadsheet would take for a formula is prefixed with an apostrophe.
        """
        target = parse_folder(folder, "be a folder to export to")
        frame, table = self.frame, find_table(where)
        rows: tuple[Numbers, Axes] = ({}, {})
        if where is not None:
            selection = self._find(where, warns=True)
            frame = frame.loc[selection.runs]
            if table is not None and len(frame):
                rows = read_export_rows(table, selection.each)
        entries = self._get_entries(frame.index)
        judged = self.judgements.read(clips={entry.request_id for entry in entries if entry.request_id is not None})
        return export_runs(target, entries, frame, self._get_local_paths(entries), self._write, judged, rows)

    @property
    def judgements(self) -> Judgements:
        """The judgements of clips in this library, as `rb.judge` stores and reads them."""
        return Judgements(lambda: self._ledger, lambda: self._is_there)

    def runs_with(self, sha256: str) -> list[Entry]:
        """The runs that produced a file with this hash, newest last."""
        # In foreign text the quotes are escaped; and a hash contains no wildcards.
        return self._find_entries(f'media LIKE \'%"sha256":"{sha256}"%\'' if SHA256.fullmatch(sha256) else "0")

    def run(self, which: Any) -> Any:
        """The `Run` of a number in this library, a request id, or a row of a table, with its video and pictures."""
        is_number = isinstance(which, Integral) and not isinstance(which, bool)
        selection = Selection([int(which)], []) if is_number else self._find(which)
        entries = self._get_entries(selection.runs)
        if len(entries) > 1:
            raise usage_error(f"This names {len(entries):,} runs, and run() gives one. Take runs(…) for all of them.")
        if not entries and not selection.unsent:
            raise NoSuchRun(str(self.folder), which)
        if not entries or entries[0].request_id is None:
            label = selection.unsent[0] if not entries else f"run {entries[0].id} of the library"
            state = "" if not entries else f" It is {get_library_status(entries[0].stage)}."
            raise ReelbookError(
                f"There is no run to look at: no service has accepted {label}.{state} Run the same again to send it; "
                "rb.library().uncertain lists what may have been paid for."
            )
        return self._build_runs(entries)[0]

    def numbers(self, where: Which) -> list[int]:
        """The numbers of the selected runs, as for `export`; unknown or ambiguous runs raise an error."""
        return self._find(where).runs

    def runs(self, where: Which = None) -> list[Any]:
        """The `Run` of each selected row, as for `export`; of all without `where`. Rows never sent are left out."""
        entries = [entry for entry in self.entries(where) if entry is not None and entry.request_id is not None]
        distinct = list({entry.id: entry for entry in entries}.values())
        runs = dict(zip((entry.id for entry in distinct), self._build_runs(distinct), strict=True))
        return [runs[entry.id] for entry in entries]

    def entries(self, where: Which = None) -> list[Entry | None]:
        """The ledger row of each selected run, as for `export`; None for each row never sent."""
        if where is None:
            return list(self._find_entries("1"))
        selection = self._find(where)
        entries = {entry.id: entry for entry in self._get_entries(selection.runs)}
        return [None if run is None else entries.get(run) for run in selection.each]

    def adopt(self, other: str | Path | Library) -> Adopted:
        """Copy the runs, files and judgements of another library into this one. The other is unchanged; repeats have no effect."""
        if isinstance(other, Library):
            folder, shelf = find_library(other.folder), other._shelf
        else:
            folder = find_library(parse_folder(other, "be the folder of another library"))
            shelf = Shelf(folder / MEDIA)
        return adopt_library(folder, shelf, self._ledger, self._shelf)

    def verify(self, where: Which = None) -> Verified:
        """Check every file against its hash: damaged ones are moved aside, and downloaded again when next used.

        `where` selects the runs whose files are checked, as for `export`; default: all.
        """
        only = None if where is None else self._find(where, warns=True).runs
        return verify_files(self._shelf, self._ledger, only) if self._is_there else Verified(0)

    @property
    def size(self) -> Bytes:
        """Total size of the files on this machine."""
        return self._shelf.size

    def prune(
        self,
        older_than: str | float | timedelta = "30d",
        *,
        keep: Which = None,
        dry_run: bool = False,
        yes: bool = False,
    ) -> Pruned:
        """Remove old files that can be restored at no cost, and report old runs whose files would be paid for again.

        Those are listed in a table and removed only with `yes=True`. Rows are never removed. `keep` selects runs whose
        files are kept, like `where` of `export`; `dry_run=True` removes nothing.
        """
        age = parse_span(older_than)
        spared = [] if keep is None else self._find(keep, warns=True).runs
        if keep is not None and not spared:
            raise usage_error(
                "`keep` selects no runs, so the files of all old runs would be removed. Check what it should "
                "select; omit it if nothing is to be kept."
            )
        if not self._is_there:
            return Pruned(0, Bytes(0), dry_run=dry_run)
        return prune_files(self._shelf, self._ledger, age, spared, dry_run=dry_run, yes=yes)

    def summary(self, last: int = 6) -> Summary:
        """Summary figures of the library, with its most recent runs."""
        counts: dict[str, int] = {}
        total, certain = 0, True
        for stage, count, cost, estimated in self._select(
            "stage, count(*), sum(credits), sum(credits > 0 AND charged IS NULL)", "1 GROUP BY stage"
        ):
            word = get_library_status(stage)
            counts[word] = counts.get(word, 0) + count
            total, certain = total + (cost or 0), certain and not estimated
        newest = "id IN (SELECT id FROM runs ORDER BY created DESC, id DESC LIMIT ?)"
        entries = sorted(self._find_entries(newest, last), key=lambda entry: (entry.created, entry.id), reverse=True)
        paths = get_paths(self._shelf)
        return Summary(
            self.folder, sum(counts.values()), dict(sorted(counts.items(), key=lambda item: -item[1])), total, certain,
            self.size, len(paths), counts.get(RunStatus.UNCERTAIN, 0), tuple(_describe_recent(entry, paths) for entry in entries),
        )  # fmt: skip

    def __len__(self) -> int:
        return sum(count for (count,) in self._select("count(*)"))

    def __bool__(self) -> bool:
        # Not `len(self)`: an empty library is truthy, too.
        return True

    def __repr__(self) -> str:
        count = len(self)
        return f"<Library in {self.folder}: {count:,} {'run' if count == 1 else 'runs'}, {self.size}>"

    @functools.cached_property
    def _ledger(self) -> Ledger:
        return self._given() if callable(self._given) else self._given

    @property
    def _is_there(self) -> bool:
        return (self.folder / writer.NAME).exists()

    def _find(self, which: Which, *, warns: bool = False) -> Selection:
        """Resolve a selection of runs; `warns` about rows that were never sent."""
        selection = select_runs(which, self._ledger.read if self._is_there else None)
        if selection.unsent and warns:
            few = ", ".join(selection.unsent[:4]) + (", …" if len(selection.unsent) > 4 else "")
            warnings.warn(
                f"Left out, because nothing was ever sent for it: {few}. The library has no run of it.", stacklevel=3
            )
        return selection

    def _build_runs(self, entries: Sequence[Entry]) -> Sequence[Any]:
        if self._runs is None:
            raise ReelbookError(
                "This library was opened without what makes runs of its rows. Take it from rb.library()."
            )
        return self._runs(entries)

    def _select(self, columns: str, where: str = "1", values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """These columns of runs; none while the library does not exist."""
        return self._ledger.select(columns, where, values) if self._is_there else []

    def _find_entries(self, where: str, *values: Any) -> list[Entry]:
        return self._ledger.find_entries(where, *values) if self._is_there else []

    def _get_entries(self, runs: Collection[Any]) -> list[Entry]:
        """The rows of these numbers, in their order."""
        return self._ledger.get_entries(runs) if self._is_there else []

    def _get_local_paths(self, entries: Sequence[Entry]) -> dict[str, str]:
        """The local paths of these runs' files; those only on a remote shelf are downloaded."""
        here = dict(get_paths(self._shelf))
        for sha256 in dict.fromkeys(sha256 for entry in entries for sha256 in entry.hashes):
            if sha256 not in here and (path := self._shelf.find(sha256)) is not None:
                here[sha256] = str(path)
        return here


def _describe_recent(entry: Entry, paths: Mapping[str, str]) -> Recent:
    path = paths.get(entry.hashes[0]) if entry.hashes else None
    # The seed of the output, else that of the input.
    seeds = (values.get("seed") for values in parse_texts([entry.output, entry.input]) if isinstance(values, dict))
    return Recent(
        entry.id, format_entry_input(entry), entry.model, get_library_status(entry.stage), entry.credits,
        entry.credits_source, entry.created, Path(path) if path else None,
        next((seed for seed in seeds if type(seed) is int), None),
    )  # fmt: skip
