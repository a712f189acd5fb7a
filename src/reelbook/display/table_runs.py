"""The runs of a table, each as one record, for reports, grids, sheets and comparisons; and grouped by model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ReelbookError
from ..media.bounded_open import is_video
from ..media.local_file import LocalFile
from ..media.metadata.run_record import NAMES, parse_record_input
from ..models.base import File, Input
from ..storage.run_identity import INPUT_JSON
from ..storage.run_status import RunStatus
from ..storage.table import parse_text
from ..sweeps.table_files import find_paths
from ..util.missing_values import is_missing
from ..util.printable import format_count
from .formatting import format_credits
from .input_code import format_run_code
from .report.layout import Layout, VariedInput, choose_layout, find_axes, find_input_columns, format_table_value
from .tables.table_columns import UNSETTLED

if TYPE_CHECKING:
    import pandas as pd

    from ..media.metadata.provenance import Provenance
    from ..runs.run import Run

NO_FILE = "no file here"
NOTHING = ("–", "none", '""')
"""Values that say nothing in a label."""


@dataclass(frozen=True)
class TableRun:
    """One run of a table."""

    place: int
    """Its place in the table."""
    name: str
    model: str
    values: Mapping[str, Any]
    """The row of the table."""
    files: tuple[LocalFile, ...]

    columns: tuple[str, ...] = ()
    """The columns of its inputs."""
    request: Input | None = None
    """Its input, if it is known without the table."""
    label: tuple[str, ...] = ()
    """The values by which it differs from the others."""

    @property
    def number(self) -> str:
        """Its label in the index of the table."""
        return self.name.removeprefix("run ")

    @property
    def is_film(self) -> bool:
        """Whether its first file is a clip."""
        return bool(self.files) and is_video(self.files[0].path)

    @property
    def state(self) -> str:
        """The status, or that there is no file where one is expected."""
        status = self.text("status") or ""
        return NO_FILE if not self.files and status in ("", RunStatus.COMPLETED) else status

    @property
    def reason(self) -> str:
        """Why it has no file."""
        is_lost = self.state == NO_FILE and bool(self.text("status"))
        return self.text("error") or ("rb.attach fetches it again" if is_lost else "")

    @property
    def status(self) -> str:
        """The status; in a table without one, `completed` for a run with files, else empty."""
        text = self.text("status")
        return text or ("completed" if self.files else "")

    @property
    def credits(self) -> int | None:
        """Its cost in credits; None if unknown."""
        return _parse_int(self.values.get("credits"))

    @property
    def price(self) -> str:
        """Its cost in words; empty if unknown."""
        return format_credits(self.credits, self.credits_source, self.status)

    @property
    def is_unsettled(self) -> bool:
        """Whether its credits are only reserved, because its end is not known yet."""
        return self.status in UNSETTLED and self.credits_source != "charged"

    @property
    def credits_source(self) -> str | None:
        """Where the figure of its credits is from."""
        return self.text("credits_source")

    @property
    def seed(self) -> int | None:
        """The seed that was used; None if unknown."""
        told = [_parse_int(self.values.get(name)) for name in ("output_seed", "seed")]
        known = next((seed for seed in told if seed is not None), None)
        return _parse_int(self.provenance.seed) if known is None and self.provenance is not None else known

    @property
    def error(self) -> str:
        """Type and message of its error; empty where there is none."""
        return ": ".join(filter(None, (self.text("error_type"), self.text("error"))))

    @property
    def running(self) -> float | None:
        """Seconds that the service worked on it; None if unknown."""
        value = self.values.get("running_s")
        return None if is_missing(value) or not isinstance(value, (int, float)) else float(value)

    @cached_property
    def input_values(self) -> dict[str, Any] | None:
        """The input as JSON values, from the table or else from the metadata of the first file."""
        found = parse_text(self.text(INPUT_JSON))
        if isinstance(found, dict):
            return found
        return dict(self.provenance.values) if self.provenance is not None and self.provenance.values else None

    @cached_property
    def typed(self) -> Input | None:
        """The input as an instance of its model's class; None where that is not possible."""
        if self.request is not None or not self.input_values or not self.model:
            return self.request
        return parse_record_input(self.model, self.input_values)

    @property
    def code(self) -> str | None:
        """The call that runs it again, with the seed that was used; None if the input is unknown."""
        return None if self.typed is None else format_run_code(self.typed, seed=self.seed)

    @cached_property
    def provenance(self) -> Provenance | None:
        """The provenance of its first file; None if that cannot be read."""
        try:
            return self.files[0].provenance if self.files else None
        except (ReelbookError, OSError):
            return None

    @cached_property
    def made_at(self) -> datetime | None:
        """When it was made; if that is not recorded, when its file was written to this machine."""
        if self.provenance is not None and self.provenance.made_at is not None:
            return self.provenance.made_at
        try:
            return datetime.fromtimestamp(self.files[0].path.stat().st_mtime, UTC) if self.files else None
        except OSError:
            return None

    @property
    def marks(self) -> str:
        """Signatures and source types of its files as received, as text."""
        return self.text("marks") or "; ".join(
            dict.fromkeys(str(file.marks) for file in self.files if file.path.exists())
        )

    @property
    def engine(self) -> str | None:
        """The engine that made it and its version, as stated in the file."""
        if self.provenance is None or not self.provenance.engine:
            return None
        return " ".join(filter(None, (self.provenance.engine, self.provenance.engine_version)))

    def facts(self, service: str | None) -> dict[str, Any]:
        """The facts to write into copies of its files. `service` made the runs of the table."""
        known = {"model": self.model or None, "input": self.input_values, "seed": self.seed}
        if "request_id" not in self.values:
            # It is in no table: only its file says what made it.
            stated = {name: getattr(self.provenance, name, None) for name in NAMES if name != "input"}
            return known | {name: fact for name, fact in stated.items() if fact is not None}
        return known | {
            "request_id": self.text("request_id"), "service": service,
            "credits": self.credits, "credits_source": self.credits_source,
            "made_at": self.provenance.made_at if self.provenance is not None else None,
        }  # fmt: skip

    def text(self, name: str) -> str | None:
        """The value of a column as text; None where it is missing."""
        value = self.values.get(name)
        return None if is_missing(value) else str(value)


@dataclass(frozen=True)
class ModelRuns:
    """The runs of one model, and the inputs that vary among them."""

    model: str
    entries: tuple[TableRun, ...]
    axes: tuple[VariedInput, ...]
    table: pd.DataFrame
    """Their rows."""
    parts: dict[str, str] = field(default_factory=dict)
    """The columns chosen for `rows`, `cols` and `tabs`."""

    @cached_property
    def layout(self) -> Layout:
        """How they are arranged on the page."""
        return choose_layout(self.axes, len(self.entries), **self.parts)

    @property
    def has_plan(self) -> bool:
        """Whether there is anything to say of their inputs."""
        return bool(self.axes or self.common)

    @cached_property
    def common(self) -> dict[str, str]:
        """The inputs that are the same for all and differ from the defaults."""
        varying = {name for axis in self.axes for name in axis.columns}
        typed = [entry.typed for entry in self.entries if entry.typed is not None]
        if typed:
            # An input whose column was dropped may still vary.
            values = {
                name: value for name, value in typed[0].changed().items() if all(one[name] == value for one in typed)
            }
        else:
            values = {name: self.table[name].iloc[0] for name in find_input_columns(self.table) if name != "take"}
        return {
            name: format_table_value(value)
            for name, value in values.items()
            if name not in varying
            and not any(axis.startswith(f"{name}[") for axis in varying)
            and not is_missing(value)
        }


def read_run(run: Run) -> TableRun:
    """A run by itself, as one of a table."""
    values = {
        "status": run.status,
        "error": str(run.failure or "") or None,
        "output_seed": getattr(run.output, "seed", None),
    }
    name = f"run {run.request_id[:8]}" if run.request_id else "run"
    files, request = run.media if run.status == "completed" else (), run.input if isinstance(run.input, Input) else None
    return TableRun(0, name, run.endpoint_id, values, files, request=request)


def read_runs(table: pd.DataFrame) -> list[TableRun]:
    """The runs of a table in its order."""
    # A table may have been joined so that it has a name twice.
    table = table.loc[:, ~table.columns.duplicated()]
    attributes = table.attrs.get("reelbook")
    model = str(attributes.get("model") or "") if isinstance(attributes, dict) else ""
    labels = [label if isinstance(label, tuple) else (label,) for label in table.index]
    rows = [dict(zip(map(str, table.columns), row, strict=True)) for row in table.itertuples(index=False, name=None)]
    columns = tuple(find_input_columns(table))
    return [
        TableRun(
            place,
            f"run {' '.join(map(format_table_value, label))}",
            model if is_missing(row.get("model")) else str(row["model"]),
            row,
            tuple(LocalFile(Path(path), File(url="")) for path in files),
            columns,
        )
        for place, (label, row, files) in enumerate(zip(labels, rows, find_paths(table), strict=True))
    ]


def group_runs(table: pd.DataFrame) -> list[ModelRuns]:
    """The runs of a table by their models, in order of appearance, labelled by what varies among those of a model."""
    entries = read_runs(table)
    models = dict.fromkeys(entry.model for entry in entries)
    return [_make_group(table, model, [entry for entry in entries if entry.model == model]) for model in models]


def _make_group(table: pd.DataFrame, model: str, entries: list[TableRun]) -> ModelRuns:
    part = table.iloc[[entry.place for entry in entries]]
    axes = tuple(find_axes(part))
    labelled = [replace(entry, label=_make_label(axes, number)) for number, entry in enumerate(entries)]
    return ModelRuns(model, tuple(labelled), axes, part)


def _make_label(axes: Sequence[VariedInput], number: int) -> tuple[str, ...]:
    """The values of a run on these axes, without those that are empty."""
    values = ((axis.values[axis.codes[number]], axis.bare[axis.codes[number]]) for axis in axes)
    return tuple(named for named, bare in values if bare not in NOTHING)


def format_title(runs: Sequence[TableRun]) -> str:
    """The prompt if all runs have the same, else how many there are of which models."""
    prompts = {" ".join((run.text("prompt") or "").split()) for run in runs}
    if len(prompts) == 1 and "" not in prompts:
        return prompts.pop()
    names = " and ".join(dict.fromkeys(shorten_model(run.model) for run in runs if run.model))
    return format_count(len(runs), "run") + (f" of {names}" if names else "")


def shorten_model(model: str) -> str:
    """The last part of a model's id."""
    return model.rstrip("/").rpartition("/")[2]


def with_unique_index(table: pd.DataFrame) -> pd.DataFrame:
    """The table itself if its index is unique; else, as after `concat`, a copy that is numbered again."""
    if table.index.is_unique:
        return table
    import pandas as pd

    counted = table.set_axis(pd.RangeIndex(len(table), name="run"), axis=0)
    counted.attrs = dict(table.attrs)
    return counted


def _parse_int(value: Any) -> int | None:
    if is_missing(value) or isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return int(value) if hasattr(value, "__index__") else None
