"""A clip as six frames over time, side by side: for places where nothing moves."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import TYPE_CHECKING

from PIL import Image

from ..errors import ReelbookError
from ..media import kept

if TYPE_CHECKING:
    from ..media.local import LocalFile

FRAMES, HEIGHT, GAP, FILM = 6, 90, 2, "#16191c"
FOLDER, WIDTH, QUALITY = "strips", 640, 78


def strip(file: LocalFile) -> bytes:
    """Six frames from first to last as one JPEG, made once; a picture alone if it is one."""
    original = kept.original(file.path)
    if original is None:
        raise ReelbookError(f"{file.path} is not there any more.")
    return _strip(file, original)


@lru_cache(maxsize=64)  # A run is shown again and again.
def _strip(file: LocalFile, original: kept.Original) -> bytes:
    place = kept.place(original.path, FOLDER, f"{FRAMES}-{HEIGHT}.jpg")
    content = kept.find(place, _is_jpeg) if place else None
    if content is None:
        content = _jpeg(_sheet(file)) if file.is_video else _jpeg(_alone(file))
        if place:
            kept.keep(place, content)
    return content


def _sheet(file: LocalFile) -> Image.Image:
    stills = file.spread(FRAMES)
    width = max(1, round(HEIGHT * stills[0].width / stills[0].height))
    sheet = Image.new("RGB", (FRAMES * (width + GAP) - GAP, HEIGHT), FILM)
    for place, still in enumerate(stills):
        small = still.convert("RGB").resize((width, HEIGHT), Image.Resampling.LANCZOS, reducing_gap=2.0)
        sheet.paste(small, (place * (width + GAP), 0))
    return sheet


def _alone(file: LocalFile) -> Image.Image:
    picture = file.still()
    if picture.width > WIDTH:
        height = max(1, round(picture.height * WIDTH / picture.width))
        picture = picture.convert("RGB").resize((WIDTH, height), Image.Resampling.LANCZOS, reducing_gap=2.0)
    return picture


def _jpeg(picture: Image.Image) -> bytes:
    out = io.BytesIO()
    picture.convert("RGB").save(out, "JPEG", quality=QUALITY, optimize=True)
    return out.getvalue()


def _is_jpeg(content: bytes) -> bool:
    return content.startswith(b"\xff\xd8\xff") and content.endswith(b"\xff\xd9")
