"""Which pair is asked next: the one whose answer would tell most about the best clips, and which clip is on which side.

What the answers tell is the belief of `posterior`, of which a rough one will do here. A pair is worth the information that
its answer has about the strengths (as in Houlsby et al., Bayesian active learning for classification and preference
learning, 2011), times the chance that one of the two is among the best. Pairs with a clip that was not seen twice come first.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from .judged_clips import Clips
from .posterior import Belief, FloatArray, IntArray, find_factor, learn_pairs, logistic
from .ranking import JudgedPair

SEEN_ENOUGH = 2
"""Answers about a clip before which it is too early to say whether it is the best."""
DRAWS = 64
MIN_INTEREST = 0.05
"""The interest in a clip that is never among the best, where one that always is counts 1."""
SKIPPED_FOR = 8
"""The number of answers within which a skipped pair is not asked again, if there is another."""
MAX_TIMES = 2
"""A rater is asked each pair at most so often; a second time only after all others."""
MAX_CLIPS = 320
"""Clips among which the next pair is chosen; of more, those judged most and some at random."""


class Pair(NamedTuple):
    """Two rows of the table, by their numbers, as they stand on the left and on the right."""

    left: int
    right: int


def choose_pair(clips: Clips, compared: Sequence[JudgedPair], *, rater: str, question: str = "") -> Pair | None:
    """The next pair for a rater; None if nothing is left to ask. What is left to chance depends on rater and question."""
    if len(clips) < 2:
        return None
    mine = [pair for pair in compared if pair.rater == rater]
    rng = np.random.default_rng(_make_seed(f"{rater}\0{question}", len(mine)))
    chosen = _choose_clips(clips, compared, rng)
    allowed = _find_allowed(clips, chosen, mine, _count_seen(clips, compared))
    if allowed is None:
        return None
    strengths = _learn(clips, chosen, compared)
    interest = MIN_INTEREST + _compute_interest(clips.content[chosen], strengths, rng)
    worth = _measure_information(strengths, *allowed) * (interest[allowed[0]] + interest[allowed[1]])
    # With a little chance, so that every rater has an own order.
    worth *= 1 + 0.05 * rng.random(len(worth))
    first, second = (int(chosen[side[worth.argmax()]]) for side in allowed)
    left, right = _place_sides(first, second, compared, mine, rng)
    return Pair(clips.rows[left], clips.rows[right])


def choose_row(clips: Clips, judged: Iterable[int], *, later: Sequence[int] = (), name: str) -> int | None:
    """The row that a rater gives stars next, or keeps, in an order of the rater's own; None if all are judged.

    `later` are clips that the rater has passed over, the earliest first: they come after all others, in that order.
    """
    order = np.random.default_rng(_make_seed(name, 0)).permutation(len(clips))
    done = {*judged, *later}
    waiting = [*(int(clip) for clip in order if clip not in done), *later]
    return clips.rows[waiting[0]] if waiting else None


def _learn(clips: Clips, chosen: IntArray, compared: Sequence[JudgedPair]) -> Belief:
    """What the answers tell about the strengths of the chosen clips."""
    numbers = {int(clip): number for number, clip in enumerate(chosen)}
    decided = [
        (numbers[pair.left], numbers[pair.right], pair.share)
        for pair in compared
        if pair.share is not None and pair.left in numbers and pair.right in numbers
    ]
    left, right, share = ([pair[side] for pair in decided] for side in range(3))
    return learn_pairs(clips.levels[chosen], left, right, share, is_rough=True)


def _measure_information(strengths: Belief, first: IntArray, second: IntArray) -> FloatArray:
    """The information of the answer to each pair about the strengths, in bits."""
    # The logistic curve as a normal one of the same slope.
    scale = math.pi / 8
    variance = np.diag(strengths.covariance)
    spread = np.maximum(variance[first] + variance[second] - 2 * strengths.covariance[first, second], 0) * scale
    gap = strengths.mean[first] - strengths.mean[second]
    width = math.pi * math.log(2) / 2
    expected = math.sqrt(width) * np.exp(-scale * gap**2 / (2 * (spread + width))) / np.sqrt(spread + width)
    chance = np.clip(logistic(gap / np.sqrt(1 + spread)), 1e-12, 1 - 1e-12)
    entropy = -(chance * np.log2(chance) + (1 - chance) * np.log2(1 - chance))
    return np.maximum(entropy - expected, 0)


def _compute_interest(content: IntArray, strengths: Belief, rng: np.random.Generator) -> FloatArray:
    """The chance of each clip to be the best of its content, scaled so that the likeliest is 1."""
    draws = strengths.mean[:, None] + find_factor(strengths.covariance) @ rng.standard_normal((len(content), DRAWS))
    chances = np.zeros(len(content))
    for shown in np.unique(content):
        members = np.flatnonzero(content == shown)
        chances[members] = np.bincount(draws[members].argmax(axis=0), minlength=len(members)) / DRAWS
    return np.asarray(np.sqrt(chances / chances.max()))


def _count_seen(clips: Clips, compared: Sequence[JudgedPair]) -> IntArray:
    """How often each clip was seen by anybody who answered; of several contents, how often a clip of its setting was."""
    answered = [clip for pair in compared if not pair.is_skipped for clip in pair[:2]]
    unit = clips.units[1]
    return np.bincount(unit[np.array(answered, dtype=np.int64)], minlength=int(unit.max(initial=0)) + 1)[unit]


def _find_allowed(
    clips: Clips, chosen: IntArray, mine: Sequence[JudgedPair], seen: IntArray
) -> tuple[IntArray, IntArray] | None:  # fmt: skip
    """The pairs that may be asked: new ones of the same content, else new ones, else once more; None if all are done."""
    count = len(chosen)
    numbers = {int(clip): number for number, clip in enumerate(chosen)}
    times, skipped = np.zeros((count, count), dtype=np.int64), np.zeros((count, count), dtype=bool)
    for age, pair in enumerate(reversed(mine)):
        if pair.left in numbers and pair.right in numbers:
            cell = tuple(sorted((numbers[pair.left], numbers[pair.right])))
            times[cell] += not pair.is_skipped
            skipped[cell] |= pair.is_skipped and age < SKIPPED_FOR
    is_new = seen[chosen] < SEEN_ENOUGH
    upper = np.triu(np.ones((count, count), dtype=bool), 1)
    content = clips.content[chosen]
    same = upper & (content[:, None] == content[None, :])
    again = same if same.any() else upper
    repeats = [again & (times < time) for time in range(2, MAX_TIMES + 1)]
    for choice in (same & (times == 0), upper & (times == 0), *repeats):
        if choice.any():
            choice = choice & ~skipped if (choice & ~skipped).any() else choice
            new = choice & (is_new[:, None] | is_new[None, :])
            first, second = np.nonzero(new if new.any() else choice)
            return first, second
    return None


def _choose_clips(clips: Clips, compared: Sequence[JudgedPair], rng: np.random.Generator) -> IntArray:
    """All clips; of very many, those judged most often and others at random."""
    if len(clips) <= MAX_CLIPS:
        return np.arange(len(clips))
    judged = np.array([clip for pair in compared for clip in pair[:2]], dtype=np.int64)
    counts = np.bincount(judged, minlength=len(clips))
    order = np.lexsort((rng.random(len(clips)), -counts))
    often, others = order[: MAX_CLIPS // 2], order[MAX_CLIPS // 2 :]
    return np.sort(np.concatenate([often, rng.choice(others, MAX_CLIPS - len(often), replace=False)]))


def _place_sides(
    first: int, second: int, compared: Sequence[JudgedPair], mine: Sequence[JudgedPair], rng: np.random.Generator
) -> tuple[int, int]:
    """The left and the right clip: one that was more often on the left goes to the right, for this rater before all."""
    for pairs in (mine, compared):
        lean = Counter(pair.left for pair in pairs)
        lean.subtract(pair.right for pair in pairs)
        if lean[first] != lean[second]:
            return (first, second) if lean[first] < lean[second] else (second, first)
    return (first, second) if rng.random() < 0.5 else (second, first)


def _make_seed(name: str, asked: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{asked} {name}".encode(errors="backslashreplace")).digest()[:8])
