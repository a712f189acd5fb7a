"""Limits of an account: what a person types, when a week and a window begin and end, and what is refused."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from reelbook_service.limits import BadAccounts, Limits, Weekly


@pytest.fixture(autouse=True)
def central_europe(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A time zone with summer time, by its rule, so that no database of time zones is needed."""
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def at(text: str) -> float:
    """A moment of the machine's time zone."""
    return datetime.fromisoformat(text).timestamp()


def test_a_week_keeps_its_hour_when_summer_time_ends() -> None:
    """A week of 169 hours ends at the same time of day."""
    monday = Weekly(weekday=0, minute=8 * 60)

    assert monday.next_moment(at("2026-10-19T08:00:00")) - at("2026-10-19T08:00:00") == 169 * 3600


@pytest.mark.parametrize(
    ("options", "is_open", "is_closed"),
    [
        ({"from": "2026-11-30"}, "2026-11-30T00:00", "2026-11-29T23:59"),
        ({"from": "2026-11-30T08:00"}, "2026-11-30T08:00", "2026-11-30T07:59"),
        ({"until": "2026-12-18"}, "2026-12-18T23:59", "2026-12-19T00:00"),
        ({"until": "2026-12-18T16:00"}, "2026-12-18T15:59", "2026-12-18T16:00"),
        ({"days": "mon-wed,sat"}, "2026-11-28T12:00", "2026-11-27T12:00"),
        ({"days": "sat-mon"}, "2026-11-30T12:00", "2026-12-01T12:00"),
        ({"hours": "08:00-16:00"}, "2026-11-27T08:00", "2026-11-27T16:00"),
        ({"hours": "8-24"}, "2026-11-27T23:59", "2026-11-27T07:59"),
    ],
)
def test_a_window_is_open_from_its_first_minute_to_its_last(
    options: dict[str, str], is_open: str, is_closed: str
) -> None:
    """Each of its parts by itself, in the machine's time zone."""
    window = Limits().changed(options)

    assert window.is_open(at(is_open))
    assert not window.is_open(at(is_closed))


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("from", ["tomorrow", "9999-01-01"]),
        ("until", ["2026-13-01"]),
        ("days", ["mo", ""]),
        ("hours", ["8", "08:60-09:00"]),
        ("at_once", ["0", "-1", "1.5"]),
        ("models", ["boats", "to-video"]),
        ("weekly", ["someday", "fri 25:00", "fri 24:00", ""]),
    ],
)
def test_a_limit_that_cannot_be_read_is_refused_in_words(name: str, texts: list[str]) -> None:
    """The option and its text are named, and what would be right."""
    for text in texts:
        with pytest.raises(BadAccounts, match=rf"--{name.replace('_', '-')} '{text}' cannot be read. Write it like \w"):
            Limits().changed({name: text})
    for backwards in ({"from": "2026-12-01", "until": "2026-11-30"}, {"hours": "16:00-08:00"}):
        with pytest.raises(BadAccounts, match="ends before it begins"):
            Limits().changed(backwards)
