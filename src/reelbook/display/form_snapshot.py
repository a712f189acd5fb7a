"""A form as a saved notebook keeps it: the values that stood in it, what they would have cost, and what was made with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..settings import options
from .fact_table import card, code_block, fact_table, folded, heading, small
from .formatting import cut, joined
from .input_code import LONGEST, code_of
from .run_text import text_of

if TYPE_CHECKING:
    from ..models.base import Input

MAX_PROBLEMS = 10
AGAIN = "Run the cell to use the form again."


def form_bundle(
    sheet: Mapping[str, Any],
    state: Mapping[str, Any],
    value: Input | None,
    *,
    labels: Mapping[str, str],
    mark: str,
    below: Sequence[Markup] = (),
) -> dict[str, Any]:
    """The picture of a form for its cell; `mark` is by what the form itself finds and hides it.

    `labels` says what the fields are called, in the order of the form.
    """
    title = heading(joined(cut(sheet["title"], 80), cut(sheet["model"], 120)))
    body = _filled(labels, state, value) if value is not None else _unfinished(labels, state)
    html = card(title, *body, *below, small(AGAIN), width=options.max_width)
    line = repr(value) if value is not None else joined(f"a form for {sheet['model']}", state["why"])
    return {
        "text/html": str(Markup('<div data-rb-twin="{}">{}</div>').format(mark, Markup(html))),
        "text/plain": cut(line, 2000),
    }


def _filled(labels: Mapping[str, str], state: Mapping[str, Any], value: Input) -> Iterator[Markup]:
    """What was filled in, and its price; the rest and the code are folded."""
    changed = value.changed()
    # By the names that the service knows; what is null says nothing.
    rest = {name: one for name, one in value.wire().items() if name not in changed}
    yield _table(labels, changed)
    yield small(joined(state["price"]["told"], state["price"]["source"]))
    if rest:
        yield folded(
            f"{len(rest)} with default values" if len(rest) > 1 else "1 with its default value", _table(labels, rest)
        )
    code = code_of(value)
    if len(code) <= LONGEST:
        yield folded("Code", code_block(code))


def _unfinished(labels: Mapping[str, str], state: Mapping[str, Any]) -> Iterator[Markup]:
    """What was typed so far, and what it still lacks."""
    if state["draft"]:
        yield _table(labels, state["draft"])
    for problem in state["problems"][:MAX_PROBLEMS]:
        yield small(cut(problem["words"], 400))


def _table(labels: Mapping[str, str], values: Mapping[str, Any]) -> Markup:
    """Values by the labels of their fields, in the order of the form."""
    names = [*(name for name in labels if name in values), *(name for name in values if name not in labels)]
    return fact_table(
        (cut(labels.get(name, name), 60), "none" if values[name] is None else cut(text_of(values[name]), 400))
        for name in names
    )
