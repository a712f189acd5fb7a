"""The panel of a race with its button to stop it, and the judging of its clips."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets
from IPython.display import display

from ..decide.race.sentences import RaceState
from ..display import original_links
from ..display.race_card import format_race, race_bundle, render_race
from .panel import HERE
from .race_judging import reserve_judging

if TYPE_CHECKING:
    from ..decide.race.race import Race

TEXT = "A button to stop a race; it works while the notebook's kernel runs."


class RacePanel(anywidget.AnyWidget):
    """The standings of a race, with a button to stop it; displayed alone it leaves a static card. It also fits into a layout."""

    # The text and not a path, and the buttons of a sweep: of those a race has one.
    _esm = (HERE / "panel.js").read_text(encoding="utf-8")
    noun = traitlets.Unicode("race").tag(sync=True)
    html = traitlets.Unicode().tag(sync=True)
    """The card as HTML; empty if it is displayed beside the button already."""
    state = traitlets.Unicode("preparing").tag(sync=True)
    """`preparing` while the race can be stopped, then `done`."""
    queued = traitlets.Int(0).tag(sync=True)
    credits_back = traitlets.Int(0).tag(sync=True)
    said = traitlets.Unicode("").tag(sync=True)

    def __init__(self, race: Race, *, with_html: bool = True) -> None:
        super().__init__()
        self._race, self._with_html = race, with_html
        self.on_msg(self._on_message)
        race.on_change(self._update)
        self._update(race)

    def _update(self, race: Race) -> None:
        progress = race.progress
        with self.hold_sync():
            self.state = "done" if progress.state in (RaceState.DONE, RaceState.STOPPING) else "preparing"
            if self._with_html:
                self.html = render_race(progress)

    def _on_message(self, _: Any, content: Any, __: Any) -> None:
        if isinstance(content, dict) and content.get("do") == "cancel":
            # In a thread: stopping waits for the job, and the kernel has other messages to handle.
            threading.Thread(target=self._race.cancel, name="reelbook-race-cancel", daemon=True).start()

    def bundle(self) -> dict[str, Any]:
        """The MIME bundle for a cell, with a text for pages without widgets."""
        mimebundle = self._repr_mimebundle_()
        return {**(mimebundle[0] if mimebundle else {}), "text/plain": TEXT}

    def __repr__(self) -> str:
        return format_race(self._race.progress)

    def _ipython_display_(self) -> None:
        show_race(self._race)


def show_race(race: Race) -> None:
    """Display a race as the value of a cell: a live card that stays, a button until it is done, and what is to be judged."""
    original_links.prepare_links()
    # Read first: a race that ends while its card is rendered needs one more update.
    is_done = race.is_done
    handle = _display(race_bundle(race))
    if is_done:
        return
    button = RacePanel(race, with_html=False)
    below = _display(button.bundle())
    judging = reserve_judging() if race.progress.is_judged else None

    def follow(race: Race) -> None:
        handle.update(race_bundle(race), raw=True)
        if judging is not None:
            judging.follow(race)
        if race.is_done:
            # The button needs a kernel, so a saved notebook does not contain it.
            below.update({"text/plain": "", "text/html": ""}, raw=True)
            button.close()

    race.on_change(follow)


def _display(bundle: dict[str, Any]) -> Any:
    return display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call]  # IPython is untyped here
