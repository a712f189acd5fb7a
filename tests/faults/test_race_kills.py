"""A race whose process is killed again and again: under its budget, nothing paid twice, and the same choice in the end.

The oracle is the charge log of a service that offers only what the specification lists, so that it cannot tell a repeated
request from a new one.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import reelbook as rb
from tests.decide.races import PRICE, make_plan, merit
from tests.faults.audit import query
from tests.faults.nursery import PATIENCE, ROOT, until
from tests.support import Served, deep
from tests.sweeps.dots import reserved

BUDGET, RUNS = 530, 24
SENDING_AT_ONCE = 4
SCRIPT = """
import os, sys
import reelbook as rb
from tests.faults.test_race_kills import begin
with rb.connect(os.environ["REELBOOK_URL"], library=sys.argv[1]):
    begin(int(sys.argv[2])).wait()
"""


def begin(seed: int) -> Any:
    """The race, in whatever process."""
    return make_plan(3, 2, 4).race(by=merit, over="fps", budget=BUDGET, seed=seed, concurrency=2)


class Racing:
    """The same race in one process after another, on one library."""

    def __init__(self, served: Served, library: Path, seed: int) -> None:
        self._served, self._library, self._seed = served, library, seed

    def begin(self) -> subprocess.Popen[str]:
        environment = {**os.environ, "REELBOOK_URL": self._served.base_url, "REELBOOK_API_KEY": self._served.key}
        arguments = [str(self._library), str(self._seed)]
        return subprocess.Popen([sys.executable, "-c", SCRIPT, *arguments], text=True, cwd=ROOT, env=environment)

    def killed(self, paid: int) -> bool:
        """Kill it once so many runs have been paid for in all; whether it was still under way."""
        with self.begin() as process:
            until(lambda: len(reserved(self._served)) >= paid or process.poll() is not None)
            was_under_way = process.poll() is None
            process.send_signal(signal.SIGKILL)
        return was_under_way

    def finished(self) -> dict[str, Any]:
        """Run it to its end in this process; what it has found."""
        with rb.connect(self._served.base_url, api_key=self._served.key, library=self._library):
            race = begin(self._seed).wait(PATIENCE)
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


@pytest.mark.parametrize(("seed", "kills"), [(0, (2, 6)), *deep((1, (1, 2, 3, 4, 5, 6, 7, 8, 9)), (2, (3, 3, 3, 9)))])
def test_a_killed_race_stays_under_its_budget_and_comes_to_the_same_choice(
    shared_spec_only: Served, tmp_path: Path, seed: int, kills: Sequence[int]
) -> None:
    """24 runs under 530 credits: what is uncertain after a death counts, nothing is paid twice, and the end is repeatable."""
    served = shared_spec_only.with_own_account()
    racing = Racing(served, tmp_path / "library", seed)

    were_under_way = [racing.killed(paid) for paid in kills]
    first = racing.finished()
    charged = reserved(served)
    second = racing.finished()

    assert any(were_under_way)
    found = states(tmp_path / "library")
    assert set(paid_for(served).values()) == {1}
    assert len(charged) * PRICE <= BUDGET
    assert found["stored"] + found["uncertain"] >= len(charged)
    assert found["uncertain"] <= len(kills) * SENDING_AT_ONCE
    assert reserved(served) == charged
    assert second == {**first, "now": 0}
    assert first["spent"] <= BUDGET
    assert set(first["requests"]) <= set(charged)
    assert first["best"]


@pytest.mark.deep
def test_a_killed_race_ends_as_one_that_nobody_disturbed(shared: Served, tmp_path: Path) -> None:
    """Where the service tells repeated requests apart, nothing is uncertain, and the killed race is the same in all."""
    disturbed, calm = shared.with_own_account(), shared.with_own_account()
    racing = Racing(disturbed, tmp_path / "killed", 0)

    racing.killed(5)
    found = racing.finished()
    expected = Racing(calm, tmp_path / "calm", 0).finished()

    assert {name: found[name] for name in ("best", "ranking", "spent")} == {
        name: expected[name] for name in ("best", "ranking", "spent")
    }
    assert paid_for(disturbed) == paid_for(calm)
    assert set(paid_for(calm).values()) == {1}


@pytest.mark.deep
def test_without_its_library_a_killed_race_pays_again(shared: Served, tmp_path: Path) -> None:
    """The control: the same death, and a fresh library afterwards."""
    served = shared.with_own_account()

    Racing(served, tmp_path / "first", 0).killed(5)
    Racing(served, tmp_path / "second", 0).finished()

    assert max(paid_for(served).values()) == 2
