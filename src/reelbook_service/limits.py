"""Limits of an account: a weekly budget, a time window, how many runs at once, which models."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

from reelbook.errors import ReelbookError
from reelbook.models.catalog import CATALOG

from .refusals import Refusal

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
NONE = "none"
"""The text that takes a limit away."""
AT_ONCE_RETRY_SECONDS = 2
MAX_DAYS_AHEAD = 8
WHO_HELPS = "Ask the people who run the service."


class BadLimit(ReelbookError, ValueError):
    """A limit of an account that cannot be read."""


@dataclass(frozen=True, slots=True)
class Weekly:
    """A budget for each week, which begins at a fixed weekday and time of day in the machine's time zone.

    What is not used does not add up, nor do credits that were added. A run counts in the week in which it was accepted,
    also if it ends in a later one.
    """

    budget: int
    weekday: int = 0
    minute: int = 0

    def last_moment(self, now: float) -> float:
        """The latest moment, not after `now`, at which the budget was filled."""
        return self._moment(now, 0)

    def next_moment(self, now: float) -> float:
        """The first moment after `now` at which the budget is filled."""
        return self._moment(now, 7)

    def _moment(self, now: float, days: int) -> float:
        today = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
        day = today - timedelta(days=(today.weekday() - self.weekday) % 7)
        if (day + timedelta(minutes=self.minute)).timestamp() > now:
            day -= timedelta(days=7)
        return (day + timedelta(days=days, minutes=self.minute)).timestamp()

    def __str__(self) -> str:
        return f"{DAYS[self.weekday]} {_clock(self.minute)}"


@dataclass(frozen=True, slots=True)
class Window:
    """When an account may start runs: dates, weekdays and hours, in the machine's time zone."""

    begins: datetime | None = None
    ends: datetime | None = None
    days: tuple[int, ...] = ()
    hours: tuple[int, int] | None = None
    """The first minute of the day, and the one after the last."""

    def is_open(self, now: float) -> bool:
        """Whether runs may be started at this moment."""
        local = datetime.fromtimestamp(now)
        minute = local.hour * 60 + local.minute
        return (
            (self.begins is None or local >= self.begins)
            and (self.ends is None or local < self.ends)
            and (not self.days or local.weekday() in self.days)
            and (self.hours is None or self.hours[0] <= minute < self.hours[1])
        )

    def next_opening(self, now: float) -> datetime | None:
        """The first moment from `now` on at which runs may be started; None if there is none."""
        start = max(datetime.fromtimestamp(now), self.begins or datetime.min)
        midnight = start.replace(hour=0, minute=0, second=0, microsecond=0)
        for number in range(MAX_DAYS_AHEAD):
            day = midnight + timedelta(days=number)
            first, last = self.hours or (0, 24 * 60)
            opening = max(start, day + timedelta(minutes=first))
            if (not self.days or day.weekday() in self.days) and opening < day + timedelta(minutes=last):
                return opening if self.ends is None or opening < self.ends else None
        return None

    def __str__(self) -> str:
        parts = [
            "" if self.begins is None else f"from {format_moment(self.begins)}",
            "" if self.ends is None else f"until {_format_end(self.ends)}",
            ", ".join(DAYS[day] for day in self.days),
            "" if self.hours is None else "-".join(map(_clock, self.hours)),
        ]
        return "; ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Limits:
    """All limits of an account; without any, only its budget limits it."""

    weekly: Weekly | None = None
    window: Window = Window()
    at_once: int | None = None
    """How many of its runs may be queued or running."""
    models: tuple[str, ...] = ()
    """The models that it may run; empty for all."""

    @classmethod
    def from_json(cls, text: str) -> Limits:
        """The limits as they are stored in the database."""
        stored: dict[str, Any] = json.loads(text) if text else {}
        weekly, hours = stored.get("weekly"), stored.get("hours")
        moments = [datetime.fromisoformat(stored[name]) if name in stored else None for name in ("from", "until")]
        window = Window(moments[0], moments[1], tuple(stored.get("days", ())), (hours[0], hours[1]) if hours else None)
        return cls(Weekly(*weekly) if weekly else None, window, stored.get("at_once"), tuple(stored.get("models", ())))

    def to_json(self) -> str:
        """The limits as they are stored in the database; empty for none."""
        weekly, window = self.weekly, self.window
        stored = {
            "weekly": [weekly.budget, weekly.weekday, weekly.minute] if weekly else None,
            "from": window.begins.isoformat() if window.begins else None,
            "until": window.ends.isoformat() if window.ends else None,
            "days": window.days,
            "hours": window.hours,
            "at_once": self.at_once,
            "models": self.models,
        }
        present = {name: value for name, value in stored.items() if value}
        return json.dumps(present) if present else ""

    def changed(self, options: Mapping[str, str]) -> Limits:
        """These limits with those that a person typed; `none` takes one away. `weekly` needs a budget, see `with_week`."""
        window, limits = self.window, self
        for name, text in options.items():
            value = None if text.strip().lower() == NONE else text
            if name == "from":
                window = replace(window, begins=_moment(value, is_end=False) if value else None)
            elif name == "until":
                window = replace(window, ends=_moment(value, is_end=True) if value else None)
            elif name == "days":
                window = replace(window, days=_days(value) if value else ())
            elif name == "hours":
                window = replace(window, hours=_hours(value) if value else None)
            elif name == "at_once":
                limits = replace(limits, at_once=_count(value) if value else None)
            elif name == "models":
                limits = replace(limits, models=_models(value) if value else ())
            else:
                raise BadLimit(f"There is no limit {name[:60]!r}.")
        if window.begins and window.ends and window.begins >= window.ends:
            raise BadLimit("The time window ends before it begins.")
        return replace(limits, window=window)

    def describe(self) -> dict[str, Any]:
        """The limits as `/account` and the class report give them; absent ones are left out."""
        found = {
            "weekly": str(self.weekly) if self.weekly else None,
            "window": str(self.window) or None,
            "at_once": self.at_once,
            "models": list(self.models),
        }
        return {name: value for name, value in found.items() if value}

    def terms(self, budget: int) -> str:
        """The budget and the limits in a line for the student."""
        each = f" each week, from {DAY_NAMES[self.weekly.weekday]} {_clock(self.weekly.minute)}" if self.weekly else ""
        runs = f"{self.at_once} {'run' if self.at_once == 1 else 'runs'} at once" if self.at_once else ""
        parts = [f"{budget:,} credits{each}", str(self.window), runs, ", ".join(self.models)]
        return " · ".join(part for part in parts if part)

    def check(self, name: str, endpoint_id: str, now: float) -> None:
        """Raise a refusal if the account of this name may not start a run of this model at this moment."""
        if not self.window.is_open(now):
            opening = self.window.next_opening(now)
            words = f"It may start runs again from {format_moment(opening)}." if opening else "Its time has ended."
            facts = {"opens": opening.isoformat(timespec="minutes")} if opening else None
            raise Refusal(
                "forbidden",
                f"The account {name!r} may not start runs at this time ({self.window}). {words} Nothing was charged. {WHO_HELPS}",
                facts=facts,
            )
        if self.models and endpoint_id not in self.models:
            raise Refusal(
                "forbidden",
                f"The account {name!r} may not run {endpoint_id}; it may run {', '.join(self.models)}. Nothing was charged. {WHO_HELPS}",
            )

    def check_count(self, name: str, unfinished: int) -> None:
        """Raise a refusal if so many runs of the account are unfinished that it may not start another one yet."""
        if self.at_once is not None and unfinished >= self.at_once:
            raise Refusal(
                "too_many_requests",
                f"The account {name!r} may have {self.at_once} unfinished runs at once, and has {unfinished}. Wait until one has "
                f"finished, or cancel one, then send this one again. Nothing was charged. To have more at once, {_lower(WHO_HELPS)}",
                headers={"Retry-After": str(AT_ONCE_RETRY_SECONDS)},
            )


def parse_week(text: str, budget: int) -> Weekly:
    """A weekly budget from a weekday and a time of day.

    >>> str(parse_week("fri 14:30", 530)), str(parse_week("mon", 530))
    ('fri 14:30', 'mon 00:00')
    """
    day, _, time = text.strip().lower().partition(" ")
    if day[:3] not in DAYS:
        raise BadLimit(f"The budget is filled again on a weekday, such as `mon` or `fri 14:00`, not on {text[:60]!r}.")
    minute = _minute(time) if time.strip() else 0
    if minute == 24 * 60:
        raise BadLimit("A day ends at 24:00, which is 00:00 of the next one: write that.")
    return Weekly(budget, DAYS.index(day[:3]), minute)


def format_moment(moment: datetime) -> str:
    """A moment in words.

    >>> format_moment(datetime(2026, 11, 30, 8, 0))
    'Monday, 30 November 2026, 08:00'
    """
    return f"{moment:%A}, {moment.day} {moment:%B} {moment.year}, {moment:%H:%M}"


def _format_end(moment: datetime) -> str:
    """The end of a window in words: midnight belongs to the day that ends with it."""
    if moment.time() != datetime.min.time():
        return format_moment(moment)
    return format_moment(moment - timedelta(days=1)).replace("00:00", "24:00")


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _clock(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"


def _moment(text: str, *, is_end: bool) -> datetime:
    """A date or a moment; a date alone is its beginning, or as an end the end of that day."""
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text.strip()):
            day = datetime.combine(date.fromisoformat(text.strip()), datetime.min.time())
            return day + timedelta(days=1) if is_end else day
        moment = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError):
        raise BadLimit(
            f"{text[:60]!r} is not a date such as 2026-11-30, or a moment such as 2026-11-30T08:00."
        ) from None
    return moment.astimezone().replace(tzinfo=None) if moment.tzinfo else moment


def _days(text: str) -> tuple[int, ...]:
    """Weekdays.

    >>> _days("mon-wed,sat")
    (0, 1, 2, 5)
    """
    found: set[int] = set()
    for part in text.lower().replace(" ", "").split(","):
        first, _, last = part.partition("-")
        if first[:3] not in DAYS or (last or first)[:3] not in DAYS:
            raise BadLimit(f"{text[:60]!r} are not weekdays such as `mon-fri` or `mon,wed`.")
        start, end = DAYS.index(first[:3]), DAYS.index((last or first)[:3])
        found |= {day % 7 for day in range(start, end + 1 if end >= start else end + 8)}
    return tuple(sorted(found))


def _hours(text: str) -> tuple[int, int]:
    first, dash, last = text.partition("-")
    if not dash:
        raise BadLimit(f"{text[:60]!r} are not hours such as 08:00-16:00.")
    start, end = _minute(first), _minute(last)
    if start >= end:
        raise BadLimit(
            f"The hours {text[:60]!r} end before they begin; a window that goes on after midnight is not possible."
        )
    return start, end


def _minute(text: str) -> int:
    """The minute of the day.

    >>> _minute("8"), _minute("16:30"), _minute("24:00")
    (480, 990, 1440)
    """
    parts = re.fullmatch(r"(\d{1,2})(?::(\d\d))?", text.strip())
    hour, minute = (int(parts[1]), int(parts[2] or 0)) if parts else (99, 0)
    if minute > 59 or hour * 60 + minute > 24 * 60:
        raise BadLimit(f"{text[:60]!r} is not a time of day such as 08:00.")
    return hour * 60 + minute


def _count(text: str) -> int:
    if not re.fullmatch("[1-9][0-9]{0,5}", text.strip()):
        raise BadLimit(f"{text[:60]!r} is not a number of runs: 1 or more, or `none` for no limit.")
    return int(text)


def _models(text: str) -> tuple[str, ...]:
    """The ids of models, each named by its id or by a part that no other id has."""
    found = []
    for part in text.replace(",", " ").split():
        matching = [row.id for row in CATALOG if part == row.id] or [row.id for row in CATALOG if part in row.id]
        if len(matching) != 1:
            known = ", ".join(row.id for row in CATALOG)
            words = "names no model" if not matching else f"may mean {' or '.join(matching)}"
            raise BadLimit(f"{part[:60]!r} {words}. The models are: {known}.")
        found.append(matching[0])
    return tuple(dict.fromkeys(found))
