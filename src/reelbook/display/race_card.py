"""The card of a race: its outcome, costs, standings with intervals and chances, and what it assumes."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..decide.race.sentences import RaceState, find_leaders, format_chance, format_setting
from ..models.problems import format_literal
from ..util.printable import format_count
from .fact_table import SOFT_STYLE, render_dotted, render_small_print
from .formatting import format_duration, join_with_dots, shorten
from .theme import render_style

if TYPE_CHECKING:
    from ..decide.race.race import Race
    from ..decide.race.sentences import Contender, RaceProgress

MAX_ROWS, MAX_VALUE_LENGTH = 12, 40
"""Settings in the card, of which `race.ranking()` has all, and characters of a value."""
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
    '<div style="overflow-x:auto"><table style="border-collapse:collapse;table-layout:auto;width:100%;margin:8px 0 4px;font-size:12px">'
    '<caption style="caption-side:top;text-align:left;padding:0 0 2px;overflow-wrap:anywhere;{}">{}</caption>'
    "<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
)
HEAD = Markup(
    '<th scope="col" style="text-align:{};font-weight:normal;padding:2px 6px 2px 0;border:0;background:none;vertical-align:bottom;overflow-wrap:normal;{};{}">{}</th>'
)
CELL = Markup('<td style="text-align:{};padding:3px 6px 3px 0;border:0;background:none;vertical-align:top;{}">{}</td>')
NAME = Markup(
    '<th scope="row" style="text-align:left;font-weight:{};padding:3px 6px 3px 0;border:0;background:none;vertical-align:top;'
    'overflow-wrap:break-word;white-space:normal" title="{}"><bdi>{}</bdi></th>'
)
# A sanitiser drops declarations that it does not know: of each pair the first remains.
TRACK = Markup(
    '<div role="img" aria-label="{}" title="{}" style="position:relative;height:12px;margin:3px 0;min-width:40px">'
    '<div style="position:absolute;left:0;right:0;top:5px;height:1px;background:#d0d7de;background:var(--rb-line,#d0d7de)"></div>'
    '<div style="position:absolute;left:{:.1f}%;width:{:.1f}%;top:4px;height:3px;background:{};background:var(--rb-{},{})"></div>'
    '<div style="position:absolute;left:{:.1f}%;margin-left:-4px;top:2px;width:8px;height:8px;border-radius:4px;background:{};'
    'background:var(--rb-{},{})"></div></div>'
)
METHOD = Markup("<details><summary>How this is computed</summary>{}</details>")
NUMBER = "white-space:nowrap"
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
        _render_method(progress),
    ]  # fmt: skip
    if progress.state != RaceState.DONE:
        parts.append(
            Markup('<div class="rb-late">{}</div>').format(
                render_small_print(AFTERWARDS.format(state=progress.state, at=time.strftime("%H:%M:%S")))
            )
        )
    return str(ROOT.format(Markup("") if is_page else render_style(), Markup("").join(parts)))


def _render_method(progress: RaceProgress) -> Markup:
    """What it is judged by, and folded away how that is computed."""
    lines = Markup(" ").join(progress.assumptions)
    return render_small_print(f"Judged by {_format_measure(progress)}.") + render_small_print(METHOD.format(lines))


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


def _format_measure(progress: RaceProgress) -> str:
    return f"a person: “{progress.score}”" if progress.is_judged else progress.score


def _render_standings(progress: RaceProgress) -> Markup:
    """The settings in order, each with its interval on one scale, its chance, and its runs."""
    if all(one.mean is None for one in progress.contenders):
        return Markup("")
    listed = progress.contenders[:MAX_ROWS]
    lows = [one.low for one in listed if one.low is not None]
    highs = [one.high for one in listed if one.high is not None]
    scale = (min(lows), max(highs)) if lows and max(highs) > min(lows) else (0.0, 1.0)
    best = "chance to be best" if progress.keep == 1 else f"chance to be in the best {progress.keep}"
    # The names once above, so that what differs stands in the rows.
    names = Markup(" · ").join(map(Markup("<bdi>{}</bdi>").format, progress.axes))
    heads = (
        ("left", "", "setting"),
        ("left", "width:34%", "90% interval"),
        ("right", "", "score"),
        ("right", "", best),
        ("right", "", "runs"),
    )
    head = Markup("").join(HEAD.format(side, SOFT_STYLE, width, text) for side, width, text in heads)
    leaders = find_leaders(progress)
    rows = Markup("").join(_render_row(one, scale, is_leader=one in leaders) for one in listed)
    rest = len(progress.contenders) - len(listed)
    more = render_small_print(f"and {rest:,} more: race.ranking() has all") if rest > 0 else Markup("")
    return TABLE.format(SOFT_STYLE, names, head, rows) + more


def _render_row(one: Contender, scale: tuple[float, float], *, is_leader: bool) -> Markup:
    whole = format_setting(one.values)
    values = join_with_dots(*(shorten(_format_value(value), MAX_VALUE_LENGTH) for value in one.values.values()))
    name = NAME.format("600" if is_leader else "normal", whole, values)
    if one.mean is None or one.low is None or one.high is None:
        cells = (("left", SOFT_STYLE, "no score"), ("right", "", ""), ("right", "", ""), ("right", "", f"{one.failed:,} failed" if one.failed else "0"))  # fmt: skip
    else:
        low, high = scale
        start, middle, end = (100 * (value - low) / (high - low) for value in (one.low, one.mean, one.high))
        token, plain = LEADER if is_leader else OTHER
        mean, least, most = (format_score(value, high - low) for value in (one.mean, one.low, one.high))
        text = f"{mean}, between {least} and {most}"
        track = TRACK.format(text, text, start, end - start, plain, token, plain, middle, plain, token, plain)
        chance = "" if one.chance is None else format_chance(one.chance)
        cells = (
            ("left", "", track),
            ("right", NUMBER, mean),
            ("right", NUMBER, chance),
            ("right", NUMBER, f"{one.runs:,}"),
        )
    return Markup('<tr style="background:none">{}{}</tr>').format(
        name, Markup("").join(CELL.format(*cell) for cell in cells)
    )


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
