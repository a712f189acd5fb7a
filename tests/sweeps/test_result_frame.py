"""The table of a sweep: tidy, of the same columns and types whatever came of the runs, and safe on its way through files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from reelbook.models.base import Input
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.images_to_video import ImagesToVideo
from reelbook.models.smart_resize import SmartResize
from reelbook.models.text_to_video import TextToVideo
from reelbook.storage.ledger.transitions import Entry
from reelbook.storage.run_identity import dumps
from reelbook.storage.run_status import RunStatus
from reelbook.sweeps.parts import rows
from reelbook.sweeps.plan import Plan, sweep
from reelbook.sweeps.progress import RunName, Standing
from reelbook.sweeps.tables import build_frame

URL = "https://example.org/a.png"
LAST = ["status", "credits", "credits_source", "marks", "credits_estimated", "queued_s", "running_s", "error_type", "error", "request_id", "model", "take", "service", "input_json"]  # fmt: skip
BASES: list[tuple[Input, dict[str, Any], list[str]]] = [
    (TextToVideo(prompt="a boat"), {"seed": [1, 2, 3, 4]}, ["output_video", "output_video_url", "output_seed", "output_prompt"]),
    (ImageToVideo(prompt="a boat", image_url=URL), {"prompt": ["a", "b", "c", "d"]}, ["output_video", "output_video_url"]),
    (SmartResize(image_url=URL, target_sizes=["300x600"]), {"seed": [1, 2, 3, 4]},
     ["output_images", "output_images_url", "output_results", "output_description"]),
    (ImagesToVideo(images=[URL]), {"fps": [1.0, 2.0, 3.0, 4.0]}, ["output_video", "output_video_url"]),
]  # fmt: skip


def seen(number: int, state: str = "stored", **facts: Any) -> Entry:
    """A row of the ledger."""
    nothing: dict[str, Any] = dict.fromkeys(Entry._fields)
    return Entry(**{**nothing, "id": number, "identity": f"name-{number}", "take": 0, "state": state, "stage": state, "credits": 53, "counted": 53,
                   "certain": 0, "price": 53, "request_id": f"r{number}", **facts})  # fmt: skip


def answered(model: str, number: int) -> dict[str, Any]:
    """What the service gave and what is on the shelf."""
    sha = f"{number:064x}"
    if model == SmartResize.endpoint_id:
        files = [
            {"url": f"https://example.org/{number}-{side}.png", "width": side, "height": 600} for side in (300, 400)
        ]
        output: dict[str, Any] = {
            "images": files,
            "results": [{"width": 300, "resolution": "1K", "images": files}],
            "description": "ok",
        }
        media = [{"sha256": sha, "suffix": ".png"}, {"sha256": f"{number + 1000:064x}", "suffix": ".png"}]
    else:
        output = {"video": {"url": f"https://example.org/{number}.mp4", "content_type": "video/mp4"}}
        output |= {"seed": number, "prompt": "a boat"} if model == TextToVideo.endpoint_id else {}
        media = [{"sha256": sha, "suffix": ".mp4"}]
    return {"output": dumps(output), "media": dumps(media), "charged": 53, "queued_s": 0.5, "running_s": 8.25}


def paths(count: int = 20) -> dict[str, str]:
    known = {f"{number:064x}": f"/shelf/{number}.mp4" for number in range(count)}
    return {**known, **{f"{number + 1000:064x}": f"/shelf/{number}-2.png" for number in range(count)}}


def standings(plan: Plan, statuses: list[str]) -> list[Standing]:
    """How the rows stand, each by itself."""
    found = []
    for row, status in zip(plan, statuses, strict=True):
        name = RunName(f"name-{row.number}", row.take, dumps(row.input.wire())) if row.input else None
        error = None if status in ("completed", "waiting", "not started") else f"it is {status}"
        status = status if row.input else RunStatus.IMPOSSIBLE
        found.append(Standing(row, name, status=status, error_type=error and "oops", error=error))
    return found


def make_table(plan: Plan, *statuses: str) -> pd.DataFrame:
    """The table of a plan whose runs have these statuses, or are all completed."""
    model, words = plan.base.endpoint_id, list(statuses) or ["completed"] * len(plan)
    entries = [
        None if word == "not started" else seen(number, **answered(model, number)) if word == "completed" else seen(number, word)
        for number, word in enumerate(words)
    ]  # fmt: skip
    return build_frame(plan, standings(plan, words), entries, paths())


@pytest.mark.parametrize(("base", "axes", "outputs"), BASES, ids=[base.endpoint_id for base, *_ in BASES])
def test_a_table_is_of_one_form_whatever_came_of_the_runs_and_in_files(
    base: Input, axes: dict[str, Any], outputs: list[str], tmp_path: Path
) -> None:
    """Inputs and facts have their types from the start, what was returned comes with the first result.

    Parquet keeps types, categories and what the table knows of itself; CSV keeps the text of everything.
    """
    plan = sweep(base, **axes)
    none, every = make_table(plan, *["not started"] * 4), make_table(plan)
    some = make_table(plan, "completed", "failed", "uncertain", "not started")

    inputs = [name for name in plan.frame.columns if name not in ("take", "credits", "credits_due", "problem")]
    for table in (none, some, every):
        assert list(table.columns)[: len(axes) + 3] == [*axes, "status", "credits", outputs[0]]
        assert set(table.columns) == {*inputs, *LAST, *(outputs[:1] if table is none else outputs)}
        always = [name for name in table.columns if name in (*inputs, *LAST)]
        pd.testing.assert_series_equal(table[always].dtypes, every[always].dtypes)
        assert (table.index.tolist(), table.index.name) == ([0, 1, 2, 3], "run")
        pd.testing.assert_frame_equal(table[inputs], plan.frame[inputs])
    assert [str(every[name].dtype) for name in ("credits", "status")] == ["Int64", "category"]
    assert every["credits"].sum() == 4 * 53

    some.attrs["reelbook"] = {"axes": ["seed"]}
    some.to_parquet(tmp_path / "table.parquet")
    back = pd.read_parquet(tmp_path / "table.parquet")
    text = pd.read_csv(io.StringIO(some.to_csv()), index_col="run")
    plain = [name for name in some.columns if some[name].dtype != object]

    pd.testing.assert_frame_equal(back[plain], some[plain])
    assert list(back.columns) == list(text.columns) == list(some.columns)
    assert back.attrs == some.attrs
    for name in ("status", "credits", "input_json"):
        assert text[name].fillna(-1).tolist() == some[name].astype(object).fillna(-1).tolist()


def test_every_result_stands_in_its_row() -> None:
    """Local files as text, addresses beside them, several pictures of a run as a list."""
    pictures, films = (make_table(sweep(base, **axes)) for base, axes, _ in (BASES[2], BASES[0]))

    assert pictures.loc[2, "output_images"] == ["/shelf/2.mp4", "/shelf/2-2.png"]
    assert pictures.loc[2, "output_images_url"] == ["https://example.org/2-300.png", "https://example.org/2-400.png"]
    assert films["output_seed"].tolist() == [0, 1, 2, 3]
    assert films["output_video"].tolist() == [f"/shelf/{number}.mp4" for number in range(4)]
    assert films["output_video_url"].tolist() == [f"https://example.org/{number}.mp4" for number in range(4)]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (None, (None, None, None)),
        (seen(0, "planned", credits=0, counted=0), (None, None, None)),
        (seen(0, "planned"), (53, "estimated", 53)),
        (seen(0, "stored", credits=93, charged=40), (93, "charged", 53)),
        (seen(0, "stored", credits=None, price=None), (None, None, None)),
        (seen(0, "failed"), (53, "estimated", 53)),
        (seen(0, "failed", credits=0, charged=0), (0, "charged", 53)),
    ],
)  # fmt: skip
def test_credits_are_what_is_known_and_say_from_whom(row: Entry | None, expected: tuple[object, ...]) -> None:
    """Those of the ledger, whose rules tests/storage/test_run_cost.py has, and the price before; nothing for what was never sent."""
    plan = sweep(TextToVideo(prompt="a boat"), seed=[1])

    table = build_frame(plan, standings(plan, ["failed"]), [row], {})

    found = table.loc[:, ["credits", "credits_source", "credits_estimated"]].astype(object)
    assert tuple(found.where(found.notna(), None).iloc[0]) == expected


def test_names_that_collide_are_kept_apart() -> None:
    """A label called like a column of the table, or like a result, gets a prefix; nothing is overwritten."""
    listed = [{"seed": seed, "status": "mine", "output_seed": seed, "run": seed * 10} for seed in (1, 2)]
    plan = sweep(TextToVideo(prompt="a boat"), rows(listed, keep=["status", "output_seed", "run"]))

    table = make_table(plan)

    assert table["status"].tolist() == ["completed"] * 2
    assert table["label_status"].tolist() == ["mine"] * 2
    assert table["output_seed"].tolist() == [0, 1]
    assert table["label_output_seed"].tolist() == [1, 2]
    # The index has that name, in files, too.
    assert pd.read_csv(io.StringIO(table.to_csv()), index_col="run")["label_run"].tolist() == [10, 20]
    assert table.attrs["reelbook"]["axes"] == ["seed", "label_status", "label_output_seed", "label_run"]


@pytest.mark.parametrize("seeds", [[2**63 - 1, None], [2**63], [2**64], [2**63, -5, None]])
def test_seeds_are_exact_to_the_last_digit_in_both(seeds: list[int | None]) -> None:
    """What no column of numbers holds is text."""
    plan = sweep(TextToVideo(prompt="a boat"), seed=seeds)
    table = build_frame(plan, standings(plan, ["failed"] * len(seeds)), [None] * len(seeds), {})

    for frame in (plan.frame, table):
        assert [None if pd.isna(value) else int(value) for value in frame["seed"]] == seeds
