"""Source pictures: decoded within limits, as they are untrusted; and the frames of a clip that they fit into."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice, product
from math import floor, prod, sqrt

import numpy as np
from PIL import Image, ImageFilter, ImageOps, UnidentifiedImageError

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
_UPRIGHT = {
    2: _T.FLIP_LEFT_RIGHT, 3: _T.ROTATE_180, 4: _T.FLIP_TOP_BOTTOM,
    5: _T.TRANSPOSE, 6: _T.ROTATE_270, 7: _T.TRANSVERSE, 8: _T.ROTATE_90,
}  # fmt: skip
"""What undoes each EXIF orientation."""

PixelSize = tuple[int, int]

MAX_BLOCKS = 36_864
"""Maximum 16 × 16 blocks in a frame: ordinary players' hardware decodes no more."""

LONGEST_VIDEO_SIDE = 8192
"""Maximum pixels of a side, for the same reason."""

PIXELS_WHEN_SHRUNK = 9_000_000
"""The area to which a canvas that is too large is reduced; below the limit, so that partial blocks fit too."""

AREA = 1280 * 720
"""Maximum pixels in a frame of a clip that is made from one picture."""

LONGEST, SHORTEST = 4096, 16
"""Bounds of its sides: hardware decoders support no more, and one block of H.264 is the least."""

THIN = 0.02
"""A border narrower than this share looks unintended; the picture is stretched instead."""

BACKDROP = 48
"""Pixels along the longer side of the backdrop before it is enlarged, which makes it blurred and cheap."""

DIMMED = 0.55
"""Brightness of the backdrop, relative to the picture."""


def open_picture(source: str, data: bytes, *, at_least: tuple[int, int] | None = None) -> Image.Image:
    """The first frame of a picture, upright, as RGB or RGBA with 8 bits a channel.

    A picture more than twice as wide and as high as `at_least` is returned smaller, but never below it: large
    photographs then take a fraction of the time and memory.
    """
    with _opened(source, data) as picture:
        turned = _orientation(picture, data)
        wanted = _turned(at_least or picture.size, turned if at_least else 1)
        # Only JPEG supports this: it omits the finest details while decoding, and never goes below the size.
        picture.draft(None, wanted)
        picture.load()
        plain = _plain(picture, wanted)
        return plain.transpose(_UPRIGHT[turned]) if turned in _UPRIGHT else plain


def upright_size(source: str, data: bytes) -> tuple[int, int]:
    """Width and height of a picture as displayed; decoded only where a PNG has the orientation after its pixels."""
    with _opened(source, data) as picture:
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
    max_pixels = MAX_PIXELS_OF_WEBP if picture.format == "WEBP" else MAX_PIXELS
    if width * height > max_pixels:
        limit = f"the limit is {max_pixels // 1_000_000} megapixels for {picture.format}"
        raise PictureError(source, f"it has {width:,} × {height:,} pixels; {limit}")
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


def canvas_for(first: PixelSize) -> PixelSize:
    """The size of a video from the size of its first picture: the same, even, and not too large to be played.

    >>> canvas_for((1280, 720)), canvas_for((641, 1)), canvas_for((8000, 5000))
    ((1280, 720), (642, 2), (3794, 2372))
    """
    width, height = (side + side % 2 for side in first)
    blocks = -(-width // 16) * -(-height // 16)
    if blocks <= MAX_BLOCKS and max(width, height) <= LONGEST_VIDEO_SIDE:
        return width, height
    scale = min(sqrt(PIXELS_WHEN_SHRUNK / (width * height)), LONGEST_VIDEO_SIDE / max(width, height))
    return _even(width * scale), _even(height * scale)


def frame_size(width: int, height: int) -> PixelSize:
    """The even width and height of a clip from a picture of this size, as close to its aspect ratio as possible.

    Larger pictures are reduced; smaller ones are never enlarged, as that adds no detail.

    >>> frame_size(1920, 1080), frame_size(3000, 4000), frame_size(1024, 1024), frame_size(641, 481), frame_size(1, 1)
    ((1280, 720), (830, 1108), (960, 960), (640, 480), (16, 16))
    >>> frame_size(4000, 20), frame_size(40000, 1)
    ((4000, 20), (4096, 16))
    """
    scale = max(min(1.0, sqrt(AREA / (width * height))), SHORTEST / min(width, height))
    scale = min(scale, LONGEST / max(width, height))

    def misfit(size: tuple[int, ...]) -> float:
        return abs(size[0] / (width * scale) - 1) + abs(size[1] / (height * scale) - 1)

    below = (2 * floor(length * scale / 2 + 1e-9) for length in (width, height))
    sizes = product(*((max(SHORTEST, even), max(SHORTEST, even + 2)) for even in below))
    best = min((size for size in sizes if prod(size) <= AREA and max(size) <= LONGEST), key=misfit)
    return best[0], best[1]


def on_canvas(picture: Image.Image, canvas: PixelSize) -> Image.Image:
    """The picture as a frame of the video: complete, undistorted, as large as fits, over a blurred copy of itself.

    A blurred copy rather than black bars, because bars look unintended between pictures that fill the frame. But
    transparency is composited over black, so a picture with transparency gets black bars.
    """
    see_through = picture.mode == "RGBA" and picture.getchannel("A").getextrema() != (255, 255)
    picture = flattened(picture)
    missing = canvas[0] - picture.width, canvas[1] - picture.height
    if missing == (0, 0):
        return picture
    if set(missing) <= {0, 1}:  # Video needs even sides: the last column or row is repeated.
        return Image.fromarray(np.pad(np.asarray(picture), ((0, missing[1]), (0, missing[0]), (0, 0)), mode="edge"))
    scale = min(canvas[0] / picture.width, canvas[1] / picture.height)
    width, height = picture.width * scale, picture.height * scale
    fills = canvas[0] - width <= THIN * canvas[0] and canvas[1] - height <= THIN * canvas[1]
    size = canvas if fills else (min(_even(width), canvas[0]), min(_even(height), canvas[1]))
    sharp = Image.Resampling.LANCZOS if size[0] < picture.width else Image.Resampling.BICUBIC
    fitted = picture.resize(size, sharp)
    if fills:
        return fitted
    frame = Image.new("RGB", canvas)
    if not see_through:
        # The middle of the picture, dimmed and so blurred that only its colours remain.
        across, down = (max(1, round(side * BACKDROP / max(canvas))) for side in canvas)
        soft = ImageOps.fit(picture, (across, down), Image.Resampling.BOX).filter(ImageFilter.GaussianBlur(3))
        frame = soft.point(lambda value: value * DIMMED).resize(canvas, Image.Resampling.BICUBIC)
    # On even pixels: two pixels share their colour, so an odd edge would tint the border.
    frame.paste(fitted, ((canvas[0] - size[0]) // 4 * 2, (canvas[1] - size[1]) // 4 * 2))
    return frame


def _even(side: float) -> int:
    return max(2, round(side / 2) * 2)
