"""What judgements say so far: whether the first place is decided, how many more would settle it, and who answers at random."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from ..util.printable import format_count
from .judged_clips import Clips
from .logistic import FloatArray, logistic
from .pairs import Prior, Strengths, learn_strengths, make_prior
from .ranking import NOTHING, Pairs

SURE = 0.95
"""The chance to be the best from which the first place is settled."""
DEVIATIONS = 1.645
"""Standard deviations that chance exceeds once in twenty times."""
DRAWS = 4_000
MIN_RIVAL = 0.01
"""The least chance to be the best of a clip that more judgements would have to rule out."""
MAX_MORE = 1_000
ALL_BAD = "Both clips were bad in every pair so far, so nothing is ranked."
SETTLED = "the first place is settled"
MIN_ANSWERS = 20
"""Answers of a rater from which it can be said whether they are random, or depend on the side."""


class First(NamedTuple):
    """What is said of the first place."""

    named: str
    """Who has it, or may have it."""
    more: tuple[float, float] | None = None
    """About how many judgements more would settle it: at best, and at the rate so far."""
    is_settled: bool = False


class Advice(tuple[str, ...]):
    """Sentences, printed as lines."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(self)


def advise(clips: Clips, pairs: Pairs, raters: Sequence[str] | None = None) -> Advice:
    """The sentences about the first place, and about the raters; these are the people of the decided pairs."""
    if len(clips) < 2:
        return Advice(("There is only one clip, so there is nothing to compare it with.",))
    decided = pairs.decided
    if not len(decided.left):
        return Advice((ALL_BAD if len(pairs.left) else NOTHING,))
    strengths, first = _learn_first(clips, decided)
    about = () if raters is None else _describe_raters(decided, strengths, np.array(raters, dtype=object))
    return Advice((*[first.named, *([_format_more(*first.more)] if first.more else [])], *about))


def describe_remaining(clips: Clips, pairs: Pairs) -> str:
    """About how many judgements more would settle the first place, in words that name no clip; empty before the first."""
    decided = pairs.decided
    if len(clips) < 2 or not len(decided.left):
        return ""
    _, first = _learn_first(clips, decided)
    if first.more is None:
        return SETTLED if first.is_settled else ""
    best, slow = map(_round, first.more)
    if best > MAX_MORE:
        return "the first ones are as good as equal"
    span = f"at least {best:,}" if slow > MAX_MORE else f"about {best:,}" + (f" to {slow:,}" if slow > best else "")
    return f"{span} more would settle the first place"


def _learn_first(clips: Clips, decided: Pairs) -> tuple[Strengths, First]:
    """The strengths of the clips, and what is said of the first place."""
    prior = Prior(make_prior(clips))
    strengths = learn_strengths(prior, decided.left, decided.right, decided.share)
    names, share = _combine_settings(clips)
    combined = Strengths(share @ strengths.mean, share @ strengths.covariance @ share.T)
    return strengths, _describe_first(names, combined, share @ prior.covariance @ share.T, len(decided.left))


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


def estimate_more(strengths: Strengths, prior: FloatArray, chances: FloatArray, judged: int) -> tuple[float, float]:
    """About how many judgements more would settle the first place: at best, and at the rate of the `judged` ones so far.

    At best all compare the leader with its rivals, and each adds the information `p (1 - p)` about the distance of two.
    Distances are taken for what they seem to be now, which is why it is an estimate.
    """
    leader = int(np.argmax(chances))
    rivals = [int(rival) for rival in np.flatnonzero(chances >= MIN_RIVAL) if rival != leader]
    # Any one of several rivals may be the better one, so that the leader must be the surer about each.
    deviations = NormalDist().inv_cdf(1 - (1 - SURE) / max(1, len(rivals)))
    best, slow = 0.0, 0.0
    for rival in rivals:
        gap = float(strengths.mean[leader] - strengths.mean[rival])
        known, before = (1 / max(_spread(one, leader, rival), 1e-12) for one in (strengths.covariance, prior))
        due = max(0.0, (deviations / max(abs(gap), 1e-6)) ** 2 - known)
        chance = float(logistic(np.array(gap)))
        best += due / (chance * (1 - chance))
        slow = max(slow, due * judged / max(known - before, 1e-9))
    return best, max(best, slow)


def _spread(covariance: FloatArray, one: int, other: int) -> float:
    """The variance of the distance of two strengths."""
    return float(covariance[one, one] + covariance[other, other] - 2 * covariance[one, other])


def _combine_settings(clips: Clips) -> tuple[list[str], FloatArray]:
    """The names of what may be first, and the share of each clip in it: clips, or of several contents their settings.

    Clips of different content are hardly compared with each other.
    """
    if len(np.unique(clips.content)) == 1 or not clips.axes:
        return [f"Row {row}" for row in clips.rows], np.eye(len(clips))
    settings, number = np.unique(clips.levels, axis=0, return_inverse=True)
    share = np.zeros((len(settings), len(clips)))
    share[number.reshape(-1), np.arange(len(clips))] = 1.0
    share /= share.sum(axis=1, keepdims=True)
    names = [
        ", ".join(f"{axis} {values[level]}" for axis, values, level in zip(clips.axes, clips.values, levels, strict=True))
        for levels in settings
    ]  # fmt: skip
    return names, share


def _describe_first(
    names: Sequence[str], strengths: Strengths, prior: FloatArray, judged: int
) -> First:  # fmt: skip
    """Whether the first place is decided, and if not, how many judgements more that may take."""
    if len(names) == 1:
        return First(f"{names[0]} is the only setting, so there is no first place to decide.")
    rng = np.random.default_rng(0)
    root = np.linalg.cholesky(strengths.covariance + 1e-9 * np.eye(len(names)))
    draws = strengths.mean[:, None] + root @ rng.standard_normal((len(names), DRAWS))
    chances = np.bincount(draws.argmax(axis=0), minlength=len(names)) / DRAWS
    order = np.argsort(-chances, kind="stable")
    leader = int(order[0])
    if chances[leader] >= SURE:
        named = f"Settled: {names[leader]} is the best, with a chance of {_percent(chances[leader])}."
        return First(named, is_settled=True)
    second = int(order[1])
    named = (
        f"Undecided: {names[leader]} is the best with a chance of {_percent(chances[leader])}, "
        f"{names[second]} with {_percent(chances[second])}."
    )
    return First(named, estimate_more(strengths, prior, chances, judged))


def _format_more(best: float, slow: float) -> str:
    if best > MAX_MORE:
        return (
            f"More than {MAX_MORE:,} further judgements would be required to settle the first place (an estimate): the first ones "
            "are as good as equal. Take any of them, or ask another question."
        )
    if slow > MAX_MORE:
        return f"At least {_round(best):,} further judgements, and perhaps many more, would settle the first place (an estimate)."
    low, high = _round(best), _round(slow)
    span = f"{low:,} to {high:,}" if high > low else f"{low:,}"
    return f"About {span} further judgements would settle the first place (an estimate)."


def _describe_raters(pairs: Pairs, strengths: Strengths, raters: Any) -> Iterator[str]:
    predicted = _predict_each(pairs, strengths)
    for rater in sorted(set(raters.tolist())):
        mine = raters == rater
        says = predicted[mine & (pairs.share != 0.5) & (np.abs(predicted) > 1e-6)]
        wins = pairs.share[mine & (pairs.share != 0.5) & (np.abs(predicted) > 1e-6)]
        count, hits = len(says), int(np.sum((says > 0) == (wins == 1)))
        if count >= MIN_ANSWERS and hits <= count / 2 + DEVIATIONS * math.sqrt(count) / 2:
            yield (
                f"The answers of {rater} cannot be told from random ones: the other answers predict {hits} of {count}, and "
                f"{count / 2:.0f} would be chance. The clips may be too much alike, or the question unclear."
            )
        sides = pairs.share[mine & (pairs.share != 0.5)]
        left = int(np.sum(sides == 1))
        if len(sides) >= MIN_ANSWERS and abs(left - len(sides) / 2) > 3 * math.sqrt(len(sides)) / 2:
            yield (
                f"{rater} chose the {'left' if left > len(sides) / 2 else 'right'} clip in {max(left, len(sides) - left)} of "
                f"{format_count(len(sides), 'pair')}: the side seems to count more than the clip."
            )


def _predict_each(pairs: Pairs, strengths: Strengths) -> FloatArray:
    """The distance of the clips of each pair as all other answers have it, by taking out one at a time."""
    left, right = pairs.left, pairs.right
    gap = strengths.mean[left] - strengths.mean[right]
    variance = np.diag(strengths.covariance)
    spread = variance[left] + variance[right] - 2 * strengths.covariance[left, right]
    chance = logistic(gap)
    without = spread / np.maximum(1 - chance * (1 - chance) * spread, 1e-9)
    return np.asarray(gap - without * (pairs.share - chance))


def _percent(chance: float) -> str:
    return f"{min(99, max(1, round(100 * chance)))}%"


def _round(count: float) -> int:
    """A count to one or two digits, so that it does not seem more exact than it is."""
    number = max(1, math.ceil(count))
    step = 1 if number < 10 else 5 if number < 100 else 50
    return math.ceil(number / step) * step
