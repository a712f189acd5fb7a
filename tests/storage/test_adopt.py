"""Taking in another library: nothing paid is lost, nothing is merged that are two, and nothing there is changed."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reelbook.errors import OverBudget, ReelbookError
from reelbook.storage.adopt import PROGRESS, merge_run, read_requests
from reelbook.storage.ledger import claims, transitions, writer
from reelbook.storage.ledger.schema import SCHEMA, Budget, check_budget, join_scope
from reelbook.storage.ledger.transitions import Entry, State
from tests.storage.made import BOAT, SERVICE, Made

Make = Callable[[str], Made]
TRAM = BOAT.revised(prompt="a tram")


def snapshot(folder: Path) -> dict[str, str]:
    """Every file of a folder and its content."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def states(made: Made) -> list[tuple[str, int, str | None]]:
    return [(entry.state, entry.take, entry.request_id) for entry in made.entries()]


def test_runs_and_files_come_over_and_nothing_there_changes(make: Make, tmp_path: Path) -> None:
    """By the project's folder, with the pictures of inputs; the requests are in the list of accepted ones, too."""
    ours, theirs = make("ours"), make("project/.reelbook")
    ours.stored(BOAT)
    theirs.stored(TRAM, [(b"a tram", ".mp4")], "request-t")
    picture = theirs.shelf.keep(b"my photo", ".png")
    theirs.failed({"image_url": {"sha256": picture.stem}, "note": "0" * 64}, "request-f")
    theirs.close()
    before = snapshot(theirs.folder)

    report = ours.library.adopt(str(tmp_path / "project"))

    assert (report.runs, report.files, report.size, report.known, report.lost) == (2, 2, 14, 0, 0)
    assert repr(report) == f"<2 runs and 2 files (14 bytes) came from {theirs.folder}>"
    assert ours.path_of(2).read_bytes() == b"a tram"
    assert ours.shelf.find(picture.stem) is not None
    assert ours.library.frame["prompt"].tolist()[:2] == ["a paper boat", "a tram"]
    assert [line["request_id"] for line in claims.read_lines(ours.folder)] == ["request-t", "request-f"]
    assert snapshot(theirs.folder) == before
    with pytest.raises(ReelbookError, match="no ledger"):
        ours.library.adopt(tmp_path)


def test_a_run_that_failed_here_takes_the_result_from_there(make: Make) -> None:
    """The row is served from the library now, and what the failed one cost stays counted."""
    ours, theirs = make("ours"), make("theirs")
    ours.failed(BOAT, "ours", charged=20)
    theirs.stored(BOAT, request_id="theirs")
    takes = [(ours.entry(1).identity, take) for take in range(2)]
    ours.ledger.transact_now(lambda db: join_scope(db, "plan", SERVICE, takes))

    ours.library.adopt(theirs.folder)

    with pytest.raises(OverBudget) as refused:
        ours.ledger.transact_now(lambda db: check_budget(db, Budget("plan", 0), 1))
    assert refused.value.committed == 53 + 20
    assert states(ours) == [("failed", 1, "ours"), ("stored", 0, "theirs")]
    assert ours.library.summary().credits == 53 + 20


def test_a_run_that_somebody_is_at_is_left_to_them(make: Make) -> None:
    """In either library; the report says how many there are."""
    ours, theirs = make("ours"), make("theirs")
    ours.accepted(BOAT, "the same")
    ours.ledger.transact_now(lambda db: transitions.set_owner(db, transitions.get_entry(db, 1), ours.ledger.owner))
    theirs.stored(BOAT, request_id="the same")
    theirs.sent(TRAM)

    report = ours.library.adopt(theirs.folder)

    assert (report.busy, states(ours)) == (2, [("accepted", 0, "the same")])
    assert "2 runs left out, because a notebook follows them" in repr(report)


def test_the_same_request_is_the_same_run(make: Make) -> None:
    """The further state counts, and what is known of the input."""
    ours, theirs = make("ours"), make("theirs")
    ours.accepted(BOAT, "one")
    ours.accepted({}, "two", model=BOAT.endpoint_id)
    ours.ledger.transact_now(lambda db: db.execute("UPDATE runs SET identity = 'attached:two' WHERE id = 2"))
    theirs.stored(BOAT, request_id="one")
    theirs.failed(TRAM, "two")

    ours.library.adopt(theirs.folder)

    assert states(ours) == [("stored", 0, "one"), ("failed", 0, "two")]
    assert ours.library.frame["prompt"].tolist() == ["a paper boat", "a tram"]


def test_a_file_that_is_damaged_there_is_not_believed(make: Make) -> None:
    """Its run comes over without it, to fetch it again at no cost."""
    ours, theirs = make("ours"), make("theirs")
    theirs.stored(BOAT)
    theirs.path_of(1).write_bytes(b"a clop")

    report = ours.library.adopt(theirs.folder)

    assert (report.runs, report.files, report.lost) == (1, 0, 1)
    assert [entry.stage for entry in ours.entries()] == ["completed"]
    assert list(ours.shelf.names()) == []


def test_rows_of_a_stranger_are_judged(make: Make) -> None:
    """What could not be ours is left out: odd states, prices below nought, inputs that are none."""
    ours, theirs = make("ours"), make("theirs")
    for seed in range(6):
        theirs.stored(BOAT.revised(seed=seed))
    odd = ["state = 'paid'", "charged = -5", 'input = \'{"a":1},{"b":2}\'', "media = '{}'", "price = 'free'"]
    statements = [f"UPDATE runs SET {change} WHERE id = {run}" for run, change in enumerate(odd, 1)]
    theirs.ledger.transact_now(lambda db: [db.execute(statement) for statement in statements])

    report = ours.library.adopt(theirs.folder)

    assert (report.runs, report.skipped) == (1, 5)
    assert ours.library.frame["seed"].tolist() == [5]


def test_an_older_copy_of_this_library_brings_nothing_back(make: Make) -> None:
    """What was uncertain then and is settled since is not uncertain once more."""
    ours, old = make("ours"), make("old")
    ours.uncertain(BOAT)
    ours.uncertain(TRAM)
    with (
        closing(sqlite3.connect(ours.folder / writer.NAME)) as source,
        closing(sqlite3.connect(old.folder / writer.NAME)) as copy,
    ):
        source.backup(copy)
    ours.library.uncertain[0].resubmit()
    ours.library.uncertain[0].write_off()
    ours.stored(BOAT, take=0, fresh=False)

    ours.library.adopt(old.folder)

    assert [entry.state for entry in ours.entries()] == ["stored", "failed"]
    assert ours.library.uncertain == []


# Any two ledgers.

NAMES = [name for name in transitions.STORED_COLUMNS if name != "id"]
OPEN = (State.PLANNED, State.REJECTED, State.UNCERTAIN)


@st.composite
def ledgers(draw: st.DrawFn, whose: str) -> list[Entry]:
    """Some rows as they may stand in a ledger; some of their requests are known to both."""
    rows: list[Entry] = []
    for number in range(draw(st.integers(0, 4))):
        state = draw(st.sampled_from([*OPEN, State.ACCEPTED, State.STORED, State.FAILED]))
        request = None
        if state not in OPEN:
            request = draw(st.sampled_from([f"{whose}-{number}", *(f"both-{place}" for place in range(2))]))
            if request in {row.request_id for row in rows}:
                request = f"{whose}-{number}"
        identity = request if request and request.startswith("both") else draw(st.sampled_from(["a", "b"]))
        taken = {row.take for row in rows if row.identity == identity}
        rows.append(
            Entry(
                0, SERVICE, identity, min(set(range(9)) - taken), "m", "{}", state, None, 1, None, None, request, 53, None,
                0, 0, None, None, None, None, None, None, created=number + len(whose) / 100, sent=float(number), finished=None,
                stage=state, credits=53, counted=53, unknown=0, certain=0,
            )
        )  # fmt: skip
    return rows


@contextmanager
def in_memory(rows: Sequence[Entry]) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        db.executescript(SCHEMA)
        for row in rows:
            db.execute(
                f"INSERT INTO runs ({', '.join(NAMES)}) VALUES ({', '.join('?' * len(NAMES))})",
                [getattr(row, name) for name in NAMES],
            )
        yield db


def all_of(db: sqlite3.Connection) -> list[Entry]:
    return [Entry(*row) for row in db.execute(f"SELECT {transitions.COLUMNS} FROM entries ORDER BY id")]


@settings(max_examples=150, deadline=None)
@given(ledgers("ours"), ledgers("theirs"))
def test_whatever_two_ledgers_hold(ours: list[Entry], theirs: list[Entry]) -> None:
    """Each paid request of both is there once, every uncertain run stays so, no money is forgotten, and twice is once."""
    with in_memory(ours) as db:
        first = all_of(db)
        for other in theirs:
            merge_run(db, replace(other, id=1), read_requests(db))
        once = all_of(db)
        for other in theirs:
            merge_run(db, replace(other, id=1), read_requests(db))
        twice = all_of(db)

    paid = (State.ACCEPTED, State.STORED)
    requests = [row.request_id for row in once if row.request_id]
    wanted = {row.request_id for row in (*first, *theirs) if row.state in paid}
    assert twice == once
    assert len(requests) == len(set(requests))
    assert wanted <= set(requests)
    lost = [row for row in (*first, *theirs) if row.state == State.UNCERTAIN]
    assert sum(row.state == State.UNCERTAIN for row in once) == len(lost)
    for row in once:
        told = [PROGRESS[one.stage] for one in (*first, *theirs) if one.request_id == row.request_id is not None]
        assert not told or PROGRESS[row.stage] == max(told)
    different = {
        row.request_id or f"no id, {row.created}": row for row in (*first, *theirs) if row.state not in OPEN[:2]
    }
    assert sum(row.credits or 0 for row in once) == 53 * len(different)
