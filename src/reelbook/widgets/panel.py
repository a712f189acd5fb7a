"""The panel of a sweep with its buttons: pause, resume, cancel."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets
from IPython.display import display
from markupsafe import escape

from ..display import original_links
from ..display.sweep_panel import format_panel, panel_bundle, render_panel
from ..errors import ReelbookError
from .page_kind import is_voila

if TYPE_CHECKING:
    from ..sweeps.execute.job import SweepJob

HERE = Path(__file__).parent
COMMANDS = ("pause", "resume", "cancel", "cancel_queued")
TEXT = "Buttons to pause and to cancel a sweep; they work while the notebook's kernel runs."


class Panel(anywidget.AnyWidget):
    """The progress of a sweep, with its buttons; displayed alone it leaves a static picture. It also fits into a layout."""

    # The text and not a path: anywidget watches a file, and would keep every panel alive for that.
    _esm = (HERE / "panel.js").read_text(encoding="utf-8")
    html = traitlets.Unicode().tag(sync=True)
    """The panel as HTML; empty if it is displayed beside the buttons already."""
    noun = traitlets.Unicode("sweep").tag(sync=True)
    """What the buttons are for."""
    state = traitlets.Unicode("preparing").tag(sync=True)
    queued = traitlets.Int(0).tag(sync=True)
    """The number of runs waiting in the service's queue."""
    credits_back = traitlets.Int(0).tag(sync=True)
    """The credits returned if they are cancelled."""
    said = traitlets.Unicode("").tag(sync=True)
    """The result of cancelling them, as text."""

    def __init__(self, job: SweepJob, *, with_html: bool = True) -> None:
        super().__init__()
        self._job, self._with_html, self._guard = job, with_html, threading.RLock()
        self.on_msg(self._on_message)
        job.on_change(self._update)
        self._update(job)

    def _update(self, job: SweepJob) -> None:
        # Read under the lock: what one thread has read must not replace what another one read later.
        with self._guard, self.hold_sync():
            progress = job.progress
            self.state = progress.state
            # Only if useful: each change is a message to the page.
            can_cancel = progress.state == "stopping"
            self.queued = progress.queued if can_cancel else 0
            self.credits_back = progress.queued_credits if can_cancel else 0
            if self._with_html:
                self.html = render_panel(progress)

    def _on_message(self, _: Any, content: Any, __: Any) -> None:
        command = content.get("do") if isinstance(content, dict) else None
        if command in COMMANDS:
            # In a thread: the job responds on its own event loop, and the kernel has other messages to handle.
            threading.Thread(target=self._run_command, args=(command,), name=f"reelbook-{command}", daemon=True).start()

    def _run_command(self, command: str) -> None:
        if command != "cancel_queued":
            getattr(self._job, command)()
            return
        try:
            self.said = str(self._job.cancel(queued=True))
        except ReelbookError as error:
            self.said = str(error)

    def bundle(self) -> dict[str, Any]:
        """The MIME bundle for a cell, with a text for pages without widgets."""
        mimebundle = self._repr_mimebundle_()
        return {**(mimebundle[0] if mimebundle else {}), "text/plain": TEXT}

    def __repr__(self) -> str:
        return format_panel(self._job.progress)

    def _ipython_display_(self) -> None:
        show_job(self._job)


def show_job(job: SweepJob) -> None:
    """Display a sweep as the value of a cell: a live panel that stays, and buttons until the sweep is done."""
    if is_voila() and not job.is_done:
        _display(Panel(job).bundle())
        return
    original_links.prepare_links()
    # Read first: a sweep that ends while its panel is rendered needs one more update.
    is_done = job.is_done
    handle = _display(panel_bundle(job.progress))
    if is_done:
        return
    job.on_change(lambda job: handle.update(panel_bundle(job.progress), raw=True))
    show_buttons(job)


def show_buttons(job: SweepJob) -> None:
    """Display buttons for a sweep until it is done."""
    buttons = Panel(job, with_html=False)
    below = _display(buttons.bundle())

    def follow(job: SweepJob) -> None:
        if job.is_done:
            # Buttons need a kernel, so a saved notebook does not contain them.
            below.update({"text/plain": buttons.said, "text/html": escape(buttons.said)}, raw=True)
            buttons.close()

    job.on_change(follow)


def _display(bundle: dict[str, Any]) -> Any:
    return display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call]  # IPython is untyped here
