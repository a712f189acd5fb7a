"""The runs started by the forms of a studio, and their total cost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING

from ...display.formatting import format_credits, join_with_dots
from ...errors import UncertainRun
from ...util.printable import format_count
from ..forms.run_json import PressedRun, is_same_request

if TYPE_CHECKING:
    from ...current import Session
    from ...models.base import Input
    from ...runs.run import Run
    from .sweeps import SweepCost


class Spending:
    """The runs started in a studio. It refers to no form or page, so that a submission of minutes keeps none alive."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._entries: list[PressedRun] = []
        self._numbers = count(1)
        self._guard = threading.Lock()
        self.notify: Callable[[], None] = lambda: None
        """Called when a run was started or refused."""

    def start(self, request: Input) -> Run:
        """Start a run, and record its outcome."""
        entry = PressedRun(f"r{next(self._numbers)}", request)
        with self._guard:
            self._entries.append(entry)
        self.notify()
        try:
            run = self._session.start(request)
        except Exception as error:
            entry.error = error.with_traceback(None)
            raise
        else:
            self._record_run(entry, run)
        finally:
            self.notify()
        return run

    @property
    def entries(self) -> tuple[PressedRun, ...]:
        """The requests made here, the oldest first; repeated requests for the same run are one entry."""
        with self._guard:
            return tuple(self._entries)

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs started here, the oldest first."""
        return tuple(entry.run for entry in self.entries if entry.run is not None)

    @property
    def is_over(self) -> bool:
        """Whether all have ended."""
        return all(entry.is_over for entry in self.entries)

    def _record_run(self, entry: PressedRun, run: Run) -> None:
        with self._guard:
            same = [one for one in self._entries if one is not entry and is_same_request(one.run, run)]
            # A run paid for in this session counts as such even if it is now found in the library.
            entry.run = next((one.run for one in same if one.run is not None and not one.run.from_library), run)
            self._entries = [one for one in self._entries if one not in same]


def format_cost(entries: Sequence[PressedRun], sweeps: Sequence[SweepCost] = ()) -> str:
    """The cost of all runs, in one line.

    >>> format_cost([])
    'This session: nothing run yet'
    """
    total, runs, free, unknown, active, about = 0, 0, 0, 0, 0, False
    for entry in entries:
        run = entry.run
        if run is None:
            active += entry.is_sending
            unknown += isinstance(entry.error, UncertainRun)
        elif not entry.is_over:
            active += 1
        elif run.from_library:
            free += 1
        elif run.credits is None:
            unknown += 1
        else:
            total, runs, about = total + run.credits, runs + 1, about or run.credits_source == "estimated"
    for sweep in sweeps:
        total, runs, active = total + sweep.credits, runs + sweep.runs, active + sweep.under_way
    if not (runs or free or unknown or active):
        return "This session: nothing run yet"
    spent = format_credits(total, "estimated" if about and total else None)
    return "This session: " + join_with_dots(
        f"{spent} in {format_count(runs, 'run')}",
        f"{free} from the library at no cost" if free else "",
        f"{unknown} of unknown cost" if unknown else "",
        f"{active} under way" if active else "",
    )
