"""What judged pairs say: the strengths of clips or of the settings that they share, their order, and counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .judged_clips import Clips
from .posterior import Belief, FloatArray, IntArray, learn_pairs

if TYPE_CHECKING:
    import pandas as pd

SHARE = 0.9
"""The probability of the intervals."""


class JudgedPair(NamedTuple):
    """One judged pair of clips, by their numbers."""

    left: int
    right: int
    share: float | None
    """1 if the left one won, 0 if the right one, 0.5 for a tie; None if it was skipped or both are bad."""
    is_skipped: bool = False
    rater: str = ""


class Ranking:
    """What judged pairs say of units: of the clips, or of settings that several clips share. Computed when first asked."""

    def __init__(self, judged: Sequence[JudgedPair], unit: IntArray, levels: IntArray) -> None:
        """`unit` is the number of each clip's unit, and `levels` are those of the units on each axis."""
        answered = [pair for pair in judged if not pair.is_skipped and pair.left != pair.right]
        self.left, self.right = (np.array([pair[side] for pair in answered], dtype=np.int64) for side in (0, 1))
        self.share = np.array([np.nan if pair.share is None else pair.share for pair in answered])
        self.is_decided = ~np.isnan(self.share)
        """False where both clips are bad."""
        self._unit, self._levels = unit, levels
        self._sides = unit[self.left], unit[self.right]
        self._differ = self._sides[0] != self._sides[1]

    @cached_property
    def belief(self) -> Belief:
        """The strengths of the units, as natural logarithms around 0."""
        counts = self.is_decided & self._differ
        left, right = (side[counts] for side in self._sides)
        # A clip that wins ten times says less of its unit than ten clips that win.
        is_clips = len(set(self._unit.tolist())) == len(self._unit)
        clips = () if is_clips else (self.left[counts], self.right[counts])
        belief = learn_pairs(self._levels, left, right, self.share[counts], *clips, is_rough=True)
        # What nobody has seen is as good as its settings let expect, and not by luck the best.
        return replace(belief, tried=None)

    @cached_property
    def chances(self) -> FloatArray:
        """The chance of each unit to be the best."""
        return self.belief.chances(np.random.default_rng(0))

    @cached_property
    def order(self) -> list[int]:
        """The units, the one with the highest chance first."""
        return sorted(range(len(self.chances)), key=lambda unit: (-self.chances[unit], -self.belief.mean[unit]))

    @cached_property
    def counts(self) -> dict[str, IntArray]:
        """The number of wins, ties, losses, judgements, and pairs where both are bad, of each unit."""
        left, right = (side[self._differ] for side in self._sides)
        share, size = self.share[self._differ], len(self._levels)

        def count(on_left: Any, on_right: Any) -> IntArray:
            return np.bincount(left[on_left], minlength=size) + np.bincount(right[on_right], minlength=size)

        wins, ties, losses = (count(share == value, share == 1 - value) for value in (1.0, 0.5, 0.0))
        bad = count(np.isnan(share), np.isnan(share))
        return {"wins": wins, "ties": ties, "losses": losses, "judgements": wins + ties + losses + bad, "bad": bad}

    def make_frame(self, items: Sequence[Any], *, name: str) -> pd.DataFrame:
        """The units by the names in `items`, best first; none before a pair is decided."""
        import pandas as pd

        order = np.array(self.order if self.is_decided.any() else [], dtype=np.int64)
        low, high = self.belief.bounds(SHARE)
        columns = {"score": self.belief.mean, "low": low, "high": high, "chance": self.chances, **self.counts}
        return pd.DataFrame(
            {title: values[order] for title, values in columns.items()},
            index=pd.Index([items[unit] for unit in order], name=name),
        )


def rank_clips(clips: Clips, judged: Sequence[JudgedPair]) -> Ranking:
    """What judged pairs say of each clip."""
    return Ranking(judged, np.arange(len(clips)), clips.levels)


def rank_units(clips: Clips, judged: Sequence[JudgedPair]) -> Ranking:
    """What they say of that which can be the best: the clips, or of several contents their settings."""
    _, unit, levels = clips.units
    return Ranking(judged, unit, levels)
