"""Building blocks of cards: tables of facts, headings, small print, code, and folded sections."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from markupsafe import Markup

from .formatting import STATE_COLOURS, STATE_SIGNS
from .theme import render_style

SOFT_STYLE = "color:var(--rb-soft,inherit)"
SMALL_STYLE = f"{SOFT_STYLE};font-size:12px;line-height:1.5"
_PLAIN = "border:0;background:none"
_NAME = f"text-align:left;font-weight:normal;vertical-align:top;padding:3px 24px 3px 0;white-space:nowrap;{SOFT_STYLE};{_PLAIN}"
_VALUE = f"text-align:left;vertical-align:top;padding:3px 0;overflow-wrap:anywhere;white-space:normal;{_PLAIN}"
# A value may be written from right to left; <bdi> keeps that from turning its surroundings around.
ROW = Markup('<tr><th scope="row" style="{}"><bdi>{}</bdi></th><td style="{}"><bdi>{}</bdi></td></tr>')
TABLE = Markup(
    '<table class="rb-facts" style="border-collapse:collapse;margin:2px 0;font-size:{}px">{}<tbody>{}</tbody></table>'
)
CAPTION = Markup('<caption style="text-align:left;padding:6px 0 2px;{}">{}</caption>')
DOTTED = Markup('<span class="rb-dotted"><span class="rb-dotted-line">{}</span></span>')
PART = Markup('<span class="rb-word">{}{}</span>')
DOT = Markup('<span class="rb-dot">· </span>')
# Two dollar signs in untrusted text must not become a formula.
CARD = Markup(
    '{}<div class="rb mathjax_ignore tex2jax_ignore" style="max-width:{}px;font-variant-numeric:tabular-nums;margin:4px 0 8px">{}</div>'
)


def render_fact_table(facts: Iterable[tuple[str, Any]], *, caption: str = "", size: int = 13) -> Markup:
    """A table with a row for each fact; values are escaped."""
    rows = Markup("").join(ROW.format(_NAME, name, _VALUE, value) for name, value in facts)
    head = CAPTION.format(SMALL_STYLE, caption) if caption else Markup("")
    return TABLE.format(size, head, rows)


def render_card(*parts: Markup, width: int = 720) -> str:
    """Parts in one block, with the style sheet."""
    return str(CARD.format(render_style("figure.css"), width, Markup("").join(parts)))


def render_heading(text: str | Markup) -> Markup:
    """The heading of a card."""
    return Markup("<div><b>{}</b></div>").format(text)


def render_state(state: str, text: str) -> Markup:
    """A text after the coloured sign of a state."""
    colour = STATE_COLOURS.get(state, "soft")
    sign = STATE_SIGNS.get(state, "?")
    # Mixed with the text colour, because the host's colours of states can be too faint on its background.
    style = f"color:color-mix(in srgb,var(--rb-{colour}) 75%,var(--rb-ink))"
    return Markup('<span style="{}">{}</span> {}').format(style, sign, text)


def render_dotted(parts: Iterable[str | Markup]) -> Markup:
    """Parts joined with dots: lines break before a dot, and within a part only if it is longer than a line."""
    pieces = [PART.format(DOT if index else "", part) for index, part in enumerate(filter(None, parts))]
    return DOTTED.format(Markup(" ").join(pieces))


def render_small_print(text: str) -> Markup:
    """A line of small print."""
    return Markup('<div style="{};margin-top:4px;overflow-wrap:anywhere">{}</div>').format(SMALL_STYLE, text)


def render_code(code: str) -> Markup:
    """A block of code to copy."""
    return Markup(
        '<pre style="margin:4px 0;padding:8px 10px;white-space:pre-wrap;overflow-wrap:anywhere;font-size:12px"><code>{}</code></pre>'
    ).format(code)


def render_details(title: str, content: Markup) -> Markup:
    """A section that is folded until it is clicked."""
    return Markup("<details><summary>{}</summary>{}</details>").format(title, content)
