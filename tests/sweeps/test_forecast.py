"""How long a plan may take: told by what the library has seen."""

from __future__ import annotations

from pathlib import Path

import pytest

import reelbook as rb
from reelbook.sweeps.ledger_lookup import Past, estimate_seconds, get_work
from tests.sweeps.dots import Scripted
from tests.transport.variants import Hosted

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
    """And its job tells how much is left before its first run has ended, at a service whose runs end when this test says so."""
    with Hosted() as hosted, rb.connect(hosted.base_url, api_key="a-key", library=tmp_path / "library"):
        scripted = Scripted(hosted)
        scripted.end.set()
        plan, more = (rb.sweep(BOAT, seed=range(first, first + 3)) for first in (0, 10))
        before = plan.facts.seconds
        plan.run(budget=plan.credits)
        scripted.end.clear()
        told = more.facts.seconds
        job = more.start(budget=more.credits)
        hosted.wait_until(lambda _: job.progress.seconds_left is not None)
        left = job.progress
        scripted.end.set()
        job.wait(60)

    assert before is None
    assert told is not None
    assert told > 0
    assert left.counts["completed"] == 0
    assert plan.facts.seconds is None or plan.facts.credits_due == 0


def test_without_a_client_nobody_knows() -> None:
    """A plan is shown without connecting to anything."""
    assert "about" not in rb.sweep(BOAT, seed=[1, 2]).summary()
