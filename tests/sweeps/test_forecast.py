"""How long a plan may take: told by what the library has seen."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import reelbook as rb
from reelbook.sweeps.execute.progress import Tally
from reelbook.sweeps.plan.forecast import Past, estimate_seconds, get_work

BOAT = rb.TextToVideo(prompt="a paper boat", num_frames=25, resolution="480p", aspect_ratio="1:1")


@pytest.mark.parametrize(
    ("past", "seconds"),
    [
        ([], None),
        # One after the other, four seconds each: forty in a row.
        ([Past(0, 4, 1), Past(10, 14, 1)], 40.0),
        # Two at once: four seconds for two.
        ([Past(0, 4, 1), Past(0.5, 4, 1)], 20.0),
        # Twice the work took twice the time.
        ([Past(0, 8, 2), Past(0.5, 8, 2)], 20.0),
        # The largest crowd tells more than a later single one.
        ([Past(0, 4, 1), Past(0.5, 4, 1), Past(100, 130, 1)], 20.0),
    ],
)
def test_the_pace_of_the_last_crowd_holds(past: list[Past], seconds: float | None) -> None:
    """Ten runs of one unit of work each."""
    assert estimate_seconds([1.0] * 10, past) == seconds


def test_one_long_run_takes_its_time_whatever_the_pace() -> None:
    """A run cannot be shared out: what many small ones did together says little about a large one."""
    small = [Past(0, 10, 1) for _ in range(10)]

    assert estimate_seconds([10.0], small) == pytest.approx(10.0)
    assert estimate_seconds([1.0] * 20, small) == pytest.approx(20.0)


def test_frames_and_lines_count_as_work() -> None:
    """Where the input tells them; a model without them counts runs."""
    assert get_work({"num_frames": 100}) == 2 * get_work({"num_frames": 50})
    assert get_work({"resolution": "720p"}) == get_work({"resolution": "480p"}) * 2.25
    assert get_work({"image_url": "x"}) == 1.0


def test_a_plan_tells_its_time_once_something_like_it_has_run(tmp_path: Path) -> None:
    """On the embedded service it is right within a factor of four, and the job tells it before its first run has ended.

    Other work on the machine can end or begin between a plan and its run, but hardly three times.
    """
    with rb.connect(library=tmp_path / "library"):
        plan = rb.sweep(BOAT, seed=range(3))
        before = plan.facts.seconds
        plan.run()
        errors = []
        lefts: list[Any] = []
        for first in (10, 20, 30):
            more = rb.sweep(BOAT, seed=range(first, first + 4))
            told = more.facts.seconds
            lefts.clear()
            job = more.start()
            job.on_change(lambda job: lefts.append(job.progress))
            began = time.monotonic()
            job.wait(120)
            took = time.monotonic() - began
            assert told is not None
            assert any(seen.seconds_left is not None and not seen.counts["completed"] for seen in lefts)
            errors.append(max(told / took, took / told))
            if errors[-1] <= 4:
                break

    assert before is None
    assert min(errors) <= 4
    assert plan.facts.seconds is None or plan.facts.credits_due == 0


def test_without_a_client_nobody_knows() -> None:
    """A plan is shown without connecting to anything."""
    assert "about" not in rb.sweep(BOAT, seed=[1, 2]).summary()


def test_the_time_left_goes_over_from_what_was_foretold_to_the_pace() -> None:
    """Two quick or slow ends do not turn it upside down; after eight the pace alone counts, and so it does where the forecast is over."""
    tally = Tally()
    tally.forecast = 10.0
    told = []
    for ends in (0, 2, 4, 8, 40):
        tally._ends.clear()
        tally._ends.extend([time.monotonic()] * ends)
        told.append(tally._seconds_left(20, 0.5 if ends else None) or 0.0)
    tally.forecast = 0.0

    assert told == pytest.approx([10.0, 17.5, 25.0, 40.0, 40.0], abs=0.2)
    assert tally._seconds_left(20, 0.5) == 40.0
    assert tally._seconds_left(20, None) is None
