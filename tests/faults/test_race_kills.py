"""A race whose process is killed again and again: under its budget, nothing paid twice, and the same choice in the end.

The oracle is the charge log of a service that offers only what the specification lists, so that it cannot tell a repeated
request from a new one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import reelbook as rb
from tests.decide.races import PRICE
from tests.faults.audit import query
from tests.faults.nursery import PATIENCE, Nursery, until
from tests.faults.walker import RACE_BUDGET, begin_race, race_to_the_end
from tests.support import Served, deep
from tests.sweeps.dots import reserved

SENDING_AT_ONCE = 4


class Racing:
    """The same race in one process after another, on one library."""

    def __init__(self, served: Served, library: Path, seed: int) -> None:
        self._served, self._library, self._seed = served, library, seed

    def killed(self, nursery: Nursery, paid: int) -> bool:
        """Kill it once so many runs have been paid for in all; whether it was still under way."""
        served = self._served
        child = nursery.born(
            race_to_the_end, address=served.base_url, key=served.key, library=self._library, seed=self._seed
        )
        until(lambda: len(reserved(served)) >= paid or not child.is_alive)
        was_under_way = child.is_alive
        child.kill()
        child.ended()
        return was_under_way

    def finished(self) -> dict[str, Any]:
        """Run it to its end in this process; what it has found."""
        with rb.connect(self._served.base_url, api_key=self._served.key, library=self._library):
            race = begin_race(self._seed).wait(PATIENCE)
            return {
                "best": [frame.frames for frame in race.best.images],
                "ranking": race.ranking().to_csv(),
                "requests": race.table["request_id"].dropna().tolist(),
                "spent": race.spent,
                "now": race.progress.spent_now,
            }


def paid_for(served: Served) -> Counter[tuple[float, ...]]:
    """How often each clip was paid for: its speed, and how long it holds its pictures, as the service has stored them."""
    requests = dict(query(served.server.service.settings.data / "service.sqlite3", "SELECT id, input FROM requests"))
    asked = [json.loads(requests[name]) for name in reserved(served)]
    return Counter((one["fps"], *(frame["frames"] for frame in one["images"])) for one in asked)


def states(library: Path) -> Counter[str]:
    return Counter(state for (state,) in query(library / "ledger.sqlite", "SELECT state FROM runs"))


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery() as found:
        yield found


@pytest.mark.parametrize(("seed", "kills"), [(0, (2, 6)), *deep((1, (1, 2, 3, 4, 5, 6, 7, 8, 9)), (2, (3, 3, 3, 9)))])
def test_a_killed_race_stays_under_its_budget_and_comes_to_the_same_choice(
    nursery: Nursery, shared_spec_only: Served, tmp_path: Path, seed: int, kills: Sequence[int]
) -> None:
    """24 runs under 530 credits: what is uncertain after a death counts, nothing is paid twice, and the end is repeatable."""
    served = shared_spec_only.with_own_account()
    racing = Racing(served, tmp_path / "library", seed)

    were_under_way = [racing.killed(nursery, paid) for paid in kills]
    first = racing.finished()
    charged = reserved(served)
    second = racing.finished()

    assert any(were_under_way)
    found = states(tmp_path / "library")
    assert set(paid_for(served).values()) == {1}
    assert len(charged) * PRICE <= RACE_BUDGET
    assert found["stored"] + found["uncertain"] >= len(charged)
    assert found["uncertain"] <= len(kills) * SENDING_AT_ONCE
    assert reserved(served) == charged
    assert second == {**first, "now": 0}
    assert first["spent"] <= RACE_BUDGET
    assert set(first["requests"]) <= set(charged)
    assert first["best"]


@pytest.mark.deep
def test_a_killed_race_ends_as_one_that_nobody_disturbed(nursery: Nursery, shared: Served, tmp_path: Path) -> None:
    """Where the service tells repeated requests apart, nothing is uncertain, and the killed race is the same in all."""
    disturbed, calm = shared.with_own_account(), shared.with_own_account()
    racing = Racing(disturbed, tmp_path / "killed", 0)

    racing.killed(nursery, 5)
    found = racing.finished()
    expected = Racing(calm, tmp_path / "calm", 0).finished()

    assert {name: found[name] for name in ("best", "ranking", "spent")} == {
        name: expected[name] for name in ("best", "ranking", "spent")
    }
    assert paid_for(disturbed) == paid_for(calm)
    assert set(paid_for(calm).values()) == {1}


@pytest.mark.deep
def test_without_its_library_a_killed_race_pays_again(nursery: Nursery, shared: Served, tmp_path: Path) -> None:
    """The control: the same death, and a fresh library afterwards."""
    served = shared.with_own_account()

    Racing(served, tmp_path / "first", 0).killed(nursery, 5)
    Racing(served, tmp_path / "second", 0).finished()

    assert max(paid_for(served).values()) == 2
