"""Taking in another library: nothing paid is lost, each request comes once, and nothing there is changed."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from reelbook.errors import ReelbookError
from reelbook.storage.ledger import claims, transitions, writer
from tests.storage.made import BOAT, Made

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
    """By the project's folder, with the pictures of inputs; the requests are in the list of accepted ones, too. Twice is once."""
    ours, theirs = make("ours"), make("project/.reelbook")
    ours.stored(BOAT)
    theirs.stored(TRAM, [(b"a tram", ".mp4")], "request-t")
    picture = theirs.shelf.keep(b"my photo", ".png")
    theirs.failed({"image_url": {"sha256": picture.stem}, "note": "0" * 64}, "request-f")
    theirs.close()
    before = snapshot(theirs.folder)

    report, again = (ours.library.adopt(str(tmp_path / "project")) for _ in range(2))

    assert report.startswith(f"2 runs, 2 files and 0 judgements came from {theirs.folder}; 0 runs here already")
    assert again.startswith(f"0 runs, 0 files and 0 judgements came from {theirs.folder}; 2 runs here already")
    assert ours.path_of(2).read_bytes() == b"a tram"
    assert ours.shelf.find(picture.stem) is not None
    assert ours.library.frame["prompt"].tolist()[:2] == ["a paper boat", "a tram"]
    assert [line["request_id"] for line in claims.read_lines(ours.folder)] == ["request-t", "request-f"]
    assert snapshot(theirs.folder) == before
    with pytest.raises(ReelbookError, match="There is no library in"):
        ours.library.adopt(tmp_path)


def test_a_run_of_the_same_input_is_another_take(make: Make) -> None:
    """A result takes the place of a run without one, whose cost stays counted, so that no sweep pays for it again."""
    ours, theirs = make("ours"), make("theirs")
    ours.failed(BOAT, "ours", charged=20)
    ours.accepted(TRAM, "both")
    theirs.stored(BOAT, request_id="theirs")
    theirs.stored(TRAM, request_id="both")

    ours.library.adopt(theirs.folder)

    assert states(ours) == [("failed", 1, "ours"), ("accepted", 0, "both"), ("stored", 0, "theirs")]
    assert ours.library.summary()["credits"].sum() == 20 + 53 + 53


def test_runs_without_a_request_and_rows_that_nobody_can_read_are_left_there(make: Make) -> None:
    """A run that another notebook follows comes over without it."""
    ours, theirs = make("ours"), make("theirs")
    theirs.uncertain(BOAT)
    theirs.accepted(TRAM, "followed")
    theirs.stored(BOAT.revised(seed=9))
    theirs.ledger.transact_now(lambda db: db.execute("UPDATE runs SET media = '[{' WHERE id = 3"))
    theirs.ledger.transact_now(lambda db: transitions.update_run(db, 2, owner=theirs.ledger.owner))

    ours.library.adopt(theirs.folder)

    assert [(entry.state, entry.request_id, entry.owner) for entry in ours.entries()] == [
        ("accepted", "followed", None)
    ]


def test_a_file_that_is_damaged_there_is_not_believed(make: Make) -> None:
    """Its run comes over without it, to fetch it again at no cost."""
    ours, theirs = make("ours"), make("theirs")
    theirs.stored(BOAT)
    theirs.path_of(1).write_bytes(b"a clop")

    report = ours.library.adopt(theirs.folder)

    assert "1 run, 0 files" in report
    assert "1 file missing or damaged there" in report
    assert [entry.stage for entry in ours.entries()] == ["completed"]
    assert ours.shelf.paths() == {}


def test_an_older_copy_of_this_library_brings_nothing_back(make: Make) -> None:
    """What was uncertain then and is settled since is not uncertain once more."""
    ours, old = make("ours"), make("old")
    ours.uncertain(BOAT)
    ours.failed(TRAM, "earlier")
    with (
        closing(sqlite3.connect(ours.folder / writer.NAME)) as source,
        closing(sqlite3.connect(old.folder / writer.NAME)) as copy,
    ):
        source.backup(copy)
    ours.library.uncertain[0].resubmit()
    ours.stored(BOAT, take=0, fresh=False)
    ours.stored(TRAM, take=0, fresh=False)

    report = ours.library.adopt(old.folder)

    assert "1 run here already" in report
    assert [entry.state for entry in ours.entries()] == ["stored", "stored"]
    assert ours.library.uncertain == []
