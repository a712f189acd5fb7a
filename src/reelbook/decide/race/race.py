"""Race: the runs of a plan in rounds, each chosen by what the earlier ones have shown about the settings."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import OverBudget
from ...storage.run_status import RunStatus
from ...storage.table import build_column
from ...sweeps.job import BackgroundJob, SweepJob
from ...sweeps.money_text import sum_or_none
from ...sweeps.options import HOSTED_AT_ONCE
from ...sweeps.plan import Plan
from ...sweeps.plan_rows import Row
from ...sweeps.tables import add_metric_columns
from ...util import registry
from .rounds import RaceRuns, Rounds
from .score import Judging, Score, make_score
from .sentences import (
    End,
    RaceProgress,
    RaceState,
    make_contenders,
    make_ranking_frame,
)
from .settings import (
    RaceOptions,
    check_budget,
    check_settings,
    find_budget,
    group_settings,
    make_drafts,
)

if TYPE_CHECKING:
    import pandas as pd

    from ...client import Client
    from ...models.base import Input
    from ..posterior import Belief, FloatArray

UNFINISHED = (RunStatus.NOT_STARTED, RunStatus.WAITING, RunStatus.RUNNING, RunStatus.UNFINISHED)
"""States of a run after which a repeated race would send it: the race ends there, so that it can repeat itself."""
COLUMN_PREFIX = "race_"
"""Before the name of a race's column if the table has another one of that name."""

log = logging.getLogger("reelbook")


class Race(BackgroundJob["Race"]):
    """A race in the background, created by `rb.race`. Everything but its thread may be called from any thread.

    Example::

        plan = rb.sweep(boat, temporal_adain_factor=[0.2, 0.8], seed=range(2))
        race = plan.race(by="sharpness", budget=212).wait()
        race.best, race.spent
    """

    noun, advice = "race", "stop it: race.cancel()"

    def __init__(
        self, plan: Plan, rounds: Rounds, runs: RaceRuns, judge: Score | Judging, options: RaceOptions,
        *, budget: int | None, whole: int | None, earlier: int,
    ) -> None:  # fmt: skip
        super().__init__()
        self.plan = plan
        self._rounds, self._runs, self._options, self._judge = rounds, runs, options, judge
        self._score = judge if isinstance(judge, Score) else None
        self._budget, self._whole, self._earlier = budget, whole, earlier
        self._finals: list[Row] = []
        self._belief: Belief | None = None
        self._chances: FloatArray | None = None
        self._is_sure = False
        self._state, self._end = RaceState.PREPARING, End.NONE
        self._reason = self._first_error = ""
        self._costs: dict[Hashable, int] = {}
        self._spent_before = self._spent = runs.spent()
        # What is paid for already need not have been the cheapest way to two runs of each setting.
        paid = self._spent - earlier
        self._enough = min(runs.find_enough(rounds.race, free=()), paid + runs.find_enough(rounds.race))
        self._job: SweepJob | None = None
        self._began, self._ended = time.monotonic(), 0.0
        self._cancelled = threading.Event()

    def begin(self) -> None:
        """Start the rounds in a thread of their own. May be called only once."""
        threading.Thread(target=self._run, name="reelbook-race", daemon=True).start()

    @property
    def best(self) -> Input | tuple[Input, ...] | None:
        """The input of the best setting's best run, so that `rb.run(race.best)` is free; with `keep` a tuple of them.

        None while no run has a score. After drafts they are the inputs of the finals.
        """
        inputs = tuple(row.input for row in self._find_best_rows() if row.input is not None)
        return inputs if self._options.keep > 1 else inputs[0] if inputs else None

    @property
    def finalists(self) -> Plan:
        """All runs of the best settings with their real values, as a plan: `race.finalists.run(budget=…)` runs them all."""
        settings = self._rank()[: self._options.keep]
        return self.plan[sorted(row.number for setting in settings for row in self._rounds.race.settings[setting].rows)]

    @property
    def table(self) -> pd.DataFrame:
        """The ordinary table of the runs tried so far, with the columns `round`, `setting` and `score`.

        Round 0 is what was in the library when the race started.
        """
        with self._guard:
            rows, finals, round_of = list(self._rounds.used), self._finals, dict(self._rounds.round_of)
        numbers, nothing = [row.number for row in rows], [None] * len(finals)
        table = self._runs.make_table([*rows, *finals])
        columns: dict[str, list[Any]] = {
            "round": [*map(round_of.__getitem__, numbers), *nothing],
            "setting": [self._rounds.setting_of[row.number] for row in (*rows, *finals)],
        }
        if self._score is not None:
            columns["score"] = [*map(self._score.totals().get, numbers), *nothing]
            metrics = self._score.get_metrics(numbers)
            measured = {name: build_column([*values, *nothing]).array for name, values in metrics.items()}
            table = add_metric_columns(table, measured)
        if self._options.draft:
            columns["draft"] = [True] * len(rows) + [False] * len(finals)
        names = {name: COLUMN_PREFIX + name if name in table.columns else name for name in columns}
        result = table.assign(**{names[name]: build_column(values).array for name, values in columns.items()})
        result.attrs = table.attrs
        return result

    @property
    def spent(self) -> int:
        """Credits that the plan's runs have cost or may have cost, earlier payments included."""
        return self.progress.spent

    @property
    def saved(self) -> int | None:
        """Credits that the whole plan would cost beyond that; 0 while nothing is decided, None if its price is unknown."""
        return self.progress.saved

    @property
    def is_decided(self) -> bool:
        """Whether the race is as sure of the best settings as was asked for."""
        return self._is_sure

    @property
    def ratings(self) -> Any:
        """The ratings of the clips so far, where a person judges: display them to judge; None otherwise."""
        return self._judge.ratings if isinstance(self._judge, Judging) else None

    @property
    def panel(self) -> Any:
        """A widget with the standings, costs and a button to stop, for display or a layout."""
        return registry.find("RacePanel")(self)

    @property
    def progress(self) -> RaceProgress:
        """A snapshot of the current state."""
        with self._guard:
            return self._make_progress()

    def ranking(self) -> pd.DataFrame:
        """One row per setting, the best first: its values, mean, low, high (90%), chance to be the best, runs, credits."""
        return make_ranking_frame(self.progress)

    def report(self, path: str | Path, *, title: str | None = None) -> Path:
        """Write one self-contained page with the standings and the clips, to share; return its path."""
        written: Path = registry.find("write_race_report")(self, path, title=title)
        return written

    def cancel(self) -> None:
        """Send nothing more. Runs already sent continue and count; starting the same race later continues from here."""
        self._cancelled.set()
        self._changed.set()
        if (job := self._job) is not None:
            job.cancel()

    def __repr__(self) -> str:
        progress = self.progress
        return (
            f"<Race of {len(progress.contenders):,} settings, {progress.state}: {progress.runs:,} runs, "
            f"{progress.spent:,} credits. {' '.join(progress.findings[:2])}>"
        )

    # The rounds.

    def _run(self) -> None:
        """Use what the library holds before each round that is paid for, until the race ends; then the finals after drafts."""
        try:
            while self._end == End.NONE:
                self._use_free_runs()
                if self._end == End.NONE:
                    self._run_next_round()
            if self._options.draft and not self._cancelled.is_set():
                finals = [self.plan.rows[row.number] for row in self._find_best_rows()]
                with self._guard:
                    self._finals = finals
                self._execute(finals)
        except BaseException as error:
            self._failure = error
            log.warning("The race has stopped. %s", error)
        finally:
            with self._guard:
                self._state, self._ended, self._job = RaceState.DONE, time.monotonic(), None
            self._finish()

    def _use_free_runs(self) -> None:
        """Learn from all runs that the library holds, also from those that another race has just paid for.

        A person is asked about some of them at a time, until that is enough.
        """
        rows = [
            row
            for setting in self._rounds.race.settings
            for row in setting.rows
            if row.number not in self._rounds.round_of
        ]
        failed = [] if self._options.retry_failed else self._runs.find_failed(rows)
        if failed:
            with self._guard:
                self._rounds.record(failed, is_free=True)
            self._note_costs(failed)
        free = self._runs.find_free(rows)
        step = max(len(free) if self._score is not None else self._rounds.size, 1)
        for start in range(0, len(free), step):
            if self._end == End.NONE and (ended := self._execute(free[start : start + step], is_free=True)):
                with self._guard:
                    self._rounds.record(ended, is_free=True)
                self._judge_and_learn(ended)

    def _run_next_round(self) -> None:
        if self._cancelled.is_set():
            self._end = End.CANCELLED
            return
        rows = self._rounds.choose_rows(self._belief, self._make_fits())
        if not rows:
            is_left = self._rounds.choose_rows(self._belief, lambda chosen, row: True)
            has_no_scores = self._belief is None and bool(self._rounds.used)
            self._end = End.BUDGET if is_left else End.NO_SCORES if has_no_scores else End.COMPLETE
            return
        with self._guard:
            self._rounds.record(rows)
        self._execute(rows)
        self._judge_and_learn(rows)
        if self._end == End.NONE and self._belief is None:
            self._end = End.NO_SCORES

    def _execute(self, rows: Sequence[Row], *, is_free: bool = False) -> list[Row]:
        """Run these rows; a run whose files could not be fetched gets a second attempt, a failed one none. Returns what has ended."""
        self._set_state(RaceState.FINALS if self._finals else RaceState.RUNNING)
        failed = {row.key for row in ([] if self._options.retry_failed else self._runs.find_failed(rows))}
        due = [row for row in rows if row.key not in failed]
        status_of: dict[Hashable, str] = {}
        for _ in range(2):
            if due:
                status_of |= self._run_job(due, is_free=is_free)
            due = [row for row in due if status_of[row.key] == RunStatus.UNFINISHED]
        self._note_costs(rows)
        if not self._finals:
            with self._guard:
                self._rounds.uncertain |= {row.number for row in rows if status_of.get(row.key) == RunStatus.UNCERTAIN}
        return [row for row in rows if status_of.get(row.key) not in UNFINISHED]

    def _run_job(self, rows: Sequence[Row], *, is_free: bool) -> dict[Hashable, str]:
        """Run these rows, and return the status of each; a stop of the job ends the race."""
        job = self._runs.make_job(rows, is_free=is_free)
        with self._guard:
            self._job = job
        job.on_change(lambda _: self._changed.set())
        job.begin(has_panel=True)
        if self._cancelled.is_set():
            job.cancel()
        status_of = {row.key: str(status) for row, status in zip(rows, job.wait()["status"], strict=True)}
        reason = job.stopped_by
        with self._guard:
            self._job, self._spent = None, self._runs.spent()
        is_over = isinstance(reason, OverBudget)
        if (
            reason is not None
            and not (is_free and is_over)
            and any(status in UNFINISHED for status in status_of.values())
        ):
            self._end = End.CANCELLED if self._cancelled.is_set() else End.BUDGET if is_over else End.STOPPED
            self._reason = str(reason)
        return status_of

    def _note_costs(self, rows: Sequence[Row]) -> None:
        stored = self._runs.find_stored(rows)
        with self._guard:
            self._costs |= {key: row.counted for key, row in stored.items()}
            self._first_error = self._first_error or next((row.error for row in stored.values() if row.error), "")

    def _judge_and_learn(self, rows: Sequence[Row]) -> None:
        """Have these runs judged, update the belief by all scores or judgements so far, and see whether that is enough."""
        if isinstance(self._judge, Score):
            self._set_state(RaceState.SCORING)
            self._judge.add(self._runs.make_table(rows), [row.number for row in rows])
        else:
            self._judge.open(self._runs.make_table(self._rounds.used))
            self._set_state(RaceState.JUDGING)
            self._judge.wait(self._cancelled, self._changed.set)
        belief, scored = self._judge.learn(self._rounds)
        with self._guard:
            self._rounds.scored, self._belief = scored, belief
            if belief is not None:
                self._chances = self._rounds.find_chances(belief, self._options.keep)
                self._is_sure = self._rounds.is_sure(belief, self._chances, self._options.keep, self._options.sure)
            if self._end == End.NONE and self._is_sure:
                self._end = End.SURE
        self._changed.set()

    def _rank(self) -> list[int]:
        """The settings with a scored run, the one with the highest chance first."""
        with self._guard:
            if self._belief is None or self._chances is None:
                return []
            counts = self._rounds.count_runs()
            return [setting for setting in self._rounds.rank(self._belief, self._chances) if counts[setting]]

    def _find_best_rows(self) -> list[Row]:
        """Of each of the best settings the run with the highest score; after drafts the final one."""
        totals = {} if self._score is None else self._score.totals()
        scored = self._rounds.scored
        best = self._rank()[: self._options.keep]
        of_best = [
            [row for row in self._rounds.race.settings[setting].rows if row.number in scored] for setting in best
        ]
        rows = [max(rows, key=lambda row: (totals.get(row.number, 0.0), -row.number)) for rows in of_best]
        finals = {row.number: row for row in self._finals}
        return [finals.get(row.number, row) for row in rows]

    def _make_fits(self) -> Callable[[list[Row], Row], bool]:
        """A function that says whether a row fits in the budget after others of the round."""
        if self._budget is None:
            return lambda chosen, row: True
        left = self._earlier + self._budget - self._spent - self._find_reserve()
        return lambda chosen, row: sum(self._runs.get_price(other) or 0 for other in [*chosen, row]) <= left

    def _find_reserve(self) -> int:
        """Credits set aside for the finals after drafts, as far as these are not paid for."""
        if not self._options.draft:
            return 0
        free = {row.key for row in self._runs.find_free(self.plan.distinct)}
        due = [0 if row.key in free else self._runs.get_price(row) or 0 for row in self.plan.distinct]
        return sum(sorted(due, reverse=True)[: self._options.keep])

    def _make_progress(self) -> RaceProgress:
        belief, score, options, rounds = self._belief, self._score, self._options, self._rounds
        job = None if self._job is None else self._job.progress
        contenders = make_contenders(rounds, belief, self._chances, self._costs)
        best = contenders[: options.keep] if belief is not None else ()
        now = 0 if job is None else job.spent_now + job.reserved_now
        return RaceProgress(
            state=RaceState.STOPPING if self._cancelled.is_set() and self._state != RaceState.DONE else self._state,
            axes=rounds.race.axes, contenders=tuple(contenders), score=options.question if score is None else score.text,
            is_judged=score is None, rounds=rounds.number, runs=len(rounds.used) + len(self._finals),
            repeats=len(self.plan.distinct), free=sum(not number for number in rounds.round_of.values()),
            spent=self._spent + now, earlier=self._earlier, spent_now=self._spent - self._spent_before + now,
            budget=self._budget, enough=self._enough, whole=self._whole, keep=options.keep, sure=options.sure,
            chance=min((contender.chance or 0.0 for contender in best), default=None), is_decided=self._is_sure,
            elapsed=(self._ended or time.monotonic()) - self._began,
            round_runs=0 if job is None else job.total, round_done=0 if job is None else job.finished,
            judged=self._judge.judged if isinstance(self._judge, Judging) else 0,
            awaited=self._judge.awaited if isinstance(self._judge, Judging) else 0,
            end=self._end, reason=self._reason, first_error=self._first_error, without=0 if score is None else score.without,
            noise=None if belief is None else belief.noise, is_constant=score is not None and score.is_constant,
            has_repeats=any(len(setting.rows) > 1 for setting in rounds.race.settings), block=rounds.race.block,
            is_draft=bool(options.draft), is_mix=score is not None and score.is_mix,
        )  # fmt: skip

    def _set_state(self, state: RaceState) -> None:
        with self._guard:
            self._state = state
        self._changed.set()

    def _get_result(self) -> Race:
        return self

    def _count_ended(self) -> str:
        return f"the race is in round {self._rounds.number}, with {len(self._rounds.used):,} runs"


def make_race(plan: Plan, client: Client, options: RaceOptions) -> Race:
    """Create a race that is not started yet; raises if there is nothing to decide, or no budget where credits are real."""
    judge = Judging(options) if options.judge is not None else make_score(options.by, plan)
    drafts = make_drafts(plan, options.draft) if options.draft else plan
    race = group_settings(drafts, options.over, options.seed, is_paired=options.judge is not None)
    check_settings(race, options.keep)
    runs = RaceRuns(plan, drafts, client, options.execution)
    whole = sum_or_none(runs.get_price(row) for row in plan.distinct)
    budget = find_budget(options.budget, whole, runs.find_enough(race), is_embedded=client.is_embedded)
    if budget is not None:
        free = {row.key for row in runs.find_free(drafts.distinct)}
        check_budget(budget, race, lambda row: 0 if row.key in free else runs.get_price(row) or 0)
    earlier = runs.limit(budget, judge.name, is_new=options.is_new)
    rounds = Rounds(drafts, race, options.seed, options.execution.concurrency or HOSTED_AT_ONCE)
    return Race(plan, rounds, runs, judge, options, budget=budget, whole=whole, earlier=earlier)
