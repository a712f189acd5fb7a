"""Limits of an account: a weekly budget, a time window, how many runs at once, which models."""

from __future__ import annotations

import re
from calendar import day_name
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from reelbook.errors import WHO_HELPS, ReelbookError
from reelbook.models.catalog import CATALOG
from reelbook.util.printable import format_count

from .refusals import Refusal

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
NONE = "none"
"""The text that takes a limit away."""
AT_ONCE_RETRY_SECONDS = 2
DAY_MINUTES = 24 * 60


class BadAccounts(ReelbookError, ValueError):
    """What somebody wants of accounts, and cannot be done or not be read."""

    def __init__(self, words: str) -> None:
        super().__init__(f"{words} Nothing was changed.")


class Weekly(NamedTuple):
    """When a budget is filled again: each week at this weekday and minute of the day, in the machine's time zone.

    What is not used does not add up, nor do credits that were added. A run counts in the week in which it was accepted,
    also if it ends in a later one.
    """

    weekday: int = 0
    minute: int = 0

    def last_moment(self, now: float) -> float:
        """The latest moment, not after `now`, at which the budget was filled."""
        return self._moment(now, 0)

    def next_moment(self, now: float) -> float:
        """The first moment after `now` at which the budget is filled."""
        return self._moment(now, 7)

    def _moment(self, now: float, days: int) -> float:
        today = _midnight(datetime.fromtimestamp(now))
        day = today - timedelta(days=(today.weekday() - self.weekday) % 7)
        if (day + timedelta(minutes=self.minute)).timestamp() > now:
            day -= timedelta(days=7)
        return (day + timedelta(days=days, minutes=self.minute)).timestamp()

    def __str__(self) -> str:
        return f"{DAYS[self.weekday]} {_clock(self.minute)}"


class Limits(BaseModel):
    """All limits of an account, as they are stored; without any, only its budget limits it.

    The dates, weekdays and hours are its time window, in the machine's time zone.
    """

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    weekly: Weekly | None = None
    begin: datetime | None = Field(None, alias="from")
    until: datetime | None = None
    days: tuple[int, ...] = ()
    hours: tuple[int, int] | None = None
    """The first minute of the day, and the one after the last."""
    at_once: int | None = None
    """How many of its runs may be queued or running."""
    models: tuple[str, ...] = ()
    """The models that it may run; empty for all."""

    @classmethod
    def from_json(cls, text: str) -> Limits:
        """The limits as they are stored in the database, which has an empty text for none."""
        return cls.model_validate_json(text or "{}")

    def to_json(self) -> str:
        """The limits as they are stored in the database."""
        return "" if self == Limits() else self.model_dump_json(by_alias=True, exclude_defaults=True)

    def changed(self, texts: Mapping[str, str]) -> Limits:
        """These limits with the options that a person typed; `none` takes one away."""
        none, update = Limits(), dict[str, Any]()
        for name, text in texts.items():
            field, option = "begin" if name == "from" else name, OPTIONS[name]
            try:
                update[field] = getattr(none, field) if text.strip().lower() == NONE else option.read(text.strip())
            except ValueError:
                words = f"Write it like {option.example}, or `none` for no limit."
                raise BadAccounts(f"--{name.replace('_', '-')} {text[:60]!r} cannot be read. {words}") from None
        limits = self.model_copy(update=update)
        first, last = limits.hours or (0, DAY_MINUTES)
        if first >= last or (limits.begin and limits.until and limits.begin >= limits.until):
            raise BadAccounts("The time window ends before it begins.")
        return limits

    def is_open(self, now: float) -> bool:
        """Whether the time window allows runs at this moment."""
        moment = datetime.fromtimestamp(now)
        first, last = self.hours or (0, DAY_MINUTES)
        return (
            (self.begin or moment) <= moment < (self.until or datetime.max)
            and (not self.days or moment.weekday() in self.days)
            and first <= moment.hour * 60 + moment.minute < last
        )

    @property
    def window(self) -> str:
        """The time window in words; empty if runs may be started at any time."""
        parts = [
            "" if self.begin is None else f"from {format_moment(self.begin)}",
            "" if self.until is None else f"until {_format_end(self.until)}",
            ", ".join(DAYS[day] for day in self.days),
            "" if self.hours is None else "-".join(map(_clock, self.hours)),
        ]
        return "; ".join(filter(None, parts))

    def describe(self) -> dict[str, Any]:
        """The limits as `/account` and the class report give them; absent ones are left out."""
        weekly = str(self.weekly) if self.weekly else None
        facts = {"weekly": weekly, "window": self.window, "at_once": self.at_once, "models": list(self.models)}
        return {name: value for name, value in facts.items() if value}

    def terms(self, budget: int) -> str:
        """The budget and the limits in a line for the student."""
        each = f" each week, from {day_name[self.weekly.weekday]} {_clock(self.weekly.minute)}" if self.weekly else ""
        runs = f"{format_count(self.at_once, 'run')} at once" if self.at_once else ""
        return " · ".join(filter(None, [f"{budget:,} credits{each}", self.window, runs, ", ".join(self.models)]))

    def check(self, name: str, endpoint_id: str, now: float, unfinished: int) -> None:
        """Raise a refusal if the account of this name, with as many unfinished runs, may not start one of this model now."""
        kind, words, headers = "forbidden", "", dict[str, str]()
        if not self.is_open(now):
            words = f"may not start runs at this time; its time is: {self.window}."
        elif self.models and endpoint_id not in self.models:
            words = f"may not run {endpoint_id}; it may run {', '.join(self.models)}."
        elif self.at_once is not None and unfinished >= self.at_once:
            kind, headers = "too_many_requests", {"Retry-After": str(AT_ONCE_RETRY_SECONDS)}
            words = (
                f"may have {self.at_once} unfinished runs at once, and has {unfinished}. Wait until one has finished, or cancel "
                "one, then send this one again."
            )
        if words:
            raise Refusal(kind, f"The account {name!r} {words} Nothing was charged. {WHO_HELPS}", headers=headers)


def format_moment(moment: datetime) -> str:
    """A moment in words.

    >>> format_moment(datetime(2026, 11, 30, 8, 0))
    'Monday, 30 November 2026, 08:00'
    """
    return f"{moment:%A}, {moment.day} {moment:%B} {moment.year}, {moment:%H:%M}"


def _format_end(moment: datetime) -> str:
    """The end of a window in words: midnight belongs to the day that ends with it."""
    if moment != _midnight(moment):
        return format_moment(moment)
    return format_moment(moment - timedelta(days=1)).replace("00:00", "24:00")


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _clock(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"


def _week(text: str) -> Weekly:
    """A weekday, and a time of day.

    >>> str(_week("fri 14:30")), str(_week("mon"))
    ('fri 14:30', 'mon 00:00')
    """
    day, _, time = text.lower().partition(" ")
    return Weekly(DAYS.index(day[:3]), _minute(time or "0", DAY_MINUTES - 1))


def _begin(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.year == 9999:
        raise ValueError  # No day after it can be counted.
    return moment.astimezone().replace(tzinfo=None) if moment.tzinfo else moment


def _until(text: str) -> datetime:
    """A moment, or the end of a day."""
    moment = _begin(text)
    return moment + timedelta(days=1) if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else moment


def _days(text: str) -> tuple[int, ...]:
    """Weekdays.

    >>> _days("mon-wed,sat")
    (0, 1, 2, 5)
    """
    days: set[int] = set()
    for part in text.lower().replace(" ", "").split(","):
        first, _, last = part.partition("-")
        start, end = DAYS.index(first[:3]), DAYS.index((last or first)[:3])
        days |= {day % 7 for day in range(start, end + 1 if end >= start else end + 8)}
    return tuple(sorted(days))


def _hours(text: str) -> tuple[int, int]:
    first, last = text.split("-")
    return _minute(first), _minute(last)


def _minute(text: str, most: int = DAY_MINUTES) -> int:
    """The minute of the day.

    >>> _minute("8"), _minute("16:30"), _minute("24:00")
    (480, 990, 1440)
    """
    parts = re.fullmatch(r"(\d{1,2})(?::([0-5]\d))?", text.strip())
    minute = int(parts[1]) * 60 + int(parts[2] or 0) if parts else most + 1
    if minute > most:
        raise ValueError
    return minute


def _count(text: str) -> int:
    if not re.fullmatch("[1-9][0-9]{0,5}", text):
        raise ValueError
    return int(text)


def _models(text: str) -> tuple[str, ...]:
    """The ids of models, each named by its id or by a part that no other id has."""
    chosen = []
    for part in text.replace(",", " ").split():
        matching = [row.id for row in CATALOG if part == row.id] or [row.id for row in CATALOG if part in row.id]
        if len(matching) != 1:
            raise ValueError
        chosen += matching
    return tuple(dict.fromkeys(chosen))


class Option(NamedTuple):
    """How a person types a limit."""

    metavar: str
    words: str
    example: str
    read: Callable[[str], object]
    """Raises `ValueError` for any other text."""


OPTIONS = {
    "weekly": Option(
        '"DAY TIME"',
        "refill the budget every week, on Monday at 00:00 or at the time given; unused credits don't carry over",
        "fri 14:00",
        _week,
    ),
    "from": Option("MOMENT", "no runs before this date or moment", "2026-11-30 or 2026-11-30T08:00", _begin),
    "until": Option("MOMENT", "no runs after this date (its end) or moment", "2026-12-18 or 2026-12-18T16:00", _until),
    "days": Option("DAYS", "runs only on these weekdays", "mon-fri or mon,wed", _days),
    "hours": Option("HOURS", "runs only at this time of day", "08:00-16:00, the later one last", _hours),
    "at_once": Option("RUNS", "how many runs each student may have queued or running", "2", _count),
    "models": Option(
        "MODELS", "the models they may run, by id or a part that no other id has", "text-to-video,smart-resize", _models
    ),
}
"""All limits but the budget, by the names of their options."""
