"""The frames of a file as metrics use them: at full size, and at the common size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..bounded_open import CONTAINERS

if TYPE_CHECKING:
    from av import VideoFrame
    from av.container import InputContainer
    from av.video.reformatter import VideoReformatter

PixelPlane = NDArray[np.float32]
"""One value per pixel, 0 to 255."""
Pixels = NDArray[np.uint8]

LONGEST = 512
"""The longer side of the common size, to which clips of different sizes are scaled for comparison."""
STEP = 4
"""Both sides of the common size are multiples of this: they can be halved twice, and divide into SSIM's cells."""
LEAST = 16


class Scale:
    """A full size and its common size, with reusable converters, which are expensive to create."""

    def __init__(self, width: int, height: int) -> None:
        from av.video.reformatter import VideoReformatter

        self.size = width, height
        self.common = common_size(width, height)
        self._whole, self._small = VideoReformatter(), VideoReformatter()

    def whole(self, decoded: VideoFrame) -> Pixels:
        """The picture at full size: rows, columns, red-green-blue."""
        width, height = self.size
        plane = _converted(self._whole, decoded, width, height, "rgb24")[0]
        return plane[:, : 3 * width].reshape(height, width, 3)

    def small(self, decoded: VideoFrame) -> tuple[PixelPlane, PixelPlane, PixelPlane]:
        """Red, green and blue at the common size."""
        width, height = self.common
        green, blue, red = (
            plane[:, :width].astype(np.float32) for plane in _converted(self._small, decoded, width, height, "gbrp")
        )
        return red, green, blue


class MeasuredFrame:
    """One decoded frame; each of its conversions is made on first access."""

    def __init__(self, decoded: VideoFrame, scale: Scale) -> None:
        self._decoded, self.scale = decoded, scale

    @cached_property
    def whole(self) -> Pixels:
        """The picture at full size: rows, columns, red-green-blue."""
        return self.scale.whole(self._decoded)

    @cached_property
    def small(self) -> tuple[PixelPlane, PixelPlane, PixelPlane]:
        """Red, green and blue at the common size."""
        return self.scale.small(self._decoded)

    @cached_property
    def luma(self) -> PixelPlane:
        """The luma of each pixel at the common size, 0 to 255, with the weights of Rec. 601."""
        red, green, blue = self.small
        luma = 0.299 * red
        luma += 0.587 * green
        luma += 0.114 * blue
        return luma

    def at(self, scale: Scale) -> MeasuredFrame:
        """The frame at another size; itself if it has that size."""
        return self if scale.size == self.scale.size else MeasuredFrame(self._decoded, scale)


class Moment(NamedTuple):
    """A frame with those that metrics compare it with."""

    frame: MeasuredFrame
    last: MeasuredFrame | None
    """The frame before this one."""
    before: MeasuredFrame | None
    """The one before that."""
    reference: MeasuredFrame | None
    """The reference's frame with the same number."""


@dataclass
class MeasuredFile:
    """Properties of a file, from its header and from the frames decoded so far."""

    path: Path
    bytes: int
    width: int = 0
    height: int = 0
    rate: float | None = None
    """Frames per second; None for a picture."""
    frames: int = 0
    """Number of frames decoded so far."""
    began: float | None = None
    ended: float | None = None
    """Display times of the first frame, and of the last one decoded so far."""
    first: MeasuredFrame | None = None
    last: MeasuredFrame | None = None
    """The first frame, and the last one measured so far."""

    @property
    def is_video(self) -> bool:
        """Whether this is a video; a GIF counts as a picture."""
        return self.path.suffix.lower() in CONTAINERS

    @property
    def duration(self) -> float | None:
        """Seconds from the first frame to the end of the last one; None for a picture."""
        if self.rate is None or not self.frames:
            return None
        if self.began is None or self.ended is None or self.ended <= self.began:
            return self.frames / self.rate
        return self.ended - self.began + 1 / self.rate


@contextmanager
def open_frames(path: Path) -> Iterator[tuple[MeasuredFile, Iterator[MeasuredFrame]]]:
    """Open a file; yields its properties and an iterator of its frames; a picture has one."""
    # Absolute, because FFmpeg takes "name:" at the start of a name for a protocol.
    path = path.absolute()
    film = MeasuredFile(path, path.stat().st_size)
    if not film.is_video:
        picture = _picture(film)
        yield film, iter([picture])
        return
    import av

    with av.open(str(path), format=CONTAINERS[path.suffix.lower()]) as container:
        yield film, _frames(film, container)


def common_size(width: int, height: int) -> tuple[int, int]:
    """The size at which clips are compared: the same aspect ratio, with a longer side of `LONGEST`.

    >>> common_size(1280, 720), common_size(480, 854), common_size(64, 64)
    ((512, 288), (288, 512), (512, 512))
    """
    scale = LONGEST / max(width, height)
    return _stepped(width * scale), _stepped(height * scale)


def _stepped(side: float) -> int:
    return max(LEAST, STEP * round(side / STEP))


def _frames(film: MeasuredFile, container: InputContainer) -> Iterator[MeasuredFrame]:
    stream = container.streams.video[0]
    # Files are measured in parallel, which keeps the cores busy already.
    stream.codec_context.thread_count = 1
    rate = stream.average_rate or stream.guessed_rate
    film.rate = float(rate) if rate else None
    scale: Scale | None = None
    for decoded in container.decode(stream):
        if scale is None:
            film.width, film.height, film.began = decoded.width, decoded.height, decoded.time
            # One scale for all frames: a film that changes its size is measured at its first one.
            scale = Scale(decoded.width, decoded.height)
        film.frames, film.ended = film.frames + 1, decoded.time
        yield MeasuredFrame(decoded, scale)


def _picture(film: MeasuredFile) -> MeasuredFrame:
    from av import VideoFrame
    from PIL import Image

    with Image.open(film.path) as picture:
        film.width, film.height = picture.size
        # Via RGBA, because a palette may have transparent colours, of which Pillow warns otherwise.
        pixels = np.asarray(picture.convert("RGBA").convert("RGB"))
    film.frames = 1
    return MeasuredFrame(VideoFrame.from_ndarray(pixels, format="rgb24"), Scale(film.width, film.height))


def _converted(converter: VideoReformatter, decoded: VideoFrame, width: int, height: int, kind: str) -> list[Pixels]:
    """The planes of a frame at another size and format, with the padding at the end of their rows."""
    frame = converter.reformat(decoded, width, height, format=kind, interpolation="AREA")
    # Via memoryview, because numpy's types do not include PyAV's planes.
    return [np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)[:height] for plane in frame.planes]
