"""A library on the page: numbers, last runs with small pictures, and nothing that runs or loads."""

from __future__ import annotations

import base64
import io
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from PIL import Image

from reelbook.display.cards import summary_card, uncertain_table
from reelbook.storage.library import Recent, Summary
from reelbook.storage.shelf import Bytes
from reelbook.storage.uncertain import Uncertain
from tests.clips import film
from tests.display.stand_in import Read, bare
from tests.support import png

RUN = Recent(7, "a paper boat", "svc/text-to-video-13b-distilled", "completed", 53, "charged", 1.7e9, None)
NOTHING = Summary(Path("/work/.reelbook"), 0, {}, 0, True, Bytes(0), 0, 0, ())
SOME = replace(NOTHING, runs=1_272, by_status={"completed": 1_270, "failed": 2}, credits=67_310, size=Bytes(4_100_000), last=(RUN,))  # fmt: skip


def lost(**facts: Any) -> Uncertain:
    entry = SimpleNamespace(
        id=3, input='{"prompt": "a tram"}', sent=1.7e9, created=1.7e9, price=53, error="reset", **facts
    )
    return Uncertain(cast(Any, entry), cast(Any, None))


def pictures(html: str) -> list[Image.Image]:
    found = [picture["src"] for picture in Read(html).all("img")]
    return [Image.open(io.BytesIO(base64.b64decode(source.partition(",")[2]))) for source in found]


def test_a_card_says_how_much_there_is() -> None:
    """Runs, credits, bytes, and how the runs stand, in numbers to read."""
    text = Read(summary_card(SOME)).text

    for words in ("1,272 runs", "67,310 credits", "4.1 MB on disk", "● 1,270 completed, ✕ 2 failed", "/work/.reelbook"):
        assert words in text
    assert "≈" not in text
    assert "uncertain" not in text


def test_uncertain_runs_are_not_overlooked() -> None:
    """The card says how many there are and where to go on."""
    assert "1 run is uncertain: rb.library().uncertain" in Read(summary_card(replace(SOME, uncertain=1))).text


def test_the_last_runs_have_small_pictures(tmp_path: Path) -> None:
    """Of a picture and of a clip alike, whole within one box; a file that cannot be read leaves the box empty."""
    picture, broken = tmp_path / "a.png", tmp_path / "b.mp4"
    picture.write_bytes(png(64, 64))
    broken.write_bytes(b"no clip")
    clip = film(tmp_path / "c.mp4").path
    last = tuple(replace(RUN, path=path) for path in (picture, broken, clip, None))

    html = summary_card(replace(SOME, last=last))

    read = bare(html)
    assert [still.size for still in pictures(html)] == [(64, 64), (64, 48)]
    assert {(image["width"], image["height"], image["alt"]) for image in read.all("img")} == {
        ("96", "54", "a paper boat")
    }
    assert len(read.all("tr")) == 4
    assert len(html) < 40_000


def test_uncertain_runs_stand_in_a_table_with_what_to_do() -> None:
    """Which, what, when, at most how much; nothing to do where there are none."""
    text = Read(uncertain_table([lost()])).text

    for words in ("? 3", "a tram", "2023-11-14 22:13 UTC", "53 credits", "reset", "attach(request_id)", "write_off()"):
        assert words in text
    assert "No uncertain runs" in uncertain_table([])
