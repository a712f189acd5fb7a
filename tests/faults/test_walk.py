"""A random walk over faults at every address of a service, with clients that are killed and interrupted on the way.

Each combination is a stand-in of the hosted service with a table of faults, a library, and a few sessions of the same
twenty runs in processes of their own. At the end all is calm for one session. The oracle is the service's charge log.

All of it is for `make deep`: each fault by itself is in `test_answers.py` and `test_run_answers.py`, kills are in
`test_kill.py`, interrupts in `test_interrupt.py`, and many faults at once in `test_network.py`.
"""

from __future__ import annotations

import hashlib
import json
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.faults.audit import query
from tests.faults.nursery import PATIENCE, Nursery
from tests.faults.standin import CANCEL, ESTIMATE, FILE, KINDS, REFUSED, RESULT, RUN, STATUS, Fault, StandIn
from tests.faults.walker import walked

PRICE = 53
SIZES = [
    pytest.param(range(2), 5, id="small", marks=[pytest.mark.deep, pytest.mark.timeout(300)]),
    *(
        pytest.param(range(first, first + 20), 20, id=f"deep-{first}", marks=[pytest.mark.deep, pytest.mark.timeout(1_800)])
        for first in range(0, 300, 20)
    ),
]  # fmt: skip
ANY = tuple(
    f"{code} {how}"
    for code in (400, 401, 403, 404, 405, 406, 409, 410, 411, 422, 451)
    for how in ("page", "message", "empty", "cut")
)
BROKEN = tuple(f"{code} {how}" for code in (408, 425, 429, 500, 502, 503, 504) for how in ("page", "code", "plain"))
LINE = ("closed", "reset", "cut off", "garbage", "late", "empty", "truncated", "not json", "welcome")
WHERE: Sequence[tuple[str, Sequence[str]]] = (
    (RUN, (*LINE, "nothing", "null", "a list", "another shape", "wrong types", "huge", *BROKEN, *ANY, *REFUSED)),
    (STATUS, (*ANY, *BROKEN, *KINDS)),
    (RESULT, (*ANY, *BROKEN, *KINDS)),
    (CANCEL, (*ANY, *BROKEN, *LINE)),
    (ESTIMATE, (*ANY, *BROKEN, *LINE, "nothing", "null", "a list", "another shape", "wrong types")),
    (FILE, (*LINE, "404 page", "410 page", "403 page", "503 page", "429 plain")),
)  # fmt: skip


@dataclass
class Found:
    """What the oracle found, summed over combinations."""

    paid: int = 0
    twice: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    over: list[str] = field(default_factory=list)
    hangs: list[str] = field(default_factory=list)
    unstored: list[str] = field(default_factory=list)
    uncertain: int = 0
    ends: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return (
            f"paid {self.paid}, twice {len(self.twice)}, lost {len(self.lost)}, over budget {len(self.over)}, "
            f"hangs {len(self.hangs)}, not stored in the end {len(self.unstored)}, uncertain {self.uncertain}, ends {dict(self.ends)}"
        )


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the clients write what goes wrong beside all that they are to say."""
    path = tmp_path_factory.mktemp("walk") / "stderr"
    path.touch()
    return path


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery() as found:
        yield found


def table(chance: random.Random) -> list[Fault]:
    """A few faults at addresses of their own, each for some answers, for a while, or now and then."""
    found = []
    for at, kinds in chance.sample(WHERE, chance.randint(1, 4)):
        how = chance.choice([{"times": 1}, {"times": 3}, {"seconds": 0.4}, {"share": 0.3}, {"share": 0.7}])
        found.append(Fault(at, chance.choice(kinds), **how))  # type: ignore[arg-type]
    return found


def session(
    nursery: Nursery, hosted: StandIn, chance: random.Random, order: dict[str, Any], end: str
) -> tuple[str, bool]:
    """One client that is left alone, killed or interrupted; how it ended, and whether that took too long."""
    child = nursery.born(walked, **order)
    late = threading.Event()

    def give_up() -> None:
        late.set()
        child.signal(signal.SIGKILL)

    over = threading.Timer(PATIENCE, give_up)
    over.start()
    child.until("ready")
    if end:
        _await_some(hosted, chance)
        child.signal(signal.SIGKILL if end == "killed" else signal.SIGINT)
    status = child.ended()
    over.cancel()
    if status == -signal.SIGKILL:
        return "killed", late.is_set()
    return child.told[-1].partition(" ")[0] if child.told else f"exit {status}", late.is_set()


def _await_some(hosted: StandIn, chance: random.Random) -> None:
    """Wait for a moment of the walk: so many more requests, or a second where they do not come."""
    wanted = len(hosted.received) + chance.randint(1, 60)
    with suppress(AssertionError):
        hosted.wait_until(lambda it: len(it.received) >= wanted, within=1.0)


def walk(
    nursery: Nursery,
    said: Path,
    folder: Path,
    name: int,
    runs: int,
    found: Found,
    *,
    faults: Sequence[Fault] | None = None,
    rule: str = "",
    ends: Sequence[str] = ("", "killed", "interrupted"),
) -> None:
    """One combination."""
    chance = random.Random(name)
    faults = table(chance) if faults is None else faults
    limit = chance.choice([None, runs * PRICE, runs // 2 * PRICE])
    by = "runs" if limit is None else "sweep"
    label = f"{name}: {faults}"
    library = folder / f"library-{name}"
    with StandIn(faults, estimates=chance.random() < 0.5, chance=name) as hosted:
        order = {
            "address": hosted.base_url,
            "key": "a-key-of-this-test",
            "library": library,
            "numbers": list(range(runs)),
            "rule": rule,
            "said": said,
        }
        for end in chance.choices(ends, k=2):
            told, late = session(nursery, hosted, chance, {**order, "by": by, "budget": limit}, end)
            found.ends[told] += 1
            if late:
                found.hangs.append(label)
        if limit is not None and len(hosted.charges) * PRICE > limit:
            found.over.append(label)
        hosted.calm()
        told, late = session(nursery, hosted, chance, {**order, "by": "sweep", "budget": 2 * runs * PRICE}, "")
        found.ends[told] += 1
        if late:
            found.hangs.append(label)
        judge(hosted, library, label, found)


def judge(hosted: StandIn, library: Path, label: str, found: Found) -> None:
    """Join the charge log with the ledger, and the ledger with the files."""
    sql = "SELECT json_extract(input, '$.fps'), state, request_id, media FROM runs"
    rows = query(library / "ledger.sqlite", sql)
    files = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (library / "media").rglob("*") if path.is_file()}
    kept = {
        request
        for _, state, request, media in rows
        if state == "stored" and all(sha in files for sha in _hashes(media))
    }
    doubtful = {fps for fps, state, _, _ in rows if state == "uncertain"}
    paid = Counter(line["input"]["fps"] for line in hosted.charges)
    found.paid += len(hosted.charges)
    found.twice += [f"{label}: clip {fps}" for fps, times in paid.items() if times > 1]
    found.lost += [
        f"{label}: {line['request_id']}"
        for line in hosted.charges
        if line["request_id"] not in kept and line["input"]["fps"] not in doubtful
    ]
    found.uncertain += len(doubtful)
    found.unstored += [f"{label}: {fps} {state}" for fps, state, _, _ in rows if state not in ("stored", "uncertain")]


def _hashes(media: str | None) -> list[str]:
    return [file["sha256"] for file in json.loads(media or "[]")]


@pytest.mark.parametrize(("names", "runs"), SIZES)
def test_nothing_is_paid_twice_or_lost_whatever_is_answered(
    nursery: Nursery, said: Path, tmp_path: Path, names: range, runs: int
) -> None:
    """Also not over the budget; no client stands still, and none ends with a traceback."""
    found, began = Found(), time.monotonic()
    before = said.stat().st_size

    for name in names:
        walk(nursery, said, tmp_path, name, runs, found)

    print(f"{len(names)} combinations of {runs} runs in {time.monotonic() - began:.0f} s: {found}")
    assert (found.twice, found.lost, found.over, found.hangs) == ([], [], [], [])
    assert found.unstored == []
    assert "Traceback" not in said.read_text(errors="replace")[before:]
    assert set(found.ends) <= {"over", "killed", "interrupted", "stopped"}


@pytest.mark.deep
def test_the_old_rule_is_caught_by_the_same_oracle(nursery: Nursery, said: Path, tmp_path: Path) -> None:
    """The control: with any refusal of a result taken for a failure of the run, the walk sees what is paid twice."""
    found = Found()

    walk(nursery, said, tmp_path, 1, 3, found, faults=[Fault(RESULT, "410 page", times=2)], rule="old", ends=[""])

    assert found.twice
