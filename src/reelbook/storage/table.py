"""Tables of runs: their columns, each of one type that pandas and Parquet can store, and the table of all runs in a library."""

from __future__ import annotations

import contextlib
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
from .ledger.transitions import get_credits_source
from .run_status import LIBRARY_STATUSES, get_library_status

Files: TypeAlias = Sequence[Mapping[str, Any]]
"""The files of one row of the ledger."""
VIDEOS = frozenset({".mp4", ".webm", ".m4v", ".mov", ".mkv"})
DTYPES = {"integer": "Int64", "number": "float64", "boolean": "boolean", "string": "string"}
"""The type of an empty column of each JSON type."""
_ARROW_DTYPES: dict[str, Any] = {"int64": pd.Int64Dtype(), "uint64": pd.UInt64Dtype(), "large_string": pd.StringDtype()}

LAST_COLUMNS = (
    "status", "credits", "credits_source", "marks", "queued_s", "running_s", "error_type", "error", "request_id", "model", "take",
    "service", "created", "finished",
)  # fmt: skip
"""The columns that every table of runs has."""
_KINDS = {"credits": "integer", "take": "integer", "queued_s": "number", "running_s": "number"}

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


def build_table(rows: Sequence[Sequence[Any]], paths: Mapping[str, str]) -> pd.DataFrame:
    """Build the table of runs from `READ_COLUMNS`, newest last. `paths` maps the hash of a file to its path on this machine.

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
    read = dict(zip(READ_COLUMNS, zip(*rows, strict=True) if rows else [()] * len(READ_COLUMNS), strict=True))
    files = parse_files(read["media"])
    inputs, outputs = read_objects(read["input"]), read_outputs(read["output"], files, paths)
    models = set(read["model"])
    used = [row for row in CATALOG if row.id in models or not models]
    kinds = {name: kind for row in used for name, kind in _get_field_types(row.input).items()}
    columns: dict[str, Any] = {}
    # All fields of the models in their order, including unused ones; then other names in the inputs.
    for name in dict.fromkeys([*kinds, *inputs]):
        column = f"input_{name}" if name in outputs or name in _TAKEN else name
        while column in columns or column in outputs or column in _TAKEN:
            column += "_"
        columns[column] = build_column(inputs.get(name) or [None] * len(rows), kinds.get(name, ""))
    columns |= {name: build_column(values) for name, values in outputs.items()}
    charges = zip(read["credits"], read["charged"], strict=True)
    read["credits_source"] = tuple(None if cost is None else get_credits_source(charged) for cost, charged in charges)
    read["marks"] = tuple(map(find_marks, files))
    last: dict[str, Any] = {
        name: build_column(read[name], _KINDS.get(name, "")) for name in LAST_COLUMNS if name in read
    }
    last |= {
        name: pd.Categorical(read[name], pd.Index(sorted(set(read[name])), dtype=str)) for name in ("model", "service")
    }
    last["status"] = pd.Categorical(list(map(get_library_status, read["stage"])), LIBRARY_STATUSES)
    last |= {name: _build_times(read[name]) for name in ("created", "finished")}
    columns |= {name: last[name] for name in LAST_COLUMNS}
    frame = assemble_table(columns, FIRST_COLUMNS, pd.Index(read["id"], dtype="int64", name=INDEX_NAME))
    # A library that adopted another has older runs with larger numbers.
    return frame if frame["created"].is_monotonic_increasing else frame.sort_values("created", kind="stable")


def _build_times(values: Sequence[Any]) -> pd.Series[Any]:
    seconds = pd.to_numeric(pd.Series(values, dtype=object), errors="coerce").astype("float64")
    return pd.to_datetime(seconds, unit="s", utc=True, errors="coerce").astype("datetime64[us, UTC]")


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
    values = map(_parse, texts)
    return [
        _plain(value) if isinstance(text, str) and ('"sha256"' in text or "\\u" in text) else value
        for text, value in zip(texts, values, strict=True)
    ]


def parse_files(media: Sequence[Any]) -> list[Files]:
    """The files of each row, from the ledger's column `media`."""
    values = map(_parse, media)
    return [[file for file in value if isinstance(file, dict)] if isinstance(value, list) else [] for value in values]


def read_objects(texts: Sequence[Any]) -> dict[str, list[Any]]:
    """The fields of JSON objects as columns, one for each name that occurs; other values have no fields.

    >>> read_objects(['{"seed": 7}', None, '{"fps": 24}'])
    {'seed': [7, None, None], 'fps': [None, None, 24]}
    """
    columns: dict[str, list[Any]] = {}
    for row, value in enumerate(parse_texts(texts)):
        for name, item in value.items() if isinstance(value, dict) else ():
            if name not in columns:
                columns[name] = [None] * len(texts)
            columns[name][row] = item
    return columns


def read_outputs(outputs: Sequence[Any], files: Sequence[Files], paths: Mapping[str, str]) -> dict[str, list[Any]]:
    """The columns of what runs have returned: `output_…`, of files their URLs at the service, and their paths here.

    `paths` maps the hash of a file to its path on this machine; a picture that is not here is None.
    """
    columns: dict[str, list[Any]] = {}
    for name, values in read_objects(outputs).items():
        if any(_is_file(value) or (isinstance(value, list) and any(map(_is_file, value))) for value in values):
            columns[f"output_{name}_url"] = [
                list(map(_get_address, value)) if isinstance(value, list) else _get_address(value) for value in values
            ]
        else:
            # pandas prints control characters as they are.
            columns[f"output_{name}"] = [map_texts(value, _escape_controls) for value in values]
    hashes = [[(str(file.get("sha256")), get_suffix(file)) for file in row] for row in files]
    videos = [next((sha256 for sha256, suffix in row if suffix in VIDEOS), None) for row in hashes]
    pictures = [[paths.get(sha256) for sha256, suffix in row if suffix not in VIDEOS] for row in hashes]
    columns["output_video"] = [video and paths.get(video) for video in videos]
    columns["output_images"] = [row if any(row) else None for row in pictures]
    return columns


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


def format_json(value: Any) -> str:
    """Format a value as JSON on one line.

    >>> format_json([{"path": "a", "scale": 0.5}])
    '[{"path": "a", "scale": 0.5}]'
    """
    return json.dumps(value, ensure_ascii=False, default=str)


def _escape_controls(text: str) -> str:
    return text if text.isprintable() else printable(text)


def _is_file(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("url"), str)


def _get_address(value: Any) -> str | None:
    # A file embedded in the response has no address: it is on the shelf.
    return value["url"] if _is_file(value) and value["url"].startswith(("https://", "http://")) else None


def _parse(text: Any) -> Any:
    """Parse a JSON text; None for anything but valid JSON."""
    if not isinstance(text, str):
        return None
    try:
        return from_json(text, cache_strings="keys")
    except (ValueError, TypeError):
        # It refuses lone surrogates and deeper nesting, and is twice as fast as `json` for the rest.
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(text)
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
    if kinds <= {int, float} and (float in kinds or kind == "number"):
        if not any(type(value) is int and abs(value) > 2**53 for value in values):
            return pd.Series(values, dtype="float64")
    elif kinds == {int}:
        for arrow_type in ("int64", "uint64"):
            with contextlib.suppress(OverflowError):
                return _build_from_arrow(values, arrow_type)
    elif kinds <= {list, dict}:
        # Arrow refuses values of mixed types inside, and Parquet cannot store an object without fields.
        with contextlib.suppress(pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
            if "struct<>" not in str(pa.array(values).type):
                return pd.Series(values, dtype=object)
    # With `<NA>` for missing values, as in integer columns; pandas' default would be NaN.
    return _build_from_arrow(list(map(_format_text, values)), "large_string")


def _build_from_arrow(values: Sequence[Any], arrow_type: str) -> pd.Series[Any]:
    """The values as a Series, converted by Arrow, which is three times as fast as pandas."""
    return pd.Series(_ARROW_DTYPES[arrow_type].__from_arrow__(pa.array(values, arrow_type)), copy=False)


def _format_text(value: Any) -> str | None:
    # Lone surrogates are valid in Python's strings, but not in files.
    return None if value is None else replace_surrogates(value if isinstance(value, str) else format_json(value))
