"""What judgements say so far: whether the first place is decided, how many more would settle it, and who answers at random."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from ..util.printable import format_count
from .judged_clips import Clips
from .pairs import SEEN_ENOUGH
from .posterior import FloatArray, logistic
from .ranking import Pairs, Ranking, stand_clips, stand_units

SURE = 0.95
"""The chance to be the best from which the first place is settled."""
DEVIATIONS = 1.645
"""Standard deviations that chance exceeds once in twenty times."""
MIN_RIVAL = 0.01
"""The least chance to be the best of a clip that more judgements would have to rule out."""
MAX_MORE = 1_000
MIN_ANSWERS = 20
"""Answers of a rater from which it can be said whether they are random, or depend on the side."""


class Advice(tuple[str, ...]):
    """Sentences, printed as lines."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(self)


class Judged:
    """What the rules of `RULES` ask about."""

    def __init__(self, clips: Clips, pairs: Pairs) -> None:
        self.clips, self.pairs = clips, pairs
        self.standing = stand_units(clips, pairs)
        self.names = clips.units[0]

    @property
    def new(self) -> int:
        """The number of clips, or settings, that were not seen twice."""
        return int((self.standing.counts["judgements"] < SEEN_ENOUGH).sum())

    @property
    def first(self) -> tuple[str, float]:
        """The one with the highest chance, and that chance."""
        return self._get_place(0)

    @property
    def second(self) -> tuple[str, float]:
        """The next one."""
        return self._get_place(1)

    @cached_property
    def more(self) -> tuple[float, float]:
        """About how many judgements more would settle the first place: at best, and at the rate so far."""
        return estimate_more(self.standing, len(self.pairs.decided.left))

    @property
    def span(self) -> str:
        """The same in words."""
        low, high = map(_round, self.more)
        return f"{low:,} to {high:,}" if high > low else f"{low:,}"

    def _get_place(self, place: int) -> tuple[str, float]:
        unit = self.standing.order[place]
        return self.names[unit], float(self.standing.chances[unit])


class AdviceRule(NamedTuple):
    """What is said where a condition holds, and no rule before it."""

    applies: Callable[[Judged], bool]
    verdict: Callable[[Judged], str]
    remaining: Callable[[Judged], str] = lambda judged: ""
    """The same for somebody who judges: it names no clip."""


RULES = (
    AdviceRule(lambda one: len(one.clips) < 2, lambda one: "There is only one clip, so there is nothing to compare it with."),
    AdviceRule(lambda one: not len(one.pairs.left), lambda one: "No pair has been decided yet, so nothing is ranked."),
    AdviceRule(
        lambda one: not len(one.pairs.decided.left),
        lambda one: "Both clips were bad in every pair so far, so nothing is ranked.",
    ),
    AdviceRule(
        lambda one: len(one.names) == 1,
        lambda one: f"{one.names[0]} is the only setting, so there is no first place to decide.",
    ),
    AdviceRule(
        lambda one: one.new > 0,
        lambda one: f"Too early to say: {one.new:,} of {len(one.names):,} have not been judged twice yet.",
        lambda one: f"too early to say: {one.new:,} of {len(one.names):,} have not been judged twice yet",
    ),
    AdviceRule(
        lambda one: one.first[1] >= SURE,
        lambda one: f"Settled: {one.first[0]} is the best, with a chance of {_percent(one.first[1])}.",
        lambda one: "the first place is settled",
    ),
    AdviceRule(
        lambda one: one.more[0] > MAX_MORE,
        lambda one: f"The leaders cannot be told apart yet: that would take more than about {MAX_MORE:,} more judgements. "
        "Take any of them, or ask another question.",
        lambda one: "the leaders cannot be told apart yet",
    ),
    AdviceRule(
        lambda one: one.more[1] > MAX_MORE,
        lambda one: f"At least {_round(one.more[0]):,} more judgements, and perhaps many more, would settle the first place.",
        lambda one: f"at least {_round(one.more[0]):,} more would settle the first place",
    ),
    AdviceRule(
        lambda one: True,
        lambda one: f"About {one.span} more judgements would settle the first place.",
        lambda one: f"about {one.span} more would settle the first place",
    ),
)  # fmt: skip
"""The first that applies is said. From `SETTLED` on there is a first place to speak of."""
SETTLED = 5


def advise(clips: Clips, pairs: Pairs, raters: Sequence[str] | None = None) -> Advice:
    """The sentences about the first place, and about the raters; these are the people of the decided pairs."""
    judged = Judged(clips, pairs)
    place, rule = _find_rule(judged)
    sentences = [rule.verdict(judged)]
    if place > SETTLED:
        (first, chance), (second, other) = judged.first, judged.second
        sentences.insert(0, f"Undecided: {first} is the best with a chance of {_percent(chance)}, {second} with {_percent(other)}.")  # fmt: skip
    decided = pairs.decided
    if raters is not None and len(decided.left):
        sentences += _describe_raters(decided, stand_clips(clips, pairs), np.array(raters, dtype=object))
    return Advice(sentences)


def describe_remaining(clips: Clips, pairs: Pairs) -> str:
    """About how many judgements more would settle the first place, in words that name no clip; empty before the first."""
    judged = Judged(clips, pairs)
    return _find_rule(judged)[1].remaining(judged)


def _find_rule(judged: Judged) -> tuple[int, AdviceRule]:
    return next((place, rule) for place, rule in enumerate(RULES) if rule.applies(judged))


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


def estimate_more(standing: Ranking, judged: int) -> tuple[float, float]:
    """About how many judgements more would settle the first place: at best, and at the rate of the `judged` ones so far.

    At best all compare the leader with its rivals, and each adds the information `p (1 - p)` about the distance of two.
    Distances are taken for what they seem to be now, which is why it is an estimate.
    """
    belief, chances, leader = standing.belief, standing.chances, standing.order[0]
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
        slow = max(slow, due * judged / known)
    return best, max(best, slow)


def _describe_raters(pairs: Pairs, standing: Ranking, raters: Any) -> Iterator[str]:
    predicted = _predict_each(pairs, standing)
    for rater in sorted(set(raters.tolist())):
        mine = (raters == rater) & (pairs.share != 0.5)
        says, wins = (one[mine & (np.abs(predicted) > 1e-6)] for one in (predicted, pairs.share))
        count, hits = len(says), int(np.sum((says > 0) == (wins == 1)))
        if count >= MIN_ANSWERS and hits <= count / 2 + DEVIATIONS * math.sqrt(count) / 2:
            yield (
                f"The answers of {rater} look random: the other answers predict {hits} of {count}, and "
                f"{count / 2:.0f} would be chance. The clips may be too similar, or the question unclear."
            )
        sides = pairs.share[mine]
        left = int(np.sum(sides == 1))
        if len(sides) >= MIN_ANSWERS and abs(left - len(sides) / 2) > 3 * math.sqrt(len(sides)) / 2:
            yield (
                f"{rater} chose the {'left' if left > len(sides) / 2 else 'right'} clip in {max(left, len(sides) - left)} of "
                f"{format_count(len(sides), 'pair')}: the side seems to count more than the clip."
            )


def _predict_each(pairs: Pairs, standing: Ranking) -> FloatArray:
    """The distance of the clips of each pair as all other answers have it, by taking out one at a time."""
    left, right, belief = pairs.left, pairs.right, standing.belief
    gap = belief.mean[left] - belief.mean[right]
    variance = np.diag(belief.covariance)
    spread = variance[left] + variance[right] - 2 * belief.covariance[left, right]
    chance = logistic(gap)
    without = spread / np.maximum(1 - chance * (1 - chance) * spread, 1e-9)
    return np.asarray(gap - without * (pairs.share - chance))


def _percent(chance: float) -> str:
    return f"{min(99, max(1, round(100 * chance)))}%"


def _round(count: float) -> int:
    """A count to one or two digits, so that it does not seem more exact than it is."""
    number = max(1, math.ceil(min(count, 1e9)))
    step = 1 if number < 10 else 5 if number < 100 else 50
    return math.ceil(number / step) * step
