"""Who a service is: whatever it says of itself, and at whatever address, the runs that were paid there are found."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reelbook.errors import OverBudget
from reelbook.storage.ledger import claims, known_services, transitions
from reelbook.storage.ledger.budget import Budget, check_budget
from reelbook.storage.ledger.claims import RunRequest
from reelbook.storage.ledger.schema import SCHEMA
from reelbook.storage.ledger.writer import Ledger
from tests.storage.made import Made

HOSTED, LOCAL = "https://host.example/api", "http://127.0.0.1:8000"

Met = tuple[str, str | None] | tuple[str, str | None, bool]


class Nobody:
    """A process alone in its library."""

    owner = "me"

    def is_dead(self, name: str) -> bool:
        return False

    def read_acceptances(self, identities: object = None) -> list[dict[str, object]]:
        return []


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(SCHEMA)
    yield connection
    connection.close()


def met(db: sqlite3.Connection, one: Met) -> str:
    address, told, lasts = one if len(one) == 3 else (*one, False)
    return known_services.register_service(db, address, told, lasts=lasts)


def paid(db: sqlite3.Connection, service: str, identity: str, *, take: int = 0, budget: Budget | None = None) -> int:
    """A run that is paid for there; the same one again, if it is known."""
    asked = RunRequest(service, identity, "m", "{}", 5, False, True)
    verdict = claims.find_or_claim(db, asked, Nobody(), key=None, take=take, budget=budget)
    if verdict.action == "send":
        transitions.mark_sending(db, verdict.entry.id, "me", None)
        transitions.mark_accepted(db, verdict.entry.id, f"request {verdict.entry.id}")
    return verdict.entry.id


ONE_SERVICE: dict[str, list[Met]] = {
    "the same id": [(HOSTED, "a"), (HOSTED, "a"), (HOSTED, "a")],
    "no id at all": [(HOSTED, None), (HOSTED, None)],
    "another id each time": [(HOSTED, f"random-{number}") for number in range(100)],
    "another id each time, on this machine": [(LOCAL, f"random-{number}") for number in range(5)],
    "no id, then one": [(HOSTED, None), (HOSTED, "a"), (HOSTED, None)],
    "no id, then one that lasts": [(LOCAL, None), (LOCAL, "a", True), (LOCAL, None)],
    "an id, then none": [(HOSTED, "a"), (HOSTED, None), (HOSTED, "a")],
    "an id that lasts, then none": [(LOCAL, "a", True), (LOCAL, None), (LOCAL, "a", True)],
    "no id, then another one each time": [(HOSTED, None), (HOSTED, "a"), (HOSTED, "b"), (HOSTED, None)],
    "a pool of ids": [(HOSTED, "a"), (HOSTED, "b"), (HOSTED, "a"), (HOSTED, "c"), (HOSTED, "b")],
    "an id that moves": [(HOSTED, "a"), ("https://new.example", "a"), ("https://new.example", None), (HOSTED, None)],
    "an id that lasts and moves": [(LOCAL, "a", True), ("http://127.0.0.1:9000", "a", True)],
    "an id that moves after it was not told": [(HOSTED, None), (HOSTED, "a"), ("https://new.example", "a")],
    "a slash at the end": [(HOSTED, None), (HOSTED + "/", None), (HOSTED + "//", None)],
    "the host in capitals": [("https://HOST.Example/api", None), (HOSTED, None), ("HTTPS://host.example/api", None)],
    "without encryption first": [("http://host.example/api", None), (HOSTED, None)],
    "the usual port": [(HOSTED, None), ("https://host.example:443/api", None)],
    "a dot after the host": [(HOSTED, None), ("https://host.example./api", None)],
    "names of this machine": [("http://localhost:8000", None), (LOCAL, None), ("http://[::1]:8000", None)],
    "an address in another spelling, and another id": [("https://HOST.example:443/api/", "a"), (HOSTED, "b")],
}


@pytest.mark.parametrize("case", ONE_SERVICE)
def test_a_service_has_one_name(db: sqlite3.Connection, case: str) -> None:
    """Its runs are found, whatever it says of itself: the same run is paid for once."""
    runs = [paid(db, met(db, one), "boat") for one in ONE_SERVICE[case]]

    assert len(set(runs)) == 1
    aliases = db.execute("SELECT count(*) FROM meta").fetchone()[0]
    assert aliases <= known_services.MAX_IDS + 4


TWO_SERVICES: dict[str, tuple[list[Met], list[Met]]] = {
    "other addresses": ([(HOSTED, None)], [("https://other.example/api", None)]),
    "other paths": ([(HOSTED, None)], [("https://host.example/staging", None)]),
    "other ports": ([(LOCAL, None)], [("http://127.0.0.1:8001", None)]),
    "other ids": ([(HOSTED, "a")], [("https://other.example/api", "b")]),
    "ids that last, on one port after each other": ([(LOCAL, "a", True)], [(LOCAL, "b", True)]),
    "the first one's id lasts": ([(LOCAL, "a", True)], [(LOCAL, "b")]),
    "the port of the other one": (
        [(LOCAL, "a", True), ("http://127.0.0.1:9000", "a", True)],
        [("http://127.0.0.1:9000", "b", True), (LOCAL, "b", True)],
    ),
}


@pytest.mark.parametrize("case", TWO_SERVICES)
def test_two_services_are_not_mixed_up(db: sqlite3.Connection, case: str) -> None:
    """What one has made is not served as the other's."""
    one, other = ([paid(db, met(db, each), "boat") for each in met_as] for met_as in TWO_SERVICES[case])

    assert len(set(one)) == len(set(other)) == 1
    assert one[0] != other[0]
    assert [paid(db, met(db, each), "boat") for each in TWO_SERVICES[case][0]] == one


def test_two_names_become_one(db: sqlite3.Connection) -> None:
    """A new address that did not tell the id at first: what was paid under both names is known under one.

    Both rows of a run that was paid twice stay, with their cost in their budget, and the better one is found first.
    """
    plan = Budget("plan", 100)
    here = met(db, (HOSTED, "a"))
    first, twice = paid(db, here, "first"), paid(db, here, "twice", budget=plan)
    there = met(db, ("https://new.example", None))
    second, again = paid(db, there, "second"), paid(db, there, "twice", budget=plan)
    transitions.mark_completed(db, again, "{}", 5, None, None)
    transitions.mark_stored(db, again, "[]")

    now = met(db, ("https://new.example", "a"))

    for name in (now, here, there):
        assert [paid(db, name, run) for run in ("first", "second", "twice")] == [first, second, again]
    assert db.execute("SELECT id, take FROM runs WHERE identity = 'twice' ORDER BY take").fetchall() == [
        (again, 0), (twice, 1),
    ]  # fmt: skip
    with pytest.raises(OverBudget, match="10"):
        check_budget(db, Budget("plan", 10), 5)
    check_budget(db, Budget("plan", 15), 5)


def test_a_run_whose_process_does_not_know_the_new_name_is_found(db: sqlite3.Connection) -> None:
    """A kernel keeps the name that it learned first; another one has learned more since."""
    stale = met(db, ("https://new.example", None))
    run = paid(db, stale, "boat")
    known = met(db, (HOSTED, "a"))
    met(db, ("https://new.example", "a"))

    assert known_services.get_current_name(db, stale) == known
    assert paid(db, stale, "boat") == paid(db, known, "boat") == run
    assert known_services.find_model(db, stale, f"request {run}") == "m"


OLD = "INSERT INTO runs (service, identity, take, model, input, state, request_id, created) VALUES (?, 'boat', 0, 'm', '{}', 'stored', 'r', 1)"


@pytest.mark.parametrize(
    ("name", "address"), [("svc-1", "https://host.example/api"), ("svc-1", None), (HOSTED, None), (HOSTED, HOSTED)]
)
@pytest.mark.parametrize("told", [None, "svc-1", "svc-2"])
def test_the_runs_of_an_older_ledger_are_found(
    db: sqlite3.Connection, name: str, address: str | None, told: str | None
) -> None:
    """It remembers one id of an address, or none; by one of both the service is found."""
    db.execute(OLD, (name,))
    if address is not None:
        db.execute("INSERT INTO meta VALUES (?, ?)", (f"service at {address}", name))

    found = paid(db, met(db, (HOSTED, told)), "boat")

    is_knowable = address is not None or name == HOSTED or told == name
    assert (found == 1) is is_knowable


def older_ledger(db: sqlite3.Connection, place: str, *ids: str, output: str | None = None) -> None:
    """One that remembers only the last of these ids for its address, and has a paid run of each."""
    for number, name in enumerate(ids):
        db.execute(
            "INSERT INTO runs (service, identity, take, model, input, state, request_id, output, created)"
            " VALUES (?, ?, 0, 'm', '{}', 'stored', ?, ?, 1)",
            (name, f"boat {number}", f"r {number}", output),
        )
    db.execute("INSERT INTO meta VALUES (?, ?)", (f"service at {place}", ids[-1]))


@pytest.mark.parametrize("told", [None, "random-1", "random-2", "random-3", "random-4"])
@pytest.mark.parametrize("place", [HOSTED, LOCAL])
def test_all_ids_that_an_older_ledger_has_of_an_address_are_found(
    db: sqlite3.Connection, place: str, told: str | None
) -> None:
    """Each kernel was told another one, and each paid for a run: none is paid for again, nor is what follows."""
    older_ledger(db, place, "random-1", "random-2", "random-3")

    first = [paid(db, met(db, (place, told)), f"boat {number}") for number in range(4)]
    again = [paid(db, met(db, (place, "another")), f"boat {number}") for number in range(4)]

    assert first[:3] == [1, 2, 3]
    assert again == first


@pytest.mark.parametrize(("told", "is_found"), [("lab", False), ("changed", True)])
def test_with_several_services_the_forgotten_ids_are_those_of_the_one_that_changes_its_id(
    db: sqlite3.Connection, told: str, is_found: bool
) -> None:
    """A service that keeps its id has never lost one."""
    older_ledger(db, HOSTED, "random-1", "random-2")
    db.execute("INSERT INTO meta VALUES ('service at https://other.example', 'lab')")

    other = met(db, ("https://other.example", told))

    assert (paid(db, other, "boat 0") == 1) is is_found


@pytest.mark.parametrize("one", [(LOCAL, "random-3", True), (HOSTED, "random-3")])
def test_what_a_service_on_this_machine_has_made_is_not_taken_for_another_ones(
    db: sqlite3.Connection, one: Met
) -> None:
    """One that keeps its id has none but that; and files of this machine were made by no other host."""
    older_ledger(db, one[0], "random-1", "random-2", output='{"video": {"url": "http://127.0.0.1:8000/files/a"}}')

    assert paid(db, met(db, one), "boat 0") != 1


def test_two_notebooks_that_meet_it_at_once_agree(tmp_path: Path) -> None:
    """One is told an id, the other nothing: whoever comes first, the run is paid once."""
    for attempt in range(5):
        ledger = [Ledger(tmp_path / str(attempt)) for _ in range(2)]
        together, runs = threading.Barrier(2), list[int]()

        def work(one: Ledger, id: str | None, together: threading.Barrier = together, runs: list[int] = runs) -> None:
            together.wait()
            name = one.transact_now(lambda db: known_services.register_service(db, HOSTED, id))
            together.wait()
            asked = RunRequest(name, "boat", "m", "{}", 5, False, True)
            runs.append(one.transact_now(lambda db: claims.find_or_claim(db, asked, one, key=None)).entry.id)

        threads = [
            threading.Thread(target=work, args=(one, told)) for one, told in zip(ledger, (None, "a"), strict=True)
        ]  # fmt: skip
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for one in ledger:
            one.close()

        assert len(set(runs)) == 1


@pytest.mark.parametrize("told_there", [None, "a"])
@pytest.mark.parametrize("told_here", [None, "a", "b"])
def test_another_library_may_know_it_by_another_name(
    make: Callable[[str], Made], told_here: str | None, told_there: str | None
) -> None:
    """A run that was paid for there is the run here, by whichever alias both know."""
    here, there = make("here"), make("there")
    name = there.ledger.transact_now(lambda db: known_services.register_service(db, HOSTED, told_there))
    run = there.stored(service=name)
    here.ledger.transact_now(lambda db: known_services.register_service(db, HOSTED, told_here))

    here.library.adopt(there.folder)

    now = here.ledger.transact_now(lambda db: known_services.register_service(db, HOSTED, "later"))
    assert [(entry.service, entry.identity) for entry in here.entries()] == [(now, there.entry(run).identity)]
