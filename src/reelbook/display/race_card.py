"""The card of a race: its outcome, costs, standings with intervals and chances, and what it assumes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..decide.race_progress import RaceState
from ..decide.race_text import format_chance, format_setting
from ..util.printable import format_count
from .fact_table import SOFT_STYLE, render_dotted, render_small_print
from .formatting import format_duration, join_with_dots
from .theme import render_style

if TYPE_CHECKING:
    from ..decide.race import Race
    from ..decide.race_progress import Contender, RaceProgress

MAX_ROWS = 12
"""Settings in the card; `race.ranking()` has all."""
AFTERWARDS = (
    "It was {state} at {at}. If the kernel has ended since, the race ended with it: run its cells again. What is paid for is "
    "fetched, and nothing is paid twice."
)
"""The note on an unfinished race, for readers of a saved notebook."""
ROOT = Markup(
    '{}<div class="rb rb-race mathjax_ignore tex2jax_ignore" style="max-width:720px;margin:4px 0 8px;font-variant-numeric:tabular-nums;'
    'overflow-wrap:anywhere">{}</div>'
)
TABLE = Markup(
    '<table style="border-collapse:collapse;width:100%;margin:8px 0 4px;font-size:12px"><thead><tr>{}</tr></thead><tbody>{}</tbody></table>'
)
HEAD = Markup(
    '<th scope="col" style="text-align:{};font-weight:normal;padding:2px 8px 2px 0;border:0;background:none;{};{}">{}</th>'
)
CELL = Markup('<td style="text-align:{};padding:3px 8px 3px 0;border:0;background:none;vertical-align:top;{}">{}</td>')
NAME = Markup(
    '<th scope="row" style="text-align:left;font-weight:{};padding:3px 8px 3px 0;border:0;background:none;vertical-align:top;'
    'overflow-wrap:anywhere;white-space:normal"><bdi>{}</bdi></th>'
)
# A sanitiser drops declarations that it does not know: of each pair the first remains.
TRACK = Markup(
    '<div role="img" aria-label="{}" title="{}" style="position:relative;height:12px;margin:3px 0;min-width:56px">'
    '<div style="position:absolute;left:0;right:0;top:5px;height:1px;background:#d0d7de;background:var(--rb-line,#d0d7de)"></div>'
    '<div style="position:absolute;left:{:.1f}%;width:{:.1f}%;top:4px;height:3px;background:{};background:var(--rb-{},{})"></div>'
    '<div style="position:absolute;left:{:.1f}%;margin-left:-4px;top:2px;width:8px;height:8px;border-radius:4px;background:{};'
    'background:var(--rb-{},{})"></div></div>'
)
LEADER, OTHER = ("accent", "#0b62c4"), ("soft", "#57606a")


def race_bundle(race: Race) -> dict[str, Any]:
    """The race as text and as a card, which needs no script and stays in a saved notebook."""
    progress = race.progress
    return {"text/plain": format_race(progress), "text/html": render_race(progress)}


def race_card(race: Race) -> str:
    """The card of a race in its current state."""
    return render_race(race.progress)


def format_race(progress: RaceProgress) -> str:
    """A race on one line."""
    return join_with_dots(*_format_headline(progress), *progress.findings[:1])


def render_race(progress: RaceProgress, *, is_page: bool = False) -> str:
    """The card: headline, costs, standings, findings and assumptions; `is_page` leaves out the style sheet."""
    parts = [
        Markup("<div>{}</div>").format(render_dotted([Markup("<b>{}</b>").format(_format_state(progress)), *_format_headline(progress)[1:]])),
        *(Markup('<div style="margin-top:4px">{}</div>').format(finding) for finding in progress.findings),
        _render_standings(progress),
        render_small_print(" ".join((f"Judged by {_format_measure(progress)}.", *progress.assumptions))),
    ]  # fmt: skip
    if progress.state != RaceState.DONE:
        parts.append(render_small_print(AFTERWARDS.format(state=progress.state, at=time.strftime("%H:%M:%S"))))
    return str(ROOT.format(Markup("") if is_page else render_style(), Markup("").join(parts)))


def _format_state(progress: RaceProgress) -> str:
    """One word on the outcome, else what the race is doing."""
    if progress.state == RaceState.DONE:
        return "Decided" if progress.is_decided else "Undecided"
    if progress.state == RaceState.RUNNING and progress.round_runs:
        return f"Round {progress.rounds}: {progress.round_done:,} of {progress.round_runs:,} runs"
    return str(progress.state).capitalize()


def _format_headline(progress: RaceProgress) -> list[str]:
    budget = "" if progress.budget is None else f" of {progress.budget:,}"
    now = ""
    if progress.spent_now != progress.spent and progress.spent:
        now = (
            ", all paid earlier"
            if not progress.spent_now
            else f", {progress.spent - progress.spent_now:,} of them earlier"
        )
    amount = progress.spent if progress.budget is None else progress.budget
    noun = "credit" if amount == 1 else "credits"
    saved = progress.saved
    return [
        _format_state(progress),
        f"{progress.runs:,} of {format_count(progress.repeats, 'run')}",
        f"{progress.spent:,}{budget} {noun} spent{now}",
        f"{saved:,} saved against all runs" if saved and progress.state == RaceState.DONE else "",
        format_duration(progress.elapsed),
    ]


def _format_measure(progress: RaceProgress) -> str:
    return f"a person: “{progress.score}”" if progress.is_judged else progress.score


def _render_standings(progress: RaceProgress) -> Markup:
    """The settings in order, each with its interval on one scale, its chance, and its runs."""
    known = [one for one in progress.contenders if one.mean is not None]
    if not known:
        return Markup("")
    listed = progress.contenders[:MAX_ROWS]
    lows = [one.low for one in listed if one.low is not None]
    highs = [one.high for one in listed if one.high is not None]
    scale = (min(lows), max(highs)) if lows and max(highs) > min(lows) else (0.0, 1.0)
    best = "chance to be best" if progress.keep == 1 else f"chance to be in the best {progress.keep}"
    heads = (
        ("left", "setting"),
        ("left", "score, and where it may lie"),
        ("right", "score"),
        ("right", best),
        ("right", "runs"),
    )
    head = Markup("").join(
        HEAD.format(side, SOFT_STYLE, "width:34%" if number == 1 else "", text)
        for number, (side, text) in enumerate(heads)
    )
    rows = Markup("").join(_render_row(one, scale, is_leader=place < progress.keep) for place, one in enumerate(listed))
    rest = len(progress.contenders) - len(listed)
    more = render_small_print(f"and {rest:,} more: race.ranking() has all") if rest > 0 else Markup("")
    return TABLE.format(head, rows) + more


def _render_row(one: Contender, scale: tuple[float, float], *, is_leader: bool) -> Markup:
    name = NAME.format("600" if is_leader and one.runs else "normal", format_setting(one.values))
    if one.mean is None or one.low is None or one.high is None:
        return Markup("<tr>{}{}{}{}{}</tr>").format(
            name, CELL.format("left", SOFT_STYLE, "no score"), CELL.format("right", "", ""), CELL.format("right", "", ""),
            CELL.format("right", "", f"{one.failed:,} failed" if one.failed else "0"),
        )  # fmt: skip
    low, high = scale
    start, middle, end = (100 * (value - low) / (high - low) for value in (one.low, one.mean, one.high))
    token, plain = LEADER if is_leader else OTHER
    text = f"{format_score(one.mean)}, between {format_score(one.low)} and {format_score(one.high)}"
    track = TRACK.format(text, text, start, end - start, plain, token, plain, middle, plain, token, plain)
    chance = "" if one.chance is None else format_chance(one.chance)
    return Markup("<tr>{}{}{}{}{}</tr>").format(
        name, CELL.format("left", "", track), CELL.format("right", "", format_score(one.mean)), CELL.format("right", "", chance),
        CELL.format("right", "", f"{one.runs:,}"),
    )  # fmt: skip


def format_score(value: float) -> str:
    """A score with three digits that matter.

    >>> format_score(1234.5), format_score(0.98765), format_score(-1.5)
    ('1,234', '0.988', '−1.5')
    """
    digits = f"{abs(value):,.0f}" if abs(value) >= 100 else f"{abs(value):.3g}"
    return f"−{digits}" if value < 0 and float(digits.replace(",", "")) else digits
