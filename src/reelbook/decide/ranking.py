"""What judged pairs say: the strengths of clips or of what they have in common, their order, and counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .judged_clips import Clips
from .posterior import Belief, FloatArray, IntArray, learn_pairs

if TYPE_CHECKING:
    import pandas as pd

SHARE = 0.9
"""The probability of the intervals."""


@dataclass(frozen=True)
class Pairs:
    """Judged pairs of clips, numbered from 0."""

    left: IntArray
    right: IntArray
    share: FloatArray
    """1 where the left one won, 0 where the right one, 0.5 for a tie, NaN where both are bad."""

    @property
    def decided(self) -> Pairs:
        """Without those where both are bad, and those of a clip with itself."""
        mask = ~np.isnan(self.share) & (self.left != self.right)
        return Pairs(self.left[mask], self.right[mask], self.share[mask])


def make_pairs(judged: Sequence[tuple[int, int, float | None]]) -> Pairs:
    """Judged pairs from tuples of the left clip, the right one, and the share of the left one; None: both are bad."""
    left, right = (np.array([one[side] for one in judged], dtype=np.int64) for side in (0, 1))
    return Pairs(left, right, np.array([np.nan if one[2] is None else one[2] for one in judged], dtype=np.float64))


class Ranking:
    """What judged pairs say of units: of the clips, or of what several of them have in common. It is computed once."""

    def __init__(self, pairs: Pairs, unit: IntArray, levels: IntArray) -> None:
        """`unit` is the number of each clip's unit, and `levels` are those of the units on each axis."""
        self.pairs, self.unit, self.levels = pairs, unit, levels

    @cached_property
    def belief(self) -> Belief:
        """The strengths of the units, as natural logarithms around 0."""
        decided = self.pairs.decided
        left, right = self.unit[decided.left], self.unit[decided.right]
        mask = left != right
        # A clip that wins ten times says less of its unit than ten clips that win.
        is_clips = len(set(self.unit.tolist())) == len(self.unit)
        clips = () if is_clips else (decided.left[mask], decided.right[mask])
        found = learn_pairs(self.levels, left[mask], right[mask], decided.share[mask], *clips, is_rough=True)
        # What nobody has seen is as good as its settings let expect, and not by luck the best.
        return replace(found, tried=None)

    @cached_property
    def chances(self) -> FloatArray:
        """The chance of each unit to be the best."""
        return self.belief.chances(np.random.default_rng(0))

    @cached_property
    def order(self) -> list[int]:
        """The units, the one with the highest chance first."""
        keys = zip(-self.chances, -self.belief.mean, range(len(self.chances)), strict=True)
        return [unit for *_, unit in sorted(keys)]

    @cached_property
    def counts(self) -> dict[str, IntArray]:
        """The number of wins, ties, losses, judgements, and pairs where both are bad, of each unit."""
        left, right, share = self.unit[self.pairs.left], self.unit[self.pairs.right], self.pairs.share
        mask = left != right
        left, right, share = left[mask], right[mask], share[mask]

        def count(value: float) -> IntArray:
            sides = (left[share == value], right[1 - share == value])
            return np.asarray(sum(np.bincount(units, minlength=len(self.levels)) for units in sides))

        bad = sum(np.bincount(units[np.isnan(share)], minlength=len(self.levels)) for units in (left, right))
        found = {"wins": count(1.0), "ties": count(0.5), "losses": count(0.0)}
        return {**found, "judgements": np.asarray(sum([*found.values(), bad])), "bad": np.asarray(bad)}

    def make_frame(self, items: Sequence[Any], *, name: str) -> pd.DataFrame:
        """The units by the names in `items`, best first; none before a pair is decided."""
        import pandas as pd

        order = np.array(self.order if len(self.pairs.decided.left) else [], dtype=np.int64)
        low, high = self.belief.bounds(SHARE)
        columns = {"score": self.belief.mean, "low": low, "high": high, "chance": self.chances, **self.counts}
        return pd.DataFrame(
            {title: values[order] for title, values in columns.items()},
            index=pd.Index([items[unit] for unit in order], name=name),
        )


def stand_clips(clips: Clips, pairs: Pairs) -> Ranking:
    """What judged pairs say of each clip."""
    return Ranking(pairs, np.arange(len(clips)), clips.levels)


def stand_units(clips: Clips, pairs: Pairs) -> Ranking:
    """What they say of that which can be the best: the clips, or of several contents their settings."""
    _, unit, levels = clips.units
    return Ranking(pairs, unit, levels)
