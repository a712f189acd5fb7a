"""Writing of a picture to its file, in the requested format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from PIL import Image

PictureFormat = Literal["jpeg", "png", "webp"]

SUFFIXES: Mapping[PictureFormat, str] = {"jpeg": "jpg", "png": "png", "webp": "webp"}

_QUICK: Mapping[PictureFormat, Mapping[str, Any]] = {
    # Higher levels cost ten times as much for a tenth less.
    "png": {"compress_level": 1},
    "jpeg": {"quality": 92, "subsampling": 0},
    "webp": {"quality": 90, "method": 1},
}
_EXACT: Mapping[PictureFormat, Mapping[str, Any]] = {
    "png": {"compress_level": 1},
    "jpeg": {"quality": 98, "subsampling": 0},
    "webp": {"lossless": True, "exact": True, "quality": 20, "method": 0},
}


def write(
    picture: Image.Image, path: Path, image_format: PictureFormat, *, provenance: Mapping[str, Any], exact: bool = False
) -> None:
    """Save a picture with its provenance; `exact` preserves every pixel as far as the format can."""
    options = (_EXACT if exact else _QUICK)[image_format]
    picture.save(path, image_format, **options, **provenance)
