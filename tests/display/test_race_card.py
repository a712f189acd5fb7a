"""The card of a race: its outcome in words, standings with intervals, and what strangers wrote as text only."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reelbook.decide.race.sentences import (
    Contender,
    End,
    RaceProgress,
    RaceState,
)
from reelbook.display.race_card import format_race, render_race

LEADER = Contender(1, {"num_frames": 97, "resolution": "480p"}, 5.0, 4.0, 6.0, 0.7, 3, 0, 159)
SECOND = Contender(0, {"num_frames": 49, "resolution": "720p"}, 3.0, 2.0, 4.5, 0.3, 2, 1, 159)
FAILED = Contender(2, {"num_frames": 9, "resolution": "720p"}, None, None, None, 0.0, 0, 2, 0)
RACE = RaceProgress(
    state=RaceState.DONE, axes=("num_frames", "resolution"), contenders=(LEADER, SECOND, FAILED), score="sharpness", is_judged=False,
    rounds=2, runs=8, repeats=24, free=0, spent=318, earlier=0, spent_now=318, budget=509, whole=1272, sure=0.95, chance=0.7, is_decided=False,
    elapsed=12.0, end=End.BUDGET, block="prompt",
)  # fmt: skip


def test_an_undecided_race_says_so_first() -> None:
    """With the chance, what was asked for, the reason of the end, and what it has cost and saved."""
    html = render_race(RACE)

    assert "<b>Undecided</b>" in html
    assert "Undecided: num_frames 97, resolution 480p leads, with a 70% chance of being the best; 95% was required. 1 other setting may be as good." in html  # fmt: skip
    assert "The budget of 509 credits allows no more runs" in html
    assert "318 of 509 credits spent" in html
    assert "saved" not in html
    assert "<summary>How this is computed</summary>" in html
    assert "3 runs gave no score" in html
    assert "A prompt may shift all settings alike" in html
    assert "Intervals hold 90%." in html
    assert "5.00, between 4.00 and 6.00" in html
    assert "70% · 3 runs" in html
    assert format_race(RACE).startswith("Undecided · 8 of 24 runs · 318 of 509 credits spent")


@pytest.mark.parametrize(
    ("changes", "facts", "what"),
    [
        ({"is_decided": True, "chance": 0.97}, {"end": End.SURE}, "Decided: num_frames 97, resolution 480p. The chance to be the best is 97%."),
        ({"state": RaceState.RUNNING}, {"end": End.NONE}, "So far num_frames 97, resolution 480p leads, with a 70% chance of being the best; 95% ends the race."),
        ({"state": RaceState.JUDGING, "awaited": 1}, {}, "Judge 1 more pair, and the race continues by itself."),
        ({"chance": 0.98}, {}, "leads, with a 98% chance of being the best; a decision takes 2 runs of it."),
        ({}, {"is_constant": True}, "all runs have the same score. Choose another measure"),
        ({"contenders": (replace(LEADER, runs=0), SECOND)}, {}, "That is predicted from its values: it was not run."),
        ({}, {"end": End.COMPLETE}, "Every run of the plan has been made."),
        ({}, {"end": End.CANCELLED}, "It was stopped. The same call continues from here, and pays for nothing twice."),
        ({}, {"end": End.STOPPED, "reason": "The key is wrong."}, "It has stopped: The key is wrong."),
    ],
)  # fmt: skip
def test_the_end_of_a_race_is_a_sentence(changes: dict[str, object], facts: dict[str, object], what: str) -> None:
    """One for each way to end, or to be under way."""
    found = replace(RACE, **changes, **facts)  # type: ignore[arg-type]

    assert what in " ".join(found.findings)


def test_an_unfinished_race_says_how_to_go_on_and_a_repeated_one_that_all_was_paid() -> None:
    """For readers of a saved notebook."""
    running = render_race(replace(RACE, state=RaceState.RUNNING, round_runs=8, round_done=3))

    assert "Round 2: 3 of 8 runs" in running
    assert "If the kernel has ended since" in running
    assert "saved against all runs" not in running
    assert "318 of 509 credits spent, nothing now" in render_race(replace(RACE, spent_now=0))
