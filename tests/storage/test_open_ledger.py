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
from reelbook.storage.ledger import accepted as accepted_list
from reelbook.storage.ledger import claims, connection, transitions
from reelbook.storage.ledger.claims import RunRequest
from reelbook.storage.ledger.rebuild import rebuild_ledger
from reelbook.storage.ledger.writer import Ledger

RUNS = 400
PAGE = 4096


def asked(name: str) -> RunRequest:
    return RunRequest("svc", name, "m", json.dumps({"prompt": name + " and some more words" * 9}), 5, False, True)


def begun(ledger: Ledger, name: str) -> claims.Verdict:
    """What is to be done about a run; its row is claimed where it is to be paid for."""
    return ledger.transact_now(lambda db: claims.find_or_claim(db, asked(name), ledger, key=None))


def accepted(ledger: Ledger, name: str, request: str = "request of {}") -> transitions.Entry:
    """A run that is paid for."""
    run = begun(ledger, name).entry
    ledger.transact_now(lambda db: transitions.mark_sending(db, run.id, ledger.owner, None))
    line = claims.make_acceptance(run, request.format(name))
    ledger.submit(lambda db: transitions.mark_accepted(db, run.id, str(line["request_id"])), line=line).result(30)
    return run


def requests(folder: Path) -> dict[str, str | None]:
    """The runs that a library knows, with their requests, as the next who opens it finds them."""
    ledger = Ledger(folder)
    try:
        return dict(ledger.read(lambda db: db.execute("SELECT identity, request_id FROM runs").fetchall()))
    finally:
        ledger.close()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of many runs, the last of which are paid for and known to the second copy, too."""
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
    for number in range(5):
        accepted(ledger, f"new {number}")
    ledger.close()
    return folder


@pytest.fixture
def folder(library: Path, tmp_path: Path) -> Path:
    """A copy of that library, to be hurt."""
    return shutil.copytree(library, tmp_path / ".reelbook")


LINE = {
    "service": "svc", "identity": "last", "take": 0, "attempt": 1, "model": "m", "input": "{}", "price": 5, "at": 1.0,
    "request_id": "r",
}  # fmt: skip
PAID = {f"new {number}": f"request of new {number}" for number in range(5)}


def zeroed(*pages: int) -> Callable[[bytes], bytes]:
    def zero(content: bytes) -> bytes:
        for page in pages:
            start = page % (len(content) // PAGE) * PAGE
            content = content[:start] + bytes(PAGE) + content[start + PAGE :]
        return content

    return zero


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "a page in the middle": zeroed(12),
    "several pages": zeroed(12, 13, 20, 30),
    "the last page": zeroed(-1),
    "the first page": zeroed(0),
    "cut in half": lambda content: content[: len(content) // 2],
    "cut inside a page": lambda content: content[: len(content) // 2 + 1000],
    "another file": lambda content: b"once upon a time " * 5000,
    "noise": lambda content: content[:PAGE] + bytes(range(256)) * ((len(content) - PAGE) // 256),
    "a broken header": lambda content: b"SQLight" + content[7:],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_ledger_is_said_in_a_sentence_and_rebuilt_by_a_command(
    folder: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is sent meanwhile; every paid request is known afterwards, and the damaged file is kept."""
    path = folder / connection.NAME
    content = DAMAGES[damage](path.read_bytes())
    path.write_bytes(content)

    with pytest.raises(LibraryError, match=r"damaged.*reelbook library rebuild") as error:
        Ledger(folder)
    assert connection.BACKUP_NAME in str(error.value)
    assert "accepted.jsonl" in str(error.value)

    assert main(["library", "rebuild", str(folder)]) == 0

    assert f"{RUNS + 5} runs" in capsys.readouterr().out
    assert [file.read_bytes() for file in folder.glob("ledger.damaged-*.sqlite")] == [content]
    known = requests(folder)
    assert PAID.items() <= known.items()
    assert all(request == f"request of {name}" for name, request in known.items())


@pytest.mark.parametrize("gone", ["emptied", "deleted"])
def test_a_lost_ledger_with_a_copy_is_rebuilt_too(folder: Path, gone: str) -> None:
    """An empty one in its place would send again what was uncertain."""
    (folder / connection.NAME).unlink()
    if gone == "emptied":
        (folder / connection.NAME).touch()

    with pytest.raises(LibraryError, match="library rebuild"):
        Ledger(folder)
    rebuild_ledger(folder)

    assert len(requests(folder)) == RUNS + 5


@pytest.mark.parametrize("has_copy", [True, False])
def test_what_was_uncertain_stays_so(folder: Path, has_copy: bool) -> None:
    """The list has only what was accepted; a run whose answer was lost is read from the damaged file."""
    ledger = Ledger(folder)
    run = begun(ledger, "doubt").entry
    ledger.transact_now(lambda db: transitions.mark_sending(db, run.id, ledger.owner, None))
    ledger.transact_now(lambda db: transitions.mark_uncertain(db, run.id, "the connection was reset"))
    ledger.close()
    if not has_copy:
        (folder / connection.BACKUP_NAME).unlink()
    with (folder / connection.NAME).open("r+b") as file:
        file.seek(20 * PAGE)
        file.write(bytes(PAGE))

    said = rebuild_ledger(folder)
    ledger = Ledger(folder)
    verdict = begun(ledger, "doubt")
    ledger.close()

    assert "1 of them are uncertain" in said
    assert verdict.action == "ask"


def test_a_library_in_use_is_not_rebuilt(folder: Path) -> None:
    """Its notebook would go on writing into the damaged file."""
    ledger = Ledger(folder)
    with (folder / connection.NAME).open("r+b") as file:
        file.seek(20 * PAGE)
        file.write(bytes(PAGE))

    with pytest.raises(LibraryError, match="another notebook uses it"):
        rebuild_ledger(folder)
    ledger.close()


def test_a_ledger_out_of_a_copy_learns_what_the_list_knows(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """All runs are known before anything is sent, and the person reads once that it happened."""
    before = (folder / connection.NAME).read_bytes()
    ledger = Ledger(folder)
    for number in range(3):
        accepted(ledger, f"later {number}")
    ledger.close()
    (folder / connection.NAME).write_bytes(before)

    known = [requests(folder), requests(folder)]

    assert all(
        each.items() >= {f"later {number}": f"request of later {number}" for number in range(3)}.items()
        for each in known
    )
    (record,) = caplog.records
    assert "3 paid runs were put back" in record.getMessage()


@pytest.mark.parametrize("before", ["planned", "being sent", "refused", "failed"])
def test_a_row_out_of_a_copy_goes_on_to_what_the_list_knows(tmp_path: Path, before: str) -> None:
    """Whatever the row was when the copy was made, the latest request is followed, and what earlier ones cost is counted."""
    folder = tmp_path / "library"
    ledger = Ledger(folder)
    if before == "failed":
        run = accepted(ledger, "boat", "an earlier one")
        ledger.transact_now(lambda db: transitions.mark_ended(db, run.id, "failed", "broken", "It broke.", None))
    else:
        run = begun(ledger, "boat").entry
    if before in ("being sent", "refused"):
        ledger.transact_now(lambda db: transitions.mark_sending(db, run.id, ledger.owner, None))
    if before == "refused":
        ledger.transact_now(lambda db: transitions.mark_rejected(db, run.id, "refused", "No."))
    if before == "planned":
        ledger.transact_now(lambda db: transitions.mark_unsent(db, run.id))
    copy = (folder / connection.NAME).read_bytes()
    if before == "being sent":
        ledger.submit(
            lambda db: transitions.mark_accepted(db, run.id, "r"), line=claims.make_acceptance(run, "r")
        ).result(30)
    else:
        accepted(ledger, "boat", "r")
    ledger.close()
    (folder / connection.NAME).write_bytes(copy)

    again = Ledger(folder)
    verdict = begun(again, "boat")
    again.close()

    assert (verdict.action, verdict.entry.request_id) == ("follow", "r")
    assert verdict.entry.spent == (5 if before == "failed" else 0)


def test_the_copy_is_of_today(folder: Path) -> None:
    """Made once a day."""
    backup = folder / connection.BACKUP_NAME
    first = backup.stat().st_mtime_ns
    Ledger(folder).close()
    kept = backup.stat().st_mtime_ns
    os.utime(backup, (1.0, 1.0))

    ledger = Ledger(folder)
    ledger.transact_now(lambda db: None)
    ledger.close()

    assert kept == first
    assert backup.stat().st_mtime > 1.0


def test_the_ledger_of_a_newer_version_is_left_alone(folder: Path) -> None:
    """To write into tables that one does not understand is worse than not to write; the sentence says what to do."""
    with sqlite3.connect(folder / connection.NAME) as db:
        db.execute("UPDATE meta SET value = '99' WHERE name = 'schema'")
    db.close()
    before = (folder / connection.NAME).read_bytes()

    with pytest.raises(LibraryError, match="another version of Reelbook made it"):
        Ledger(folder)

    assert (folder / connection.NAME).read_bytes() == before


@pytest.mark.parametrize(
    "tail",
    [
        b'{"at":1,"service":"svc","iden',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b"{}\n",
    ],
)
def test_a_torn_line_hides_no_other(folder: Path, tail: bytes) -> None:
    """What is written after it begins on a line of its own."""
    with (folder / accepted_list.NAME).open("ab") as file:
        file.write(tail)

    accepted_list.append(folder / accepted_list.NAME, [{**LINE, "request_id": "r-last"}])

    assert [line["request_id"] for line in accepted_list.read_lines(folder)] == [*PAID.values(), "r-last"]
