"""A race finds the best setting for fewer credits than all runs cost, and repeats itself for nothing."""

from __future__ import annotations

import asyncio
import math
import threading
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import reelbook as rb
from reelbook.client import Client
from reelbook.decide.race.settings import RaceStopped
from reelbook.sweeps.background_job import StillRunning
from reelbook.sweeps.parts import rows
from reelbook.sweeps.plan import sweep
from tests.decide.races import BASE, FIRST, NOWHERE, PRICE, SECOND, make_plan, merit, race
from tests.support import Served
from tests.sweeps.dots import BOAT, Scripted, reserved
from tests.sweeps.dots import PRICE as BOAT_PRICE
from tests.transport.variants import Hosted, Reply


def get_choice(found: Any) -> tuple[Any, ...]:
    """What a race has done and found."""
    return found.best, found.ranking().to_csv(), sorted(found.table["request_id"]), found.progress.findings


def test_a_race_finds_the_best_setting_under_its_budget(served: Served, client: Client) -> None:
    """24 runs cost 1,272 credits; for 40% of them the setting with the most frames is known to be the best."""
    plan = make_plan()

    found = race(plan, budget=0.4, sure=0.6)

    assert found.best.images[0].frames == 3
    assert len(reserved(served)) * PRICE == found.spent <= int(0.4 * 24 * PRICE)
    assert found.is_decided
    assert found.saved == 24 * PRICE - found.spent
    ranking = found.ranking()
    assert list(ranking.columns) == [FIRST, SECOND, "mean", "low", "high", "chance", "runs", "credits"]
    assert ranking.iloc[0][[FIRST, SECOND]].tolist() == [3, 2]
    assert len(ranking) == 6
    assert ranking["credits"].sum() == found.spent
    assert ranking["runs"].sum() == len(found.table)
    assert ranking["chance"].sum() == pytest.approx(1)
    assert ((ranking["low"] <= ranking["mean"]) & (ranking["mean"] <= ranking["high"])).all()
    table = found.table
    assert set(table["status"]) == {"completed"}
    assert {"round", "setting", "score"} <= set(table.columns)
    assert table.reel.run(0).output.video is not None
    assert table["request_id"].is_unique


@pytest.mark.usefixtures("client")
def test_an_axis_named_like_a_figure_is_refused_before_anything_is_sent(served: Served) -> None:
    """Either would hide the other in the tables of the race."""
    plan = sweep(BASE, rows([{FIRST: frames, "mean": frames * 100} for frames in (1, 2)], keep=["mean"]))

    with pytest.raises(rb.InvalidInput, match="columns of their own for mean"):
        race(plan, over="mean", budget=1.0)

    assert reserved(served) == []


def test_a_repeated_race_costs_nothing_and_comes_to_the_same_choice(served: Served, client: Client) -> None:
    """The cell run again, also where the budget ended it, and with a larger budget, which only goes on."""
    for budget in (6 * PRICE, 500):
        first = race(make_plan(), budget=budget)
        charges = len(reserved(served))

        second = race(make_plan(), budget=budget)
        assert len(reserved(served)) == charges
        assert get_choice(second) == get_choice(first)
        assert second.progress.spent_now == 0
        assert second.progress.free == len(second.table) == charges
        assert f"{first.spent:,} of {budget:,} credits spent, nothing now" in str(second.panel)
    third = race(make_plan(), budget=0.6, sure=0.999)

    assert set(third.table["request_id"]) >= set(first.table["request_id"])
    assert len(reserved(served)) == len(set(reserved(served))) == len(third.table)


def test_two_races_at_once_pay_for_each_run_once(served: Served, client: Client) -> None:
    """The same cell in two notebooks, here two races at the same time on one library."""
    one, other = (make_plan().race(by=merit, over="fps", budget=530) for _ in range(2))
    one.wait(60)
    other.wait(60)

    # The one that ends first has not seen the last run of the other one, which is one more for the same setting.
    best: list[Any] = [one.best, other.best]
    assert [frame.frames for frame in best[0].images] == [frame.frames for frame in best[1].images]
    assert len(reserved(served)) * PRICE == max(one.spent, other.spent) <= 530
    assert len(set(reserved(served))) == len(reserved(served))


def test_what_the_library_holds_is_used_first_and_for_nothing(served: Served, client: Client) -> None:
    """The budget is the most that the race spends from its first start on, and the card says so in a sentence."""
    plan = make_plan()
    plan.run(budget=4 * PRICE, client=client)
    before = reserved(served)

    found = race(plan, budget=2 * PRICE, sure=0.9999)

    assert len(before) == 4
    assert len(reserved(served)) == 6
    assert set(before) <= set(found.table["request_id"])
    assert (found.table["round"] == 0).sum() == found.progress.free == 4
    assert (found.spent, found.progress.earlier, found.progress.spent_now) == (6 * PRICE, 4 * PRICE, 2 * PRICE)
    assert "6 of 24 runs · 4 from the library · 106 of 106 credits spent" in str(found.panel)
    assert any("spends from its first start on; what the library held" in one for one in found.progress.assumptions)


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize(
    ("choices", "what"),
    [
        ({"by": "sharpnes"}, "Did you mean 'sharpness'?"),
        ({"by": "status"}, "is not a number"),
        ({"by": "ssim"}, "compares with a reference"),
        ({"by": {}}, "is empty"),
        ({"by": {"sharpness": "much"}}, "The weight of 'sharpness'"),
        ({"by": {"sharpness": 0}}, "other than 0"),
        ({"by": 7}, "`by` cannot be 7"),
        ({"budget": None}, "The whole plan costs 1,272 credits, and budget=0.4, 40% of that, is usually enough"),
        ({"budget": 60}, "pays for less than one run of two settings, and there are 6. One run of each costs 318 credits."),
        ({"budget": 1.5}, "a share of the price"),
        ({"budget": True}, "`budget` is True"),
        ({"sure": 1}, "below 1"),
        ({"over": "speed"}, "`over` names 'speed'"),
        ({"over": ["fps", FIRST, SECOND]}, "has 1 setting, so there is nothing to decide"),
        ({"draft": True}, "No draft of these runs is cheaper"),
        ({"draft": 5}, "`draft` is 5"),
        ({"question": " "}, "`question`"),
    ],
)  # fmt: skip
def test_wrong_options_are_said_before_anything_is_sent(choices: dict[str, Any], what: str, served: Served) -> None:
    """In sentences with what may be given."""
    with pytest.raises(rb.InvalidInput) as error:
        make_plan().race(**{"by": merit, "over": "fps", "budget": 0.4, **choices})

    assert what in str(error.value)
    assert reserved(served) == []


def test_a_budget_that_is_proposed_is_enough(client: Client) -> None:
    """Of two settings with two runs each, 40 % pay for less than one run of both."""
    with pytest.raises(rb.InvalidInput, match=r"a race saves little: budget=1\.0 pays for all of them"):
        race(make_plan(2, 1, 2), budget=None)


def test_runs_that_fail_are_not_tried_for_ever(served: Served, client: Client) -> None:
    """One of two pictures cannot be fetched: its settings are given up, and the other's best is found."""
    plan = rb.sweep(BASE, {"images[0].url": [BASE.images[0].url, NOWHERE], FIRST: [1, 2]}, fps=[2.0, 3.0, 4.0, 5.0])

    found = race(plan, budget=1.0, sure=0.9)
    tried = len(reserved(served))
    again = race(plan, budget=1.0, sure=0.9)

    assert found.best.images[0].frames == 2
    failed = found.table[found.table["status"] == "failed"]
    assert 1 <= len(failed) <= 4
    assert found.ranking().iloc[-1]["runs"] == 0
    assert any("gave no score" in one for one in found.progress.findings)
    assert get_choice(again) == get_choice(found)
    assert len(reserved(served)) == tried


def test_lost_answers_do_not_count_as_tries(tmp_path: Path) -> None:
    """Both runs of the first round are uncertain, as after a kill: the race uses the rest of its budget to decide."""
    with Hosted() as hosted, rb.connect(hosted.base_url, api_key="a key", library=tmp_path / "hosted") as client:
        scripted = Scripted(hosted, before=[Reply(fault="close")] * 2)
        scripted.end.set()
        plan = sweep(BOAT, num_frames=[9, 17], seed=range(3))
        lost = plan[[0, 3]].run(budget=2 * BOAT_PRICE, client=client)

        found: Any = plan.race(by="num_frames", budget=2 * BOAT_PRICE, concurrency=2, client=client).wait(60)

        assert lost["status"].tolist() == ["uncertain", "uncertain"]
        assert found.best.num_frames == 17
        assert found.progress.spent_now == 2 * BOAT_PRICE
        assert scripted.sent == 4


def test_when_all_runs_fail_the_race_ends_after_its_first_round(client: Client) -> None:
    """With the first error, and how to try again."""
    base = BASE.revised(images=[rb.Frame(url=NOWHERE, frames=1), BASE.images[1]])

    found = race(rb.sweep(base, {FIRST: [1, 2]}, fps=[float(one) for one in range(1, 11)]), budget=1.0)

    assert found.best is None
    assert found.spent == 0
    assert len(found.table) == 8
    assert found.progress.findings[0].startswith("All 8 runs failed, so there is nothing to compare. The first error: ")
    assert "retry_failed=True" in found.progress.findings[0]
    assert math.isnan(found.ranking()["mean"].iloc[0])


def test_a_function_that_fails_or_gives_a_text_ends_the_race_with_a_sentence(served: Served, client: Client) -> None:
    """Nothing paid for is lost: the corrected function goes on from there."""
    with pytest.raises(RaceStopped, match=r"`by` has failed for the run .*: ZeroDivisionError: .*race again"):
        race(make_plan(), by=lambda run: 1 / 0, budget=0.4)
    with pytest.raises(RaceStopped, match="`by` gave 'good' for the run"):
        race(make_plan(), by=lambda run: "good", budget=0.4)

    assert len(reserved(served)) == 8
    assert race(make_plan(), budget=8 * PRICE).progress.free == 8


def test_a_metric_and_a_mix_judge_too_and_are_columns_of_the_table(client: Client) -> None:
    """What is measured stands in the table, each on its own scale; the score is of the mix."""
    plan = make_plan(2, 2, 2)

    by_metric = race(plan, by="frame_count", budget=1.0)
    by_mix = race(plan, by={"frame_count": 1, "duration": -3}, budget=1.0)

    assert by_metric.best.images[0].frames == by_metric.best.images[1].frames == 2
    pd.testing.assert_series_equal(
        by_metric.table["frame_count"].astype(float), by_metric.table["score"].astype(float), check_names=False
    )
    assert by_mix.progress.score == "frame_count − 3 × duration"
    assert by_mix.table["score"].mean() == pytest.approx(0, abs=1e-9)
    assert {"frame_count", "duration"} <= set(by_mix.table.columns)


def test_a_race_can_be_awaited_waited_for_and_stopped(served: Served, client: Client) -> None:
    """The notebook stays free; what was sent counts, and the same call goes on."""
    gate = threading.Event()

    def slow(run: Any) -> float:
        gate.wait(30)
        return merit(run)

    begun = make_plan().race(by=slow, over="fps", budget=1.0)
    with pytest.raises(StillRunning, match="The race continues"):
        begun.wait(0.01)
    begun.cancel()
    gate.set()
    stopped = asyncio.run(_awaited(begun))

    assert stopped is begun
    assert begun.is_done
    assert len(reserved(served)) <= 8
    assert any("It was stopped" in one for one in begun.progress.findings)
    assert race(make_plan(), budget=1.0, sure=0.9).best.images[0].frames == 3


async def _awaited(begun: Any) -> Any:
    return await begun


def test_drafts_decide_and_the_best_is_made_with_its_real_values(served: Served, client: Client) -> None:
    """Detail pass off costs half: the drafts and the final stay under the budget, which sets the final's price aside."""
    boat = rb.TextToVideo(prompt="a boat", num_frames=9, resolution="480p", aspect_ratio="1:1", enable_detail_pass=True)
    plan = rb.sweep(boat, seed=[1, 2], num_frames=[9, 13])

    found: Any = plan.race(by="frame_count", budget=5 * PRICE, draft=True, concurrency=2, sure=0.9).wait(60)

    table = found.table
    assert table["draft"].tolist() == [True] * (len(table) - 1) + [False]
    assert table["enable_detail_pass"].tolist() == [False] * (len(table) - 1) + [True]
    assert found.best == plan.rows[[row.input for row in plan].index(found.best)].input
    assert (found.best.num_frames, found.best.enable_detail_pass) == (13, True)
    assert len(reserved(served)) == len(table)
    assert found.spent == PRICE * (len(table) + 1) == rb.library().frame["credits"].sum() <= 5 * PRICE
    assert "Drafts are assumed to rank the settings as the real runs would." in found.progress.assumptions
