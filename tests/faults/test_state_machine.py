"""Figure 7: whatever happens in whatever order, the ledger moves only as it may, and never knows of less than was paid."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from reelbook.errors import OverBudget
from reelbook.storage.ledger import claims, schema, transitions
from reelbook.storage.ledger.claims import RunRequest, Verdict
from reelbook.storage.ledger.schema import Budget
from reelbook.storage.ledger.transitions import Entry, Moved, State

LEGAL = """
planned   → claimed accepted uncertain
claimed   → sending planned rejected accepted uncertain
sending   → sending accepted rejected uncertain planned
accepted  → completed failed cancelled expired
completed → stored expired
stored    → completed
rejected  → claimed
cancelled → claimed
failed    → claimed
expired   → completed failed cancelled
uncertain → accepted failed planned
"""
MAY_FOLLOW = {line.split()[0]: set(line.split()[2:]) for line in LEGAL.strip().splitlines()}

PRICE, UNKNOWN_PRICE, LIMIT = 5, 7, 12
DAY = 24 * 3600.0
WANTED = (
    RunRequest("plain", "seeded", "m", "{}", PRICE, False, True),
    RunRequest("plain", "unseeded", "m", "{}", PRICE, False, False),
    RunRequest("keyed", "seeded", "m", "{}", PRICE, True, True),
    RunRequest("plain", "unpriced", "m", "{}", None, False, True),
    RunRequest("keyed", "unseeded", "m", "{}", PRICE, True, False),
)
PLAN = Budget("plan", LIMIT)
IN_PLAN = ("plain", "seeded"), ("keyed", "seeded")
FINALS = ("completed", "failed", "cancelled", "expired")


@dataclass
class Post:
    """A paid request that has left this machine."""

    run: int
    key: str | None
    request: str | None = None
    """What the service made of it, whether we learn of it or not; None if it never arrived."""


@dataclass
class Truth:
    """The model: what the service did, which requests nobody knows the outcome of, and what a person gave up."""

    cost: dict[str, int] = field(default_factory=dict)
    of: dict[str, tuple[str, str]] = field(default_factory=dict)
    run: dict[str, int] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    final: dict[str, tuple[str, int | None]] = field(default_factory=dict)
    open: dict[int, list[Post]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    given_up: set[str] = field(default_factory=set)
    forgets_keys: bool = False

    def arrives(self, post: Post, entry: Entry) -> None:
        """The service takes a request and charges for it, unless it knows the key."""
        if post.key is not None and post.key in self.keys:
            post.request = self.keys[post.key]
            return
        post.request = uuid.uuid4().hex
        self.cost[post.request] = PRICE if entry.price is not None else UNKNOWN_PRICE
        self.of[post.request] = (entry.service, entry.identity)
        self.run[post.request] = entry.id
        if post.key is not None:
            self.keys[post.key] = post.request

    def sent(self, post: Post) -> None:
        """At most one request of unknown outcome for a run; repetitions have the same key."""
        posts = self.open.setdefault(post.run, [])
        posts.append(post)
        assert len(posts) == 1 or (post.key is not None and {one.key for one in posts} == {post.key}), "two open sends"

    def give_up(self, run: int) -> None:
        """A person decides about the requests of a run that nobody knows the outcome of."""
        self.given_up |= {post.request for post in self.open.pop(run, []) if post.request}


class Process(claims.Process):
    """A process that uses the ledger, and dies when it leaves."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.at: dict[int, Post | None] = {}
        """The runs that it has claimed, and the request in flight for each."""


class LedgerMachine(RuleBasedStateMachine):
    """Three processes, two services, and one person, in any order."""

    which = st.integers(0, 5)
    folders: ClassVar[list[Path]] = []

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="ledger-machine-"))
        self.db = sqlite3.connect(":memory:", isolation_level=None)
        self.db.executescript(schema.SCHEMA)
        (self.folder / claims.LIST_NAME).touch()
        self.lines: list[dict[str, Any]] = []
        self.truth = Truth()
        self.processes = [Process(self.folder) for _ in range(3)]
        self.states: dict[int, str] = {}
        self.events = 0

    def teardown(self) -> None:
        for process in self.processes:
            process.leave()
        self.db.close()
        shutil.rmtree(self.folder)

    def do(self, work: Callable[[sqlite3.Connection], Any]) -> Any:
        """One transaction, as `writer.py` makes them; None if the ledger refused."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            result = work(self.db)
        except (Moved, OverBudget):
            self.db.execute("ROLLBACK")
            return None
        self.db.execute("COMMIT")
        return result

    def entries(self, *states: str) -> list[Entry]:
        rows = self.db.execute(f"SELECT {transitions.COLUMNS} FROM entries ORDER BY id").fetchall()
        return [entry for row in rows if (entry := Entry(*row)).state in states or not states]

    def read(self, run: int) -> Entry:
        return transitions.get_entry(self.db, run)

    def claimed(self, *, sent: bool) -> list[tuple[Process, int]]:
        return [
            (process, run) for process in self.processes for run, post in process.at.items() if (post is None) != sent
        ]  # fmt: skip

    @rule(
        p=which, a=which, fresh=st.sampled_from((False, False, False, True)), take=st.sampled_from((None, None, 0, 1)),
        goes_on=st.sampled_from(("waits", "sent", "told", "lost")),
    )  # fmt: skip
    def ask(self, p: int, a: int, fresh: bool, take: int | None, goes_on: str) -> None:
        """Somebody wants a run; it is sent and answered at once, or anything may happen before that."""
        process, asked = self.processes[p % 3], WANTED[a % len(WANTED)]
        if asked.idempotent and self.truth.forgets_keys:
            asked = RunRequest(asked.service, asked.identity, "m", "{}", asked.price, False, asked.reusable)
        budget = PLAN if (asked.service, asked.identity) in IN_PLAN else None
        verdict: Verdict | None = self.do(
            lambda db: claims.find_or_claim(db, replace(asked, fresh=fresh, take=take, budget=budget), process)
        )
        if verdict is None:
            return
        if verdict.action == "send":
            assert not any(verdict.entry.id in other.at for other in self.processes), "claimed twice"
            process.at[verdict.entry.id] = None
            if goes_on != "waits":
                self.sends(process, verdict.entry.id, arrives=True)
            if goes_on in ("told", "lost") and verdict.entry.id in process.at:
                self.answers(process, verdict.entry.id, goes_on)
        elif verdict.action == "join" and verdict.entry.id not in process.at and verdict.entry.request_id is None:
            self.do(lambda db: transitions.release(db, verdict.entry.id, process.owner))

    @precondition(lambda self: self.claimed(sent=False))
    @rule(n=which, arrives=st.booleans(), confirmed=st.sampled_from((True, True, True, False)))
    def send(self, n: int, arrives: bool, confirmed: bool) -> None:
        """The first byte leaves; or the ledger's word for it fails, though it is durable, and nothing leaves."""
        claimed = self.claimed(sent=False)
        self.sends(*claimed[n % len(claimed)], arrives=arrives, confirmed=confirmed)

    def sends(self, process: Process, run: int, *, arrives: bool, confirmed: bool = True) -> None:
        entry = self.read(run)
        body = "{}" if entry.attempt_key else None
        self.do(lambda db: transitions.mark_sending(db, run, process.owner, body))
        if self.read(run).state != "sending":
            del process.at[run]
            return
        if not confirmed:
            del process.at[run]
            self.do(lambda db: transitions.release(db, run, process.owner, unsent=True))
            return
        post = process.at[run] = Post(run, entry.attempt_key)
        self.truth.sent(post)
        if arrives:
            self.truth.arrives(post, entry)

    @precondition(lambda self: self.claimed(sent=True))
    @rule(n=which, repeats=st.booleans())
    def send_again(self, n: int, repeats: bool) -> None:
        """The same call once more: with a key it may go, without one it is refused."""
        claimed = self.claimed(sent=True)
        process, run = claimed[n % len(claimed)]
        entry = self.read(run)
        try:
            transitions.mark_sending(self.db, run, process.owner, entry.body)
        except Moved:
            assert entry.attempt_key is None
            return
        assert entry.attempt_key is not None, "sent twice without a key"
        if repeats:
            post = process.at[run] = Post(run, entry.attempt_key)
            self.truth.sent(post)
            self.truth.arrives(post, entry)

    @precondition(lambda self: self.claimed(sent=True))
    @rule(n=which, answer=st.sampled_from(("told", "told", "told twice", "lost", "refused")), dies=st.booleans())
    def answer(self, n: int, answer: str, dies: bool) -> None:
        """The service answers, or its answer is lost; `dies`: the process ends between the second copy and the ledger."""
        claimed = self.claimed(sent=True)
        self.answers(*claimed[n % len(claimed)], answer, dies=dies)

    def answers(self, process: Process, run: int, answer: str, *, dies: bool = False) -> None:
        post, entry = process.at.pop(run), self.read(run)
        assert post is not None
        if answer.startswith("told") and post.request is not None:
            request = post.request
            self.lines.append(claims.make_acceptance(entry, request))
            claims.append_lines(self.folder, self.lines[-1:])
            if dies:
                self.die(process)
                return
            for _ in range(1 + (answer == "told twice")):
                self.do(lambda db: transitions.mark_accepted(db, run, request))
        elif answer == "refused" and post.request is None and post.key is None:
            self.truth.open[run].remove(post)
            self.do(lambda db: transitions.move(db, run, State.REJECTED, error="no"))
        elif post.key is not None:
            self.do(lambda db: transitions.release(db, run, process.owner))
        else:
            self.do(lambda db: transitions.move(db, run, State.UNCERTAIN, error="reset"))

    @precondition(lambda self: self.claimed(sent=False))
    @rule(n=which)
    def stop(self, n: int) -> None:
        """Nothing was sent: the claim is given back."""
        claimed = self.claimed(sent=False)
        process, run = claimed[n % len(claimed)]
        del process.at[run]
        self.do(lambda db: transitions.release(db, run, process.owner, unsent=True))

    @rule(p=which)
    def forget(self, p: int) -> None:
        """Something breaks between two steps: the process lives, and nobody in it is at its runs any more."""
        self.processes[p % 3].at.clear()

    @rule(p=which, recovers=st.booleans())
    def crash(self, p: int, recovers: bool) -> None:
        self.die(self.processes[p % 3], recovers=recovers)

    def die(self, process: Process, *, recovers: bool = True) -> None:
        """The process is gone, and another one is in its place; maybe it looks after what was left, maybe others do."""
        process.leave()
        born = Process(self.folder)
        self.processes[self.processes.index(process)] = born
        if recovers:
            self.do(lambda db: claims.recover(db, born))

    @precondition(lambda self: any(entry.request_id for entry in self.entries()))
    @rule(
        n=which,
        told=st.sampled_from((*FINALS, "accepted", "truth", "truth", "paused")),
        silent=st.booleans(),
    )
    def hear(self, n: int, told: str, silent: bool) -> None:
        """A word about a run: true, late, twice, contradicting, or one that nobody has heard of."""
        known = [entry for entry in self.entries() if entry.request_id]
        entry = known[n % len(known)]
        request = str(entry.request_id)
        if told == "truth":
            # What the service makes of it is settled once; a failure is given back, and it may say so or not.
            told, charged = self.truth.final.setdefault(request, (("completed", "failed")[n % 2], 0 if n % 2 else 3))
            if not silent and request in self.truth.cost and entry.state == "accepted":
                self.truth.cost[request] = charged or 0
            charged = None if silent else charged
        else:
            charged = None
        run = entry.id
        if told == "accepted":
            self.do(lambda db: transitions.mark_accepted(db, run, request))
        elif told == "completed":
            self.do(lambda db: transitions.move(db, run, told, output="{}", charged=charged))
        else:
            self.do(lambda db: transitions.move(db, run, told, error_type=told, charged=charged))

    @rule(p=which, n=which, step=st.sampled_from(("stored", "refetch", "left", "recover", "attach")))
    def carry(self, p: int, n: int, step: str) -> None:
        """What happens to a run once it is paid for, at any time and to any row."""
        entries, process = self.entries(), self.processes[p % 3]
        if step == "recover":
            self.do(lambda db: claims.recover(db, process))
        elif entries and (entry := entries[n % len(entries)]):
            run, request = entry.id, entry.request_id
            if step == "stored":
                self.do(lambda db: transitions.move(db, run, State.STORED, media="[]"))
            elif step == "refetch":
                self.do(lambda db: transitions.move(db, run, "completed", since="stored", owner=process.owner))
            elif step == "left" and run not in process.at:
                self.do(lambda db: transitions.release(db, run, process.owner))
            elif step == "attach" and request is not None:
                self.do(lambda db: claims.attach(db, entry.service, "m", request, process))

    @precondition(lambda self: self.entries())
    @rule(n=which, m=which, way=st.sampled_from(("settle", "settle", "write off", "resubmit")))
    def decide(self, n: int, m: int, way: str) -> None:
        """A person settles an uncertain run; or one that was uncertain when the list was made, and is not any more."""
        entries = self.entries("uncertain") or self.entries()
        entry, process = entries[n % len(entries)], self.processes[m % 3]
        run, was = entry.id, entry.state
        if way == "settle":
            charged = [post.request for post in self.truth.open.get(run, []) if post.request]
            others = [one.request_id for one in self.entries() if one.service == entry.service and one.id != run]
            others = [request for request in others if request]
            request = (charged or others or ["made up"])[0]
            done = charged and self.do(lambda db: transitions.resolve(db, run, str(request), process.owner))
            refused = not charged and others
            if refused:
                settled = self.do(lambda db: transitions.resolve(db, run, str(request), process.owner))
                assert settled is None, "a request that belongs to another run"
        else:
            step = transitions.write_off if way == "write off" else transitions.allow_resubmission
            done = self.do(lambda db: (step(db, run), True))
            if done:
                self.truth.give_up(run)
        assert not done or was == "uncertain", f"{way} of a run that is {was}"

    @rule(loses_keys=st.sampled_from((False, False, True)))
    def a_night_passes(self, loses_keys: bool) -> None:
        """Everybody goes home. The service forgets the keys it has seen; or it does not know any more what a key is."""
        for process in list(self.processes):
            self.die(process)
        self.db.execute("UPDATE runs SET sent = sent - ?", (DAY,))
        self.truth.keys.clear()
        self.truth.forgets_keys = loses_keys

    @invariant()
    def moves_are_legal(self) -> None:
        for seq, run, state in self.db.execute("SELECT seq, run, state FROM events WHERE seq > ?", (self.events,)):
            self.events = seq
            before = self.states.get(run, "planned")
            assert state in MAY_FOLLOW[before] or (run not in self.states and state == "accepted"), (before, state)
            self.states[run] = state
        for entry in self.entries():
            assert entry.stage == self.states.get(entry.id, "planned")
            assert entry.owner is None or entry.state in ("planned", "sending", "accepted")

    @invariant()
    def nothing_paid_is_lost(self) -> None:
        entries = {entry.id: entry for entry in self.entries()}
        self.truth.seen |= {entry.request_id for entry in entries.values() if entry.request_id}
        for run, posts in self.truth.open.items():
            known = {post.key for post in posts if post.request in self.truth.seen}
            posts[:] = [
                post for post in posts if post.request not in self.truth.seen and post.key not in known - {None}
            ]
            lost = [post.request for post in posts if post.request]
            may_be_paid = entries[run].state in ("sending", "uncertain") or entries[run].attempt_key in {
                post.key for post in posts if post.key
            }
            assert not lost or may_be_paid, f"a paid request of a run that is {entries[run].state} is forgotten"
        for line in self.lines:
            entry = entries[self.truth.run[line["request_id"]]]
            is_known = line["request_id"] in self.truth.seen | self.truth.given_up
            assert is_known or entry.owner is not None, "only the second copy knows a request"
        paid = set(self.truth.cost) - self.truth.seen - self.truth.given_up
        assert paid <= {post.request for posts in self.truth.open.values() for post in posts}

    @invariant()
    def money_is_never_undercounted(self) -> None:
        counted: dict[tuple[str, str], int] = {}
        query = "SELECT service, identity, counted + unknown * ? FROM entries"
        for service, identity, cost in self.db.execute(query, (UNKNOWN_PRICE,)):
            counted[service, identity] = counted.get((service, identity), 0) + cost
        paid: dict[tuple[str, str], int] = {}
        for request, cost in self.truth.cost.items():
            paid[self.truth.of[request]] = paid.get(self.truth.of[request], 0) + cost
        for name, cost in paid.items():
            assert cost <= counted[name], f"{name} has cost {cost}, and the ledger counts {counted[name]}"
        assert sum(paid.get(name, 0) for name in IN_PLAN) <= LIMIT, "more was paid than the budget allows"


def explored(examples: int, steps: int, *, quick: bool = False) -> None:
    """Let everything happen in so many histories of so many steps."""
    run_state_machine_as_test(
        LedgerMachine,
        settings=settings(
            max_examples=examples, stateful_step_count=steps, deadline=None, derandomize=True, database=None,
            suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
            phases=[Phase.generate] if quick else [Phase.generate, Phase.shrink],
        ),
    )  # fmt: skip


def test_no_history_makes_an_illegal_move_or_loses_money() -> None:
    """Crashes, lost, late, doubled and contradicting answers: each move is legal, each credit counted, no run sent twice."""
    explored(25, 40)


@pytest.mark.deep
@pytest.mark.timeout(900)
def test_no_long_history_does_either() -> None:
    """The same in 500 histories of 50 steps."""
    explored(500, 50)


RELEASE, MOVE = transitions.release, transitions.move


def _sent_again(db: sqlite3.Connection, run: int, owner: str | None, **options: Any) -> None:
    """What `release` must not do: to take a run that was being sent for one that was not."""
    RELEASE(db, run, owner, unsent=True)


def _at_any_time(db: sqlite3.Connection, run: int, stage: str, **options: Any) -> None:
    """What `move` must not do: to forget what the run has to be before."""
    MOVE(db, run, stage, **{**options, "since": None})


def _costs_nothing(patch: pytest.MonkeyPatch, state: str) -> None:
    """Leave the price of runs in a state out of the budget."""
    free = "WHEN state = 'rejected'"
    assert free in schema.SCHEMA
    patch.setattr(schema, "SCHEMA", schema.SCHEMA.replace(free, f"WHEN state IN ('rejected', '{state}')"))


def _not_guarded(db: sqlite3.Connection, run: int, owner: str, body: str | None) -> None:
    """What `mark_sending` must not do: to let a request go twice that has no key."""
    transitions.move(db, run, "sending", body=body)


def _claim_uncertain(patch: pytest.MonkeyPatch) -> None:
    """Ask nobody about an uncertain run, and let it move like one that was refused."""
    patch.setattr(claims, "State", SimpleNamespace(**{**State.__members__, "UNCERTAIN": "never"}))
    patch.setattr(transitions, "MOVES", {**transitions.MOVES, "uncertain": frozenset({"claimed"})})


BROKEN: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "a run that was being sent is sent again": lambda patch: patch.setattr(transitions, "release", _sent_again),
    "an uncertain run is claimed like any other": _claim_uncertain,
    "a failed attempt costs nothing": lambda patch: _costs_nothing(patch, "failed"),
    "an uncertain run costs nothing": lambda patch: _costs_nothing(patch, "uncertain"),
    "a request goes twice without a key": lambda patch: patch.setattr(transitions, "mark_sending", _not_guarded),
    "an old key is repeated": lambda patch: patch.setattr(claims, "KEY_SECONDS", 1e9),
    "the second copy is not read": lambda patch: patch.setattr(claims, "catch_up", lambda *args: 0),
    "a person's word counts for any run": lambda patch: patch.setattr(transitions, "move", _at_any_time),
}


@pytest.mark.deep
@pytest.mark.parametrize("guard", BROKEN)
def test_a_ledger_without_one_of_its_guards_is_found_out(guard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: each guard taken away alone makes some history go wrong."""
    BROKEN[guard](monkeypatch)

    with pytest.raises(AssertionError), contextlib.redirect_stdout(None):
        explored(1000, 40, quick=True)
