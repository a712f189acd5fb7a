"""What judgements say in words: whether the first place is decided, and how far raters agree."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

from ..util.printable import format_count
from .judged_clips import Clips
from .posterior import logistic
from .ranking import SEEN_ENOUGH, JudgedPair, Ranking, rank_units

SURE = 0.95
"""The chance to be the best from which the first place is settled."""
MIN_RIVAL = 0.01
"""The least chance to be the best of a clip that more judgements would have to rule out."""
MAX_MORE = 1_000
Level = Literal["nominal", "ordinal"]


class Advice(tuple[str, ...]):
    """Sentences, printed as lines."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(self)


def advise(clips: Clips, judged: Sequence[JudgedPair]) -> Advice:
    """The sentences about the first place."""
    return Advice(_describe_first_place(clips, judged)[0])


def describe_remaining(clips: Clips, judged: Sequence[JudgedPair]) -> str:
    """About how many more judgements would settle the first place, naming no clip; empty before the first."""
    return _describe_first_place(clips, judged)[1]


def _describe_first_place(clips: Clips, judged: Sequence[JudgedPair]) -> tuple[list[str], str]:
    """The sentences about the first place, and what is missing in words that name no clip, for one who judges."""
    ranking, names = rank_units(clips, judged), clips.units[0]
    if len(clips) < 2:
        return ["There is only one clip, so there is nothing to compare it with."], ""
    if not len(ranking.left):
        return ["No pair has been decided yet, so nothing is ranked."], ""
    if not ranking.is_decided.any():
        return ["Both clips were bad in every pair so far, so nothing is ranked."], ""
    if len(names) == 1:
        return [f"{names[0]} is the only setting, so there is no first place to decide."], ""
    if new := int((ranking.counts["judgements"] < SEEN_ENOUGH).sum()):
        remaining = f"too early to say: {new:,} of {len(names):,} have not been judged twice yet"
        return [f"{remaining.capitalize()}."], remaining
    first, second = ranking.order[:2]
    if ranking.chances[first] >= SURE:
        settled = f"Settled: {names[first]} is the best, with a chance of {_percent(ranking.chances[first])}."
        return [settled], "the first place is settled"
    undecided = (
        f"Undecided: {names[first]} is the best with a chance of {_percent(ranking.chances[first])}, "
        f"{names[second]} with {_percent(ranking.chances[second])}."
    )
    least, most = estimate_more(ranking)
    low, high = _round(least), _round(most)
    if least > MAX_MORE:
        remaining = "the leaders cannot be told apart yet"
        why = f"that would take more than about {MAX_MORE:,} more judgements. Take any of them, or ask another question"
        return [undecided, f"{remaining.capitalize()}: {why}."], remaining
    span = f"about {low:,} to {high:,}" if high > low else f"about {low:,}"
    span, end = f"at least {low:,}" if most > MAX_MORE else span, "would settle the first place"
    return [undecided, f"{span.capitalize()} more judgements {end}."], f"{span} more {end}"


def describe_stars(clips: Clips, stars: Mapping[str, Sequence[int]]) -> Advice:
    """The clip with the most stars, and how many have none; `stars` are those of each clip that has some."""
    if not stars:
        return Advice(("No clip has stars yet.",))
    means = {key: sum(given) / len(given) for key, given in stars.items()}
    best = max(means.values())
    rows = [str(clips.rows[clips.by_key[key]]) for key, mean in means.items() if mean == best]
    named = f"Row {rows[0]} has" if len(rows) == 1 else f"{len(rows):,} rows have"
    missing = len(clips) - len(means)
    left = f" {format_count(missing, 'clip')} without stars so far." if missing else ""
    return Advice((f"{named} the most stars, {best:.1f} on average.{left}",))


def describe_votes(clips: Clips, votes: Mapping[str, int]) -> Advice:
    """How many clips most people want to keep; `votes` are those for it less those against."""
    wanted, rejected = (sum(sign * vote > 0 for vote in votes.values()) for sign in (1, -1))
    return Advice((f"{wanted:,} to keep, {rejected:,} to reject, {len(clips) - wanted - rejected:,} undecided.",))


def estimate_more(ranking: Ranking) -> tuple[float, float]:
    """About how many more judgements would settle the first place: at best, and at the rate of those so far.

    At best all compare the leader with its rivals, and each adds the information `p (1 - p)` about the distance of two.
    Distances are taken for what they seem to be now, which is why it is an estimate.
    """
    belief, chances, leader = ranking.belief, ranking.chances, ranking.order[0]
    rivals = [int(rival) for rival in np.flatnonzero(chances >= MIN_RIVAL) if rival != leader]
    # Any one of several rivals may be the better one, so that the leader must be the surer about each.
    deviations = NormalDist().inv_cdf(1 - (1 - SURE) / max(1, len(rivals)))
    best, slow = 0.0, 0.0
    for rival in rivals:
        gap = float(belief.mean[leader] - belief.mean[rival])
        sides = belief.covariance[np.ix_([leader, rival], [leader, rival])]
        known = 1 / max(float(sides[0, 0] + sides[1, 1] - 2 * sides[0, 1]), 1e-12)
        due = max(0.0, (deviations / max(abs(gap), 1e-6)) ** 2 - known)
        chance = float(logistic(np.array(gap)))
        best += due / (chance * (1 - chance))
        slow = max(slow, due * int(ranking.is_decided.sum()) / known)
    return best, max(best, slow)


def _percent(chance: float) -> str:
    return f"{min(99, max(1, round(100 * chance)))}%"


def _round(count: float) -> int:
    """A count to one or two digits, so that it does not seem more exact than it is."""
    number = max(1, math.ceil(min(count, 1e9)))
    step = 1 if number < 10 else 5 if number < 100 else 50
    return math.ceil(number / step) * step


@dataclass(frozen=True)
class Agreement:
    """How far raters agree: 1 is always, 0 as often as by chance, below 0 less often."""

    alpha: float | None
    """Krippendorff's alpha; None if it cannot be computed."""
    raters: int
    units: int
    """Pairs or clips that more than one of the raters has judged."""
    sentence: str

    def __str__(self) -> str:
        return self.sentence

    def __float__(self) -> float:
        return float("nan") if self.alpha is None else self.alpha

    def _repr_pretty_(self, printer: object, cycle: bool) -> None:
        printer.text(self.sentence)  # type: ignore[attr-defined]  # IPython's printer, which is not imported here.


def compute_alpha(
    units: Sequence[Sequence[int]], categories: int, *, level: Level = "nominal", mirror: Sequence[int] | None = None
) -> float | None:
    """Krippendorff's alpha of values from 0, one sequence for each unit; None where there is nothing to compute.

    `mirror` gives the value that each becomes when the two clips of a pair change places: the result then does not
    depend on which of them is called the first.

    >>> compute_alpha([[0, 0], [1, 1], [0, 1]], 2)
    0.4444444444444444
    """
    coincidences = np.zeros((categories, categories))
    for values in units:
        if len(values) > 1:
            counts = np.bincount(values, minlength=categories).astype(np.float64)
            coincidences += (np.outer(counts, counts) - np.diag(counts)) / (len(values) - 1)
    if mirror is not None:
        coincidences = (coincidences + coincidences[np.ix_(mirror, mirror)]) / 2
    totals = coincidences.sum(axis=1)
    middle = np.cumsum(totals) - totals / 2
    distance = 1.0 - np.eye(categories) if level == "nominal" else (middle[:, None] - middle[None, :]) ** 2
    expected = float((np.outer(totals, totals) * distance).sum())
    if expected == 0:
        return None
    return 1 - (float(totals.sum()) - 1) * float((coincidences * distance).sum()) / expected


def measure_agreement(
    answers: Mapping[object, Mapping[str, int]], categories: int,
    *, level: Level, mirror: Sequence[int] | None = None, noun: str = "pair",
) -> Agreement:  # fmt: skip
    """The agreement on units, each with the value that each rater gave it."""
    raters = {rater for values in answers.values() for rater in values}
    shared = [list(values.values()) for values in answers.values() if len(values) > 1]
    alpha = compute_alpha(shared, categories, level=level, mirror=mirror)
    nothing = "so there is no agreement to measure."
    basis = f"on the {format_count(len(shared), noun)} that more than one of {len(raters)} people judged"
    if not raters:
        sentence = f"Nothing has been judged yet, {nothing}"
    elif len(raters) == 1:
        sentence = f"Only one person has judged ({min(raters)}), {nothing}"
    elif not shared:
        sentence = f"{len(raters)} people have judged, but no {noun} was judged by two of them, {nothing}"
    elif alpha is None:
        sentence = f"All gave the same answer {basis}, so agreement cannot be told from chance."
    else:
        # The bounds are those that Krippendorff recommends.
        meanings = (
            (0.8, "they agree"),
            (0.667, "they agree enough for tentative conclusions"),
            (0.2, "they agree in part"),
            (0.0, "they agree hardly more than by chance"),
            (-math.inf, "they disagree more than by chance"),
        )
        meaning = next(text for least, text in meanings if alpha >= least)
        sentence = f"Krippendorff's alpha is {alpha:.2f} {basis}: {meaning}."
    return Agreement(alpha, len(raters), len(shared), sentence)
