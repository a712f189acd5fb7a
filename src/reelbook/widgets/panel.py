"""Panels of what runs: of a sweep or a race with its buttons, and of a run where outputs do not change."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import traitlets

from ..decide.race.sentences import RaceProgress, RaceState
from ..display import original_links, run_card
from ..display.live import Bundle, LiveOutput, new_output, updater
from ..display.race_card import format_race, render_race
from ..display.sweep_panel import format_panel, render_panel
from ..display.theme import read_static
from ..storage.run_status import ENDED
from .link import EMPTY, Link
from .notebook import is_jupyter_server, is_page_attached, is_voila

if TYPE_CHECKING:
    from ..runs.run import Run

COMMANDS = ("pause", "resume", "cancel")


class Panel(Link):
    """The progress of a sweep or a race, with its buttons; displayed alone it leaves a static picture, and fits into a layout."""

    _esm = read_static("panel.js")
    text = "Buttons for what runs; they work while the notebook's kernel runs."
    thread_label = "panel"
    html = traitlets.Unicode().tag(sync=True)
    """The panel as HTML; empty if it is displayed above the buttons already."""
    noun = traitlets.Unicode("sweep").tag(sync=True)
    """What the buttons are for."""
    state = traitlets.Unicode("preparing").tag(sync=True)

    def __init__(self, job: Any, *, with_html: bool = True) -> None:
        super().__init__(noun=getattr(job, "noun", "sweep"))
        self.job, self._with_html = job, with_html
        # Of the buttons of a sweep a race has one. In a thread: the job responds on its own event loop.
        commands = ("cancel",) if self._is_race else COMMANDS
        self.handlers = {name: partial(self._press, name) for name in commands}
        job.on_change(self._update)
        self._update(job)

    @property
    def _is_race(self) -> bool:
        return str(self.noun) == "race"

    def _update(self, job: Any) -> None:
        # Read under the lock: what one thread has read must not replace what another one read later.
        with self.lock, self.hold_sync():
            progress = job.progress
            if self._is_race:
                # Of the buttons of a sweep a race has one.
                self.state = "done" if progress.state in (RaceState.DONE, RaceState.STOPPING) else "preparing"
            else:
                self.state = progress.state
            if self._with_html:
                self.html = render_progress(progress)

    def _press(self, command: str, *_: Any) -> None:
        self.in_background(command, getattr(self.job, command))

    def static_bundle(self) -> dict[str, Any]:
        """The MIME bundle of the picture above the buttons, which stays in the notebook."""
        progress = self.job.progress
        return {"text/plain": format_progress(progress), "text/html": render_progress(progress)}

    def __repr__(self) -> str:
        return format_progress(self.job.progress)

    def _ipython_display_(self) -> None:
        _show_live(self.job)


def format_progress(progress: Any) -> str:
    """The progress of a sweep or a race on one line."""
    return format_race(progress) if isinstance(progress, RaceProgress) else format_panel(progress)


def render_progress(progress: Any) -> str:
    """The card of a sweep or a race, as it is displayed everywhere."""
    return render_race(progress) if isinstance(progress, RaceProgress) else render_panel(progress)


def show_job(job: Any) -> None:
    """Display a sweep or a race as the value of a cell: a live panel that stays, and buttons until it is done."""
    if is_voila() and not job.is_done:
        new_output(Panel(job).bundle())
    else:
        _show_live(job)


def _show_live(job: Any) -> None:
    """A static picture that is kept up to date, its buttons until the end, and what a person has to judge."""
    original_links.prepare_links()
    panel = Panel(job, with_html=False)
    # Read first: a job that ends while its panel is rendered needs one more update.
    is_done = job.is_done
    handle = new_output(panel.static_bundle())
    if is_done:
        panel.close()
        return
    judging = _reserve_judging(job)

    def update(job: Any) -> None:
        handle.update(panel.static_bundle(), raw=True)
        if judging is not None:
            judging.follow(job)

    job.on_change(update)
    below = new_output(panel.bundle())

    def remove_buttons(job: Any) -> None:
        if job.is_done:
            # Buttons need a kernel, so a saved notebook does not contain them. They are not closed: a page that was
            # opened again does not get this update, and a view of a closed widget is an error there.
            below.update(EMPTY, raw=True)

    job.on_change(remove_buttons)


def _reserve_judging(job: Any) -> Any:
    """Reserve the output for the judging of a race in the current cell; None where there is no page or nothing to judge."""
    if not getattr(job.progress, "is_judged", False) or not is_page_attached():
        return None
    from .judge import RaceJudging  # Here, because it brings pandas along.

    output = new_output(EMPTY)
    view = None if is_jupyter_server() else new_output(EMPTY)
    return RaceJudging(lambda bundle: output.update(bundle, raw=True), view)


class RunPanel(Link):
    """The progress of a run, and at its end its result. The clip is the preview; scripts do not run in a widget's HTML."""

    # The panel of a sweep without its buttons.
    _esm = Panel._esm
    html = traitlets.Unicode().tag(sync=True)
    """The run as HTML."""

    def __init__(self, run: Run) -> None:
        draw = partial(run_card.live_bundle, run, many=False)
        first = draw()
        self.text = str(first["text/plain"])
        super().__init__(html=str(first["text/html"]))
        updater.add(LiveOutput(self._update, draw, is_over=lambda: run.status in ENDED))

    def _update(self, bundle: Bundle) -> None:
        self.html = str(bundle["text/html"])


def show_run(run: Run) -> None:
    """Display a run as the value of a cell in Voilà, which shows no later updates of an output: a widget until it is over."""
    if run.status in ENDED:
        run_card.show(run)
    else:
        new_output(RunPanel(run).bundle())
