"""The columns of a table of runs, and of any DataFrame: as texts to read and numbers to sort by, and as JSON for the page."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from ...media.metadata.file_marks import UNSIGNED
from ...storage.ledger.writer import describe_maker
from ...sweeps.table_files import find_column
from ...util.missing_values import is_missing
from ...util.printable import replace_surrogates
from ..formatting import STATE_SIGNS, format_time
from ..report.shared_table import is_address_column, share_values

STATUS, CREDITS, SOURCE, MARKED, ERROR, SECONDS = "status", "credits", "credits_source", "marks", "error", "seconds"
SERVICE, MADE_BY = "service", "made by"
ROLES = {STATUS: "state", CREDITS: "credits", SOURCE: "source"}
OURS = frozenset({
    STATUS, CREDITS, SOURCE, MARKED, ERROR, SECONDS, MADE_BY, "error_type", "queued_s", "running_s", "request_id", "input_json",
})  # fmt: skip
"""Columns that vary without distinguishing inputs."""

DONE = frozenset({"completed", "from library"})
UNSETTLED = frozenset({"not started", "waiting", "IN_QUEUE", "running", "IN_PROGRESS", "unfinished", "uncertain"})
"""States of runs whose credits are reserved and not spent."""

FILES = ("output_video", "output_images")

MAX_VARYING = 16
MAX_TEXT = 2_000
"""Characters of a cell; longer text is cut."""

DIGITS, LARGEST_PLAIN, SMALLEST_PLAIN = 6, 1e15, 1e-4
MAX_EXACT, LARGEST = 2**53, 1.7976931348623157e308
"""The largest integer that is exact in JavaScript, beyond which the sort key is rounded, and its largest number."""

Number = int | float


@dataclass(frozen=True, slots=True)
class Column:
    """A column: the text of each cell, None where it is missing, and its place in the table."""

    name: str
    words: list[str | None]
    order: list[Number | None] | None = None
    """Sort keys, where those are not the texts."""
    is_number: bool = False
    is_visible: bool = False
    is_index: bool = False
    role: str = ""
    """`state`, `credits` or `source`, which the summary uses; else empty."""
    keys: list[str | None] | None = None
    """The states as in the table."""

    @property
    def side(self) -> str:
        """Where its cells are aligned."""
        return "right" if self.is_number else "left"


def make_column(name: Any, values: pd.Series[Any]) -> Column:
    """A column with any name and any values."""
    items = values.tolist()
    missing = [is_missing(value) for value in items]
    words = [None if gone else format_cell(value) for value, gone in zip(items, missing, strict=True)]
    order, is_number = _find_order(values, items, missing)
    if is_number and any(isinstance(value, (float, np.floating)) for value in items):
        words = _align(words, items)
    return Column(format_column_name(name), words, order, is_number)


def format_column_name(label: Any) -> str:
    """The name of a column as text, with all levels of a MultiIndex."""
    if isinstance(label, tuple):
        return " / ".join(words for part in label if (words := format_cell(part)))
    return format_cell(label)


def format_cell(value: Any) -> str:
    """A value as text: floats to six digits, moments of UTC in local time, other values by `str`, shortened to `MAX_TEXT`.

    >>> [format_cell(value) for value in (0.1 + 0.2, 1272.0, 1e-7, [0.5, "a"], None)]
    ['0.3', '1272', '1e-07', "[0.5, 'a']", 'None']
    """
    if isinstance(value, str):
        return _limit_text(value)
    if isinstance(value, (float, np.floating)):
        return format_number(float(value))
    if isinstance(value, datetime) and value.tzinfo is not None and not value.utcoffset():
        return format_time(value)
    return _limit_text(str(value))


def format_number(value: float) -> str:
    """A number to six digits, with all digits before the point.

    >>> format_number(1234567.891), format_number(0.000123456789), format_number(-2.50), format_number(float("inf"))
    ('1234568', '0.000123457', '-2.5', 'inf')
    """
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    if not SMALLEST_PLAIN <= abs(value) < LARGEST_PLAIN:
        return f"{value:.{DIGITS}g}"
    decimals = max(0, DIGITS - 1 - math.floor(math.log10(abs(value))))
    plain = f"{value:.{decimals}f}"
    return plain.rstrip("0").rstrip(".") if decimals else plain


def _align(words: list[str | None], values: Sequence[Any]) -> list[str | None]:
    """Numbers with the same count of decimals, unless small ones would lose significant digits.

    >>> _align(["675.59", "668.408", None, "6"], [675.59, 668.408, None, 6.0])
    ['675.590', '668.408', None, '6.000']
    >>> _align(["0.000123457", "1234.5"], [0.000123457, 1234.5])
    ['0.000123457', '1234.5']
    """
    sizes = [abs(float(value)) for value, word in zip(values, words, strict=True) if word is not None and value]
    if not sizes or not all(SMALLEST_PLAIN <= size < LARGEST_PLAIN for size in sizes):
        return words
    max_decimals = max(0, DIGITS - 1 - math.floor(math.log10(max(sizes))))
    decimals = min(max_decimals, max(len(word.partition(".")[2]) for word in words if word is not None))
    if min(sizes) < 10 ** (2 - decimals) and decimals == max_decimals:
        return words
    return [None if word is None else f"{float(value):.{decimals}f}" for word, value in zip(words, values, strict=True)]


def _find_order(
    values: pd.Series[Any], items: list[Any], missing: Sequence[bool]
) -> tuple[list[Number | None] | None, bool]:
    """The sort keys, None for the texts, and whether they are numbers to a reader, too."""
    kinds = {type(value) for value, gone in zip(items, missing, strict=True) if not gone}
    is_number = False
    make_key: Callable[[Any], Number] | None = None
    if isinstance(values.dtype, pd.CategoricalDtype) and values.dtype.ordered:
        items, make_key = values.cat.codes.tolist(), int
    elif kinds in ({pd.Timestamp}, {pd.Timedelta}):
        make_key = _count_milliseconds
    elif kinds and kinds <= {bool, np.bool_}:
        make_key = int
    elif kinds and all(issubclass(kind, (int, float, np.integer, np.floating)) and kind is not bool for kind in kinds):
        is_number, make_key = True, _make_sort_number
    if make_key is None:
        return None, False
    return [None if gone else make_key(value) for value, gone in zip(items, missing, strict=True)], is_number


def _count_milliseconds(value: Any) -> float:
    """`value` is in nanoseconds for moments and durations; JavaScript counts in milliseconds."""
    return float(value.value / 1e6)


def _make_sort_number(value: Any) -> Number:
    """A number for JavaScript: exact where possible, and finite, as JSON requires."""
    real = min(max(float(value), -LARGEST), LARGEST)
    return int(real) if real.is_integer() and abs(real) <= MAX_EXACT else float(f"{real:.12g}")


def _limit_text(text: str) -> str:
    """A text that can be encoded, of at most `MAX_TEXT` characters."""
    return replace_surrogates(text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}… ({len(text):,} characters)")


# Of a table of runs.


def find_columns(table: pd.DataFrame) -> list[Column]:
    """All columns: the visible ones (index, state, those that vary, credits, seconds, errors), then the others.

    Addresses that give access to files are left out unless they are visible, because a saved notebook may be shared.
    """
    named = _make_columns(table)
    axes = _find_axes(table, named)
    errors = [ERROR] if ERROR in named and any(named[ERROR].words) else []
    # A column of `unsigned` alone is of no use.
    marked = [MARKED] if MARKED in named and set(named[MARKED].words) - {None, "", UNSIGNED} else []
    first = [STATUS, *axes, CREDITS, MADE_BY, *marked, SECONDS, *errors]
    if "model" in named and len(set(named["model"].words) - {None}) > 1:
        # The inputs of one model alone are empty in the rows of the others, and vary for that reason only.
        first = [STATUS, "model", "prompt", "seed", CREDITS, *errors, *first]
    if STATUS in named:
        words = [None if word is None else f"{STATE_SIGNS.get(word, '·')} {word}" for word in named[STATUS].words]
        named[STATUS] = replace(named[STATUS], words=words, order=None, is_number=False, keys=named[STATUS].words)
    visible = [name for name in dict.fromkeys(first) if name in named]
    rest = [name for name in named if name not in visible and not is_address_column(name)]
    return [
        *(replace(column, is_visible=True, is_index=True) for column in _make_index_columns(table)),
        *(replace(named[name], is_visible=True, role=ROLES.get(name, "")) for name in visible),
        *(replace(named[name], role=ROLES.get(name, "")) for name in rest),
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


def pack_column(column: Column) -> dict[str, Any]:
    """A column as JSON values for the script."""
    flags = {"shown": column.is_visible, "right": column.is_number}
    packed: dict[str, Any] = {"name": column.name, **{name: 1 for name, is_set in flags.items() if is_set}}
    if column.role:
        packed["role"] = column.role
    if column.order is not None:
        packed["order"] = pack(column.order)
    # A number whose text is the same in Python and JavaScript needs no text.
    if column.order is None or list(map(_format_as_page, column.order)) != column.words:
        packed["words"] = pack(column.words)
    return packed


def _format_as_page(number: int | float | None) -> str | None:
    if number is None:
        return None
    return repr(number) if isinstance(number, int) or 1e-4 <= abs(number) < 1e15 else ""


def _make_index_columns(table: pd.DataFrame) -> list[Column]:
    index = table.index
    names = [format_column_name(name) if name is not None else "" for name in index.names]
    levels = [index.get_level_values(level) for level in range(index.nlevels)]
    # With its own dtype: the inference of pandas fails at a lone surrogate.
    return [
        make_column(name, pd.Series(level.array, dtype=level.dtype)) for name, level in zip(names, levels, strict=True)
    ]


def _make_columns(table: pd.DataFrame) -> dict[str, Column]:
    """All columns by name, and the seconds of clips; later columns of the same name are numbered."""
    found: dict[str, Column] = {}
    for place, label in enumerate(table.columns):
        name, count = format_column_name(label), 2
        while name in found:
            name, count = f"{format_column_name(label)} ({count})", count + 1
        found[name] = make_column(name, share_values(name, table.iloc[:, place], has_files=False))
    if SERVICE in found and MADE_BY not in found:
        makers = describe_makers(table)
        words = [None if word is None else makers.get(word, word) for word in found[SERVICE].words]
        found = {MADE_BY if name == SERVICE else name: cells for name, cells in found.items()}
        found[MADE_BY] = Column(MADE_BY, words)
    if SECONDS not in found and (seconds := _make_seconds(found)) is not None:
        found[SECONDS] = seconds
    return found


def _make_seconds(named: Mapping[str, Column]) -> Column | None:
    """The column of each clip's seconds, from frames and rate, where the table has both."""
    frames, rate = (named.get(name) for name in ("num_frames", "frame_rate"))
    if frames is None or rate is None or not (frames.order and frames.is_number and rate.order and rate.is_number):
        return None
    # Its status or its file says that there is a clip; a table with neither is believed.
    signs = [[word in DONE for word in named[STATUS].words]] if STATUS in named else []
    signs += [[word not in (None, "", "[]") for word in named[name].words] for name in FILES if name in named]
    has_clip = list(map(any, zip(*signs, strict=True))) or [True] * len(frames.order)
    seconds = [
        round(count / each, 2) if is_there and count and each else None
        for count, each, is_there in zip(frames.order, rate.order, has_clip, strict=True)
    ]
    words = [None if value is None else format_cell(value) for value in seconds]
    return Column(SECONDS, words, [*seconds], is_number=True) if any(seconds) else None


def _find_axes(table: pd.DataFrame, named: Mapping[str, Column]) -> list[str]:
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
