"""The classifier that checks a finished clip."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from reelbook_service.prompt_check import ContentRefused
from reelbook_service.weights.config import BadWeights
from reelbook_service.weights.pipelines.clip_file import spread
from reelbook_service.weights.pipelines.picture_check import PictureCheck
from tests.weights.tiny import CHECK


@pytest.fixture
def frames() -> NDArray[np.uint8]:
    """Twenty frames of noise."""
    return np.random.default_rng(3).integers(0, 256, (20, 48, 64, 3), dtype=np.uint8)


def test_a_clip_is_refused_at_the_threshold_and_above(weights: Path, frames: NDArray[np.uint8]) -> None:
    """The worst of the frames decides, in every order of the frames."""
    score = PictureCheck(weights / CHECK, "nsfw", 1.0, "cpu").highest_score(frames)

    PictureCheck(weights / CHECK, "nsfw", score + 1e-4, "cpu").check(list(frames))
    with pytest.raises(ContentRefused, match="refused the pictures"):
        PictureCheck(weights / CHECK, "NSFW", score, "cpu").check(frames)


def test_no_frame_but_the_last_may_be_the_bad_one(weights: Path, frames: NDArray[np.uint8]) -> None:
    """The first and the last frame are among those that are read."""
    check = PictureCheck(weights / CHECK, "nsfw", 1.0, "cpu")
    calm = np.repeat(frames[:1], 20, axis=0)
    singles = [check.highest_score(one[None]) for one in frames]
    worst = frames[int(np.argmax(singles))]

    assert max(singles) > singles[0]
    assert check.highest_score(np.concatenate([calm[1:], worst[None]])) == pytest.approx(max(singles))
    assert check.highest_score(np.concatenate([worst[None], calm[1:]])) == pytest.approx(max(singles))
    assert spread(20) == [0, 3, 5, 8, 11, 14, 16, 19]
    assert (spread(1), spread(3), spread(8)) == ([0], [0, 1, 2], list(range(8)))


def test_an_unknown_label_is_refused_with_the_list(weights: Path) -> None:
    """A wrong label would let every clip pass."""
    with pytest.raises(BadWeights, match=re.escape(f"{CHECK} has no label 'gore'. Its labels are: normal, nsfw.")):
        PictureCheck(weights / CHECK, "gore", 0.8, "cpu")
