"""The card of a race: its outcome, costs, standings with intervals and chances, and what it assumes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..decide.race.sentences import RaceState, format_chance, format_setting
from ..models.problems import format_literal
from ..util.printable import format_count
from .formatting import format_duration, format_late_note, join_with_dots, shorten
from .ratings_card import RankedRow, render_ranking
from .theme import render

if TYPE_CHECKING:
    from ..decide.race.race import Race
    from ..decide.race.sentences import RaceProgress

MAX_VALUE_LENGTH = 40
COLUMNS = ("setting", "score", "chance to be best")


def race_card(race: Race) -> str:
    """The card of a race in its current state."""
    return render_race(race.progress)


def format_race(progress: RaceProgress) -> str:
    """A race on one line."""
    return join_with_dots(*_format_headline(progress), *progress.findings[:1])


def render_race(progress: RaceProgress, *, is_page: bool = False) -> str:
    """The card: headline, costs, standings, findings and assumptions; `is_page` leaves out the style sheet."""
    return str(
        render(
            "race.html",
            sheet="" if is_page else "tokens.css",
            headline=[Markup("<b>{}</b>").format(_format_state(progress)), *_format_headline(progress)[1:]],
            findings=progress.findings,
            axes=progress.axes,
            ranking=render_ranking(list(_list_rows(progress)), columns=COLUMNS),
            measure=f"a person: “{progress.score}”" if progress.is_judged else progress.score,
            assumptions=progress.assumptions,
            late="" if progress.state == RaceState.DONE else format_late_note("race", progress.state),
        )
    )


def write_race_report(race: Race, path: str | Path, *, title: str | None = None) -> Path:
    """Write the page of a race's runs, with its standings at the top, as one file; returns its path."""
    from .report.make_report import write_report

    progress = race.progress
    leader = "" if progress.leader is None else format_setting(progress.leader.values)
    outcome = leader if progress.is_decided else f"undecided, {leader} so far" if leader else "undecided"
    name = title or f"Race by {progress.score}: {outcome}"
    return write_report(
        race.table, path, title=name, ratings=race.ratings, standings=Markup(render_race(progress, is_page=True))
    )


def _format_state(progress: RaceProgress) -> str:
    """One word on the outcome, else what the race is doing."""
    if progress.state == RaceState.DONE:
        return "Decided" if progress.is_decided else "Undecided"
    if progress.state == RaceState.RUNNING and progress.round_runs:
        return f"Round {progress.rounds}: {progress.round_done:,} of {progress.round_runs:,} runs"
    return str(progress.state).capitalize()


def _format_headline(progress: RaceProgress) -> list[str]:
    budget = "" if progress.budget is None else f" of {progress.budget:,}"
    spent = progress.spent - progress.earlier
    amount = spent if progress.budget is None else progress.budget
    noun = "credit" if amount == 1 else "credits"
    before = spent - progress.spent_now
    now = "" if not before else ", nothing now" if not progress.spent_now else f", {progress.spent_now:,} of them now"
    saved = progress.saved
    return [
        _format_state(progress),
        f"{progress.runs:,} of {format_count(progress.repeats, 'run')}",
        f"{progress.free:,} from the library" if progress.free else "",
        f"{spent:,}{budget} {noun} spent{now}",
        f"{saved:,} saved against all runs" if saved and progress.state == RaceState.DONE else "",
        format_duration(progress.elapsed),
    ]


def _list_rows(progress: RaceProgress) -> Iterator[RankedRow]:
    """The settings that have a score, by their values."""
    for one in progress.contenders:
        if one.mean is not None and one.low is not None and one.high is not None:
            name = join_with_dots(*(shorten(_format_value(value), MAX_VALUE_LENGTH) for value in one.values.values()))
            chance = "" if one.chance is None else format_chance(one.chance)
            yield RankedRow(name, one.mean, one.low, one.high, join_with_dots(chance, format_count(one.runs, "run")))


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) else format_literal(value, MAX_VALUE_LENGTH)
