"""A run under way as a widget, for places where the output of a cell does not change: marimo and Voilà."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anywidget
import traitlets
from IPython.display import display

from ..display import run_progress
from ..display.update_clock import Bundle, LiveOutput, updater
from ..storage.run_status import ENDED
from .panel import Panel

if TYPE_CHECKING:
    from ..runs.run import Run


class RunPanel(anywidget.AnyWidget):
    """The progress of a run, and at its end its result. The clip is the preview; scripts do not run in a widget's HTML."""

    # The panel of a sweep without its buttons.
    _esm = Panel._esm
    html = traitlets.Unicode().tag(sync=True)
    """The run as HTML."""

    def __init__(self, run: Run) -> None:
        # Read first: a run that ends while it is rendered needs one more update.
        key = run_progress.progress_key(run)
        super().__init__(html=str(run_progress.live_bundle(run, many=False)["text/html"]))
        self._run = run
        updater.add(
            LiveOutput(
                self._update,
                lambda: run_progress.live_bundle(run, many=False),
                lambda: run_progress.progress_key(run),
                is_over=lambda: run.status in ENDED,
                sent_key=key,
            )
        )

    def _update(self, bundle: Bundle) -> None:
        self.html = str(bundle["text/html"])

    def __repr__(self) -> str:
        return str(run_progress.live_bundle(self._run, many=False)["text/plain"])


def show_run(run: Run) -> None:
    """Display a run as the value of a cell in Voilà, which shows no later updates of an output: a widget until it is over."""
    if run.status in ENDED:
        run_progress.show(run)
        return
    panel = RunPanel(run)
    mimebundle = panel._repr_mimebundle_()
    display({**(mimebundle[0] if mimebundle else {}), "text/plain": repr(panel)}, raw=True)  # type: ignore[no-untyped-call]  # IPython is untyped here
