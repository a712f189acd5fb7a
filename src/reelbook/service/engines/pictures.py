"""Source pictures, opened with care: they come from strangers."""

from __future__ import annotations

import io
import warnings

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from .protocol import PictureError

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")
"""Nothing else is tried, whatever a file is called: some formats are programs."""

MOST_PIXELS = 40_000_000

Image.MAX_IMAGE_PIXELS = None  # We judge the size ourselves, below, before anything is decoded.


def opened(source: str, data: bytes) -> Image.Image:
    """The first frame of a picture, upright, as RGB or RGBA with 8 bits a channel."""
    try:
        with warnings.catch_warnings():
            # A damaged tag is worth a warning to a photographer; here it only clutters the log.
            warnings.simplefilter("ignore")
            picture = Image.open(io.BytesIO(data), formats=FORMATS)
            _check_size(source, picture)
            # Upright before any conversion: conversions drop the tag that says which way is up.
            return _eight_bits(ImageOps.exif_transpose(picture))
    except PictureError:
        raise
    except MemoryError:
        raise PictureError(source, "decoding it needs more memory than a worker has") from None
    except Exception as error:
        # Pillow's decoders raise many kinds of errors on damaged data, SyntaxError and struct.error among them.
        raise PictureError(source, _reason(data, error)) from error


def flattened(picture: Image.Image) -> Image.Image:
    """The picture as RGB; what is transparent is laid over black, never uncovered."""
    if picture.mode == "RGB":
        return picture
    ground = Image.new("RGBA", picture.size, (0, 0, 0, 255))
    return Image.alpha_composite(ground, picture.convert("RGBA")).convert("RGB")


def _check_size(source: str, picture: Image.Image) -> None:
    width, height = picture.size
    if width * height > MOST_PIXELS:
        raise PictureError(
            source, f"it has {width:,} × {height:,} pixels; {MOST_PIXELS // 1_000_000} megapixels are the most"
        )
    if width < 1 or height < 1:
        raise PictureError(source, "it is empty")


def _eight_bits(picture: Image.Image) -> Image.Image:
    if picture.mode.startswith("I") or picture.mode == "F":
        return _scaled_down(picture)
    transparent = picture.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in picture.info
    return picture.convert("RGBA" if transparent else "RGB")


def _scaled_down(picture: Image.Image) -> Image.Image:
    """Grey with 16 or 32 bits: Pillow's own conversion would clip it to white."""
    values = np.asarray(picture, dtype=np.float64)
    if picture.mode == "F" or (picture.mode == "I" and values.max(initial=0) > 65535):
        low, high = float(values.min(initial=0)), float(values.max(initial=0))
    else:
        low, high = 0.0, 65535.0
    grey = (np.nan_to_num(values) - low) * (255.0 / ((high - low) or 1.0))
    return Image.fromarray(np.clip(np.rint(grey), 0, 255).astype(np.uint8), "L").convert("RGB")


def _reason(data: bytes, error: Exception) -> str:
    if not data:
        return "it is empty"
    if isinstance(error, UnidentifiedImageError):
        return f"it is not a picture in one of the formats {', '.join(FORMATS)}"
    return "its data is damaged or cut short"
