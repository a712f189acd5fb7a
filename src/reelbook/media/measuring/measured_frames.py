"""The frames of a file as metrics use them: at full size, and at the common size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ..bounded_open import is_video, open_picture, open_video

if TYPE_CHECKING:
    from av import VideoFrame, VideoStream
    from av.container import InputContainer

PixelPlane = NDArray[np.float32]
"""One value per pixel, 0 to 255."""
Pixels = NDArray[np.uint8]

LONGEST = 512
"""The longer side of the common size, to which clips of different sizes are scaled for comparison."""
STEP = 4
"""Both sides of the common size are multiples of this: they can be halved twice, and divide into SSIM's cells."""
LEAST = 16


class MeasuredFrame:
    """One decoded frame, at a full size; each of its conversions is made on first access."""

    def __init__(self, decoded: VideoFrame, size: tuple[int, int]) -> None:
        self._decoded, self.size = decoded, size

    @cached_property
    def whole(self) -> Pixels:
        """The picture at full size: rows, columns, red-green-blue."""
        return self._convert(self.size, "rgb24")

    @cached_property
    def small(self) -> list[PixelPlane]:
        """Red, green and blue at the common size."""
        pixels = self._convert(common_size(*self.size), "gbrp")
        return [pixels[:, :, colour].astype(np.float32) for colour in range(3)]

    @cached_property
    def luma(self) -> PixelPlane:
        """The luma of each pixel at the common size, 0 to 255, with the weights of Rec. 601."""
        red, green, blue = self.small
        luma: PixelPlane = np.float32(0.299) * red + np.float32(0.587) * green + np.float32(0.114) * blue
        return luma

    def at(self, size: tuple[int, int]) -> MeasuredFrame:
        """The frame at another size; itself if it has that size."""
        return self if size == self.size else MeasuredFrame(self._decoded, size)

    def _convert(self, size: tuple[int, int], kind: str) -> Pixels:
        frame = self._decoded.reformat(*size, format=kind, interpolation="AREA")
        return cast(Pixels, frame.to_ndarray())


class Moment(NamedTuple):
    """A frame with those that metrics compare it with."""

    frame: MeasuredFrame
    last: MeasuredFrame | None
    """The frame before this one."""
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
    film = MeasuredFile(path, path.stat().st_size)
    if not is_video(path):
        picture = _picture(film)
        yield film, iter([picture])
        return
    with open_video(path) as (container, stream):
        yield film, _frames(film, container, stream)


def common_size(width: int, height: int) -> tuple[int, int]:
    """The size at which clips are compared: the same aspect ratio, with a longer side of `LONGEST`.

    >>> common_size(1280, 720), common_size(480, 854), common_size(64, 64)
    ((512, 288), (288, 512), (512, 512))
    """
    scale = LONGEST / max(width, height)
    return _stepped(width * scale), _stepped(height * scale)


def _stepped(side: float) -> int:
    return max(LEAST, STEP * round(side / STEP))


def _frames(film: MeasuredFile, container: InputContainer, stream: VideoStream) -> Iterator[MeasuredFrame]:
    rate = stream.average_rate or stream.guessed_rate
    film.rate = float(rate) if rate else None
    for decoded in container.decode(stream):
        if not film.frames:
            # One size for all frames: a film that changes its size is measured at its first one.
            film.width, film.height, film.began = decoded.width, decoded.height, decoded.time
        film.frames, film.ended = film.frames + 1, decoded.time
        yield MeasuredFrame(decoded, (film.width, film.height))


def _picture(film: MeasuredFile) -> MeasuredFrame:
    from av import VideoFrame

    with open_picture(film.path) as picture:
        film.width, film.height = picture.size
        # Via RGBA, because a palette may have transparent colours, of which Pillow warns otherwise.
        pixels = np.asarray(picture.convert("RGBA").convert("RGB"))
    film.frames = 1
    return MeasuredFrame(VideoFrame.from_ndarray(pixels, format="rgb24"), (film.width, film.height))
