"""The messages that bring a clip or a picture to a page: its content in parts, its index, or the reason why it is not sent."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..display.embedding import MIME_TYPES
from ..display.formatting import format_size
from ..media.frame_index import read_frame_index, read_uneven_times
from ..media.local_file import is_video
from ..media.previews import get_preview, make_preview

CHUNK_BYTES = 4_000_000
"""Bytes of one message."""
MAX_BYTES = 100_000_000
LONGEST, MAX_PREVIEW_BYTES = 320, 400_000
"""Pixels and bytes of a preview, which is never saved: more bytes than one in a notebook, for a long clip's sake."""


def find_refusal(path: Path, name: str, *, as_preview: bool = False) -> str:
    """The reason why a file is not sent, in which it is called `name`; empty if it is sent. A preview is always small."""
    try:
        count = path.stat().st_size
    except (OSError, ValueError):
        return f"{name} is not there any more. rb.attach downloads it again."
    if path.suffix.lower() not in MIME_TYPES:
        return f"{name} cannot be read as a clip or a picture."
    return (
        f"{name} has {format_size(count)}, too much to play here."
        if count > MAX_BYTES and not (as_preview and is_video(path))
        else ""
    )


def make_messages(path: Path, place: list[Any], *, as_preview: bool = False) -> Iterator[tuple[dict[str, Any], bytes]]:
    """The messages for the file that the page requested as `place`, each with its part of the content.

    The first has the index of a clip, by which the page decodes it. A preview has all frames of its clip, but is small;
    it is sent instead of a clip that browsers do not decode.
    """
    facts: dict[str, Any] = {"kind": MIME_TYPES[path.suffix.lower()]}
    index = read_frame_index(path) if is_video(path) and not as_preview else None
    content = None
    if is_video(path) and index is None:
        get = make_preview if as_preview else get_preview
        content = get(path, longest=LONGEST, max_bytes=MAX_PREVIEW_BYTES)
    if content is not None:
        facts["kind"], index = "video/mp4", read_frame_index(content)
    if index is not None:
        facts |= {"index": index.to_json(), "times": read_uneven_times(path) if content else ()}
    with io.BytesIO(content) if content is not None else path.open("rb") as file:
        total = len(content) if content is not None else path.stat().st_size
        of = max(1, -(-total // CHUNK_BYTES))
        for number in range(of):
            message = {"clip": place, "part": number, "of": of, **(facts if number == 0 else {})}
            yield message, file.read(CHUNK_BYTES)
