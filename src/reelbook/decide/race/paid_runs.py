"""The runs of a race: their names and costs in the ledger, their execution under one budget, and their table."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...errors import InvalidInput, ReelbookError
from ...storage.ledger.budget import join_scope
from ...storage.ledger.transitions import State
from ...storage.verify import get_paths
from ...sweeps.execute.job import SweepJob
from ...sweeps.execute.ledger_lookup import (
    CALL_SECONDS,
    LedgerRow,
    RunName,
    find_rows,
    has_result,
    make_budget_scope,
    name_runs,
)
from ...sweeps.execute.run_options import Options
from ...sweeps.plan.plan import Plan
from ...sweeps.plan.plan_rows import Row
from ...sweeps.results.result_frame import make_stored_table
from ...util.background_loop import background

if TYPE_CHECKING:
    import pandas as pd

    from ...sweeps.execute.executor import Client


class RaceRuns:
    """The possible runs of a race, whose budget is that of all of them, as `plan.run(budget=…)` counts it."""

    def __init__(self, plan: Plan, rows: Iterable[Row], client: Client, options: Options) -> None:
        self.plan = plan
        self._rows = {row.key: row for row in rows if row.input is not None}
        self._client, self._context, self._options = client, client.context, options
        self._names: dict[Hashable, RunName | InvalidInput] = {}
        self._prices: dict[Hashable, int | None] = {}
        self._service = ""

    def prepare(self) -> None:
        """Name the runs, find their prices, and join all of them in one budget."""
        background.wait(self._prepare(), CALL_SECONDS)

    def limit(self, budget: int | None) -> None:
        """Set the ceiling on what all runs may cost together."""
        self._options = replace(self._options, budget=budget)

    def get_price(self, row: Row) -> int | None:
        """The price of a run as budgets count it; None if nobody knows it."""
        return self._prices.get(row.key, row.credits)

    def find_stored(self, rows: Iterable[Row]) -> dict[Hashable, LedgerRow]:
        """The ledger rows of runs that are in the ledger, by the keys of the plan's rows."""
        names = {row.key: name for row in rows if isinstance(name := self._names.get(row.key), RunName)}
        found = find_rows(
            self._context.ledger,
            self._service,
            [name.key for name in names.values()],
            unknown=self._options.price or 0,
        )
        return {key: found[name.key] for key, name in names.items() if name.key in found}

    def find_paid(self, rows: Sequence[Row]) -> set[Hashable]:
        """The keys of those rows that cost nothing more, because their result is in the library."""
        files = get_paths(self._context.shelf)
        return {key for key, stored in self.find_stored(rows).items() if has_result(stored, files)}

    def sum_costs(self, rows: Iterable[Row]) -> int:
        """What these runs have cost or may have cost, whoever paid and whenever."""
        return sum(stored.cost for stored in self.find_stored(rows).values())

    def find_failed(self, rows: Iterable[Row]) -> set[Hashable]:
        """The keys of those rows that the service has run, without a result."""
        return {key for key, stored in self.find_stored(rows).items() if stored.state == State.FAILED}

    def make_job(self, rows: Sequence[Row]) -> SweepJob:
        """A job that sends those of these rows that are not in the library; it is not started yet."""
        job = SweepJob(self._make_plan(rows), self._client, self._options)
        job.has_panel = True
        return job

    def make_table(self, rows: Sequence[Row]) -> pd.DataFrame:
        """The table of these rows in their current state, numbered from 0."""
        plan = self._make_plan(rows)
        if plan.session is not None:
            plan.session.register_table_accessor()
        return make_stored_table(plan, self._context)

    def _make_plan(self, rows: Sequence[Row]) -> Plan:
        numbered = tuple(replace(row, number=number) for number, row in enumerate(rows))
        return replace(self.plan, rows=numbered, recipe=None, notes=())

    async def _prepare(self) -> None:
        context, rows = self._context, list(self._rows.values())
        self._service = await context.name()
        requests = [(row.input, row.take) for row in rows if row.input is not None]
        self._names = dict(zip(self._rows, await name_runs(requests, context.shelf.find), strict=True))
        keys = [name.key for name in self._names.values() if isinstance(name, RunName)]
        scope = make_budget_scope(self._service, keys)
        await context.ledger.transact(lambda db: join_scope(db, scope, self._service, keys))
        self._options = replace(self._options, scope=scope)
        for key, row in self._rows.items():
            self._prices[key] = await self._estimate(row)

    async def _estimate(self, row: Row) -> int | None:
        """The price of a row: the service's or the catalog's, whichever is higher; the caller's own if there is one."""
        assert row.input is not None
        try:
            estimate = await self._context.estimate(row.input)
        except ReelbookError:
            found = row.credits
            return found if self._options.price is None else self._options.price
        if self._options.price is None:
            return estimate.counted
        stated = estimate.credits if estimate.source == "exact" else None
        return max(stated or 0, self._options.price)
