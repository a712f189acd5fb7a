"""The static output of a form in a saved notebook: its values, their price, and its runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..settings import options
from .fact_table import render_card, render_code, render_details, render_fact_table, render_heading, render_small_print
from .formatting import join_with_dots, shorten
from .input_code import MAX_CODE_LENGTH, format_input_code
from .run_text import format_value

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
    kept: int = 0,
    below: Sequence[Markup] = (),
) -> dict[str, Any]:
    """The static output of a form for its cell.

    `mark` is the attribute by which the live form finds and hides it; `labels` are the labels of the fields, in the
    order of the form. `kept` is the number of results in it, by which the live form knows an outdated one.
    """
    title = render_heading(join_with_dots(shorten(sheet["title"], 80), shorten(sheet["model"], 120)))
    body = _render_value(labels, state, value) if value is not None else _render_draft(labels, state)
    html = render_card(title, *body, *below, render_small_print(RUN_AGAIN), width=options.max_width)
    line = repr(value) if value is not None else join_with_dots(f"a form for {sheet['model']}", state["why"])
    return {
        "text/html": str(Markup('<div data-rb-twin="{}" data-rb-kept="{}">{}</div>').format(mark, kept, Markup(html))),
        "text/plain": shorten(line, 2000),
    }


def _render_value(labels: Mapping[str, str], state: Mapping[str, Any], value: Input) -> Iterator[Markup]:
    """The fields that differ from their defaults, and the price; the others and the code folded."""
    changed = value.changed()
    # By the names of the service; null values are left out.
    rest = {name: one for name, one in value.wire().items() if name not in changed}
    yield _table(labels, changed)
    yield render_small_print(join_with_dots(state["price"]["told"], state["price"]["source"]))
    if rest:
        yield render_details(
            f"{len(rest)} with default values" if len(rest) > 1 else "1 with its default value", _table(labels, rest)
        )
    code = format_input_code(value)
    if len(code) <= MAX_CODE_LENGTH:
        yield render_details("Code", render_code(code))


def _render_draft(labels: Mapping[str, str], state: Mapping[str, Any]) -> Iterator[Markup]:
    """The fields of an incomplete form, and its problems."""
    if state["draft"]:
        yield _table(labels, state["draft"])
    for problem in state["problems"][:MAX_PROBLEMS]:
        yield render_small_print(shorten(problem["words"], 400))


def _table(labels: Mapping[str, str], values: Mapping[str, Any]) -> Markup:
    """Values by the labels of their fields, in the order of the form."""
    names = [*(name for name in labels if name in values), *(name for name in values if name not in labels)]
    return render_fact_table(
        (
            shorten(labels.get(name, name), 60),
            "none" if values[name] is None else shorten(format_value(values[name]), 400),
        )
        for name in names
    )
