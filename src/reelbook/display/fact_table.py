"""Building blocks of cards as functions, drawn by templates/parts.html."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from markupsafe import Markup

from .theme import get_macros

SOFT_STYLE = "color:var(--rb-soft,inherit)"
SMALL_STYLE = f"{SOFT_STYLE};font-size:12px;line-height:1.5"


def render_fact_table(facts: Iterable[tuple[str, Any]], *, caption: str = "", size: int = 13) -> Markup:
    """A table with a row for each fact; values are escaped."""
    return _draw("facts", facts, caption, size)


def render_rows(
    rows: Iterable[Sequence[Any]], *, head: Sequence[str] = (), label: str = "", numbers: Sequence[int] = ()
) -> Markup:
    """A table with a line between its rows; `numbers` are the columns that are aligned right."""
    return _draw("rows", rows, head, label, numbers)


def two_lines(first: str | Markup, second: str | Markup, title: str = "") -> Markup:
    """A cell with small print below its words."""
    return _draw("two_lines", first, second, title)


def render_card(*parts: Markup, width: int = 720) -> str:
    """Parts in one block, with the style sheet."""
    return str(_draw("card", width, caller=lambda: Markup("").join(parts)))


def render_heading(text: str | Markup) -> Markup:
    """The heading of a card."""
    return _draw("heading", text)


def render_state(state: str, text: str) -> Markup:
    """A text after the coloured sign of a state."""
    return _draw("state", state, text)


def render_dotted(parts: Iterable[str | Markup]) -> Markup:
    """Parts joined with dots: lines break before a dot, and within a part only if it is longer than a line."""
    return _draw("dotted", parts)


def render_small_print(text: str) -> Markup:
    """A line of small print."""
    return _draw("small", text)


def render_code(code: str) -> Markup:
    """A block of code to copy."""
    return _draw("code", code)


def render_details(title: str, content: Markup) -> Markup:
    """A section that is folded until it is clicked."""
    return _draw("details", title, content)


def _draw(macro: str, *values: Any, **named: Any) -> Markup:
    return Markup(getattr(get_macros("parts.html"), macro)(*values, **named))
