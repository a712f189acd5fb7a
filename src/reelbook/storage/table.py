"""Tables of runs: their columns, each of one type that pandas and Parquet can store, and the table of all runs in a library."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from ..models.base import Input
from ..models.catalog import CATALOG
from ..models.images import unwrap_pictures
from ..models.problems import rule_at
from ..util import registry
from ..util.printable import map_texts, printable, replace_surrogates
from .ledger.transitions import Entry
from .run_status import STATUSES, STATUSES_BY_STAGE

if TYPE_CHECKING:
    import pandas as pd

VIDEOS = frozenset({".mp4", ".webm", ".m4v", ".mov", ".mkv"})
DTYPES = {"integer": "Int64", "number": "float64", "boolean": "boolean", "string": "string"}
"""The type of an empty column of each JSON type."""

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


def build_table(rows: Sequence[Sequence[Any]], paths: Mapping[str, str]) -> pd.DataFrame:
    """Build the table of runs from `READ_COLUMNS`, newest last. `paths` maps the hash of a file to its path on this machine.

    >>> frame = build_table([], {})
    >>> len(frame), frame.index.name, list(frame.columns)[:4]
    (0, 'library_run', ['created', 'model', 'prompt', 'seed'])
    """
    import pandas as pd

    # A library that adopted another has older runs with larger numbers.
    rows = sorted(rows, key=lambda row: row[READ_COLUMNS.index("created")])
    made, read = make_run_columns(rows, paths), _transpose(rows)
    models, inputs = set(read["model"]), _read_objects(read["input"])
    used = [row for row in CATALOG if row.id in models or not models]
    kinds = {name: kind for row in used for name, kind in _get_field_types(row.input).items()}
    columns: dict[str, Any] = {}
    # All fields of the models in their order, including unused ones; then other names in the inputs.
    for name in dict.fromkeys([*kinds, *inputs]):
        column = f"input_{name}" if name in made or name in _TAKEN else name
        while column in columns or column in made:
            column += "_"
        columns[column] = build_column(inputs.get(name) or [None] * len(rows), kinds.get(name, ""))
    return assemble_table(columns | made, FIRST_COLUMNS, pd.Index(read["id"], dtype="int64", name=INDEX_NAME))


def make_run_columns(rows: Sequence[Sequence[Any] | None], paths: Mapping[str, str]) -> dict[str, Any]:
    """The columns of what runs have returned, then `LAST_COLUMNS`; a row that is None is missing in all of them."""
    import pandas as pd

    read = _transpose([row or [None] * len(READ_COLUMNS) for row in rows])
    outputs = {name: build_column(values) for name, values in _read_outputs(read["output"]).items()}
    videos, pictures, read["marks"] = _read_files(read["media"], paths)
    outputs |= {"output_video": build_column(videos), "output_images": build_column(pictures)}
    costs = zip(
        read["credits"], ("estimated" if charged is None else "charged" for charged in read["charged"]), strict=True
    )
    read["credits_source"] = [None if cost is None else source for cost, source in costs]
    last: dict[str, Any] = {}
    for name in LAST_COLUMNS:
        if name == "status":
            words = [None if stage is None else STATUSES_BY_STAGE[stage] for stage in read["stage"]]
            last[name] = pd.Categorical(words, STATUSES)
        elif name in ("model", "service"):
            last[name] = pd.Categorical(read[name], pd.Index(sorted(set(read[name]) - {None}), dtype=str))
        elif name in ("created", "finished"):
            moments = pd.to_datetime(pd.Series(read[name], dtype="float64"), unit="s", utc=True, errors="coerce")
            last[name] = moments.astype("datetime64[us, UTC]")
        else:
            last[name] = build_column(read[name], _KINDS.get(name, "string"))
    return outputs | last


def assemble_table(columns: Mapping[str, Any], first: Iterable[str], index: pd.Index[Any]) -> pd.DataFrame:
    """A table of runs with these columns, which begins with those in `first`, and with the accessor `reel`."""
    import pandas as pd

    registry.find("Reel")  # Its module registers the accessor.
    names = dict.fromkeys([*(name for name in first if name in columns), *columns])
    frame = pd.DataFrame({name: columns[name] for name in names}, copy=False)
    frame.index = index
    return frame


def _transpose(rows: Sequence[Sequence[Any]]) -> dict[str, Sequence[Any]]:
    return dict(zip(READ_COLUMNS, zip(*rows, strict=True) if rows else [()] * len(READ_COLUMNS), strict=True))


@cache
def _get_field_types(model: type[Input]) -> dict[str, str]:
    """The JSON type of each field; none for texts, because an unused one is a column of objects here."""
    schema = model.model_json_schema()
    types = {name: rule_at(schema, (name,)).get("type", "") for name in schema["properties"]}
    return {name: "" if kind == "string" else kind for name, kind in types.items()}


# What the texts of a row say.


def parse_text(text: Any) -> Any:
    """Parse a JSON text to a value for a table cell, with pictures of the library in short; None for anything but valid JSON.

    >>> parse_text('{"image_url": {"sha256": "ab"}}'), parse_text("half of it {")
    ({'image_url': 'sha256:ab'}, None)
    """
    try:
        # Twice as fast, but it refuses lone surrogates.
        value = json.loads(text) if "\\u" in text else from_json(text, cache_strings="keys")
        return unwrap_pictures(value) if '"sha256"' in text else value
    except (TypeError, ValueError, RecursionError):
        return None


def get_facts(entry: Entry) -> dict[str, Any]:
    """The facts about a run that its files tell, and that are written into their copies."""
    values, output = (
        value if isinstance(value, dict) else {} for value in map(parse_text, (entry.input, entry.output))
    )
    return {
        "model": entry.model, "input": values, "request_id": entry.request_id, "credits": entry.credits,
        "credits_source": entry.credits_source, "seed": output.get("seed", values.get("seed")),
        "made_at": datetime.fromtimestamp(entry.finished or entry.created, UTC).isoformat(), "service": entry.service,
    }  # fmt: skip


def _read_objects(texts: Sequence[Any]) -> dict[str, list[Any]]:
    """The fields of JSON objects as columns, one for each name that occurs; other values have no fields."""
    columns: dict[str, list[Any]] = {}
    # One after the other, because Python's collection of garbage takes long with all of them in memory.
    for row, value in enumerate(map(parse_text, texts)):
        for name, item in value.items() if isinstance(value, dict) else ():
            if name not in columns:
                columns[name] = [None] * len(texts)
            columns[name][row] = item
    return columns


def _read_outputs(outputs: Sequence[Any]) -> dict[str, list[Any]]:
    """The columns of what runs have returned: `output_…`, and of files their URLs at the service."""
    columns: dict[str, list[Any]] = {}
    for name, values in _read_objects(outputs).items():
        column = f"output_{replace_surrogates(name)}"
        if any(_is_file(value) or (isinstance(value, list) and any(map(_is_file, value))) for value in values):
            columns[f"{column}_url"] = [
                list(map(_get_address, value)) if isinstance(value, list) else _get_address(value) for value in values
            ]
        else:
            # pandas prints control characters as they are.
            columns[column] = [map_texts(value, printable) for value in values]
    return columns


def _read_files(media: Sequence[Any], paths: Mapping[str, str]) -> tuple[list[Any], list[Any], list[Any]]:
    """The path of each row's video, those of its pictures, and its marks. `paths` maps the hash of a file to its path here."""
    videos, pictures, marks = [], [], []
    for text in media:
        value = parse_text(text)
        files = [file for file in value if isinstance(file, dict)] if isinstance(value, list) else []
        is_video = [str(file.get("suffix")) in VIDEOS for file in files]
        here = [paths.get(str(file.get("sha256"))) for file in files]
        videos.append(here[is_video.index(True)] if True in is_video else None)
        stills = [path for path, moves in zip(here, is_video, strict=True) if not moves]
        pictures.append(stills if any(stills) else None)
        # As recorded when they were downloaded.
        marks.append("; ".join(dict.fromkeys(str(file["marks"]) for file in files if file.get("marks"))) or None)
    return videos, pictures, marks


def format_json(value: Any) -> str:
    """Format a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, default=str)


def _is_file(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("url"), str)


def _get_address(value: Any) -> str | None:
    # A file embedded in the response has no address: it is on the shelf.
    return value["url"] if _is_file(value) and value["url"].startswith(("https://", "http://")) else None


# Columns of one type each.


def build_column(values: Sequence[Any], kind: str = "") -> pd.Series[Any]:
    """The values as a Series; None is missing. Values of mixed types become text, so that nothing is rounded or lost.

    `kind` is the declared JSON type, because values do not determine whether 1 is a float, or an empty column's type.

    >>> [str(build_column(values).dtype) for values in ([1, None], [True, False], [1, 0.5])]
    ['Int64', 'boolean', 'float64']
    >>> list(build_column([["a"], None])), list(build_column([7, "x", None]))
    ([['a'], None], ['7', 'x', <NA>])
    """
    import pandas as pd
    import pyarrow as pa

    kinds = set(map(type, values)) - {type(None)}
    if not kinds:
        return pd.Series([None] * len(values), dtype=DTYPES.get(kind, "object"))
    # Of numbers beyond 64 bits, and of lists that Arrow cannot store in a file, the text is exact.
    with contextlib.suppress(OverflowError, pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError):
        if kinds == {bool}:
            return pd.Series(values, dtype="boolean")
        if kinds == {int} and kind != "number" and all(value is None or abs(value) < 2**63 for value in values):
            return pd.Series(values, dtype="Int64")
        if kinds <= {int, float} and all(type(value) is not int or abs(value) <= 2**53 for value in values):
            return pd.Series(values, dtype="float64")
        if kinds <= {list, tuple, dict} and "struct<>" not in str(pa.array(values).type):
            return pd.Series(values, dtype=object)
    # With `<NA>` for missing values, as in integer columns; pandas' default would be NaN.
    texts = [value if value is None or isinstance(value, str) else format_json(value) for value in values]
    try:
        return pd.Series(texts, dtype="string")
    except UnicodeEncodeError:  # Lone surrogates are valid in Python's strings, but not in files.
        return pd.Series([text and replace_surrogates(text) for text in texts], dtype="string")
