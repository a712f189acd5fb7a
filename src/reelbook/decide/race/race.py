"""Race: the runs of a plan in rounds, each chosen by what the earlier ones have shown about the settings."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import Interrupted, ReelbookError
from ...models.problems import format_literal
from ...util.background_loop import TICK_SECONDS
from ...util.interrupts import raise_once
from ...util.name_hints import NameHints
from .race_errors import RaceUnfinished, race_error
from .ranked_settings import make_ranking_frame

if TYPE_CHECKING:
    import pandas as pd

    from ...models.base import Input
    from ...session import Session
    from ...sweeps.plan.plan import Plan
    from .round_loop import RaceEngine
    from .standing import RaceProgress

LISTENER_SECONDS = 0.25
"""Minimum interval between calls of listeners."""

log = logging.getLogger("reelbook")


class Race(NameHints):
    """A race in the background, created by `plan.race`. It repeats its rounds from the library at no cost."""

    _internal = ("begin", "on_change", "plan")

    def __init__(self, plan: Plan, make_engine: Callable[[Callable[[], None]], RaceEngine]) -> None:
        self.plan = plan
        self._done, self._changed = threading.Event(), threading.Event()
        self._guard = threading.Lock()
        self._failure: BaseException | None = None
        self._listeners: list[Callable[[Race], Any]] = []
        self._ticker: threading.Thread | None = None
        self._engine = make_engine(self._signal)

    def begin(self) -> None:
        """Start the rounds in a thread of their own. May be called only once."""
        threading.Thread(target=self._run, name="reelbook-race", daemon=True).start()

    @property
    def best(self) -> Input | tuple[Input, ...] | None:
        """The input of the best setting's best run, so that `rb.run(race.best)` is free; with `keep` a tuple of them.

        None while no run has a score. After finals they are the inputs of those.
        """
        found = tuple(row.input for row in self._engine.find_best_rows() if row.input is not None)
        return found if self._engine.options.keep > 1 else found[0] if found else None

    @property
    def finalists(self) -> Plan:
        """All runs of the best settings with their real values, as a plan: `race.finalists.run(budget=…)` makes them all."""
        settings = self._engine.rank()[: self._engine.options.keep]
        numbers = sorted(row.number for one in settings for row in self._engine.rounds.race.settings[one].rows)
        return self.plan[numbers]

    @property
    def table(self) -> pd.DataFrame:
        """The ordinary table of the runs tried so far, with the columns `round`, `setting` and `score`."""
        return self._engine.make_table()

    @property
    def spent(self) -> int:
        """Credits that the runs tried have cost or may have cost, whoever paid and whenever."""
        return self.progress.spent

    @property
    def saved(self) -> int | None:
        """Credits that the whole plan would cost beyond that; None if its price is unknown."""
        return self.progress.saved

    @property
    def is_done(self) -> bool:
        """Whether the race has ended."""
        return self._done.is_set()

    @property
    def is_decided(self) -> bool:
        """Whether the race is as sure of the best settings as was asked for."""
        return self._engine.is_sure

    @property
    def ratings(self) -> Any:
        """The ratings of the clips so far, where a person judges: display them to judge; None otherwise."""
        return None if self._engine.judging is None else self._engine.judging.ratings

    @property
    def panel(self) -> Any:
        """A widget with the standings, costs and a button to stop, for display or a layout."""
        return self._get_session().make_race_panel(self)

    @property
    def progress(self) -> RaceProgress:
        """A snapshot of the current state."""
        return self._engine.make_progress()

    def ranking(self) -> pd.DataFrame:
        """One row per setting, the best first: its values, mean, low, high (90%), chance to be the best, runs, credits."""
        return make_ranking_frame(self.progress)

    def report(self, path: str | Path, *, title: str | None = None) -> Path:
        """Write one self-contained page with the standings and the clips, to share; return its path."""
        return self._get_session().write_race_report(self, path, title=title)

    def wait(self, timeout: float | None = None) -> Race:
        """Wait for the end and return the race. An interrupt ends the wait, never the race."""
        if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, (int, float))):
            raise race_error(
                f"`timeout` is {format_literal(timeout)}; give a number of seconds, or None to wait for the end.",
                "timeout",
            )
        deadline = None if timeout is None else time.monotonic() + timeout
        with raise_once():
            try:
                # In short steps, because the end of a blocking wait may be missed after an interrupt.
                while not self._done.wait(TICK_SECONDS if deadline is None else max(min(TICK_SECONDS, deadline - time.monotonic()), 0)):  # fmt: skip
                    if deadline is not None and time.monotonic() >= deadline:
                        raise RaceUnfinished(self._engine.rounds.number, len(self._engine.rounds.used), timeout or 0.0)
            except KeyboardInterrupt:
                raise Interrupted(
                    "You stopped waiting; the race goes on. wait() again, or stop it: race.cancel()."
                ) from None
        return self._get_outcome()

    def __await__(self) -> Generator[Any, None, Race]:
        return self._wait_async().__await__()

    def cancel(self) -> None:
        """Send nothing more. Runs already sent continue, and count; the same race later goes on from here."""
        self._engine.cancelled.set()
        self._signal()
        if (job := self._engine.job) is not None:
            job.cancel()

    def on_change(self, listener: Callable[[Race], Any]) -> None:
        """Call `listener` with the race after changes, at most four times a second, and once more at the end."""
        with self._guard:
            self._listeners.append(listener)
            self._changed.set()
            if self._ticker is None:
                self._ticker = threading.Thread(target=self._tick, name="reelbook-race-news", daemon=True)
                self._ticker.start()

    def __repr__(self) -> str:
        found = self.progress
        first = found.findings[0] if found.findings else ""
        return f"<Race of {len(found.contenders):,} settings, {found.state}: {found.runs:,} runs, {found.spent:,} credits. {first}>"

    def _run(self) -> None:
        try:
            self._engine.run()
        except BaseException as error:
            self._failure = error
            log.warning("The race has stopped. %s", error)
        finally:
            self._done.set()
            self._signal()

    def _get_session(self) -> Session:
        if self.plan.session is None:
            raise ReelbookError(
                "This plan was made without a session, so that nobody draws it: use race.ranking() and race.table."
            )
        return self.plan.session

    def _signal(self) -> None:
        self._changed.set()

    def _tick(self) -> None:
        while True:
            self._changed.wait()
            self._changed.clear()
            last = self._done.is_set()
            with self._guard:
                listeners = list(self._listeners)
                if last:
                    self._ticker = None
            for listener in listeners:
                try:
                    listener(self)
                except Exception:
                    log.warning("A function that a race was to call has failed.", exc_info=True)
            if last:
                return
            self._done.wait(LISTENER_SECONDS)

    def _get_outcome(self) -> Race:
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        return self

    async def _wait_async(self) -> Race:
        while not self._done.is_set():
            await asyncio.sleep(0.05)
        return self._get_outcome()
