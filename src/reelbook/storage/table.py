"""Tables of runs: their columns, each of one type that pandas and Parquet can store, and the table of all runs in a library."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

import pandas as pd
import pyarrow as pa
from pydantic_core import from_json

from ..models.base import Input
from ..models.catalog import CATALOG
from ..models.json_schema import rule_at
from ..util import registry
from ..util.printable import map_texts, printable, replace_surrogates
from .ledger.transitions import Entry, get_credits_source
from .run_status import LIBRARY_STATUSES, get_library_status

Files: TypeAlias = Sequence[Mapping[str, Any]]
"""The files of one row of the ledger."""
VIDEOS = frozenset({".mp4", ".webm", ".m4v", ".mov", ".mkv"})
DTYPES = {"integer": "Int64", "number": "float64", "boolean": "boolean", "string": "string"}
"""The type of an empty column of each JSON type."""
MAX_SIGNED, MAX_EXACT = 2**63, 2**53
_MIXED = "odd"

LAST_COLUMNS = (
    "status", "credits", "credits_source", "marks", "queued_s", "running_s", "error_type", "error", "request_id", "model", "take",
    "service", "created", "finished",
)  # fmt: skip
"""The columns that every table of runs has."""

FIRST_COLUMNS = (
    "created", "model", "prompt", "seed", "num_frames", "status", "credits", "output_video", "output_images",
)  # fmt: skip
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


def assemble_table(columns: Mapping[str, Any], first: Iterable[str], index: pd.Index[Any]) -> pd.DataFrame:
    """A table of runs with these columns, which begins with those in `first`, and with the accessor `reel`."""
    registry.find("Reel")  # Its module registers the accessor.
    names = dict.fromkeys([*(name for name in first if name in columns), *columns])
    frame = pd.DataFrame({name: columns[name] for name in names}, copy=False)
    frame.index = index
    return frame


def get_rows(entries: Iterable[Entry]) -> list[Sequence[Any]]:
    """The rows for `build_table` from entries."""
    return [tuple(getattr(entry, name) for name in READ_COLUMNS) for entry in entries]


def build_table(rows: Sequence[Sequence[Any]], paths: Mapping[str, str]) -> pd.DataFrame:
    """Build the table of runs, newest last. `paths` maps the hash of a file to its path on this machine.

    >>> frame = build_table([], {})
    >>> len(frame), frame.index.name, list(frame.columns)[:4]
    (0, 'library_run', ['created', 'model', 'prompt', 'seed'])
    """
    # Each collection would traverse all values read so far, which takes longer than the rest.
    was_on = gc.isenabled()
    gc.disable()
    try:
        return _build_table(rows, paths)
    finally:
        if was_on:
            gc.enable()


def _build_table(rows: Sequence[Sequence[Any]], paths: Mapping[str, str]) -> pd.DataFrame:
    columns = dict(zip(READ_COLUMNS, zip(*rows, strict=True) if rows else [()] * len(READ_COLUMNS), strict=True))
    files = parse_files(columns["media"])
    inputs, outputs = read_objects(columns["input"]), read_outputs(columns["output"], files, paths)
    models = set(columns["model"])
    kinds = {
        name: kind
        for row in CATALOG
        if row.id in models or not models
        for name, kind in _get_field_types(row.input).items()
    }
    series: dict[str, pd.Series[Any]] = {}
    # All fields of the models in their order, including unused ones; then other names in the inputs.
    for name in dict.fromkeys([*kinds, *inputs]):
        column = f"input_{name}" if name in outputs or name in _TAKEN else name
        while column in series or column in outputs or column in _TAKEN:
            column += "_"
        series[column] = build_column(inputs.get(name) or [None] * len(rows), kinds.get(name, ""))
    series |= {name: build_column(values) for name, values in outputs.items()}
    index = pd.Index(columns["id"], dtype="int64", name=INDEX_NAME)
    frame = assemble_table(series | _build_last(columns, files), FIRST_COLUMNS, index)
    # A library that adopted another has older runs with larger numbers.
    return frame if frame["created"].is_monotonic_increasing else frame.sort_values("created", kind="stable")


def _build_last(columns: Mapping[str, Sequence[Any]], files: Iterable[Files]) -> dict[str, pd.Series[Any]]:
    """The columns that every table of runs has."""
    charges = zip(columns["credits"], columns["charged"], strict=True)
    values: dict[str, Sequence[Any]] = {
        **columns,
        "status": list(map(get_library_status, columns["stage"])),
        "credits_source": [None if cost is None else get_credits_source(charged) for cost, charged in charges],
        "marks": list(map(find_marks, files)),
    }
    kinds = {"credits": "integer", "take": "integer", "queued_s": "number", "running_s": "number"}
    words = {"status": LIBRARY_STATUSES, "model": (), "service": ()}
    return {
        name: _build_words(values[name], words[name])
        if name in words
        else _build_times(values[name])
        if name in ("created", "finished")
        else build_column(values[name], kinds.get(name, ""))
        for name in LAST_COLUMNS
    }


def _build_words(values: Sequence[str], known: Sequence[str]) -> pd.Series[Any]:
    """A column of a few words; `known` are all that can occur."""
    return pd.Series(pd.Categorical(list(values), categories=pd.Index(known or sorted(set(values)), dtype=str)))


def _build_times(values: Sequence[Any]) -> pd.Series[Any]:
    seconds = pd.to_numeric(pd.Series(values, dtype=object), errors="coerce").astype("float64")
    times = pd.to_datetime(seconds, unit="s", utc=True, errors="coerce")
    return times.astype("datetime64[us, UTC]")


@cache
def _get_field_types(model: type[Input]) -> dict[str, str]:
    """The JSON type of each field; none for texts, because an unused one is a column of objects here."""
    schema = model.model_json_schema()
    types = {name: rule_at(schema, (name,)).get("type", "") for name in schema["properties"]}
    return {name: "" if kind == "string" else kind for name, kind in types.items()}


# What the texts of a row say.


def parse_texts(texts: Sequence[Any]) -> list[Any]:
    """Parse JSON texts to values for table cells; None for anything but valid JSON.

    >>> parse_texts(['{"seed": 7}', None, "half of it {", '{"image_url": {"sha256": "ab"}}'])
    [{'seed': 7}, None, None, {'image_url': 'sha256:ab'}]
    """
    return [
        _plain(value) if isinstance(text, str) and ('"sha256"' in text or "\\u" in text) else value
        for text, value in zip(texts, _parse_all(texts), strict=True)
    ]


def parse_files(media: Sequence[Any]) -> list[Files]:
    """The files of each row, from the ledger's column `media`."""
    return [
        [file for file in value if isinstance(file, dict)] if isinstance(value, list) else []
        for value in _parse_all(media)
    ]


def read_objects(texts: Sequence[Any]) -> dict[str, list[Any]]:
    """The fields of JSON objects as columns, one for each name that occurs; other values have no fields.

    >>> read_objects(['{"seed": 7}', None, '{"fps": 24}'])
    {'seed': [7, None, None], 'fps': [None, None, 24]}
    """
    objects = [value if isinstance(value, dict) else {} for value in parse_texts(texts)]
    rows_by_shape: dict[tuple[str, ...], list[int]] = {}
    for row, names in enumerate(map(tuple, objects)):
        rows_by_shape.setdefault(names, []).append(row)
    columns: dict[str, list[Any]] = {}
    for names, rows in rows_by_shape.items():
        for name in names:
            column = columns.setdefault(name, [None] * len(objects))
            for row in rows:
                column[row] = objects[row][name]
    return columns


def read_outputs(outputs: Sequence[Any], files: Sequence[Files], paths: Mapping[str, str]) -> dict[str, list[Any]]:
    """The columns of what runs have returned: `output_…`, of files their URLs at the service, and their paths here.

    `paths` maps the hash of a file to its path on this machine; a picture that is not here is None.
    """
    found: dict[str, list[Any]] = {}
    for name, values in read_objects(outputs).items():
        kinds = set(map(type, values))
        if dict in kinds and any(map(_is_file, values)):
            found[f"output_{name}_url"] = list(map(_get_address, values))
        elif list in kinds and any(isinstance(value, list) and any(map(_is_file, value)) for value in values):
            found[f"output_{name}_url"] = [
                list(map(_get_address, value)) if isinstance(value, list) else None for value in values
            ]
        else:
            # pandas prints control characters as they are.
            found[f"output_{name}"] = [
                value
                if type(value) in _PLAIN or (type(value) is str and value.isprintable())
                else map_texts(value, _escape_controls)
                for value in values
            ]
    hashes = [[(str(file.get("sha256")), get_suffix(file)) for file in row] for row in files]
    videos = [next((sha256 for sha256, suffix in row if suffix in VIDEOS), None) for row in hashes]
    pictures = [[paths.get(sha256) for sha256, suffix in row if suffix not in VIDEOS] for row in hashes]
    found["output_video"] = [video and paths.get(video) for video in videos]
    found["output_images"] = [row if any(row) else None for row in pictures]
    return found


def find_marks(files: Files) -> str | None:
    """The marks of a row's files, as recorded when they were downloaded; None if not recorded.

    >>> find_marks([{"marks": "signed by Acme, ai-marked"}, {"marks": "ai-marked"}]), find_marks([{"sha256": "ab"}])
    ('signed by Acme, ai-marked; ai-marked', None)
    """
    return "; ".join(dict.fromkeys(str(file["marks"]) for file in files if file.get("marks"))) or None


def get_suffix(file: Mapping[str, Any]) -> str:
    """The suffix of a file in a row, also if only its content type is known."""
    suffix = file.get("suffix")
    if isinstance(suffix, str):
        return suffix
    return ".mp4" if str(file.get("content_type")).startswith("video/") else ""


_PLAIN = frozenset({int, float, bool, type(None)})


def _escape_controls(text: str) -> str:
    return text if text.isprintable() else printable(text)


def _is_file(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("url"), str)


def _get_address(value: Any) -> str | None:
    # A file embedded in the response has no address: it is on the shelf.
    return value["url"] if _is_file(value) and value["url"].startswith(("https://", "http://")) else None


def _parse_all(texts: Sequence[Any]) -> list[Any]:
    """Parse JSON texts; None for anything but valid JSON."""
    documents = [text if isinstance(text, str) else "null" for text in texts]
    try:
        # All at once, which is much faster than one by one.
        values: list[Any] = _parse_json(f"[{','.join(documents)}]")
        if len(values) == len(documents):
            return values
    except (ValueError, RecursionError):
        pass
    return list(map(_parse_one, documents))


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


# Columns of one type each.


def build_column(values: Sequence[Any], kind: str = "") -> pd.Series[Any]:
    """The values as a Series; None is missing. Values of mixed types become text, so that nothing is rounded or lost.

    `kind` is the declared JSON type, because values do not determine whether 1 is a float, or an empty column's type.

    >>> [str(build_column(values).dtype) for values in ([1, None], [True, False], [1, 0.5])]
    ['Int64', 'boolean', 'float64']
    >>> list(build_column([["a"], None])), list(build_column([7, "x", None]))
    ([['a'], None], ['7', 'x', <NA>])
    """
    kinds = set(map(type, values)) - {type(None)}
    if not kinds:
        return pd.Series([None] * len(values), dtype=DTYPES.get(kind, "object"))
    if kinds == {bool}:
        return pd.Series(values, dtype="boolean")
    if kinds <= {int, float}:
        return _number_column(values, kinds, kind)
    if kinds == {str}:
        return _text_column(values)
    if kinds <= {list, dict} and _shape_of_all(values) != _MIXED:
        return pd.Series(values, dtype=object)
    return _text_column([_text(value) for value in values])


def format_json(value: Any) -> str:
    """Format a value as JSON on one line.

    >>> format_json([{"path": "a", "scale": 0.5}])
    '[{"path": "a", "scale": 0.5}]'
    """
    return json.dumps(value, ensure_ascii=False, default=str)


def _number_column(values: Sequence[Any], kinds: set[type], kind: str) -> pd.Series[Any]:
    if float not in kinds and kind != "number":
        return _integer_column(values)
    if int in kinds and any(type(value) is int and abs(value) > MAX_EXACT for value in values):
        return _text_column([_text(value) for value in values])
    return pd.Series(values, dtype="float64")


def _integer_column(values: Sequence[Any]) -> pd.Series[Any]:
    for kind, dtype in (("int64", pd.Int64Dtype()), ("uint64", pd.UInt64Dtype())):
        try:
            return _arrow_column(values, kind, dtype)
        except OverflowError:
            pass
    # A seed must stay exact to the last digit.
    return _text_column([_text(value) for value in values])


def _text_column(values: Sequence[str | None]) -> pd.Series[Any]:
    """A text column with `<NA>` for missing values, as in integer columns; pandas' default would be NaN."""
    try:
        return _arrow_column(values, "large_string", pd.StringDtype())
    except UnicodeEncodeError:
        # Lone surrogates are valid in Python's strings but not in UTF-8.
        return _text_column([value and replace_surrogates(value) for value in values])


def _arrow_column(values: Sequence[Any], kind: str, dtype: Any) -> pd.Series[Any]:
    """The values as a Series, converted by Arrow, which is three times as fast as pandas."""
    return pd.Series(dtype.__from_arrow__(pa.array(values, kind)), copy=False)


def _text(value: Any) -> str | None:
    return None if value is None else str(value) if isinstance(value, str) else format_json(value)


def _shape_of_all(values: Sequence[Any]) -> Any:
    """The common shape of all values; `_MIXED` if two are incompatible, which Parquet could not store."""
    shape: Any = None
    for value in values:
        if value is not None:
            shape = _merged(shape, _shape(value))
            if shape == _MIXED:
                return _MIXED
    return shape


def _shape(value: Any) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return None if value is None else type(value).__name__
    if isinstance(value, int):
        # In a column with floats, a larger integer would be rounded.
        return "number" if abs(value) <= MAX_EXACT else "large" if -MAX_SIGNED <= value < MAX_SIGNED else _MIXED
    if isinstance(value, float):
        return "number"
    if isinstance(value, list):
        inner: Any = None
        for item in value:
            inner = _merged(inner, _shape(item))
        return _MIXED if inner == _MIXED else ("list", inner)
    if not value:
        return _MIXED  # Parquet cannot store a struct without fields.
    fields = {name: _shape(item) for name, item in value.items()}
    return _MIXED if _MIXED in fields.values() else fields


def _merged(one: Any, other: Any) -> Any:
    """The common shape of two; None, of a missing value, is compatible with every shape."""
    if one is None or other is None or one == other:
        return other if one is None else one
    if isinstance(one, dict) and isinstance(other, dict):
        both = {name: _merged(one.get(name), other.get(name)) for name in {**one, **other}}
        return _MIXED if _MIXED in both.values() else both
    if isinstance(one, tuple) and isinstance(other, tuple):
        inner = _merged(one[1], other[1])
        return _MIXED if inner == _MIXED else ("list", inner)
    return _MIXED
