"""The rounds of a race: which runs come next, given what is known so far."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ...sweeps.plan_rows import Row, spread_rows
from ..posterior import choose
from .settings import MIN_LEADER_RUNS

if TYPE_CHECKING:
    from ...sweeps.plan import Plan
    from ..posterior import Belief, FloatArray
    from .settings import RaceSettings

MAX_FAILURES = 2
"""A setting without any score is given up after so many runs without one."""


@dataclass
class Rounds:
    """What a race has tried, and the choice of what it tries next. Equal results lead to equal choices."""

    plan: Plan
    """The plan whose rows are raced."""
    race: RaceSettings
    seed: int
    size: int
    """The most runs of a round."""
    used: list[Row] = field(default_factory=list)
    """The rows tried, in order."""
    round_of: dict[int, int] = field(default_factory=dict)
    """The round of each row tried, by its number in the plan; 0 for those that were in the library."""
    scored: Collection[int] = frozenset()
    """The rows tried that have a score, by their numbers."""
    uncertain: set[int] = field(default_factory=set)
    """The rows tried whose outcome nobody knows, because their answers were lost: they say nothing of their setting."""
    number: int = 0
    """The rounds so far."""
    _order: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.setting_of = {row.number: setting.number for setting in self.race.settings for row in setting.rows}

    def count_runs(self) -> list[int]:
        """The number of scored runs of each setting."""
        counts = [0] * len(self.race.settings)
        for row in self.used:
            counts[self.setting_of[row.number]] += row.number in self.scored
        return counts

    def choose_rows(self, belief: Belief | None, fits: Callable[[list[Row], Row], bool]) -> list[Row]:
        """The rows of the next round; empty if nothing is left that fits. `fits` says so after the rows chosen before."""
        chosen: list[Row] = []
        taken = set(self.round_of)
        rng = np.random.default_rng([self.seed, len(self.used)])
        wanted = self._next_of_first_rounds() if self._is_first_rounds() else []
        for setting in wanted[: self.size]:
            self._take(setting, chosen, taken, fits)
        while belief is not None and not self._is_first_rounds() and len(chosen) < self.size:
            is_open = np.array(
                [self._find_next(number, chosen, taken, fits) is not None for number in range(len(self.race.settings))]
            )
            if not is_open.any():
                break
            before = len(chosen)
            for setting in choose(belief, rng, self.size - len(chosen), spent=self._count_tries(), open_=is_open):
                self._take(int(setting), chosen, taken, fits)
            if len(chosen) == before:
                break
        return chosen

    def record(self, rows: Sequence[Row], *, is_free: bool = False) -> None:
        """Count rows as tried in the next round, or in none if they are in the library already."""
        self.number += not is_free
        for row in rows:
            if row.number not in self.round_of:
                self.round_of[row.number] = 0 if is_free else self.number
                self.used.append(row)

    def find_chances(self, belief: Belief, keep: int) -> FloatArray:
        """The chance of each setting to be among the `keep` best; those given up have none."""
        rng = np.random.default_rng([self.seed, 1_000_003 + len(self.used)])
        alive = [not self.is_given_up(number) for number in range(len(self.race.settings))]
        return belief.chances(rng, keep=keep, allowed=alive)

    def rank(self, belief: Belief, chances: FloatArray) -> list[int]:
        """All settings, the one with the highest chance first; those that cannot be judged last."""
        scores = [
            (self.is_given_up(setting), -chances[setting], -belief.mean[setting], setting)
            for setting in range(len(chances))
        ]
        return [setting for *_, setting in sorted(scores)]

    def is_sure(self, belief: Belief, chances: FloatArray, keep: int, sure: float) -> bool:
        """Whether each of the `keep` best has at least this chance to be among the best, and enough runs."""
        best, runs = self.rank(belief, chances)[:keep], self.count_runs()
        has_runs = all(runs[setting] >= min(MIN_LEADER_RUNS, len(self.race.settings[setting].rows)) for setting in best)
        return has_runs and all(chances[setting] >= sure for setting in best)

    def is_given_up(self, setting: int) -> bool:
        """Whether a setting has only failed, so that it is not tried again."""
        ended = self.round_of.keys() - self.uncertain
        tried = [row.number for row in self.race.settings[setting].rows if row.number in ended]
        return len(tried) >= MAX_FAILURES and not any(number in self.scored for number in tried)

    def _is_first_rounds(self) -> bool:
        """Whether too little is known for a choice by what is known."""
        return self._count_first_left() > 0

    def _count_first_left(self) -> int:
        """The runs until the first choice by what is known: whole rounds, with some for each effect of an axis' value."""
        rounds = max(1, math.ceil(self.race.wanted / self.size))
        possible = sum(len(setting.rows) for setting in self.race.settings) - len(self.uncertain)
        return min(rounds * self.size, possible) - (len(self.used) - len(self.uncertain))

    def _next_of_first_rounds(self) -> list[int]:
        """The settings spread over all axes, each once before any twice."""
        if not self._order:
            first = self.plan[[setting.rows[0].number for setting in self.race.settings]]
            self._order = [row.number for row in spread_rows(first)]
        tried = self._count_tries()
        left = self._count_first_left()
        chosen: list[int] = []
        while len(chosen) < left:
            nearest = [setting for setting in self._order if tried[setting] < len(self.race.settings[setting].rows)]
            if not nearest:
                break
            least = min(tried[setting] for setting in nearest)
            for setting in nearest:
                if tried[setting] == least and len(chosen) < left:
                    chosen.append(setting)
                    tried[setting] += 1
        return chosen

    def _count_tries(self) -> list[int]:
        tried = [0] * len(self.race.settings)
        for row in self.used:
            tried[self.setting_of[row.number]] += 1
        return tried

    def _take(self, setting: int, chosen: list[Row], taken: set[int], fits: Callable[[list[Row], Row], bool]) -> None:
        row = self._find_next(setting, chosen, taken, fits)
        if row is not None:
            chosen.append(row)
            taken.add(row.number)

    def _find_next(
        self, setting: int, chosen: list[Row], taken: set[int], fits: Callable[[list[Row], Row], bool]
    ) -> Row | None:
        """The next row of a setting that was not tried; None if there is none, it does not fit, or it is given up."""
        row = next((row for row in self.race.settings[setting].rows if row.number not in taken), None)
        return None if row is None or self.is_given_up(setting) or not fits(chosen, row) else row
