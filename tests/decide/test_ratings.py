"""Ratings: every answer is stored at once, blind, and read again by whoever judges the same clips."""

from __future__ import annotations

import pandas as pd
import pytest

import reelbook as rb
from reelbook.decide.judged_clips import find_clips
from reelbook.decide.ratings import Ratings
from tests.storage.made import Made


def make_table(clips: int, prompts: int = 1) -> pd.DataFrame:
    """A table of runs as a sweep gives it, whose axes are the frames and the prompt."""
    rows = [(f"prompt {place % prompts}", 9 + 8 * (place // prompts)) for place in range(clips)]
    table = pd.DataFrame(rows, columns=["prompt", "num_frames"], index=pd.RangeIndex(clips, name="run"))
    table.attrs["reelbook"] = {"axes": ["prompt", "num_frames"]}
    return table


def rate(made: Made, clips: int = 6, *, prompts: int = 1, rater: str = "ana", kind: str = "pairs") -> Ratings:
    """The ratings of a table whose clips are named by their rows."""
    table = make_table(clips, prompts)
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
    ("left", "right", "answer"), [(0, 0, "left"), (0, 99, "left"), (0, 1, "up"), (True, 1, "left"), ("0", 1, "left")]
)
def test_an_impossible_answer_is_refused_in_words(made: Made, left: int, right: int, answer: str) -> None:
    """A row twice, a row that is not there, an answer that means nothing; and nothing is stored."""
    ratings = rate(made)

    with pytest.raises(rb.InvalidInput, match=r"same clip|no clip in row|is one of left, right, tie, bad, skip"):
        ratings.judge(left, right, answer)

    assert ratings.frame.empty
