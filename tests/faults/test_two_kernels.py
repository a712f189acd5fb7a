"""Figure 5: two notebooks that share a library make each run once, both have its files, and neither sees a locked database.

The oracle is the service's own charge log.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.faults.audit import paid
from tests.faults.nursery import PATIENCE, Nursery, Order, Outcome, until
from tests.faults.standin import StandIn
from tests.support import KEY, Served

SIZES = [pytest.param(10, id="ci"), pytest.param(1_000, id="deep", marks=[pytest.mark.deep, pytest.mark.timeout(900)])]


def shuffled(runs: int, seed: int) -> list[int]:
    return random.Random(seed).sample(range(runs), runs)


def order(served: Served, library: Path, runs: int, seed: int) -> Order:
    """All runs, in an order of its own."""
    return Order(served.base_url, served.key, library, shuffled(runs, seed))


def errors(outcomes: Sequence[Outcome]) -> list[str]:
    return [outcome.error for outcome in outcomes if outcome.error]


def sound(library: Path, outcomes: Sequence[Outcome]) -> bool:
    """Whether each of them has a file, and it is there."""
    return all(outcome.files and all((library / "media" / name).exists() for name in outcome.files) for outcome in outcomes)  # fmt: skip


@pytest.mark.parametrize("runs", SIZES)
def test_two_notebooks_that_want_the_same_pay_for_each_run_once(shared: Served, tmp_path: Path, runs: int) -> None:
    """Both have the same requests, files and prices, and no error, while a third looks at the table all the time."""
    served, library = shared.with_own_account(), tmp_path / "library"
    with Nursery() as nursery:
        both = [nursery.open_notebook(order(served, library, runs, seed)) for seed in (1, 2)]
        reader = nursery.open_notebook(Order(served.base_url, served.key, library, way="reader"))
        nursery.begin()
        one, two = (notebook.outcomes() for notebook in both)
        reader.say("enough")
        seen = reader.outcomes()

    assert paid(served) == Counter(range(runs))
    assert (errors(one), errors(two), errors(seen)) == ([], [], [])
    assert one == two
    assert [outcome.number for outcome in one] == [*range(runs)]
    assert {outcome.credits for outcome in one} == {53}
    assert sound(library, one)
    assert set(seen[-1].files) == {outcome.request_id for outcome in one}, "the last look saw everything"


@pytest.mark.deep
def test_with_a_library_each_both_pay(shared: Served, tmp_path: Path) -> None:
    """The control: without a ledger in common every run is paid for twice."""
    served, runs = shared.with_own_account(), 20
    with Nursery() as nursery:
        both = [nursery.open_notebook(order(served, tmp_path / f"library-{seed}", runs, seed)) for seed in (1, 2)]
        nursery.begin()
        one, two = (notebook.outcomes() for notebook in both)

    assert errors(one) == errors(two) == []
    assert paid(served) == Counter(dict.fromkeys(range(runs), 2))


@pytest.mark.parametrize("runs", [pytest.param(8, id="ci"), SIZES[1]])
def test_when_one_is_killed_the_other_finishes_everything(shared: Served, tmp_path: Path, runs: int) -> None:
    """What the dead one had under way is taken up by the one that waits for it, and is not paid for again."""
    served, library = shared.with_own_account(), tmp_path / "library"
    with Nursery() as nursery:
        dying, living = (nursery.open_notebook(order(served, library, runs, seed)) for seed in (1, 2))
        nursery.begin()
        news = iter(dying)
        while len(dying.told) <= runs // 4:  # It has said that it is ready, too.
            next(news)
        dying.kill()
        survived = living.outcomes()

    told = [news for news in dying.told if news != "ready"]
    assert len(told) == runs // 4
    assert errors(told) == errors(survived) == []
    assert [outcome.number for outcome in survived] == [*range(runs)]
    assert sound(library, survived)
    assert paid(served) == Counter(range(runs))


def test_runs_without_a_seed_are_never_shared_between_notebooks(tmp_path: Path) -> None:
    """Both want any boat while the other's is under way: two are made and paid for. The seeded one they share."""
    asked: list[dict[str, Any]] = [{"prompt": "a boat", "seed": 1}, {"prompt": "a boat"}]
    with StandIn() as hosted, Nursery() as nursery:
        note = Order(hosted.base_url, KEY, tmp_path / "library", range(2), asked=asked)
        both = [nursery.open_notebook(note) for _ in range(2)]
        for notebook in both:
            notebook.until("ready")  # With the seeded one.
        hosted.seconds = PATIENCE
        nursery.begin()
        until(lambda: len(hosted.charges) == 3)
        hosted.seconds = 0.0
        one, two = (notebook.outcomes() for notebook in both)

    assert errors(one) == errors(two) == []
    assert Counter(line["input"].get("seed") for line in hosted.charges) == {1: 1, None: 2}
    assert one[0].request_id == two[0].request_id
    assert one[1].request_id != two[1].request_id
