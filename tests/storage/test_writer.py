"""The ledger's file as one process keeps it: nobody is told before it is on disk; what is damaged is said and rebuilt."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from reelbook.cli import main
from reelbook.errors import LibraryError
from reelbook.storage.ledger import claims, transitions, writer
from reelbook.storage.ledger.claims import RunRequest, Verdict
from reelbook.storage.ledger.transitions import State
from reelbook.storage.ledger.writer import Ledger, rebuild_ledger
from reelbook.storage.shelf import Shelf
from reelbook.storage.tidy import forget_runs

RUNS = 400
PAGE = 4096


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / ".reelbook"


@pytest.fixture
def ledger(folder: Path) -> Iterator[Ledger]:
    ledger = Ledger(folder)
    yield ledger
    ledger.close()


def claiming(ledger: Ledger, name: str) -> Future[Verdict]:
    """What is to be done about a run; its row is claimed where it is to be paid for."""
    asked = RunRequest("svc", name, "m", json.dumps({"prompt": name + " and some more words" * 9}), 5, False, True)
    return ledger.submit(lambda db: claims.find_or_claim(db, asked, ledger))


def claim(ledger: Ledger, name: str) -> transitions.Entry:
    return claiming(ledger, name).result(30).entry


def sent(ledger: Ledger, name: str) -> transitions.Entry:
    """A run whose answer has not come yet."""
    run = claim(ledger, name)
    ledger.transact_now(lambda db: transitions.mark_sending(db, run.id, ledger.owner, None))
    return run


def accept(ledger: Ledger, run: transitions.Entry, request: str) -> None:
    """The answer to a run comes."""
    line = claims.make_acceptance(run, request)
    ledger.submit(lambda db: transitions.mark_accepted(db, run.id, request), line=line).result(30)


def runs(folder: Path, columns: str = "identity, state") -> list[Any]:
    """The rows as somebody else finds them."""
    db = sqlite3.connect(folder / writer.NAME)
    try:
        return db.execute(f"SELECT {columns} FROM runs ORDER BY id").fetchall()
    finally:
        db.close()


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

    futures = [ledger.submit(lambda db: transitions.record_event(db, None, "stop", "a step")) for _ in range(1000)]
    order = [ledger.submit(partial(lambda n, db: n, n)).result(30) for n in range(3)]
    for future in futures:
        future.result(30)

    assert len(commits) <= 13
    assert order == [0, 1, 2]


def test_a_step_that_fails_is_undone_alone(ledger: Ledger, folder: Path) -> None:
    """Its caller hears why, its neighbours in the same commit do not notice."""

    def breaks(db: sqlite3.Connection) -> None:
        db.execute("DELETE FROM runs")
        raise ValueError("my own mistake")

    before, mistake, after = claiming(ledger, "a"), ledger.submit(breaks), claiming(ledger, "b")

    assert isinstance(mistake.exception(30), ValueError)
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
    entry = sent(ledger, "one")
    assert ledger._db is not None
    ledger._db = Flaky(ledger._db, is_durable=is_durable)  # type: ignore[assignment]

    def accept() -> None:
        ledger.transact_now(lambda db: transitions.mark_accepted(db, entry.id, "r1"))

    with pytest.raises(LibraryError):
        accept()
    accept()

    assert runs(folder, "identity, state, request_id") == [("one", "accepted", "r1")]


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


def test_no_text_is_too_odd_for_the_list(ledger: Ledger, folder: Path) -> None:
    """A stranger's request id must not end the thread that writes, and a torn line hides no other."""
    texts = ["\ud800", "a\x00b", "line\nbreak\r\u2028", "é" * 100_000]
    for number, text in enumerate(texts):
        accept(ledger, claim(ledger, f"run {number}"), text)
        with (folder / claims.LIST_NAME).open("ab") as file:
            file.write(b'{"at":1,"service":"svc","iden\xff')

    assert [line["request_id"] for line in claims.read_lines(folder)] == texts


@pytest.mark.parametrize("becomes", ["deleted", "replaced"])
def test_a_library_that_goes_while_it_is_open_is_not_begun_again_by_itself(
    ledger: Ledger, folder: Path, becomes: str
) -> None:
    """Another ledger in its place would not know what was paid for; whoever opens it again takes what is there then."""
    claim(ledger, "before")
    shutil.rmtree(folder)
    if becomes == "replaced":
        Ledger(folder).close()

    for _ in range(2):
        with pytest.raises(LibraryError, match="moved, deleted or replaced"):
            claim(ledger, "after")
    assert folder.exists() == (becomes == "replaced")
    other = Ledger(folder)
    claim(other, "new")

    assert runs(folder) == [("new", "planned")]
    other.close()


def test_the_folder_is_for_nobody_else(ledger: Ledger, folder: Path) -> None:
    """Folders are 0700, files 0600, whatever is in them."""
    accept(ledger, sent(ledger, "one"), "r1")

    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in (folder, *folder.rglob("*"))}

    assert {mode for name, mode in modes.items() if (folder / name).is_file()} == {"0o600"}
    assert (modes[".reelbook"], modes["owners"]) == ("0o700", "0o700")


# Opened, damaged, copied.


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of many runs, the last of which are paid for since the daily copy."""
    folder = tmp_path_factory.mktemp("library") / ".reelbook"
    ledger = Ledger(folder)
    ledger.transact_now(
        lambda db: db.executemany(
            "INSERT INTO runs (service, identity, take, model, input, state, attempt, request_id, price, created)"
            " VALUES ('svc', ?, 0, 'm', ?, 'stored', 1, ?, 5, 1)",
            [(f"old {n}", json.dumps("a boat " * 30), f"request of old {n}") for n in range(RUNS)],
        )
    )
    ledger.close()
    ledger = Ledger(folder)  # Makes the daily copy.
    for name in PAID:
        accept(ledger, sent(ledger, name), PAID[name])
    ledger.close()
    return folder


@pytest.fixture
def hurt(library: Path, tmp_path: Path) -> Path:
    """A copy of that library, to be hurt."""
    return shutil.copytree(library, tmp_path / ".reelbook")


PAID = {f"new {number}": f"request of new {number}" for number in range(5)}


def zeroed(*pages: int) -> Callable[[bytes], bytes]:
    def zero(content: bytes) -> bytes:
        for page in pages:
            start = page % (len(content) // PAGE) * PAGE
            content = content[:start] + bytes(PAGE) + content[start + PAGE :]
        return content

    return zero


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "pages in the middle": zeroed(12, 13, 20, 30),
    "the last page": zeroed(-1),
    "the first page": zeroed(0),
    "cut inside a page": lambda content: content[: len(content) // 2 + 1000],
    "another file": lambda content: b"once upon a time " * 5000,
    "noise": lambda content: content[:PAGE] + bytes(range(256)) * ((len(content) - PAGE) // 256),
    "emptied": lambda content: b"",
}


@pytest.mark.parametrize("damage", [*DAMAGES, "deleted"])
def test_a_damaged_ledger_is_said_in_a_sentence_and_rebuilt_by_a_command(
    hurt: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is sent meanwhile; every paid request is known afterwards, and the damaged file is kept."""
    path = hurt / writer.NAME
    content = path.read_bytes()
    path.unlink()
    if damage in DAMAGES:
        content = DAMAGES[damage](content)
        path.write_bytes(content)

    with pytest.raises(LibraryError, match=r"damaged.*reelbook library rebuild") as error:
        Ledger(hurt)
    assert writer.BACKUP_NAME in str(error.value)
    assert "accepted.jsonl" in str(error.value)

    assert main(["library", "rebuild", str(hurt)]) == 0

    assert f"{RUNS + 5} runs" in capsys.readouterr().out
    kept = [file.read_bytes() for file in hurt.glob("ledger.damaged-*.sqlite")]
    assert kept == ([content] if damage in DAMAGES else [])
    Ledger(hurt).close()
    known = dict(runs(hurt, "identity, request_id"))
    assert PAID.items() <= known.items()
    assert all(request == f"request of {name}" for name, request in known.items())


@pytest.mark.parametrize("has_copy", [True, False])
def test_what_was_uncertain_stays_so(hurt: Path, has_copy: bool) -> None:
    """The list has only what was accepted; a run whose answer was lost is read from the damaged file."""
    ledger = Ledger(hurt)
    run = sent(ledger, "doubt")
    ledger.transact_now(lambda db: transitions.move(db, run.id, State.UNCERTAIN, error="the connection was reset"))
    ledger.close()
    if not has_copy:
        (hurt / writer.BACKUP_NAME).unlink()
    with (hurt / writer.NAME).open("r+b") as file:
        file.seek(20 * PAGE)
        file.write(bytes(PAGE))

    said = rebuild_ledger(hurt)
    ledger = Ledger(hurt)
    verdict = claiming(ledger, "doubt").result(30)
    ledger.close()

    assert "and 1 uncertain" in said
    assert verdict.action == "ask"


def test_each_run_is_kept_that_may_have_been_sent_and_can_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page that is gone takes the runs on it, not the others, also those that would be sent once more with their key."""
    folder, names = tmp_path / "library", [f"doubt {number}" for number in range(60)]
    ledger = Ledger(folder)
    for name in names:
        run = sent(ledger, name)
        ledger.transact_now(partial(lambda run, db: transitions.move(db, run, State.UNCERTAIN), run.id))
    keyed = RunRequest("svc", "keyed", "m", "{}", 5, True, True)
    run = ledger.submit(lambda db: claims.find_or_claim(db, keyed, ledger)).result(30).entry
    ledger.transact_now(lambda db: transitions.mark_sending(db, run.id, ledger.owner, "a body"))
    ledger.transact_now(lambda db: transitions.release(db, run.id, ledger.owner))
    ledger.close()
    (folder / writer.BACKUP_NAME).unlink(missing_ok=True)
    with (folder / writer.NAME).open("r+b") as file:
        page = file.read().index(b"doubt 30 and") // PAGE
        file.seek(page * PAGE)
        file.write(bytes(PAGE))

    assert main(["library", "rebuild", str(folder)]) == 0

    said, kept = capsys.readouterr().out, {name for name, state in runs(folder) if state == "uncertain"}
    lost = {*names, "keyed"} - kept
    assert "doubt 30" in lost
    assert "keyed" in kept
    assert len(lost) < 20
    assert "Not all of it could be read" in said


def test_what_was_accepted_last_is_known_when_old_runs_are_forgotten(ledger: Ledger, folder: Path) -> None:
    """Another process has written it into the list, and ended before it could write it into the ledger."""
    line = claims.make_acceptance(claim(ledger, "boat"), "r1")
    claims.append_lines(folder, [{**line, "identity": "of another process"}])

    forget_runs(Shelf(folder / "media"), ledger, line["at"] - 60)

    assert ("of another process", "r1") in runs(folder, "identity, request_id")


@pytest.mark.parametrize("is_accepted", [True, False])
def test_a_run_of_a_name_is_known_by_it_in_a_new_ledger(ledger: Ledger, folder: Path, is_accepted: bool) -> None:
    """Or a service that works for others would pay for a request once more; without an answer a person is asked."""

    def claim(ledger: Ledger, service: str = "svc") -> Verdict:
        asked = RunRequest(service, "boat", "m", "{}", 5, False, True, name="request 7")
        return ledger.submit(lambda db: claims.find_or_claim(db, asked, ledger)).result(30)

    refused = claim(ledger, "another").entry
    ledger.transact_now(lambda db: transitions.move(db, refused.id, State.REJECTED))
    ledger.close()
    ledger = Ledger(folder)  # Makes the daily copy.
    run = claim(ledger).entry
    ledger.transact_now(lambda db: transitions.mark_sending(db, run.id, ledger.owner, None))
    if is_accepted:
        accept(ledger, run, "r1")
    ledger.close()
    path = folder / writer.NAME
    path.write_bytes(zeroed(-1)(path.read_bytes()))

    assert "was made again" in rebuild_ledger(folder)
    again = Ledger(folder)
    verdict = claim(again)
    again.close()

    assert (verdict.action, verdict.entry.request_id) == (("follow", "r1") if is_accepted else ("ask", None))


@pytest.mark.parametrize("before", ["planned", "being sent", "refused", "failed"])
def test_a_row_out_of_a_copy_goes_on_to_what_the_list_knows(tmp_path: Path, before: str) -> None:
    """Whatever the row was when the copy was made, the latest request is followed, and what earlier ones cost is counted."""
    folder = tmp_path / "library"
    ledger = Ledger(folder)
    run = claim(ledger, "boat") if before == "planned" else sent(ledger, "boat")
    if before == "planned":
        ledger.transact_now(lambda db: transitions.release(db, run.id, ledger.owner))
    elif before == "refused":
        ledger.transact_now(lambda db: transitions.move(db, run.id, State.REJECTED))
    elif before == "failed":
        accept(ledger, run, "an earlier one")
        ledger.transact_now(lambda db: transitions.move(db, run.id, State.FAILED))
    copy = (folder / writer.NAME).read_bytes()
    accept(ledger, run if before == "being sent" else sent(ledger, "boat"), "r")
    ledger.close()
    (folder / writer.NAME).write_bytes(copy)

    again = Ledger(folder)
    verdict = claiming(again, "boat").result(30)
    again.close()

    assert (verdict.action, verdict.entry.request_id) == ("follow", "r")
    assert verdict.entry.spent == (5 if before == "failed" else 0)


def test_the_copy_is_of_today(hurt: Path) -> None:
    """Made once a day."""
    backup = hurt / writer.BACKUP_NAME
    first = backup.stat().st_mtime_ns
    Ledger(hurt).close()
    kept = backup.stat().st_mtime_ns
    os.utime(backup, (1.0, 1.0))

    ledger = Ledger(hurt)
    ledger.transact_now(lambda db: None)
    ledger.close()

    assert kept == first
    assert backup.stat().st_mtime > 1.0


def test_the_ledger_of_another_version_is_left_alone(hurt: Path) -> None:
    """To write into tables that one does not understand is worse than not to write; the sentence says what to do."""
    with sqlite3.connect(hurt / writer.NAME) as db:
        db.execute("UPDATE meta SET value = '99' WHERE name = 'schema'")
    db.close()
    before = (hurt / writer.NAME).read_bytes()

    with pytest.raises(LibraryError, match="another version of Reelbook made it"):
        Ledger(hurt)

    assert (hurt / writer.NAME).read_bytes() == before
