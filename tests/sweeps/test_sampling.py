"""Samples are even, repeatable, and only of values that the model takes."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reelbook.errors import ReelbookError
from reelbook.models.described import describe
from reelbook.sweeps.parts import sampled
from reelbook.sweeps.plan import sweep
from tests.models.described_inputs import with_fields
from tests.support import examples
from tests.sweeps.axes import BOAT

METHODS = st.sampled_from(["latin", "sobol"])


@settings(max_examples=examples(10, 40), deadline=None)
@given(
    n=st.integers(1, 40),
    frames=st.tuples(st.integers(9, 1441), st.integers(9, 1441)).map(sorted).map(tuple),
    factor=st.tuples(st.floats(0, 0.45), st.floats(0.5, 1)),
    seed=st.integers(0, 2**40),
    method=METHODS,
)
def test_sampled_values_are_always_valid(n: int, frames: Any, factor: Any, seed: int, method: Any) -> None:
    """Whole numbers, multiples and choices are kept to, whatever the ends of the range; the same seed, the same runs."""
    fields = {"num_frames": frames, "temporal_adain_factor": factor, "resolution": ["480p", "720p"], "seed": (0, 2**80)}

    plan = sweep(BOAT, sampled(n, fields, seed=seed, method=method))

    assert [row.problem for row in plan] == [None] * n
    for run in plan:
        assert frames[0] <= run.num_frames <= frames[1]
        assert factor[0] <= run.temporal_adain_factor <= factor[1]
        assert 0 <= run["seed"] <= 2**80
    assert plan == sweep(BOAT, sampled(n, fields, seed=seed, method=method))


@pytest.mark.parametrize("method", ["latin", "sobol"])
def test_a_sample_covers_each_range_evenly(method: Any) -> None:
    """Of 32 draws, every tenth of the range and every choice has its share; another seed gives another sample."""
    fields = {"num_frames": (9, 1441), "aspect_ratio": ["16:9", "9:16", "1:1"]}

    plan = sweep(BOAT, sampled(32, fields, method=method))

    tenths = [sum(9 + 143.2 * tenth <= run.num_frames < 9 + 143.2 * (tenth + 1) for run in plan) for tenth in range(10)]
    assert 2 <= min(tenths) <= max(tenths) <= 5
    assert min(sum(run.aspect_ratio == shape for run in plan) for shape in ("16:9", "9:16", "1:1")) >= 9
    assert plan != sweep(BOAT, sampled(32, fields, method=method, seed=1))


def test_described_multiples_are_kept_to() -> None:
    """Steps of eight pixels, and of a tenth, which no float is."""
    fields = {
        "width": {"type": "integer", "minimum": 64, "maximum": 512, "multipleOf": 8},
        "odd": {"type": "integer", "multipleOf": 2.5, "minimum": 0},
        "speed": {"type": "number", "minimum": 0, "maximum": 2, "multipleOf": 0.1},
    }
    base = describe(with_fields(fields))(width=64)

    plan = sweep(base, sampled(50, width=(70, 130), odd=(1, 20), speed=(0, 1)))

    assert {row.problem for row in plan} == {None}
    assert set(plan.axes["width"]) <= set(range(72, 131, 8))
    assert set(plan.axes["odd"]) <= {5, 10, 15, 20}
    assert set(plan.axes["speed"]) <= {round(tenth / 10, 1) for tenth in range(11)}


def test_beyond_the_bounds_of_the_model_nothing_is_sent() -> None:
    """Such runs are in the plan as impossible, with the reason."""
    plan = sweep(BOAT, sampled(20, num_frames=(0, 100)))

    assert {row.problem is None for row in plan} == {True, False}
    assert "is outside 9 to 1441" in repr(plan)


def test_without_scipy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """What to install stands in the sentence; everything else works without it."""
    monkeypatch.setitem(sys.modules, "scipy.stats.qmc", None)
    monkeypatch.setitem(sys.modules, "scipy.stats", None)

    with pytest.raises(ReelbookError, match=r"pip install 'reelbook\[sampling\]'"):
        sweep(BOAT, sampled(5, num_frames=(9, 257)))
    assert len(sweep(BOAT, seed=range(3))) == 3
