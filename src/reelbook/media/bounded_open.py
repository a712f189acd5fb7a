"""Open pictures and videos within limits of memory and size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import IO, TYPE_CHECKING

from PIL import Image

from ..errors import ReelbookError
from ..models.file_kinds import read_size

if TYPE_CHECKING:
    from av import VideoStream
    from av.container import InputContainer

CONTAINERS = {".mp4": "mp4", ".m4v": "mp4", ".mov": "mp4", ".webm": "matroska", ".mkv": "matroska"}
"""FFmpeg's format name by the suffix of a video.

It is passed explicitly, because FFmpeg's probing may take a text for a playlist that refers to other local files.
"""
PICTURES = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "AVIF")
"""The formats that are opened; Pillow supports more, and runs external programs for some of them."""
MAX_BYTES = 290_000_000
"""Memory that decoding one picture may take."""
MAX_PIXELS = 89_000_000
"""Upper bound for a picture, however little memory it would take; Pillow itself warns above it."""
MAX_FRAME_PIXELS = 8192 * 4320
"""Upper bound for one frame of a video. A decoder holds several of them."""
MANY_PIXELS = 3840 * 2160
"""Larger files are decoded one at a time, so that together they take no more memory than one."""

_DECODERS = {"WEBP": 17, "AVIF": 10, "TIFF": 6}
_MODES = {"L": 1, "1": 2, "P": 5, "I;16": 11, "I;16B": 11, "I;16L": 11}
_PROGRESSIVE = 6
"""Bytes per pixel while decoding and converting: by format if its decoder needs more, else by mode; of a progressive
JPEG's buffer."""

ORIENTATION, ON_ITS_SIDE = 0x0112, (5, 6, 7, 8)
"""The Exif tag of the orientation, and its four values that swap width and height."""

PixelSize = tuple[int, int]

_large = RLock()


class TooLarge(ReelbookError):
    """A valid file that is too large to be decoded for display."""

    def __init__(self, path: object, size: PixelSize) -> None:
        name = str(path) if isinstance(path, str | Path) else "this picture"
        self.words = f"{size[0]:,} × {size[1]:,} pixels are too large to show here"
        super().__init__(f"{self.words}; the file is at {name}.")


def is_video(path: str | Path) -> bool:
    """Whether a file is a video by its suffix; a GIF counts as a picture."""
    return Path(path).suffix.lower() in CONTAINERS


def check_range(count: int, first: int, last: int) -> None:
    """Raise `ReelbookError` unless a clip of so many frames has this range."""
    if not 0 <= first <= last < count:
        raise ReelbookError(f"The clip has the frames 0 to {count - 1}, so there is no range from {first} to {last}.")


@contextmanager
def open_picture(path: str | Path | IO[bytes], box: PixelSize | None = None) -> Iterator[Image.Image]:
    """Open a picture to decode; `TooLarge` if that takes too much memory. For a box, a JPEG is decoded smaller."""
    if isinstance(path, str | Path):
        head = _head(path)
        # Before Pillow opens it, which itself warns of many pixels.
        _check(path, head or (0, 0), 0)
    with Image.open(path, formats=PICTURES) as source:
        full_size = source.size
        if box:
            source.draft(None, (2 * box[0], 2 * box[1]))
        each = _DECODERS.get(source.format or "", _MODES.get(source.mode, 4))
        needed = each * source.width * source.height
        if source.format == "JPEG" and source.info.get("progressive"):
            needed += _PROGRESSIVE * full_size[0] * full_size[1]
        _check(path, full_size, needed)
        with large_file_lock(full_size):
            yield source


def read_picture_size(path: str | Path) -> PixelSize:
    """Width and height of a picture after its Exif rotation, however large it is."""
    size = _head(path)
    if size and size[0] * size[1] > MAX_PIXELS:
        # Pillow would warn, or raise.
        return size
    with Image.open(path, formats=PICTURES) as source:
        # In a PNG without it, `getexif` would search behind the pixels, which decodes all of them.
        has_orientation = source.format != "PNG" or "exif" in source.info
        turn = source.getexif().get(ORIENTATION) if has_orientation else None
        return (source.height, source.width) if turn in ON_ITS_SIDE else source.size


@contextmanager
def open_video(path: str | Path, *, to_decode: bool = True) -> Iterator[tuple[InputContainer, VideoStream]]:
    """Open a clip with a decoder of one thread: several clips in parallel are faster than several threads for one.

    Frames that are too large raise an error: at once with `to_decode`, else when one is decoded.
    """
    import av

    kind = CONTAINERS[Path(path).suffix.lower()]
    bound = {"max_pixels": str(MAX_FRAME_PIXELS)}
    # Without `skip_frame` FFmpeg decodes the first frame while opening the file, to probe the stream.
    # Absolute, because FFmpeg takes "name:" at the start of a name for a protocol.
    with av.open(str(Path(path).absolute()), format=kind, options={"skip_frame": "all", **bound}) as container:
        stream = container.streams.video[0]
        stream.codec_context.thread_count = 1
        # Frames may be larger than the header states.
        stream.codec_context.options = bound
        size = stream.width, stream.height
        if to_decode and size[0] * size[1] > MAX_FRAME_PIXELS:
            raise TooLarge(path, size)
        if not to_decode:
            yield container, stream
            return
        with large_file_lock(size):
            yield container, stream


@contextmanager
def large_file_lock(size: PixelSize) -> Iterator[None]:
    """Hold the lock for decoding large files, if this one is large."""
    if size[0] * size[1] <= MANY_PIXELS:
        yield
        return
    with _large:
        yield


def _check(path: object, size: PixelSize, needed: int) -> None:
    if size[0] * size[1] > MAX_PIXELS or needed > MAX_BYTES:
        raise TooLarge(path, size)


def _head(path: str | Path) -> PixelSize | None:
    """The size of a picture in a common format; None for others, or if the header is further into the file."""
    with Path(path).open("rb") as file:
        return read_size(file)
