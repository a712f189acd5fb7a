"""Posters that play their file on a click, in place or below a row of small ones."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from .original_links import get_link_key
from .theme import read_static, render_script

POSTERS = Markup('<div data-rb-posters="">{}</div>')
"""A row of small posters, below which their files open."""


def render_open_attributes(path: Path) -> Markup:
    """The attributes of an `<img>` that plays this file on a click, while there is a kernel to send it."""
    return Markup(' data-rb-opens="{}" data-rb-path="{}"').format(_find_link_key(path), path.name)


def render_posters(content: Markup) -> Markup:
    """Markup that contains small posters, with the style and script that open them."""
    return render_player_style() + POSTERS.format(content) + render_script("posters.js")


def render_player_style() -> Markup:
    """The style element of players, for pages that have the ten colours already."""
    return Markup("<style>{}</style>").format(Markup(read_static("player.css")))


def _find_link_key(path: Path) -> str:
    try:
        return get_link_key(path)
    except OSError:
        return ""
