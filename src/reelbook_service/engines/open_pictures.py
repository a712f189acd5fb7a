"""Source pictures, which are untrusted: decoded within limits, upright and in plain colours."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from math import floor, sqrt

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
_T = Image.Transpose
_UPRIGHT = {
    2: _T.FLIP_LEFT_RIGHT, 3: _T.ROTATE_180, 4: _T.FLIP_TOP_BOTTOM,
    5: _T.TRANSPOSE, 6: _T.ROTATE_270, 7: _T.TRANSVERSE, 8: _T.ROTATE_90,
}  # fmt: skip
"""What undoes each EXIF orientation."""

AREA = 1280 * 720
"""Maximum pixels in a frame of a clip that is made from one picture."""

LONGEST, SHORTEST = 4096, 16
"""Bounds of its sides: hardware decoders support no more, and one block of H.264 is the least."""


def open_picture(source: str, data: bytes, *, at_least: tuple[int, int] | None = None) -> Image.Image:
    """The first frame of a picture, upright, as RGB or RGBA with 8 bits a channel.

    A picture more than twice as wide and as high as `at_least` is returned smaller, but never below it: large
    photographs then take a fraction of the time and memory.
    """
    with _opened(source, data) as picture:
        turned = _orientation(picture)
        wanted = _turned(at_least or picture.size, turned if at_least else 1)
        # Only JPEG supports this: it omits the finest details while decoding, and never goes below the size.
        picture.draft(None, wanted)
        picture.load()
        plain = _plain(picture, wanted)
        return plain.transpose(_UPRIGHT[turned]) if turned in _UPRIGHT else plain


def upright_size(source: str, data: bytes) -> tuple[int, int]:
    """Width and height of a picture as displayed."""
    with _opened(source, data) as picture:
        return _turned(picture.size, _orientation(picture))


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
def _opened(source: str, data: bytes) -> Iterator[Image.Image]:
    """The picture, checked but not decoded; whatever goes wrong with it is a `PictureError`."""
    try:
        yield _checked(source, data)
    except PictureError:
        raise
    except MemoryError:
        raise PictureError(source, "decoding it needs more memory than a worker has") from None
    except Exception as error:
        # Pillow's decoders raise many kinds of errors on damaged data, SyntaxError and struct.error among them.
        reason = "its data is damaged or cut short"
        if isinstance(error, UnidentifiedImageError):
            reason = f"it is not a picture in one of the formats {', '.join(FORMATS)}" if data else "it is empty"
        raise PictureError(source, reason) from error


def _checked(source: str, data: bytes) -> Image.Image:
    # The pixel data contains no such bytes: there a 0xFF is followed by zero or by a restart marker.
    if data.startswith(b"\xff\xd8") and any(islice(_MARKER.finditer(data), MAX_MARKERS, None)):
        raise PictureError(source, "it contains more metadata than is read here; save it without them")
    picture = Image.open(io.BytesIO(data), formats=FORMATS)
    width, height = picture.size
    most = MAX_PIXELS_OF_WEBP if picture.format == "WEBP" else MAX_PIXELS
    if width * height > most or max(width, height) > LONGEST_SIDE:
        limit = f"the limit is {most // 1_000_000} megapixels for {picture.format}, and {LONGEST_SIDE:,} for a side"
        raise PictureError(source, f"it has {width:,} × {height:,} pixels; {limit}")
    if picture.mode in ("LAB", "I", "F"):
        raise PictureError(source, f"its colours are {picture.mode}; save it as RGB")
    return picture


def _orientation(picture: Image.Image) -> int:
    # Pillow turns a TIFF itself; in a PNG that does not begin with the tag it would decode all pixels to look behind them.
    if picture.format == "TIFF" or (
        picture.format == "PNG" and not picture.info.keys() & {"exif", "XML:com.adobe.xmp"}
    ):
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


def even_size(width: float, height: float, least: int = 2) -> tuple[int, int]:
    """The largest even sides that are no longer than these."""
    return max(least, 2 * floor(width / 2 + 1e-9)), max(least, 2 * floor(height / 2 + 1e-9))


def frame_size(width: int, height: int) -> tuple[int, int]:
    """The even width and height of a clip from a picture of this size, as close to its aspect ratio as possible.

    Larger pictures are reduced; smaller ones are never enlarged, as that adds no detail.

    >>> frame_size(1920, 1080), frame_size(3000, 4000), frame_size(1024, 1024), frame_size(641, 481), frame_size(1, 1)
    ((1280, 720), (830, 1108), (960, 960), (640, 480), (16, 16))
    >>> frame_size(4000, 20), frame_size(40000, 1)
    ((4000, 20), (4096, 16))
    """
    scale = max(min(1.0, sqrt(AREA / (width * height))), SHORTEST / min(width, height))
    scale = min(scale, LONGEST / max(width, height))
    return even_size(width * scale, height * scale, SHORTEST)
