"""Posters that open: what our script needs to play the file of a picture, in its place or below a row of small ones."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from .original_links import word_for
from .theme import script, small

POSTERS = Markup('<div data-rb-posters="">{}</div>')
"""Small posters, below which their files open."""


def opens(path: Path) -> Markup:
    """The attributes of an `<img>` that plays this file on a click, while there is a kernel that brings it."""
    return Markup(' data-rb-opens="{}" data-rb-path="{}"').format(_word(path), str(path))


def posters(content: Markup) -> Markup:
    """Markup with small posters in it, and what opens them."""
    return sheet() + POSTERS.format(content) + script("opens.js")


def sheet() -> Markup:
    """The style of players, for what has the ten colours already."""
    return Markup("<style>{}</style>").format(small("player.css"))


def _word(path: Path) -> str:
    try:
        return word_for(path)
    except OSError:
        return ""
