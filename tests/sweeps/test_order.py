"""The order in which runs are sent: stopped anywhere, a sweep has tried all values about equally often."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reelbook.errors import InvalidInput
from reelbook.sweeps.options import RunOptions, check_options
from reelbook.sweeps.parts import template
from reelbook.sweeps.plan import sweep
from reelbook.sweeps.plan_rows import spread_rows
from tests.support import examples
from tests.sweeps.axes import AXES, BOAT

FRAMES, SEEDS = [49, 97, 121, 145, 169, 193], list(range(6))
SIZES = st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 2))


@settings(max_examples=examples(15, 60))
@given(sizes=SIZES, cut=st.floats(0, 1))
def test_a_grid_stopped_anywhere_is_balanced(sizes: tuple[int, int, int], cut: float) -> None:
    """No value of an axis was tried much more often than another one of the same axis."""
    frames, seeds, switches = sizes
    plan = sweep(BOAT, num_frames=FRAMES[:frames], seed=SEEDS[:seeds], enable_detail_pass=[False, True][:switches])

    order = spread_rows(plan)
    done = order[: round(cut * len(order))]

    for name, values in plan.axes.items():
        tried = Counter(row[name] for row in done)
        times = [tried[value] for value in values]
        assert max(times) - min(times) <= 3, (name, times)


def test_a_half_of_a_two_level_design_has_every_pair_of_values() -> None:
    """Eight of the sixteen runs of four switches are the classical half fraction."""
    switches = ("num_frames", "seed", "enable_detail_pass", "frame_rate")
    plan = sweep(BOAT, num_frames=[49, 97], seed=[1, 2], enable_detail_pass=[False, True], frame_rate=[12, 24])

    half = spread_rows(plan)[:8]

    for one, other in combinations(switches, 2):
        assert {(row[one], row[other]) for row in half} == set(product(plan.axes[one], plan.axes[other]))


@settings(max_examples=examples(10, 40))
@given(axes=AXES, takes=st.integers(1, 3))
def test_every_row_comes_once_in_an_order_that_stays_the_same(axes: dict[str, list[Any]], takes: int) -> None:
    """Also with impossible rows, and with takes."""
    plan = sweep(BOAT, **axes).repeated(takes)

    order = spread_rows(plan)

    assert sorted(row.number for row in order) == list(range(len(plan)))
    assert order == spread_rows(plan)


def test_the_order_does_not_depend_on_how_python_hashes_texts() -> None:
    """Each process hashes them in another way, and a sweep that goes on tomorrow goes on with what it would have done today."""
    plan = sweep(BOAT, template("a {a} {b}", a=["x", "y"], b=["p", "q", "r"]), aspect_ratio=["16:9", "1:1"])

    assert [row.number for row in spread_rows(plan)] == [0, 9, 5, 10, 2, 7, 1, 8, 4, 11, 6, 3]


@pytest.mark.parametrize(
    "wrong",
    [{"budget": -1}, {"budget": True}, {"budget": 1.5}, {"budget": "much"}, {"budget": float("inf")}, {"concurrency": 0},
     {"concurrency": 1000}, {"rate": "fast"}, {"rate": 0}, {"rate": "0/s"}, {"rate": 10**400}, {"take": -1},
     {"on_error": "panic"}, {"order": "random"}, {"notify": "me"}, {"spend": "12"}, {"spend": float("nan")},
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
