"""Construction of a race from a plan: settings, drafts, budget, and what judges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ...models.problems import format_literal
from ...sweeps.execute.run_options import HOSTED_AT_ONCE
from ...util.printable import format_count
from .drafts import make_drafts
from .judged_rounds import Judging
from .paid_runs import RaceRuns
from .race import Race
from .race_arguments import RaceOptions
from .race_errors import race_error
from .round_loop import RaceEngine
from .rounds import Rounds
from .score import make_score
from .tried_settings import RaceSettings, group_settings

if TYPE_CHECKING:
    from ...sweeps.execute.executor import Client
    from ...sweeps.plan.plan import Plan

MAX_SETTINGS = 500
"""The time for a choice grows with the cube of the number of settings."""
UNKNOWN_PRICE = "Nobody knows what all of its runs cost, so say the most that one run may cost: price=…"


def make_race(plan: Plan, client: Client, options: RaceOptions) -> Race:
    """Create a race that is not started yet; raises if there is nothing to decide, or no budget where credits are real."""
    if not hasattr(client, "context"):
        raise race_error(f"`client` is {format_literal(client)}; give what rb.connect() gave.", "client")
    judge = Judging(options) if options.judge is not None else make_score(options.by, plan)
    drafts = make_drafts(plan, options.draft) if options.draft else plan
    race = group_settings(drafts, options.over, options.seed, is_paired=options.judge is not None)
    _check_settings(race, options)
    rows = [*drafts.distinct, *(plan.distinct if options.draft else ())]
    runs = RaceRuns(drafts, rows, client, options.execution)
    runs.prepare()
    prices = [runs.get_price(row) for row in plan.distinct]
    whole = None if None in prices else sum(price for price in prices if price is not None)
    if options.spend is None:
        budget = _find_budget(options.budget, whole, is_embedded=client.is_embedded)
    else:
        if whole is None:
            raise race_error(UNKNOWN_PRICE, "price")
        # Whatever the runs have cost so far, whoever paid: the rest is what is spent from now on.
        budget = runs.sum_costs(rows) + options.spend
    if budget is not None:
        _check_budget(budget if options.spend is None else options.spend, drafts, race, runs)
    runs.limit(budget)
    size = options.execution.concurrency or HOSTED_AT_ONCE
    rounds = Rounds(drafts, race, options.seed, size)

    def make_engine(changed: Callable[[], None]) -> RaceEngine:
        return RaceEngine(plan, rounds, runs, judge, options, budget=budget, whole=whole, changed=changed)

    return Race(replace(plan, notes=()), make_engine)


def _check_settings(race: RaceSettings, options: RaceOptions) -> None:
    count = len(race.settings)
    over = ", ".join(race.over)
    repeats = f" {over} only {'repeats' if len(race.over) == 1 else 'repeat'} a setting (over=…)." if over else ""
    impossible = (
        f" {format_count(race.impossible, 'other')} cannot run; plan.frame says why." if race.impossible else ""
    )
    if count < 2:
        raise race_error(
            f"This plan has {format_count(count, 'setting')}, so there is nothing to decide.{repeats}{impossible} Vary what is to be "
            "decided: rb.sweep(boat, num_frames=[49, 97, 121], seed=range(4)).",
            "settings",
        )
    if options.keep >= count:
        raise race_error(
            f"`keep` is {options.keep}, and this plan has {format_count(count, 'setting')}: keep fewer than there are.{impossible}",
            "keep",
        )
    if count > MAX_SETTINGS:
        raise race_error(
            f"This plan has {count:,} settings, and a race decides among {MAX_SETTINGS:,} at most: vary less, or race a part of "
            "it, such as plan.shuffled()[:500].",
            "settings",
        )


def _find_budget(given: int | float | None, whole: int | None, *, is_embedded: bool) -> int | None:
    """The budget in credits; None for no limit, which only the embedded service allows."""
    if given is None:
        if is_embedded:
            return None
        needs = "This service charges real credits, so a race on it needs a budget."
        if whole is None:
            raise race_error(f"{needs} {UNKNOWN_PRICE}, and budget=…", "budget")
        raise race_error(
            f"{needs} The whole plan costs {whole:,} credits: budget={round(0.4 * whole)}, or budget=0.4 for that share of it. It is the "
            "most that the plan's runs may cost together, whoever pays and whenever, so that a cell that is run twice pays once.",
            "budget",
        )
    if whole is None:
        raise race_error(UNKNOWN_PRICE, "price")
    return given if isinstance(given, int) else int(given * whole)


def _check_budget(budget: int, plan: Plan, race: RaceSettings, runs: RaceRuns) -> None:
    """Raise if the budget does not pay for one run of two settings, and these are not in the library."""
    firsts = [setting.rows[0] for setting in race.settings]
    paid = runs.find_paid(firsts)
    prices = sorted(0 if row.key in paid else runs.get_price(row) or 0 for row in firsts)
    if sum(prices[:2]) > budget:
        whole = sum(prices)
        raise race_error(
            f"A budget of {format_count(budget, 'credit')} pays for less than one run of two settings, and there are "
            f"{len(prices):,}. One run of each costs {whole:,} credits.",
            "budget",
        )
