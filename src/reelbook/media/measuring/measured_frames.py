"""The frames of a file as the measures look at them: whole, and at the common size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..local_file import CONTAINERS

if TYPE_CHECKING:
    from av import VideoFrame
    from av.container import InputContainer
    from av.video.reformatter import VideoReformatter

Plane = NDArray[np.float32]
"""One value per pixel, 0 to 255."""
Pixels = NDArray[np.uint8]

LONGEST = 512
"""The longer side of the common size. Clips of different sizes are compared as if all were shown this large."""
STEP = 4
"""Both sides of the common size are multiples of this: they can be halved twice, and hold whole cells."""
LEAST = 16


class Scale:
    """One size, whole and common; it keeps the converters, which are dear to make."""

    def __init__(self, width: int, height: int) -> None:
        from av.video.reformatter import VideoReformatter

        self.size = width, height
        self.common = common_size(width, height)
        self._whole, self._small = VideoReformatter(), VideoReformatter()

    def whole(self, decoded: VideoFrame) -> Pixels:
        """The picture at its whole size: rows, columns, red-green-blue."""
        width, height = self.size
        plane = _converted(self._whole, decoded, width, height, "rgb24")[0]
        return plane[:, : 3 * width].reshape(height, width, 3)

    def small(self, decoded: VideoFrame) -> tuple[Plane, Plane, Plane]:
        """Red, green and blue at the common size."""
        width, height = self.common
        green, blue, red = (
            plane[:, :width].astype(np.float32) for plane in _converted(self._small, decoded, width, height, "gbrp")
        )
        return red, green, blue


class Frame:
    """One decoded frame; each of its forms is made when it is first asked for."""

    def __init__(self, decoded: VideoFrame, scale: Scale) -> None:
        self._decoded, self.scale = decoded, scale

    @cached_property
    def whole(self) -> Pixels:
        """The picture at its whole size: rows, columns, red-green-blue."""
        return self.scale.whole(self._decoded)

    @cached_property
    def small(self) -> tuple[Plane, Plane, Plane]:
        """Red, green and blue at the common size."""
        return self.scale.small(self._decoded)

    @cached_property
    def luma(self) -> Plane:
        """How light each pixel is at the common size, 0 to 255, by the weights of Rec. 601."""
        red, green, blue = self.small
        luma = 0.299 * red
        luma += 0.587 * green
        luma += 0.114 * blue
        return luma

    def at(self, scale: Scale) -> Frame:
        """The same frame at another size; itself where that is its own."""
        return self if scale.size == self.scale.size else Frame(self._decoded, scale)


@dataclass
class MeasuredFile:
    """What is known of a file: what its header says, and what was seen of it so far."""

    path: Path
    bytes: int
    width: int = 0
    height: int = 0
    rate: float | None = None
    """Frames per second; None for a picture."""
    frames: int = 0
    """How many were decoded so far."""
    began: float | None = None
    ended: float | None = None
    """When the first frame is shown, and when the last one seen so far is."""

    @property
    def is_video(self) -> bool:
        """Whether it plays; a GIF counts as a picture."""
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
def open_frames(path: Path) -> Iterator[tuple[MeasuredFile, Iterator[Frame]]]:
    """A file with what its header says, and its frames in order; a picture has one."""
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
    """The size at which clips of any size are compared: the same shape, the longer side always the same.

    >>> common_size(1280, 720), common_size(480, 854), common_size(64, 64)
    ((512, 288), (288, 512), (512, 512))
    """
    scale = LONGEST / max(width, height)
    return _stepped(width * scale), _stepped(height * scale)


def _stepped(side: float) -> int:
    return max(LEAST, STEP * round(side / STEP))


def _frames(film: MeasuredFile, container: InputContainer) -> Iterator[Frame]:
    stream = container.streams.video[0]
    # One: several files are measured side by side, and have the cores busy already.
    stream.codec_context.thread_count = 1
    rate = stream.average_rate or stream.guessed_rate
    film.rate = float(rate) if rate else None
    scale: Scale | None = None
    for decoded in container.decode(stream):
        if scale is None:
            film.width, film.height, film.began = decoded.width, decoded.height, decoded.time
            # One scale for all: a film that changes its size on the way is seen at its first one.
            scale = Scale(decoded.width, decoded.height)
        film.frames, film.ended = film.frames + 1, decoded.time
        yield Frame(decoded, scale)


def _picture(film: MeasuredFile) -> Frame:
    from av import VideoFrame
    from PIL import Image

    with Image.open(film.path) as picture:
        film.width, film.height = picture.size
        # By way of RGBA, because a palette may have see-through colours, and Pillow warns of those otherwise.
        pixels = np.asarray(picture.convert("RGBA").convert("RGB"))
    film.frames = 1
    return Frame(VideoFrame.from_ndarray(pixels, format="rgb24"), Scale(film.width, film.height))


def _converted(converter: VideoReformatter, decoded: VideoFrame, width: int, height: int, kind: str) -> list[Pixels]:
    """The planes of a frame in another size and format, each with the padding at the end of its rows."""
    frame = converter.reformat(decoded, width, height, format=kind, interpolation="AREA")
    # By way of memoryview, because numpy's types do not know what else has a buffer.
    return [np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)[:height] for plane in frame.planes]
