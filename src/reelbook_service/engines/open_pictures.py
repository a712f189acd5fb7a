"""Decoding of untrusted source pictures within limits."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

import numpy as np
from PIL import Image, UnidentifiedImageError

from .protocol import PictureError

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")
"""Nothing else is tried, whatever the file name: some formats are programs."""

MAX_PIXELS = 40_000_000
LONGEST_SIDE = 65_500
"""Maximum side of a JPEG; a picture one pixel high and millions wide costs every engine more than its pixels."""
MAX_PIXELS_OF_WEBP = 24_000_000
"""WebP's decoder needs sixteen bytes per pixel, the others four: more would end the worker, not just the run."""

Image.MAX_IMAGE_PIXELS = None  # The size is checked below, before anything is decoded.
warnings.filterwarnings("ignore", module="PIL")  # Of damaged tags, which only clutter the log.

MAX_MARKERS = 10_000
"""Maximum metadata markers of a JPEG; Pillow parses each in Python, so millions of empty ones take very long."""
_MARKER = re.compile(rb"\xff[\xe0-\xef\xfe]")

_ORIENTATION = 0x0112
_PNG_ORIENTATION_MARKERS = (b"eXIf", b"Raw profile type", b"XML:com.adobe.xmp")
_T = Image.Transpose
_UPRIGHT = dict(
    enumerate(
        (
            _T.FLIP_LEFT_RIGHT,
            _T.ROTATE_180,
            _T.FLIP_TOP_BOTTOM,
            _T.TRANSPOSE,
            _T.ROTATE_270,
            _T.TRANSVERSE,
            _T.ROTATE_90,
        ),
        2,
    )
)


def open_picture(source: str, data: bytes, *, at_least: tuple[int, int] | None = None) -> Image.Image:
    """The first frame of a picture, upright, as RGB or RGBA with 8 bits a channel.

    A picture more than twice as wide and as high as `at_least` is returned smaller, but never below it: large
    photographs then take a fraction of the time and memory.
    """
    with _as_picture_errors(source, data):
        picture = _checked(source, data)
        turned = _orientation(picture, data)
        wanted = _turned(at_least or picture.size, turned if at_least else 1)
        # Only JPEG supports this: it omits the finest details while decoding, and never goes below the size.
        picture.draft(None, wanted)
        picture.load()
        plain = _plain(picture, wanted)
        return plain.transpose(_UPRIGHT[turned]) if turned in _UPRIGHT else plain


def stored_size(source: str, data: bytes) -> tuple[int, int]:
    """Width and height of a picture as stored in its file; nothing is decoded."""
    with _as_picture_errors(source, data):
        return _checked(source, data).size


def upright_size(source: str, data: bytes) -> tuple[int, int]:
    """Width and height of a picture as displayed; decoded only where a PNG has the orientation after its pixels."""
    with _as_picture_errors(source, data):
        picture = _checked(source, data)
        return _turned(picture.size, _orientation(picture, data))


def flattened(picture: Image.Image) -> Image.Image:
    """The picture as RGB, with transparency composited over black."""
    if picture.mode == "RGB":
        return picture
    if picture.mode != "RGBA":
        return picture.convert("RGB")
    ground = Image.new("RGB", picture.size)
    ground.paste(picture, mask=picture)  # Alpha compositing would need four more copies of the picture.
    return ground


@contextmanager
def _as_picture_errors(source: str, data: bytes) -> Iterator[None]:
    try:
        yield
    except PictureError:
        raise
    except MemoryError:
        raise PictureError(source, "decoding it needs more memory than a worker has") from None
    except Exception as error:
        # Pillow's decoders raise many kinds of errors on damaged data, SyntaxError and struct.error among them.
        raise PictureError(source, _reason(data, error)) from error


def _checked(source: str, data: bytes) -> Image.Image:
    # The pixel data contains no such bytes: there a 0xFF is followed by zero or by a restart marker.
    if data.startswith(b"\xff\xd8") and any(islice(_MARKER.finditer(data), MAX_MARKERS, None)):
        raise PictureError(source, "it contains more metadata than is read here; save it without them")
    picture = Image.open(io.BytesIO(data), formats=FORMATS)
    width, height = picture.size
    max_pixels = MAX_PIXELS_OF_WEBP if picture.format == "WEBP" else MAX_PIXELS
    if width * height > max_pixels:
        raise PictureError(
            source,
            f"it has {width:,} × {height:,} pixels; the limit is {max_pixels // 1_000_000} megapixels for {picture.format}",
        )
    if max(width, height) > LONGEST_SIDE:
        raise PictureError(source, f"it has {width:,} × {height:,} pixels; a side has {LONGEST_SIDE:,} at most")
    if width < 1 or height < 1:
        raise PictureError(source, "it is empty")
    if picture.mode in ("LAB", "I", "F"):
        raise PictureError(source, f"its colours are {picture.mode}; save it as RGB")
    return picture


def _orientation(picture: Image.Image, data: bytes) -> int:
    if picture.format == "TIFF":
        # Pillow rotates these itself, and swaps their sides before.
        return 1
    if picture.format == "PNG" and not any(marker in data for marker in _PNG_ORIENTATION_MARKERS):
        # Pillow would decode the complete picture to find it at the end.
        return 1
    try:
        orientation = picture.getexif().get(_ORIENTATION, 1)
    except Exception:
        # A damaged tag is no reason to refuse the picture.
        return 1
    return orientation if orientation in _UPRIGHT else 1


def _turned(size: tuple[int, int], orientation: int) -> tuple[int, int]:
    return (size[1], size[0]) if orientation >= 5 else size


def _plain(picture: Image.Image, wanted: tuple[int, int]) -> Image.Image:
    """RGB or RGBA with 8 bits, reduced by an integer factor to no less than the wanted size."""
    mode = "RGB"
    if picture.mode.startswith("I;16"):
        # Pillow's own conversion would clip grey of 16 bits to white.
        picture = Image.fromarray((np.asarray(picture) // 257).astype(np.uint8))
    elif picture.mode in ("RGBA", "LA", "PA", "RGBa") or "transparency" in picture.info:
        mode = "RGBA"
    plain = picture if picture.mode == mode else picture.convert(mode)
    factor = min(picture.width // wanted[0], picture.height // wanted[1])
    return plain.reduce(factor) if factor > 1 else plain


def _reason(data: bytes, error: Exception) -> str:
    if not data:
        return "it is empty"
    if isinstance(error, UnidentifiedImageError):
        return f"it is not a picture in one of the formats {', '.join(FORMATS)}"
    return "its data is damaged or cut short"
