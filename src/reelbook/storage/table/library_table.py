"""Rows of the ledger as a plain, tidy table: inputs under their own names, what came back as `output_…`, then how it went."""

from __future__ import annotations

import gc
import json
import math
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from itertools import pairwise
from os.path import commonprefix
from typing import Annotated, Any, Union

import numpy as np
import pandas as pd

from ...models.catalog import CATALOG
from ..ledger import transitions
from ..ledger.transitions import Entry, State
from .output_columns import build_output_columns
from .typed_columns import ColumnBuilder, Kind, build_column, order_columns

STATUSES = ("completed", "failed", "cancelled", "uncertain", "rejected", "expired", "running", "waiting", "planned")
"""The words for how a run stands."""

STATUS_BY_STATE: Mapping[str, str] = {
    State.PLANNED: "planned", State.INTENT: "waiting", State.SENDING: "waiting", State.ACCEPTED: "waiting",
    State.RUNNING: "running", State.COMPLETED: "completed", State.STORED: "completed",
    **{state: state.value for state in transitions.EXITS},
}  # fmt: skip
"""What each state of the ledger is called in a table."""

LAST_COLUMNS = (
    "status", "credits", "credits_source", "marks", "queued_s", "running_s", "error_type", "error", "request_id", "model", "take",
    "service", "created", "finished",
)  # fmt: skip
"""The columns that every table of runs has, whatever was asked."""

FIRST_COLUMNS = (
    "created",
    "model",
    "prompt",
    "seed",
    "num_frames",
    "status",
    "credits",
    "output_video",
    "output_images",
)
"""Those that a bare table shows, which are ten from its left and ten from its right."""

INDEX_NAME = "library_run"
"""What the index of a library's table is called: its numbers are not those of a sweep's table, whose index is `run`."""
INPUT_JSON = "input_json"
"""The input in its one fixed form, in a table of a sweep: by it a run is found again wherever its row has gone."""
_TAKEN = frozenset({*LAST_COLUMNS, INDEX_NAME, "run"})
"""Names that no field of a model has in a table; `run` is the number in a file of exported runs."""
READ_COLUMNS = (
    "id", "service", "take", "model", "input", "state", "request_id", "price", "charged", "spent", "unpriced", "output", "media",
    "error_type", "error", "queued_s", "running_s", "created", "finished",
)  # fmt: skip
"""The columns of the ledger that a table is made of."""

VIDEOS = frozenset({".mp4", ".webm", ".m4v", ".mov", ".mkv"})
_MODEL, _MIN_SEGMENT_ROWS = READ_COLUMNS.index("model"), 50
_FILE = re.compile(r'"sha256":"([0-9a-f]{64})","suffix":"(\.[0-9a-z]{1,8})"')
"""A file as our own writer names it, whose fields are sorted. In a text of a stranger the quotes have backslashes."""
_MARKS = re.compile(r'"marks":"([^"\\]+)"')

Rows = Sequence[Sequence[Any]]


def get_rows(entries: Iterable[Entry]) -> Rows:
    """The same rows from entries that are at hand."""
    return [tuple(getattr(entry, name) for name in READ_COLUMNS) for entry in entries]


def build_table(rows: Iterable[Rows], paths: Mapping[str, str]) -> pd.DataFrame:
    """The runs as a table, the newest last. `paths` says where on this machine a file is, by the hash of its content.

    >>> frame = build_table([], {})
    >>> len(frame), frame.index.name, list(frame.columns)[:4]
    (0, 'library_run', ['created', 'model', 'prompt', 'seed'])
    """
    with _gc_paused():
        asked, told, films, course = ObjectColumns(), ObjectColumns(), FileColumns(paths), RunColumns()
        for some in (stretch for page in rows for stretch in _split_by_model(page)):
            columns = dict(zip(READ_COLUMNS, zip(*some, strict=True), strict=True))
            asked.add(columns["input"])
            told.add(columns["output"])
            films.add(columns["media"])
            course.add(columns)
        return _build_frame(asked.piles, {**build_output_columns(told.piles), **films.piles}, course)


def _split_by_model(rows: Rows) -> Iterator[Rows]:
    """The rows of one model that follow each other, as those of a sweep do: they have the same fields, and many values too."""
    models = [row[_MODEL] for row in rows]
    cuts = [place for place, (one, next_one) in enumerate(pairwise(models), 1) if one != next_one]
    if len(cuts) * _MIN_SEGMENT_ROWS > len(rows):
        cuts = []
    return (rows[start:end] for start, end in pairwise([0, *cuts, len(rows)]) if start < end)


def parse_texts(texts: Sequence[Any]) -> list[Any]:
    """JSON texts as values that are fit for the cells of a table, each distinct one parsed once; None for what is none.

    >>> parse_texts(['{"seed": 7}', None, "half of it {", '{"image_url": {"sha256": "ab"}}'])
    [{'seed': 7}, None, None, {'image_url': 'sha256:ab'}]
    """
    distinct = [text for text in dict.fromkeys(texts) if isinstance(text, str)]
    values = _parse_all(distinct)
    if len(distinct) == len(texts):
        return values
    known: dict[Any, Any] = dict(zip(distinct, values, strict=True))
    return [known[text] if isinstance(text, str) else None for text in texts]


class ObjectColumns:
    """JSON objects as columns, one for each name that any of them has."""

    def __init__(self) -> None:
        self.piles: dict[str, ColumnBuilder] = {}
        self._count = 0

    def add(self, texts: Sequence[Any]) -> None:
        """More of them; what is no object has no fields."""
        shared, rest = _split_shared(texts)
        values = [value if isinstance(value, dict) else {} for value in parse_texts(rest)]
        shapes = dict.fromkeys(map(tuple, values))
        names = dict.fromkeys(name for shape in shapes for name in shape)
        if len(shapes) == 1:
            # The runs of one sweep: all have the same fields in the same order.
            columns = dict(zip(names, zip(*map(dict.values, values), strict=True), strict=True))
        else:
            columns = {name: [value.get(name) for value in values] for name in names}
        for name in (*shared, *names):
            self.piles.setdefault(name, ColumnBuilder(after=self._count))
        for name, pile in self.piles.items():
            if name in columns:
                pile.add(columns[name])
            else:
                pile.same(shared.get(name), len(texts))
        self._count += len(texts)


class FileColumns:
    """Where the files are: the first video, and all pictures; of a picture that is not here, a gap in its place."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        self.piles = {"output_video": ColumnBuilder(), "output_images": ColumnBuilder()}
        self._paths = paths

    def add(self, texts: Sequence[Any]) -> None:
        """The files of more runs."""
        videos: list[str | None] = []
        pictures: list[list[str | None] | None] = []
        place = self._paths.get
        for text in texts:
            video, others = None, []
            for sha256, suffix in _find_files(text) if text else ():
                if suffix not in VIDEOS:
                    others.append(place(sha256))
                elif video is None:
                    video = sha256
            videos.append(video and place(video))
            pictures.append(others if others and any(others) else None)
        self.piles["output_video"].add(videos)
        self.piles["output_images"].add(pictures)


class RunColumns:
    """How the runs went."""

    def __init__(self) -> None:
        self.runs: list[int] = []
        self.models: dict[str, None] = {}
        self._piles = {name: ColumnBuilder() for name in LAST_COLUMNS}

    def add(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """More runs."""
        self.runs += columns["id"]
        self.models |= dict.fromkeys(columns["model"])
        money = zip(*(columns[name] for name in ("state", "price", "charged", "spent", "unpriced")), strict=True)
        costs = [_credits(*facts) for facts in money]
        told = zip(costs, columns["charged"], strict=True)
        made = {
            "status": [STATUS_BY_STATE.get(state, State.UNCERTAIN) for state in columns["state"]],
            "credits": costs,
            "credits_source": [None if cost is None else get_credits_source(charged) for cost, charged in told],
            "marks": list(map(find_marks, columns["media"])),
        }
        for name, pile in self._piles.items():
            pile.add(made.get(name) or columns[name])

    def series(self) -> dict[str, pd.Series[Any]]:
        """The columns."""
        kinds: Mapping[str, Callable[[Sequence[Any]], pd.Series[Any]]] = {
            "status": partial(_category_column, known=STATUSES), "model": _category_column, "service": _category_column, "created": _time_column,
            "finished": _time_column, "credits": partial(build_column, kind="whole"), "take": partial(build_column, kind="whole"),
            "queued_s": partial(build_column, kind="real"), "running_s": partial(build_column, kind="real"),
        }  # fmt: skip
        return {name: pile.series(kinds.get(name)) for name, pile in self._piles.items()}


def find_marks(media: Any) -> str | None:
    """What the files of a row carry, as it was read when they came; None where that was not written down.

    >>> find_marks('[{"marks":"signed by Acme, ai-marked","sha256":"ab"}]'), find_marks('[{"sha256":"ab"}]'), find_marks(None)
    ('signed by Acme, ai-marked', None, None)
    """
    if not media or '"marks"' not in media:
        return None
    found = _MARKS.findall(media)
    if len(found) != media.count('"marks"'):
        (files,) = parse_texts([media])
        found = [str(file["marks"]) for file in files or () if isinstance(file, dict) and file.get("marks")]
    return "; ".join(dict.fromkeys(found)) or None


def get_credits_source(charged: Any) -> str:
    """Who says what a run has cost."""
    return "estimated" if charged is None else "charged"


def _build_frame(
    asked: Mapping[str, ColumnBuilder], told: Mapping[str, ColumnBuilder], course: RunColumns
) -> pd.DataFrame:
    known = [row for row in CATALOG if row.id in course.models or not course.models]
    kinds = {name: kind for row in known for name, kind in _kinds(row.input).items()}
    series: dict[str, pd.Series[Any]] = {}
    # The fields of a model in its own order, those that nobody has set too; then what else was asked.
    for name in dict.fromkeys([*kinds, *asked]):
        own = f"input_{name}" if name in told or name in _TAKEN else name
        pile = asked.get(name) or ColumnBuilder(after=len(course.runs))
        series[_get_free_name(own, {*series, *told, *_TAKEN})] = pile.series(
            partial(build_column, kind=kinds.get(name, "any"))
        )
    series |= {name: pile.series() for name, pile in told.items()}
    columns = {**series, **course.series()}
    frame = pd.DataFrame({name: columns[name] for name in order_columns(columns, FIRST_COLUMNS)}, copy=False)
    frame.index = pd.Index(course.runs, dtype="int64", name=INDEX_NAME)
    # A library that took in another one has older runs with larger numbers.
    return frame if frame["created"].is_monotonic_increasing else frame.sort_values("created", kind="stable")


@contextmanager
def _gc_paused() -> Iterator[None]:
    """No search for rings of garbage meanwhile: each one would look through every value that was read so far."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _split_shared(texts: Sequence[Any]) -> tuple[dict[str, Any], Sequence[Any]]:
    """The fields that all of these objects begin with, and the objects without them.

    The runs of a sweep are asked alike but for a few fields, so that much need be parsed only once. Where the common
    beginning, closed, is an object, it ends between two fields of each.

    >>> _split_shared(['{"fps":24,"loras":[],"seed":1}', '{"fps":24,"loras":[],"seed":12}'])
    ({'fps': 24, 'loras': []}, ['{"seed":1}', '{"seed":12}'])
    """
    if len(texts) < 2 or set(map(type, texts)) != {str}:
        return {}, texts
    cut = commonprefix(texts).rfind(',"')  # noqa: RUF071  # Of texts, not of paths.
    shared = _parse_one(f"{texts[0][:cut]}}}") if cut > 0 else None
    if not isinstance(shared, dict):
        return {}, texts
    rest = ["{" + text[cut + 1 :] for text in texts]
    return _plain(shared), rest


def _parse_all(texts: list[str]) -> list[Any]:
    joined = f"[{','.join(texts)}]"
    try:
        values = json.loads(joined)
        whole = len(values) == len(texts)
    except (ValueError, RecursionError):
        whole = False
    if not whole:
        values = [_parse_one(text) for text in texts]
    # Looked for in the text first, because looking through every value takes longer than everything else.
    if '"sha256"' in joined or ("\\" in joined and "\\ud" in joined.lower()):
        values = [_plain(value) for value in values]
    return list(values)


def _parse_one(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _plain(value: Any) -> Any:
    """A value with pictures of the library by their short name, and without halves of letters that no file can keep."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        if value.keys() == {"sha256"}:
            return f"sha256:{value['sha256']}"
        return {_plain(name): _plain(item) for name, item in value.items()}
    return value


def _find_files(text: str) -> list[tuple[str, str]]:
    """Hash and suffix of every file in a row."""
    found: list[tuple[str, str]] = _FILE.findall(text)
    if len(found) == text.count('"sha256"'):
        return found
    (files,) = parse_texts([text])
    files = files if isinstance(files, list) else []
    return [(str(file.get("sha256")), get_suffix(file)) for file in files if isinstance(file, dict)]


def get_suffix(file: Mapping[str, Any]) -> str:
    """The suffix of a file of a row, also if only its type is known."""
    suffix = file.get("suffix")
    if isinstance(suffix, str):
        return suffix
    return ".mp4" if str(file.get("content_type")).startswith("video/") else ""


def _category_column(values: Sequence[Any], known: Sequence[str] = ()) -> pd.Series[Any]:
    """Few words that occur again and again."""
    names = {word: place for place, word in enumerate(known or sorted(set(values)))}
    codes = pd.Categorical.from_codes([names[value] for value in values], categories=pd.Index(list(names), dtype=str))
    return pd.Series(codes)


def _credits(state: Any, price: Any, charged: Any, spent: Any, unpriced: Any) -> Any:
    """The same as `Entry.credits`, for values that are no entry."""
    if unpriced:
        return None
    if charged is not None:
        return charged + spent
    if state in (State.PLANNED, State.REJECTED):
        return spent
    return None if price is None else price + spent


def _time_column(values: Sequence[Any]) -> pd.Series[Any]:
    try:
        seconds = pd.Series(np.array(values, dtype=np.float64))
    except (TypeError, ValueError):
        seconds = pd.Series([_number(value) for value in values], dtype="float64")
    told = pd.to_datetime(seconds, unit="s", utc=True, errors="coerce")
    return told.astype("datetime64[us, UTC]")


def _number(value: Any) -> float:
    return value if type(value) is float else float(value) if isinstance(value, int) else math.nan


def _get_free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


@cache
def _kinds(model: Any) -> dict[str, Kind]:
    return {name: _kind(field.annotation) for name, field in model.model_fields.items()}


def _kind(annotation: Any) -> Kind:
    """What a field holds: a whole number, any number, yes or no, or something else."""
    origin = typing.get_origin(annotation)
    if origin is Annotated:
        return _kind(typing.get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        (*kinds,) = {_kind(part) for part in typing.get_args(annotation) if part is not type(None)}
        return kinds[0] if len(kinds) == 1 else "any"
    kinds_of: dict[Any, Kind] = {int: "whole", float: "real", bool: "flag"}
    return kinds_of.get(annotation, "any")
