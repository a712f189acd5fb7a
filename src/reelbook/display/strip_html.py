"""Six frames of a clip side by side as a JPEG, for output where nothing plays."""

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


def strip_jpeg(file: LocalFile) -> bytes:
    """Six frames from first to last as one JPEG, cached; of a picture file, the picture."""
    original = derived_cache.get_file_version(file.path)
    if original is None:
        raise ReelbookError(f"{file.path} is not there any more.")
    return _strip(file, original)


@lru_cache(maxsize=64)  # A run is displayed repeatedly.
def _strip(file: LocalFile, original: derived_cache.FileVersion) -> bytes:
    return derived_cache.read_or_make(
        original.path, FOLDER, f"{FRAMES}-{HEIGHT}.jpg", derived_cache.is_jpeg, lambda: _encode(_draw(file))
    )


def _draw(file: LocalFile) -> Image.Image:
    try:
        # The height of a picture is not limited.
        return _draw_frames(file) if file.is_video else stills.read_picture(file.path, (WIDTH, 100 * WIDTH))
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
    sheet = Image.new("RGB", (FRAMES * (width + GAP) - GAP, HEIGHT), FILM)
    for place, frame in enumerate(film.frames):
        # Clips lower than the strip are enlarged.
        small = frame.resize((width, HEIGHT), Image.Resampling.LANCZOS)
        sheet.paste(small, (place * (width + GAP), 0))
    return sheet


def _encode(picture: Image.Image) -> bytes:
    out = io.BytesIO()
    picture.convert("RGB").save(out, "JPEG", quality=QUALITY, subsampling="4:4:4", optimize=True)
    return out.getvalue()
