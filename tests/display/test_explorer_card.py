"""The static output of an explorer: small, with numbers, and a sentence where there is no file."""

from __future__ import annotations

import base64
import io
import json
import re
from pathlib import Path

import pytest
from PIL import Image

from reelbook.display.explorer_card import explorer_bundle
from reelbook.media.local_file import LocalFile
from reelbook.models.base import File
from tests.clips import film
from tests.media.making import grain


@pytest.mark.parametrize("size", [(640, 360), (180, 320)])
def test_it_is_small_whatever_is_in_the_clip(tmp_path: Path, size: tuple[int, int]) -> None:
    """Stills of noise are made coarser; with the script and the picture, below 120 kB in the notebook."""
    clip = film(tmp_path / "film.mp4", frames=30, size=size, noise=90)

    bundle = explorer_bundle(clip.explore(), key="k" * 22)

    assert len(json.dumps({**bundle, "image/jpeg": base64.b64encode(bundle["image/jpeg"]).decode()})) < 120_000
    assert bundle["text/plain"] == "<explorer of film.mp4: frame 0 of 0 to 29>"
    assert bundle["text/html"].count("<img") == 12
    with Image.open(io.BytesIO(bundle["image/jpeg"])) as sheet:
        assert sheet.width > sheet.height


@pytest.mark.parametrize("frames", [1, 2, 5, 24])
def test_a_short_clip_has_each_frame_once(tmp_path: Path, frames: int) -> None:
    """No still twice."""
    clip = film(tmp_path / "film.mp4", frames=frames)

    html = explorer_bundle(clip.explore())["text/html"]

    numbers = [int(number) for number in re.findall(r'data-number="(\d+)"', html)]
    assert numbers == (list(range(frames)) if frames <= 12 else sorted(set(numbers)))
    assert len(numbers) == min(frames, 12)


def test_a_picture_is_small_too(tmp_path: Path) -> None:
    """It says how large it really is."""
    grain(1500, 1000).save(tmp_path / "picture.png")

    bundle = explorer_bundle(LocalFile(tmp_path / "picture.png", File(url="")).explore())

    assert len(bundle["text/html"]) < 120_000
    assert "1500×1000" in bundle["text/html"]


def test_a_file_that_is_gone_is_a_sentence(tmp_path: Path) -> None:
    """Also where it goes after the explorer was made."""
    clip = film(tmp_path / "film.mp4", frames=3)
    explorer = clip.explore()
    clip.path.unlink()

    bundle = explorer_bundle(explorer)

    assert "film.mp4" in bundle["text/plain"]
    assert "image/jpeg" not in bundle
