"""The static output of a form in a saved notebook: its values, their price, and its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..settings import options
from .cards import render_input, render_values
from .formatting import join_with_dots, shorten
from .theme import blocks, render_card

if TYPE_CHECKING:
    from ..models.base import Input

MAX_PROBLEMS = 10
RUN_AGAIN = "Run the cell to use the form again."


def form_bundle(
    sheet: Mapping[str, Any],
    state: Mapping[str, Any],
    value: Input | None,
    *,
    labels: Mapping[str, str],
    mark: str,
    below: Sequence[Markup] = (),
) -> dict[str, Any]:
    """The static output of a form for its cell.

    `mark` is the attribute by which the live form finds and hides it; `labels` are the labels of the fields, in the
    order of the form.
    """
    title = blocks.heading(join_with_dots(shorten(sheet["title"], 80), shorten(sheet["model"], 120)))
    if value is not None:
        body = render_input(value, join_with_dots(state["price"]["told"], state["price"]["source"]), labels)
    else:
        problems = [blocks.small(shorten(one["words"], 400)) for one in state["problems"][:MAX_PROBLEMS]]
        body = [*([render_values(state["draft"], labels)] if state["draft"] else []), *problems]
    html = render_card(title, *body, *below, blocks.small(RUN_AGAIN), width=options.max_width)
    line = repr(value) if value is not None else join_with_dots(f"a form for {sheet['model']}", state["why"])
    return {
        "text/html": str(Markup('<div data-rb-twin="{}">{}</div>').format(mark, Markup(html))),
        "text/plain": shorten(line, 2000),
    }
