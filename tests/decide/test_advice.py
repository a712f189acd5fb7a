"""Advice: whether the first place is decided, and about how many judgements more would decide it."""

from __future__ import annotations

from collections.abc import Sequence

from reelbook.decide.advice import advise, describe_remaining
from reelbook.decide.ranking import JudgedPair
from tests.decide.judged_worlds import make_clips


def judge(answers: Sequence[tuple[int, int, float | None]]) -> list[JudgedPair]:
    return [JudgedPair(*answer) for answer in answers]


def test_nothing_judged_and_nothing_to_judge_are_said() -> None:
    """A sentence each."""
    assert advise(make_clips(3), judge([])) == ("No pair has been decided yet, so nothing is ranked.",)
    assert advise(make_clips(3), judge([(0, 1, None)]))[0].startswith("Both clips were bad in every pair")
    assert advise(make_clips(1), judge([]))[0].startswith("There is only one clip")


def test_a_clear_first_place_is_settled() -> None:
    """After enough judgements; before, it is undecided, and says about how many more it takes."""
    clips = make_clips(3)
    few = advise(clips, judge([(0, 1, 1.0), (2, 0, 0.0), (1, 2, 1.0)]))
    many = advise(clips, judge([(0, 1, 1.0), (2, 0, 0.0), (1, 2, 1.0)] * 10))

    assert few[0].startswith("Undecided: Row 0 is the best with a chance of ")
    assert few[1].startswith("About ")
    assert few[1].endswith(" more judgements would settle the first place.")
    assert many == (many[0],)
    assert str(few) == "\n".join(few)
    assert many[0].startswith("Settled: Row 0 is the best, with a chance of 9")


def test_equals_are_called_equals() -> None:
    """Two clips that win as often as each other need more judgements than anybody gives."""
    advice = advise(make_clips(2), judge([(0, 1, 1.0), (1, 0, 1.0)] * 40))

    assert advice[1].startswith(
        "The leaders cannot be told apart yet: that would take more than about 1,000 more judgements"
    )


def test_before_each_clip_was_judged_twice_it_is_too_early() -> None:
    """However clear the answers about the others are; one who judges hears that, too."""
    clips = make_clips(12)
    few = judge([(0, 1, 1.0), (0, 2, 1.0), (3, 0, 0.0), (4, 0, 0.0), (1, 2, 0.5), (5, 6, None)] * 8)

    assert advise(clips, few) == ("Too early to say: 5 of 12 have not been judged twice yet.",)
    assert describe_remaining(clips, few) == "too early to say: 5 of 12 have not been judged twice yet"


def test_of_several_contents_the_settings_are_first() -> None:
    """Clips of different prompts are hardly compared with each other."""
    clips = make_clips(8, prompts=2)
    judged = [
        (left, right, 1.0) for left in (0, 1) for right in range(2, 8) if clips.content[left] == clips.content[right]
    ]

    advice = advise(clips, judge(judged * 12))

    assert advice[0].startswith("Settled: num_frames 0 is the best")
