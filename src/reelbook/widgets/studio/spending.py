"""The till of a studio: the shop that its forms buy at, which remembers what was bought and adds up what it cost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from ...display.formatting import format_credits, join_with_dots
from ...errors import UncertainRun
from ..forms.running.run_history import Entry, is_same_request

if TYPE_CHECKING:
    from ...models.base import Input
    from ...runs.run import Run
    from ..forms.shop import Shop
    from .studio_sweeps import SweepCost


class Till:
    """A shop in front of another one. It holds no form and no page, so that a submission which takes minutes holds none."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self._entries: list[Entry] = []
        self._numbers = count(1)
        self._guard = threading.Lock()
        self.notify: Callable[[], None] = lambda: None
        """Is called when something was bought or refused."""

    def __getattr__(self, name: str) -> Any:
        # Whatever else forms ask for goes straight on to the shop.
        return getattr(self._shop, name)

    def start(self, request: Input, take: int | None = None) -> Run:
        """Start a run as the shop does, and remember what became of it."""
        entry = Entry(f"r{next(self._numbers)}", request)
        with self._guard:
            self._entries.append(entry)
        self.notify()
        try:
            run = self._shop.start(request, take=take)
        except Exception as error:
            entry.error = error.with_traceback(None)
            raise
        else:
            self._take_up(entry, run)
        finally:
            self.notify()
        return run

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What was asked for here, the oldest first; what was asked for again and is the same run stands once."""
        with self._guard:
            return tuple(self._entries)

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs that came of it."""
        return tuple(entry.run for entry in self.entries if entry.run is not None)

    @property
    def is_over(self) -> bool:
        """Whether nothing is under way."""
        return all(entry.is_over for entry in self.entries)

    def _take_up(self, entry: Entry, run: Run) -> None:
        with self._guard:
            same = [one for one in self._entries if one is not entry and is_same_request(one.run, run)]
            # What was paid for here and is shown again from the library was still paid for here.
            entry.run = next((one.run for one in same if one.run is not None and not one.run.from_library), run)
            self._entries = [one for one in self._entries if one not in same]


def format_cost(entries: Sequence[Entry], sweeps: Sequence[SweepCost] = ()) -> str:
    """What all of it has cost, in one line.

    >>> format_cost([])
    'This session: nothing run yet'
    """
    total, runs, free, unknown, going, about = 0, 0, 0, 0, 0, False
    for entry in entries:
        run = entry.run
        if run is None:
            going += entry.is_sending
            unknown += isinstance(entry.error, UncertainRun)
        elif not entry.is_over:
            going += 1
        elif run.from_library:
            free += 1
        elif run.credits is None:
            unknown += 1
        else:
            total, runs, about = total + run.credits, runs + 1, about or run.credits_source == "estimated"
    for swept in sweeps:
        total, runs, going = total + swept.credits, runs + swept.runs, going + swept.under_way
    if not (runs or free or unknown or going):
        return "This session: nothing run yet"
    spent = format_credits(total, "estimated" if about and total else None)
    return "This session: " + join_with_dots(
        f"{spent} in {_many(runs, 'run')}",
        f"{free} from the library at no cost" if free else "",
        f"{unknown} of unknown cost" if unknown else "",
        f"{going} under way" if going else "",
    )


def _many(amount: int, word: str) -> str:
    return f"{amount:,} {word}{'' if amount == 1 else 's'}"
