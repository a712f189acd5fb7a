"""Pairs: no pair twice, balanced sides, one content at a time, and an answer that tells much."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from reelbook.decide.ranking import SKIPPED_FOR, Clips, JudgedPair, choose_pair, choose_row, rank_clips
from tests.decide.judged_worlds import draw_strengths, judge_actively, judge_at_random, make_clips


def ask(clips: Clips, done: list[JudgedPair], rater: str = "ana") -> tuple[int, int]:
    pair = choose_pair(clips, done, rater=rater)
    assert pair is not None
    return pair


def test_no_pair_is_asked_twice_before_all_others() -> None:
    """Each once, then each once more, and then nothing is left to ask."""
    clips, done = make_clips(5), list[JudgedPair]()

    while (pair := choose_pair(clips, done, rater="ana")) is not None:
        done.append(JudgedPair(*pair, float(pair.left < pair.right), rater="ana"))

    asked = [frozenset(one[:2]) for one in done]
    assert len(asked) == 20
    assert len(set(asked[:10])) == len(set(asked[10:])) == 10


def test_clips_of_one_content_are_compared_first() -> None:
    """Across prompts only when all pairs within them are done."""
    clips = make_clips(8, prompts=2)
    done = list[JudgedPair]()
    for _ in range(2 * 6 + 16):
        done.append(JudgedPair(*ask(clips, done), 1.0, rater="ana"))

    is_within = [clips.content[one.left] == clips.content[one.right] for one in done]
    assert is_within == [True] * 12 + [False] * 16


@pytest.mark.parametrize("skips", [0.0, 0.2])
def test_the_side_of_a_clip_is_a_matter_of_chance(skips: float) -> None:
    """Neither the lower number nor any clip stands on one side much more often."""
    clips, rng, done = make_clips(24), np.random.default_rng(5), list[JudgedPair]()
    for _ in range(200):
        is_skipped = rng.random() < skips
        pair = ask(clips, done)
        done.append(JudgedPair(*pair, None if is_skipped else float(rng.random() < 0.5), is_skipped, "ana"))

    lean = Counter(one.left for one in done)
    lean.subtract(one.right for one in done)
    assert max(map(abs, lean.values())) <= 14
    first = [one.left < one.right for one in done]
    assert 70 <= sum(first) <= 130


def test_every_rater_has_an_own_order() -> None:
    """And the same one after the kernel has died, whose next pair is the one that was not answered."""
    clips = make_clips(24)

    first = {name: ask(clips, [], name) for name in ("ana", "ben", "eve", "joe", "kim")}

    assert len(set(first.values())) >= 4
    assert first["ana"] == ask(clips, [], "ana")
    assert len({choose_row(clips, [], name=name) for name in first}) > 2


def test_a_skipped_pair_is_asked_later() -> None:
    """After some others; at once if there are no others."""
    clips, done = make_clips(6), list[JudgedPair]()
    skipped = ask(clips, done)
    done.append(JudgedPair(*skipped, None, is_skipped=True, rater="ana"))
    for _ in range(15 - 1):
        done.append(JudgedPair(*ask(clips, done), 1.0, rater="ana"))

    again = [place for place, one in enumerate(done[1:], 1) if set(one[:2]) == set(skipped)]
    two = make_clips(2)
    assert again
    assert again[0] > SKIPPED_FOR
    assert set(ask(two, [JudgedPair(0, 1, None, is_skipped=True, rater="ana")])) == {0, 1}
    assert choose_pair(make_clips(1), [], rater="ana") is None


def test_chosen_pairs_tell_more_than_random_ones() -> None:
    """Among 24 clips, 60 chosen pairs lead to a better one than 100 random pairs."""
    missed: dict[str, list[float]] = {"chosen": [], "random": []}
    for seed in range(12):
        for name, judge, count in (("chosen", judge_actively, 60), ("random", judge_at_random, 100)):
            rng = np.random.default_rng(seed)
            clips = make_clips(24)
            strengths = draw_strengths(clips, rng)
            best = rank_clips(clips, judge(clips, strengths, count, rng)).belief.mean.argmax()
            missed[name].append(float(strengths.max() - strengths[best]))

    print({name: f"{np.mean(each):.2f}" for name, each in missed.items()}, "worse than the best clip, on average")
    assert np.mean(missed["chosen"]) < np.mean(missed["random"])
