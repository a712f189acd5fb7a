"""Links from figures to their original files: a registered provider gives the key by which the page fetches each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

MAX_ORIGINAL_BYTES = 50_000_000
"""Maximum size of a file that is sent to the page when its figure becomes visible."""

LinkProvider = Callable[[Path | None], str]

_providers: list[LinkProvider] = []


def set_link_provider(provider: LinkProvider) -> None:
    """Register the provider of keys; it is called with None to prepare, before there is a file."""
    _providers[:] = [provider]


def prepare_links() -> None:
    """Let the provider open its connection in the thread of the cell, for later outputs of other threads."""
    for provider in _providers:
        provider(None)


def get_link_key(path: Path, max_bytes: int | None = None) -> str:
    """The key by which a figure requests this file; empty without a provider, or if the file is too large."""
    if path.stat().st_size > (max_bytes or MAX_ORIGINAL_BYTES):
        return ""
    return next((key for provider in _providers if (key := provider(path))), "")
