"""`rb.judge` and `rb.race`: people judge the clips of a table, and the best setting of a plan is found."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Any

from ..current import session
from ..decide.race.settings import make_race_options, race_error
from ..decide.ranking import find_clips, judge_error
from ..decide.ratings import Ratings
from ..storage.judgements import MAX_LETTERS, Kind
from ..storage.select_runs import find_table
from ..sweeps.plan import Plan
from .which_run import find_library_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from ..client import Client
    from ..decide.race.race import Race

QUESTION = "Which is better?"
NOBODY = "somebody"
"""The rater where the system has no name of its user."""


def judge(
    table_or_plan: pd.DataFrame | Plan | Any,
    *,
    question: str = QUESTION,
    rater: str | None = None,
    kind: str = "pairs",
) -> Ratings:
    """Judge the clips of a table of runs by eye: in blind pairs, with `kind="stars"`, or with `kind="keep"` to keep or reject.

    Accepts any table of runs, a job, or a plan; of a plan, the clips that are in the library. Every answer is stored in the
    library at once, so nothing is lost if the kernel ends, and several people can judge at the same time. `rater` is the
    user's name by default.

    Example::

        table = rb.sweep(boat, seed=[7, 8]).run(budget=106)
        ratings = rb.judge(table, question="Which is calmer?", rater="ana")
        ratings.judge(0, 1, "left")
    """
    asked, name = _check_text(question, "question"), _check_text(_find_user() if rater is None else rater, "rater")
    if kind not in tuple(Kind):
        raise judge_error(f"`kind` is one of {', '.join(Kind)}, not {kind!r:.40}.")
    table = _find_table(table_or_plan)
    source = find_library_of(table) if len(table) else session.library()
    # The request ids of runs with a result.
    entries = source.entries(table) if len(table) else []
    keys = [None if entry is None or entry.output is None else entry.request_id for entry in entries]
    clips = find_clips(table, keys)
    if not len(clips):
        raise judge_error(
            "No row of this table has a clip in the library, so there is nothing to judge. Run the sweep first, or filter less."
        )
    return Ratings(table, clips, source.judgements, question=asked, rater=name, kind=kind)


def race(
    plan: Plan, *, by: Any, budget: float | None = None, over: Sequence[str] = ("seed", "prompt"), seed: int = 0,
    sure: float = 0.95, concurrency: int | None = None, price: int | None = None, draft: bool = False,
    retry_failed: bool = False, question: str = QUESTION, rater: str | None = None, client: Client | None = None,
) -> Race:  # fmt: skip
    """Find the best setting of a plan for fewer credits than all its runs cost. Returns at once and continues in the background.

    Rows that differ only in `over` repeat one setting. Results in the library are used first and cost nothing. Rounds of
    `concurrency` runs follow, each chosen by what the earlier ones showed, until the best is known with certainty `sure`,
    the budget is spent, or no runs are left. `by` is a column or a metric, a function of a run, a mix such as
    {"sharpness": 1, "motion": -2}, each in standard deviations, or `rb.judge` for a person, who answers `question` as `rater`.
    `budget` is the most that the race spends from its first start on, in credits, or as a share of the plan's price up to 1.0.
    Run the cell again to continue with what is left of the budget. With `draft=True` it decides by drafts without what costs
    extra, such as the detail pass, and makes the best with it. `price` is the maximum price of a run whose price is unknown.

    Example::

        plan = rb.sweep(boat, temporal_adain_factor=[0.2, 0.8], seed=range(2))
        rb.race(plan, by="sharpness", budget=212).wait().best
    """
    if not isinstance(plan, Plan):
        raise race_error(f"rb.race takes a plan, such as rb.sweep(…) gives, not {type(plan).__name__}.")
    return start_race(
        plan, client or session.client(), by=by, budget=budget, over=over, seed=seed, sure=sure, concurrency=concurrency,
        price=price, draft=draft, retry_failed=retry_failed, question=question, rater=rater,
    )  # fmt: skip


def start_race(plan: Plan, client: Client, *, by: object, **options: object) -> Race:
    """Start a race with options that nobody has checked."""
    from ..decide.race.race import Race

    started = Race(plan, client, make_race_options(by=by, judge=judge if by is judge else None, **options))
    started.begin()
    return started


def _find_table(given: Any) -> pd.DataFrame:
    if isinstance(given, Plan):
        from ..sweeps.tables import make_stored_table

        return make_stored_table(given, session.client().context)
    table = find_table(given)
    if table is None:
        raise judge_error(f"rb.judge takes a table of runs, a job or a plan, not {type(given).__name__}.")
    return table


def _find_user() -> str:
    try:
        return getpass.getuser() or NOBODY
    except (OSError, KeyError, ImportError):
        return NOBODY


def _check_text(value: Any, name: str) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if not text or len(text) > MAX_LETTERS:
        raise judge_error(f"`{name}` is a text of 1 to {MAX_LETTERS:,} letters, not {value!r:.60}.")
    return text
