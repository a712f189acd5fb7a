"""A library that an older version wrote opens unchanged: its runs, its doubts, and the data of its service.

The archive next to this file was made by version 0.1.0 (commit 438e049), whose ledger had other tables.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from PIL import Image

import reelbook as rb
from tests.support import read_charges

ARCHIVE = Path(__file__).with_name("saved_library.tar.xz")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What the older version left."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / ".reelbook"


def dot(fps: float) -> rb.ImagesToVideo:
    return rb.ImagesToVideo(images=[rb.Frame(url=Image.new("RGB", (16, 16), "red"), frames=1)], fps=fps)


def charges(folder: Path) -> list[str]:
    return [str(line["request_id"]) for line in read_charges(folder / "service")]


def test_every_run_is_there_in_its_state(folder: Path) -> None:
    """Three completed, one failed, and one of which nobody knows."""
    library = rb.library(folder)

    assert library.frame["status"].tolist() == ["completed", "completed", "completed", "failed", "uncertain"]
    assert library.frame["credits"].tolist() == [53, 53, 53, 0, 53]
    assert library.frame["error_type"].iloc[3] == "content_policy_violation"
    assert [one.run for one in library.uncertain] == [5]
    assert "all sound" in library.verify()


def test_nothing_of_it_is_paid_for_again(folder: Path) -> None:
    """The same inputs come from the library; the embedded service goes on with its data, and charges for what is new."""
    before = charges(folder)
    with rb.connect(library=folder):
        again = rb.sweep(dot(1), fps=[1, 2]).run(budget=2 * 53)
        after_again = charges(folder)
        new = rb.run(dot(3))

    assert again["status"].tolist() == ["completed", "completed"]
    assert again["output_video"].map(Path).map(Path.is_file).all()
    assert after_again == before
    assert new.credits == 53
    assert len(charges(folder)) > len(before)


def test_another_library_adopts_it(folder: Path, tmp_path: Path) -> None:
    """It is only read, and its older tables are understood. The run that was sent when its process was killed has no request."""
    before = (folder / "ledger.sqlite").read_bytes()
    with rb.connect(library=tmp_path / "library"):
        adopted = rb.library().adopt(folder)

        assert adopted.startswith("4 runs and ")
        assert rb.library().frame["credits"].tolist() == [53, 53, 53, 0]
    assert (folder / "ledger.sqlite").read_bytes() == before
