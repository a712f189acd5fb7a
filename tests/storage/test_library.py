"""What `rb.library()` gives: a table, a search, ways out of uncertainty, and order on the shelf."""

from __future__ import annotations

import csv
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from reelbook.errors import InvalidInput, ReelbookError
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.smart_resize import SmartResize
from reelbook.models.text_to_video import TextToVideo
from reelbook.storage.ledger.transitions import Entry
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

    assert (len(library), list(library), library.size, library.uncertain) == (0, [], 0, [])
    assert (len(library.frame), len(library.find(prompt="boat", seed=7))) == (0, 0)
    assert (library.verify().checked, library.prune().removed, library.summary().runs) == (0, 0, 0)
    assert repr(library) == f"<Library in {folder}: 0 runs, 0 bytes>"
    assert not (tmp_path / "nowhere").exists()


def test_a_run_is_found_by_its_number(four: Made) -> None:
    """As a row, with the fields of its own model alone."""
    row = four.library[3]

    assert row["target_sizes"] == ["300x600"]
    assert "num_frames" not in row
    assert list(four.library) == [1, 2, 3, 4]
    assert 4 in four.library


@pytest.mark.parametrize("run", [99, -1, "one", 2**70])
def test_a_number_that_is_no_run_says_so(four: Made, run: Any) -> None:
    """The error says where the numbers are."""
    with pytest.raises(ReelbookError, match="There is no run") as raised:
        four.library[run]

    assert isinstance(raised.value, KeyError)


def test_the_table_has_files_that_can_be_opened(four: Made) -> None:
    """Paths are those of the shelf."""
    frame = four.library.frame

    assert Path(frame["output_video"].iloc[0]).read_bytes() == b"a clip"
    assert Path(frame["output_images"].iloc[2][0]).read_bytes() == b"small"
    assert frame["status"].tolist() == ["completed", "completed", "completed", "failed"]
    assert frame["credits_source"].tolist() == ["charged", "estimated", "charged", "charged"]


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


def test_attached_it_can_be_followed(made: Made) -> None:
    """Without a client the ledger knows the request, and whoever runs it next follows it."""
    made.uncertain()

    made.library.uncertain[0].attach(" request-77 ")

    entry = made.entry(1)
    assert (entry.state, entry.request_id, entry.owner) == ("accepted", "request-77", None)
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


def test_written_off_it_counts_as_spent(made: Made) -> None:
    """It is failed then, at its whole price."""
    made.uncertain()

    made.library.uncertain[0].write_off()

    row = made.library.frame.loc[1]
    assert (row["status"], row["credits"], row["error_type"]) == ("failed", 53, "written_off")


def test_resubmitted_it_may_be_sent_once_more(made: Made) -> None:
    """The price of the lost one stays counted."""
    made.uncertain()

    made.library.uncertain[0].resubmit()

    entry = made.entry(1)
    assert (entry.state, entry.spent, entry.request_id) == ("planned", 53, None)


def test_a_client_takes_the_ways_out_where_there_is_one(made: Made) -> None:
    """What needs a service is handed in, and gets the row."""
    calls: list[Any] = []

    def attach(row: Entry, request_id: str) -> str:
        calls.append((row.id, request_id))
        return "a run"

    def resend(row: Entry) -> str:
        calls.append(row.id)
        return "another run"

    library = Library(made.folder, made.ledger, made.shelf, attach=attach, resend=resend)
    made.uncertain()

    assert (library.uncertain[0].attach("r"), library.uncertain[0].resubmit()) == ("a run", "another run")
    assert calls == [(1, "r"), 1]


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


def test_the_names_of_an_export_say_what_varies(made: Made, tmp_path: Path) -> None:
    """Beside the seed, the inputs in which the runs differ; a copy keeps its name when others are exported beside it."""
    for frames, size in ((49, "480p"), (97, "480p"), (97, "720p")):
        made.stored(BOAT.revised(num_frames=frames, resolution=size), [(f"{frames} {size}".encode(), ".mp4")])
    alone = made.library.export(tmp_path / "alone", "request-2")

    target = made.library.export(tmp_path / "out")
    made.library.export(alone)

    stem = "a-paper-boat-seed-7"
    names = [
        f"{stem}-num-frames-49-resolution-480p",
        f"{stem}-num-frames-97-resolution-480p",
        f"{stem}-num-frames-97-resolution-720p",
    ]
    assert sorted(path.stem for path in target.glob("*.mp4")) == [
        f"{number:04d}-{name}" for number, name in enumerate(names, 1)
    ]
    assert sorted(path.stem for path in alone.glob("*.mp4")) == [f"0001-{names[0]}", f"0002-{stem}", f"0003-{names[2]}"]
    assert [row["files"] for row in rows_of(alone / "runs.csv")][1] == f"0002-{stem}.mp4"


def test_each_copy_carries_its_facts(made: Made, tmp_path: Path) -> None:
    """What the library knows of a run goes with its file."""
    written: list[Mapping[str, Any]] = []

    def write(source: Path, target: Path, facts: Mapping[str, Any]) -> None:
        written.append(facts)
        target.write_bytes(source.read_bytes() + b"!")

    made.stored(output={"seed": 11})

    Library(made.folder, made.ledger, made.shelf, write=write).export(tmp_path / "out")

    (facts,) = written
    assert (tmp_path / "out" / "0001-a-paper-boat-seed-7.mp4").read_bytes() == b"a clip!"
    assert (facts["model"], facts["input"]["prompt"], facts["seed"]) == (BOAT.endpoint_id, "a paper boat", 11)
    assert (facts["credits"], facts["credits_source"], facts["request_id"]) == (53, "charged", "request-1")
    assert datetime.fromisoformat(facts["made_at"]).tzinfo is not None
    assert facts["service"] == "https://example.org/api"


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
    """A file of that name that somebody has changed stays; the copy goes beside it."""
    target = four.library.export(tmp_path / "out")
    mine = target / "0001-a-paper-boat-seed-7.mp4"
    mine.write_bytes(b"cut by hand")
    (target / "notes.txt").write_text("mine")

    four.library.export(target)

    assert mine.read_bytes() == b"cut by hand"
    assert (target / "0001-a-paper-boat-seed-7~2.mp4").read_bytes() == b"a clip"
    assert (target / "notes.txt").exists()


def test_an_export_does_not_write_over_somebody_elses_table(four: Made, tmp_path: Path) -> None:
    """A folder that has a runs.csv of its own is refused before anything is copied."""
    (tmp_path / "runs.csv").write_text("mine")

    with pytest.raises(ReelbookError, match="Choose another folder"):
        four.library.export(tmp_path)

    assert (tmp_path / "runs.csv").read_text() == "mine"
    assert not (tmp_path / "0001-a-paper-boat-seed-7.mp4").exists()


def test_facts_that_have_changed_are_written_anew(made: Made, tmp_path: Path) -> None:
    """A copy of ours that nobody has changed is replaced when more is known of its run."""

    def write(source: Path, target: Path, facts: Mapping[str, Any]) -> None:
        target.write_text(str(facts["credits"]))

    made.stored(charged=None)
    library = Library(made.folder, made.ledger, made.shelf, write=write)
    target = library.export(tmp_path / "out")
    made.ledger.transact_now(lambda db: db.execute("UPDATE runs SET charged = 40"))

    library.export(target)

    assert [path.read_text() for path in target.glob("*.mp4")] == ["40"]


@pytest.mark.parametrize(
    "where", [["request-2"], "index", lambda row: row["seed"] == 8, "found"], ids=["ids", "index", "question", "table"]
)
def test_an_export_can_be_of_some_runs(four: Made, tmp_path: Path, where: Any) -> None:
    """The same ways to say which as everywhere."""
    rows = four.library.find(seed=8)
    chosen = (rows if where == "found" else rows.index) if isinstance(where, str) else where

    target = four.library.export(tmp_path / "out", chosen)

    assert [path.name for path in target.glob("*.mp4")] == ["0002-a-tram-at-dusk-seed-8.mp4"]
    assert len(rows_of(target / "runs.csv")) == 1


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


def test_whole_files_pass(four: Made) -> None:
    """Every file is read again, and the answer is one line."""
    report = four.library.verify()

    assert report.sound
    assert repr(report) == "<3 files checked, all sound>"


def test_a_damaged_file_is_moved_aside_and_its_run_fetched_again(found: Made) -> None:
    """Never deleted; the row says that its file has to come again, which costs nothing."""
    path = found.path_of(1)
    path.write_bytes(b"a clop")

    report = found.library.verify()

    assert (report.runs, len(report.damaged), report.missing) == ((1,), 1, (path.stem,))
    assert report.damaged[0].read_bytes() == b"a clop"
    assert not path.exists()
    assert (found.entry(1).stage, found.entry(1).owner) == ("completed", None)
    assert pd.isna(found.library.frame["output_video"].iloc[0])
    assert found.library.frame.loc[1, "status"] == "completed"
    assert "1 damaged" in repr(report)
    assert "1 run to be fetched again (1)" in repr(report)


def test_a_missing_file_is_noticed_and_what_is_not_ours_left_alone(found: Made) -> None:
    """Its run is fetched again when it is next wanted."""
    found.path_of(2).unlink()
    (found.shelf.folder / "notes.txt").write_text("mine")

    report = found.library.verify()

    assert report.runs == (2,)
    assert (found.shelf.folder / "notes.txt").exists()
    assert found.library.verify().runs == ()


def test_pruning_removes_only_what_can_be_had_again(made: Made) -> None:
    """Files of old runs are named and stay; half downloads and files that no run names go, once they are old."""
    made.aged(made.stored(), 40)
    orphan, part, young = made.shelf.keep(b"orphan", ".mp4"), made.shelf.part("old"), made.shelf.keep(b"young", ".mp4")
    part.write_bytes(b"half")
    for path in (orphan, part):
        os.utime(path, (time.time() - 40 * DAY,) * 2)

    report = made.library.prune("30d")

    assert (report.removed, report.size, report.at_stake, report.at_stake_credits) == (2, 10, (1,), 53)
    assert (orphan.exists(), part.exists(), young.exists(), made.path_of(1).exists()) == (False, False, True, True)
    assert "yes=True" in repr(report)
    assert made.entry(1).state == "stored"


def test_with_yes_the_rest_goes_and_the_rows_stay(made: Made) -> None:
    """The row says that its file is not here any more; a file that a younger run names stays."""
    made.aged(made.stored(), 40)
    made.aged(made.stored(BOAT.revised(seed=8), [(b"shared", ".mp4")]), 40)
    made.stored(BOAT.revised(seed=9), [(b"shared", ".mp4")])

    report = made.library.prune(30, yes=True)

    assert (report.removed, report.at_stake, report.done) == (1, (1,), True)
    assert (made.path_of(1).exists(), made.path_of(2).exists()) == (False, True)
    assert [entry.stage for entry in made.entries()] == ["completed", "stored", "stored"]
    assert len(made.library.frame) == 3
    assert pd.isna(made.library.frame["output_video"].iloc[0])


def test_what_was_made_of_a_file_for_showing_it_goes_with_it(made: Made) -> None:
    """Posters and previews of files that are gone; those of other files stay, and a dry run leaves them all."""
    made.aged(made.stored(), 40)
    made.stored(BOAT.revised(seed=8), [(b"young", ".mp4")])
    shown = [made.folder / "posters" / f"{made.path_of(run).stem}-320.jpg" for run in (1, 2)]
    shown.append(made.folder / "previews" / f"{made.path_of(1).stem}-320-150000-12.mp4")
    for path in shown:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"small")

    made.library.prune(30, dry_run=True, yes=True)
    before = [path.exists() for path in shown]
    made.library.prune(30, yes=True)

    assert before == [True] * 3
    assert [path.exists() for path in shown] == [False, True, False]


@pytest.mark.parametrize(
    "keep", [["request-1"], lambda row: row["seed"] == 7, "found"], ids=["request", "question", "table"]
)
def test_runs_can_be_kept(made: Made, keep: Any) -> None:
    """A run that is to be kept is not even at stake."""
    made.aged(made.stored(), 40)

    report = made.library.prune("30d", keep=made.library.find(seed=7) if keep == "found" else keep, yes=True)

    assert (report.at_stake, made.path_of(1).exists()) == ((), True)


def test_pictures_of_inputs_are_never_pruned(made: Made) -> None:
    """They are the person's own, and the same input cannot be made again without them."""
    picture = made.shelf.keep(b"my photo", ".png")
    made.aged(made.stored({"image_url": {"sha256": picture.stem}}, []), 40)
    os.utime(picture, (time.time() - 40 * DAY,) * 2)

    report = made.library.prune("30d", yes=True)

    assert (report.removed, picture.exists()) == (0, True)


def test_what_another_shelf_has_too_goes_from_here(make: Make, tmp_path: Path) -> None:
    """It comes back from there when it is next wanted, so nothing is lost and no row changes."""
    made = make("library")
    shelf = Shelf(f"file://{tmp_path / 'remote'}", cache=tmp_path / "cache")
    made.shelf, made.library = shelf, Library(made.folder, made.ledger, shelf)
    made.aged(made.stored(), 40)

    report = made.library.prune("30d")

    assert (report.removed, report.at_stake, made.entry(1).state) == (1, (), "stored")
    assert pd.isna(made.library.frame["output_video"].iloc[0])
    assert made.library.size == 0
    assert shelf.find(made.path_of(1).stem) is not None


def test_a_summary_counts_what_is_there(found: Made) -> None:
    """Runs by their status, credits with what is certain of them, and the last runs, newest first."""
    found.uncertain(BOAT.revised(seed=20))

    summary = found.library.summary(last=2)

    assert summary.by_status == {"completed": 3, "failed": 1, "uncertain": 1}
    assert (summary.runs, summary.credits, summary.certain, summary.uncertain) == (5, 4 * 53, False, 1)
    assert [recent.run for recent in summary.last] == [5, 4]
    assert summary.size == 17
