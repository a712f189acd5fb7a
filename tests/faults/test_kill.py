"""Figure 1: a client that is killed at any moment loses nothing that was paid for, and pays for nothing twice.

The oracles are the service's own charge log and what its database keeps of each request, joined with the ledger.
"""

from __future__ import annotations

import hashlib
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.faults.audit import Row, asked_of, query, rows_of
from tests.faults.nursery import Child, Nursery, Trap, work_in_threads, work_naively, work_on_the_loop
from tests.support import Served

Work = Callable[..., None]
SEED = 1
SENDING_AT_ONCE = 4
"""Paid requests in flight at a service that does not recognise repetitions."""

MANY = pytest.param(1_000, 20, id="deep", marks=[pytest.mark.deep, pytest.mark.timeout(900)])

SENT = ("sending: safe", *Trap.POSTS)
"""The moments at which a request may have left and its answer is not written down."""
MOMENTS = (
    *("claimed: not safe", "claimed: safe", "sending: not safe", *SENT, "accepted: not safe", "accepted: safe"),
    *("completed: not safe", "completed: safe", *Trap.FILES, "stored: not safe", "stored: safe"),
)
LEAST = ("claimed: safe", "sending: not safe", *SENT, "accepted: safe", "completed: safe", "file has its name")
"""One after each step, and all around the paid request."""


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery() as found:
        yield found


@dataclass(frozen=True)
class Audit:
    """What the service was paid for, beside what the library has."""

    rows: Sequence[Row]
    paid: Counter[int]
    """How often each clip was paid for."""
    lost: Sequence[str]
    """Requests that were paid for, and that no row has with its files, nor an uncertain one may be."""

    @property
    def twice(self) -> list[int]:
        return [number for number, times in self.paid.items() if times > 1]

    @property
    def uncertain(self) -> list[Row]:
        return [row for row in self.rows if row.state == "uncertain"]


def audit(served: Served, library: Path) -> Audit:
    rows = rows_of(library)
    asked = asked_of(served)
    charges = served.charges()
    reserved = [line["request_id"] for line in charges if line["kind"] == "reserve"]
    kept = {row.request_id for row in rows if row.state == "stored" and all(map(_Files(library).sound, row.media))}
    doubtful = {row.number for row in rows if row.state == "uncertain"}
    lost = [name for name in reserved if name not in kept and asked[name] not in doubtful]
    assert not [line for line in charges if line["kind"] == "refund"]
    return Audit(rows, Counter(asked[name] for name in reserved), lost)


class _Files:
    """The files of a library by their content, whatever their names say."""

    def __init__(self, library: Path) -> None:
        self._found = {hashlib.sha256(path.read_bytes()).hexdigest(): path for path in (library / "media").rglob("*") if path.is_file()}  # fmt: skip

    def sound(self, sha256: str) -> bool:
        path = self._found.get(sha256)
        return path is not None and path.name.startswith(sha256)


def explained(library: Path, kills: Sequence[float]) -> Counter[float]:
    """How many uncertain runs each kill explains; 0.0 stands for those that none explains.

    One is explained by the kill that came after it was sent and before the next client found it unanswered.
    """
    found: Counter[float] = Counter()
    events = query(library / "ledger.sqlite", "SELECT run, state, at FROM events WHERE run IS NOT NULL ORDER BY seq")
    for row in rows_of(library):
        if row.state == "uncertain":
            story = [(state, at) for run, state, at in events if run == row.id]
            *_, (before, sent), (last, judged) = story
            assert (before, last) == ("sending", "uncertain")
            found[next((kill for kill in kills if sent <= kill <= judged), 0.0)] += 1
    return found


def killed_again_and_again(
    nursery: Nursery, served: Served, library: Path, runs: int, kills: int, work: Work
) -> list[float]:
    """One client after another, each killed after some of its news, until the last one finds nothing left to do."""
    chance = random.Random(SEED)
    # Each run makes news twice. The deaths lie anywhere between the first and the last of them.
    deaths = sorted(chance.randrange(2 * runs - 2 * kills * SENDING_AT_ONCE) for _ in range(kills))
    seen: set[str] = set()
    moments: list[float] = []
    for death in deaths:
        child = born(nursery, served, library, range(runs), work)
        news = iter(child)
        while len(seen) < death:
            seen.add(next(news))
        child.kill()
        assert child.ended() == -signal.SIGKILL
        assert child.killed is not None
        moments.append(child.killed)
        seen.update(child.told)
    assert born(nursery, served, library, range(runs), work).ended() == 0
    return moments


def born(
    nursery: Nursery, served: Served, library: Path, numbers: Sequence[int], work: Work = work_in_threads, **more: Any
) -> Child:
    return nursery.born(work, address=served.base_url, key=served.key, library=library, numbers=[*numbers], **more)


@pytest.mark.parametrize(("runs", "kills"), [pytest.param(8, 1, id="ci"), MANY])
def test_a_client_killed_at_any_moment_loses_nothing_and_pays_once(
    nursery: Nursery, shared: Served, tmp_path: Path, runs: int, kills: int
) -> None:
    """Against a service that recognises repetitions nothing is uncertain either: every run is there, and paid once."""
    served, library = shared.with_own_account(), tmp_path / "library"

    killed_again_and_again(nursery, served, library, runs, kills, work_on_the_loop)

    found = audit(served, library)
    assert (found.lost, found.twice, found.uncertain) == ([], [], [])
    assert [row.state for row in found.rows] == ["stored"] * runs
    assert found.paid == Counter(range(runs))


# Kills between any two steps, below, are at such a service, too.
@pytest.mark.parametrize(("runs", "kills"), [pytest.param(14, 1, id="small", marks=pytest.mark.deep), MANY])
def test_where_the_service_shows_only_the_specification_each_kill_leaves_four_uncertain_at_most(
    nursery: Nursery, shared_spec_only: Served, tmp_path: Path, runs: int, kills: int
) -> None:
    """Nothing is paid twice, nothing that was answered is lost, and each uncertain run was in flight when a kill came."""
    served, library = shared_spec_only.with_own_account(), tmp_path / "library"

    moments = killed_again_and_again(nursery, served, library, runs, kills, work_in_threads)

    found = audit(served, library)
    blamed = explained(library, moments)
    assert (found.lost, found.twice) == ([], [])
    assert Counter(row.state for row in found.rows) == Counter(
        stored=runs - len(found.uncertain), uncertain=len(found.uncertain)
    )
    assert blamed[0.0] == 0
    assert all(uncertain <= SENDING_AT_ONCE for uncertain in blamed.values())
    assert sum(blamed.values()) == len(found.uncertain) <= kills * SENDING_AT_ONCE


@pytest.mark.parametrize(
    ("service", "moments"),
    [
        pytest.param("shared_spec_only", LEAST, id="spec only"),
        pytest.param("shared", MOMENTS, id="idempotent, all", marks=pytest.mark.deep),
        pytest.param("shared_spec_only", MOMENTS, id="spec only, all", marks=pytest.mark.deep),
    ],
)
def test_a_kill_between_any_two_steps_is_survived(
    request: pytest.FixtureRequest, nursery: Nursery, tmp_path: Path, service: str, moments: Sequence[str]
) -> None:
    """One client for each moment in the life of a run; only one that died with a request in flight leaves it uncertain."""
    served, library = request.getfixturevalue(service).with_own_account(), tmp_path / "library"

    deaths = [born(nursery, served, library, [n], die=moment).ended() for n, moment in enumerate(moments)]
    last = born(nursery, served, library, range(len(moments)))

    assert last.ended() == 0
    assert deaths == [-signal.SIGKILL] * len(moments)
    found = audit(served, library)
    assert (found.lost, found.twice) == ([], [])
    assert {moments[row.number] for row in found.uncertain} == (set(SENT) if service == "shared_spec_only" else set())
    assert {row.state for row in found.rows if row not in found.uncertain} == {"stored"}
    assert len(found.rows) == len(moments)


@pytest.mark.deep
def test_a_client_without_a_ledger_pays_twice(nursery: Nursery, shared: Served, tmp_path: Path) -> None:
    """The control: one that repeats what it has no result of is killed in the same way, and the same audit sees it."""
    served, results = shared.with_own_account(), tmp_path / "results"
    child = born(nursery, served, results, range(12), work_naively)
    for _ in zip(range(5), child, strict=False):
        pass
    child.kill()
    child.ended()

    again = born(nursery, served, results, range(12), work_naively).ended()

    paid = Counter(asked_of(served)[line["request_id"]] for line in served.charges() if line["kind"] == "reserve")
    assert again == 0
    assert [number for number, times in paid.items() if times > 1][:5] == [0, 1, 2, 3, 4]
