"""The judging of a race below its card: the panel of `rb.judge`, there while the race has clips to judge."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from IPython.display import display

from .judge import JudgeLink, connect_link, make_bundle
from .page_kind import is_jupyter_server, is_page_attached

if TYPE_CHECKING:
    from ..decide.race.race import Race

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
            self._link = JudgeLink(secrets.token_urlsafe(16), ratings)
            self._link.update = self._update_if_open
            connect_link(self._link)
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
