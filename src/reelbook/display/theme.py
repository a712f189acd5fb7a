"""Style sheets and scripts of pages and widgets, as src/frontend/build.mjs has built them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from markupsafe import Markup


@cache
def read_static(name: str) -> str:
    """The text of a built style sheet or script, `tokens.css` for instance; a running kernel keeps what it has read."""
    return files("reelbook").joinpath("static", name).read_text(encoding="utf-8")


def render_style(*names: str) -> Markup:
    """A `<style>` element with the ten colours and these style sheets."""
    return Markup("<style>{}</style>").format(Markup("".join(map(read_static, ("tokens.css", *names)))))


def render_script(name: str) -> Markup:
    """A `<script>` element with this script, which has all that it needs: a notebook has no address to import from."""
    return Markup('<script type="module">{}</script>').format(Markup(read_static(name)))
