"""What `rb.library()` gives: a table, a search, ways out of uncertainty, and order on the shelf."""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from reelbook.errors import InvalidInput, ReelbookError
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.smart_resize import SmartResize
from reelbook.storage.ledger.writer import Ledger
from reelbook.storage.library import Library
from reelbook.storage.shelf import Shelf
from tests.storage.made import BOAT, Made

DAY = 86_400.0


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """Four runs of different kinds, for those who only look."""
    made = with_four(Made(tmp_path_factory.mktemp("four") / "library"))
    yield made
    made.close()


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


def test_a_folder_without_a_library_is_an_empty_one_and_stays_as_it_is(tmp_path: Path) -> None:
    """Looking makes nothing: no folder, no file, and the ledger is not even opened."""
    folder = tmp_path / "nowhere" / ".reelbook"

    def never() -> Ledger:
        raise AssertionError("nothing needs the ledger")

    library = Library(folder, never, Shelf(folder / "media"))

    assert (len(library), library.size, library.uncertain) == (0, 0, [])
    assert (len(library.frame), len(library.find(prompt="boat", seed=7)), len(library.latest())) == (0, 0, 0)
    assert (library.verify(), len(library.prune()), len(library.summary())) == ("0 files checked", 0, 0)
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
    assert list(four.library.latest(2).index) == [3, 4]
    for run in (99, -1, 2**70):
        with pytest.raises(InvalidInput, match="0 runs of the library"):
            four.library.run(run)


def test_a_summary_counts_what_is_there(made: Made) -> None:
    """Runs by their status, the most frequent first, with their credits and how many of those are estimates."""
    with_four(made).uncertain(BOAT.revised(seed=20))

    summary = made.library.summary()

    assert list(summary.itertuples(name=None)) == [
        ("completed", 3, 3 * 53, 1), ("failed", 1, 0, 0), ("uncertain", 1, 53, 1)
    ]  # fmt: skip
    assert repr(made.library) == f"<Library in {made.folder}: 5 runs, 17 bytes>"


@pytest.mark.parametrize(
    ("fields", "runs"),
    [
        ({"prompt": "BOAT"}, [1]), ({"prompt": ["boat", "tram"]}, [1, 2]), ({"seed": 8}, [2]), ({"seed": range(7, 9)}, [1, 2]),
        ({"seed": None}, [3, 4]), ({"status": "failed"}, [4]), ({"status": ["failed", "completed"]}, [1, 2, 3, 4]),
        ({"model": "smart"}, [3]), ({"target_sizes": "300"}, [3]), ({"image_url": "e.org", "status": "failed"}, [4]),
        ({"duration": 5}, [4]), ({"expand_prompt": False}, [1, 2]), ({"credits": 53, "prompt": "tram"}, [2]),
        ({"request_id": "request-1"}, [1]), ({"prompt": "no such thing"}, []), ({}, [1, 2, 3, 4]),
        ({"prompt": "(?i).*"}, []), ({"seed": "8"}, [2]), ({"status": {"failed"}}, [4]), ({"seed": []}, []), ({"seed": "NA"}, []),
    ],
)  # fmt: skip
def test_find_takes_text_somewhere_and_anything_else_equal(four: Made, fields: dict[str, Any], runs: list[int]) -> None:
    """Every field must fit; of a list one entry is enough."""
    hits = four.library.find(**fields)

    assert list(hits.index) == runs
    assert list(hits.columns) == list(four.library.frame.columns)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"promt": "boat"}, "Did you mean 'prompt'"), ({"status": "complete"}, "'complete' is not a status. It is completed"),
        ({"fps": 24}, "no column 'fps'"),
        ({"status": 5}, "5 is not a status"), ({"status": ["failed", "won"]}, "'won' is not a status"),
    ],
)  # fmt: skip
def test_find_names_what_it_does_not_know(four: Made, fields: dict[str, Any], words: str) -> None:
    """A slip of the pen is not an empty answer."""
    with pytest.raises(InvalidInput, match=words):
        four.library.find(**fields)


def test_an_uncertain_run_says_what_it_may_have_cost(made: Made) -> None:
    """What was asked, when, at most how much, and how its answer was lost."""
    made.uncertain(BOAT.revised(prompt="a paper boat\n\x1b[31m" + "x" * 200))

    listed = made.library.uncertain

    assert (listed[0].credits, listed.credits, listed[0].run) == (53, 53, 1)
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


def test_an_export_has_names_to_read_and_a_table(four: Made, tmp_path: Path) -> None:
    """Number, words, seed; the table says which file belongs to which run."""
    target = four.library.export(tmp_path / "out")

    names = sorted(path.name for path in target.iterdir())
    head, *lines = cells(target / "runs.csv")
    rows = [dict(zip(head, line, strict=True)) for line in lines]
    assert names == [
        "0001-a-paper-boat_seed-7.mp4", "0002-a-tram-at-dusk_seed-7.mp4", "0003-smart-resize.png", "runs.csv",
    ]  # fmt: skip
    assert (target / names[1]).read_bytes() == b"a tram"
    assert (rows[0]["num_frames"], rows[2]["target_sizes"]) == ("49", '["300x600"]')
    assert [row["files"] for row in rows] == [*names[:3], ""]
    assert (rows[0]["seed"], rows[0]["credits"], rows[3]["error_type"]) == ("7", "53", "source_unreadable")


def test_an_export_done_again_copies_what_is_missing(four: Made, tmp_path: Path) -> None:
    """What is there is left alone, also one that somebody has changed, and without the table that an interrupt has prevented."""
    target = four.library.export(tmp_path / "out")
    first, second, third = sorted(path for path in target.iterdir() if path.suffix in (".mp4", ".png"))
    before = first.stat().st_mtime_ns
    second.unlink()
    third.write_bytes(b"cut by hand")
    four.library.export(target)
    (target / "runs.csv").unlink()

    four.library.export(target)

    assert (first.stat().st_mtime_ns, second.read_bytes(), third.read_bytes()) == (before, b"a tram", b"cut by hand")
    assert (target / f"{third.stem}~2.png").read_bytes() == b"small"
    assert len(list(target.iterdir())) == 5
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "runs.csv").write_text("mine")
    with pytest.raises(ReelbookError, match="Choose another folder"):
        four.library.export(tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["runs.csv"]


def test_hostile_texts_make_harmless_names_and_cells(made: Made, tmp_path: Path) -> None:
    """Nothing leaves the folder, and no spreadsheet runs what a stranger wrote."""
    hostile = ["../../etc/passwd", "=HYPERLINK(1)", "CON", "\u202egpj.exe", "a\x00b", "ﷺ" * 200, "+1\n@x", ""]
    for seed, prompt in enumerate(hostile):
        made.stored(BOAT.revised(prompt=prompt, seed=seed), [(prompt.encode(), ".mp4")])

    target = made.library.export(tmp_path / "out")

    names = [path.name for path in target.glob("*.mp4")]
    texts = [cell for row in cells(target / "runs.csv") for cell in row]
    assert len(names) == len(hostile)
    assert all(len(name.encode()) < 200 and name.isprintable() and name[:4].isdecimal() for name in names)
    assert [path.name for path in tmp_path.iterdir() if path.name != "library"] == ["out"]
    assert not [cell for cell in texts if cell.startswith(("=", "+", "@", "\t"))]


def test_a_damaged_or_missing_file_is_fetched_again(made: Made) -> None:
    """A damaged one is moved aside, never deleted; the row says that its file has to come again, which costs nothing."""
    library, path = with_four(made).library, made.path_of(1)
    before = library.verify()
    path.write_bytes(b"a clop")
    made.path_of(2).unlink()
    (made.shelf.folder / "notes.txt").write_text("mine")

    report = library.verify()

    aside = made.shelf.folder / "damaged"
    assert before == "3 files checked: 0 damaged, 0 missing, 0 runs to be fetched again"
    assert report == f"2 files checked: 1 damaged and moved to {aside}, 2 missing, 2 runs to be fetched again"
    assert "1 file checked: 0 damaged" in library.verify()
    assert [file.read_bytes() for file in aside.iterdir()] == [b"a clop"]
    assert (path.exists(), (made.shelf.folder / "notes.txt").exists()) == (False, True)
    assert (made.entry(1).stage, made.entry(1).owner) == ("completed", None)
    assert pd.isna(library.frame["output_video"].iloc[0])
    assert library.frame.loc[1, "status"] == "completed"


def test_pruning_removes_only_what_can_be_had_again(made: Made) -> None:
    """Files of old runs are listed and stay; half downloads and files that no run names go, once they are old."""
    made.aged(made.stored(), 40)
    orphan, part, young = (
        made.shelf.keep(b"orphan", ".mp4"),
        made.shelf.folder / "old.part",
        made.shelf.keep(b"young", ".mp4"),
    )
    part.write_bytes(b"half")
    for path in (orphan, part):
        os.utime(path, (time.time() - 40 * DAY,) * 2)

    for wrong in (-1, float("nan"), "30d"):
        with pytest.raises(InvalidInput, match="not a number of days"):
            made.library.prune(wrong, yes=True)  # type: ignore[arg-type]
    listed = made.library.prune(30)

    assert list(listed[["prompt", "credits", "bytes"]].itertuples(name=None)) == [(1, "a paper boat", 53, 6)]
    assert (orphan.exists(), part.exists(), young.exists(), made.path_of(1).exists()) == (False, False, True, True)
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
    films = made.path_of(1), made.path_of(5)
    derived = [made.shelf.folder.parent / folder / f"{film.stem}-3-small" for folder in ("posters", "previews", "strips", "measures") for film in films]  # fmt: skip
    for path in derived:
        path.parent.mkdir(exist_ok=True)
        path.touch()

    removed = made.library.prune(30, keep=made.library.find(seed=10), yes=True)

    assert list(removed.index) == [1]
    assert [made.path_of(run).exists() for run in (1, 2, 5)] == [False, True, True]
    assert [path.exists() for path in derived] == [False, True] * 4
    assert picture.exists()
    assert [entry.stage for entry in made.entries()] == ["completed", *["stored"] * 4]
    assert len(made.library.frame) == 5
    assert pd.isna(made.library.frame["output_video"].iloc[0])
