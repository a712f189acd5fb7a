"""A class on one paid key: thirty students, a bad line to the service elsewhere, and a gateway that is killed.

The oracles are the charge log of the service elsewhere, the gateway's own ledger, and the gateway's charge log.
"""

from __future__ import annotations

import asyncio
import contextlib
import csv
import itertools
import json
import signal
import statistics
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from reelbook_service.accounts import NewAccount
from tests.faults.audit import query
from tests.faults.canary import Canary
from tests.faults.gateway_process import DIES, FORGETS, GatewayProcess
from tests.faults.nursery import clip, number_of
from tests.faults.proxy import DESTROYED, ODD, ONCE, Deck, Proxy
from tests.faults.test_kill import MOMENTS, SENT
from tests.service.hosted.conftest import write_models
from tests.support import STITCH, Serve, Served, read_charges

PRICE = 53
SEED = 5
SHARE = 20
"""One call in so many suffers: 5 %."""
SENDING_AT_ONCE = 4
CANARY = Canary()
QUICK_FAULTS = tuple(fault for fault in ONCE if fault not in ("deaf", "late", "dripped"))

DEEP = [pytest.mark.deep, pytest.mark.timeout(900)]


@dataclass
class Student:
    """One account, and what its owner has seen."""

    name: str
    budget: int
    runs: int
    way: str = "all"
    """`all` runs are sent before the first is waited for; `at once`: at the same time."""
    ids: list[str] = field(default_factory=list)
    refused: int = 0
    finals: list[dict[str, Any]] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)

    @property
    def key(self) -> str:
        return f"key-of-{self.name}"


@dataclass
class Class:
    """The students at their work, over HTTP alone; what the gateway answers is gathered for the canary."""

    gateway: GatewayProcess
    students: list[Student]
    seen: list[bytes] = field(default_factory=list)
    finished: int = 0
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def work(self, kills: int) -> None:
        """All runs of all students; the gateway is killed so many times in between."""
        total = sum(min(student.runs, student.budget // PRICE) for student in self.students)
        limits = httpx.Limits(max_connections=200)
        async with httpx.AsyncClient(timeout=60, limits=limits, trust_env=False) as http:
            killing = asyncio.create_task(self._kill([total * (n + 1) // (kills + 2) for n in range(kills)]))
            await asyncio.gather(*(self._study(http, student) for student in self.students))
            await killing

    async def _kill(self, moments: list[int]) -> None:
        for moment in moments:
            while self.finished < moment:
                self._news.clear()
                await self._news.wait()
            self.gateway.kill()
            await asyncio.to_thread(self.gateway.start)

    async def _study(self, http: httpx.AsyncClient, student: Student) -> None:
        if student.way == "at once":
            await asyncio.gather(*(self._submit(http, student, number) for number in range(student.runs)))
        for number in range(0 if student.way == "at once" else student.runs):
            await self._submit(http, student, number)
        for request_id in student.ids:
            final = await self._finish(http, student, request_id)
            student.finals.append(final)
            if "error" not in final:
                answer = await self._call(http, student, "GET", f"/{STITCH}/requests/{request_id}")
                url = answer.json()["video"]["url"]
                content = (await self._call(http, student, "GET", url)).content
                assert content[4:8] == b"ftyp"
                student.urls.append(url)
            self.finished += 1
            self._news.set()

    async def _submit(self, http: httpx.AsyncClient, student: Student, number: int) -> None:
        body = {"endpointId": STITCH, "input": clip(number)}
        headers = {"idempotency-key": f"{student.name}-{number}"}
        answer = await self._call(http, student, "POST", "/models/run", json=body, headers=headers)
        if answer.status_code == 402:
            student.refused += 1
        else:
            assert answer.status_code == 200, answer.text
            student.ids.append(answer.json()["requestId"])

    async def _finish(self, http: httpx.AsyncClient, student: Student, request_id: str) -> dict[str, Any]:
        while True:
            await asyncio.to_thread(self.gateway.up.wait)
            address = f"{self.gateway.base_url}/{STITCH}/requests/{request_id}/status?logs=1"
            with contextlib.suppress(httpx.TransportError):
                answer = await http.get(address, headers={"x-api-key": student.key})
                self.seen.append(answer.content)
                if (status := answer.json()).get("status") == "COMPLETED":
                    return dict(status)
            await asyncio.sleep(0.05)

    async def _call(
        self, http: httpx.AsyncClient, student: Student, method: str, path: str, **more: Any
    ) -> httpx.Response:
        headers = {"x-api-key": student.key, **more.pop("headers", {})}
        while True:
            await asyncio.to_thread(self.gateway.up.wait)
            url = path if path.startswith("http") else self.gateway.base_url + path
            try:
                answer = await http.request(method, url, headers=headers, **more)
            except httpx.TransportError:
                continue
            self.seen += [answer.content, str(answer.headers).encode()]
            return answer


@dataclass(frozen=True)
class Row:
    """A run of the gateway's ledger."""

    key: str
    state: str
    request_id: str | None
    number: int
    price: int


def ledger_rows(gateway: GatewayProcess) -> list[Row]:
    found = query(
        gateway.data / "hosted" / "ledger.sqlite",
        "SELECT name, state, request_id, input, price FROM runs WHERE name IS NOT NULL",
    )
    return [Row(key, state, name, number_of(json.loads(text)), price) for key, state, name, text, price in found]


def write_accounts(folder: Path, students: list[Student]) -> Path:
    path = folder / "students.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["name", "key", "budget"])
        rows.writerows([student.name, student.key, student.budget] for student in students)
    return path


def paid_twice(gateway: GatewayProcess, elsewhere: Served) -> Counter[int]:
    """How many more runs of each input were paid for than students have sent."""
    asked, sent = (
        Counter(
            number_of(json.loads(text)) for (text,) in query(data / "service.sqlite3", "SELECT input FROM requests")
        )
        for data in (elsewhere.server.service.settings.data, gateway.data)
    )
    return asked - sent


@pytest.fixture
def elsewhere(request: pytest.FixtureRequest, serve: Serve) -> Served:
    """The service that is paid for: it shows only what the specification has, unless a test wants more."""
    spec_only = getattr(request, "param", "spec only") == "spec only"
    return serve(spec_only=spec_only, workers=2, accounts=[NewAccount("teacher", CANARY.key)])


def command_lines() -> str:
    return subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("elsewhere", "students", "runs", "kills", "faults"),
    [
        pytest.param("spec only", 5, 3, 3, QUICK_FAULTS, id="ci"),
        pytest.param("spec only", 30, 20, 3, ONCE, id="deep", marks=DEEP),
        pytest.param("idempotent", 30, 20, 3, ONCE, id="idempotent", marks=DEEP),
    ],
    indirect=["elsewhere"],
)
def test_a_class_on_one_key_is_exact_to_the_credit(
    request: pytest.FixtureRequest,
    elsewhere: Served,
    tmp_path: Path,
    students: int,
    runs: int,
    kills: int,
    faults: tuple[str, ...],
) -> None:
    """Nobody is over budget or sees another's runs, nothing is paid twice or lost, and the key is found nowhere."""
    everybody = [Student(f"s{n}", PRICE * runs, runs) for n in range(students - 2)]
    # Two hammer: three times as many runs as their budgets pay, all at once, and a credit is missing for the last one.
    everybody += [Student(f"h{n}", PRICE * runs - 1, 3 * runs, "at once") for n in range(2)]
    with Proxy(elsewhere.base_url, Deck(SEED, faults, share=SHARE)) as proxy:
        models, accounts = write_models(tmp_path, proxy.base_url), write_accounts(tmp_path, everybody)
        with GatewayProcess(tmp_path, models, accounts, {"TEACHER_KEY": CANARY.key}) as gateway:
            school = Class(gateway, everybody)
            asyncio.run(school.work(kills))
            lines = command_lines()
            school.seen += [httpx.get(gateway.base_url + path, trust_env=False).content for path in ("/", "/docs", "/models", "/openapi.json")]  # fmt: skip
            strangers = strangers_answers(gateway, everybody)
            statements = {student.name: statement(gateway, student) for student in everybody}
            assert gateway.stop() == 0
        posts = proxy.of("run")

    # Every run has ended, for its owner alone.
    assert [len(student.finals) for student in everybody] == [min(s.runs, s.budget // PRICE) for s in everybody]
    assert [student.refused for student in everybody] == [s.runs - len(s.ids) for s in everybody]
    assert strangers == {404}
    urls = [url for student in everybody for url in student.urls]
    assert len(set(urls)) == len(urls)
    # The money of the students: what was reserved is settled or given back, and nobody is over budget.
    charges = read_charges(gateway.data)
    for student in everybody:
        told = statements[student.name]
        spent = sum(c["credits"] for c in charges if c["account"] == student.name and c["kind"] == "settle")
        assert (told["credits_reserved"], told["credits_spent"]) == (0, spent)
        assert told["credits_available"] == student.budget - spent >= 0
    # The money elsewhere: each run of the gateway was paid for once at most, and what was paid for is there.
    rows, paid = ledger_rows(gateway), [c["request_id"] for c in elsewhere.charges() if c["kind"] == "reserve"]
    asked = dict(query(elsewhere.server.service.settings.data / "service.sqlite3", "SELECT id, input FROM requests"))
    known = {row.request_id for row in rows}
    orphans = Counter(number_of(json.loads(asked[name])) for name in paid if name not in known)
    doubtful = Counter(row.number for row in rows if row.state == "uncertain")
    assert len({row.key for row in rows}) == len(rows) == sum(len(student.ids) for student in everybody)
    assert not orphans - doubtful, "paid twice, or lost"
    assert not paid_twice(gateway, elsewhere)
    if "idempotent" in request.node.name:
        assert not doubtful
    assert {row.state for row in rows} <= {"stored", "uncertain", "rejected"}
    assert len(urls) == Counter(row.state for row in rows)["stored"]
    destroyed = sum(one.fault in (*DESTROYED, *ODD) for one in posts) + sum(not one.answers for one in posts)
    assert sum(doubtful.values()) <= kills * SENDING_AT_ONCE + destroyed
    spent = sum(told["credits_spent"] for told in statements.values())
    assert spent == PRICE * (len(urls) + sum(doubtful.values())) >= PRICE * len(paid)
    # The key: it was used, and is found nowhere.
    assert CANARY.found_in(proxy.seen("POST", "/models/run")[0].headers["x-api-key"])
    assert CANARY.found_below(gateway.data) == {}
    assert [hit for text in (*school.seen, gateway.said, lines.encode()) for hit in CANARY.found_in(text)] == []
    print(
        f"\n{len(rows)} runs, {len(doubtful)} inputs uncertain, {sum(one.fault != 'sound' for one in proxy.journal)} faults"
    )


FEW = ("POST sent", "accepted: not safe", "finished: not safe")
ALL_MOMENTS = (*MOMENTS, "finished: not safe", "finished: safe")


@pytest.mark.parametrize(
    "moment", [*FEW, *(pytest.param(one, marks=pytest.mark.deep) for one in ALL_MOMENTS if one not in FEW)]
)
def test_a_gateway_killed_between_any_two_steps_goes_on(elsewhere: Served, tmp_path: Path, moment: str) -> None:
    """Paid for once, and there for its student; only a death with the request in flight leaves it uncertain."""
    student = Student("ana", PRICE * 2, 1)
    models, accounts = write_models(tmp_path, elsewhere.base_url), write_accounts(tmp_path, [student])
    with GatewayProcess(tmp_path, models, accounts, {"TEACHER_KEY": CANARY.key, DIES: moment}) as gateway:

        async def work() -> None:
            working = asyncio.create_task(Class(gateway, [student]).work(0))
            assert await asyncio.to_thread(gateway.died) == -signal.SIGKILL
            await asyncio.to_thread(gateway.start)
            await working

        asyncio.run(work())
        told = statement(gateway, student)

    (row,) = ledger_rows(gateway)
    assert row.state == ("uncertain" if moment in SENT else "stored")
    assert len(student.urls) == (row.state == "stored")
    assert not paid_twice(gateway, elsewhere)
    assert (told["credits_reserved"], told["credits_spent"]) == (0, PRICE)


@pytest.mark.deep
def test_a_gateway_that_forgets_what_it_sent_pays_twice(elsewhere: Served, tmp_path: Path) -> None:
    """The control: after each kill its runs have other numbers in the ledger, and the same audit sees it."""
    everybody = [Student(f"s{n}", PRICE * 10, 10) for n in range(4)]
    models, accounts = write_models(tmp_path, elsewhere.base_url), write_accounts(tmp_path, everybody)
    forgets = {"TEACHER_KEY": CANARY.key, FORGETS: "1"}
    with GatewayProcess(tmp_path, models, accounts, forgets) as gateway:
        asyncio.run(Class(gateway, everybody).work(3))

        assert paid_twice(gateway, elsewhere)


def strangers_answers(gateway: GatewayProcess, everybody: list[Student]) -> set[int]:
    """The status of each student's calls for runs of the next student."""
    found = set()
    with httpx.Client(base_url=gateway.base_url, trust_env=False) as http:
        for one, other in itertools.pairwise([*everybody, everybody[0]]):
            headers = {"x-api-key": one.key}
            for request_id in other.ids[:3]:
                root = f"/{STITCH}/requests/{request_id}"
                found |= {http.get(path, headers=headers).status_code for path in (root, f"{root}/status")}
                found.add(http.put(f"{root}/cancel", headers=headers).status_code)
    return found


def statement(gateway: GatewayProcess, student: Student) -> dict[str, Any]:
    return dict(httpx.get(f"{gateway.base_url}/account", headers={"x-api-key": student.key}, trust_env=False).json())


@pytest.mark.deep
def test_the_gateway_adds_little_time(elsewhere: Served, tmp_path: Path) -> None:
    """From a student's submission to the end, less what the service elsewhere took itself: p95 at most half a second."""
    everybody = [Student(f"s{n}", PRICE * 10, 10, "one by one") for n in range(6)]
    models, accounts = write_models(tmp_path, elsewhere.base_url), write_accounts(tmp_path, everybody)
    with GatewayProcess(tmp_path, models, accounts, {"TEACHER_KEY": CANARY.key}) as gateway:
        asyncio.run(Class(gateway, everybody).work(0))
        data = gateway.data
        assert gateway.stop() == 0

    took = "SELECT id, finished - created FROM requests"
    there = dict(query(elsewhere.server.service.settings.data / "service.sqlite3", took))
    here = dict(query(data / "service.sqlite3", took))
    pairs = [(row.key, row.request_id) for row in ledger_rows(gateway)]
    added = sorted(here[key] - there[request_id] for key, request_id in pairs if request_id is not None)
    print(
        f"\nadded by the gateway: median {statistics.median(added):.3f} s, p95 {added[int(0.95 * len(added))]:.3f} s, most {added[-1]:.3f} s"
    )
    assert len(added) == 60
    assert added[int(0.95 * len(added))] <= 0.5
