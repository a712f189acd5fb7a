"""Rankings of judged pairs: Bradley-Terry scores with ties, bootstrap intervals, and counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import ReelbookError
from .logistic import FloatArray, IntArray, compute_information

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("score", "low", "high", "wins", "ties", "losses", "judgements", "bad")
SHARE = 0.9
"""The share of the bootstrap's scores between `low` and `high`."""
DEVIATIONS = 1.645
"""The same share as a number of standard errors."""
RESAMPLES = 200
TIE_WEIGHT = 0.5
"""A tie counts as half a win of each."""
PRIOR_WEIGHT = 0.5
"""Where the answers alone give no finite scores, each item has this part of a tie with an average item."""
TOLERANCE, LIMIT = 1e-9, 20_000
ROUGH_TOLERANCE, ROUGH_LIMIT = 1e-4, 1_000
NOTES = "reelbook_notes"
"""The key in a ranking's `attrs` with sentences about it."""

NOTHING = "No pair has been decided yet, so nothing is ranked."
PRIOR = (
    "Some have only won or only lost, or were never compared with the others, even indirectly; so that all scores are "
    "finite, each counts as having half a tie with an average one."
)


@dataclass(frozen=True)
class Pairs:
    """Judged pairs of items, numbered from 0."""

    count: int
    left: IntArray
    right: IntArray
    share: FloatArray
    """1 where the left one won, 0 where the right one, 0.5 for a tie, NaN where both are bad."""

    @property
    def decided(self) -> Pairs:
        """Without those where both are bad, and those of an item with itself."""
        mask = ~np.isnan(self.share) & (self.left != self.right)
        return Pairs(self.count, self.left[mask], self.right[mask], self.share[mask])


def make_pairs(count: int, judged: Sequence[tuple[int, int, float | None]]) -> Pairs:
    """Judged pairs from tuples of the left item, the right one, and the share of the left one; None: both are bad."""
    left, right = (np.array([one[side] for one in judged], dtype=np.int64) for side in (0, 1))
    return Pairs(
        count, left, right, np.array([np.nan if one[2] is None else one[2] for one in judged], dtype=np.float64)
    )


def make_ranking(pairs: Pairs, items: Sequence[Any], *, name: str, seed: int = 0) -> pd.DataFrame:
    """The items that were compared, best first: natural logarithms of Bradley-Terry strengths around 0, and counts.

    `low` and `high` bound the middle 90% of scores in bootstrap resamples of the judgements, drawn with `seed`, or the
    same share by the standard error, where that is wider.
    """
    import pandas as pd

    decided = pairs.decided
    members = np.unique(np.concatenate([decided.left, decided.right]))
    number = np.full(pairs.count, -1, dtype=np.int64)
    number[members] = np.arange(len(members))
    inner = Pairs(len(members), number[decided.left], number[decided.right], decided.share)
    notes: list[str] = [] if len(members) else [NOTHING]
    score = low = high = np.zeros(0)
    if len(members):
        fit, has_prior = _load_fit(), not is_connected(inner)
        notes += [PRIOR] if has_prior else []
        score = fit(inner, np.ones(len(inner.left)), PRIOR_WEIGHT if has_prior else 0.0, False)
        low, high = _bootstrap(fit, inner, seed)
        # Resamples of few judgements have an item that won each time win each time, and so promise too much.
        margin = DEVIATIONS * _measure_errors(inner, score)
        low, high = np.minimum(low, score - margin), np.maximum(high, score + margin)
    counts = count_outcomes(pairs)
    frame = pd.DataFrame(
        {
            "score": score, "low": low, "high": high,
            **{column: counts[column][members] for column in ("wins", "ties", "losses", "judgements", "bad")},
        },
        index=pd.Index([items[member] for member in members], name=name),
    )  # fmt: skip
    frame = frame.sort_values("score", ascending=False, kind="stable")
    frame.attrs[NOTES] = notes
    return frame


def count_outcomes(pairs: Pairs) -> dict[str, IntArray]:
    """The number of wins, ties, losses, judgements, and pairs where both are bad, of each item."""
    decided = pairs.decided
    is_bad = np.isnan(pairs.share)
    both = [(decided.left, decided.share), (decided.right, 1 - decided.share)]

    def count(value: float) -> IntArray:
        return sum(np.bincount(items[share == value], minlength=pairs.count) for items, share in both)  # type: ignore[return-value]  # sum() starts at 0.

    bad = sum(np.bincount(items[is_bad], minlength=pairs.count) for items in (pairs.left, pairs.right))
    found = {"wins": count(1.0), "ties": count(0.5), "losses": count(0.0), "bad": np.asarray(bad)}
    return {**found, "judgements": np.asarray(sum(found.values()))}


def is_connected(pairs: Pairs) -> bool:
    """Whether the scores are finite without a prior: every item has beaten or tied every other, through others at least."""
    beats = np.eye(pairs.count, dtype=bool)
    beats[pairs.left[pairs.share > 0], pairs.right[pairs.share > 0]] = True
    beats[pairs.right[pairs.share < 1], pairs.left[pairs.share < 1]] = True
    return _reaches_all(beats) and _reaches_all(beats.T)


def _reaches_all(beats: npt.NDArray[np.bool_]) -> bool:
    reached = np.zeros(len(beats), dtype=bool)
    reached[0], edge = True, np.array([0])
    while len(edge):
        found = beats[edge].any(axis=0) & ~reached
        reached |= found
        edge = np.flatnonzero(found)
    return bool(reached.all())


def _measure_errors(pairs: Pairs, score: FloatArray) -> FloatArray:
    """The standard errors of the scores, with the information of the prior."""
    information = compute_information(pairs.left, pairs.right, score) + np.eye(pairs.count) * PRIOR_WEIGHT / 4
    centred = np.eye(pairs.count) - 1 / pairs.count
    return np.asarray(np.sqrt(np.diag(centred @ np.linalg.inv(information) @ centred)))


Fit = Callable[[Pairs, FloatArray, float, bool], FloatArray]
"""Scores of weighted pairs, with a prior of this weight; the last argument: whether a rough result is enough."""


def _load_fit() -> Fit:
    try:
        evalica = import_module("evalica")
    except ImportError:
        raise ReelbookError(
            "A ranking is computed by evalica, which is not installed here: pip install 'reelbook[decide]', then try again. "
            "All judgements are stored, and ratings.frame lists them."
        ) from None
    draw, first, second = evalica.Winner.Draw, evalica.Winner.X, evalica.Winner.Y

    def fit(pairs: Pairs, weights: FloatArray, prior: float, is_rough: bool) -> FloatArray:
        used = weights > 0
        left, right, share = pairs.left[used].tolist(), pairs.right[used].tolist(), pairs.share[used].tolist()
        weight = weights[used].tolist()
        if prior:
            # The average item is one more, at the end.
            left += range(pairs.count)
            right += [pairs.count] * pairs.count
            share += [0.5] * pairs.count
            weight += [prior] * pairs.count
        result = evalica.bradley_terry(
            left, right, [first if one == 1 else second if one == 0 else draw for one in share], weights=weight,
            index=_make_index(pairs.count + bool(prior)), win_weight=1.0, tie_weight=TIE_WEIGHT,
            tolerance=ROUGH_TOLERANCE if is_rough else TOLERANCE, limit=ROUGH_LIMIT if is_rough else LIMIT,
        )  # fmt: skip
        scores = np.log(result.scores.sort_index().to_numpy(dtype=np.float64)[: pairs.count])
        return np.asarray(scores - scores.mean())

    return fit


def _make_index(count: int) -> pd.Index[int]:
    import pandas as pd

    return pd.Index(range(count))


def _bootstrap(fit: Fit, pairs: Pairs, seed: int) -> tuple[FloatArray, FloatArray]:
    """The bounds of the middle share of the scores in resamples of the judgements."""
    rng, count = np.random.default_rng(seed), len(pairs.left)
    # Always with the prior: most resamples leave out the only win or loss of some item.
    scores = [
        fit(pairs, np.bincount(rng.integers(0, count, count), minlength=count).astype(np.float64), PRIOR_WEIGHT, True)
        for _ in range(RESAMPLES)
    ]
    low, high = np.quantile(np.array(scores), [(1 - SHARE) / 2, (1 + SHARE) / 2], axis=0)
    return low, high
