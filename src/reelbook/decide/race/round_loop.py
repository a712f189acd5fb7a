"""The rounds of a race as they are executed: choose, run, score, learn, until it is sure or nothing is left."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import OverBudget
from ...sweeps.execute.job import SweepJob
from ...sweeps.execute.sweep_status import SweepStatus
from ..posterior import learn_values
from .ranked_settings import make_contenders
from .round_columns import add_race_columns
from .sentences import End, Facts, make_assumptions, make_findings
from .standing import RaceProgress, RaceState

if TYPE_CHECKING:
    import pandas as pd

    from ...sweeps.plan.plan import Plan
    from ...sweeps.plan.plan_rows import Row
    from ..posterior import Belief, FloatArray
    from .judged_rounds import Judging
    from .paid_runs import RaceRuns
    from .race_arguments import RaceOptions
    from .rounds import Rounds
    from .score import Score

UNFINISHED = (SweepStatus.NOT_STARTED, SweepStatus.WAITING, SweepStatus.RUNNING, SweepStatus.UNFINISHED)
"""States of a run after which a repeated race would send it: the race ends there, so that it can repeat itself."""


class RaceEngine:
    """The state of a race, and its rounds. `run` blocks; the rest may be called from any thread."""

    def __init__(
        self,
        plan: Plan,
        rounds: Rounds,
        runs: RaceRuns,
        judge: Score | Judging,
        options: RaceOptions,
        *,
        budget: int | None,
        whole: int | None,
        changed: Callable[[], None],
    ) -> None:
        from .score import Score

        self.plan, self.rounds, self.options = plan, rounds, options
        self.is_sure = False
        self.cancelled = threading.Event()
        self.job: SweepJob | None = None
        self.finals: list[Row] = []
        self.score = judge if isinstance(judge, Score) else None
        self.judging = None if isinstance(judge, Score) else judge
        self._runs, self._budget, self._whole, self._changed = runs, budget, whole, changed
        self._guard = threading.RLock()
        self._belief: Belief | None = None
        self._chances: FloatArray | None = None
        self._state, self._end = RaceState.PREPARING, End.NONE
        self._reason = self._first_error = ""
        self._costs: dict[Hashable, int] = {}
        self._paid_now = 0
        self._began, self._ended = time.monotonic(), 0.0

    def run(self) -> None:
        """Run rounds until the race ends, then the finals after drafts."""
        try:
            while self._end == End.NONE:
                self._run_next_round()
            if self.options.draft and not self.cancelled.is_set():
                self._run_finals()
        finally:
            with self._guard:
                self._state, self._ended, self.job = RaceState.DONE, time.monotonic(), None

    def rank(self) -> list[int]:
        """The settings with a score, the best first."""
        with self._guard:
            return [] if self._belief is None else self.rounds.rank(self._belief)

    def find_best_rows(self) -> list[Row]:
        """Of each of the best settings the run with the highest score; after finals the final one."""
        totals = {} if self.score is None else self.score.totals()
        finals = {row.number: row for row in self.finals}
        found = []
        for setting in self.rank()[: self.options.keep]:
            rows = self.rounds.race.settings[setting].rows
            tried = [row for row in rows if row.number in self.rounds.scored]
            best = max(tried, key=lambda row: (totals.get(row.number, 0.0), -row.number))
            found.append(finals.get(best.number, best))
        return found

    def make_table(self) -> pd.DataFrame:
        """The table of the runs tried so far, with what the race knows of each."""
        with self._guard:
            drafts, finals = list(self.rounds.used), list(self.finals)
        numbers: list[int | None] = [*(row.number for row in drafts), *(None for _ in finals)]
        table = self._runs.make_table([*drafts, *finals])
        totals = {} if self.score is None else self.score.totals()
        columns: dict[str, list[Any]] = {
            "round": [None if number is None else self.rounds.round_of[number] for number in numbers],
            "setting": [self.rounds.setting_of[row.number] for row in (*drafts, *finals)],
        }
        if self.score is not None:
            columns["score"] = [None if number is None else totals.get(number) for number in numbers]
        if self.options.draft:
            columns["draft"] = [number is not None for number in numbers]
        return add_race_columns(table, columns, {} if self.score is None else self.score.get_metrics(numbers))

    def make_progress(self) -> RaceProgress:
        """A snapshot of the current state."""
        with self._guard:
            return self._make_progress()

    # The rounds.

    def _run_next_round(self) -> None:
        if self.cancelled.is_set():
            self._end = End.CANCELLED
            return
        rows = self.rounds.choose_rows(self._belief, self._make_fits())
        if not rows:
            is_left = self.rounds.choose_rows(self._belief, lambda chosen, row: True)
            self._end = End.BUDGET if is_left else End.COMPLETE
            return
        self._set_state(RaceState.RUNNING)
        with self._guard:
            self.rounds.record(rows)
        self._execute(rows)
        if self.judging is None:
            self._set_state(RaceState.SCORING)
            assert self.score is not None
            self.score.add(self._runs.make_table(rows), [row.number for row in rows])
        else:
            self.judging.open(self._runs.make_table(self.rounds.used))
            self._set_state(RaceState.JUDGING)
            self.judging.wait(self.cancelled, self._changed)
        self._learn()

    def _execute(self, rows: Sequence[Row]) -> None:
        """Run these rows; a run whose files could not be fetched gets a second attempt, a failed one none."""
        failed = set() if self.options.retry_failed else self._runs.find_failed(rows)
        due = [row for row in rows if row.key not in failed]
        for _ in range(2):
            if not due:
                break
            statuses = self._run_job(due)
            due = [row for row, status in zip(due, statuses, strict=True) if status == SweepStatus.UNFINISHED]
        stored = self._runs.find_stored(rows)
        with self._guard:
            self.job = None
            self._costs |= {key: row.cost for key, row in stored.items()}
            self._first_error = self._first_error or next((row.error for row in stored.values() if row.error), "")

    def _run_job(self, rows: Sequence[Row]) -> list[str]:
        """Run these rows, and return the status of each; a stop of the job ends the race."""
        job = self._runs.make_job(rows)
        with self._guard:
            self.job = job
        job.on_change(lambda _: self._changed())
        job.begin()
        if self.cancelled.is_set():
            job.cancel()
        statuses = [str(status) for status in job.wait()["status"]]
        progress, reason = job.progress, job.stopped_by
        with self._guard:
            self._paid_now, self.job = self._paid_now + progress.spent_now + progress.reserved_now, None
        if reason is not None and any(status in UNFINISHED for status in statuses):
            is_budget = isinstance(reason, OverBudget)
            self._end = End.CANCELLED if self.cancelled.is_set() else End.BUDGET if is_budget else End.STOPPED
            self._reason = str(reason)
        return statuses

    def _learn(self) -> None:
        """Update the belief by all scores so far, and see whether that is enough."""
        belief, scored = (self._learn_scores if self.judging is None else self._learn_judgements)()
        with self._guard:
            self.rounds.scored, self._belief = scored, belief
            if belief is not None:
                self._chances = self.rounds.find_chances(belief, self.options.keep)
                self.is_sure = self.rounds.is_sure(belief, self._chances, self.options.keep, self.options.sure)
            if self._end == End.NONE and self.is_sure:
                self._end = End.SURE
            elif self._end == End.NONE and belief is None:
                self._end = End.NO_SCORES
        self._changed()

    def _learn_scores(self) -> tuple[Belief | None, set[int]]:
        assert self.score is not None
        totals, race = self.score.totals(), self.rounds.race
        numbers = sorted(set(totals) & set(self.rounds.round_of))
        if not numbers:
            return None, set()
        settings = np.array([self.rounds.setting_of[number] for number in numbers])
        blocks = np.array([race.blocks[number] for number in numbers])
        values = np.array([totals[number] for number in numbers])
        return learn_values(race.levels, settings, values, blocks), set(numbers)

    def _learn_judgements(self) -> tuple[Belief | None, set[int]]:
        assert self.judging is not None
        return self.judging.learn(self.rounds)

    def _run_finals(self) -> None:
        """Run the best settings with their real values, each as its best draft was run."""
        rows = [self.plan.rows[row.number] for row in self.find_best_rows()]
        self._set_state(RaceState.FINALS)
        with self._guard:
            self.finals = rows
        self._execute(rows)

    def _make_fits(self) -> Callable[[list[Row], Row], bool]:
        """A function that says whether a row fits in the budget after others of the round."""
        if self._budget is None:
            return lambda chosen, row: True
        # By the runs of this race alone, so that a repeated race comes to the same choice; the ledger counts them all.
        left = self._budget - sum(self._costs.values()) - self._reserve()
        paid = self._runs.find_paid(self.rounds.find_candidates())

        def fits(chosen: list[Row], row: Row) -> bool:
            # Those paid for count, too: else a repeated race would have more left for others in this round.
            return row.key in paid or sum(self._runs.get_price(one) or 0 for one in [*chosen, row]) <= left

        return fits

    def _reserve(self) -> int:
        """Credits set aside for the finals after drafts."""
        if not self.options.draft:
            return 0
        prices = sorted((self._runs.get_price(row) or 0 for row in self.plan.distinct), reverse=True)
        return sum(prices[: self.options.keep])

    def _make_progress(self) -> RaceProgress:
        belief, judging, job = self._belief, self.judging, None if self.job is None else self.job.progress
        contenders = make_contenders(self.rounds, belief, self._chances, self._costs)
        best = contenders[: self.options.keep] if belief is not None else ()
        now = 0 if job is None else job.spent_now + job.reserved_now
        facts = Facts(
            end=self._end,
            reason=self._reason,
            first_error=self._first_error,
            without=0 if self.score is None else self.score.without,
            noise=None if belief is None else belief.noise,
            is_constant=self.score is not None and self.score.is_constant,
            has_repeats=any(len(one.rows) > 1 for one in self.rounds.race.settings),
            block=self.rounds.race.block,
            is_draft=bool(self.options.draft),
            is_mix=self.score is not None and self.score.is_mix,
        )
        progress = RaceProgress(
            state=RaceState.STOPPING if self.cancelled.is_set() and self._state != RaceState.DONE else self._state,
            axes=self.rounds.race.axes,
            contenders=tuple(contenders),
            score=self.options.question if self.score is None else self.score.text,
            is_judged=judging is not None,
            rounds=self.rounds.number,
            runs=len(self.rounds.used) + len(self.finals),
            repeats=len(self.plan.distinct),
            spent=sum(self._costs.values()) + now,
            spent_now=self._paid_now + now,
            budget=self._budget,
            whole=self._whole,
            keep=self.options.keep,
            sure=self.options.sure,
            chance=min((one.chance or 0.0 for one in best), default=None),
            is_decided=self.is_sure,
            elapsed=(self._ended or time.monotonic()) - self._began,
            round_runs=0 if job is None else job.total,
            round_done=0 if job is None else job.finished,
            judged=0 if judging is None else judging.judged,
            awaited=0 if judging is None else judging.awaited,
        )
        return progress.with_texts(make_findings(progress, facts), make_assumptions(progress, facts))

    def _set_state(self, state: RaceState) -> None:
        with self._guard:
            self._state = state
        self._changed()
