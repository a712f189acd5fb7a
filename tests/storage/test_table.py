"""Rows of the ledger as a table: plain, tidy, and exact, whatever stands in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from reelbook.models.base import Input
from reelbook.models.images_to_video import ImagesToVideo
from reelbook.models.smart_resize import SmartResize
from reelbook.models.text_to_video import TextToVideo
from reelbook.storage.ledger.transitions import Entry, State
from reelbook.storage.run_identity import dumps, format_canonical
from reelbook.storage.run_status import STATUSES
from reelbook.storage.table import (
    LAST_COLUMNS,
    READ_COLUMNS,
    build_column,
    build_table,
)

BOAT = TextToVideo(prompt="a paper boat", seed=7)


def entry(request: Input | str = BOAT, *, model: str | None = None, id: int = 1, **facts: Any) -> Entry:
    """A row of the ledger."""
    asked = format_canonical(request) if isinstance(request, Input) else request
    name = model or (request.endpoint_id if isinstance(request, Input) else "svc/other")
    given = Entry(
        id=id, service="https://example.org", identity="i", take=0, model=name, input=asked, state=State.STORED, owner=None, attempt=1,
        attempt_key=None, body=None, name=None, request_id=f"request-{id}", price=53, charged=None, spent=0, unpriced=0, output=None,
        media=None, error_type=None, error=None, queued_s=0.5, running_s=2.0, created=1.7e9 + id, sent=1.7e9, finished=1.7e9,
        stage=State.STORED, credits=53, counted=53, unknown=0, certain=0,
    )  # fmt: skip
    return given._replace(**facts)


def frame(*entries: Entry, paths: dict[str, str] | None = None) -> pd.DataFrame:
    return build_table([[getattr(entry, name) for name in READ_COLUMNS] for entry in entries], paths or {})


def media(*suffixes: str) -> tuple[str, dict[str, str]]:
    """The text of a row's files, and where they are."""
    files = [
        {"sha256": f"{place:064x}", "suffix": suffix, "url": "https://e.org"} for place, suffix in enumerate(suffixes)
    ]
    return dumps(files), {f"{place:064x}": f"/media/{place}{suffix}" for place, suffix in enumerate(suffixes)}


def test_a_run_is_a_row_with_its_input_under_its_own_names() -> None:
    """What a researcher looks for first, then all inputs, what came back, and how it went; the number of the run is the index."""
    text, paths = media(".mp4")
    output = dumps({"video": {"url": "https://example.org/a.mp4"}, "seed": 7, "prompt": "a paper boat"})

    found = frame(entry(output=output, media=text, charged=53), paths=paths)

    row = found.loc[1]
    assert list(found.columns)[:8] == [
        "created", "model", "prompt", "seed", "num_frames", "status", "credits", "output_video"
    ]  # fmt: skip
    assert set(LAST_COLUMNS) <= set(found.columns)
    assert (found.index.name, row["prompt"], row["seed"], row["output_seed"]) == ("library_run", "a paper boat", 7, 7)
    assert (row["output_video"], row["output_video_url"]) == ("/media/0.mp4", "https://example.org/a.mp4")
    assert (row["status"], row["credits"], row["credits_source"]) == ("completed", 53, "charged")


def test_the_columns_have_types_that_a_gap_does_not_change() -> None:
    """A seed stays a whole number where another run has none, and a whole fraction stays a fraction."""
    one, other = (
        entry(BOAT.revised(temporal_adain_factor=1)),
        entry(SmartResize(image_url="a", target_sizes=["64x64"]), id=2),
    )

    found = frame(one, other)

    kinds = found.dtypes.astype(str)
    assert (kinds["seed"], kinds["num_frames"], kinds["credits"], kinds["take"]) == ("Int64",) * 4
    assert (kinds["reverse_video"], kinds["temporal_adain_factor"]) == ("boolean", "float64")
    assert (kinds["status"], kinds["model"], kinds["service"]) == ("category",) * 3
    assert found["created"].dt.tz is not None
    assert found["seed"].isna().tolist() == [False, True]


def test_no_runs_make_an_empty_table_with_the_same_columns() -> None:
    """What is written for a full library works on an empty one."""
    empty = frame()

    assert {"prompt", "seed", "target_sizes", "output_video", "output_images", *LAST_COLUMNS} <= set(empty.columns)
    assert empty[empty["prompt"].str.contains("boat")].empty
    assert empty.groupby("num_frames")["credits"].sum().empty


def test_a_field_with_the_name_of_a_column_gets_a_prefix() -> None:
    """What a model calls `status` or `run` does not hide how the run went."""
    asked = '{"credits":"mine","model":"theirs","output_video":1,"run":2,"status":"odd"}'

    found = frame(entry(asked)).iloc[0]

    assert (found["input_status"], found["input_credits"], found["input_model"]) == ("odd", "mine", "theirs")
    assert (found["input_run"], found["input_output_video"], found["status"]) == (2, 1, "completed")


@pytest.mark.parametrize(
    ("stage", "status"),
    [
        ("planned", "not started"), ("claimed", "waiting"), ("sending", "waiting"), ("accepted", "waiting"),
        ("completed", "completed"), ("stored", "completed"), ("rejected", "failed"), ("cancelled", "cancelled"),
        ("failed", "failed"), ("expired", "unfinished"), ("uncertain", "uncertain"),
    ],
)  # fmt: skip
def test_every_stage_has_a_word(stage: str, status: str) -> None:
    """The same in the library's table and in a sweep's."""
    table = frame(entry(stage=stage))

    assert table.iloc[0]["status"] == status
    assert table["status"].cat.categories.tolist() == list(STATUSES)


def test_a_damaged_row_spoils_no_other() -> None:
    """Text that is no JSON, or another thing than was expected, leaves its cells empty and the rest as they are."""
    broken = ['{"prompt": "half', "[1, 2]", "null", '{"a":1},{"b":2}', "[" * 100_000, f'{{"seed":{"9" * 5000}}}']
    rows = [entry(text, id=number, output=text, media=text) for number, text in enumerate(broken, 1)]

    found = frame(*rows, entry(id=99))

    assert len(found) == len(broken) + 1
    assert found.loc[99, "prompt"] == "a paper boat"
    assert found["prompt"].notna().sum() == 1


def test_a_seed_stays_exact_to_the_last_digit_and_the_newest_run_is_last() -> None:
    """What does not fit the widest type becomes text. A library that took in an older one has large numbers for old runs."""
    seeds = [7, 2**63 - 1, 2**64 - 1, 10**40]

    tables = [frame(entry(BOAT.revised(seed=seed), created=2e9), entry(BOAT, id=2, created=1e9)) for seed in seeds]

    assert [int(table["seed"].iloc[1]) for table in tables] == seeds
    assert list(tables[0].index) == [2, 1]


def test_the_table_survives_parquet(tmp_path: Path) -> None:
    """Mixed models, lists of parts and texts of strangers go into the file and come back."""
    text, paths = media(".mp4", ".png")
    hostile = '{"prompt":"\\ud800 <script>alert(1)</script> \\u0000","x":{},"y":[1,"a"],"z":{"a":[]}}'
    rows = [
        entry(BOAT.revised(loras=[{"path": "a", "scale": 0.5}, {"path": "b"}]), media=text), entry(id=2),
        entry(ImagesToVideo(images=["https://e.org/a.png"]), id=3), entry(hostile, id=4, output=hostile),
        entry('{"x":1,"y":null,"seed":"seven"}', id=5),
    ]  # fmt: skip
    made = frame(*rows, paths=paths)

    made.to_parquet(tmp_path / "runs.parquet")
    back = pd.read_parquet(tmp_path / "runs.parquet")

    assert list(back.columns) == list(made.columns)
    assert back["prompt"].tolist()[:2] == ["a paper boat"] * 2
    assert list(back["output_images"].iloc[0]) == ["/media/1.png"]
    assert back["status"].dtype == made["status"].dtype


@pytest.mark.parametrize(
    ("values", "dtype", "cells"),
    [
        ([1, None, -3], "Int64", [1, pd.NA, -3]), ([2**63, None], "string", [str(2**63), pd.NA]), ([-1, 2**63], "string", ["-1", str(2**63)]),
        ([2**64, None, 1], "string", [str(2**64), pd.NA, "1"]), ([1, 0.5, None], "float64", [1.0, 0.5, None]),
        ([2**53 + 1, 0.5], "string", [str(2**53 + 1), "0.5"]), ([True, None], "boolean", [True, pd.NA]), ([True, 1], "string", ["true", "1"]),
        (["a\ud800", None, "\x1b\u2028\x00"], "string", ["a?", pd.NA, "\x1b\u2028\x00"]), ([[1, [2]], None], "string", ["[1, [2]]", pd.NA]),
        ([[1], [], None], "object", [[1], [], None]), ([{}, "a"], "string", ["{}", "a"]), ([None, None], "object", [None, None]),
    ],
)  # fmt: skip
def test_a_column_is_exact_whatever_is_in_it(values: list[Any], dtype: str, cells: list[Any]) -> None:
    """Large, mixed, nested and unwritable values keep their type and digits, and a cell can be changed afterwards."""
    made = build_column(values)

    assert str(made.dtype) == dtype
    assert str(made.tolist()).replace("nan", "None") == str(cells)
    made.iloc[0] = made.iloc[-1]
    assert str(made.iloc[0]) == str(made.iloc[-1])
