"""Rankings: the scores of choix, honest intervals, and finite numbers for whatever was judged."""

from __future__ import annotations

import sys

import choix
import numpy as np
import pytest

import reelbook as rb
from reelbook.decide.ranking import NOTES, NOTHING, PRIOR, SHARE, Pairs, is_connected, make_pairs, make_ranking


def judge_all(strengths: np.ndarray, count: int, *, seed: int = 0, ties: float = 0.0) -> Pairs:
    """Random pairs, judged as their strengths have it."""
    rng = np.random.default_rng(seed)
    judged = []
    for _ in range(count):
        left, right = rng.choice(len(strengths), 2, replace=False)
        won = rng.random() < 1 / (1 + np.exp(strengths[right] - strengths[left]))
        judged.append((int(left), int(right), 0.5 if rng.random() < ties else float(won)))
    return make_pairs(len(strengths), judged)


@pytest.mark.parametrize("seed", range(3))
def test_scores_are_those_of_choix(seed: int) -> None:
    """To a thousandth, with every judgement decided."""
    pairs = judge_all(np.linspace(-1.5, 1.5, 12), 300, seed=seed)
    won = [(a, b) if share == 1 else (b, a) for a, b, share in zip(pairs.left, pairs.right, pairs.share, strict=True)]
    expected = choix.opt_pairwise(12, won)

    scores = make_ranking(pairs, range(12), name="run").sort_index()["score"].to_numpy()

    assert is_connected(pairs)
    assert np.abs(scores - (expected - expected.mean())).max() < 1e-3


def test_a_tie_is_half_a_win_of_each() -> None:
    """Two ties count as one win of each side."""
    ties = make_pairs(3, [(0, 1, 0.5), (0, 1, 0.5), (1, 2, 1.0), (2, 0, 1.0), (0, 2, 1.0)])
    wins = make_pairs(3, [(0, 1, 1.0), (1, 0, 1.0), (1, 2, 1.0), (2, 0, 1.0), (0, 2, 1.0)])

    one, other = (make_ranking(pairs, range(3), name="run")["score"].sort_index() for pairs in (ties, wins))

    assert np.abs(one - other).max() < 1e-6


def test_counts_are_of_every_item() -> None:
    """What is bad is counted by itself, and decides nothing."""
    pairs = make_pairs(3, [(0, 1, 1.0), (1, 0, 1.0), (0, 2, 0.5), (1, 2, None), (0, 1, 1.0)])

    table = make_ranking(pairs, ["a", "b", "c"], name="run").sort_index()

    assert table[["wins", "ties", "losses", "judgements", "bad"]].to_numpy().tolist() == [
        [2, 1, 1, 4, 0], [1, 0, 2, 4, 1], [0, 1, 0, 2, 1],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "judged"),
    [
        ("one always wins", [(0, 1, 1.0), (0, 2, 1.0), (1, 2, 1.0), (2, 1, 1.0)]),
        ("one judgement", [(0, 1, 0.0)]),
        ("two groups", [(0, 1, 1.0), (1, 0, 1.0), (2, 3, 1.0), (3, 2, 1.0)]),
        ("one tie", [(0, 1, 0.5)]),
        ("always the same", [(0, 1, 1.0)] * 500),
    ],
)
def test_scores_are_finite_whatever_was_judged(name: str, judged: list[tuple[int, int, float]]) -> None:
    """Between bounds that contain them; and it is said when the answers alone give no scores."""
    pairs = make_pairs(4, list(judged))

    table = make_ranking(pairs, range(4), name="run")

    assert np.isfinite(table[["score", "low", "high"]].to_numpy()).all()
    assert ((table["low"] <= table["score"]) & (table["score"] <= table["high"])).all()
    assert (table["high"] - table["low"] > 0.1).all()
    assert table.attrs[NOTES] == ([] if name == "one tie" else [PRIOR])


def test_nothing_judged_is_an_empty_ranking() -> None:
    """With a sentence; pairs where both are bad rank nothing either."""
    for judged in ([], [(0, 1, None)]):
        table = make_ranking(make_pairs(2, list(judged)), range(2), name="run")

        assert len(table) == 0
        assert table.attrs[NOTES] == [NOTHING]


def test_intervals_hold_what_they_promise() -> None:
    """The true score is between the bounds about as often as they say, with few judgements, too."""
    inside = []
    for seed in range(18):
        true = np.random.default_rng(1000 + seed).normal(size=8)
        table = make_ranking(judge_all(true, 40, seed=seed), range(8), name="run").sort_index()
        expected = true[table.index.to_numpy()]
        expected -= expected.mean()
        inside += list((table["low"] <= expected) & (expected <= table["high"]))

    print(f"{np.mean(inside):.3f} of {len(inside)} true scores between the bounds; {SHARE} promised")
    assert 0.86 <= np.mean(inside) <= 0.99


def test_a_ranking_is_the_same_each_time() -> None:
    """Its resamples are drawn with a seed."""
    pairs = judge_all(np.array([0.0, 0.5, 1.0]), 30)

    assert make_ranking(pairs, range(3), name="run").equals(make_ranking(pairs, range(3), name="run"))
    assert not make_ranking(pairs, range(3), name="run", seed=1).equals(make_ranking(pairs, range(3), name="run"))


def test_without_evalica_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line; nothing that was judged is lost."""
    monkeypatch.setitem(sys.modules, "evalica", None)

    with pytest.raises(rb.ReelbookError, match=r"pip install 'reelbook\[decide\]'.*All judgements are stored"):
        make_ranking(make_pairs(2, [(0, 1, 1.0)]), range(2), name="run")
