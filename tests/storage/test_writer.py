"""The ledger's file as one process keeps it: nobody is told before it is on disk, and nobody else is in the way."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from reelbook.errors import LibraryError
from reelbook.storage.ledger import claims, transitions, writer
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
        claims.find_or_claim(db, asked("broken"), ledger, key=None)
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
        entry = claim(ledger, f"run {number}")
        ledger.submit(
            partial(transitions.mark_accepted, run=entry.id, request_id=text), line=claims.make_acceptance(entry, text)
        ).result(30)
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
    entry = claim(ledger)
    ledger.submit(lambda db: None, line=claims.make_acceptance(entry, "r1")).result(30)

    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in (folder, *folder.rglob("*"))}

    assert {mode for name, mode in modes.items() if (folder / name).is_file()} == {"0o600"}
    assert (modes[".reelbook"], modes["owners"]) == ("0o700", "0o700")
