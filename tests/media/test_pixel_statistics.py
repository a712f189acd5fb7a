"""Means over pixels, beside numpy's in double precision."""

from __future__ import annotations

import numpy as np
import pytest

from reelbook.media.measuring.figures import ROWS, mean, mean_difference, mean_square_difference, variance

SHAPES = ((16, 512), (288, 512), (512, 512))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("level", "spread"), [(0, 255), (250, 0.5), (0, 0.001)])
def test_means_and_variances_are_those_of_double_precision(shape: tuple[int, int], level: float, spread: float) -> None:
    """Also where the values differ little beside their size, as in a pale picture."""
    plane = (level + spread * np.random.default_rng(3).random(shape)).astype(np.float32)

    exact = plane.astype(np.float64)

    assert mean(plane) == pytest.approx(exact.mean(), rel=1e-6)
    assert variance(plane) == pytest.approx(exact.var(), rel=1e-6)


@pytest.mark.parametrize("height", [1, ROWS, ROWS + 1, 3 * ROWS - 1])
def test_differences_are_exact_for_every_number_of_rows(height: int) -> None:
    """Of rows that are padded, as decoders leave them, and however many are left over at the end."""
    one, other = np.random.default_rng(height).integers(0, 256, (2, height, 50, 3), np.uint8)[:, :, :41]

    difference = one.astype(np.int64) - other

    assert mean_difference(one, other) == np.abs(difference).mean()
    assert mean_square_difference(one, other) == (difference**2).mean()


def test_the_largest_differences_do_not_overflow() -> None:
    """Black beside white, in the most rows that are added at once."""
    black, white = np.zeros((ROWS, 8, 3), np.uint8), np.full((ROWS, 8, 3), 255, np.uint8)

    assert mean_difference(black, white) == 255
    assert mean_square_difference(white, black) == 255**2
