"""Links from a page to files: a registered provider gives the key by which the page fetches each, to play it or to replace a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from markupsafe import Markup

from .theme import read_static, render_script

MAX_ORIGINAL_BYTES = 50_000_000
"""Maximum size of a file that is sent to the page when its figure becomes visible."""

LinkProvider = Callable[[Path | None], str]

_shared: list[LinkProvider] = [lambda path: ""]
"""The provider of this process."""
_own: ContextVar[LinkProvider | None] = ContextVar("reelbook_own_links", default=None)
"""The provider of the display that is being rendered, if it sends its files itself."""


def set_link_provider(provider: LinkProvider) -> None:
    """Register the provider of keys; it is called with None to prepare, before there is a file."""
    _shared[:] = [provider]


@contextmanager
def linked_by(provider: LinkProvider) -> Iterator[None]:
    """While this lasts, what is rendered requests its files from this provider, a form for instance."""
    token = _own.set(provider)
    try:
        yield
    finally:
        _own.reset(token)


def prepare_links() -> None:
    """Let the provider open its connection in the thread of the cell, for later outputs of other threads."""
    _shared[0](None)


def get_link_key(path: Path, max_bytes: int | None = None) -> str:
    """The key by which a figure requests this file; empty without a provider, or if the file is too large."""
    provider = _own.get() or _shared[0]
    return provider(path) if path.stat().st_size <= (max_bytes or MAX_ORIGINAL_BYTES) else ""


# Posters that play their file on a click, in place or below a row of small ones.


def render_open_attributes(path: Path) -> Markup:
    """The attributes of an `<img>` that plays this file on a click, while there is a kernel to send it."""
    try:
        key = get_link_key(path)
    except OSError:
        key = ""
    return Markup(' data-rb-opens="{}" data-rb-path="{}"').format(key, path.name)


def render_posters(content: Markup) -> Markup:
    """Markup that contains small posters, with the style and script that open them below it."""
    return (
        render_player_style() + Markup('<div data-rb-posters="">{}</div>').format(content) + render_script("posters.js")
    )


def render_player_style() -> Markup:
    """The style element of players, for pages that have the ten colours already."""
    return Markup("<style>{}</style>").format(Markup(read_static("player.css")))
