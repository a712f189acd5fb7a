"""Accounts of a class as their owners meet them: limits, pauses, top-ups and replaced keys, through HTTP."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Mapping
from contextlib import closing, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reelbook_service import class_admin
from reelbook_service.accounts import Account, Accounts, hash_key, read_account, read_credits
from reelbook_service.class_report import ClassRow, read_class
from reelbook_service.queue import Request
from reelbook_service.refusals import Refusal
from reelbook_service.store import open_database
from tests.support import STITCH, TEXT, Serve, Served, administer

PRICE = 53
MONDAY = datetime(2026, 11, 23, 12).timestamp()
LONG = {"prompt": "a lake", "num_frames": 1441, "resolution": "480p"}


class Classroom:
    """A service whose clock a test moves, and the class in it."""

    def __init__(self, serve: Serve) -> None:
        self.now = MONDAY
        self.served: Served = serve(workers=1, clock=lambda: self.now)
        self.keys: dict[str, str] = {}

    def act(self, action: str, **options: Any) -> Any:
        """One action, as the command does it."""
        outcome = administer(self.served.server.service.settings.data, action, self.now, **options)
        keys = outcome[0] if action == "add" else outcome if action == "replace" else ()
        self.keys |= {key.name: key.key for key in keys}
        return outcome

    def add(self, name: str, budget: int | None = 10 * PRICE, group: str | None = None, **limits: str) -> None:
        self.act("add", students=[{"name": name, "budget": budget, "group": group}], limits=limits)

    def row(self, name: str) -> ClassRow:
        """The row of an account, as the board reads it."""
        service = self.served.server.service
        rows = service.store.submit(lambda db: read_class(db, self.now, service.queue.count_running())).result()
        return next(row for row in rows if row.name == name)

    def refusal(self, name: str, endpoint: str, input: Mapping[str, Any]) -> tuple[int, str, str]:
        """The status, type and words of a refused run, which costs nothing."""
        before = self._reserved()
        response = self.served.run(endpoint, input, self.keys[name])
        assert self._reserved() == before
        body = response.json()
        return response.status_code, body["error_type"], body["detail"]

    def _reserved(self) -> list[str]:
        return [charge["request_id"] for charge in self.served.charges() if charge["kind"] == "reserve"]


@pytest.fixture
def classroom(serve: Serve) -> Classroom:
    return Classroom(serve)


def test_a_weekly_budget_is_filled_again_and_does_not_add_up(classroom: Classroom, dot: str) -> None:
    """Two runs a week, never four; the refusal says when there is more."""
    classroom.add("Ada", budget=2 * PRICE, weekly="fri 14:00")
    key = classroom.keys["Ada"]
    runs = [classroom.served.submitted(STITCH, {"images": [dot]}, key) for _ in range(2)]

    classroom.now = datetime(2026, 11, 27, 14).timestamp() - 1
    status, kind, words = classroom.refusal("Ada", STITCH, {"images": [dot]})
    classroom.now += 1
    runs.append(classroom.served.submitted(STITCH, {"images": [dot]}, key))
    left = classroom.row("Ada").left
    for request_id in runs:
        classroom.served.finished(STITCH, request_id, key)
    classroom.now += 14 * 24 * 3600
    later = classroom.row("Ada")

    assert (status, kind, left) == (402, "insufficient_credits", PRICE)
    assert "filled again on Friday, 27 November 2026, 14:00. Ask the people who run the service." in words
    assert (later.budget, later.left, later.spent, later.spent_in_all) == (2 * PRICE, 2 * PRICE, 0, 3 * PRICE)


def test_outside_its_window_an_account_may_look_and_not_run(classroom: Classroom, dot: str) -> None:
    """Its finished runs stay readable; the refusal says when it may."""
    limits = {"from": "2026-11-23", "until": "2026-11-30", "hours": "08:00-16:00"}
    classroom.act("add", students=[{"name": "Ada", "budget": 10 * PRICE}], limits=limits)
    key = classroom.keys["Ada"]
    request_id = classroom.served.submitted(STITCH, {"images": [dot]}, key)
    classroom.served.finished(STITCH, request_id, key)

    classroom.now = datetime(2026, 11, 23, 16).timestamp()
    status, kind, words = classroom.refusal("Ada", STITCH, {"images": [dot]})

    assert (status, kind) == (403, "forbidden")
    assert (
        "its time is: from Monday, 23 November 2026, 00:00; until Monday, 30 November 2026, 24:00; 08:00-16:00" in words
    )
    assert classroom.served.result(STITCH, request_id, key).status_code == 200
    assert not classroom.row("Ada").is_open


def test_only_the_allowed_models_run(classroom: Classroom, dot: str) -> None:
    """Another one is refused by name, and its price may still be asked for."""
    classroom.add("Ada", models="text-to-video")
    body = {"endpointId": STITCH, "input": {"images": [dot]}}
    headers = {"x-api-key": classroom.keys["Ada"]}

    status, kind, words = classroom.refusal("Ada", STITCH, body["input"])  # type: ignore[arg-type]

    assert (status, kind) == (403, "forbidden")
    assert f"may run {TEXT}" in words
    assert classroom.served.http.post("/models/pricing/estimate", json=body, headers=headers).status_code == 200


def test_more_runs_at_once_than_allowed_wait_outside(classroom: Classroom) -> None:
    """A 429 with Retry-After, and a place again as soon as a run has ended."""
    classroom.add("Ada", at_once="2")
    key = classroom.keys["Ada"]
    first, _ = (classroom.served.submitted(TEXT, LONG, key) for _ in range(2))

    response = classroom.served.run(TEXT, LONG, key)
    classroom.served.cancel(TEXT, first, key)
    classroom.served.finished(TEXT, first, key)

    assert (response.status_code, response.headers["retry-after"]) == (429, "2")
    assert response.json()["error_type"] == "too_many_requests"
    assert classroom.served.run(TEXT, LONG, key).status_code == 200
    row = classroom.row("Ada")
    assert (row.active, row.cancelled, row.reserved) == (2, 1, 2 * PRICE)


def test_a_replaced_key_stops_at_once_and_everything_else_stays(classroom: Classroom, dot: str) -> None:
    """Runs, files and budget belong to the account, not to its key."""
    classroom.add("Ada", budget=3 * PRICE)
    leaked = classroom.keys["Ada"]
    request_id = classroom.served.submitted(STITCH, {"images": [dot]}, leaked)
    classroom.served.finished(STITCH, request_id, leaked)

    classroom.act("replace", names=["Ada"])

    assert classroom.served.run(STITCH, {"images": [dot]}, leaked).status_code == 401
    assert classroom.served.get("/account", leaked).status_code == 401
    assert classroom.served.result(STITCH, request_id, classroom.keys["Ada"]).status_code == 200
    assert classroom.served.get("/account", classroom.keys["Ada"]).json()["credits_available"] == 2 * PRICE


def test_a_call_that_came_before_the_replacement_and_is_stored_after_it_is_refused(classroom: Classroom) -> None:
    """The key is checked once more in the transaction that reserves the credits."""
    classroom.add("Ada")
    service = classroom.served.server.service
    before = asyncio.run(service.accounts.find(classroom.keys["Ada"]))
    classroom.act("replace", names=["Ada"])
    after = asyncio.run(service.accounts.find(classroom.keys["Ada"]))

    one, two = (Request(0, name, "Ada", TEXT, 1, MONDAY) for name in ("one", "two"))
    with pytest.raises(Refusal, match="may have been replaced"):
        service.store.submit(lambda db: service.accounts.reserve(db, before, one)).result()
    service.store.submit(lambda db: service.accounts.reserve(db, after, two)).result()


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ({"action": "pause", "names": ["Adda"]}, "Did you mean 'Ada'"),
        ({"action": "pause"}, "Which accounts"),
        ({"action": "pause", "group": "Z"}, "no accounts in the group 'Z'"),
        ({"action": "topup", "names": ["Ada"], "credits": -1}, "not a number of credits"),
        ({"action": "add", "students": [{"name": "New"}]}, "how many credits"),
        ({"action": "add", "students": [{"name": "Ada"}, {"name": "Ada"}]}, "in the list twice"),
        ({"action": "add", "students": [{"name": "a\nb", "budget": 1}]}, "not a name"),
        ({"action": "add", "students": [{"name": "default", "budget": 1}]}, "of the service itself"),
        ({"action": "add", "students": [{"name": "Bo", "budget": 1, "key": "test-key"}]}, "same key"),
        (
            {"action": "add", "students": [{"name": "Bo", "budget": 1}], "limits": {"days": "never"}},
            "--days 'never' cannot be read",
        ),
    ],
)
def test_a_wrong_action_is_refused_in_words_and_changes_nothing(
    shared_class: Classroom, action: dict[str, Any], words: str
) -> None:
    """All or nothing: a class is not half added."""
    before = shared_class.act("report")

    with pytest.raises(ValueError, match=words):
        shared_class.act(action.pop("action"), **action)

    assert shared_class.act("report") == before


@pytest.fixture
def shared_class(shared: Served) -> Classroom:
    room = Classroom(lambda **settings: shared)
    if "Ada" not in {row.name for row in room.act("report")}:
        room.add("Ada")
    return room


OLD_TABLES = """
CREATE TABLE accounts (
    name TEXT PRIMARY KEY, key_hash TEXT NOT NULL UNIQUE, permissions TEXT NOT NULL,
    granted INTEGER NOT NULL, reserved INTEGER NOT NULL DEFAULT 0, spent INTEGER NOT NULL DEFAULT 0,
    class_group TEXT NOT NULL DEFAULT '', paused INTEGER NOT NULL DEFAULT 0, limits TEXT NOT NULL DEFAULT '',
    refilled REAL, used_before INTEGER NOT NULL DEFAULT 0,
    CHECK (reserved >= 0 AND spent >= 0)
);
CREATE TABLE requests (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, account TEXT NOT NULL, endpoint TEXT NOT NULL,
    input TEXT NOT NULL, credits INTEGER NOT NULL, created REAL NOT NULL, finished REAL,
    cancelling INTEGER NOT NULL DEFAULT 0, record TEXT, lane TEXT NOT NULL DEFAULT 'local', error_type TEXT, period REAL
);
CREATE TABLE charges (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, request_id TEXT NOT NULL, account TEXT NOT NULL,
    credits INTEGER NOT NULL, kind TEXT NOT NULL
);
"""


def test_a_database_of_version_0_1_0_opens_as_it_was(tmp_path: Path) -> None:
    """Budgets and spending stay, in all and by weeks, and what is given back counts in the week of its run."""
    with closing(sqlite3.connect(tmp_path / "service.sqlite3", isolation_level=None)) as old:
        old.executescript(OLD_TABLES)
        for name, weekly in (("Ada", ""), ("Bo", '{"weekly": [530, 0, 0]}')):
            old.execute(
                "INSERT INTO accounts (name, key_hash, permissions, granted, reserved, spent, limits, refilled, used_before) "
                "VALUES (?, ?, 'run upload', 583, 53, 53, ?, ?, 53)",
                (name, hash_key(f"key-of-{name}"), weekly, MONDAY),
            )
            for number, at in enumerate((MONDAY - 99, MONDAY + 2)):
                old.execute(
                    "INSERT INTO requests (id, account, endpoint, input, credits, created) VALUES (?, ?, ?, '{}', 53, ?)",
                    (f"{name}-{number}", name, STITCH, at),
                )
                for moment, kind in ((at, "reserve"), (MONDAY + 1, "settle"))[: 2 - number]:
                    old.execute(
                        "INSERT INTO charges (at, request_id, account, credits, kind) VALUES (?, ?, ?, 53, ?)",
                        (moment, f"{name}-{number}", name, kind),
                    )

    for _ in range(2):
        ada, bo = administer(tmp_path, "report", MONDAY + 3)

    assert (ada.budget, ada.spent, ada.reserved, ada.left) == (583, 53, 53, 477)
    assert (bo.budget, bo.spent, bo.reserved, bo.left, bo.spent_in_all) == (530, 0, 53, 477, 53)
    administer(tmp_path, "add", MONDAY + 3, students=[{"name": "Cy", "budget": 7}])
    administer(tmp_path, "topup", MONDAY + 3, names=["Ada", "Bo"], credits=10)
    assert [row.left for row in administer(tmp_path, "report", MONDAY + 3)] == [487, 487, 7]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["run", "end", "topup", "limit"]), st.integers(0, 100)),
        st.tuples(st.just("wait"), st.integers(1, 5)),
    ),
    max_size=40,
)


@given(STEPS, st.sampled_from(["none", "mon 12:00"]))
@example([("run", 60), ("wait", 7), ("run", 100), ("end", 0), ("run", 1)], "mon 12:00")
@example([("run", 60), ("limit", 10), ("end", 0), ("run", 10), ("topup", 5), ("run", 5)], "none")
def test_credits_are_exact_whatever_happens(steps: list[tuple[str, int]], weekly: str) -> None:
    """A budget of 100 against plain sums by week: a run is accepted if it can be paid, and what is left is what they say."""
    now, budget, more, used = MONDAY, 100, Counter[int](), Counter[int]()
    runs: list[tuple[int, Request]] = []
    with closing(open_database(Path(":memory:"))) as db:
        class_admin.add(db, now, [class_admin.Student("Ada", budget=100, key="key-of-ada")], {"weekly": weekly})
        ada = Account("Ada", frozenset(), hash_key("key-of-ada"))
        for step, number in steps:
            week = int((now - MONDAY) // (7 * 24 * 3600)) if weekly != "none" else 0
            left = max(0, budget + more[week] - used[week])
            if step == "wait":
                now += number * 24 * 3600
            elif step == "run":
                request = Request(0, str(len(used)), "Ada", TEXT, number, now)
                with nullcontext() if number <= left else pytest.raises(Refusal, match=f" {left} left"):
                    Accounts.reserve(db, ada, request)
                    used[week] += number
                    runs.append((week, request))
            elif step == "end" and runs:
                week, request = runs.pop(0)
                Accounts.settle(db, request, number)
                used[week] -= max(0, request.credits - number)
            elif step == "topup" and number:
                class_admin.act(db, now, "topup", ["Ada"], number)
                more[week] += number
            elif step == "limit":
                class_admin.change(db, now, class_admin.Student("Ada", budget=number), {})
                budget, more[week] = number, 0

        week = int((now - MONDAY) // (7 * 24 * 3600)) if weekly != "none" else 0
        has = read_credits(db, read_account(db, "Ada"), now)
        assert (has.left, has.spent + has.reserved) == (max(0, budget + more[week] - used[week]), used[week])
