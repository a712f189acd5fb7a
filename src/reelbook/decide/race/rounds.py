"""The rounds of a race: which runs come next, given what is known so far, and what its runs cost."""

from __future__ import annotations

import hashlib
import math
import sqlite3
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InvalidInput
from ...storage.ledger.schema import join_scope
from ...storage.ledger.transitions import Entry, State
from ...sweeps.job import SweepJob
from ...sweeps.options import RunOptions
from ...sweeps.plan import Plan, Row, spread_rows
from ...sweeps.plan_summary import find_prices
from ...sweeps.progress import CALL_SECONDS, RunName, count_credits, find_rows, has_result, make_budget_scope, name_rows
from ...util.background_loop import background
from ..posterior import choose
from .sentences import MIN_LEADER_RUNS

if TYPE_CHECKING:
    import pandas as pd

    from ...client import Client
    from ..posterior import Belief, FloatArray
    from .settings import RaceSettings

MAX_FAILURES = 2
"""The number of runs without a score after which a setting is given up."""
Fits = Callable[[list[Row], Row], bool]
"""Whether a row fits in the budget after others of the round."""


@dataclass
class Rounds:
    """What a race has tried, and the choice of what it tries next. Equal results lead to equal choices."""

    plan: Plan
    """The plan whose rows are raced: drafts, if there are any."""
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

    def __post_init__(self) -> None:
        self.setting_of = {row.number: setting.number for setting in self.race.settings for row in setting.rows}
        self.tries = [0] * len(self.race.settings)
        firsts = self.plan[[setting.rows[0].number for setting in self.race.settings]]
        self._order = [row.number for row in spread_rows(firsts)]
        """The settings, spread over all axes."""

    def count_runs(self) -> list[int]:
        """The number of scored runs of each setting."""
        counts = [0] * len(self.race.settings)
        for row in self.used:
            counts[self.setting_of[row.number]] += row.number in self.scored
        return counts

    def choose_rows(self, belief: Belief | None, fits: Fits) -> list[Row]:
        """The rows of the next round; empty if nothing is left that fits.

        In the first rounds the settings are spread over all axes, each once before any twice; then the belief chooses.
        """
        chosen: list[Row] = []
        tries, rng = list(self.tries), np.random.default_rng([self.seed, len(self.used)])
        first_left = self._count_first_left()
        while len(chosen) < min(self.size, first_left):
            open_ = [setting for setting in self._order if self._find_next(setting, chosen, fits) is not None]
            if not open_:
                break
            setting = min(open_, key=tries.__getitem__)
            tries[setting] += 1
            chosen += filter(None, [self._find_next(setting, chosen, fits)])
        while belief is not None and first_left <= 0 and len(chosen) < self.size:
            is_open = np.array([self._find_next(number, chosen, fits) is not None for number in range(len(tries))])
            if not is_open.any():
                break
            for setting in choose(belief, rng, self.size - len(chosen), spent=self.tries, open_=is_open):
                chosen += filter(None, [self._find_next(setting, chosen, fits)])
        return chosen

    def record(self, rows: Sequence[Row], *, is_free: bool = False) -> None:
        """Count rows as tried in the next round, or in none if they are in the library already."""
        self.number += not is_free
        for row in rows:
            if row.number not in self.round_of:
                self.round_of[row.number] = 0 if is_free else self.number
                self.used.append(row)
                self.tries[self.setting_of[row.number]] += 1

    def find_chances(self, belief: Belief) -> FloatArray:
        """The chance of each setting to be the best; those given up have none."""
        rng = np.random.default_rng([self.seed, 1_000_003 + len(self.used)])
        alive = [not self.is_given_up(number) for number in range(len(self.race.settings))]
        return belief.chances(rng, allowed=alive)

    def rank(self, belief: Belief, chances: FloatArray) -> list[int]:
        """All settings, the one with the highest chance first; those that cannot be judged last."""
        return sorted(
            range(len(chances)), key=lambda number: (self.is_given_up(number), -chances[number], -belief.mean[number])
        )

    def is_sure(self, belief: Belief, chances: FloatArray, sure: float) -> bool:
        """Whether the first setting has at least this chance to be the best, and enough runs."""
        first = self.rank(belief, chances)[0]
        enough = min(MIN_LEADER_RUNS, len(self.race.settings[first].rows))
        return bool(chances[first] >= sure) and self.count_runs()[first] >= enough

    def is_given_up(self, setting: int) -> bool:
        """Whether a setting has only failed, so that it is not tried again."""
        ended = self.round_of.keys() - self.uncertain
        tried = [row.number for row in self.race.settings[setting].rows if row.number in ended]
        return len(tried) >= MAX_FAILURES and not any(number in self.scored for number in tried)

    def _count_first_left(self) -> int:
        """The runs until the first choice by what is known: whole rounds, with some for each effect of an axis' value."""
        rounds = max(1, math.ceil(self.race.wanted / self.size))
        possible = sum(len(setting.rows) for setting in self.race.settings) - len(self.uncertain)
        return min(rounds * self.size, possible) - (len(self.used) - len(self.uncertain))

    def _find_next(self, setting: int, chosen: list[Row], fits: Fits) -> Row | None:
        """The next row of a setting that was not tried; None if there is none, it does not fit, or it is given up."""
        taken = self.round_of.keys() | {row.number for row in chosen}
        row = next((row for row in self.race.settings[setting].rows if row.number not in taken), None)
        return None if row is None or self.is_given_up(setting) or not fits(chosen, row) else row


class RaceRuns:
    """The possible runs of a race, drafts and final, whose budget is that of all of them, as `plan.run(budget=…)` counts it."""

    def __init__(self, plan: Plan, drafts: Plan, client: Client, options: RunOptions) -> None:
        self.plan = plan
        self._rows = {row.key: row for row in (*drafts.distinct, *plan.distinct)}
        self._client, self._context, self._options = client, client.context, options
        self._names: dict[Hashable, RunName | InvalidInput] = {}
        self._prices: dict[Hashable, int | None] = {}
        self._service = ""
        background.wait(self._prepare(), CALL_SECONDS)

    async def _prepare(self) -> None:
        """Name the runs, find their prices, and join all of them in one budget."""
        context, rows = self._context, list(self._rows.values())
        self._service, self._names = await name_rows(rows, context)
        keys = [name.key for name in self._names.values() if isinstance(name, RunName)]
        scope = make_budget_scope(self._service, keys)
        await context.ledger.transact(lambda db: join_scope(db, scope, self._service, keys))
        self._options = self._options.model_copy(update={"scope": scope})
        self._prices = await find_prices(rows, context, self._options.price)

    def limit(self, budget: int | None, name: str, *, is_new: bool) -> int:
        """Limit what all runs may cost to this budget on top of what they had cost when the race of this name was first started.

        That sum is kept in the library, so that a race that is started again has what is left of its budget, and not
        another one; `is_new` begins from now on all the same. Returns it.
        """
        now = self.spent()
        digest = hashlib.sha256(f"{self._options.scope}\0{name}".encode(errors="backslashreplace")).hexdigest()
        key = f"race {digest[:32]}"

        def keep(db: sqlite3.Connection) -> int:
            how = "REPLACE" if is_new else "IGNORE"
            db.execute(f"INSERT OR {how} INTO meta VALUES (?, ?)", (key, str(now)))
            return int(db.execute("SELECT value FROM meta WHERE name = ?", (key,)).fetchone()[0])

        earlier = background.wait(self._context.ledger.transact(keep), CALL_SECONDS)
        self._options = self._options.model_copy(update={"budget": None if budget is None else earlier + budget})
        return earlier

    def get_price(self, row: Row) -> int | None:
        """The price of a run as budgets count it; None if nobody knows it."""
        return self._prices.get(row.key, row.credits)

    def find_due(self, rows: Sequence[Row]) -> Callable[[Row], int]:
        """A function that returns what each of these rows still costs."""
        free = {row.key for row in self.find_free(rows)[0]}
        return lambda row: 0 if row.key in free else self.get_price(row) or 0

    def find_stored(self, rows: Iterable[Row]) -> dict[Hashable, Entry]:
        """The ledger rows of runs that are in the ledger, by the keys of the plan's rows."""
        return find_rows(self._context.ledger, self._service, {row.key: self._names.get(row.key) for row in rows})

    def spent(self) -> int:
        """What all runs have cost or may have cost, whoever paid and whenever."""
        return sum(map(self.count, self.find_stored(self._rows.values()).values()))

    def count(self, stored: Entry) -> int:
        """What budgets count for a run."""
        return count_credits(stored, self._options.price)

    def find_free(self, rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
        """The rows whose run costs nothing more, as it is paid for, and those that have failed, in the order in which they were sent."""
        files, known = self._context.shelf.paths(), self.find_stored(rows)
        stored = sorted(((known[row.key], row) for row in rows if row.key in known), key=lambda pair: pair[0].id)
        ends = (State.FAILED, State.CANCELLED)
        free = [row for run, row in stored if has_result(run, files) or (self.count(run) and run.state not in ends)]
        return free, [row for run, row in stored if run.state == State.FAILED]

    def make_job(self, rows: Sequence[Row], *, is_free: bool = False) -> SweepJob:
        """A job that sends those of these rows that are not in the library, or none; it is not started yet."""
        options = self._options.model_copy(update={"spend": 0}) if is_free else self._options
        return SweepJob(self._make_plan(rows), self._client, options)

    def make_table(self, rows: Sequence[Row]) -> pd.DataFrame:
        """The table of these rows in their current state, numbered from 0."""
        from ...sweeps.tables import make_stored_table  # Here, because it brings pandas along.

        return make_stored_table(self._make_plan(rows), self._context)

    def _make_plan(self, rows: Sequence[Row]) -> Plan:
        numbered = tuple(replace(row, number=number) for number, row in enumerate(rows))
        return replace(self.plan, rows=numbered, parts=None)
