"""Race: the runs of a plan in rounds, each chosen by what the earlier ones have shown about the settings."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import OverBudget
from ...storage.ledger.transitions import Entry
from ...storage.run_status import RunStatus
from ...storage.table import build_column
from ...sweeps.background_job import BackgroundJob
from ...sweeps.job import SweepJob
from ...sweeps.options import HOSTED_AT_ONCE
from ...sweeps.plan import Plan, Row
from ...sweeps.plan_summary import sum_or_none
from ...sweeps.tables import add_metric_columns
from ...util import registry
from .rounds import Fits, RaceRuns, Rounds
from .score import Judging, Score, make_score
from .sentences import Contender, End, RaceProgress, RaceState
from .settings import RaceOptions, check_settings, find_budget, group_settings, make_drafts, race_error

if TYPE_CHECKING:
    import pandas as pd

    from ...client import Client
    from ...models.base import Input
    from ..posterior import Belief, FloatArray

UNFINISHED = (RunStatus.NOT_STARTED, RunStatus.WAITING, RunStatus.RUNNING, RunStatus.UNFINISHED)
"""States of a run after which a repeated race would send it: the race ends there, so that it can repeat itself."""
FIGURES: dict[str, Any] = {
    "mean": "float64",
    "low": "float64",
    "high": "float64",
    "chance": "float64",
    "runs": "int64",
    "credits": "int64",
}
"""The columns of a ranking in addition to the settings' values, and their types."""

OF_RUNS = ("round", "setting", "score", "draft")
"""The columns of its table in addition to those of any table of runs."""

log = logging.getLogger("reelbook")


class Race(BackgroundJob["Race"]):
    """A race in the background, created by `rb.race`. Everything but its thread may be called from any thread.

    Example::

        plan = rb.sweep(boat, temporal_adain_factor=[0.2, 0.8], seed=range(2))
        race = plan.race(by="sharpness", budget=212).wait()
        race.best, race.spent
    """

    noun, advice = "race", "stop it: race.cancel()"

    def __init__(self, plan: Plan, client: Client, options: RaceOptions) -> None:
        """Raises if there is nothing to decide, or no budget where credits are real; nothing is sent yet."""
        super().__init__()
        self.plan, self._options = plan, options
        self._judge = Judging(options) if options.judge is not None else make_score(options.by, plan)
        self._score = self._judge if isinstance(self._judge, Score) else None
        drafts = make_drafts(plan) if options.draft else plan
        settings = group_settings(drafts, options.over, options.seed, is_paired=options.judge is not None)
        check_settings(settings)
        if taken := [name for name in plan.columns if name in (*FIGURES, *OF_RUNS)]:
            raise race_error(
                f"The tables of a race have columns of their own for {', '.join(taken)}. Rename the plan's."
            )
        self._runs = runs = RaceRuns(plan, drafts, client, options.execution)
        self._whole, due = sum_or_none(runs.get_price(row) for row in plan.distinct), runs.find_due(drafts.distinct)
        self._budget = find_budget(options.budget, self._whole, settings, due, is_embedded=client.is_embedded)
        self._earlier = runs.limit(self._budget, self._judge.name, is_new=options.is_new)
        self._rounds = Rounds(drafts, settings, options.seed, options.execution.concurrency or HOSTED_AT_ONCE)
        self._final: Row | None = None
        """The run with its real values that follows drafts."""
        self._belief: Belief | None = None
        self._chances: FloatArray | None = None
        self._is_sure = False
        self._state, self._end, self._reason = RaceState.PREPARING, End.NONE, ""
        self._stored: dict[Hashable, Entry] = {}
        """What the ledger says of the runs tried so far."""
        self._spent_before = self._spent = runs.spent()
        self._job: SweepJob | None = None
        self._began, self._ended = time.monotonic(), 0.0
        self._cancelled = threading.Event()

    def begin(self) -> None:
        """Start the rounds in a thread of their own. May be called only once."""
        threading.Thread(target=self._run, name="reelbook-race", daemon=True).start()

    @property
    def best(self) -> Input | None:
        """The input of the best setting's best run, so that `rb.run(race.best)` is free; after drafts that of the final.

        None while no run has a score.
        """
        row = self._find_best_row()
        return None if row is None else self._final.input if self._final is not None else row.input

    @property
    def best_row(self) -> pd.DataFrame | None:
        """The row of `best` in `table`, as a table of one row."""
        best = self._final or self._find_best_row()
        with self._guard:
            tried = [*self._rounds.used, *([] if self._final is None else [self._final])]
        return None if best is None else self.table.iloc[[tried.index(best)]]

    @property
    def table(self) -> pd.DataFrame:
        """The ordinary table of the runs tried so far, with the columns `round`, `setting` and `score`.

        Round 0 is what was in the library when the race started.
        """
        with self._guard:
            rows, round_of = list(self._rounds.used), dict(self._rounds.round_of)
            finals = [] if self._final is None else [self._final]
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
        return table.assign(**{name: build_column(values).array for name, values in columns.items()})

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
        return registry.find("Panel")(self)

    @property
    def progress(self) -> RaceProgress:
        """A snapshot of the current state."""
        with self._guard:
            score, judge, options, rounds = self._score, self._judge, self._options, self._rounds
            job = None if self._job is None else self._job.progress
            contenders = self._make_contenders()
            now = 0 if job is None else job.spent_now + job.reserved_now
            return RaceProgress(
                state=RaceState.STOPPING if self._cancelled.is_set() and self._state != RaceState.DONE else self._state,
                axes=rounds.race.axes, contenders=tuple(contenders), score=options.question if score is None else score.text,
                is_judged=score is None, rounds=rounds.number, runs=len(rounds.used) + (self._final is not None),
                repeats=len(self.plan.distinct), free=sum(not number for number in rounds.round_of.values()),
                spent=self._spent + now, earlier=self._earlier, spent_now=self._spent - self._spent_before + now,
                budget=self._budget, whole=self._whole, sure=options.sure,
                chance=contenders[0].chance if self._belief is not None else None, is_decided=self._is_sure,
                elapsed=(self._ended or time.monotonic()) - self._began,
                round_runs=0 if job is None else job.total, round_done=0 if job is None else job.finished,
                awaited=judge.awaited if isinstance(judge, Judging) else 0,
                end=self._end, reason=self._reason, without=0 if score is None else score.without,
                first_error=next((stored.error for stored in self._stored.values() if stored.error), ""),
                is_constant=score is not None and score.is_constant, is_mix=score is not None and score.is_mix,
                has_repeats=any(len(setting.rows) > 1 for setting in rounds.race.settings), block=rounds.race.block,
                is_draft=options.draft,
            )  # fmt: skip

    def ranking(self) -> pd.DataFrame:
        """One row per setting, the best first: its values, mean, low, high (90%), chance to be the best, runs, credits."""
        import pandas as pd

        progress = self.progress
        rows, axes = progress.contenders, progress.axes
        columns = {name: build_column([row.values[name] for row in rows]).array for name in axes}
        for name, kind in FIGURES.items():
            columns[name] = pd.Series([getattr(row, name) for row in rows], dtype=kind).array
        return pd.DataFrame(columns, index=pd.Index([row.number for row in rows], name="setting"))

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
        """Use what the library holds before each round that is paid for, until the race ends; then the final after drafts."""
        try:
            while self._end == End.NONE:
                self._use_free_runs()
                if self._end == End.NONE:
                    self._run_next_round()
            best = self._find_best_row()
            if self._options.draft and best is not None and not self._cancelled.is_set():
                final = self.plan.rows[best.number]
                with self._guard:
                    self._final = final
                self._execute([final])
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
        rows = [row for setting in self._rounds.race.settings for row in setting.rows]
        rows = [row for row in rows if row.number not in self._rounds.round_of]
        free, failed = self._runs.find_free(rows)
        if not self._options.retry_failed:
            with self._guard:
                self._rounds.record(failed, is_free=True)
                self._stored |= self._runs.find_stored(failed)
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
        """Run these rows, and return those that have ended; a stop on the way ends the race."""
        self._set_state(RaceState.FINAL if self._final is not None else RaceState.RUNNING)
        job = self._runs.make_job(rows, is_free=is_free)
        with self._guard:
            self._job = job
        job.on_change(lambda _: self._changed.set())
        job.begin()
        if self._cancelled.is_set():
            job.cancel()
        statuses = [str(status) for status in job.wait()["status"]]
        with self._guard:
            self._job, self._spent = None, self._runs.spent()
            self._stored |= self._runs.find_stored(rows)
            if self._final is None:
                lost = (status == RunStatus.UNCERTAIN for status in statuses)
                self._rounds.uncertain |= {row.number for row, is_lost in zip(rows, lost, strict=True) if is_lost}
        ended = [row for row, status in zip(rows, statuses, strict=True) if status not in UNFINISHED]
        reason = job.stopped_by
        is_over = isinstance(reason, OverBudget)
        if reason is not None and not (is_free and is_over) and len(ended) < len(rows):
            self._end = End.CANCELLED if self._cancelled.is_set() else End.BUDGET if is_over else End.STOPPED
            self._reason = str(reason)
        return ended

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
                self._chances = self._rounds.find_chances(belief)
                self._is_sure = self._rounds.is_sure(belief, self._chances, self._options.sure)
            if self._end == End.NONE and self._is_sure:
                self._end = End.SURE
        self._changed.set()

    def _find_leader(self) -> int | None:
        """The setting with the highest chance of those with a scored run."""
        with self._guard:
            if self._belief is None or self._chances is None:
                return None
            counts = self._rounds.count_runs()
            return next(filter(counts.__getitem__, self._rounds.rank(self._belief, self._chances)), None)

    def _find_best_row(self) -> Row | None:
        """Of the best setting the run with the highest score."""
        totals = {} if self._score is None else self._score.totals()
        setting = self._find_leader()
        if setting is None:
            return None
        scored = [row for row in self._rounds.race.settings[setting].rows if row.number in self._rounds.scored]
        return max(scored, key=lambda row: (totals.get(row.number, 0.0), -row.number))

    def _make_fits(self) -> Fits:
        """A function that says whether a row fits in the budget after others of the round."""
        if self._budget is None:
            return lambda chosen, row: True
        left = self._earlier + self._budget - self._spent
        if self._options.draft:
            # What the final may cost is set aside.
            left -= max(map(self._runs.find_due(self.plan.distinct), self.plan.distinct))
        return lambda chosen, row: sum(self._runs.get_price(other) or 0 for other in [*chosen, row]) <= left

    def _make_contenders(self) -> list[Contender]:
        """All settings, the one with the highest chance first."""
        rounds, belief, chances, counts = self._rounds, self._belief, self._chances, self._rounds.count_runs()
        known: list[FloatArray] = []
        order: Sequence[int] = range(len(counts))
        if belief is not None and chances is not None:
            known, order = [belief.mean, *belief.bounds(), chances], rounds.rank(belief, chances)
        contenders = []
        for number in order:
            setting = rounds.race.settings[number]
            tried = [row.key for row in setting.rows if row.number in rounds.round_of]
            costs = [self._runs.count(self._stored[key]) for key in tried if key in self._stored]
            mean, low, high, chance = (None, None, None, 0.0 if known else None)
            if known and not rounds.is_given_up(number):
                mean, low, high, chance = (float(values[number]) for values in known)
            failed = max(len(costs) - counts[number], 0)
            contenders.append(
                Contender(number, setting.values, mean, low, high, chance, counts[number], failed, sum(costs))
            )
        return contenders

    def _set_state(self, state: RaceState) -> None:
        with self._guard:
            self._state = state
        self._changed.set()

    def _get_result(self) -> Race:
        return self
