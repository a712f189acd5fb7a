"""What of a file a page holds: the file, a preview or a poster, as `rb.options.embed` says, and frames side by side where nothing plays."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from PIL import Image

from ..errors import ReelbookError
from ..media import derived_cache, stills
from ..media.bounded_open import MAX_PIXELS
from ..media.stream_facts import read_display_size
from ..models.file_kinds import read_size
from ..settings import options
from .formatting import format_path, format_size
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
FRAMES, HEIGHT, GAP, FILM, STRIP_WIDTH, STRIP_QUALITY = 6, 90, 2, "#16191c", 640, 78
"""Of a strip: the number of its frames, their height and the gap between them in pixels, its ground, its largest width, its JPEG."""
TRIES = ((88, 1.0), (76, 1.0), (60, 1.0), (55, 0.8), (45, 0.65), (32, 0.65), (20, 0.65), (20, 0.5))
"""Quality and scale of the copies that are tried, the best first."""


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

    if many and options.embed == "poster":
        return EmbeddedPart()
    whole, suffix = file.path.stat().st_size, file.path.suffix.lower()
    mime_type = MIME_TYPES.get(suffix, "video/mp4")
    if mime_type in PLAYABLE_TYPES and whole <= _get_limit(many=False):
        return EmbeddedPart(mime_type, file.path.read_bytes(), is_whole=True)
    small = get_preview(file.path, longest=MAX_PREVIEW_SIDE, max_bytes=MAX_PREVIEW_BYTES)
    if small is None:
        return EmbeddedPart(note=f"{format_size(whole)}, too large to play here")
    why = f", because browsers do not play {suffix} files" if mime_type not in PLAYABLE_TYPES else ""
    if options.embed == "full" and not why:
        why = f", because a file of {format_size(whole)} is too large for a notebook"
    return _make_preview(file, "video/mp4", small, why)


def embed_picture(file: LocalFile, width: int, *, many: bool = False) -> EmbeddedPart:
    """The part of a picture to embed: the file if it is small, else a JPEG for this width on the page."""
    from ..media.posters import get_poster

    mime_type = MIME_TYPES.get(file.path.suffix.lower())
    fits = file.path.stat().st_size <= _get_limit(many=many)
    # A browser has to decode all of it.
    if mime_type and fits and file.probe.width * file.probe.height <= MAX_PIXELS:
        return EmbeddedPart(mime_type, file.path.read_bytes(), is_whole=True)
    # Twice the width on the page, for screens of high density, except for one among many.
    small = file.poster(longest=width if many else 2 * width)
    if len(small) > MAX_PREVIEW_BYTES:
        small = get_poster(file.path, longest=width) or small
    return _make_preview(file, "image/jpeg", small)


def _get_limit(*, many: bool) -> int:
    """Bytes up to which a file is embedded as it is."""
    if options.embed == "full":
        return MAX_FULL_BYTES
    return MAX_PREVIEW_BYTES // 4 if many else MAX_PREVIEW_BYTES


def _make_preview(file: LocalFile, mime_type: str, content: bytes, why: str = "") -> EmbeddedPart:
    """A preview with its note; the original is named where it is too large to be fetched by the page."""
    pixels, whole = _find_size(content), file.path.stat().st_size
    original = (
        f"; the original of {format_size(whole)} is {format_path(file.path)}" if whole > MAX_ORIGINAL_BYTES else ""
    )
    note = f"preview {format_pixels(pixels)}, {format_size(len(content))}{why}{original}"
    return EmbeddedPart(mime_type, content, note=note, size=pixels)


def data_uri(mime_type: str, content: bytes) -> str:
    """The content as a `data:` URI."""
    return f"data:{mime_type};base64,{base64.b64encode(content).decode()}"


def format_pixels(pixels: tuple[int, int]) -> str:
    """Width and height as text.

    >>> format_pixels((480, 270))
    '480×270'
    """
    return "×".join(map(str, pixels))


def _find_size(copy: bytes) -> tuple[int, int]:
    """Width and height of a preview."""
    if (size := read_size(copy)) is not None:
        return size
    import av

    with av.open(io.BytesIO(copy), "r", format="mp4") as container:
        return read_display_size(container, container.streams.video[0])


# Frames side by side, and JPEGs within a number of bytes.


def strip_jpeg(file: LocalFile) -> bytes:
    """Six frames from first to last as one JPEG, cached; of a picture file, the picture."""
    return derived_cache.read_or_make(
        file.path, "strips", f"{FRAMES}-{HEIGHT}.jpg", lambda version: _draw(file, version)
    )


def join_frames(frames: Sequence[Image.Image], gap: int = 0) -> Image.Image:
    """Frames of one height side by side."""
    height = max(frame.height for frame in frames)
    sheet = Image.new("RGB", (sum(frame.width + gap for frame in frames) - gap, height), FILM)
    left = 0
    for frame in frames:
        sheet.paste(frame, (left, 0))
        left += frame.width + gap
    return sheet


def encode_jpeg(picture: Image.Image, quality: int) -> bytes:
    """The picture as a JPEG."""
    out = io.BytesIO()
    # Without `optimize`, for which Pillow reserves one byte a pixel, and fails where grain takes more.
    picture.convert("RGB").save(out, "JPEG", quality=quality)
    return out.getvalue()


def fit_jpegs(pictures: Sequence[Image.Image], max_bytes: int) -> list[bytes]:
    """The best JPEGs of these pictures that have together at most `max_bytes`, else the smallest that are legible."""
    found: list[bytes] = []
    for quality, scale in TRIES:
        sizes = [(max(1, round(one.width * scale)), max(1, round(one.height * scale))) for one in pictures]
        found = [
            encode_jpeg(one if scale == 1 else one.resize(size, Image.Resampling.LANCZOS), quality)
            for one, size in zip(pictures, sizes, strict=True)
        ]
        if sum(map(len, found)) <= max_bytes:
            break
    return found


@lru_cache(maxsize=64)  # A run is displayed repeatedly.
def _draw(file: LocalFile, version: derived_cache.FileVersion) -> bytes:
    try:
        # The height of a picture is not limited.
        picture = (
            _draw_frames(file) if file.is_video else stills.read_picture(file.path, (STRIP_WIDTH, 100 * STRIP_WIDTH))
        )
        return encode_jpeg(picture, STRIP_QUALITY)
    except ReelbookError:
        raise
    # Any failure of a decoder is due to the file.
    except Exception as error:
        raise ReelbookError(
            f"{file.path} cannot be read ({type(error).__name__}). rb.attach downloads it again."
        ) from error


def _draw_frames(file: LocalFile) -> Image.Image:
    film = stills.read_spread(file.path, FRAMES, (STRIP_WIDTH, HEIGHT))
    width = min(STRIP_WIDTH, max(1, round(HEIGHT * film.size[0] / film.size[1])))
    # Clips lower than the strip are enlarged.
    return join_frames([frame.resize((width, HEIGHT), Image.Resampling.LANCZOS) for frame in film.frames], GAP)
