"""The panel of a race with its button to stop it, and the judging of its clips."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..decide.race.sentences import RaceState
from ..display.race_card import format_race, race_bundle, render_race
from .panel import Panel, show_live
from .race_judging import reserve_judging

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
