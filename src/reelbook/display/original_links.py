"""The way from a figure to its whole file: whoever can bring files to the page is asked for a word to fetch each by."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

MAX_BYTES = 50_000_000
"""Of a file that is brought as soon as its figure is in view."""

Offer = Callable[[Path | None], str]

_bringers: list[Offer] = []


def bring_by(offer: Offer) -> None:
    """Name who brings files to the page; asked with None before there is a file."""
    _bringers[:] = [offer]


def ready() -> None:
    """Open the way in the thread of the cell; what is shown later, by another thread, can use it then."""
    for offer in _bringers:
        offer(None)


def word_for(path: Path) -> str:
    """The word by which a figure asks for this file; empty where nobody brings it."""
    if path.stat().st_size > MAX_BYTES:
        return ""
    return next((word for offer in _bringers if (word := offer(path))), "")
