"""One sweep that a form has started, as its page gets it: a line, the panel, what can be done, the contact sheet."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ....display.formatting import STATE_SIGNS, shorten
from ....display.sheets import draw_sheet as drawn
from ....display.sweep_panel import format_panel, render_panel
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
MAX_ERROR_LENGTH = 900
ACTIONS = {"preparing": ["cancel"], "running": ["pause", "cancel", "stop"], "paused": ["resume", "cancel", "stop"], "stopping": ["stop"]}  # fmt: skip
"""What can be done in which state."""
STATE_WORDS = {"sending": "being prepared", "preparing": "being prepared", "done": "completed"}
"""The state of a sweep as people read it, where that is not its own name."""
RUN_STATUS = {
    "sending": "waiting",
    "preparing": "waiting",
    "paused": "waiting",
    "stopping": "running",
    "stopped": "cancelled",
    "done": "completed",
}
"""The state of a run that has the sign for a state of a sweep."""


@dataclass(eq=False)
class StartedSweep:
    """One press of Run, and the job that came of it."""

    key: str
    plan: Plan
    number: int
    """The number of the plan that was shown."""
    spend: int
    """The most that it may pay from now on."""
    price: int | None
    code: str
    service: str
    """Where it was to run when Run was pressed, as the form says it."""
    job: SweepJob | None = None
    error: str = ""
    """Why there is no job."""
    final_actions: set[str] = field(default_factory=set)
    """What it was told that cannot be taken back."""
    is_end_published: bool = False
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


def progress_key(entries: Sequence[StartedSweep]) -> tuple[Any, ...]:
    """What the page would show of all, in short: four parts, however many sweeps there are."""
    states, ends, money, clock = [], 0, 0, 0
    for entry in entries:
        progress = None if entry.job is None else entry.job.progress
        states.append((entry.key, entry.state, entry.error, tuple(sorted(entry.final_actions))))
        if progress is not None:
            ends += progress.finished
            money += progress.spent + progress.reserved
            clock += 0 if progress.state == "done" else int(progress.elapsed)
    return tuple(states), ends, money, clock


def sweep_json(entry: StartedSweep, place: int, form: str) -> dict[str, Any]:
    """A sweep in words; `place` counts from the newest, which is -1, and `form` is how a cell names the form."""
    state = entry.state
    words = {
        "key": entry.key,
        "state": STATE_WORDS.get(state, state),
        "mark": STATE_SIGNS.get(RUN_STATUS.get(state, state), STATE_SIGNS["running"]),
        "over": entry.is_over,
        "runs": len(entry.plan),
        "error": shorten(entry.error, MAX_ERROR_LENGTH),
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
    can = (
        []
        if progress.state == "done"
        else [one for one in ACTIONS.get(progress.state, []) if one not in entry.final_actions]
    )
    return {
        **words,
        "can": can,
        "line": format_panel(progress),
        "sheet": completed if progress.state == "done" else 0,
        "spoken": format_announcement(progress),
    }


def format_announcement(progress: Progress) -> str:
    """What is read aloud when its state changes."""
    is_short = progress.state == "done" and bool(progress.reason)
    state = "stopped" if is_short else STATE_WORDS.get(progress.state, progress.state)
    words = f"Sweep {state}, {progress.finished:,} of {progress.total:,} runs"
    return f"{words}. {shorten(progress.reason or '', 300)}" if is_short else words


def render_sweep_panel(entry: StartedSweep) -> str:
    """The panel; empty where there is no job yet. What it has made is shown by the page itself, once it is over."""
    return "" if entry.job is None else render_panel(entry.job.progress, has_film=not entry.is_over)


def draw_contact_sheet(job: SweepJob) -> list[bytes]:
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


def connect_client(entry: StartedSweep, shop: Shop) -> Client | None:
    """Who runs a sweep: nobody who was connected after the press, for nobody has seen what it costs there."""
    if entry.plan.house is None:
        return None
    # Before and after: somebody else may connect in between, and where nobody was connected it is done here.
    _check_service(entry, shop)
    client = entry.plan.house.client()
    if entry.service:
        _check_service(entry, shop)
    return client


def _check_service(entry: StartedSweep, shop: Shop) -> None:
    now = shop.client_told()
    if now != entry.service:
        raise ReelbookError(elsewhere(now or shop.service_to_come()))
