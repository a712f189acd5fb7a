"""Durations: learnt from looks that each tell little, and turned into the ages at which asking pays."""

from __future__ import annotations

import random

import pytest

from reelbook.transport.polling.durations import DurationEstimate


def learnt(*ends: tuple[float, float], going: tuple[float, ...] = ()) -> DurationEstimate:
    durations = DurationEstimate()
    for after, by in ends:
        durations.record_end(after, by)
    for age in going:
        durations.record_unfinished(age)
    for _ in range(5):
        durations.update()
    return durations


def test_nothing_known_means_no_age_to_ask() -> None:
    """Looks at runs that are going alone say only that it takes longer."""
    durations = learnt(going=(1.0, 2.0, 3.0))

    assert durations.poll_ages == ()
    assert durations.next_poll_age(0.0) is None


@pytest.mark.parametrize("seconds", [0.05, 2.0, 60.0, 600.0])
def test_runs_that_all_take_the_same_are_asked_right_after(seconds: float) -> None:
    """The first age is at most one bin, a twenty-fifth, later than the end, and never before it."""
    durations = learnt(*[(seconds, seconds)] * 30)

    assert seconds <= durations.poll_ages[0] <= 1.05 * seconds


def test_runs_that_differ_are_asked_several_times() -> None:
    """Between 1.4 and 2.6 s, a few looks are worth their calls, and the last is at the latest end."""
    chance = random.Random(1)
    durations = learnt(*[(seconds, seconds) for seconds in (chance.uniform(1.4, 2.6) for _ in range(128))])

    within = [age for age in durations.poll_ages if age <= 2.75]
    assert 2 <= len(within) <= 5
    assert within[0] >= 1.5
    assert within[-1] >= 2.4


def test_two_kinds_of_runs_are_asked_after_each() -> None:
    """Half take 2 s and half 20: nobody is asked in between for long."""
    durations = learnt(*[(2.0, 2.0), (20.0, 20.0)] * 20)

    assert 2.0 <= durations.poll_ages[0] <= 2.1
    assert any(20.0 <= age <= 21.0 for age in durations.poll_ages)
    assert len([age for age in durations.poll_ages if 3.5 < age < 18.0]) == 0


def test_loose_ends_are_pinned_down_by_the_runs_that_were_still_going() -> None:
    """Noticed at the first look, at 4 s, an end can lie anywhere; that others were going at 3.8 s says where it does."""
    durations = learnt(*[(0.0, 4.0)] * 10, going=(3.8,) * 10)

    assert durations.poll_ages[0] >= 3.8


def test_a_call_that_costs_less_is_made_more_often() -> None:
    """Shared among many runs, looks come closer together."""
    chance = random.Random(2)
    durations = learnt(*[(seconds, seconds) for seconds in (chance.uniform(10, 30) for _ in range(100))])
    before = len(durations.poll_ages)

    durations.update(poll_price=0.2)

    assert len(durations.poll_ages) > before


def test_a_model_that_becomes_quicker_is_believed_after_two_runs() -> None:
    """A hundred ends at ten seconds weigh little once two that nobody expected were seen."""
    durations = learnt(*[(10.0, 10.0)] * 100)

    for _ in range(2):
        durations.record_end(1.9, 2.0)
        durations.update()

    assert durations.poll_ages[0] <= 2.5


def test_what_other_days_told_is_soon_outweighed() -> None:
    """However many they were, ends from earlier sessions count like four."""
    durations = DurationEstimate([10.0] * 10_000)
    durations.update()
    assert 10.0 <= durations.poll_ages[0] <= 10.5

    for _ in range(2):
        durations.record_end(1.9, 2.0)
        durations.update()

    assert durations.poll_ages[0] <= 2.5


@pytest.mark.parametrize("past", [[float("nan")], [float("inf")], [0.0], [-1.0], []])
def test_durations_that_are_none_are_passed_over(past: list[float]) -> None:
    """A library can hold anything."""
    durations = DurationEstimate(past)

    assert not durations.update()
    assert durations.poll_ages == ()
