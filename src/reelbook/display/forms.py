"""A form as a saved notebook keeps it: the values that stood in it, and what they would have cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..settings import options
from .facts import card, fact_table, heading, small
from .inputs import input_card
from .told import text_of
from .words import cut, joined

if TYPE_CHECKING:
    from ..models.base import Input

MOST_PROBLEMS = 10


def form_bundle(
    sheet: Mapping[str, Any], state: Mapping[str, Any], value: Input | None, *, mark: str
) -> dict[str, Any]:
    """The picture of a form for its cell; `mark` is by what the form itself finds and hides it."""
    html = input_card(value) if value is not None else _unfinished(sheet, state)
    line = repr(value) if value is not None else joined(f"a form for {sheet['model']}", state["why"])
    return {
        "text/html": str(Markup('<div data-rb-twin="{}">{}</div>').format(mark, Markup(html))),
        "text/plain": cut(line, 2000),
    }


def _unfinished(sheet: Mapping[str, Any], state: Mapping[str, Any]) -> str:
    """What was typed so far, and what it still lacks."""
    typed = fact_table((cut(name, 60), cut(text_of(value), 400)) for name, value in state["draft"].items())
    words = [small(cut(problem["words"], 400)) for problem in state["problems"][:MOST_PROBLEMS]]
    title = heading(joined(cut(sheet["title"], 80), cut(sheet["model"], 120)))
    return card(title, *([typed] if state["draft"] else []), *words, width=options.max_width)
