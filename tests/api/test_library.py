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

BOAT = rb.TextToVideo(prompt="a boat", num_frames=9, resolution="480p", aspect_ratio="1:1", seed=7)


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
    assert taken.startswith("1 run, 0 files")
    assert len(by_project) == len(new) == 1
    (own / "ledger.sqlite").unlink()
    assert rb.library(own).folder == own


def test_the_table_of_a_library_has_its_files_in_a_fresh_interpreter(tmp_path: Path) -> None:
    """`.reel` comes with the library and with a table that is read: nothing else of Reelbook need be named before."""
    made = Made(tmp_path)
    made.stored(BOAT)
    made.close()
    code = "import reelbook as rb, sys; table = {}; print(*table['output_video']); table.to_parquet('runs.parquet')"
    for way in ("rb.library(sys.argv[1]).frame", "rb.read('runs.parquet')"):
        done = subprocess.run(
            [sys.executable, "-c", code.format(way), str(tmp_path)], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path
        )  # fmt: skip

        assert (done.stdout.strip(), done.stderr) == (str(made.path_of(1)), "")


def test_the_library_of_a_folder_above_is_shared_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A library of somebody else is not used, and one that was named is not worth a word."""
    monkeypatch.delenv("REELBOOK_LIBRARY", raising=False)
    (tmp_path / "project" / "day1").mkdir(parents=True)
    (tmp_path / "project" / ".reelbook").mkdir()
    monkeypatch.chdir(tmp_path / "project" / "day1")

    with rb.connect() as first:
        shared = first.library
    said = caplog.text
    with rb.connect(library=tmp_path / "project" / ".reelbook"):
        named = caplog.text
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    foreign = library_folder()

    assert shared == tmp_path / "project" / ".reelbook"
    assert f"Using the library of a folder above this one, {shared}" in said
    assert said == named
    assert foreign == tmp_path / "project" / "day1" / ".reelbook"
