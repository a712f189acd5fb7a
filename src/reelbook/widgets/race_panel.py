"""The panel of a race with its button to stop it, and the judging of its clips."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from IPython.display import display

from ..decide.race.sentences import RaceState
from ..display.race_card import format_race, race_bundle, render_race
from .judge import JudgeLink, make_bundle
from .link import keep_open
from .notebook import is_jupyter_server, is_page_attached
from .panel import Panel, show_live

if TYPE_CHECKING:
    from ..decide.race.race import Race


class RacePanel(Panel):
    """The standings of a race, with a button to stop it; displayed alone it leaves a static card. It also fits into a layout."""

    def __init__(self, race: Race, *, with_html: bool = True) -> None:
        super().__init__(race, with_html=with_html)
        self.noun = "race"

    def _show_state(self, job: Any) -> None:
        progress = job.progress
        # Of the buttons of a sweep a race has one.
        self.state = "done" if progress.state in (RaceState.DONE, RaceState.STOPPING) else "preparing"
        self.kept = progress.runs
        if self._with_html:
            self.html = render_race(progress)

    def _static_picture(self, job: Any) -> dict[str, Any]:
        return {**race_bundle(job), "kept": job.progress.runs}

    def _run_command(self, command: str) -> None:
        if command == "cancel":
            self._job.cancel()

    def __repr__(self) -> str:
        return format_race(self._job.progress)

    def _ipython_display_(self) -> None:
        show_race(self._job)


def show_race(race: Race) -> None:
    """Display a race as the value of a cell: a live card that stays, a button until it is done, and what is to be judged."""
    judging = None if race.is_done or not race.progress.is_judged else reserve_judging()
    show_live(
        RacePanel(race, with_html=False), follow=lambda race: judging.follow(race) if judging is not None else None
    )


EMPTY = {"text/plain": "", "text/html": ""}


class RaceJudging:
    """One panel for all rounds of a race, in an output that its cell reserves; `follow` is called after changes."""

    def __init__(self, update: Callable[[dict[str, Any]], None], view: Any = None) -> None:
        """`update` replaces the reserved output; `view` is another one, for pages that find widgets nowhere else."""
        self._update, self._view = update, view
        self._link: JudgeLink | None = None
        self._rounds = 0

    def follow(self, race: Race) -> None:
        """Show the panel when there are clips to judge, again when more have come, and remove it at the end."""
        if race.is_done:
            self.close()
            return
        progress, ratings = race.progress, race.ratings
        if not progress.awaited or ratings is None:
            return
        if self._link is None:
            self._link = keep_open(JudgeLink(secrets.token_urlsafe(16), ratings))
            self._link.update = self._update_if_open
            if self._view is not None:
                self._link.show_in(self._view)
            self._update(make_bundle(ratings, key=self._link.key, group=self._link.group))
        elif progress.rounds != self._rounds:
            self._link.refresh()
        self._rounds = progress.rounds

    def redraw(self) -> None:
        """Draw the panel once more, for a page that has come back."""
        if self._link is not None:
            self._link.redraw()

    def close(self) -> None:
        """Remove the panel; the standings of the race have what came of it."""
        if self._link is not None:
            link, self._link = self._link, None
            self._update(EMPTY)
            link.close()

    def _update_if_open(self, bundle: dict[str, Any]) -> None:
        """Replace the output, unless the race has ended meanwhile: a ranking takes a moment to compute."""
        if self._link is not None:
            self._update(bundle)


def reserve_judging() -> RaceJudging | None:
    """Reserve the output of a panel in the current cell; None where there is no page."""
    if not is_page_attached():
        return None
    output = _reserve()
    view = None if is_jupyter_server() else _reserve()
    return RaceJudging(lambda bundle: output.update(bundle, raw=True), view)


def _reserve() -> Any:
    return display(EMPTY, raw=True, display_id=True)  # type: ignore[no-untyped-call]  # IPython is untyped here
