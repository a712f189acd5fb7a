"""Pictures of all shapes on one canvas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from reelbook_service.engines.stitch import LONGEST_SIDE, MOST_PIXELS, THIN, canvas_for, on_canvas

CANVAS = (320, 180)


@given(st.integers(1, 40_000), st.integers(1, 40_000))
def test_a_canvas_is_even_and_can_be_played(width: int, height: int) -> None:
    """Whatever the first picture's size: even sides, within what players take, and of the same shape."""
    canvas = canvas_for((width, height))

    assert all(side % 2 == 0 and 2 <= side <= LONGEST_SIDE for side in canvas)
    assert canvas[0] * canvas[1] <= max(MOST_PIXELS, 2 * LONGEST_SIDE)
    scale = min(canvas[0] / width, canvas[1] / height)
    assert abs(canvas[0] - width * scale) <= 2 + canvas[0] * 2 / min(canvas)
    assert abs(canvas[1] - height * scale) <= 2 + canvas[1] * 2 / min(canvas)


@pytest.mark.parametrize("missing", [(1, 0), (0, 1), (1, 1)])
def test_a_missing_column_or_row_repeats_the_last(missing: tuple[int, int]) -> None:
    """Every pixel stays where it is; the new edge is the old one once more, corner included."""
    values = np.random.default_rng(1).integers(0, 255, (180 - missing[1], 320 - missing[0], 3), dtype=np.uint8)

    frame = on_canvas(Image.fromarray(values), CANVAS)

    wanted = np.pad(values, ((0, missing[1]), (0, missing[0]), (0, 0)), mode="edge")
    assert np.array_equal(np.asarray(frame), wanted)


def ringed(size: tuple[int, int]) -> Image.Image:
    """A bright picture with a blue ring near its edge, so that nothing can be cut off unseen."""
    picture = Image.new("RGB", size, "white")
    picture.paste((0, 0, 255), (2, 2, size[0] - 2, size[1] - 2))
    picture.paste((255, 255, 255), (size[0] // 8, size[1] // 8, size[0] - size[0] // 8, size[1] - size[1] // 8))
    return picture


@pytest.mark.parametrize("size", [(100, 180), (180, 100), (400, 1000), (2000, 90), (40, 40), (321, 181)])
def test_a_picture_of_another_shape_is_shown_whole(size: tuple[int, int]) -> None:
    """It is scaled evenly, as large as fits, in the middle; nothing of it is cut off."""
    frame = np.asarray(on_canvas(ringed(size), CANVAS)).astype(int)

    assert frame.shape == (180, 320, 3)
    blue = (frame[..., 2] - frame[..., 0]) > 128
    rows, columns = np.flatnonzero(blue.any(axis=1)), np.flatnonzero(blue.any(axis=0))
    scale = min(320 / size[0], 180 / size[1])
    assert len(columns) == pytest.approx((size[0] - 4) * scale, abs=4 + scale)
    assert len(rows) == pytest.approx((size[1] - 4) * scale, abs=4 + scale)
    assert (columns[0] + columns[-1]) / 2 == pytest.approx(159.5, abs=3)
    assert (rows[0] + rows[-1]) / 2 == pytest.approx(89.5, abs=3)


def test_the_border_is_a_soft_dark_copy() -> None:
    """Beside a picture lie its own colours, dimmer, without any detail."""
    picture = Image.new("RGB", (100, 100), (200, 40, 40))
    picture.paste((40, 40, 200), (0, 50, 100, 100))

    frame = np.asarray(on_canvas(picture, CANVAS)).astype(int)

    left = frame[:, :60]
    assert left[20, 20, 0] > left[20, 20, 2]
    assert left[160, 20, 2] > left[160, 20, 0]
    assert left.max() < 0.7 * 200
    assert np.abs(np.diff(left, axis=0)).max() <= 6


@pytest.mark.parametrize("size", [(318, 180), (320, 182), (643, 360), (160, 91)])
def test_a_hairline_of_a_border_is_avoided(size: tuple[int, int]) -> None:
    """A picture of almost the same shape fills the canvas; it is stretched by two hundredths at most."""
    frame = np.asarray(on_canvas(Image.new("RGB", size, (90, 160, 90)), CANVAS))

    assert max(320 * size[1] / (180 * size[0]), 180 * size[0] / (320 * size[1])) < 1 + 1.1 * THIN
    assert (frame == (90, 160, 90)).all()
