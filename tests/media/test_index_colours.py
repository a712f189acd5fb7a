"""The colours of an index: those that a stream declares, else as players take them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reelbook.media.frame_index import read_frame_index
from tests.media.bars import SAYS, bar_clip

BT601 = {"matrix": "smpte170m", "primaries": "smpte170m", "transfer": "smpte170m", "fullRange": False}
BT709 = {"matrix": "bt709", "primaries": "bt709", "transfer": "bt709", "fullRange": False}


@pytest.mark.parametrize(
    ("says", "size", "colours"),
    [
        ("BT.709", (64, 64), BT709),
        ("BT.601 of 525 lines, full", (64, 64), {**BT601, "fullRange": True}),
        ("nothing", (64, 64), BT601),
        ("nothing", (64, 720), BT709),
        ("full only", (64, 720), {**BT601, "fullRange": True}),
    ],
)
def test_colours_are_named(tmp_path: Path, says: str, size: tuple[int, int], colours: Any) -> None:
    """Without them WebCodecs takes every clip for BT.709, and players do so from 720 lines on."""
    clip = bar_clip(tmp_path / "clip.mp4", size, next(one for one in SAYS if one.name == says))

    index = read_frame_index(clip)

    assert index is not None
    assert index.to_json().get("colours") == colours
