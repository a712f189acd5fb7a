"""Rankings: the order of true strengths, honest intervals, finite numbers for whatever was judged, and one model for all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from reelbook.decide.ranking import JudgedPair, Ranking, rank_clips
from reelbook.decide.ratings import describe_first_place
from tests.decide.judged_worlds import draw_strengths, judge_at_random, make_clips


def rank(pairs: list[JudgedPair], count: int) -> Ranking:
    """What pairs of clips without any axes say."""
    return Ranking(pairs, np.arange(count), np.zeros((count, 0), dtype=np.int64))


def judge(answers: Sequence[tuple[int, int, float | None]]) -> list[JudgedPair]:
    return [JudgedPair(*answer) for answer in answers]


def test_counts_are_of_every_item() -> None:
    """What is bad is counted by itself, and decides nothing; one that nobody has seen is in the list, too."""
    pairs = judge([(0, 1, 1.0), (1, 0, 1.0), (0, 2, 0.5), (1, 2, None), (0, 1, 1.0)])

    table = rank(pairs, 4).make_frame(["a", "b", "c", "d"], name="run").sort_index()

    assert table[["wins", "ties", "losses", "judgements", "bad"]].to_numpy().tolist() == [
        [2, 1, 1, 4, 0], [1, 0, 2, 4, 1], [0, 1, 0, 2, 1], [0, 0, 0, 0, 0],
    ]  # fmt: skip
    assert table["chance"].sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "judged",
    [
        [(0, 1, 1.0), (0, 2, 1.0), (1, 2, 1.0), (2, 1, 1.0)],
        [(0, 1, 0.0)],
        [(0, 1, 1.0), (1, 0, 1.0), (2, 3, 1.0), (3, 2, 1.0)],
        [(0, 1, 0.5)],
        [(0, 1, 1.0)] * 500,
    ],
    ids=["one always wins", "one judgement", "two groups", "one tie", "always the same"],
)
def test_scores_are_finite_whatever_was_judged(judged: list[tuple[int, int, float]]) -> None:
    """Between bounds that contain them."""
    table = rank(judge(judged), 4).make_frame(range(4), name="run")

    assert np.isfinite(table[["score", "low", "high"]].to_numpy()).all()
    assert ((table["low"] <= table["score"]) & (table["score"] <= table["high"])).all()
    assert (table["high"] - table["low"] > 0.1).all()


@pytest.mark.parametrize("with_axes", [False, True])
def test_intervals_hold_what_they_promise(with_axes: bool) -> None:
    """The true score is between the bounds about as often as they say, with few judgements, too."""
    inside = []
    for seed in range(24):
        rng = np.random.default_rng(1000 + seed)
        clips = make_clips(8)
        true = draw_strengths(clips, rng) if with_axes else rng.normal(size=8)
        pairs = judge_at_random(clips, true, 40, rng)
        standing = rank_clips(clips, pairs) if with_axes else rank(pairs, 8)
        low, high = standing.belief.bounds(0.9)
        inside += list((low <= true - true.mean()) & (true - true.mean() <= high))

    print(f"{np.mean(inside):.3f} of {len(inside)} true scores between the bounds; 0.9 promised")
    assert 0.86 <= np.mean(inside) <= 0.97


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("count", [6, 20, 60])
def test_the_list_and_the_sentence_name_the_same_first_one(seed: int, count: int) -> None:
    """One model: whoever leads the list has the highest chance, and is the one that the advice speaks of."""
    clips, rng = make_clips(12), np.random.default_rng(seed)
    pairs = judge_at_random(clips, draw_strengths(clips, rng), count, rng)

    frame, advice = rank_clips(clips, pairs).make_frame(clips.rows, name="run"), describe_first_place(clips, pairs)[0]

    assert sorted(frame.index) == list(range(12))
    assert frame["chance"].is_monotonic_decreasing
    assert advice[0].startswith("Too early to say") or f"Row {frame.index[0]} is the best" in advice[0]
