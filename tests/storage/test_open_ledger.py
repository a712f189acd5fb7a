"""A ledger is opened whole, or what is left of it is rescued; it is never silently replaced by an empty one."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from reelbook.errors import LibraryError
from reelbook.storage.ledger import claims, connection, crash_recovery, open_ledger, salvage, second_copy, transitions
from reelbook.storage.ledger.budget import join_scope
from reelbook.storage.ledger.claims import RunRequest
from reelbook.storage.ledger.writer import Ledger
from reelbook.util import file_locks

RUNS = 400
PAGE = 4096


def accepted(ledger: Ledger, name: str, *, price: int | None = 5) -> None:
    """A run that is paid for."""
    asked = RunRequest("svc", name, "m", json.dumps({"prompt": name + " and some more words" * 9}), price, False, True)
    run = ledger.transact_now(lambda db: claims.find_or_claim(db, asked, ledger, key=None)).entry
    ledger.transact_now(lambda db: transitions.mark_sending(db, run.id, ledger.owner, None))
    line = crash_recovery.make_acceptance(run, f"request of {name}")
    ledger.submit(lambda db: transitions.mark_accepted(db, run.id, str(line["request_id"])), line=line).result(30)


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
    ledger.transact_now(lambda db: join_scope(db, "plan", "svc", [(f"old {n}", 0) for n in range(RUNS)]))
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


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], int]] = {
    "a page in the middle": (zeroed(12), 300),
    "several pages": (zeroed(12, 13, 20, 30), 200),
    "the last page": (zeroed(-1), 300),
    "the first page": (zeroed(0), 0),
    "cut in half": (lambda content: content[: len(content) // 2], 50),
    "cut inside a page": (lambda content: content[: len(content) // 2 + 1000], 50),
    "another file": (lambda content: b"once upon a time " * 5000, 0),
    "noise": (lambda content: content[:PAGE] + bytes(range(256)) * ((len(content) - PAGE) // 256), 0),
    "a broken header": (lambda content: b"SQLight" + content[7:], 0),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_kept_and_what_can_be_read_of_it_too(folder: Path, damage: str) -> None:
    """It is moved aside, with a word to the person; every paid request is known as before."""
    path = folder / connection.NAME
    hurt, least = DAMAGES[damage]
    content = hurt(path.read_bytes())
    path.write_bytes(content)

    with pytest.warns(UserWarning, match="was damaged"):
        found = requests(folder)

    aside = list(folder.glob("ledger.damaged-*.sqlite"))
    kept = sum(name.startswith("old") for name in found)
    print(f"{damage}: {kept} of {RUNS} runs kept")
    assert [file.read_bytes() for file in aside] == [content]
    assert PAID.items() <= found.items()
    assert least <= kept <= RUNS
    # A cut may go through a row, which then has no request rather than a wrong one.
    assert sum(request is None for request in found.values()) <= (1 if "cut" in damage else 0)
    assert all(request in (None, f"request of {name}") for name, request in found.items())
    assert open_ledger.check(folder) is None
    assert requests(folder) == found


def test_without_the_second_copy_the_requests_would_be_lost(folder: Path) -> None:
    """The control: this is what the second copy is for."""
    (folder / connection.NAME).write_bytes(b"once upon a time")
    (folder / second_copy.NAME).unlink()

    with pytest.warns(UserWarning, match="0 runs were read from it and 0 more"):
        assert requests(folder) == {}


@pytest.mark.parametrize("gone", ["emptied", "deleted"])
def test_a_file_without_content_is_filled_from_the_second_copy(folder: Path, gone: str) -> None:
    """SQLite takes an empty file for a new database, without a word; the library says what was lost."""
    (folder / connection.NAME).unlink()
    if gone == "emptied":
        (folder / connection.NAME).touch()

    with pytest.warns(UserWarning, match="5 paid runs were put back"):
        found = requests(folder)

    assert found == PAID


def test_a_new_library_is_made_without_a_word(tmp_path: Path) -> None:
    """Nothing was lost where nothing was."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert requests(tmp_path / "new" / ".reelbook") == {}


def test_the_ledger_of_a_newer_version_is_left_alone(folder: Path) -> None:
    """To write into tables that one does not understand is worse than not to write; the sentence says what to do."""
    with sqlite3.connect(folder / connection.NAME) as db:
        db.execute("UPDATE meta SET value = '2' WHERE name = 'schema'")
    db.close()
    before = (folder / connection.NAME).read_bytes()

    with pytest.raises(LibraryError, match="newer Reelbook made it"):
        Ledger(folder)

    assert (folder / connection.NAME).read_bytes() == before


def test_a_rescue_that_breaks_off_is_done_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At each of its steps the old file is still there, or the new one is whole; never an empty one."""
    path = folder / connection.NAME
    damaged = zeroed(12)(path.read_bytes())
    steps = [
        (os, "link"),
        (Path, "replace"),
        (salvage, "sync_folder"),
        (salvage, "_set_aside"),
        (salvage, "reconcile"),
    ]
    for place, step in steps:
        path.write_bytes(damaged)

        def power_cut(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(place, step, power_cut)
            with pytest.raises(KeyboardInterrupt):
                Ledger(folder)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert PAID.items() <= requests(folder).items(), step
            assert len(requests(folder)) > 300, step


def test_a_writer_goes_on_in_the_rescued_file(folder: Path) -> None:
    """Another process found the damage and exchanged the file: what we write from then on is in the new one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        writer = Ledger(folder)
        path = folder / connection.NAME
        path.write_bytes(zeroed(12)(path.read_bytes()))
        other = Ledger(folder)

        accepted(writer, "later")

    found = dict(other.read(lambda db: db.execute("SELECT identity, owner FROM runs").fetchall()))
    assert found["later"] == writer.owner
    assert not other.is_dead(writer.owner)
    for ledger in (writer, other):
        ledger.close()


def test_a_lost_run_leaves_its_number_to_nobody(folder: Path) -> None:
    """Who still knows a run by its number must not write into another one."""
    with sqlite3.connect(folder / connection.NAME) as db:
        (last,) = db.execute("SELECT max(id) FROM runs").fetchone()
    db.close()
    (folder / connection.NAME).write_bytes(b"once upon a time")

    with pytest.warns(UserWarning, match="was damaged"):
        ledger = Ledger(folder)
    numbers = [row[0] for row in ledger.read(lambda db: db.execute("SELECT id FROM runs").fetchall())]
    ledger.close()

    assert min(numbers) > last + 1000


def test_damage_that_is_met_at_work_is_mended_at_once(folder: Path) -> None:
    """The step that met it fails or is done; the next one goes through, and nothing paid is lost."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ledger = Ledger(folder)
        path = folder / connection.NAME
        content = path.read_bytes()
        path.write_bytes(content[:PAGE] + bytes(range(256)) * ((len(content) - PAGE) // 256))
        for _ in range(2):
            try:
                accepted(ledger, "later")
                break
            except LibraryError as error:
                print(error.reason)
        ledger.close()

        assert {**PAID, "later": "request of later"}.items() <= requests(folder).items()


def stale(path: Path, index: str, change: str) -> None:
    """Change a table behind the back of one of its indexes, which no quick check sees."""
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA writable_schema = ON")
        row = db.execute("SELECT * FROM sqlite_master WHERE name = ?", (index,)).fetchone()
        db.execute("DELETE FROM sqlite_master WHERE name = ?", (index,))
    db.close()
    with sqlite3.connect(path) as db:
        db.execute(change)
        db.execute("PRAGMA writable_schema = ON")
        db.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", row)
    db.close()


def test_an_index_that_says_something_else_than_its_table_is_mended(folder: Path) -> None:
    """A run that is not found could be paid for once more; after somebody's death the indexes are compared, too."""
    stale(folder / connection.NAME, "runs_by_request", "UPDATE runs SET request_id = 'moved' WHERE identity = 'old 1'")
    unseen = open_ledger.check(folder)
    (folder / "owners" / "somebody who died").touch()

    with pytest.warns(UserWarning, match="405 runs were read"):
        ledger = Ledger(folder)
    found = ledger.read(lambda db: db.execute("SELECT identity FROM runs WHERE request_id = 'moved'").fetchall())
    ledger.close()

    assert unseen is None
    assert found == [("old 1",)]


def test_damage_that_is_met_while_the_dead_are_buried_is_mended(folder: Path) -> None:
    """The library opens all the same, and the run that was being sent is the one that the second copy knows."""
    with sqlite3.connect(folder / connection.NAME) as db:
        db.execute(
            "INSERT INTO runs (service, identity, take, model, input, state, owner, attempt, price, created, request_id)"
            " VALUES ('svc', 'last', 0, 'm', '{}', 'sending', 'a dead one', 1, 5, 1, 'none yet')"
        )
    db.close()
    stale(folder / connection.NAME, "runs_by_request", "UPDATE runs SET request_id = NULL WHERE identity = 'last'")
    second_copy.append(folder, [second_copy.format_line(LINE)])

    with pytest.warns(UserWarning, match="was damaged"):
        found = requests(folder)

    assert found["last"] == "r"


def test_a_large_file_is_checked_when_somebody_has_died(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for it: it is looked through in the background, and rescued when it is opened next."""
    monkeypatch.setattr(open_ledger, "QUICK_BYTES", 10_000)
    path = folder / connection.NAME
    path.write_bytes(zeroed(12)(path.read_bytes()))

    Ledger(folder).close()
    unnoticed = not (folder / open_ledger.SUSPECT_NAME).exists()
    (folder / "owners" / "somebody who died").touch()
    ledger = Ledger(folder)
    with ledger._disk:  # The check has it for as long as it takes.
        pass
    while not (folder / open_ledger.SUSPECT_NAME).exists():
        ledger.transact_now(lambda db: None)
    ledger.close()

    assert unnoticed
    with pytest.warns(UserWarning, match="was damaged"):
        assert PAID.items() <= requests(folder).items()
    assert not (folder / open_ledger.SUSPECT_NAME).exists()


def test_a_false_suspicion_is_dropped(folder: Path) -> None:
    """A sound file stays where it is."""
    before = open_ledger.get_file_id(folder)
    open_ledger.mark_suspect(folder)

    found = requests(folder)

    assert (len(found), open_ledger.get_file_id(folder)) == (RUNS + 5, before)
    assert not (folder / open_ledger.SUSPECT_NAME).exists()


def test_a_state_that_no_program_wrote_is_found_out(folder: Path) -> None:
    """The run may have cost something: it is asked about by its request, else it is for a person."""
    path = folder / connection.NAME
    with sqlite3.connect(path) as db:
        db.execute("UPDATE runs SET state = ? WHERE identity IN ('old 1', 'old 2')", ("st\x00red",))
        db.execute("UPDATE runs SET request_id = NULL WHERE identity = 'old 2'")
    db.close()

    with pytest.warns(UserWarning, match="was damaged"):
        ledger = Ledger(folder)
    rows = ledger.read(lambda db: db.execute("SELECT identity, state FROM runs WHERE state != 'stored'").fetchall())
    ledger.close()

    assert {("old 1", "accepted"), ("old 2", "uncertain")} <= {*rows}


@pytest.mark.parametrize(
    "tail",
    [
        b'{"at":1,"service":"svc","iden',
        b"\xff\xfe\x00",
        b'"a text"',
        b"[" * 100_000,
        b'{"request_id":1}',
        b"\n\n\n",
        b"{}\n",
    ],
)
def test_a_torn_line_hides_no_other(folder: Path, tail: bytes) -> None:
    """What is written after it begins on a line of its own."""
    with (folder / second_copy.NAME).open("ab") as file:
        file.write(tail)

    second_copy.append(folder, [second_copy.format_line({**LINE, "request_id": "r-last"})])

    assert [line["request_id"] for line in second_copy.read_lines(folder)] == [*PAID.values(), "r-last"]


@pytest.mark.parametrize(
    "change", [{"take": -1}, {"attempt": 10**30}, {"price": 1.5}, {"at": "now"}, {"model": None}, {"take": True}]
)
def test_a_line_that_says_nonsense_is_left_out(folder: Path, change: dict[str, object]) -> None:
    """It must not stop a rescue."""
    second_copy.append(folder, [second_copy.format_line({**LINE, **change})])

    assert len(second_copy.read_lines(folder)) == len(PAID)


def test_a_line_that_does_not_fit_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a line on a full disk is no second copy, and the acceptance is not taken for safe."""
    monkeypatch.setattr(os, "write", lambda file, content: len(content) // 2)

    with pytest.raises(OSError, match="space"):
        second_copy.append(folder, [b"{}"])


def test_a_network_disk_gets_a_warning(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks can fail there, and the sentence says what to do."""
    monkeypatch.setattr(connection, "get_network_kind", lambda folder: "nfs4")

    with pytest.warns(UserWarning, match="network disk"):
        Ledger(folder).close()


@pytest.mark.parametrize(
    ("mounts", "kind"),
    [
        ("/dev/sda / ext4 rw 0 0\nhost:/home /home nfs4 rw 0 0\n", "nfs4"),
        ("host:/ / nfs rw 0 0\n/dev/sda /home ext4 rw 0 0\n", None),
        ("/dev/sda / ext4 rw 0 0\nhost:/h /hom nfs4 rw 0 0\n", None),
    ],
)
def test_the_nearest_mount_says_what_kind_of_disk_it_is(
    mounts: str, kind: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that merely begins alike is another one. A stand-in for /proc/mounts: no test can mount a network disk."""
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: mounts)

    assert connection.get_network_kind(Path("/home/user/.reelbook")) == kind


def test_who_waits_for_its_turn_for_too_long_hears_why(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stopped process keeps its turn; the others do not hang for ever."""
    ledger = Ledger(folder)
    monkeypatch.setattr(file_locks, "LOCK_SECONDS", 0.05)

    with file_locks.write_lock(folder), pytest.raises(LibraryError, match="locked"):
        ledger.transact_now(lambda db: None)

    ledger.transact_now(lambda db: None)
    ledger.close()


def test_a_ledger_from_before_known_prices_were_kept_is_used_as_it_is(tmp_path: Path) -> None:
    """It gets the table that it lacks, and keeps its runs."""
    ledger = Ledger(tmp_path)
    ledger.transact_now(lambda db: db.execute("INSERT INTO meta VALUES ('mark', 'here')"))
    ledger.close()
    with contextlib.closing(sqlite3.connect(tmp_path / connection.NAME)) as db:
        db.execute("DROP TABLE floors")
        db.commit()

    again = Ledger(tmp_path)
    try:
        price = again.transact_now(lambda db: transitions.get_floor(db, 1))
        mark = again.transact_now(lambda db: db.execute("SELECT value FROM meta WHERE name = 'mark'").fetchone())
    finally:
        again.close()

    assert (price, mark) == (0, ("here",))
