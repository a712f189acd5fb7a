"""What `rb.library()` gives: a table, a search, ways out of uncertainty, and order on the shelf."""

from __future__ import annotations

import csv
import json
import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from reelbook.errors import InvalidInput, ReelbookError
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.smart_resize import SmartResize
from reelbook.models.text_to_video import TextToVideo
from reelbook.storage.ledger.writer import Ledger
from reelbook.storage.library import Library
from reelbook.storage.shelf import Shelf
from tests.storage.made import BOAT, Made

Make = Callable[[str], Made]
DAY = 86_400.0


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """Four runs of different kinds, for those who only look."""
    made = with_four(Made(tmp_path_factory.mktemp("four") / "library"))
    yield made
    made.close()


@pytest.fixture
def found(made: Made) -> Made:
    """The same, to be changed."""
    return with_four(made)


def with_four(made: Made) -> Made:
    made.stored(BOAT)
    made.stored(BOAT.revised(prompt="a TRAM at dusk", seed=8), [(b"a tram", ".mp4")], charged=None)
    made.stored(SmartResize(image_url="https://e.org/boat.png", target_sizes=["300x600"]), [(b"small", ".png")])
    made.failed(ImageToVideo(prompt="closer", image_url="https://e.org/a.png"))
    return made


def cells(path: Path) -> list[list[str]]:
    """A table as a spreadsheet reads it."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def rows_of(path: Path) -> list[dict[str, str]]:
    head, *rows = cells(path)
    return [dict(zip(head, row, strict=True)) for row in rows]


# Being there, or not.


def test_a_folder_without_a_library_is_an_empty_one_and_stays_as_it_is(tmp_path: Path) -> None:
    """Looking makes nothing: no folder, no file, and the ledger is not even opened."""
    folder = tmp_path / "nowhere" / ".reelbook"

    def never() -> Ledger:
        raise AssertionError("nothing needs the ledger")

    library = Library(folder, never, Shelf(folder / "media"))

    assert (len(library), library.size, library.uncertain) == (0, 0, [])
    assert (len(library.frame), len(library.find(prompt="boat", seed=7))) == (0, 0)
    assert (library.verify().checked, library.prune().removed, library.summary().runs) == (0, 0, 0)
    assert repr(library) == f"<Library in {folder}: 0 runs, 0 bytes>"
    assert not (tmp_path / "nowhere").exists()


def test_the_table_has_rows_to_read_and_files_that_can_be_opened(four: Made) -> None:
    """Each with the fields of its own model; a number that is no run says where the numbers are."""
    frame = four.library.frame

    assert frame.loc[3, "target_sizes"] == ["300x600"]
    assert list(frame.index) == [1, 2, 3, 4]
    assert Path(frame["output_video"].iloc[0]).read_bytes() == b"a clip"
    assert Path(frame["output_images"].iloc[2][0]).read_bytes() == b"small"
    assert frame["status"].tolist() == ["completed", "completed", "completed", "failed"]
    assert frame["credits_source"].tolist() == ["charged", "estimated", "charged", "charged"]
    for run in (99, -1, 2**70):
        with pytest.raises(KeyError, match="There is no run"):
            four.library.run(run)


def test_a_summary_counts_what_is_there(found: Made) -> None:
    """Runs by their status, credits with what is certain of them, and the last runs, newest first."""
    found.uncertain(BOAT.revised(seed=20))

    summary = found.library.summary(last=2)

    assert summary.by_status == {"completed": 3, "failed": 1, "uncertain": 1}
    assert (summary.runs, summary.credits, summary.certain, summary.uncertain) == (5, 4 * 53, False, 1)
    assert [recent.run for recent in summary.last] == [5, 4]
    assert summary.size == 17


# Finding.


@pytest.mark.parametrize(
    ("fields", "runs"),
    [
        ({"prompt": "BOAT"}, [1]), ({"prompt": ["boat", "tram"]}, [1, 2]), ({"seed": 8}, [2]), ({"seed": range(7, 9)}, [1, 2]),
        ({"seed": None}, [3, 4]), ({"status": "failed"}, [4]), ({"status": ["failed", "completed"]}, [1, 2, 3, 4]),
        ({"model": "smart"}, [3]), ({"model": TextToVideo}, [1, 2]), ({"target_sizes": "300x600"}, [3]),
        ({"target_sizes": "300"}, [3]), ({"image_url": "e.org", "status": "failed"}, [4]), ({"duration": 5}, [4]),
        ({"expand_prompt": False}, [1, 2]), ({"credits": 53, "prompt": "tram"}, [2]), ({"request_id": "request-1"}, [1]),
        ({"prompt": "no such thing"}, []), ({"fps": 24}, []), ({}, [1, 2, 3, 4]), ({"prompt": "(?i).*"}, []),
        ({"seed": "8"}, [2]), ({"expand_prompt": "False"}, [1, 2]), ({"status": {"failed"}}, [4]), ({"fps": "24"}, []),
    ],
)  # fmt: skip
def test_find_takes_text_somewhere_and_anything_else_equal(four: Made, fields: dict[str, Any], runs: list[int]) -> None:
    """Every field must fit; of a list one entry is enough; a field of a model that nobody has used finds nothing."""
    hits = four.library.find(**fields)

    assert list(hits.index) == runs
    assert list(hits.columns) == list(four.library.frame.columns)


def test_find_since_a_time(made: Made) -> None:
    """A date, a time with or without a zone, or how long ago."""
    made.aged(made.stored(BOAT), 3)
    made.stored(BOAT.revised(seed=8))
    ago = datetime.now(UTC) - timedelta(days=2)

    answers = [
        made.library.find(since=since) for since in ("2d", timedelta(days=2), 2, ago, ago.isoformat(), ago.date())
    ]
    naive = made.library.find(since=ago.astimezone().replace(tzinfo=None))

    assert [list(hits.index) for hits in [*answers, naive]] == [[2]] * 7


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"promt": "boat"}, "Did you mean 'prompt'"), ({"status": "complete"}, "Did you mean 'completed'"),
        ({"since": "soonish"}, "7d"), ({"since": float("nan")}, "length of time"), ({"zzz": 1}, "no column 'zzz'"),
        ({"status": 5}, "5 is not a status"), ({"status": ["failed", "won"]}, "'won' is not a status"),
    ],
)  # fmt: skip
def test_find_names_what_it_does_not_know(four: Made, fields: dict[str, Any], said: str) -> None:
    """A slip of the pen is not an empty answer."""
    with pytest.raises(InvalidInput, match=said):
        four.library.find(**fields)


# Uncertain runs.


def test_an_uncertain_run_says_what_it_may_have_cost(made: Made) -> None:
    """What was asked, when, at most how much, and how its answer was lost."""
    made.uncertain(BOAT.revised(prompt="a paper boat\n\x1b[31m" + "x" * 200))

    listed = made.library.uncertain

    assert (listed[0].credits, listed.credits, listed[0].run) == (53, 53, 1)
    assert listed[0].input["seed"] == 7
    assert datetime.now(UTC) - listed[0].when < timedelta(minutes=1)
    assert "a paper boat" in repr(listed)
    assert "at most 53 credits (the connection was reset)" in repr(listed)
    assert "\x1b" not in repr(listed)
    assert max(map(len, repr(listed).splitlines())) < 250


@pytest.mark.parametrize("way", ["attach", "write off", "resubmit"])
def test_the_three_ways_out(made: Made, way: str) -> None:
    """Without a client the ledger knows of the decision, and the next run of the same goes by it; the price stays counted."""
    made.uncertain()
    (lost,) = made.library.uncertain

    expected: tuple[str, str | None, str | None]
    if way == "attach":
        lost.attach(" request-77 ")
        expected = ("accepted", "request-77", None)
    elif way == "write off":
        lost.write_off()
        expected = ("failed", None, "written_off")
    else:
        lost.resubmit()
        expected = ("planned", None, "resubmitted")

    entry = made.entry(1)
    assert (entry.state, entry.request_id, entry.error_type) == expected
    assert (entry.owner, entry.credits) == (None, 53)
    assert made.library.uncertain == []


def test_a_request_belongs_to_one_run(made: Made) -> None:
    """The request of another run is not the lost one; nor is nothing at all."""
    made.stored(BOAT, request_id="request-1")
    made.uncertain(BOAT.revised(seed=8))
    (lost,) = made.library.uncertain

    with pytest.raises(ReelbookError, match="is run 1 of the library already"):
        lost.attach("request-1")
    with pytest.raises(ReelbookError, match="not a request id"):
        lost.attach(" ")

    assert made.entry(2).state == "uncertain"


# Exporting.


def test_an_export_has_names_to_read_and_two_tables(four: Made, tmp_path: Path) -> None:
    """Number, words, seed; the tables say which file belongs to which run."""
    target = four.library.export(tmp_path / "out")

    names = sorted(path.name for path in target.iterdir())
    told = json.loads((target / "runs.json").read_text(encoding="utf-8"))
    rows = rows_of(target / "runs.csv")
    assert names == [
        "0001-a-paper-boat-seed-7.mp4",
        "0002-a-tram-at-dusk-seed-8.mp4",
        "0003-smart-resize.png",
        "runs.csv",
        "runs.json",
    ]
    assert (target / names[1]).read_bytes() == b"a tram"
    assert [run["files"] for run in told["runs"]] == [[names[0]], [names[1]], [names[2]], []]
    assert told["runs"][0]["input"]["num_frames"] == 49
    assert [row["files"] for row in rows] == [*names[:3], ""]
    assert (rows[0]["seed"], rows[0]["credits"], rows[3]["error_type"]) == ("7", "53", "source_unreadable")


def test_an_export_done_again_copies_what_is_missing(four: Made, tmp_path: Path) -> None:
    """What is there and the same is left alone, also without the table that an interrupt has prevented."""
    target = four.library.export(tmp_path / "out")
    first, second = target / "0001-a-paper-boat-seed-7.mp4", target / "0002-a-tram-at-dusk-seed-8.mp4"
    second.unlink()
    before = first.stat().st_mtime_ns
    four.library.export(target)
    (target / "runs.json").unlink()
    (target / "runs.csv").unlink()

    four.library.export(target)

    assert (first.stat().st_mtime_ns, second.read_bytes()) == (before, b"a tram")
    assert len(list(target.iterdir())) == 5


def test_an_export_keeps_what_others_put_there(four: Made, tmp_path: Path) -> None:
    """A file of that name that somebody has changed stays, and the copy goes beside it; a folder with a table is refused."""
    (tmp_path / "runs.csv").write_text("mine")
    with pytest.raises(ReelbookError, match="Choose another folder"):
        four.library.export(tmp_path)
    assert not (tmp_path / "0001-a-paper-boat-seed-7.mp4").exists()
    target = four.library.export(tmp_path / "out")
    mine = target / "0001-a-paper-boat-seed-7.mp4"
    mine.write_bytes(b"cut by hand")
    (target / "notes.txt").write_text("mine")

    four.library.export(target)

    assert mine.read_bytes() == b"cut by hand"
    assert (target / "0001-a-paper-boat-seed-7~2.mp4").read_bytes() == b"a clip"
    assert (target / "notes.txt").exists()


def test_hostile_texts_make_harmless_names_and_cells(made: Made, tmp_path: Path) -> None:
    """Nothing leaves the folder, and no spreadsheet runs what a stranger wrote."""
    hostile = ["../../etc/passwd", "=HYPERLINK(1)", "CON", "\u202egpj.exe", "a\x00b", "ﷺ" * 200, "+1\n@x", ""]
    for seed, prompt in enumerate(hostile):
        made.stored(BOAT.revised(prompt=prompt, seed=seed), [(prompt.encode(), ".mp4")])

    target = made.library.export(tmp_path / "out")

    names = [path.name for path in target.glob("*.mp4")]
    told = [cell for row in cells(target / "runs.csv") for cell in row]
    assert len(names) == len(hostile)
    assert all(len(name.encode()) < 200 and name.isprintable() and name[:4].isdecimal() for name in names)
    assert [path.name for path in tmp_path.iterdir() if path.name != "library"] == ["out"]
    assert not [cell for cell in told if cell.startswith(("=", "+", "@", "\t"))]


# Verifying and pruning.


def test_a_damaged_or_missing_file_is_fetched_again(found: Made) -> None:
    """A damaged one is moved aside, never deleted; the row says that its file has to come again, which costs nothing."""
    before = found.library.verify()
    path = found.path_of(1)
    path.write_bytes(b"a clop")
    found.path_of(2).unlink()
    (found.shelf.folder / "notes.txt").write_text("mine")

    report = found.library.verify()

    assert repr(before) == "<3 files checked, all sound>"
    assert (report.runs, len(report.damaged)) == ((1, 2), 1)
    assert path.stem in report.missing
    assert (found.shelf.folder / "notes.txt").exists()
    assert found.library.verify().runs == ()
    assert report.damaged[0].read_bytes() == b"a clop"
    assert not path.exists()
    assert (found.entry(1).stage, found.entry(1).owner) == ("completed", None)
    assert pd.isna(found.library.frame["output_video"].iloc[0])
    assert found.library.frame.loc[1, "status"] == "completed"
    assert "1 damaged" in repr(report)
    assert "2 runs to be fetched again (1, 2)" in repr(report)


def test_pruning_removes_only_what_can_be_had_again(made: Made) -> None:
    """Files of old runs are named and stay; half downloads and files that no run names go, once they are old."""
    made.aged(made.stored(), 40)
    orphan, part, young = made.shelf.keep(b"orphan", ".mp4"), made.shelf.part("old"), made.shelf.keep(b"young", ".mp4")
    part.write_bytes(b"half")
    for path in (orphan, part):
        os.utime(path, (time.time() - 40 * DAY,) * 2)

    report = made.library.prune("30d")

    assert (report.removed, report.size, [(run.run, run.credits) for run in report.going]) == (2, 10, [(1, 53)])
    assert (orphan.exists(), part.exists(), young.exists(), made.path_of(1).exists()) == (False, False, True, True)
    assert "yes=True" in repr(report)
    assert made.entry(1).state == "stored"


def test_with_yes_the_rest_goes_and_the_rows_stay(made: Made) -> None:
    """What is to be kept stays, a file that a younger run names, and a person's own picture."""
    made.aged(made.stored(), 40)
    made.aged(made.stored(BOAT.revised(seed=8), [(b"shared", ".mp4")]), 40)
    made.stored(BOAT.revised(seed=9), [(b"shared", ".mp4")])
    picture = made.shelf.keep(b"my photo", ".png")
    made.aged(made.stored({"image_url": {"sha256": picture.stem}}, []), 40)
    made.aged(made.stored(BOAT.revised(seed=10), [(b"kept", ".mp4")]), 40)
    os.utime(picture, (time.time() - 40 * DAY,) * 2)

    report = made.library.prune(30, keep=made.library.find(seed=10), yes=True)

    assert (report.removed, [run.run for run in report.going], report.done) == (1, [1], True)
    assert [made.path_of(run).exists() for run in (1, 2, 5)] == [False, True, True]
    assert picture.exists()
    assert [entry.stage for entry in made.entries()] == ["completed", *["stored"] * 4]
    assert len(made.library.frame) == 5
    assert pd.isna(made.library.frame["output_video"].iloc[0])
