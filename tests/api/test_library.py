"""The door to what was made before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import reelbook as rb
from reelbook.storage.ledger.claims import make_acceptance
from reelbook.storage.library_folder import library_folder
from tests.storage.made import Made
from tests.support import KEY, Served, png
from tests.transport.variants import Hosted, Reply

DOT = rb.ImagesToVideo(images=[rb.Frame(url=png(16, 16), frames=1)])
BOAT = rb.TextToVideo(prompt="a boat", num_frames=9, resolution="480p", aspect_ratio="1:1", seed=7)


def test_the_library_of_the_open_client_is_the_library(shared: Served, tmp_path: Path) -> None:
    """What was run is in its table, and can be looked into without any client."""
    with rb.connect(shared.base_url, api_key=KEY, library=tmp_path / "library") as client:
        run = client.run(DOT)
        frame = rb.library().frame
    later = rb.library(tmp_path / "library").frame

    assert list(frame["request_id"]) == list(later["request_id"]) == [run.request_id]
    assert frame["status"].item() == "completed"
    assert frame["output_video"].item() == str(run.video.path)


@pytest.mark.parametrize("place", ["mistyped/path/that/does/not/exist", "full", "full/file"])
def test_a_folder_without_a_library_is_told(tmp_path: Path, place: str) -> None:
    """A slip of the pen is not an empty library; the sentence says how a new one begins, and nothing is made."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")

    with pytest.raises(rb.ReelbookError, match=r"There is no library in .*Check the path; rb.connect\(library="):
        rb.library(tmp_path / place)

    assert [path.name for path in tmp_path.rglob("*")] == ["full", "file"]


def test_a_library_is_found_by_its_folder_or_its_project(tmp_path: Path) -> None:
    """Also one that nothing is in yet, and one whose ledger is gone for now and will be put back from its second copy."""
    own = tmp_path / "project" / ".reelbook"
    made = Made(own)
    run = made.accepted(BOAT, "r-7")
    made.ledger.submit(lambda db: None, line=make_acceptance(made.entry(run), "r-7")).result(10)
    made.close()
    (tmp_path / "new").mkdir()

    by_project, by_folder = rb.library(tmp_path / "project"), rb.library(str(own))
    new = rb.library(tmp_path / "new")
    taken = new.adopt(own)

    assert by_project.folder == by_folder.folder == own
    assert taken.startswith("1 run and 0 files")
    assert len(by_project) == len(new) == 1
    (own / "ledger.sqlite").unlink()
    assert rb.library(own).folder == own


def test_the_table_of_a_library_has_its_files_in_a_fresh_interpreter(tmp_path: Path) -> None:
    """`.reel` comes with the library and with a table that is read: nothing else of Reelbook need be named before."""
    made = Made(tmp_path)
    made.stored(BOAT)
    made.close()
    code = (
        "import reelbook as rb, sys; table = {}; print(*table.reel.outputs()['path']); table.to_parquet('runs.parquet')"
    )
    for way in ("rb.library(sys.argv[1]).frame", "rb.read('runs.parquet')"):
        done = subprocess.run(
            [sys.executable, "-c", code.format(way), str(tmp_path)], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path
        )  # fmt: skip

        assert (done.stdout.strip(), done.stderr) == (str(made.path_of(1)), "")


def test_a_saved_file_tells_its_input_and_what_it_cost(shared: Served, tmp_path: Path) -> None:
    """Read back from the copy alone, ready to be run again."""
    with rb.connect(shared.base_url, api_key=KEY, library=tmp_path / "library") as client:
        run = client.run(BOAT)
        found = rb.provenance(run.video.save(tmp_path / "boat.mp4"))
        again = client.run(found.input) if found.input else None

    assert found.input == BOAT
    assert (found.request_id, found.credits, found.credits_source) == (run.request_id, 53, "charged")
    assert again is not None
    assert again.from_library


def test_an_uncertain_run_is_settled_by_a_person(tmp_path: Path) -> None:
    """Attached to the request that the account shows, sent once more, or written off; each pays what it must."""
    with Hosted() as hosted, rb.connect(hosted.base_url, api_key="a-key-of-this-test", library=tmp_path) as client:
        hosted.queue(
            BOAT.endpoint_id,
            request_id="r-9",
            output={"video": {"url": f"{hosted.base_url}/file"}, "seed": 7, "prompt": "a boat"},
        )
        hosted.on("GET", "/file", Reply(200, png()))
        hosted.on("POST", "/models/run", Reply(fault="close"))
        for seed in (1, 2, 3):
            with pytest.raises(rb.UncertainRun):
                client.run(BOAT.revised(seed=seed))
        hosted.on("POST", "/models/run", {"requestId": "r-9"})
        first, second, third = rb.library().uncertain

        with pytest.raises(rb.NotFound):
            first.attach("r-unknown")
        attached = first.attach("r-9").wait(30)
        hosted.queue(
            BOAT.endpoint_id,
            request_id="r-10",
            output={"video": {"url": f"{hosted.base_url}/file"}, "seed": 7, "prompt": "a boat"},
        )
        sent = second.resubmit().wait(30)
        third.write_off()

        assert attached.input == BOAT.revised(seed=1)
        assert (attached.request_id, sent.request_id) == ("r-9", "r-10")
        assert len(hosted.seen("POST", "/models/run")) == 4
        assert rb.library().uncertain == []
        assert client.run(BOAT.revised(seed=1)).from_library
        assert [int(cost) for cost in rb.library().frame["credits"]] == [53, 106, 53]


def test_the_library_of_a_folder_above_is_shared_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Once in a process; a library of somebody else is not used, and one that was named is not worth a word."""
    monkeypatch.delenv("REELBOOK_LIBRARY", raising=False)
    (tmp_path / "project" / "day1").mkdir(parents=True)
    (tmp_path / "project" / ".reelbook").mkdir()
    monkeypatch.chdir(tmp_path / "project" / "day1")

    with rb.connect() as first:
        shared = first.library
    said = caplog.text
    with rb.connect():
        again = caplog.text
    with rb.connect(library=tmp_path / "project" / ".reelbook"):
        named = caplog.text
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    foreign = library_folder()

    assert shared == tmp_path / "project" / ".reelbook"
    assert f"Using the library of a folder above this one, {shared}" in said
    assert said == again == named
    assert foreign == tmp_path / "project" / "day1" / ".reelbook"
