"""A race that a person judges waits for answers after each round, and goes on by itself."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import reelbook as rb
from reelbook.client import Client
from reelbook.decide.race import score
from tests.decide.races import make_plan, utility
from tests.support import Served
from tests.sweeps.dots import reserved


@pytest.fixture
def client(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setattr(score, "POLL_SECONDS", 0.02)
    with rb.connect(served.base_url, api_key=served.key, library=tmp_path / "library") as client:
        yield client


def judge_while_it_asks(race: Any, answer: Callable[[Any, Any], str]) -> int:
    """Answer all that a race asks until it ends, as a person with the widget would; how often."""
    asked, changed = 0, threading.Event()
    race.on_change(lambda _: changed.set())
    while not race.is_done:
        progress = race.progress
        if progress.state != "waiting for judgements" or not progress.awaited:
            changed.wait(0.1)
            changed.clear()
            continue
        ratings, table = race.ratings, race.table
        pair = ratings.next_pair()
        if pair is None:
            continue
        inputs = [table.reel.run(row).input for row in pair]
        ratings.judge(pair.left, pair.right, answer(*inputs))
        asked += 1
    race.wait()
    return asked


def by_merit(left: Any, right: Any) -> str:
    return "left" if utility(left) > utility(right) else "right"


def test_a_person_finds_the_best_setting(served: Served, client: Client) -> None:
    """It says how many judgements it waits for; run again, it repeats its rounds from the library without asking."""
    race: Any = make_plan(3, 2, 2).race(by=rb.judge, over="fps", budget=0.7, question="Which is longer?", rater="ana")
    said: list[str] = []
    race.on_change(lambda found: said.extend(found.progress.findings))
    asked = judge_while_it_asks(race, by_merit)
    paid = len(reserved(served))

    again = (
        make_plan(3, 2, 2).race(by=rb.judge, over="fps", budget=0.7, question="Which is longer?", rater="bo").wait(60)
    )

    assert race.best.images[0].frames == 3
    assert asked >= 8
    assert any(one.startswith("Judge ") and "more pairs, and the race continues by itself." in one for one in said)
    assert again.best == race.best
    assert again.ranking().to_csv() == race.ranking().to_csv()
    assert len(reserved(served)) == paid == len(race.table)
    assert "score" not in race.table


def test_a_judge_who_answers_at_random_leaves_it_undecided(client: Client) -> None:
    """And it says that the answers hardly favour any setting, or that it is not sure."""
    draw = random.Random(7)
    race = make_plan(3, 2, 1).race(by=rb.judge, over="fps", budget=1.0)

    judge_while_it_asks(race, lambda left, right: draw.choice(["left", "right", "tie"]))

    assert not race.is_decided
    assert race.progress.findings[0].startswith("Undecided: ")


def test_a_judged_race_can_be_stopped_while_it_waits(client: Client) -> None:
    """Nothing was judged, and the end says so."""
    race = make_plan(2, 2, 1).race(by=rb.judge, over="fps", budget=1.0)
    waits = threading.Event()
    race.on_change(lambda found: waits.set() if found.progress.state == "waiting for judgements" else None)
    assert waits.wait(60)

    race.cancel()
    race.wait(60)

    assert race.best is None
    assert "No clip was judged" in race.progress.findings[0]
