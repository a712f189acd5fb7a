"""A snapshot of a race, for displays: its standings, chances, costs, and what it says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any


class RaceState(StrEnum):
    """What a race is doing."""

    PREPARING = "preparing"
    RUNNING = "running"
    SCORING = "scoring"
    JUDGING = "waiting for judgements"
    FINALS = "making finals"
    STOPPING = "stopping"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Contender:
    """One setting in the ranking of a race."""

    number: int
    values: Mapping[str, Any]
    mean: float | None
    """The estimated score; None if nothing is known."""
    low: float | None
    high: float | None
    chance: float | None
    """The chance to be among the best that are wanted; None before the first score."""
    runs: int
    """The number of runs with a score."""
    failed: int
    """The number of runs without one."""
    credits: int
    """What its runs have cost, or may have cost."""


@dataclass(frozen=True, slots=True)
class RaceProgress:
    """A snapshot of the state of a race."""

    state: RaceState
    axes: tuple[str, ...]
    contenders: tuple[Contender, ...]
    """All settings, the best first."""
    score: str
    """What runs are judged by, in words."""
    is_judged: bool
    """Whether a person judges."""
    rounds: int
    runs: int
    """The number of runs tried."""
    repeats: int
    """The number of runs of the whole plan."""
    spent: int
    """What the runs tried have cost, or may have cost, whoever paid and whenever."""
    spent_now: int
    """The part of it that this race has paid, or may still pay."""
    budget: int | None
    whole: int | None
    """The price of the whole plan; None if it is unknown."""
    keep: int
    sure: float
    chance: float | None
    """The chance that the leaders are the best: of those wanted, the least sure one's."""
    is_decided: bool
    elapsed: float
    round_runs: int = 0
    """The runs of the current round."""
    round_done: int = 0
    """Those of them that have ended."""
    judged: int = 0
    """The judgements that count so far."""
    awaited: int = 0
    """The judgements that the race waits for."""
    findings: tuple[str, ...] = ()
    """Sentences: the outcome, why the race has ended, what is missing, and what to do."""
    assumptions: tuple[str, ...] = ()
    """Sentences on what the figures assume."""

    @property
    def saved(self) -> int | None:
        """Credits that the whole plan would cost beyond what was spent; None if its price is unknown."""
        return None if self.whole is None else max(self.whole - self.spent, 0)

    def with_texts(self, findings: tuple[str, ...], assumptions: tuple[str, ...]) -> RaceProgress:
        """The same with its sentences."""
        return replace(self, findings=findings, assumptions=assumptions)
