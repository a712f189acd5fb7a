"""Names and values as a small table, for everything that a cell can end with and that is no picture."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from markupsafe import Markup

from .formatting import MARKS, STATE_COLOURS
from .theme import style

SOFT = "color:var(--rb-soft,inherit)"
SMALL = f"{SOFT};font-size:12px;line-height:1.5"
_PLAIN = "border:0;background:none"
_NAME = (
    f"text-align:left;font-weight:normal;vertical-align:top;padding:3px 24px 3px 0;white-space:nowrap;{SOFT};{_PLAIN}"
)
_VALUE = f"text-align:left;vertical-align:top;padding:3px 0;overflow-wrap:anywhere;white-space:normal;{_PLAIN}"
# A value may be written from right to left; <bdi> keeps that from turning its surroundings around.
ROW = Markup('<tr><th scope="row" style="{}"><bdi>{}</bdi></th><td style="{}"><bdi>{}</bdi></td></tr>')
TABLE = Markup(
    '<table class="rb-facts" style="border-collapse:collapse;margin:2px 0;font-size:{}px">{}<tbody>{}</tbody></table>'
)
CAPTION = Markup('<caption style="text-align:left;padding:6px 0 2px;{}">{}</caption>')
DOTTED = Markup('<span class="rb-dotted"><span class="rb-dotted-line">{}</span></span>')
WORD = Markup('<span class="rb-word">{}{}</span>')
DOT = Markup('<span class="rb-dot">· </span>')
# In what is a stranger's, two dollar signs are no formula.
CARD = Markup(
    '{}<div class="rb mathjax_ignore tex2jax_ignore" style="max-width:{}px;font-variant-numeric:tabular-nums;margin:4px 0 8px">{}</div>'
)


def fact_table(facts: Iterable[tuple[str, Any]], *, caption: str = "", size: int = 13) -> Markup:
    """A table with a row for each fact; what is text becomes text, and nothing else."""
    rows = Markup("").join(ROW.format(_NAME, name, _VALUE, value) for name, value in facts)
    head = CAPTION.format(SMALL, caption) if caption else Markup("")
    return TABLE.format(size, head, rows)


def card(*parts: Markup, width: int = 720) -> str:
    """Parts in one block, in our colours."""
    return str(CARD.format(style("figure.css"), width, Markup("").join(parts)))


def heading(text: str | Markup) -> Markup:
    """What a card is about."""
    return Markup("<div><b>{}</b></div>").format(text)


def state_words(state: str, words: str) -> Markup:
    """Words about a state after its sign, which has the same colour everywhere."""
    colour = STATE_COLOURS.get(state, "soft")
    sign = MARKS.get(state, "?")
    # Mixed with the ink, because a host's own colours of states can be too faint on its ground.
    style = f"color:color-mix(in srgb,var(--rb-{colour}) 75%,var(--rb-ink))"
    return Markup('<span style="{}">{}</span> {}').format(style, sign, words)


def dotted(words: Iterable[str | Markup]) -> Markup:
    """Words with dots between them: a word is broken only where it is longer than a line, and no line ends on a dot."""
    pieces = [WORD.format(DOT if place else "", word) for place, word in enumerate(filter(None, words))]
    return DOTTED.format(Markup(" ").join(pieces))


def small(text: str) -> Markup:
    """A line in small print."""
    return Markup('<div style="{};margin-top:4px;overflow-wrap:anywhere">{}</div>').format(SMALL, text)


def code_block(code: str) -> Markup:
    """Code to copy."""
    return Markup(
        '<pre style="margin:4px 0;padding:8px 10px;white-space:pre-wrap;overflow-wrap:anywhere;font-size:12px"><code>{}</code></pre>'
    ).format(code)


def folded(title: str, content: Markup) -> Markup:
    """Something that a reader opens when it is wanted."""
    return Markup("<details><summary>{}</summary>{}</details>").format(title, content)
