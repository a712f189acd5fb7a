"""The card of a race: its outcome, costs, standings with intervals and chances, and what it assumes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..decide.race.sentences import RaceState, format_chance, format_setting
from ..models.problems import format_literal
from ..util.printable import format_count
from .formatting import format_duration, format_late_note, join_with_dots, shorten
from .theme import render

if TYPE_CHECKING:
    from ..decide.race.race import Race
    from ..decide.race.sentences import Contender, RaceProgress

MAX_ROWS, MAX_VALUE_LENGTH = 12, 40
"""Settings in the card, of which `race.ranking()` has all, and characters of a value."""


def race_card(race: Race) -> str:
    """The card of a race in its current state."""
    return render_race(race.progress)


def format_race(progress: RaceProgress) -> str:
    """A race on one line."""
    return join_with_dots(*_format_headline(progress), *progress.findings[:1])


def render_race(progress: RaceProgress, *, is_page: bool = False) -> str:
    """The card: headline, costs, standings, findings and assumptions; `is_page` leaves out the style sheet."""
    listed = progress.contenders[:MAX_ROWS] if any(one.mean is not None for one in progress.contenders) else ()
    lows = [one.low for one in listed if one.low is not None]
    highs = [one.high for one in listed if one.high is not None]
    scale = (min(lows), max(highs)) if lows and max(highs) > min(lows) else (0.0, 1.0)
    return str(
        render(
            "race.html",
            sheet="" if is_page else "tokens.css",
            headline=[Markup("<b>{}</b>").format(_format_state(progress)), *_format_headline(progress)[1:]],
            findings=progress.findings,
            axes=progress.axes,
            rows=[_make_row(one, scale, is_leader=one is progress.leader) for one in listed],
            more=len(progress.contenders) - len(listed),
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


def _make_row(one: Contender, scale: tuple[float, float], *, is_leader: bool) -> dict[str, Any]:
    """A setting with its interval in percent of the scale, its chance, and its runs."""
    values = (shorten(_format_value(value), MAX_VALUE_LENGTH) for value in one.values.values())
    row = {"is_leader": is_leader, "title": format_setting(one.values), "name": join_with_dots(*values)}
    if one.mean is None or one.low is None or one.high is None:
        return {**row, "mean": "", "runs": f"{one.failed:,} failed" if one.failed else "0"}
    low, high = scale
    start, middle, end = (100 * (value - low) / (high - low) for value in (one.low, one.mean, one.high))
    mean, least, most = (format_score(value, high - low) for value in (one.mean, one.low, one.high))
    return {
        **row, "text": f"{mean}, between {least} and {most}", "mean": mean, "runs": f"{one.runs:,}",
        "start": f"{start:.1f}", "width": f"{end - start:.1f}", "middle": f"{middle:.1f}",
        "chance": "" if one.chance is None else format_chance(one.chance),
    }  # fmt: skip


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) else format_literal(value, MAX_VALUE_LENGTH)


def format_score(value: float, spread: float) -> str:
    """A score with as many digits as tell scores apart that lie within a spread.

    >>> format_score(1234.5, 600), format_score(0.98765, 0.2), format_score(-1.5, 4), format_score(2.0, 0)
    ('1,234', '0.988', '−1.50', '2')
    """
    places = 0 if spread <= 0 else min(max(2 - math.floor(math.log10(spread)), 0), 8)
    text = f"{abs(value):,.{places}f}"
    return f"−{text}" if value < 0 and float(text.replace(",", "")) else text
