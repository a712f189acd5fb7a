"""The cost of runs by the values of a column: bars of credits, and a table under them."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
from markupsafe import Markup

from ..sweeps.results.cost import COLUMNS, HEADINGS
from ..sweeps.results.cost import format_number as _number
from ..util.printable import replace_surrogates
from .formatting import format_credits, join_with_dots, shorten
from .theme import render_style

if TYPE_CHECKING:
    from ..sweeps.results.cost import Costs

MAX_BARS = MAX_LINES = 24
SHORT, LONG = 13, 42
"""Characters of a label that fit beside a bar on a page of 320 pixels, and above one."""
BESIDE, BAR = 22, 12
ABOVE = 36
HEADING, LEGEND = 24, 22
FIGURE_SHARE = 2.3
"""Percent of the width that a digit takes on a page of 320 pixels."""
NOTHING = "There are no runs here to add up."
UNKNOWN = "unknown"
TOTALLED = ("runs", "completed", "credits", "estimated", "charged", "seconds")

INK, SOFT, LINE = "fill:currentColor", "fill:var(--rb-soft,currentColor)", "stroke:var(--rb-line,currentColor)"
SURE = "fill:var(--rb-accent,currentColor)"
UNSURE = f"{SURE};fill-opacity:.2;stroke:var(--rb-accent,currentColor);stroke-width:1"
TICK = "stroke:currentColor;stroke-width:2"
SVG = Markup(
    '<svg role="img" aria-label="{}" width="100%" height="{}" xmlns="http://www.w3.org/2000/svg" '
    'style="display:block;max-width:480px;overflow:hidden;font-size:12px;font-variant-numeric:tabular-nums">'
    "<title>{}</title>{}</svg>"
)
TEXT = Markup('<text x="{}" y="{:g}" dx="{}" text-anchor="{}" style="{}">{}</text>')
RECT = Markup('<rect x="{:.2f}%" y="{:g}" width="{:.2f}%" height="{}" style="{}"/>')
RULE = Markup('<line x1="{:.2f}%" x2="{:.2f}%" y1="{:g}" y2="{:g}" style="{}"/>')

KEY = Markup('<rect x="{}" y="{:g}" width="{}" height="10" style="{}" transform="translate({:g} 0)"/>')


class Bar(NamedTuple):
    """One value of the column and its cost, as far as it is known."""

    group: str
    """The value of the first of two columns; empty with one column."""
    label: str
    credits: int | None
    estimated: int | None
    charged: int | None

    @property
    def text(self) -> str:
        """The bar as a sentence, for tooltips and screen readers."""
        cost = UNKNOWN if self.credits is None else format_credits(self.credits)
        known = "" if self.charged in (None, self.credits) else f"{self.charged:,} of them charged"
        before = "" if self.estimated in (None, self.credits) else f"estimated {self.estimated:,}"
        return (
            f"{shorten(join_with_dots(self.group, self.label), 160)}: {', '.join(filter(None, (cost, known, before)))}"
        )


def render_costs(costs: Costs) -> str:
    """The chart and the table under it; with other columns than those of `Costs`, the table as pandas renders it."""
    if tuple(costs.columns) != COLUMNS:
        return replace_surrogates(pd.DataFrame(costs).to_html(max_rows=MAX_LINES, notebook=True))
    chart = Markup('<div class="rb-costs-chart" hidden style="display:none">{}</div>').format(render_cost_svg(costs))
    parts = [chart, _table(costs)] if len(costs) else [Markup("<p>{}</p>").format(NOTHING)]
    return str(
        Markup(
            '<div class="rb mathjax_ignore tex2jax_ignore" style="font-variant-numeric:tabular-nums">{}{}</div>'
        ).format(render_style("costs.css"), Markup("").join(parts))
    )


def render_cost_svg(costs: Costs) -> Markup:
    """The chart alone: a bar for each value, solid as far as it was charged, with a mark at the earlier estimate.

    Widths are in percent and type in pixels, so that it can be read on narrow and wide pages. Colours and font are
    those of its surroundings.
    """
    if not len(costs):
        return Markup("<p>{}</p>").format(NOTHING)
    bars, more = _limit_bars(_bars(costs))
    names = join_with_dots(*(replace_surrogates(str(name)) for name in costs.index.names if name))
    title = f"Credits by {names}" if names else "Credits"
    title += f", the {len(bars)} highest of {len(costs):,}" if more else ""
    drawn, height = _drawn(title, bars)
    legend, deep = _legend(bars, height)
    rest = Markup("")
    if more:
        rest = TEXT.format("0", height + deep + 16, 0, "start", SOFT, f"and {_more(more)}")
        deep += LEGEND
    spoken = ". ".join([title, *(bar.text for bar in bars)]) + "."
    return SVG.format(spoken, round(height + deep), title, drawn + legend + rest)


def _bars(costs: Costs) -> list[Bar]:
    grouped = costs.index.nlevels == 2
    found = []
    for key, amount, estimated, charged in zip(
        costs.index, costs["credits"], costs["estimated"], costs["charged"], strict=True
    ):
        values = [_value(one) for one in (key if isinstance(key, tuple) else (key,))]
        group, label = values if grouped else ("", join_with_dots(*values))
        found.append(Bar(group, label, _whole(amount), _whole(estimated), _whole(charged)))
    return found


def _limit_bars(bars: list[Bar]) -> tuple[list[Bar], list[Bar]]:
    """The bars to draw, and those beyond `MAX_BARS`, which cost least."""
    if len(bars) <= MAX_BARS:
        return bars, []
    dearest = sorted(bars, key=lambda bar: -max(bar.credits or 0, bar.estimated or 0))
    flat = [bar._replace(group="", label=join_with_dots(bar.group, bar.label)) for bar in dearest]
    return flat[:MAX_BARS], flat[MAX_BARS:]


def _drawn(title: str, bars: list[Bar]) -> tuple[Markup, float]:
    """The markup of heading, groups and bars, and its height."""
    labels = _labels([bar.label for bar in bars])
    is_beside = max(map(len, labels)) <= SHORT
    least = 31.0 if is_beside else 0.0
    wide = 100 - least - max(FIGURE_SHARE * len(_figure(bar)) for bar in bars) - 4
    top = max([1, *(max(bar.credits or 0, bar.estimated or 0) for bar in bars)])
    has_marks = _has_marks(bars)
    parts, y, group = [TEXT.format("0", 12, 0, "start", SOFT, shorten(title, LONG + 10))], float(HEADING), ""
    began = y
    for bar, label in zip(bars, labels, strict=True):
        if bar.group != group:
            parts.append(RULE.format(least, least, began - 2, y - 2, LINE) if y > began else Markup(""))
            group, y = bar.group, y + (6 if y > HEADING else 0)
            parts.append(TEXT.format("0", y + 11, 0, "start", f"{INK};font-weight:600", shorten(group, LONG)))
            y = began = y + BESIDE
        at = y if is_beside else y + ABOVE - BESIDE
        name = (
            TEXT.format(f"{least:g}%", y + 10, -8, "end", INK, label)
            if is_beside
            else TEXT.format("0", y + 8, 0, "start", INK, label)
        )
        shapes = _shapes(bar, at, least=least, wide=wide / top, has_mark=has_marks)
        parts.append(Markup("<g><title>{}</title>{}{}</g>").format(bar.text, name, shapes))
        y += BESIDE if is_beside else ABOVE
    parts.append(RULE.format(least, least, began - 2, y - 4, LINE))
    return Markup("").join(parts), y


def _shapes(bar: Bar, y: float, *, least: float, wide: float, has_mark: bool) -> Markup:
    """A bar, its figure, and the mark of the estimate; `wide` is the width of one credit."""
    spent = bar.credits or 0
    sure = spent if bar.charged is None else min(bar.charged, spent)
    parts = [RECT.format(least, y, sure * wide, BAR, SURE)] if sure else []
    if spent > sure:
        parts.append(RECT.format(least + sure * wide, y + 0.5, (spent - sure) * wide, BAR - 1, UNSURE))
    if has_mark and bar.estimated is not None:
        mark = least + bar.estimated * wide
        parts.append(RULE.format(mark, mark, y - 3, y + BAR + 3, TICK))
    parts.append(TEXT.format("100%", y + 10, 0, "end", INK, _figure(bar)))
    return Markup("").join(parts)


def _figure(bar: Bar) -> str:
    """The credits of a bar, with `≈` where not all of them were charged for certain."""
    if bar.credits is None:
        return UNKNOWN
    is_sure = bar.charged is None or bar.charged >= bar.credits
    return f"{'' if is_sure else '≈ '}{bar.credits:,}"


def _legend(bars: list[Bar], y: float) -> tuple[Markup, int]:
    """The legend and its height; empty where no charge is known."""
    if all(bar.charged is None for bar in bars):
        return Markup(""), 0
    marks = _has_marks(bars)
    as_estimated = not marks and all(bar.charged == bar.estimated for bar in bars)
    found = [(10, SURE, "charged, as estimated" if as_estimated else "charged")]
    if any((bar.credits or 0) > (bar.charged or 0) for bar in bars):
        found.append((10, UNSURE, "unconfirmed"))
    if marks:
        found.append((2, INK, "estimated"))
    parts = []
    for place, (wide, style, label) in enumerate(found):
        x = f"{33 * place}%"
        parts.append(KEY.format(x, y + 7, wide, style, 5 - wide / 2) + TEXT.format(x, y + 16, 16, "start", SOFT, label))
    return Markup("").join(parts), LEGEND + 2


def _has_marks(bars: list[Bar]) -> bool:
    """Whether estimates are marked: not where each one is the end of its bar."""
    return any(bar.estimated is not None and bar.estimated != bar.credits for bar in bars)


def _labels(texts: list[str]) -> list[str]:
    """The labels shortened to fit; where they would be equal then, without their common beginning."""
    longest = SHORT if max(map(len, texts)) <= SHORT else LONG
    cuts = [shorten(text, longest) for text in texts]
    if len(set(cuts)) == len(set(texts)):
        return cuts
    # Up to a space, so that no word is split.
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False))
    common = "".join(letters[0] for letters in alike).rpartition(" ")[0]
    return [shorten(f"…{text[len(common) :]}", longest) for text in texts]


def _more(bars: list[Bar]) -> str:
    known = [bar.credits for bar in bars if bar.credits is not None]
    return join_with_dots(f"{len(bars):,} more", f"{format_credits(sum(known))} in all" if known else "")


def _table(costs: Costs) -> Markup:
    """The costs as a table, with totals."""
    columns = [name for name in COLUMNS if costs[name].notna().any()]
    names = [replace_surrogates(str(name or "")) for name in costs.index.names]
    head = [Markup('<th scope="col">{}</th>').format(name) for name in names]
    head += [Markup('<th scope="col" title="{}">{}</th>').format(name, HEADINGS[name]) for name in columns]
    listed = pd.DataFrame(costs).head(MAX_LINES)
    lines = [_line(key, row) for key, row in zip(listed.index, listed[columns].itertuples(index=False), strict=True)]
    foot = Markup("")
    if len(costs) > 1:
        totals = [_total(name, costs[name]) if name in TOTALLED else "" for name in columns]
        many = f"all {len(costs):,}" + (f", {len(costs) - MAX_LINES:,} not shown" if len(costs) > MAX_LINES else "")
        foot = Markup('<tfoot><tr><th scope="row" colspan="{}">{}</th>{}</tr></tfoot>').format(
            len(names), many, Markup("").join(Markup("<td>{}</td>").format(total) for total in totals)
        )
    return Markup(
        '<div class="rb-costs-table" style="overflow-x:auto" role="region" tabindex="0" aria-label="Costs as a table"><table>'
        "<thead><tr>{}</tr></thead><tbody>{}</tbody>{}</table></div>"
    ).format(Markup("").join(head), Markup("").join(lines), foot)


def _line(key: Any, row: Any) -> Markup:
    values = [_value(one) for one in (key if isinstance(key, tuple) else (key,))]
    heads = [
        Markup('<th scope="row" class="rb-costs-value" title="{}"><bdi>{}</bdi></th>').format(value, shorten(value, 60))
        for value in values
    ]
    cells = [Markup("<td>{}</td>").format(_number(name, value)) for name, value in row._asdict().items()]
    return Markup("<tr>{}{}</tr>").format(Markup("").join(heads), Markup("").join(cells))


def _total(name: str, values: pd.Series[Any]) -> str:
    """The sum, with `≥` where some values are unknown."""
    return f"{'≥ ' if values.isna().any() else ''}{_number(name, values.sum())}"


def _value(value: Any) -> str:
    """A value of the column as text."""
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return "not set"
    return f"{value:g}" if isinstance(value, float) else replace_surrogates(str(value)) or '""'


def _whole(value: Any) -> int | None:
    return None if pd.isna(value) else int(value)
