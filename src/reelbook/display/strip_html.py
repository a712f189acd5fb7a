"""A clip as six frames over time, side by side: for places where nothing moves."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import TYPE_CHECKING

from PIL import Image

from ..errors import ReelbookError
from ..media import derived_cache, stills

if TYPE_CHECKING:
    from ..media.local_file import LocalFile

FRAMES, HEIGHT, GAP, FILM = 6, 90, 2, "#16191c"
FOLDER, WIDTH, QUALITY = "strips", 640, 78


def strip(file: LocalFile) -> bytes:
    """Six frames from first to last as one JPEG, made once; a picture alone if it is one."""
    original = derived_cache.original(file.path)
    if original is None:
        raise ReelbookError(f"{file.path} is not there any more.")
    return _strip(file, original)


@lru_cache(maxsize=64)  # A run is shown again and again.
def _strip(file: LocalFile, original: derived_cache.Original) -> bytes:
    place = derived_cache.place(original.path, FOLDER, f"{FRAMES}-{HEIGHT}.jpg")
    content = derived_cache.find(place, _is_jpeg) if place else None
    if content is None:
        content = _jpeg(_drawn(file))
        if place:
            derived_cache.keep(place, content)
    return content


def _drawn(file: LocalFile) -> Image.Image:
    try:
        return _sheet(file) if file.is_video else _alone(file)
    except ReelbookError:
        raise
    # Whatever a decoder stumbles over, it is the file.
    except Exception as error:
        raise ReelbookError(
            f"{file.path} cannot be read ({type(error).__name__}). Pick the run up with rb.attach, which fetches it anew."
        ) from error


def _sheet(file: LocalFile) -> Image.Image:
    film = stills.spread(file.path, FRAMES, (WIDTH, HEIGHT))
    width = min(WIDTH, max(1, round(HEIGHT * film.size[0] / film.size[1])))
    sheet = Image.new("RGB", (FRAMES * (width + GAP) - GAP, HEIGHT), FILM)
    for place, frame in enumerate(film.frames):
        # One that is lower than a strip is enlarged.
        small = frame.resize((width, HEIGHT), Image.Resampling.LANCZOS)
        sheet.paste(small, (place * (width + GAP), 0))
    return sheet


def _alone(file: LocalFile) -> Image.Image:
    # A high one is as high as it is.
    return stills.picture(file.path, (WIDTH, 100 * WIDTH))


def _jpeg(picture: Image.Image) -> bytes:
    out = io.BytesIO()
    picture.convert("RGB").save(out, "JPEG", quality=QUALITY, subsampling="4:4:4", optimize=True)
    return out.getvalue()


def _is_jpeg(content: bytes) -> bool:
    return content.startswith(b"\xff\xd8\xff") and content.endswith(b"\xff\xd9")
