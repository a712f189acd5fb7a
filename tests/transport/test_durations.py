"""Durations: the latest of a model, and the ages at which polling the next run pays."""

from __future__ import annotations

import random

import pytest

from reelbook.transport.polling.durations import MAX_DURATIONS, Durations

PRICE = 0.4


def known(*ends: tuple[float, float]) -> Durations:
    durations = Durations()
    for after, by in ends:
        durations.record_end(after, by)
    return durations


def poll_ages(durations: Durations, price: float = PRICE) -> list[float]:
    """The ages at which a run that does not end is polled."""
    ages: list[float] = []
    while (age := durations.next_poll_age(ages[-1] if ages else 0.0, price)) is not None:
        ages.append(age)
    return ages


def test_nothing_known_means_no_age_to_poll() -> None:
    """Nor does an end that can lie anywhere between submission and the first poll say when to poll."""
    assert poll_ages(known()) == []
    assert poll_ages(known((0.0, 10.0))) == []


@pytest.mark.parametrize("seconds", [0.05, 2.0, 60.0, 600.0])
def test_runs_that_all_take_the_same_are_polled_once_right_after(seconds: float) -> None:
    """A little later than the known end, and never before it."""
    ages = poll_ages(known(*[(seconds, seconds)] * 30))

    assert len(ages) == 1
    assert seconds <= ages[0] <= 1.05 * seconds


def test_runs_that_differ_are_polled_several_times() -> None:
    """Between 1.4 and 2.6 s, a few polls are worth their calls, and the last is at the latest end."""
    chance = random.Random(1)
    ages = poll_ages(known(*[(seconds, seconds) for seconds in (chance.uniform(1.4, 2.6) for _ in range(128))]))

    assert 2 <= len(ages) <= 6
    assert ages[0] >= 1.5
    assert 2.4 <= ages[-1] <= 2.75


def test_two_kinds_of_runs_are_polled_after_each() -> None:
    """Half take 2 s and half 20: no run is polled in between."""
    ages = poll_ages(known(*[(2.0, 2.0), (20.0, 20.0)] * 20))

    assert ages == [pytest.approx(2.04), pytest.approx(20.4)]


def test_an_end_noticed_late_counts_like_one_of_the_known() -> None:
    """That a run had ended by 4 s, when others take 2, does not make the model slower."""
    durations = known(*[(1.9, 2.0)] * 5, *[(0.0, 4.0)] * 20)

    assert poll_ages(durations)[-1] <= 2.1


def test_a_poll_that_costs_less_is_made_more_often() -> None:
    """Shared among many runs, polls come closer together."""
    chance = random.Random(2)
    durations = known(*[(seconds, seconds) for seconds in (chance.uniform(10, 30) for _ in range(100))])

    assert len(poll_ages(durations, 0.1)) > len(poll_ages(durations, 1.0))


def test_a_model_that_becomes_quicker_is_believed_at_once() -> None:
    """A hundred ends at ten seconds are forgotten when one at two seconds is seen; other runs should know."""
    durations = known(*[(10.0, 10.0)] * 100)

    assert durations.record_end(1.9, 2.0)
    assert poll_ages(durations)[-1] <= 2.5


def test_a_model_that_becomes_slower_is_polled_at_the_new_age() -> None:
    """The old ages are given up once no recent run has ended there."""
    durations = known(*[(2.0, 2.0)] * 100)

    assert durations.record_end(9.9, 10.0)
    assert 10.0 <= poll_ages(durations)[-1] <= 10.5
    for _ in range(MAX_DURATIONS):
        durations.record_end(9.9, 10.0)
    assert len(poll_ages(durations)) == 1


def test_an_end_like_the_others_changes_nothing() -> None:
    """The first one is news; the tenth is not."""
    durations = Durations()

    assert durations.record_end(1.9, 2.0)
    assert not any(durations.record_end(1.9, 2.0) for _ in range(9))


def test_durations_of_other_days_are_soon_outweighed() -> None:
    """However many they were, few of them are used."""
    durations = Durations([2.0] * 10_000)
    assert poll_ages(durations) == [pytest.approx(2.04)]

    for _ in range(MAX_DURATIONS):
        durations.record_end(9.9, 10.0)

    assert 10.0 <= poll_ages(durations)[0] <= 10.5


@pytest.mark.parametrize("past", [[float("nan")], [float("inf")], [0.0], [-1.0], []])
def test_durations_that_are_none_are_passed_over(past: list[float]) -> None:
    """A library can hold anything."""
    assert poll_ages(Durations(past)) == []
