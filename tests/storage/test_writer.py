"""The ledger's file as one process keeps it: nobody is told before it is on disk, and nobody else is in the way."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from reelbook.errors import LibraryError
from reelbook.storage.ledger import claims, connection, transitions
from reelbook.storage.ledger.claims import RunRequest, Verdict
from reelbook.storage.ledger.writer import Ledger


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / ".reelbook"


@pytest.fixture
def ledger(folder: Path) -> Iterator[Ledger]:
    ledger = Ledger(folder)
    yield ledger
    ledger.close()


def asked(identity: str = "one", *, reusable: bool = True) -> RunRequest:
    return RunRequest("svc", identity, "m", "{}", 5, False, reusable)


def claiming(ledger: Ledger, identity: str = "one") -> Future[Verdict]:
    return ledger.submit(lambda db: claims.find_or_claim(db, asked(identity), ledger, key=None))


def claim(ledger: Ledger, identity: str = "one") -> transitions.Entry:
    return claiming(ledger, identity).result(30).entry


def runs(folder: Path, columns: str = "identity, state") -> list[Any]:
    """The rows as somebody else finds them."""
    db = sqlite3.connect(folder / connection.NAME)
    try:
        return db.execute(f"SELECT {columns} FROM runs ORDER BY id").fetchall()
    finally:
        db.close()


def start(script: str, *words: object) -> subprocess.Popen[str]:
    """Another Python process at work on a library."""
    command = [sys.executable, "-W", "ignore", "-c", script, *map(str, words)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )  # fmt: skip


def begun(processes: list[subprocess.Popen[str]]) -> None:
    """Let processes begin at once, when all of them are ready."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()


def ended(process: subprocess.Popen[str], words: str = "") -> str:
    """What it printed; what it complained about is a failure."""
    try:
        out, complaints = process.communicate(words, timeout=60)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)  # Its children, too.
        process.communicate()
        raise
    assert (process.returncode, complaints) == (0, "")
    return out


def test_nobody_is_told_before_it_is_on_disk(ledger: Ledger, folder: Path) -> None:
    """At the moment that a step is confirmed, somebody else already reads it."""
    seen: list[bool] = []
    futures = []

    def looks(name: str, _: object) -> None:
        seen.append((name, "planned") in runs(folder))

    for number in range(40):
        name = f"run {number}"
        future = claiming(ledger, name)
        future.add_done_callback(partial(looks, name))
        futures.append(future)

    for future in futures:
        future.result(30)
    ledger.close()

    assert seen == [True] * 40


def test_many_steps_share_a_commit(ledger: Ledger) -> None:
    """A thousand steps at once wait for the disk a few times, and are done in the order in which they were asked."""
    commits: list[str] = []
    assert ledger._db is not None
    ledger._db.set_trace_callback(lambda sql: commits.append(sql) if sql == "COMMIT" else None)

    futures = [ledger.submit(lambda db: transitions.record_stop(db, "a step")) for _ in range(1000)]
    order = [ledger.submit(partial(lambda n, db: n, n)).result(30) for n in range(3)]
    for future in futures:
        future.result(30)

    assert len(commits) <= 13
    assert order == [0, 1, 2]


def test_a_step_that_only_reads_does_not_wait_for_the_disk(ledger: Ledger, folder: Path) -> None:
    """What the library has is served at once."""
    claim(ledger)
    before = (folder / connection.NAME).read_bytes()

    verdicts = {claiming(ledger).result(30).action for _ in range(5)}

    assert verdicts == {"join"}
    assert (folder / connection.NAME).read_bytes() == before


def test_a_step_that_fails_is_undone_alone(ledger: Ledger, folder: Path) -> None:
    """Its caller hears why, its neighbours in the same commit do not notice."""

    def breaks(db: sqlite3.Connection) -> None:
        claims.find_or_claim(db, asked("broken"), ledger, key=None)
        raise ValueError("my own mistake")

    before = claiming(ledger, "a")
    mistakes: list[Future[Any]] = [
        ledger.submit(breaks), ledger.submit(lambda db: db.execute("SELECT nothing FROM runs")),
        ledger.submit(lambda db: db.execute("INSERT INTO meta VALUES (NULL, NULL)")),
    ]  # fmt: skip
    after = claiming(ledger, "b")

    errors = [type(future.exception(30)) for future in mistakes]
    assert errors == [ValueError, sqlite3.OperationalError, sqlite3.IntegrityError]
    assert (before.result(30).action, after.result(30).action) == ("send", "send")
    assert [name for name, _ in runs(folder)] == ["a", "b"]


class Flaky:
    """A connection whose COMMIT raises, before or after it has done its work. What a disk does, no test can ask it for."""

    def __init__(self, db: sqlite3.Connection, *, is_durable: bool) -> None:
        self._db, self._is_durable = db, is_durable

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)

    def execute(self, sql: str, *values: Any) -> Any:
        if sql == "COMMIT":
            if self._is_durable:
                self._db.execute(sql)
            raise sqlite3.OperationalError("disk I/O error")
        return self._db.execute(sql, *values)


@pytest.mark.parametrize("is_durable", [True, False])
def test_after_a_commit_that_raises_the_same_step_can_be_done_again(
    ledger: Ledger, folder: Path, is_durable: bool
) -> None:
    """Its caller hears so, whether it is on disk or not, and both lead to the same row."""
    entry = claim(ledger)
    ledger.transact_now(lambda db: transitions.mark_sending(db, entry.id, ledger.owner, None))
    assert ledger._db is not None
    ledger._db = Flaky(ledger._db, is_durable=is_durable)  # type: ignore[assignment]

    def accept() -> None:
        ledger.transact_now(lambda db: transitions.mark_accepted(db, entry.id, "r1"))

    with pytest.raises(LibraryError):
        accept()
    accept()

    assert runs(folder, "identity, state, request_id") == [("one", "accepted", "r1")]


def test_who_stops_waiting_does_not_undo_it(ledger: Ledger, folder: Path) -> None:
    """What has happened at the service is written down, whether anybody still waits for that or not."""
    gate = threading.Event()
    ledger.submit(lambda db: gate.wait(30))

    async def hurried() -> None:
        task = asyncio.ensure_future(ledger.transact(lambda db: claims.find_or_claim(db, asked(), ledger, key=None)))
        await asyncio.sleep(0)
        task.cancel()
        gate.set()

    asyncio.run(hurried())
    ledger.transact_now(lambda db: None)

    assert runs(folder) == [("one", "planned")]


def test_closing_writes_what_was_asked_and_refuses_what_comes_after(ledger: Ledger, folder: Path) -> None:
    """Nobody waits for an answer that never comes."""
    futures = [claiming(ledger, f"{n}") for n in range(300)]

    ledger.close()
    ledger.close()

    assert all(future.result(0).action == "send" for future in futures)
    assert len(runs(folder)) == 300
    with pytest.raises(LibraryError, match="closed"):
        ledger.transact_now(lambda db: None)
    assert list((folder / "owners").iterdir()) == []


@pytest.mark.parametrize("text", ["\ud800", "a\x00b", "line\nbreak\r\u2028", "é" * 100_000])
def test_no_text_is_too_odd_for_the_list(ledger: Ledger, text: str) -> None:
    """A stranger's request id must not end the thread that writes."""
    entry = claim(ledger)

    ledger.submit(lambda db: transitions.mark_sending(db, entry.id, ledger.owner, None)).result(30)
    step = ledger.submit(
        lambda db: transitions.mark_accepted(db, entry.id, text), line=claims.make_acceptance(entry, text)
    )
    step.result(30)

    assert [line["request_id"] for line in ledger.read_acceptances()] == [text]
    assert ledger.read_acceptances([entry.identity]) == ledger.read_acceptances()
    assert ledger.read_acceptances(["another"]) == []


def test_looking_changes_nothing(ledger: Ledger, folder: Path) -> None:
    """A look cannot write, and makes no file where there is none."""
    claim(ledger)

    with pytest.raises(LibraryError, match="cannot be written"):
        ledger.read(lambda db: db.execute("DELETE FROM runs"))
    (folder / connection.NAME).unlink()
    with pytest.raises(LibraryError):
        ledger.read(lambda db: db.execute("SELECT 1"))

    assert not (folder / connection.NAME).exists()


def test_a_library_that_is_deleted_while_it_is_open_is_not_begun_anew_by_itself(ledger: Ledger, folder: Path) -> None:
    """An empty ledger in its place would not know what was paid for; whoever opens it again begins a new one."""
    claim(ledger, "before")
    shutil.rmtree(folder)

    with pytest.raises(LibraryError, match="moved or deleted"):
        claim(ledger, "after")
    with pytest.raises(LibraryError, match="moved or deleted"):
        claim(ledger, "after")
    assert not folder.exists()
    other = Ledger(folder)
    claim(other, "anew")

    assert runs(folder) == [("anew", "planned")]
    other.close()


def test_the_folder_is_for_nobody_else(ledger: Ledger, folder: Path) -> None:
    """Folders are 0700, files 0600, whatever is in them."""
    entry = claim(ledger)
    ledger.submit(lambda db: None, line=claims.make_acceptance(entry, "r1")).result(30)

    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in (folder, *folder.rglob("*"))}

    assert {mode for name, mode in modes.items() if (folder / name).is_file()} == {"0o600"}
    assert (modes[".reelbook"], modes["owners"]) == ("0o700", "0o700")


# Several processes.

WRITES = """
import sys, time
from pathlib import Path
from reelbook.storage.ledger import claims
from reelbook.storage.ledger.claims import RunRequest
from reelbook.storage.ledger.writer import Ledger
ledger = Ledger(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
longest, futures = 0.0, []
for number in range(150):
    asked = RunRequest("svc", f"{sys.argv[2]} {number}", "m", "{}", 5, False, True)
    futures.append((time.monotonic(), ledger.submit(lambda db, asked=asked: claims.find_or_claim(db, asked, ledger, key=None))))
    if len(futures) == 5:
        for since, future in futures:
            assert future.result().action == "send"
            longest = max(longest, time.monotonic() - since)
        futures = []
print(longest)
ledger.close()
"""


def test_two_processes_write_at_once(folder: Path) -> None:
    """150 steps each: all are there, nobody hears that the file is locked, and nobody waits for long."""
    writers = [start(WRITES, folder, name) for name in ("a", "b")]

    begun(writers)
    longest = [float(ended(writer)) for writer in writers]

    print(f"the longest wait was {max(longest):.2f} s")
    assert len(runs(folder)) == 300
    assert max(longest) < 20


CLAIMS = """
import json, sys
from pathlib import Path
from reelbook.errors import OverBudget
from reelbook.storage.ledger import claims
from reelbook.storage.ledger.budget import Budget
from reelbook.storage.ledger.claims import RunRequest
from reelbook.storage.ledger.writer import Ledger
ledger = Ledger(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
def claim(number):
    asked = RunRequest("svc", f"{sys.argv[2]} {number}" if number % 2 else f"shared {number}", "m", "{}", 5, False, True)
    return ledger.submit(lambda db: claims.find_or_claim(db, asked, ledger, key=None, budget=Budget("plan", 500)))
def take():
    asked = RunRequest("svc", "unseeded", "m", "{}", None, False, False)
    return ledger.submit(lambda db: claims.find_or_claim(db, asked, ledger, key=None, join=False))
made, takes = [claim(number) for number in range(200)], [take() for _ in range(50)]
print(json.dumps([
    [claim.result().action for claim in made if not isinstance(claim.exception(), OverBudget)],
    [take.result().entry.take for take in takes],
]), flush=True)
sys.stdin.readline()  # What was claimed and not sent is free again once its process leaves.
ledger.close()
"""


def test_two_processes_never_get_the_same_take_nor_more_than_the_budget(folder: Path) -> None:
    """Money for 100 of 400 claims: exactly 100 are granted; 100 new takes have 100 numbers."""
    claimers = [start(CLAIMS, folder, name) for name in ("a", "b")]

    begun(claimers)
    told = [json.loads(claimer.stdout.readline()) for claimer in claimers if claimer.stdout]

    granted = [do for claims, _ in told for do in claims if do == "send"]
    takes = [take for _, numbers in told for take in numbers]
    for claimer in claimers:
        ended(claimer, "leave")
    assert len(granted) == 100
    assert sorted(takes) == list(range(100))


FORKS = """
import os, sys, threading
from pathlib import Path
from reelbook.errors import ReelbookError
from reelbook.storage.ledger import transitions
from reelbook.storage.ledger.writer import Ledger
ledger = Ledger(Path(sys.argv[1]))
stop = threading.Event()

def work():
    while not stop.is_set():
        ledger.transact_now(lambda db: transitions.record_stop(db, "at work"))

thread = threading.Thread(target=work)
thread.start()
refused = 0
for _ in range(12):
    child = os.fork()
    if child == 0:
        try:
            ledger.transact_now(lambda db: transitions.record_stop(db, "child"))
        except ReelbookError as error:
            os._exit(7 if "forked" in str(error) else 1)
        os._exit(2)
    refused += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
stop.set()
thread.join()
ledger.close()
print(refused)
"""


def test_a_forked_child_is_told_to_use_the_library_in_its_parent(folder: Path) -> None:
    """Twelve forks while the parent writes without a pause: none harms what the parent writes."""
    assert ended(start(FORKS, folder)) == "12\n"
    Ledger(folder).close()


DIES = """
import os, sys
from pathlib import Path
from reelbook.storage.ledger import claims, transitions
from reelbook.storage.ledger.claims import RunRequest
from reelbook.storage.ledger.writer import Ledger
ledger = Ledger(Path(sys.argv[1]))
for name, steps in (("claimed", 1), ("sent", 2), ("accepted", 3)):
    asked = RunRequest("svc", name, "m", "{}", 5, False, True)
    run = ledger.transact_now(lambda db: claims.find_or_claim(db, asked, ledger, key=None)).entry.id
    if steps > 1:
        ledger.transact_now(lambda db: transitions.mark_sending(db, run, ledger.owner, None))
    if steps > 2:
        ledger.transact_now(lambda db: transitions.mark_accepted(db, run, "r1"))
os.kill(os.getpid(), 9)
"""


def test_what_a_killed_process_left_is_found_by_the_next(folder: Path) -> None:
    """Never sent: free. Half sent: uncertain. Accepted: for whoever comes. The dead one leaves no file behind."""
    start(DIES, folder).communicate(timeout=60)

    ledger = Ledger(folder)

    assert runs(folder) == [("claimed", "planned"), ("sent", "uncertain"), ("accepted", "accepted")]
    assert [path.name for path in (folder / "owners").iterdir()] == [ledger.owner]
    ledger.close()


def test_environment_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the ledger is, its caller says."""
    monkeypatch.setenv("REELBOOK_LIBRARY", os.devnull)

    Ledger(folder).close()

    assert (folder / connection.NAME).exists()
