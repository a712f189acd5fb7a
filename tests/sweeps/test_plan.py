"""A plan is a value: what changes one gives another, and nothing gets lost on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reelbook.errors import InvalidInput
from reelbook.models.described import describe
from reelbook.models.images_to_video import ImagesToVideo
from reelbook.models.pricing import Estimate
from reelbook.sweeps.plan import Plan, sweep
from reelbook.sweeps.plan_rows import Known
from reelbook.sweeps.plan_summary import format_plan
from reelbook.sweeps.tables import make_plan_frame
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
    assert {row.key for row in woven} == {row.key for row in plan}
    assert len(woven) == len(plan)
    assert [row.number for row in plan[cut:]] == list(range(len(plan[cut:])))


def test_a_shuffled_order_never_changes() -> None:
    """A plan that was stopped goes on in the order in which it began, also years later."""
    plan = sweep(BOAT, seed=range(8))

    assert [run.seed for run in plan.shuffled(0)] == [3, 7, 5, 2, 4, 1, 6, 0]
    assert [run.seed for run in plan.shuffled(1)] != [run.seed for run in plan.shuffled(0)]


def test_what_both_plans_ask_for_counts_once() -> None:
    """The same input and take is one run, paid once, whatever the names of the axes."""
    first = sweep(BOAT, seed=[1, 2])
    second = sweep(BOAT.revised(seed=2), num_frames=[121, 49])

    both = first + second

    assert [(run.seed, run.num_frames) for run in both] == [(1, 121), (2, 121), (2, 49)]
    assert (both.credits, both.columns) == (3 * 53, ("seed", "num_frames"))
    assert len(first + first.repeated(2)) == 4


def test_impossible_runs_stay_and_are_told() -> None:
    """They are counted, priced at nothing, and kept by sums, slices and shuffles."""
    plan = sweep(BOAT, num_frames=[5, 49], seed=[1, 2])

    changed = (plan[:3] + plan[2:]).shuffled(3).repeated(2)

    assert [run.problem is None for run in plan] == [False, False, True, True]
    assert sum(run.problem is not None for run in changed) == 4
    assert plan.credits == 106
    assert plan[0].num_frames == 5
    assert plan[0].prompt == "a paper boat"


def test_brackets_take_what_pandas_takes() -> None:
    """A number, also from the end or from numpy; a slice, numbers, a mask."""
    plan = sweep(BOAT, seed=range(5))
    frame = plan.frame

    assert plan[-1].seed == plan[np.int64(4)].seed == 4
    assert [run.seed for run in plan[1:3]] == [1, 2]
    assert [run.seed for run in plan[[4, 0]]] == [run.seed for run in plan[np.array([4, 0])]] == [4, 0]
    assert [run.seed for run in plan[frame["seed"] > 2]] == [3, 4]
    with pytest.raises(IndexError):
        plan[5]
    for wrong in ([True, False], "seed"):
        with pytest.raises(IndexError):
            plan[wrong]


def test_repeats_are_takes() -> None:
    """Takes 0, 1, 2 … of each run, and repeats of repeats are as many more."""
    plan = sweep(BOAT, num_frames=[49, 97]).repeated(2).repeated(2)

    assert [(run.num_frames, run.take) for run in plan] == [(frames, take) for frames in (49, 97) for take in range(4)]
    assert plan.credits == 8 * 53
    with pytest.raises(InvalidInput, match="more than 1,000,000 runs"):
        plan.repeated(1_000_000)


def test_two_models_make_no_sum() -> None:
    """The sentence says how to get one table of both."""
    other = sweep(ImagesToVideo(images=["a.png"]), fps=[12])

    with pytest.raises(InvalidInput, match=r"pandas\.concat"):
        sweep(BOAT, seed=[1]) + other


def test_prices_can_come_from_elsewhere() -> None:
    """From the service, exactly; each different input is asked for once. One unknown price leaves the sum unknown."""
    plan = sweep(BOAT, seed=[1, 2]).repeated(2)
    asked = []

    def price(request: Any) -> Estimate:
        asked.append(request.seed)
        return Estimate(40, source="exact")

    priced = plan.priced(price)

    assert (priced.credits, asked) == (160, [1, 2])
    assert "160 credits (exact)" in repr(priced)
    unknown = plan.priced(lambda request: 7 if request == BOAT.revised(seed=1) else None)
    assert unknown.credits is None
    assert "price unknown of 2 of them" in repr(unknown)


def test_what_the_library_has_is_not_due() -> None:
    """Nor is what an earlier row asks for, too."""
    plan = sweep(BOAT, seed=[1, 2, 2, 3])

    known = Known(frozenset({plan[0].key}), {})

    assert make_plan_frame(plan, known)["credits_due"].tolist() == [0, 53, 0, 53]
    assert "159 credits (assumed); 1 in the library already, 106 credits due" in format_plan(plan, known)


WARNINGS: list[tuple[str, Plan, str]] = [
    ("the same run twice", sweep(BOAT, [{"seed": 1}, {"seed": 1}]), "1 of 2 runs asks for the same as another"),
    ("no effect", sweep(BOAT, negative_prompt=["a", "b"]), "`negative_prompt` has hardly any effect"),
    ("repeats with a seed", sweep(BOAT, seed=[1, 2]).repeated(2), "2 repeats have the seed of the run they repeat"),
]


@pytest.mark.parametrize(("what", "plan", "sentence"), WARNINGS, ids=[what for what, _, _ in WARNINGS])
def test_what_is_probably_not_meant_is_noted(what: str, plan: Plan, sentence: str) -> None:
    """In the plan's own text, and only there."""
    assert f"Note: {sentence}" in repr(plan), what


def test_a_plan_describes_itself_in_a_few_lines() -> None:
    """Runs, price, axes, what stays the same, what is impossible and why."""
    plan = sweep(BOAT, num_frames=[5, 49], seed=[1, 2])

    known = Known(frozenset(row.key for row in plan), {row.key: row.credits or 0 for row in plan}, 7200)

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
