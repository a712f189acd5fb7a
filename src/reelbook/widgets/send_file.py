"""The messages that bring a clip or a picture to a page: its content in parts, or the reason why it is not sent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..display.embedding import MIME_TYPES
from ..display.formatting import format_size

CHUNK_BYTES = 4_000_000
"""Bytes of one message."""
MAX_BYTES = 100_000_000


def find_refusal(path: Path, name: str) -> str:
    """The reason why a file is not sent, in which it is called `name`; empty if it is sent."""
    try:
        count = path.stat().st_size
    except (OSError, ValueError):
        return f"{name} is not there any more. Pick the run up with rb.attach, which fetches it anew."
    if path.suffix.lower() not in MIME_TYPES:
        return f"{name} cannot be read as a clip or a picture."
    return f"{path} has {format_size(count)}, too much to play here." if count > MAX_BYTES else ""


def make_messages(path: Path, place: list[Any]) -> Iterator[tuple[dict[str, Any], bytes]]:
    """The messages for the file that the page requested as `place`, each with its part of the content."""
    of = max(1, -(-path.stat().st_size // CHUNK_BYTES))
    with path.open("rb") as file:
        for number in range(of):
            message = {"clip": place, "part": number, "of": of, "kind": MIME_TYPES[path.suffix.lower()]}
            yield message, file.read(CHUNK_BYTES)
