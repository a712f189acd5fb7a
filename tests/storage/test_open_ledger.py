"""A ledger is opened whole, or a sentence says how to rebuild it; it is never silently replaced by an empty one."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from reelbook.cli import main
from reelbook.errors import LibraryError
from reelbook.storage.ledger import claims, transitions, writer
from reelbook.storage.ledger.claims import RunRequest
from reelbook.storage.ledger.transitions import State
from reelbook.storage.ledger.writer import Ledger, rebuild_ledger

RUNS = 400
PAGE = 4096


def begun(ledger: Ledger, name: str) -> claims.Verdict:
    """What is to be done about a run; its row is claimed where it is to be paid for."""
    asked = RunRequest("svc", name, "m", json.dumps({"prompt": name + " and some more words" * 9}), 5, False, True)
    return ledger.transact_now(lambda db: claims.find_or_claim(db, asked, ledger, key=None))


def sent(ledger: Ledger, name: str) -> transitions.Entry:
    """A run whose answer has not come yet."""
    run = begun(ledger, name).entry
    ledger.transact_now(lambda db: transitions.mark_sending(db, run.id, ledger.owner, None))
    return run


def accept(ledger: Ledger, run: transitions.Entry, request: str) -> None:
    """The answer to a run comes."""
    line = claims.make_acceptance(run, request)
    ledger.submit(lambda db: transitions.mark_accepted(db, run.id, request), line=line).result(30)


def requests(folder: Path) -> dict[str, str | None]:
    """The runs that a library knows, with their requests, as the next who opens it finds them."""
    ledger = Ledger(folder)
    try:
        return dict(ledger.select("identity, request_id"))
    finally:
        ledger.close()


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
def folder(library: Path, tmp_path: Path) -> Path:
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
    folder: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is sent meanwhile; every paid request is known afterwards, and the damaged file is kept."""
    path = folder / writer.NAME
    content = path.read_bytes()
    path.unlink()
    if damage in DAMAGES:
        content = DAMAGES[damage](content)
        path.write_bytes(content)

    with pytest.raises(LibraryError, match=r"damaged.*reelbook library rebuild") as error:
        Ledger(folder)
    assert writer.BACKUP_NAME in str(error.value)
    assert "accepted.jsonl" in str(error.value)

    assert main(["library", "rebuild", str(folder)]) == 0

    assert f"{RUNS + 5} runs" in capsys.readouterr().out
    kept = [file.read_bytes() for file in folder.glob("ledger.damaged-*.sqlite")]
    assert kept == ([content] if damage in DAMAGES else [])
    known = requests(folder)
    assert PAID.items() <= known.items()
    assert all(request == f"request of {name}" for name, request in known.items())


@pytest.mark.parametrize("has_copy", [True, False])
def test_what_was_uncertain_stays_so(folder: Path, has_copy: bool) -> None:
    """The list has only what was accepted; a run whose answer was lost is read from the damaged file."""
    ledger = Ledger(folder)
    run = sent(ledger, "doubt")
    ledger.transact_now(lambda db: transitions.move(db, run.id, State.UNCERTAIN, error="the connection was reset"))
    ledger.close()
    if not has_copy:
        (folder / writer.BACKUP_NAME).unlink()
    with (folder / writer.NAME).open("r+b") as file:
        file.seek(20 * PAGE)
        file.write(bytes(PAGE))

    said = rebuild_ledger(folder)
    ledger = Ledger(folder)
    verdict = begun(ledger, "doubt")
    ledger.close()

    assert "and 1 uncertain" in said
    assert verdict.action == "ask"


@pytest.mark.parametrize("before", ["planned", "being sent", "refused", "failed"])
def test_a_row_out_of_a_copy_goes_on_to_what_the_list_knows(tmp_path: Path, before: str) -> None:
    """Whatever the row was when the copy was made, the latest request is followed, and what earlier ones cost is counted."""
    folder = tmp_path / "library"
    ledger = Ledger(folder)
    run = begun(ledger, "boat").entry if before == "planned" else sent(ledger, "boat")
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
    verdict = begun(again, "boat")
    again.close()

    assert (verdict.action, verdict.entry.request_id) == ("follow", "r")
    assert verdict.entry.spent == (5 if before == "failed" else 0)


def test_the_copy_is_of_today(folder: Path) -> None:
    """Made once a day."""
    backup = folder / writer.BACKUP_NAME
    first = backup.stat().st_mtime_ns
    Ledger(folder).close()
    kept = backup.stat().st_mtime_ns
    os.utime(backup, (1.0, 1.0))

    ledger = Ledger(folder)
    ledger.transact_now(lambda db: None)
    ledger.close()

    assert kept == first
    assert backup.stat().st_mtime > 1.0


def test_the_ledger_of_another_version_is_left_alone(folder: Path) -> None:
    """To write into tables that one does not understand is worse than not to write; the sentence says what to do."""
    with sqlite3.connect(folder / writer.NAME) as db:
        db.execute("UPDATE meta SET value = '99' WHERE name = 'schema'")
    db.close()
    before = (folder / writer.NAME).read_bytes()

    with pytest.raises(LibraryError, match="another version of Reelbook made it"):
        Ledger(folder)

    assert (folder / writer.NAME).read_bytes() == before
