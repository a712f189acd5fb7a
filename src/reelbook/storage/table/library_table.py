"""Build the table of runs: columns of the inputs, of the outputs as `output_…`, then of status, credits and times."""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from itertools import pairwise
from os.path import commonprefix
from typing import Any

import pandas as pd
from pydantic_core import from_json

from ...models.base import Input
from ...models.catalog import CATALOG
from ...models.json_schema import rule_at
from ...util import registry
from ...util.printable import replace_surrogates
from ..ledger.transitions import Entry, get_credits_source
from ..recorded_marks import find_marks
from ..run_status import LIBRARY_STATUSES, get_library_status
from .output_columns import build_output_columns
from .typed_columns import ColumnBuilder, build_column, order_columns

LAST_COLUMNS = (
    "status", "credits", "credits_source", "marks", "queued_s", "running_s", "error_type", "error", "request_id", "model", "take",
    "service", "created", "finished",
)  # fmt: skip
"""The columns that every table of runs has."""

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
"""The first columns, which a truncated display of ten columns from each side includes."""

INDEX_NAME = "library_run"
"""Name of the index of a library's table: its numbers are not those of a sweep's table, whose index is `run`."""
_TAKEN = frozenset({*LAST_COLUMNS, INDEX_NAME, "run"})
"""Column names reserved against fields of models; `run` is the number in a file of exported runs."""
READ_COLUMNS = (
    "id", "service", "take", "model", "input", "stage", "request_id", "credits", "charged", "output", "media",
    "error_type", "error", "queued_s", "running_s", "created", "finished",
)  # fmt: skip
"""The ledger's columns that are read for a table."""

VIDEOS = frozenset({".mp4", ".webm", ".m4v", ".mov", ".mkv"})
_MODEL, _MIN_SEGMENT_ROWS = READ_COLUMNS.index("model"), 50
_FILE = re.compile(r'"sha256":"([0-9a-f]{64})","suffix":"(\.[0-9a-z]{1,8})"')
"""A file as our writer formats it, with sorted fields. In foreign text inside a value the quotes are escaped."""

TableRows = Sequence[Sequence[Any]]


def get_rows(entries: Iterable[Entry]) -> TableRows:
    """The rows for `build_table` from entries."""
    return [tuple(getattr(entry, name) for name in READ_COLUMNS) for entry in entries]


def build_table(rows: Iterable[TableRows], paths: Mapping[str, str]) -> pd.DataFrame:
    """Build the table of runs, newest last. `paths` maps the hash of a file to its path on this machine.

    >>> frame = build_table([], {})
    >>> len(frame), frame.index.name, list(frame.columns)[:4]
    (0, 'library_run', ['created', 'model', 'prompt', 'seed'])
    """
    registry.find("Reel")  # Its module gives tables their accessor `reel`.
    with _gc_paused():
        inputs, outputs, files, runs = ObjectColumns(), ObjectColumns(), FileColumns(paths), RunColumns()
        for segment in (segment for page in rows for segment in _split_by_model(page)):
            columns = dict(zip(READ_COLUMNS, zip(*segment, strict=True), strict=True))
            inputs.add(columns["input"])
            outputs.add(columns["output"])
            files.add(columns["media"])
            runs.add(columns)
        return _build_frame(inputs.builders, {**build_output_columns(outputs.builders), **files.builders}, runs)


def _split_by_model(rows: TableRows) -> Iterator[TableRows]:
    """Split rows into segments of one model, such as those of a sweep, whose rows share fields and many values."""
    models = [row[_MODEL] for row in rows]
    cuts = [place for place, (model, next_model) in enumerate(pairwise(models), 1) if model != next_model]
    if len(cuts) * _MIN_SEGMENT_ROWS > len(rows):
        cuts = []
    return (rows[start:end] for start, end in pairwise([0, *cuts, len(rows)]) if start < end)


def parse_texts(texts: Sequence[Any]) -> list[Any]:
    """Parse JSON texts to values for table cells, each distinct text once; None for anything but valid JSON.

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
    """Columns of JSON objects, one for each name that occurs."""

    def __init__(self) -> None:
        self.builders: dict[str, ColumnBuilder] = {}
        self._count = 0

    def add(self, texts: Sequence[Any]) -> None:
        """Add objects as JSON texts; other values have no fields."""
        shared, rest = _split_shared(texts)
        values = [value if isinstance(value, dict) else {} for value in parse_texts(rest)]
        shapes = dict.fromkeys(map(tuple, values))
        names = dict.fromkeys(name for shape in shapes for name in shape)
        if len(shapes) == 1:
            # As in a sweep: all have the same fields in the same order.
            columns = dict(zip(names, zip(*map(dict.values, values), strict=True), strict=True))
        else:
            columns = {name: [value.get(name) for value in values] for name in names}
        for name in (*shared, *names):
            self.builders.setdefault(name, ColumnBuilder(after=self._count))
        for name, builder in self.builders.items():
            if name in columns:
                builder.add(columns[name])
            else:
                builder.same(shared.get(name), len(texts))
        self._count += len(texts)


class FileColumns:
    """Columns of local paths: the first video, and all pictures, None for a picture that is not on this machine."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        self.builders = {"output_video": ColumnBuilder(), "output_images": ColumnBuilder()}
        self._paths = paths

    def add(self, texts: Sequence[Any]) -> None:
        """Add the files of runs."""
        videos: list[str | None] = []
        pictures: list[list[str | None] | None] = []
        get_path = self._paths.get
        for text in texts:
            video, others = None, []
            for sha256, suffix in _find_files(text) if text else ():
                if suffix not in VIDEOS:
                    others.append(get_path(sha256))
                elif video is None:
                    video = sha256
            videos.append(video and get_path(video))
            pictures.append(others if others and any(others) else None)
        self.builders["output_video"].add(videos)
        self.builders["output_images"].add(pictures)


class RunColumns:
    """Columns of status, credits and times."""

    def __init__(self) -> None:
        self.runs: list[int] = []
        self.models: dict[str, None] = {}
        self._builders = {name: ColumnBuilder() for name in LAST_COLUMNS}

    def add(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Add runs."""
        self.runs += columns["id"]
        self.models |= dict.fromkeys(columns["model"])
        charges = zip(columns["credits"], columns["charged"], strict=True)
        made: dict[str, Sequence[Any]] = {
            "status": list(map(get_library_status, columns["stage"])),
            "credits_source": [None if cost is None else get_credits_source(charged) for cost, charged in charges],
            "marks": list(map(find_marks, columns["media"])),
        }
        for name, builder in self._builders.items():
            builder.add(made.get(name) or columns[name])

    def series(self) -> dict[str, pd.Series[Any]]:
        """The columns as Series."""
        kinds: Mapping[str, Callable[[Sequence[Any]], pd.Series[Any]]] = {
            "status": partial(_category_column, known=LIBRARY_STATUSES), "model": _category_column, "service": _category_column, "created": _time_column,
            "finished": _time_column, "credits": partial(build_column, kind="integer"), "take": partial(build_column, kind="integer"),
            "queued_s": partial(build_column, kind="number"), "running_s": partial(build_column, kind="number"),
        }  # fmt: skip
        return {name: builder.series(kinds.get(name)) for name, builder in self._builders.items()}


def _build_frame(
    inputs: Mapping[str, ColumnBuilder], outputs: Mapping[str, ColumnBuilder], runs: RunColumns
) -> pd.DataFrame:
    known = [row for row in CATALOG if row.id in runs.models or not runs.models]
    kinds = {name: kind for row in known for name, kind in _get_field_types(row.input).items()}
    series: dict[str, pd.Series[Any]] = {}
    # All fields of the models in their order, including unused ones; then other names in the inputs.
    for name in dict.fromkeys([*kinds, *inputs]):
        column = f"input_{name}" if name in outputs or name in _TAKEN else name
        builder = inputs.get(name) or ColumnBuilder(after=len(runs.runs))
        series[_get_free_name(column, {*series, *outputs, *_TAKEN})] = builder.series(
            partial(build_column, kind=kinds.get(name, ""))
        )
    series |= {name: builder.series() for name, builder in outputs.items()}
    columns = {**series, **runs.series()}
    frame = pd.DataFrame({name: columns[name] for name in order_columns(columns, FIRST_COLUMNS)}, copy=False)
    frame.index = pd.Index(runs.runs, dtype="int64", name=INDEX_NAME)
    # A library that adopted another has older runs with larger numbers.
    return frame if frame["created"].is_monotonic_increasing else frame.sort_values("created", kind="stable")


@contextmanager
def _gc_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector: each collection would traverse all values read so far."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _split_shared(texts: Sequence[Any]) -> tuple[dict[str, Any], Sequence[Any]]:
    """Parse the leading fields common to all of these objects; returns them, and the objects without them.

    The inputs of a sweep differ in few fields, so the common part is parsed only once. If the common prefix plus a
    brace is a valid object, it ends between two fields of each.

    >>> _split_shared(['{"fps":24,"loras":[],"seed":1}', '{"fps":24,"loras":[],"seed":12}'])
    ({'fps': 24, 'loras': []}, ['{"seed":1}', '{"seed":12}'])
    """
    if len(texts) < 2 or set(map(type, texts)) != {str}:
        return {}, texts
    cut = commonprefix(texts).rfind(',"')  # noqa: RUF071  # The prefix of texts, not of paths.
    shared = _parse_one(f"{texts[0][:cut]}}}") if cut > 0 else None
    if not isinstance(shared, dict):
        return {}, texts
    rest = ["{" + text[cut + 1 :] for text in texts]
    return _plain(shared), rest


def _parse_all(texts: list[str]) -> list[Any]:
    joined = f"[{','.join(texts)}]"
    try:
        values = _parse_json(joined)
        is_complete = len(values) == len(texts)
    except (ValueError, RecursionError):
        is_complete = False
    if not is_complete:
        values = [_parse_one(text) for text in texts]
    # Checked in the text first, because traversing every value takes longer than everything else.
    if '"sha256"' in joined or ("\\" in joined and "\\ud" in joined.lower()):
        values = [_plain(value) for value in values]
    return list(values)


def _parse_json(text: str) -> Any:
    try:
        return from_json(text, cache_strings="keys")
    except (ValueError, TypeError):
        # It refuses lone surrogates and deeper nesting, and is twice as fast as `json` for the rest.
        return json.loads(text)


def _parse_one(text: str) -> Any:
    try:
        return _parse_json(text)
    except (ValueError, RecursionError):
        return None


def _plain(value: Any) -> Any:
    """A value with pictures of the library in short form, and without lone surrogates, which no file can store."""
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        if value.keys() == {"sha256"}:
            return f"sha256:{value['sha256']}"
        return {_plain(name): _plain(item) for name, item in value.items()}
    return value


def _find_files(text: str) -> list[tuple[str, str]]:
    """Hash and suffix of all files in a row."""
    found: list[tuple[str, str]] = _FILE.findall(text)
    if len(found) == text.count('"sha256"'):
        return found
    (files,) = parse_texts([text])
    files = files if isinstance(files, list) else []
    return [(str(file.get("sha256")), get_suffix(file)) for file in files if isinstance(file, dict)]


def get_suffix(file: Mapping[str, Any]) -> str:
    """The suffix of a file in a row, also if only its content type is known."""
    suffix = file.get("suffix")
    if isinstance(suffix, str):
        return suffix
    return ".mp4" if str(file.get("content_type")).startswith("video/") else ""


def _category_column(values: Sequence[Any], known: Sequence[str] = ()) -> pd.Series[Any]:
    """A categorical column."""
    names = {word: place for place, word in enumerate(known or sorted(set(values)))}
    codes = pd.Categorical.from_codes([names[value] for value in values], categories=pd.Index(list(names), dtype=str))
    return pd.Series(codes)


def _time_column(values: Sequence[Any]) -> pd.Series[Any]:
    seconds = pd.to_numeric(pd.Series(values, dtype=object), errors="coerce").astype("float64")
    times = pd.to_datetime(seconds, unit="s", utc=True, errors="coerce")
    return times.astype("datetime64[us, UTC]")


def _get_free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


@cache
def _get_field_types(model: type[Input]) -> dict[str, str]:
    """The JSON type of each field; none for texts, because an unused one is a column of objects here."""
    schema = model.model_json_schema()
    types = {name: rule_at(schema, (name,)).get("type", "") for name in schema["properties"]}
    return {name: "" if kind == "string" else kind for name, kind in types.items()}
