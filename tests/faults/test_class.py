"""A class under attack: two students hammer, a key leaks and is replaced, weeks turn, and nobody is over budget."""

from __future__ import annotations

import random
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import httpx
import pytest

from tests.support import STITCH, Serve, Served, administer, deep

PRICE = 53
WEEK = 7 * 24 * 3600
MONDAY = datetime(2026, 11, 23, 12).timestamp()


def over_budget(charges: Iterable[Mapping[str, Any]], budgets: Mapping[str, int]) -> list[str]:
    """Whoever ever had more reserved and spent of one week than the week's budget, by the charge log alone."""
    used: dict[tuple[str, float], int] = defaultdict(int)
    week_of: dict[str, float] = {}
    found = []
    for charge in charges:
        name = charge["account"]
        if charge["kind"] == "reserve":
            week = week_of[charge["request_id"]] = (charge["at"] - MONDAY) // WEEK
            used[name, week] += charge["credits"]
            if used[name, week] > budgets[name]:
                found.append(name)
        elif charge["kind"] == "refund":
            used[name, week_of[charge["request_id"]]] -= charge["credits"]
    return found


def most_at_once(charges: Iterable[Mapping[str, Any]], name: str) -> int:
    """The most runs of an account that were unfinished at the same time, by the charge log."""
    unfinished: set[str] = set()
    most = 0
    for charge in charges:
        if charge["account"] == name:
            (unfinished.add if charge["kind"] == "reserve" else unfinished.discard)(charge["request_id"])
            most = max(most, len(unfinished))
    return most


class Attack:
    """Threads that send runs and cancel some of them, by whatever key they have."""

    def __init__(self, served: Served, dot: str) -> None:
        self._served, self._body = served, {"endpointId": STITCH, "input": {"images": [{"url": dot, "frames": 1}]}}
        self.statuses: dict[str, list[int]] = defaultdict(list)

    def hammer(self, key: str, calls: int, seed: int, stop: threading.Event | None = None) -> None:
        """Send runs as quickly as they are answered, and cancel a third of those accepted."""
        chance = random.Random(seed)
        with httpx.Client(
            base_url=self._served.base_url, headers={"x-api-key": key}, timeout=60, trust_env=False
        ) as http:
            for _ in range(calls):
                answer = http.post("/models/run", json=self._body)
                self.statuses[key].append(answer.status_code)
                if answer.status_code == 200 and chance.random() < 0.33:
                    http.put(f"/{STITCH}/requests/{answer.json()['requestId']}/cancel")
                if stop is not None and stop.is_set():
                    return


@pytest.mark.parametrize(("seed", "calls"), [(1, 12), *deep((2, 12), (3, 100), (4, 100))])
def test_nobody_is_over_budget_by_a_credit(serve: Serve, dot: str, seed: int, calls: int) -> None:
    """Four threads for each hammering student and a thief with a third one's key, over two weeks, by the charge log."""
    now = [MONDAY]
    served = serve(workers=1, clock=lambda: now[0])
    data = served.server.service.settings.data
    # A credit is missing for the last run of each.
    budgets = {"hammer 1": 4 * PRICE - 1, "hammer 2": 4 * PRICE - 1, "victim": 6 * PRICE - 1}
    students = [{"name": name, "budget": budget} for name, budget in budgets.items()]
    new_keys, _ = administer(data, "add", now[0], students=students, limits={"weekly": "mon 12:00"})
    keys = {key.name: key.key for key in new_keys}
    administer(data, "add", now[0], students=[{"name": "hammer 2"}], limits={"at_once": "2"}, reset=True)
    attack, stop = Attack(served, dot), threading.Event()
    leaked = keys["victim"]

    for week in range(2):
        now[0] = MONDAY + week * WEEK
        with ThreadPoolExecutor(12) as pool:
            sent = [
                pool.submit(attack.hammer, keys[name], calls, seed + number)
                for name in ("hammer 1", "hammer 2")
                for number in range(4)
            ]
            if week == 0:
                thieves = [pool.submit(attack.hammer, leaked, 10_000, seed + number, stop) for number in range(2)]
                sent[0].result()
                replaced = administer(data, "replace", names=["victim"])[0].key
                accepted = _accepted(served, "victim")
                sent += thieves
                sent.append(pool.submit(attack.hammer, replaced, calls, seed))
                sent[-1].result()
                by_owner = attack.statuses[replaced].count(200)
                assert _accepted(served, "victim") == accepted + by_owner, "the old key had a run accepted"
                stop.set()
            for one in sent:
                one.result()
            if week == 1:
                attack.hammer(replaced, calls, seed)

    _finish(served, [*keys.values(), replaced])
    charges = served.charges()
    assert over_budget(charges, budgets) == []
    assert most_at_once(charges, "hammer 2") <= 2
    assert attack.statuses[leaked][-1] == 401
    assert {402, 200} <= set(attack.statuses[keys["hammer 1"]])
    assert 429 in attack.statuses[keys["hammer 2"]]
    assert all(set(found) <= {200, 401, 402, 429} for found in attack.statuses.values())
    rows = {row.name: row for row in administer(data, "report", now[0])}
    for name, budget in budgets.items():
        mine = [charge for charge in charges if charge["account"] == name]
        settled = sum(charge["credits"] for charge in mine if charge["kind"] == "settle")
        assert (rows[name].spent_in_all, rows[name].reserved) == (settled, 0)
        assert rows[name].budget == budget == rows[name].spent + rows[name].left
        assert rows[name].left >= 0


def _accepted(served: Served, name: str) -> int:
    return sum(charge["account"] == name and charge["kind"] == "reserve" for charge in served.charges())


def _finish(served: Served, keys: Iterable[str]) -> None:
    """Follow every run to its end."""
    service = served.server.service
    query = "SELECT id, account FROM requests WHERE finished IS NULL"
    statements = {key: served.get("/account", key) for key in keys}
    owners = {said.json()["name"]: key for key, said in statements.items() if said.status_code == 200}
    for row in service.store.submit(lambda db: db.execute(query).fetchall()).result():
        served.finished(STITCH, row["id"], owners[row["account"]])


def test_the_oracle_finds_a_budget_that_is_over_by_a_credit() -> None:
    """The control: one run too many, two at once too many, and a run that was given back and is none."""
    log = [
        {"at": MONDAY, "account": "a", "request_id": "1", "credits": 53, "kind": "reserve"},
        {"at": MONDAY, "account": "a", "request_id": "2", "credits": 53, "kind": "reserve"},
        {"at": MONDAY, "account": "a", "request_id": "2", "credits": 53, "kind": "refund"},
        {"at": MONDAY + WEEK, "account": "a", "request_id": "3", "credits": 53, "kind": "reserve"},
    ]

    assert over_budget(log, {"a": 106}) == []
    assert over_budget(log, {"a": 105}) == ["a"]
    assert most_at_once(log, "a") == 2
