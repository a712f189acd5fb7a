"""The choice of visible columns of a table, and the compact JSON of all columns for the page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from ...media.metadata.file_marks import UNSIGNED
from ...storage.ledger.known_services import describe_maker
from ...sweeps.table_files import find_column
from ...util.missing_values import is_missing
from ..formatting import STATE_SIGNS
from ..report.shared_table import OUTPUT, PLAIN, is_address_column, strip_addresses
from .table_cells import Cells, format_cell, format_column_name, make_cells

STATUS, CREDITS, SOURCE, MARKED, ERROR, SECONDS = "status", "credits", "credits_source", "marks", "error", "seconds"
SERVICE, MADE_BY = "service", "made by"
OURS = frozenset({
    STATUS, CREDITS, SOURCE, MARKED, ERROR, SECONDS, MADE_BY, "error_type", "queued_s", "running_s", "request_id", "input_json",
})  # fmt: skip
"""Columns that vary without distinguishing inputs."""

DONE = frozenset({"completed", "from library"})
UNSETTLED = frozenset(
    {"planned", "not started", "waiting", "IN_QUEUE", "running", "IN_PROGRESS", "unfinished", "uncertain"}
)
"""States of runs whose credits are reserved and not spent."""

FILES = ("output_video", "output_images")

MAX_VARYING = 8
MAX_DATA = 3_000_000
"""Bytes of the cells of one table; beyond it columns that are not visible are left out."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column and its role in the table."""

    cells: Cells
    is_visible: bool = False
    is_index: bool = False
    role: str = ""
    """`state`, `credits` or `source`, which the summary uses; else empty."""
    keys: list[str | None] | None = None
    """The states as in the table, which a filter may name as well."""

    @property
    def side(self) -> str:
        """Where its cells are aligned."""
        return "right" if self.cells.is_number else "left"


def find_columns(table: pd.DataFrame) -> list[Column]:
    """All columns: the visible ones (index, state, those that vary, credits, seconds, errors), then the others.

    Addresses that give access to files are left out unless they are visible, because a saved notebook may be shared.
    """
    index = [Column(part, is_visible=True, is_index=True) for part in _make_index_cells(table)]
    named = _make_columns(table)
    axes = _find_axes(table, named)
    roles = {STATUS: "state", CREDITS: "credits", SOURCE: "source"}
    errors = [ERROR] if ERROR in named and any(named[ERROR].words) else []
    marked = [MARKED] if _has_marks(named.get(MARKED)) else []
    first = [STATUS, *axes, CREDITS, MADE_BY, *marked, SECONDS, *errors]
    if _is_mixed(named):
        # The inputs of one model alone are empty in the rows of the others, and vary for that reason only.
        first = ["model", "prompt", "seed", CREDITS, STATUS, *errors, *first]
    visible = [name for name in dict.fromkeys(first) if name in named]
    rest = [name for name in named if name not in visible and not is_address_column(name)]
    named |= _strip_columns(table, set(rest))
    return [
        *index,
        *(_make_visible_column(name, named[name], roles.get(name, "")) for name in visible),
        *(Column(named[name], role=roles.get(name, "")) for name in rest),
    ]


def describe_makers(table: pd.DataFrame) -> dict[str, str]:
    """Who made the runs of a table, in words, by the names of the services in its ledger."""
    column, source = find_column(table, SERVICE), table.attrs.get("reelbook")
    known = source if isinstance(source, dict) else {}
    services, folder = [known.get(SERVICE)] if column is None else list(column), known.get("library")
    if folder is None:
        paths = [path for name in FILES[:1] if name in table.columns for path in table[name] if isinstance(path, str)]
        folder = Path(paths[0]).parent.parent if paths else None
    names = dict.fromkeys(str(name) for name in services if not is_missing(name))
    return {name: describe_maker(name, None if folder is None else Path(folder)) for name in names}


def pack_columns(all_places: Sequence[Column]) -> tuple[list[dict[str, Any]], list[str]]:
    """The columns as JSON values for the script, and the names of those that are left out because of `MAX_DATA`."""
    packed = [_pack_column(place) for place in all_places]
    weights = [len(json.dumps(one, ensure_ascii=False)) for one in packed]
    left_out: list[int] = []
    # Leaving out a small one would make no difference.
    hidden = [
        i
        for i, place in enumerate(all_places)
        if not place.is_visible and not place.role and weights[i] > MAX_DATA / 100
    ]
    hidden.sort(key=weights.__getitem__)
    while sum(weights) - sum(weights[i] for i in left_out) > MAX_DATA and hidden:
        left_out.append(hidden.pop())
    return [one for i, one in enumerate(packed) if i not in left_out], [
        all_places[i].cells.name for i in sorted(left_out)
    ]


def pack(values: Sequence[Any]) -> Any:
    """Values as compact JSON: where few are distinct, each once, and their indices.

    >>> pack(["480p", "480p", "720p", "480p", "720p", "480p"])
    {'of': ['480p', '720p'], 'at': [0, 0, 1, 0, 1, 0]}
    >>> pack(["480p"] * 1000), pack([1, 2, 3])
    ({'of': ['480p'], 'n': 1000}, [1, 2, 3])
    """
    numbers: dict[Any, int] = {}
    for value in values:
        numbers.setdefault(value, len(numbers))
    if len(numbers) == 1 and len(values) > 1:
        return {"of": list(numbers), "n": len(values)}
    if len(numbers) > len(values) / 2:
        return list(values)
    return {"of": list(numbers), "at": [numbers[value] for value in values]}


def format_json(value: Any) -> Markup:
    """A value as JSON for a script element: nothing in it can end the element or begin a tag."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def _pack_column(place: Column) -> dict[str, Any]:
    found: dict[str, Any] = {"name": place.cells.name}
    found |= {
        name: 1
        for name, yes in (("shown", place.is_visible), ("index", place.is_index), ("right", place.cells.is_number))
        if yes
    }
    found |= {"role": place.role} if place.role else {}
    order = place.cells.order
    if place.keys is not None:
        found["keys"] = pack(place.keys)
    if order is not None:
        found["order"] = pack(order)
    # A number whose text is the same in Python and JavaScript needs no text.
    if order is None or any(
        word != _format_as_page(number) for word, number in zip(place.cells.words, order, strict=True)
    ):
        found["words"] = pack(place.cells.words)
    return found


def _format_as_page(number: int | float | None) -> str | None:
    if number is None:
        return None
    return repr(number) if isinstance(number, int) or 1e-4 <= abs(number) < 1e15 else ""


def _make_index_cells(table: pd.DataFrame) -> list[Cells]:
    index = table.index
    names = [format_column_name(name) if name is not None else "" for name in index.names]
    levels = [index.get_level_values(level) for level in range(index.nlevels)]
    # With its own dtype: the inference of pandas fails at a lone surrogate.
    return [
        make_cells(name, pd.Series(level.array, dtype=level.dtype)) for name, level in zip(names, levels, strict=True)
    ]


def _make_columns(table: pd.DataFrame) -> dict[str, Cells]:
    """All columns by name; later ones of the same name are numbered."""
    found = {name: _make_cells(name, table.iloc[:, place]) for name, place in _find_places_by_name(table).items()}
    if SERVICE in found and MADE_BY not in found:
        makers = describe_makers(table)
        words = [None if word is None else makers.get(word, word) for word in found[SERVICE].words]
        found = {
            MADE_BY if name == SERVICE else name: Cells(MADE_BY, words) if name == SERVICE else one
            for name, one in found.items()
        }
    if SECONDS not in found:
        found |= _make_seconds(found)
    return found


def _make_cells(name: str, values: pd.Series[Any]) -> Cells:
    """The cells of a column; files by their names, because a page does not show their folders."""
    if name not in FILES:
        return make_cells(name, values)
    return make_cells(name, pd.Series([_name_files(value) for value in values], dtype=object))


def _name_files(value: Any) -> Any:
    if isinstance(value, str):
        return Path(value).name
    is_list = isinstance(value, (list, tuple)) or type(value).__name__ == "ndarray"
    return [_name_files(item) for item in value] if is_list else value


def _find_places_by_name(table: pd.DataFrame) -> dict[str, int]:
    found: dict[str, int] = {}
    for place, label in enumerate(table.columns):
        name, count = format_column_name(label), 2
        while name in found:
            name, count = f"{format_column_name(label)} ({count})", count + 1
        found[name] = place
    return found


def _strip_columns(table: pd.DataFrame, names: set[str]) -> dict[str, Cells]:
    """The columns of outputs without the addresses inside their values."""
    wanted = {name: place for name, place in _find_places_by_name(table).items() if name in names}
    return {
        name: make_cells(name, pd.Series([strip_addresses(value) for value in table.iloc[:, place]], dtype=object))
        for name, place in wanted.items()
        if name.startswith(OUTPUT) and name not in FILES and table.iloc[:, place].dtype.kind not in PLAIN
    }


def _is_mixed(named: Mapping[str, Cells]) -> bool:
    """Whether the runs are of several models."""
    return "model" in named and len(set(named["model"].words) - {None}) > 1


def _find_rows_with_clip(named: Mapping[str, Cells]) -> list[bool]:
    """Whether each row has a clip: its status is completed or it has a file; true for a table with neither."""
    columns = [named[name].words for name in (STATUS, *FILES) if name in named]
    if not columns:
        return [True] * len(next(iter(named.values())).words)
    states = named[STATUS].words if STATUS in named else []
    done = [word in DONE for word in states] or [False] * len(columns[0])
    files = [named[name].words for name in FILES if name in named]
    return [done[row] or any(words[row] not in (None, "", "[]") for words in files) for row in range(len(done))]


def _make_seconds(named: Mapping[str, Cells]) -> dict[str, Cells]:
    """The column of each clip's seconds, from frames and rate, where the table has both."""
    frames, rate = (named[name].order if name in named else None for name in ("num_frames", "frame_rate"))
    if frames is None or rate is None or not (named["num_frames"].is_number and named["frame_rate"].is_number):
        return {}
    has_clip = _find_rows_with_clip(named)
    lengths = [
        count / each if has_one and count is not None and each else None
        for count, each, has_one in zip(frames, rate, has_clip, strict=True)
    ]
    if not any(lengths):
        return {}
    words = [None if length is None else format_cell(round(length, 2)) for length in lengths]
    order: list[int | float | None] = [None if length is None else round(length, 2) for length in lengths]
    return {SECONDS: Cells(SECONDS, words, order, is_number=True)}


def _find_axes(table: pd.DataFrame, named: Mapping[str, Cells]) -> list[str]:
    """The columns that distinguish runs: the axes of the sweep, then other inputs and metrics that vary."""
    known = table.attrs.get("reelbook")
    axes = [format_column_name(name) for name in known.get("axes", ())] if isinstance(known, dict) else []
    varying = [
        name for name, one in named.items()
        if name not in OURS and not name.startswith("output_") and len(set(one.words)) > 1
    ]  # fmt: skip
    if not varying and not axes and STATUS not in named:
        varying = list(named)
    return [name for name in dict.fromkeys([*axes, *varying]) if name in named][:MAX_VARYING]


def _has_marks(column: Cells | None) -> bool:
    """Whether any file is signed or marked; a column of `unsigned` alone is of no use."""
    return column is not None and bool(set(column.words) - {None, "", UNSIGNED})


def _make_visible_column(name: str, column: Cells, role: str) -> Column:
    """A visible column; states with their sign."""
    if role != "state":
        return Column(column, is_visible=True, role=role)
    words = [None if word is None else f"{STATE_SIGNS.get(word, '·')} {word}" for word in column.words]
    return Column(Cells(column.name, words), is_visible=True, role=role, keys=column.words)
