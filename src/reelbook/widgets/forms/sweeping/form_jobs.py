"""The JSON of a sweep started by a form: status line, panel, possible actions and contact sheet."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ....display.formatting import STATE_SIGNS, shorten
from ....display.sweep_panel import format_panel, render_panel
from ....errors import ReelbookError
from ....storage.run_status import RunStatus
from ..page_messages import format_service_changed
from .form_races import StartedRace, race_json, render_race_panel

if TYPE_CHECKING:
    from PIL.Image import Image

    from ....client import Client
    from ....current import Session
    from ....sweeps.execute.job import SweepJob
    from ....sweeps.execute.progress import Progress
    from ....sweeps.plan.plan import Plan

MAX_SHEET_RUNS, SHEET_WIDTH, SHEET_QUALITY = 24, 1280, 85
MAX_ERROR_LENGTH = 900
ACTIONS = {"preparing": ["cancel"], "running": ["pause", "cancel", "stop"], "paused": ["resume", "cancel", "stop"], "stopping": ["stop"]}  # fmt: skip
"""The possible actions in each state."""
STATE_WORDS = {"sending": "being prepared", "preparing": "being prepared", "done": "completed"}
"""The displayed name of a state of a sweep, where it differs."""
RUN_STATUS = {
    "sending": "waiting",
    "preparing": "waiting",
    "paused": "waiting",
    "stopping": "running",
    "stopped": "cancelled",
    "done": "completed",
}
"""The state of a run whose sign a state of a sweep has."""


@dataclass(eq=False)
class StartedSweep:
    """One press of Run, and the job that it started."""

    key: str
    plan: Plan
    number: int
    """The number of the displayed plan."""
    spend: int
    """The most credits that it may spend from now on."""
    price: int | None
    code: str
    service: str
    """The service displayed when Run was pressed."""
    job: SweepJob | None = None
    error: str = ""
    """Why there is no job."""
    final_actions: set[str] = field(default_factory=set)
    """Actions already taken that cannot be undone."""
    is_end_published: bool = False
    """Whether its end was sent to the page."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return bool(self.error) or (self.job is not None and self.job.is_done)

    @property
    def state(self) -> str:
        """Its state in one word."""
        if self.job is None:
            return "failed" if self.error else "sending"
        progress = self.job.progress
        # A job that ended before its runs is not done, whatever the reason.
        is_short = progress.state == "done" and bool(progress.reason)
        return "stopped" if is_short else progress.state


Started = StartedSweep | StartedRace


def progress_key(entries: Sequence[Started]) -> tuple[Any, ...]:
    """A key that changes when the display of the sweeps would: four parts, however many sweeps there are."""
    states: list[tuple[Any, ...]] = []
    ends, total_credits, seconds = 0, 0, 0
    for entry in entries:
        if isinstance(entry, StartedRace):
            states.append(entry.progress_key)
            continue
        progress = None if entry.job is None else entry.job.progress
        states.append((entry.key, entry.state, entry.error, tuple(sorted(entry.final_actions))))
        if progress is not None:
            ends += progress.finished
            total_credits += progress.spent + progress.reserved
            seconds += 0 if progress.state == "done" else int(progress.elapsed)
    return tuple(states), ends, total_credits, seconds


def list_json(entries: Sequence[Started], form: str, *, limit: int) -> list[dict[str, Any]]:
    """The newest sweeps and races as JSON for the page, the newest first."""
    found, places = [], {"job": 0, "race": 0}
    for entry in reversed(entries[-limit:]):
        kind = "race" if isinstance(entry, StartedRace) else "job"
        # Counted among those that were started: `form.jobs` and `form.races` have no others.
        is_counted = (entry.race if isinstance(entry, StartedRace) else entry.job) is not None
        places[kind] -= is_counted
        found.append(sweep_json(entry, places[kind] if is_counted else places[kind] - 1, form))
    return found


def sweep_json(entry: Started, place: int, form: str) -> dict[str, Any]:
    """A sweep as JSON for the page; `place` is -1 for the newest, `form` the expression for the form in a cell."""
    if isinstance(entry, StartedRace):
        return race_json(entry, place, form)
    state = entry.state
    card = {
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
        return card
    progress = entry.job.progress
    completed = progress.counts[RunStatus.COMPLETED]
    can = (
        []
        if progress.state == "done"
        else [one for one in ACTIONS.get(progress.state, []) if one not in entry.final_actions]
    )
    return {
        **card,
        "can": can,
        "line": format_panel(progress),
        "sheet": completed if progress.state == "done" else 0,
        "spoken": format_announcement(progress),
    }


def format_announcement(progress: Progress) -> str:
    """The text that screen readers announce when its state changes."""
    is_short = progress.state == "done" and bool(progress.reason)
    state = "stopped" if is_short else STATE_WORDS.get(progress.state, progress.state)
    text = f"Sweep {state}, {progress.finished:,} of {progress.total:,} runs"
    return f"{text}. {shorten(progress.reason or '', 300)}" if is_short else text


def render_sweep_panel(entry: Started) -> str:
    """The panel as HTML; empty without a job. Its results are displayed by the page itself, once it is over."""
    if isinstance(entry, StartedRace):
        return render_race_panel(entry)
    return "" if entry.job is None else render_panel(entry.job.progress, has_film=not entry.is_over)


def draw_contact_sheet(job: SweepJob) -> list[bytes]:
    """The contact sheet of a job as JPEGs of moderate size: the light one, and the dark one if there is one."""
    table = job.frame
    rows = table[table["status"] == RunStatus.COMPLETED].head(MAX_SHEET_RUNS)
    if not len(rows):
        raise ReelbookError("No run of this sweep has a result, so there is no contact sheet.")
    from ....display.sheets import draw_sheet

    sheet = draw_sheet(rows, width=SHEET_WIDTH)
    dark = sheet.draw_dark()
    return [_jpeg(sheet), *([_jpeg(dark)] if dark is not None else [])]


def _jpeg(picture: Image) -> bytes:
    content = io.BytesIO()
    picture.convert("RGB").save(content, "JPEG", quality=SHEET_QUALITY)
    return content.getvalue()


def connect_client(entry: Started, session: Session) -> Client:
    """The client that runs a sweep; an error if the service, and so the price, has changed since Run was pressed."""
    # Before and after: another connection may be made in between, and without one it is made here.
    _check_service(entry, session)
    client = session.client()
    if not entry.service and (note := session.format_other_service()):
        raise ReelbookError(f"{note} Press Run again for sketches.")
    if entry.service:
        _check_service(entry, session)
    return client


def _check_service(entry: Started, session: Session) -> None:
    now = session.service_name()
    if now != entry.service:
        raise ReelbookError(format_service_changed(now or session.next_service_name()))
