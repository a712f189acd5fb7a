"""A library on the page: numbers, last runs with small pictures, and nothing that runs or loads."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from PIL import Image

from reelbook.display.cards import library_card, uncertain_table
from reelbook.models.smart_resize import SmartResize
from reelbook.storage.uncertain import Uncertain
from tests.clips import film
from tests.display.stand_in import Read, bare
from tests.storage.made import BOAT, Made
from tests.support import png


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Made]:
    library = Made(tmp_path / "library")
    yield library
    library.close()


def lost(**facts: Any) -> Uncertain:
    entry = SimpleNamespace(
        id=3, input='{"prompt": "a tram"}', sent=1.7e9, created=1.7e9, price=53, error="reset", **facts
    )
    return Uncertain(cast(Any, entry), cast(Any, None))


def pictures(html: str) -> list[Image.Image]:
    found = [picture["src"] for picture in Read(html).all("img")]
    return [Image.open(io.BytesIO(base64.b64decode(source.partition(",")[2]))) for source in found]


def test_a_card_says_how_much_there_is(made: Made) -> None:
    """Runs, credits, bytes, and how the runs stand, in numbers to read; and where uncertain runs are listed."""
    for seed in range(7):
        made.stored(BOAT.revised(seed=seed))
    made.failed(BOAT)
    certain = Read(library_card(made.library)).text
    made.uncertain(BOAT)

    text = Read(library_card(made.library)).text

    for words in ("8 runs", "371 credits", "6 bytes on disk", "● 7 completed, ✕ 1 failed", str(made.folder)):
        assert words in certain
    assert "≈" not in certain
    assert "uncertain" not in certain
    assert "≈ 424 credits" in text
    assert "1 run is uncertain: rb.library().uncertain" in text
    assert "The newest 6 of 9 runs" in text


def test_the_last_runs_have_small_pictures(made: Made, tmp_path: Path) -> None:
    """Of a picture and of a clip alike, whole within one box; a file that cannot be read leaves the box empty."""
    resize = SmartResize(image_url="https://e.org/a.png", target_sizes=["64x64"])
    made.stored(resize, [(png(64, 64), ".png")])
    made.stored(BOAT, [(b"no clip", ".mp4")])
    made.stored(BOAT.revised(seed=8), [(film(tmp_path / "c.mp4").path.read_bytes(), ".mp4")])
    made.failed(BOAT.revised(seed=9))

    html = library_card(made.library)

    read = bare(html)
    assert [still.size for still in pictures(html)] == [(64, 48), (64, 64)]
    assert {(image["width"], image["height"]) for image in read.all("img")} == {("96", "54")}
    assert [image["alt"] for image in read.all("img")] == ["a paper boat", "smart-resize"]
    assert len(read.all("tr")) == 4
    assert len(html) < 40_000


def test_uncertain_runs_stand_in_a_table_with_what_to_do() -> None:
    """Which, what, when, at most how much; nothing to do where there are none."""
    text = Read(uncertain_table([lost()])).text

    for words in ("? 3", "a tram", "2023-11-14 22:13 UTC", "53 credits", "reset", "attach(request_id)", "write_off()"):
        assert words in text
    assert "No uncertain runs" in uncertain_table([])
