"""`race.report(…)`: writes the page of a race's runs, with its standings at the top."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from ..decide.race.sentences import find_leaders, format_setting
from .race_card import render_race
from .report.make_report import write_report

if TYPE_CHECKING:
    from ..decide.race.race import Race


def write_race_report(race: Race, path: str | Path, *, title: str | None = None) -> Path:
    """Write the page as one file; returns its path."""
    progress = race.progress
    leaders = "; ".join(format_setting(one.values) for one in find_leaders(progress))
    outcome = leaders if progress.is_decided else f"undecided, {leaders} so far" if leaders else "undecided"
    name = title or f"Race by {progress.score}: {outcome}"
    return write_report(
        race.table, path, title=name, ratings=race.ratings, standings=Markup(render_race(progress, is_page=True))
    )
