"""One sweep that a form has started, as its page gets it: a line, the panel, what can be done, the contact sheet."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ....display.formatting import MARKS, cut
from ....display.sheets import sheet as drawn
from ....display.sweep_panel import panel_html, panel_line
from ....errors import ReelbookError
from ....sweeps.execute.progress import COMPLETED
from ..shop import elsewhere

if TYPE_CHECKING:
    from PIL.Image import Image

    from ....sweeps.execute.executor import Client
    from ....sweeps.execute.job import SweepJob
    from ....sweeps.execute.progress import Progress
    from ....sweeps.plan.plan import Plan
    from ..shop import Shop

SHEET_RUNS, SHEET_WIDTH, SHEET_QUALITY = 24, 1280, 85
LONGEST_ERROR = 900
CAN = {"preparing": ["cancel"], "running": ["pause", "cancel", "stop"], "paused": ["resume", "cancel", "stop"], "stopping": ["stop"]}  # fmt: skip
"""What can be done in which state."""
WORDS = {"sending": "being prepared", "preparing": "being prepared", "done": "completed"}
"""The state of a sweep as people read it, where that is not its own name."""
MARKED = {
    "sending": "waiting",
    "preparing": "waiting",
    "paused": "waiting",
    "stopping": "running",
    "stopped": "cancelled",
    "done": "completed",
}
"""The state of a run that has the sign for a state of a sweep."""


@dataclass(eq=False)
class Started:
    """One press of Run, and the job that came of it."""

    key: str
    plan: Plan
    number: int
    """The number of the plan that was shown."""
    spend: int
    """The most that it may pay from now on."""
    price: int | None
    code: str
    seen: str
    """Where it was to run when Run was pressed, as the form says it."""
    job: SweepJob | None = None
    error: str = ""
    """Why there is no job."""
    did: set[str] = field(default_factory=set)
    """What it was told that cannot be taken back."""
    is_told: bool = False
    """Whether the page knows its end."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen to it."""
        return bool(self.error) or (self.job is not None and self.job.is_done)

    @property
    def state(self) -> str:
        """Its state in one word."""
        if self.job is None:
            return "failed" if self.error else "sending"
        progress = self.job.progress
        # One that has ended before its runs did is not done, whatever ended it.
        is_short = progress.state == "done" and bool(progress.reason)
        return "stopped" if is_short else progress.state


def key_of(entries: Sequence[Started]) -> tuple[Any, ...]:
    """What the page would show of all, in short: four parts, however many sweeps there are."""
    states, ends, money, clock = [], 0, 0, 0
    for entry in entries:
        progress = None if entry.job is None else entry.job.progress
        states.append((entry.key, entry.state, entry.error, tuple(sorted(entry.did))))
        if progress is not None:
            ends += progress.finished
            money += progress.spent + progress.reserved
            clock += 0 if progress.state == "done" else int(progress.elapsed)
    return tuple(states), ends, money, clock


def told(entry: Started, place: int, form: str) -> dict[str, Any]:
    """A sweep in words; `place` counts from the newest, which is -1, and `form` is how a cell names the form."""
    state = entry.state
    words = {
        "key": entry.key,
        "state": WORDS.get(state, state),
        "mark": MARKS.get(MARKED.get(state, state), MARKS["running"]),
        "over": entry.is_over,
        "runs": len(entry.plan),
        "error": cut(entry.error, LONGEST_ERROR),
        "code": entry.code,
        "table": f"{form}.jobs[{place}].frame",
        "can": [],
        "line": "",
        "sheet": 0,
    }
    if entry.job is None:
        return words
    progress = entry.job.progress
    completed = progress.counts[COMPLETED]
    can = [] if progress.state == "done" else [one for one in CAN.get(progress.state, []) if one not in entry.did]
    return {
        **words,
        "can": can,
        "line": panel_line(progress),
        "sheet": completed if progress.state == "done" else 0,
        "spoken": spoken(progress),
    }


def spoken(progress: Progress) -> str:
    """What is read aloud when its state changes."""
    is_short = progress.state == "done" and bool(progress.reason)
    state = "stopped" if is_short else WORDS.get(progress.state, progress.state)
    words = f"Sweep {state}, {progress.finished:,} of {progress.total:,} runs"
    return f"{words}. {cut(progress.reason or '', 300)}" if is_short else words


def panel_of(entry: Started) -> str:
    """The panel; empty where there is no job yet. What it has made is shown by the page itself, once it is over."""
    return "" if entry.job is None else panel_html(entry.job.progress, has_film=not entry.is_over)


def sheet_of_job(job: SweepJob) -> list[bytes]:
    """The contact sheet of what a job has made, small enough for a page: on its ground, and on a dark one where the page may have that."""
    table = job.frame
    made = table[table["status"] == COMPLETED].head(SHEET_RUNS)
    if not len(made):
        raise ReelbookError("No run of this sweep has made anything, so there is no contact sheet.")
    sheet = drawn(made, width=SHEET_WIDTH)
    dark = sheet.in_dark()
    return [_jpeg(sheet), *([_jpeg(dark)] if dark is not None else [])]


def _jpeg(picture: Image) -> bytes:
    content = io.BytesIO()
    picture.convert("RGB").save(content, "JPEG", quality=SHEET_QUALITY)
    return content.getvalue()


def client_of(entry: Started, shop: Shop) -> Client | None:
    """Who runs a sweep: nobody who was connected after the press, for nobody has seen what it costs there."""
    if entry.plan.house is None:
        return None
    # Before and after: somebody else may connect in between, and where nobody was connected it is done here.
    _same(entry, shop)
    client = entry.plan.house.client()
    if entry.seen:
        _same(entry, shop)
    return client


def _same(entry: Started, shop: Shop) -> None:
    now = shop.client_told()
    if now != entry.seen:
        raise ReelbookError(elsewhere(now or shop.service_to_come()))
