"""Displays in marimo, which has no IPython: each value as a frame with its HTML, connected with the kernel by an anywidget."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

from ..display import HTML
from ..display.original_links import linked_by
from . import VIEWS
from .link import Link, View, keep_open

Render = Callable[[Any], Any]

FRAME = """<!doctype html><meta charset="utf-8"><style>body { margin: 0; }</style><script>
for (const name of ["want", "is", "do", "built", "selected"]) addEventListener(`reelbook:${name}`, (event) => {
  const sent = new CustomEvent(event.type, { detail: event.detail, cancelable: true });
  if (!parent.dispatchEvent(sent)) event.preventDefault();
});
for (const name of ["here", "gone", "cells", "told", "listens"]) {
  const pass = (event) => dispatchEvent(new CustomEvent(event.type, { detail: event.detail }));
  parent.addEventListener(`reelbook:${name}`, pass);
  addEventListener("pagehide", () => parent.removeEventListener(`reelbook:${name}`, pass));
}
const theme = () => {
  const names = ["light-theme", "dark-theme"].filter((name) => parent.document.body.classList.contains(name));
  document.documentElement.className = names.join(" ");
};
new MutationObserver(theme).observe(parent.document.body, { attributeFilter: ["class"] });
theme();
new ResizeObserver(() => {
  frameElement.style.height = `${document.documentElement.offsetHeight}px`;
}).observe(document.documentElement);
</script>"""
"""The start of a frame. marimo runs scripts in frames only, and widgets outside of them: their messages are passed on.

A frame has the theme of the page around it, and is as high as what is in it, also once its scripts have drawn.
"""
STUDIO = "marimo does not display ipywidgets, of which a studio consists; `rb.form(rb.TextToVideo)` works here."


@cache
def register(marimo: Any) -> None:
    """Give Reelbook's values the method by which marimo displays them; called again, it does nothing."""
    for (module, name), (owner, render) in HTML.items():
        _set_display(module, name, partial(_frame_known, marimo, owner, render))
    displays: dict[tuple[str, str], Render] = {
        ("reelbook.runs.run", "Run"): partial(_display_run, marimo),
        ("reelbook.sweeps.job", "SweepJob"): lambda job: import_module("reelbook.widgets.panel").Panel(job),
        ("reelbook.widgets.grid", "Grid"): lambda grid: _frame_view(marimo, grid.view()),
        ("reelbook.widgets.studio", "Studio"): lambda _: marimo.md(STUDIO),
    }
    for module, name, here, function in VIEWS:
        displays[module, name] = partial(_frame_keyed, marimo, here, function)
    for (module, name), display in displays.items():
        _set_display(module, name, display)


def _set_display(module: str, name: str, display: Render) -> None:
    # Not marimo's own registry, which is private and asks for the same imports.
    getattr(import_module(module), name)._display_ = lambda self: display(self)


def _frame_known(marimo: Any, owner: str, name: str, value: Any) -> Any:
    """A value with one of the functions that are registered with IPython elsewhere."""
    return _frame(marimo, _render, value, owner, name)


def _render(value: Any, owner: str, name: str) -> Any:
    return getattr(import_module(f"reelbook.display.{owner}"), name)(value)


def _display_run(marimo: Any, run: Any) -> Any:
    from ..storage.run_status import ENDED
    from .panel import RunPanel

    # The output of a cell does not change here afterwards, but a widget does.
    return _frame(marimo, _render_run, run) if run.status in ENDED else RunPanel(run)


def _render_run(run: Any) -> Any:
    from ..display.run_card import live_bundle

    return live_bundle(run, many=False)["text/html"]


def _frame(marimo: Any, render: Callable[..., Any], *values: Any) -> Any:
    """The HTML of a value in a frame, and what sends its original files, if it has any."""
    links: list[Link] = []

    def link(path: Path | None) -> str:
        if not links:
            links.append(Link())
        return links[0].link_file(path)

    with linked_by(link):
        html = str(render(*values))
    return _join(marimo, html, *links)


def _frame_keyed(marimo: Any, module: str, function: str, value: Any) -> Any:
    make = getattr(import_module(f"reelbook.widgets.{module}"), function)
    return _frame_view(marimo, make(value, secrets.token_urlsafe(16)))


def _frame_view(marimo: Any, view: View) -> Any:
    return _join(marimo, view.bundle["text/html"], *([] if view.connect is None else [view.connect()]))


def _join(marimo: Any, html: str, *links: Link) -> Any:
    if "<script" not in html:
        return marimo.Html(html)
    # A script that is no module runs first, before the display asks for anything.
    return marimo.vstack(
        [marimo.iframe(FRAME + html), *(marimo.ui.anywidget(keep_open(link)) for link in links)], gap=0
    )
