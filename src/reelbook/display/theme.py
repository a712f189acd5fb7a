"""Templates of HTML, and the style sheets and scripts of pages and widgets, as src/frontend/build.mjs has built them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from .formatting import STATE_COLOURS, STATE_SIGNS, format_duration, join_with_dots, shorten

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def read_static(name: str) -> str:
    """The text of a built style sheet or script, `tokens.css` for instance; a running kernel keeps what it has read."""
    return files("reelbook").joinpath("static", name).read_text(encoding="utf-8")


@cache
def read_colours(*, is_dark: bool) -> Mapping[str, str]:
    """The colours of the style sheet for light or for dark pages, by name, for pictures that are drawn here."""
    rules = re.findall(r"([^{}]+)\{([^{}]*)\}", read_static("tokens.css"))
    wanted = ".rb.rb-dark" if is_dark else ".rb"
    declared = next(
        body for selector, body in rules if wanted in re.split(r",\s*", selector.strip()) and "--_ink" in body
    )
    return dict(re.findall(r"--_(\w+):\s*(#[0-9a-f]{6})", declared))


def render_style(*names: str) -> Markup:
    """A `<style>` element with the ten colours and these style sheets."""
    return Markup("<style>{}</style>").format(Markup("".join(map(read_static, ("tokens.css", *names)))))


def render_script(name: str) -> Markup:
    """A `<script>` element with this script, which has all that it needs: a notebook has no address to import from."""
    return Markup('<script type="module">{}</script>').format(Markup(read_static(name)))


def render(template: str, **values: Any) -> Markup:
    """A file of the folder `templates` with these values, which are escaped unless they are markup."""
    return Markup(_get_environment().get_template(template).render(values))


class Macros:
    """The macros of a template as functions: `blocks.small("a line of small print")`. What they take is escaped."""

    def __init__(self, template: str) -> None:
        self._template = template

    def __getattr__(self, name: str) -> Callable[..., Markup]:
        macro = getattr(_get_environment().get_template(self._template).module, name)
        return lambda *values, **named: Markup(macro(*values, **named))


blocks = Macros("parts.html")
"""The building blocks of cards."""


def render_card(*bodies: Markup, width: int = 720) -> str:
    """Parts in one block, with the style sheet."""
    return str(blocks.card(width, caller=lambda: Markup("").join(bodies)))


@cache
def _get_environment() -> Environment:
    import jinja2  # At the first display, and not with every import of the toolkit.

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"shorten": shorten, "thousands": lambda number: f"{number:,}", "duration": format_duration}
    environment.globals |= {
        "signs": STATE_SIGNS,
        "colours": STATE_COLOURS,
        "dots": join_with_dots,
        "Markup": Markup,
        "style": render_style,
        "script": render_script,
    }
    return environment
