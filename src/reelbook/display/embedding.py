"""Embedding of media in the notebook: the file, a preview, or a poster, according to `rb.options.embed`."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..media.bounded_open import MAX_PIXELS
from ..media.stream_facts import read_display_size
from ..models.file_kinds import parse_header
from ..settings import options
from .formatting import format_size
from .original_links import MAX_ORIGINAL_BYTES

if TYPE_CHECKING:
    from ..media.local_file import LocalFile

MAX_PREVIEW_BYTES = 150_000
"""Maximum bytes of a preview, and of a file that is embedded unchanged without `embed="full"`."""
MAX_FULL_BYTES = 20_000_000
"""Maximum bytes of a file embedded with `embed="full"`; GitHub and nbviewer stop near 25 MB per notebook."""
MAX_PREVIEW_SIDE = 480

MIME_TYPES = {
    ".mp4": "video/mp4", ".m4v": "video/mp4", ".mov": "video/quicktime", ".webm": "video/webm", ".mkv": "video/x-matroska",
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp", ".gif": "image/gif",
}  # fmt: skip
"""The MIME types of the files that browsers display, by suffix."""
PLAYABLE_TYPES = ("video/mp4", "video/webm")
"""Browsers play no others; of those a preview is embedded."""


@dataclass(frozen=True, slots=True)
class EmbeddedPart:
    """The part of a file that is embedded in the page."""

    mime_type: str = ""
    content: bytes = b""
    """Empty where the page holds only a poster."""
    is_whole: bool = False
    """Whether `content` is the file itself and not a preview."""
    note: str = ""
    """The note for the caption."""
    size: tuple[int, int] | None = None
    """Width and height of a preview."""


def embed_clip(file: LocalFile, *, many: bool = False) -> EmbeddedPart:
    """The part of a clip to embed: none for one among `many`, unless `rb.options.embed` requests more."""
    from ..media.previews import get_preview

    whole = file.path.stat().st_size
    mime_type = MIME_TYPES.get(file.path.suffix.lower(), "video/mp4")
    if many and options.embed == "poster":
        return EmbeddedPart()
    if mime_type in PLAYABLE_TYPES and whole <= (MAX_FULL_BYTES if options.embed == "full" else MAX_PREVIEW_BYTES):
        return EmbeddedPart(mime_type, file.path.read_bytes(), is_whole=True)
    small = get_preview(file.path, longest=MAX_PREVIEW_SIDE, max_bytes=MAX_PREVIEW_BYTES)
    if small is None:
        return EmbeddedPart(note=f"{format_size(whole)}, too large to play here")
    pixels = _find_size(small)
    note = f"preview {format_pixels(pixels)}, {format_size(len(small))}"
    if mime_type not in PLAYABLE_TYPES:
        note += f", because browsers do not play {file.path.suffix} files"
    elif options.embed == "full":
        note += f", because a file of {format_size(whole)} is too large for a notebook"
    return EmbeddedPart("video/mp4", small, note=note + _format_original(file), size=pixels)


def embed_picture(file: LocalFile, width: int, *, many: bool = False) -> EmbeddedPart:
    """The part of a picture to embed: the file if it is small, else a JPEG for this width on the page."""
    from ..media.posters import get_poster

    whole = file.path.stat().st_size
    mime_type = MIME_TYPES.get(file.path.suffix.lower())
    fits = whole <= (
        MAX_FULL_BYTES if options.embed == "full" else MAX_PREVIEW_BYTES // 4 if many else MAX_PREVIEW_BYTES
    )
    # A browser has to decode all of it.
    if mime_type and fits and file.probe.width * file.probe.height <= MAX_PIXELS:
        return EmbeddedPart(mime_type, file.path.read_bytes(), is_whole=True)
    # Twice the width on the page, for screens of high density, except for one among many.
    small = file.poster(longest=width if many else 2 * width)
    if len(small) > MAX_PREVIEW_BYTES:
        small = get_poster(file.path, longest=width) or small
    pixels = _find_size(small)
    note = f"preview {format_pixels(pixels)}, {format_size(len(small))}{_format_original(file)}"
    return EmbeddedPart("image/jpeg", small, note=note, size=pixels)


def data_uri(mime_type: str, content: bytes) -> str:
    """The content as a `data:` URI."""
    return f"data:{mime_type};base64,{base64.b64encode(content).decode()}"


def format_pixels(pixels: tuple[int, int]) -> str:
    """Width and height as text.

    >>> format_pixels((480, 270))
    '480×270'
    """
    return "×".join(map(str, pixels))


def _format_original(file: LocalFile) -> str:
    """The note about the original of a preview, where it is too large to be fetched by the page; else empty."""
    whole = file.path.stat().st_size
    return f"; the original of {format_size(whole)} is {file.path}" if whole > MAX_ORIGINAL_BYTES else ""


def _find_size(copy: bytes) -> tuple[int, int]:
    """Width and height of a preview."""
    header = parse_header(copy)
    if header is not None:
        return header.width, header.height
    import av

    with av.open(io.BytesIO(copy), "r", format="mp4") as container:
        return read_display_size(container, container.streams.video[0])
