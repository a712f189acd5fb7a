"""A plan is a value: what changes one gives another, nothing gets lost on the way, and its table has one row for each run."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reelbook.errors import InvalidInput
from reelbook.models.catalog import Estimate
from reelbook.models.described import describe
from reelbook.models.images_to_video import ImagesToVideo
from reelbook.models.text_to_video import TextToVideo
from reelbook.sweeps.options import RunOptions, check_options
from reelbook.sweeps.parts import rows, template
from reelbook.sweeps.plan import spread_rows, sweep
from reelbook.sweeps.plan_summary import format_plan
from tests.models.described_inputs import with_fields
from tests.support import examples
from tests.sweeps.axes import AXES, BOAT


@settings(max_examples=examples(10, 40))
@given(axes=AXES, cut=st.integers(-5, 70), step=st.integers(1, 3))
def test_slices_together_are_the_whole(axes: dict[str, list[Any]], cut: int, step: int) -> None:
    """Whatever is cut off and added again, in two parts or as every n-th run."""
    plan = sweep(BOAT, **axes)
    assume(len({row.key for row in plan}) == len(plan))

    woven = plan[::step]
    for start in range(1, step):
        woven = woven + plan[start::step]

    assert plan[:cut] + plan[cut:] == plan
    assert sorted(map(repr, (row.key for row in woven))) == sorted(map(repr, (row.key for row in plan)))
    assert [row.number for row in plan[cut:]] == list(range(len(plan[cut:])))


def test_a_shuffled_order_never_changes() -> None:
    """A plan that was stopped goes on in the order in which it began, also years later."""
    plan = sweep(BOAT, seed=range(8))

    assert [run.seed for run in plan.shuffled(0)] == [3, 7, 5, 2, 4, 1, 6, 0]
    assert [run.seed for run in plan.shuffled(1)] != [run.seed for run in plan.shuffled(0)]


def test_what_both_plans_ask_for_counts_once() -> None:
    """The same input and take is one run, paid once, whatever the names of the axes; a label may be one plan's alone."""
    first = sweep(BOAT, rows([{"seed": 1, "note": "calm"}, {"seed": 2, "note": "calm"}], keep=["note"]))
    second = sweep(BOAT.revised(seed=2), num_frames=[121, 49])

    both = first + second

    assert [(run.seed, run.num_frames, run.note) for run in both] == [(1, 121, "calm"), (2, 121, "calm"), (2, 49, None)]
    assert (both.credits, both.columns) == (3 * 53, ("seed", "note", "num_frames"))
    assert len(first + first.repeated(2)) == 4
    with pytest.raises(InvalidInput, match=r"pandas\.concat"):
        first + sweep(ImagesToVideo(images=["a.png"]), fps=[12])


def test_impossible_runs_stay_and_say_why() -> None:
    """They are counted, priced at nothing, and kept by sums, slices and shuffles."""
    plan = sweep(BOAT, num_frames=[5, 49], seed=[1, 2])

    changed = (plan[:3] + plan[2:]).shuffled(3).repeated(2)

    assert [run.problem is None for run in plan] == [False, False, True, True]
    assert sum(run.problem is not None for run in changed) == 4
    assert (plan.credits, plan[0].num_frames, plan[0].prompt) == (106, 5, "a paper boat")


def test_brackets_take_what_pandas_takes() -> None:
    """A number, also from the end or from numpy; a slice, numbers, a mask."""
    plan = sweep(BOAT, seed=range(5))

    assert plan[-1].seed == plan[np.int64(4)].seed == 4
    assert [run.seed for run in plan[1:3]] == [1, 2]
    assert [run.seed for run in plan[[4, 0]]] == [run.seed for run in plan[np.array([4, 0])]] == [4, 0]
    assert [run.seed for run in plan[plan.frame["seed"] > 2]] == [3, 4]


def test_repeats_are_takes() -> None:
    """Takes 0, 1, 2 … of each run, and repeats of repeats are as many more."""
    plan = sweep(BOAT, num_frames=[49, 97]).repeated(2).repeated(np.int64(2))  # type: ignore[arg-type]

    assert [(run.num_frames, run.take) for run in plan] == [(frames, take) for frames in (49, 97) for take in range(4)]
    assert plan.credits == 8 * 53
    with pytest.raises(InvalidInput, match="more than 1,000,000 runs"):
        plan.repeated(1_000_000)


def test_prices_can_come_from_the_service() -> None:
    """Each different input is asked for once. One unknown price leaves the sum unknown."""
    plan = sweep(BOAT, seed=[1, 2]).repeated(2)
    asked = []

    def price(request: Any) -> Estimate:
        asked.append(request.seed)
        return Estimate(40, source="exact")

    priced = plan.priced(price)
    unknown = plan.priced(lambda request: 7 if request == BOAT.revised(seed=1) else None)

    assert (priced.credits, asked, unknown.credits) == (160, [1, 2], None)
    assert "160 credits (exact)" in repr(priced)
    assert "price unknown of 2 of them" in repr(unknown)


def test_what_the_library_has_is_not_due() -> None:
    """Nor is what an earlier row asks for, too."""
    plan = sweep(BOAT, seed=[1, 2, 2, 3])

    known = {plan[0].key: 53}

    assert [row.seed for row in plan.find_due(known)] == [2, 3]
    assert "159 credits (assumed); 1 in the library already, 106 credits due" in format_plan(plan, known)


def test_what_is_probably_not_meant_is_noted() -> None:
    """In the plan's own text, and only there."""
    for plan, sentence in (
        (sweep(BOAT, [{"seed": 1}, {"seed": 1}]), "1 of 2 runs asks for the same as another"),
        (sweep(BOAT, seed=[1, 2]).repeated(2), "2 repeats have the seed of the run they repeat"),
    ):
        assert f"Note: {sentence}" in repr(plan)


def test_a_plan_describes_itself_in_a_few_lines() -> None:
    """Runs, price, axes, what stays the same, what is impossible and why."""
    plan = sweep(BOAT, num_frames=[5, 49], seed=[1, 2])

    known = {row.key: row.credits or 0 for row in plan.distinct}

    assert format_plan(plan, known).splitlines() == [
        "4 runs of svc/text-to-video-13b-distilled, 106 credits, all paid earlier; nothing now",
        "  num_frames  2  5, 49",
        "  seed        2  1, 2",
        "  prompt         'a paper boat'",
        "✕ 2 impossible, the first is run 0: `num_frames` = 5 is outside 9 to 1441. The nearest allowed value is 9.",
    ]


def test_one_and_true_are_two_runs() -> None:
    """A field that takes either is sent as it was given; 1 and 1.0 are one run."""
    kind = describe(with_fields({"effort": {"anyOf": [{"type": "boolean"}, {"type": "integer"}]}}))

    plan = sweep(kind(), {"effort": [1, True, 1.0]})

    assert [row.input.wire() for row in plan.distinct if row.input is not None] == [{"effort": 1}, {"effort": True}]


# The table of a plan.


@settings(max_examples=examples(10, 40))
@given(axes=AXES)
def test_the_table_agrees_with_the_plan_row_by_row(axes: dict[str, list[Any]]) -> None:
    """Every field of a possible run, its take, its price and its problem."""
    plan = sweep(BOAT, **axes)

    frame = plan.frame

    assert list(frame.index) == [row.number for row in plan]
    assert list(frame.columns) == [*TextToVideo.model_fields, "take", "credits", "credits_due", "problem"]
    for record, row in zip(frame.astype(object).where(frame.notna(), None).to_dict("records"), plan, strict=True):
        assert (record["credits"], record["problem"], record["take"]) == (row.credits, row.problem, row.take)
        if row.input is not None:
            assert sweep(BOAT, [{name: record[name] for name in TextToVideo.model_fields}])[0].input == row.input


def test_types_follow_from_the_model() -> None:
    """Nullable whole numbers, categories with all choices, floats, text; the same for one run and for impossible ones."""
    types = sweep(BOAT, num_frames=[49]).frame.dtypes.astype(str).to_dict()
    odd = sweep(BOAT, num_frames=["many", 5], resolution=["480p", "1080p"]).frame
    none = sweep(BOAT, seed=[1]).where(lambda run: False).frame

    assert [types[name] for name in ("seed", "resolution", "temporal_adain_factor")] == ["Int64", "category", "float64"]
    assert odd.dtypes.astype(str).to_dict() == none.dtypes.astype(str).to_dict() == types
    assert odd["num_frames"].isna().tolist() == [True, True, False, False]
    assert odd["resolution"].tolist() == ["480p", "1080p"] * 2
    assert list(none["resolution"].cat.categories) == ["480p", "720p"]


def test_values_of_mixed_types_are_texts_that_files_hold(tmp_path: Path) -> None:
    """Choices of numbers and words, and objects beside lists."""
    kind = describe(with_fields({"length": {"enum": ["auto", 5, 10]}, "extra": {}}))

    frame = sweep(kind(), length=["auto", 5], extra=[{"a": 1}, [2]]).frame
    frame.to_parquet(tmp_path / "plan.parquet")

    assert frame["length"].tolist() == ["auto", "auto", "5", "5"]
    assert pd.read_parquet(tmp_path / "plan.parquet")["extra"].tolist() == ['{"a": 1}', "[2]"] * 2


def test_a_name_that_the_table_needs_gets_a_prefix() -> None:
    """Fields become `input_…`; nothing is overwritten."""
    model = describe(with_fields({name: {"type": "integer"} for name in ("status", "input_status", "credits")}))

    frame = sweep(model(status=1, input_status=2, credits=3), [{"credits": 4}]).frame

    assert frame.filter(like="status").iloc[0].tolist() == [1, 2]
    assert (frame["input_credits"][0], len(set(frame.columns))) == (4, len(frame.columns))


# The order in which runs are sent, and how.


@settings(max_examples=examples(15, 60))
@given(frames=st.integers(1, 6), seeds=st.integers(1, 6), cut=st.floats(0, 1))
def test_a_grid_stopped_anywhere_is_balanced(frames: int, seeds: int, cut: float) -> None:
    """No value of an axis was tried much more often than another one of the same axis; every row comes once."""
    plan = sweep(BOAT, num_frames=[5, 97, 121, 145, 169, 193][:frames], seed=range(seeds), frame_rate=[12, 24])

    order = spread_rows(plan)
    possible = sum(row.input is not None for row in order)
    done = order[: round(cut * possible)]

    assert sorted(row.number for row in order) == list(range(len(plan)))
    for name in plan.columns:
        tried = Counter(row[name] for row in done)
        times = [tried[value] for value in {row[name] for row in order[:possible]}]
        assert max(times, default=0) - min(times, default=0) <= 3, (name, times)


def test_the_order_does_not_depend_on_how_python_hashes_texts() -> None:
    """Each process hashes them in another way, and a sweep that goes on tomorrow goes on with what it would have done today."""
    plan = sweep(BOAT, template("a {a} {b}", a=["x", "y"], b=["p", "q", "r"]), aspect_ratio=["16:9", "1:1"])

    assert [row.number for row in spread_rows(plan)] == [0, 9, 5, 10, 2, 7, 1, 8, 4, 11, 6, 3]


@pytest.mark.parametrize(
    "wrong",
    [{"budget": -1}, {"budget": True}, {"budget": 1.5}, {"budget": "much"}, {"budget": float("inf")}, {"concurrency": 0},
     {"concurrency": 1000}, {"rate": "fast"}, {"rate": 0}, {"rate": "0/s"}, {"rate": 10**400}, {"take": -1},
     {"on_error": "panic"}, {"notify": "me"}, {"spend": "12"}, {"spend": float("nan")},
     {"spend": Decimal(53)}, {"spend": [53]}, {"price": 10**30}],
    ids=repr,
)  # fmt: skip
def test_a_wrong_option_is_refused_before_anything_is_sent(wrong: dict[str, Any]) -> None:
    """The sentence names the option."""
    with pytest.raises(InvalidInput, match=f"`{next(iter(wrong))}` is .*(give|write|can be|has to be)"):
        check_options(RunOptions, wrong)


@pytest.mark.parametrize(("rate", "per_second"), [("10/s", 10), ("30 / min", 0.5), ("90/hour", 0.025), (0.5, 0.5)])
def test_rates_are_read_as_people_write_them(rate: Any, per_second: float) -> None:
    """In a second, a minute, or an hour."""
    assert check_options(RunOptions, {"rate": rate}).rate == per_second
