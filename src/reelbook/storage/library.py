"""`Library`: all runs in a folder as a table, with search, export, adoption, verification and pruning; and its uncertain runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import ReelbookError
from ..util.printable import format_count, format_line, format_size
from .export import export_runs
from .judgements import Judgements
from .ledger import transitions, writer
from .ledger.transitions import Entry
from .ledger.writer import Ledger
from .library_folder import find_library, parse_folder
from .run_status import STATUSES_BY_STAGE
from .select_runs import Which, filter_rows, find_table, select_runs, usage_error
from .shelf import SHA256, Shelf
from .table import INDEX_NAME, READ_COLUMNS, build_table, parse_text
from .tidy import adopt_library, prune_files, verify_files

_MAX_LETTERS = 60
ADVICE = (
    "Look into the account's history at the service. If it has the run: attach(request_id). "
    "If not: resubmit() sends it again, write_off() gives it up, and its price still counts."
)


class Library:
    """The runs and files in a folder, returned by `rb.library()`. Nothing is created on disk before the first write.

    Example::

        rb.run(boat)
        library = rb.library()
        len(library), library.uncertain
    """

    def __init__(
        self,
        folder: Path,
        open_ledger: Callable[[], Ledger],
        shelf: Shelf,
        client: Any = None,
        runs: Callable[[Sequence[Entry]], Sequence[Any]] = list,
    ) -> None:
        """`client` resolves uncertain runs, and `runs` makes `Run` objects of rows."""
        self.folder = folder
        self._ledger, self._shelf, self._client, self._build_runs = open_ledger, shelf, client, runs

    @property
    def frame(self) -> pd.DataFrame:
        """One row per run, newest last: the fields of the input, `output_…`, then status, credits and times."""
        return self._build_table("1")

    def find(self, **fields: Any) -> pd.DataFrame:
        """The runs whose fields all match: `find(prompt="boat", model="text-to-video")`.

        Text matches anywhere in a field, ignoring case; other values must be equal; a list matches if any entry does;
        None matches empty fields.
        """
        return filter_rows(self.frame, fields)

    def summary(self) -> pd.DataFrame:
        """One row per status: the number of runs, their actual or possible credits, and how many of those are estimates."""
        columns = "stage, count(*), coalesce(sum(credits), 0), coalesce(sum(credits > 0 AND charged IS NULL), 0)"
        rows = [(STATUSES_BY_STAGE[stage].value, *sums) for stage, *sums in self._select(columns, "1 GROUP BY stage")]
        frame = pd.DataFrame(rows, columns=["status", "runs", "credits", "estimated"])
        return frame.groupby("status").sum().sort_values("runs", ascending=False)

    def latest(self, count: int = 6) -> pd.DataFrame:
        """The rows of the most recent runs, newest last."""
        return self._build_table("id IN (SELECT id FROM runs ORDER BY created DESC, id DESC LIMIT ?)", count)

    @property
    def uncertain(self) -> Uncertainties:
        """The uncertain runs, each with `attach(request_id)`, `resubmit()` and `write_off()`."""
        entries = self._find_entries("state = 'uncertain'")
        return Uncertainties(Uncertain(entry, self._ledger(), self._client) for entry in entries)

    @property
    def judgements(self) -> Judgements:
        """The judgements of clips in this library, as `rb.judge` stores and reads them."""
        return Judgements(self._ledger, lambda: self._is_there)

    def export(self, folder: str | Path, where: Which = None) -> Path:
        """Copy runs to a folder: the files under readable names with provenance, and `runs.csv`.

        `where` selects the runs: the rows of any table of runs, a `Run`, a job, or request ids; they are found by
        request id and service. Rows of a table keep its numbers. Existing files are kept; a repeated export copies only
        what is missing. In `runs.csv`, text that a spreadsheet would take for a formula is prefixed with an apostrophe.
        """
        target = parse_folder(folder, "be a folder to export to")
        given, table = self.entries(where), find_table(where)
        labels: dict[int, int | str] = {}
        if table is not None and table.index.name != INDEX_NAME:
            for label, entry in zip(table.index.tolist(), given, strict=True):
                if entry is not None:
                    labels.setdefault(entry.id, label if isinstance(label, int) else str(label))
        entries = list({entry.id: entry for entry in given if entry is not None}.values())
        return export_runs(target, entries, self._get_rows([entry.id for entry in entries]), self._shelf, labels)

    def runs_with(self, sha256: str) -> list[Entry]:
        """The runs that produced a file with this hash, newest last."""
        # In foreign text the quotes are escaped; and a hash contains no wildcards.
        return self._find_entries(f'media LIKE \'%"sha256":"{sha256}"%\'' if SHA256.fullmatch(sha256) else "0")

    def run(self, which: Any) -> Any:
        """The `Run` of a number in this library, a request id, or a row of a table, with its video and pictures."""
        is_number = isinstance(which, Integral) and not isinstance(which, bool)
        entries = self._find_entries("id = ?", str(which)) if is_number else self.entries(which)
        if len(distinct := {entry and entry.id for entry in entries}) != 1:
            raise usage_error(
                f"This names {len(distinct):,} runs of the library in {self.folder}, and run() gives one. "
                "library.frame and library.find(prompt=…) list them, and runs(…) gives several."
            )
        entry = entries[0]
        if entry is None or entry.request_id is None:
            raise ReelbookError(
                "No service is known to have accepted this run. rb.library().uncertain lists what may have been paid for."
            )
        return self._build_runs([entry])[0]

    def runs(self, where: Which = None) -> list[Any]:
        """The `Run` of each selected row, as for `export`; of all without `where`. Rows never sent are left out."""
        return list(self._build_runs([entry for entry in self.entries(where) if entry and entry.request_id]))

    def adopt(self, other: str | Path | Library) -> str:
        """Copy the runs, files and judgements of another library into this one, and say how many. The other is unchanged."""
        if isinstance(other, Library):
            folder, shelf = find_library(other.folder), other._shelf
        else:
            folder = find_library(parse_folder(other, "be the folder of another library"))
            shelf = Shelf(folder / "media")
        return adopt_library(folder, shelf, self._ledger(), self._shelf)

    def verify(self, where: Which = None) -> str:
        """Check every file against its hash: damaged ones are moved aside, and downloaded again when next used.

        `where` selects the runs whose files are checked, as for `export`; default: all.
        """
        only = None if where is None else {entry.id for entry in self.entries(where) if entry is not None}
        return verify_files(self._shelf, self._ledger(), only) if self._is_there else "0 files checked"

    @property
    def size(self) -> int:
        """Total size of the files on this machine, in bytes."""
        return self._shelf.size

    def prune(self, older_than: float = 30, *, keep: Which = None, yes: bool = False) -> pd.DataFrame:
        """Remove old files that no run needs, and list the old runs whose files could only be had again for money.

        Old is what has more than `older_than` days. The files of the listed runs are removed only with `yes=True`, and
        their rows never. `keep` selects runs whose files are kept, like `where` of `export`. The column `bytes` is the
        size of a run's files.
        """
        if not isinstance(older_than, Real) or not 0 <= older_than < 100_000:
            raise usage_error(f"{older_than!r} is not a number of days.")
        kept = set() if keep is None else {entry.id for entry in self.entries(keep) if entry is not None}
        if keep is not None and not kept:
            raise usage_error(
                "`keep` selects no runs, so the files of all old runs would be removed. Check what it should "
                "select; omit it if nothing is to be kept."
            )
        sizes = prune_files(self._shelf, self._ledger(), older_than, kept, yes=yes) if self._is_there else {}
        return self._get_rows(list(sizes)).assign(bytes=list(sizes.values()))

    def __len__(self) -> int:
        return sum(count for (count,) in self._select("count(*)"))

    def __repr__(self) -> str:
        return f"<Library in {self.folder}: {format_count(len(self), 'run')}, {format_size(self.size)}>"

    @property
    def _is_there(self) -> bool:
        return (self.folder / writer.NAME).exists()

    def entries(self, where: Which = None) -> list[Entry | None]:
        """The ledger row of each selected run, as for `export`; None for each row that no service has accepted."""
        if where is None:
            return list(self._find_entries("1"))
        if not self._is_there:
            return select_runs(where, lambda *_: [])
        return self._ledger().read(lambda db: select_runs(where, partial(transitions.find_entries, db)))

    def _select(self, columns: str, where: str = "1", values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """These columns of runs; none while the library does not exist."""
        return self._ledger().select(columns, where, values) if self._is_there else []

    def _find_entries(self, where: str, *values: Any) -> list[Entry]:
        return self._ledger().find_entries(where, *values) if self._is_there else []

    def _build_table(self, where: str, *values: Any) -> pd.DataFrame:
        frame = build_table(self._select(", ".join(READ_COLUMNS), where, values), self._shelf.paths())
        frame.attrs["reelbook"] = {"library": str(self.folder)}
        return frame

    def _get_rows(self, runs: Collection[int]) -> pd.DataFrame:
        """The rows of these numbers, in their order."""
        return self._build_table("id IN (SELECT value FROM json_each(?))", json.dumps(runs)).loc[list(runs)]


@dataclass(frozen=True, slots=True)
class Uncertain:
    """An uncertain run, sent but without an answer, its possible cost, and three methods by which only the user can resolve it."""

    entry: Entry = field(repr=False)
    _ledger: Ledger = field(repr=False, compare=False)
    _client: Any = field(default=None, repr=False, compare=False)
    """The client that resolves it; without one the ledger is updated, and a later run continues."""

    @property
    def run(self) -> int:
        """Its number in the library."""
        return self.entry.id

    @property
    def what(self) -> str:
        """Its input as a short text: the prompt if there is one."""
        values = parse_text(self.entry.input)
        prompt = values.get("prompt") if isinstance(values, dict) else None
        text = format_line(str(prompt or self.entry.model))
        return text if len(text) <= _MAX_LETTERS else f"{text[: _MAX_LETTERS - 1].rstrip()}…"

    @property
    def when(self) -> datetime:
        """When it was sent."""
        return datetime.fromtimestamp(self.entry.sent or self.entry.created, UTC)

    @property
    def credits(self) -> int | None:
        """Its maximum possible cost; None if the price is unknown."""
        return self.entry.price

    @property
    def reason(self) -> str:
        """How its response was lost."""
        return self.entry.error or "its answer was lost"

    def attach(self, request_id: str) -> Any:
        """Resolve it as the request with this id at the service, as found in the account's history."""
        if not isinstance(request_id, str) or not request_id.strip():
            raise ReelbookError(
                f"{request_id!r} is not a request id. Copy it as text from the account's history at the service."
            )
        if self._client is not None:
            return self._client.resolve(self.entry, request_id.strip())
        self._ledger.transact_now(lambda db: transitions.resolve(db, self.run, request_id.strip(), None))
        return None

    def write_off(self) -> None:
        """Resolve it as failed; its price counts as spent."""
        self._ledger.transact_now(lambda db: transitions.write_off(db, self.run))

    def resubmit(self) -> Any:
        """Send it once more, because the service does not have it. If it had arrived after all, it is charged twice."""
        if self._client is not None:
            return self._client.resend(self.entry)
        return self._ledger.transact_now(lambda db: transitions.allow_resubmission(db, self.run))

    def __repr__(self) -> str:
        price = "at an unknown price" if self.credits is None else f"at most {self.credits:,} credits"
        return f"<Uncertain run {self.run}: {self.what}, sent {self.when:%Y-%m-%d %H:%M} UTC, {price} ({self.reason})>"


class Uncertainties(list[Uncertain]):
    """All uncertain runs, oldest first."""

    @property
    def credits(self) -> int:
        """Their maximum possible cost, where prices are known."""
        return sum(run.credits or 0 for run in self)

    def __repr__(self) -> str:
        if not self:
            return "<No uncertain runs>"
        first = f"<{format_count(len(self), 'uncertain run')}, at most {self.credits:,} credits:"
        return "\n".join([first, *(f"  {run!r}" for run in self), f"  {ADVICE}>"])
