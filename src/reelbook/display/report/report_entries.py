"""The runs of a table, each with what a page tells of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ReelbookError
from ...media.local_file import LocalFile
from ...media.metadata.input_record import typed_input
from ...models.service_file import File
from ...storage.table.library_table import INPUT_JSON
from ..input_code import format_input_code
from ..tables.table_columns import UNSETTLED
from .layout import Axis, Layout, choose_layout, find_axes, find_input_columns, format_table_value, is_missing

if TYPE_CHECKING:
    import pandas as pd

    from ...media.metadata.provenance import Provenance
    from ...models.base import Input

MAX_CODE_LENGTH = 20_000
"""Letters of an input that are shown; it can hold a whole picture as text."""


@dataclass(frozen=True)
class Entry:
    """One run."""

    place: int
    """Its place in the table."""
    name: str
    model: str
    values: Mapping[str, Any]
    """The row of the table."""
    files: tuple[LocalFile, ...]

    @property
    def status(self) -> str:
        """How it ended; a table that does not say has only what is completed."""
        told = self.text("status")
        return told or ("completed" if self.files else "")

    @property
    def credits(self) -> int | None:
        """What it has cost."""
        return _whole(self.values.get("credits"))

    @property
    def is_unsettled(self) -> bool:
        """Whether its credits are set aside, and nobody knows yet whether they will be spent."""
        return self.status in UNSETTLED and self.credits_source != "charged"

    @property
    def credits_source(self) -> str | None:
        """Who says so."""
        return self.text("credits_source")

    @property
    def request_id(self) -> str | None:
        """What the service calls it."""
        return self.text("request_id")

    @property
    def seed(self) -> int | None:
        """The seed that was used."""
        used = _whole(self.values.get("output_seed"))
        return _whole(self.values.get("seed")) if used is None else used

    @property
    def error(self) -> str:
        """What went wrong; empty where nothing did."""
        parts = (self.text("error_type"), self.text("error"))
        return ": ".join(part for part in parts if part)

    @property
    def running(self) -> float | None:
        """Seconds that the service worked on it."""
        value = self.values.get("running_s")
        return None if is_missing(value) or not isinstance(value, (int, float)) else float(value)

    @cached_property
    def asked(self) -> dict[str, Any] | None:
        """The input as JSON, as far as the table or the file tells it."""
        told = self.text(INPUT_JSON)
        try:
            found = json.loads(told) if told else None
        except ValueError:
            found = None
        if isinstance(found, dict):
            return found
        return dict(self.provenance.values) if self.provenance is not None and self.provenance.values else None

    @cached_property
    def typed(self) -> Input | None:
        """The input as a value of its model; None where it makes none here."""
        return typed_input(self.model, _with_pictures(self.asked)) if self.asked and self.model else None

    @property
    def code(self) -> str | None:
        """The input as one would type it, with the seed that was used."""
        if self.typed is None:
            return None
        code = format_input_code(self.typed, seed=self.seed)
        return code if len(code) <= MAX_CODE_LENGTH else None

    @property
    def json(self) -> str | None:
        """The input as JSON."""
        if self.asked is None:
            return None
        text = json.dumps(self.asked, indent=2, ensure_ascii=False, default=str)
        return text if len(text) <= MAX_CODE_LENGTH else None

    @cached_property
    def provenance(self) -> Provenance | None:
        """What its first file tells of its making."""
        try:
            return self.files[0].provenance if self.files else None
        except ReelbookError:
            return None

    @cached_property
    def made(self) -> datetime | None:
        """When it was made, or, where nobody says so, when its file came here."""
        if self.provenance is not None and self.provenance.made_at is not None:
            return self.provenance.made_at
        try:
            return datetime.fromtimestamp(self.files[0].path.stat().st_mtime, UTC) if self.files else None
        except OSError:
            return None

    @property
    def marks(self) -> str:
        """What its files carry as they came: signed by whom, as stated, and marked as what."""
        return self.text("marks") or "; ".join(
            dict.fromkeys(str(file.marks) for file in self.files if file.path.exists())
        )

    @property
    def engine(self) -> str | None:
        """What made it, as the file says."""
        if self.provenance is None or not self.provenance.engine:
            return None
        return " ".join(part for part in (self.provenance.engine, self.provenance.engine_version) if part)

    def facts(self, service: str | None) -> dict[str, Any]:
        """What a copy of its files is to tell."""
        return {
            "model": self.model or None, "input": self.asked, "seed": self.seed, "request_id": self.request_id, "service": service,
            "credits": self.credits, "credits_source": self.credits_source,
            "made_at": self.provenance.made_at if self.provenance is not None else None,
        }  # fmt: skip

    def text(self, name: str) -> str | None:
        """What a column says of it; None where that is nothing."""
        value = self.values.get(name)
        return None if is_missing(value) else str(value)


@dataclass(frozen=True)
class Group:
    """The runs of one model, with what varies among them."""

    model: str
    entries: tuple[Entry, ...]
    axes: tuple[Axis, ...]
    held: Mapping[str, str]
    """What they have in common and is not as it always is."""

    @cached_property
    def layout(self) -> Layout:
        """Where they stand."""
        return choose_layout(self.axes, len(self.entries))


def group_entries(table: pd.DataFrame, paths: Sequence[Sequence[str]]) -> list[Group]:
    """The runs of a table by their models, in the order in which those appear; `paths` are the files of each."""
    told = table.attrs.get("reelbook")
    otherwise = str(told.get("model") or "") if isinstance(told, dict) else ""
    models = (
        [_model(value, otherwise) for value in table["model"]] if "model" in table.columns else [otherwise] * len(table)
    )
    names = _names(table)
    rows = [dict(zip(map(str, table.columns), row, strict=True)) for row in table.itertuples(index=False, name=None)]
    entries = [
        Entry(
            place,
            names[place],
            models[place],
            rows[place],
            tuple(LocalFile(Path(path), File(url="")) for path in found),
        )
        for place, found in enumerate(paths)
    ]
    return [
        _group(table, model, [entry for entry in entries if entry.model == model]) for model in dict.fromkeys(models)
    ]


def _group(table: pd.DataFrame, model: str, entries: list[Entry]) -> Group:
    part = table.iloc[[entry.place for entry in entries]]
    axes = find_axes(part)
    varying = {name for axis in axes for name in axis.columns}
    return Group(model, tuple(entries), tuple(axes), _held(part, entries, varying))


def _held(part: pd.DataFrame, entries: Sequence[Entry], varying: set[str]) -> dict[str, str]:
    """What all runs were asked alike; the defaults of a known model are left out."""
    typed = [entry.typed for entry in entries if entry.typed is not None]
    if typed:
        # A column that was dropped may vary yet.
        found = {name: value for name, value in typed[0].changed().items() if all(one[name] == value for one in typed)}
    else:
        found = {name: part[name].iloc[0] for name in find_input_columns(part) if name != "take"}
    return {
        name: format_table_value(value)
        for name, value in found.items()
        if name not in varying and not any(axis.startswith(f"{name}[") for axis in varying) and not is_missing(value)
    }


def with_unique_index(table: pd.DataFrame) -> pd.DataFrame:
    """The table with an index that tells its runs apart; one that says the same of two, after `concat`, is counted anew."""
    if table.index.is_unique:
        return table
    import pandas as pd

    counted = table.set_axis(pd.RangeIndex(len(table), name="run"), axis=0)
    counted.attrs = dict(table.attrs)
    return counted


def _names(table: pd.DataFrame) -> list[str]:
    """What the runs are called: by the index of the table, as its rows are."""
    labels = [label if isinstance(label, tuple) else (label,) for label in table.index]
    return [f"run {' '.join(map(format_table_value, label))}" for label in labels]


def _model(value: Any, otherwise: str) -> str:
    return otherwise if is_missing(value) else str(value)


def _whole(value: Any) -> int | None:
    if is_missing(value) or isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return int(value) if hasattr(value, "__index__") else None


def _with_pictures(value: Any) -> Any:
    """The input with its pictures as texts: the ledger's form has only the hash of each."""
    if isinstance(value, dict):
        if set(value) == {"sha256"}:
            return f"sha256:{value['sha256']}"
        return {name: _with_pictures(item) for name, item in value.items()}
    return [_with_pictures(item) for item in value] if isinstance(value, list) else value
