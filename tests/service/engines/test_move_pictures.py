"""Every kind of picture that people have, moved."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from reelbook_service.engines.protocol import PictureError
from tests.service.engines.moving import ADDRESS, clip, encoded, scenery, shot

EVERYTHING = "orbit, roll, handheld, zoom out, ripples, the boat drifts left, snow, fog"


@pytest.mark.parametrize("size", [(1, 1), (3, 60), (33, 17), (700, 20)])
def test_strange_sizes_move(size: tuple[int, int]) -> None:
    """A single pixel and long strips give frames with even sides, whatever is asked of them."""
    frame = shot(encoded(Image.effect_noise(size, 60).convert("RGB")), EVERYTHING)

    assert (frame.width % 2, frame.height % 2) == (0, 0)


@pytest.mark.parametrize("data", [b"", b"GIF89a", b"not a picture", encoded(scenery(64, 36))[:900]])
def test_a_damaged_picture_is_named(tmp_path: Path, data: bytes) -> None:
    """What cannot be opened ends the run with the picture's address."""
    with pytest.raises(PictureError) as caught:
        clip(tmp_path, data, "zoom in")

    assert caught.value.source == ADDRESS
