"""Posters: the middle frame of each file as a small cached JPEG."""

from __future__ import annotations

import io
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from PIL import Image

from . import derived_cache, stills
from .bounded_open import is_video
from .derived_cache import FileVersion, map_files

FOLDER = "posters"
LONGEST, QUALITY = 320, 75
SMALL_PIXELS, SMALL_QUALITY = 200 * 200, 85
"""In a small picture a block holds several colours, and a lower quality saves too few bytes to be worth their change."""


def get_poster(path: str | Path, *, longest: int = LONGEST) -> bytes | None:
    """The middle frame of a clip, or a picture, as a JPEG with sides up to `longest`; None for an unreadable file."""
    try:
        return make_poster(path, longest=longest)
    # Decoders raise errors of many types for a broken file.
    except Exception:
        return None


def make_poster(path: str | Path, *, longest: int) -> bytes:
    """The same as `get_poster`, but raising the error if the file cannot be read."""
    return derived_cache.read_or_make(path, FOLDER, f"{longest}.jpg", lambda file: _made(file, longest))


def get_posters(paths: Iterable[str | Path]) -> list[bytes | None]:
    """The posters of many files, in their order, made in parallel."""
    return map_files(get_poster, paths)


def make_thumbnail(path: str | Path, width: int, height: int, *, quality: int = 70) -> bytes | None:
    """The file's poster scaled down to fit a box, as a JPEG; None if the file cannot be read."""
    file = derived_cache.get_file_version(path)
    if file is None:
        return None
    try:
        return _shrunk(file, width, height, quality)
    except OSError:
        return None


@lru_cache(maxsize=256)  # The only cache for files outside the shelf.
def _made(file: FileVersion, longest: int) -> bytes:
    box = longest, longest
    is_clip = is_video(file.path)
    return _jpeg(
        stills.read_spread(file.path, 1, box).frames[0] if is_clip else stills.read_picture(file.path, box), QUALITY
    )


@lru_cache(maxsize=1024)
def _shrunk(file: FileVersion, width: int, height: int, quality: int) -> bytes:
    longest = LONGEST
    while longest < max(width, height):
        longest *= 2
    content = get_poster(file.path, longest=longest)
    if content is None:
        # Raised, so that it is not cached: the file may be downloaded again.
        raise OSError(f"{file.path} cannot be read")
    with Image.open(io.BytesIO(content), formats=["JPEG"]) as picture:
        size = stills.fit_size(picture.size, (width, height))
        if size == picture.size:
            return content
        picture.draft("RGB", size)
        return _jpeg(picture.resize(size, Image.Resampling.LANCZOS), quality)


def _jpeg(picture: Image.Image, quality: int) -> bytes:
    out = io.BytesIO()
    is_small = picture.width * picture.height <= SMALL_PIXELS
    quality, colours = (max(quality, SMALL_QUALITY), "4:4:4") if is_small else (quality, "4:2:0")
    picture.convert("RGB").save(out, "JPEG", optimize=True, quality=quality, subsampling=colours)
    return out.getvalue()
