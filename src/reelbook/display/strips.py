"""Frames beside each other in one picture, and JPEGs within a number of bytes, for output where nothing plays."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from PIL import Image

from ..errors import ReelbookError
from ..media import derived_cache, stills

if TYPE_CHECKING:
    from ..media.local_file import LocalFile

FRAMES, HEIGHT, GAP, FILM = 6, 90, 2, "#16191c"
FOLDER, WIDTH, QUALITY = "strips", 640, 78
TRIES = ((88, 1.0), (76, 1.0), (60, 1.0), (55, 0.8), (45, 0.65), (32, 0.65), (20, 0.65), (20, 0.5))
"""Quality and scale of the copies that are tried, the best first."""


def strip_jpeg(file: LocalFile) -> bytes:
    """Six frames from first to last as one JPEG, cached; of a picture file, the picture."""
    return derived_cache.read_or_make(file.path, FOLDER, f"{FRAMES}-{HEIGHT}.jpg", lambda version: _draw(file, version))


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
        picture = _draw_frames(file) if file.is_video else stills.read_picture(file.path, (WIDTH, 100 * WIDTH))
        return encode_jpeg(picture, QUALITY)
    except ReelbookError:
        raise
    # Any failure of a decoder is due to the file.
    except Exception as error:
        raise ReelbookError(
            f"{file.path} cannot be read ({type(error).__name__}). rb.attach downloads it again."
        ) from error


def _draw_frames(file: LocalFile) -> Image.Image:
    film = stills.read_spread(file.path, FRAMES, (WIDTH, HEIGHT))
    width = min(WIDTH, max(1, round(HEIGHT * film.size[0] / film.size[1])))
    # Clips lower than the strip are enlarged.
    return join_frames([frame.resize((width, HEIGHT), Image.Resampling.LANCZOS) for frame in film.frames], GAP)
