"""Ratings: every answer is stored at once and read again by all who judge the same clips; and what the answers say in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

import reelbook as rb
from reelbook.decide.ranking import JudgedPair, find_clips
from reelbook.decide.ratings import Level, Ratings, compute_alpha, describe_first_place, measure_agreement
from tests.decide.judged_worlds import make_clips, make_table
from tests.storage.made import Made


def rate(made: Made, clips: int = 6, *, prompts: int = 1, rater: str = "ana", kind: str = "pairs") -> Ratings:
    """The ratings of a table whose clips are named by their rows."""
    return rate_table(made, make_table(clips, prompts), rater=rater, kind=kind)


def rate_table(made: Made, table: pd.DataFrame, *, rater: str = "ana", kind: str = "pairs") -> Ratings:
    found = find_clips(table, [f"clip {row}" for row in table.index])
    return Ratings(table, found, made.library.judgements, question="Which is calmer?", rater=rater, kind=kind)


def test_an_answer_is_a_row_of_the_library(made: Made) -> None:
    """With who, when, what, and how long it took; another object reads it."""
    rate(made).judge(0, 3, "left", seconds=2.5)

    (row,) = rate(made, rater="ben").frame.to_dict("records")

    assert (row["rater"], row["question"], row["kind"]) == ("ana", "Which is calmer?", "pairs")
    assert (row["left"], row["right"], row["answer"], row["seconds"]) == (0, 3, "left", 2.5)
    assert abs(row["at"] - pd.Timestamp.now(tz="UTC")) < pd.Timedelta("1min")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda one: one.judge(0, 0, "left"), "Rows 0 and 0 are the same clip"),
        (lambda one: one.judge(0, 99, "left"), "no clip in row 99"),
        (lambda one: one.judge(True, 1, "left"), "no clip in row True"),
        (lambda one: one.judge("0", 1, "left"), "no clip in row '0'"),
        (lambda one: one.judge(0, 1, "up"), "one of left, right, tie, bad, skip"),
        (lambda one: one.judge(0, 1, ["left"]), "one of left, right, tie, bad, skip"),
        (lambda one: one.rate(0, 0), "from 1 to 5, or None, not 0"),
        (lambda one: one.rate(0, 2.5), "from 1 to 5, or None, not 2.5"),
        (lambda one: one.keep(0, "yes"), "True, False or None, not 'yes'"),
        (lambda one: one.ranking(by="rater"), "no column 'rater' to rank by.*agreement"),
        (lambda one: one.ranking(by="prompt"), "prompt has the same value in all clips.*num_frames, guidance"),
        (lambda one: one.ranking(by=3), "no column 3 to rank by"),
    ],
)
def test_an_impossible_call_is_refused_in_words(made: Made, call: Any, words: str) -> None:
    """It says what is possible; and nothing is stored."""
    ratings = rate(made)

    with pytest.raises(rb.InvalidInput, match=words):
        call(ratings)

    assert ratings.frame.empty


def test_two_raters_share_one_ranking(made: Made) -> None:
    """Whatever order they judge in; the better row is first."""
    for rater in ("ana", "ben"):
        ratings = rate(made, rater=rater)
        for _ in range(12):
            pair = ratings.next_pair()
            assert pair is not None
            ratings.judge(*pair, "left" if pair.left > pair.right else "right")

    ranking = ratings.ranking()

    assert list(ranking.columns) == ["score", "low", "high", "chance", "wins", "ties", "losses", "judgements", "bad"]
    assert ranking.index[0] == 5
    assert ranking["score"].idxmin() in (0, 1)
    assert (str(ratings.counts), ratings.counts.mine) == ("24 judgements of 6 clips by 2 people", 12)
    assert ratings.agreement().alpha == 1.0
    assert ratings.ranking(by="num_frames").index.tolist()[0] in (1, 3)


def test_the_ranking_of_an_axis_counts_what_differs(made: Made) -> None:
    """Pairs of equal values say nothing about them."""
    ratings = rate(made, 8)
    for left, right, answer in ((0, 4, "left"), (4, 1, "right"), (2, 6, "tie"), (3, 7, "right")):
        ratings.judge(left, right, answer)

    ranking = ratings.ranking(by="guidance").sort_index()

    assert ranking["judgements"].tolist() == [4, 4]
    assert ranking["wins"].tolist() == [2, 1]
    assert ranking.index.name == "guidance"
    assert ratings.ranking(by="num_frames")["judgements"].sum() == 2


def test_undo_goes_back_one_answer_at_a_time(made: Made) -> None:
    """Of this rater only, of whatever kind; the ranking forgets it, too."""
    ratings, other = rate(made), rate(made, rater="ben")
    ratings.judge(0, 1, "left")
    other.judge(0, 1, "right")
    ratings.rate(2, 5)

    answers = [(ratings.undo(), len(ratings.frame)) for _ in range(3)]

    assert answers == [(True, 2), (True, 1), (False, 1)]
    assert ratings.ranking().query("judgements > 0").index.tolist() == [1, 0]


def test_the_table_gets_columns(made: Made) -> None:
    """Ratings of the ranked rows, the mean of stars, and what most want to keep; both bad counts against both."""
    ana, ben = rate(made, kind="stars"), rate(made, rater="ben", kind="keep")
    ana.judge(0, 1, "left")
    ana.judge(2, 3, "bad")
    ana.rate(0, 2)
    ana.rate(0, 5)
    ben.rate(0, 4)
    ben.rate(1, 3)
    ben.rate(1, None)
    for row, wanted in ((0, True), (1, False), (2, True), (4, True), (4, None)):
        ben.keep(row, wanted)

    table = ben.table

    assert table["wins"].tolist()[:3] == [1, 0, pd.NA]
    assert table["stars"].isna().tolist() == [False, True, True, True, True, True]
    assert table["stars"][0] == 4.5
    assert table["keep"].tolist() == [True, False, pd.NA, False, pd.NA, pd.NA]
    assert table["rating"][0] > table["rating"][1]
    assert (table["rating_low"][0] < table["rating"][0] < table["rating_high"][0]) is np.True_
    assert list(rate_table(made, table).table.columns) == list(table.columns)


def test_stars_are_asked_for_every_clip_once(made: Made) -> None:
    """And then nothing more; a withdrawn one is asked again."""
    ratings, asked = rate(made, kind="stars"), list[int]()
    while (row := ratings.next_row()) is not None:
        asked.append(row)
        ratings.rate(row, 3)
    ratings.rate(4, None)

    assert sorted(asked) == list(range(6))
    assert ratings.next_row() == 4


@pytest.mark.parametrize("index", [["a", "b"], [0, 0], [0.5, 1.5]])
def test_a_table_needs_row_numbers(index: list[Any]) -> None:
    """Answers name rows by their numbers."""
    with pytest.raises(rb.InvalidInput, match="reset_index"):
        find_clips(make_table(2).set_axis(index), ["clip a", "clip b"])


def test_stars_and_what_to_keep_are_summed_up(made: Made) -> None:
    """In a sentence each."""
    stars, keep = rate(made, kind="stars"), rate(made, kind="keep")
    before = (stars.advice, keep.advice)
    for row, given in ((0, 5), (1, 3), (2, None)):
        stars.rate(row, given)
    for row, wanted in ((0, True), (1, False), (2, None)):
        keep.keep(row, wanted)

    assert before == (("No clip has stars yet.",), ("0 to keep, 0 to reject, 6 undecided.",))
    assert stars.advice == ("Row 0 has the most stars, 5.0 on average. 4 clips without stars so far.",)
    assert keep.advice == ("1 to keep, 1 to reject, 4 undecided.",)


def judge(answers: Sequence[tuple[int, int, float | None]]) -> list[JudgedPair]:
    return [JudgedPair(*answer) for answer in answers]


CLEAR = [(0, 1, 1.0), (2, 0, 0.0), (1, 2, 1.0)]
LOPSIDED = [(0, 1, 1.0), (0, 2, 1.0), (3, 0, 0.0), (4, 0, 0.0), (1, 2, 0.5), (5, 6, None)]


@pytest.mark.parametrize(
    ("clips", "answers", "first", "remaining"),
    [
        (3, [], "No pair has been decided yet, so nothing is ranked.", ""),
        (3, [(0, 1, None)], "Both clips were bad in every pair so far", ""),
        (1, [], "There is only one clip", ""),
        (3, CLEAR, "Undecided: Row 0 is the best with a chance of ", "at least about "),
        (3, CLEAR * 10, "Settled: Row 0 is the best, with a chance of 9", "the first place is settled"),
        (2, [(0, 1, 1.0), (1, 0, 1.0)] * 40, "Undecided: Row ", "the leaders cannot be told apart yet"),
        (12, LOPSIDED * 8, "Too early to say: 5 of 12 have not been judged twice yet.", "too early to say: 5 of 12"),
    ],
)
def test_the_advice_says_whether_the_first_place_is_decided(
    clips: int, answers: list[tuple[int, int, float | None]], first: str, remaining: str
) -> None:
    """And about how many judgements more would decide it, to one who judges without naming a clip."""
    sentences, told = describe_first_place(make_clips(clips), judge(answers))

    assert sentences[0].startswith(first)
    assert told.startswith(remaining)
    assert "Row" not in told


def test_of_several_contents_the_settings_are_first() -> None:
    """Clips of different prompts are hardly compared with each other."""
    clips = make_clips(8, prompts=2)
    judged = [
        (left, right, 1.0) for left in (0, 1) for right in range(2, 8) if clips.content[left] == clips.content[right]
    ]

    assert describe_first_place(clips, judge(judged * 12))[0][0].startswith("Settled: num_frames 0 is the best")


# Klaus Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), examples A to C; "." is a missing value.
BINARY = ("0100000010", "1110010000")
NOMINAL = ("aabbdcccedda", "babbbccceddd")
FOUR = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")


def units_of(observers: Sequence[str]) -> list[list[int]]:
    """The values of each unit as numbers from 0."""
    names = sorted({value for row in observers for value in row if value != "."})
    return [[names.index(value) for value in unit if value != "."] for unit in zip(*observers, strict=True)]


@pytest.mark.parametrize(
    ("observers", "level", "published"),
    [(BINARY, "nominal", 0.095), (NOMINAL, "nominal", 0.692), (FOUR, "nominal", 0.743), (FOUR, "ordinal", 0.815)],
)
def test_alpha_is_that_of_the_published_examples(observers: Sequence[str], level: Level, published: float) -> None:
    """To the three digits that are printed."""
    alpha = compute_alpha(units_of(observers), 5, level=level)

    assert alpha == pytest.approx(published, abs=6e-4)


def test_which_clip_of_a_pair_is_called_the_first_makes_no_difference() -> None:
    """A pair turned round has the same agreement, although its answers have other names."""
    pairs = [[0, 0], [0, 1], [0, 0], [2, 0], [0, 0]]
    turned = [[1, 1], [0, 1], [1, 1], [2, 0], [0, 0]]
    mirror = (1, 0, 2, 3)

    alphas = {compute_alpha(units, 4, mirror=mirror) for units in (pairs, turned)}

    assert len(alphas) == 1
    assert compute_alpha(pairs, 4) != compute_alpha(turned, 4)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({}, "Nothing has been judged yet"),
        ({1: {"ana": 0}}, r"Only one person has judged \(ana\)"),
        ({1: {"ana": 0}, 2: {"ben": 1}}, "no pair was judged by two of them"),
        ({1: {"ana": 0, "ben": 0}}, "All gave the same answer on the 1 pair"),
    ],
)
def test_what_cannot_be_computed_is_said_in_words(answers: dict[object, dict[str, int]], words: str) -> None:
    """No judge, one, two who have nothing in common, and no variation."""
    agreement = measure_agreement(answers, 2, level="nominal")

    assert agreement.alpha is None
    assert re.search(words, str(agreement))
