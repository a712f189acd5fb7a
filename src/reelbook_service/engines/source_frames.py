"""Source pictures as frames for the encoder: on the canvas, in the colour space of the video."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, cast

import av
import numpy as np
from av.video.reformatter import ColorRange, Colorspace, Interpolation, VideoReformatter
from PIL import Image

from .canvas import PixelSize, on_canvas
from .open_pictures import open_picture
from .png_decoder import plain

DRAWN = 0.5
"""The share of pixels equal to their neighbour from which a picture is a drawing; photos have noise and blur."""

_AHEAD, _BEYOND = 64, 64
"""Padding bytes around the pixels: in front for a file's header, behind for readers that process several pixels at
once and read slightly past the end."""


@dataclass(frozen=True, slots=True)
class Still:
    """A picture ready for the encoder."""

    frame: av.VideoFrame
    is_drawn: bool
    """Whether it is text, a diagram or the like, where every flaw is visible."""


class Framer:
    """Creates stills of one size from source pictures; thread-safe."""

    def __init__(self, sources: Mapping[str, bytes], size: PixelSize) -> None:
        self._sources, self._size = sources, size
        self._tools = _Tools(size)

    def __call__(self, url: str) -> Still:
        data = self._sources[url]
        frame = plain(data, self._size)
        if frame is None:
            picture = open_picture(url, data, at_least=self._size)
            frame = self._tools.sheet.filled(on_canvas(picture, self._size))
        frame = self._tools.reformatter.reformat(
            frame,
            format="yuv420p",
            dst_colorspace=Colorspace.ITU709,
            dst_color_range=ColorRange.MPEG,
            interpolation=Interpolation.AREA,
        )
        return Still(frame, _is_drawn(frame))


class _Tools(threading.local):
    """Reused objects of each thread: creating them is a considerable part of the cost."""

    def __init__(self, size: PixelSize) -> None:
        self.sheet = _Sheet(size)
        self.reformatter = VideoReformatter()


class _Sheet:
    """A reused buffer for the pixels of a picture; allocating one each time took as long as copying the pixels."""

    def __init__(self, size: PixelSize) -> None:
        self._shape = (size[1], size[0], 3)
        self._count = size[0] * size[1] * 3
        self._memory = np.empty(_AHEAD + self._count + _BEYOND, np.uint8)
        self._position = 0

    def filled(self, picture: Image.Image) -> av.VideoFrame:
        """The picture as a frame in RGB, valid until the next call."""
        self._position = _AHEAD - len(f"P6\n{picture.width} {picture.height}\n255\n")
        # To Pillow this object is a file. `tobytes` would give the same, but in pieces that are then joined.
        picture.save(cast(IO[bytes], self), "PPM")
        pixels = self._memory[self._position - self._count : self._position]
        return av.VideoFrame.from_numpy_buffer(pixels.reshape(self._shape), "rgb24")

    def write(self, data: bytes) -> int:
        end = self._position + len(data)
        self._memory[self._position : end] = np.frombuffer(data, np.uint8)
        self._position = end
        return len(data)

    def flush(self) -> None:
        """Do nothing: there is no buffering."""


def _is_drawn(frame: av.VideoFrame) -> bool:
    plane = frame.planes[0]
    rows = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)[: frame.height : 16, : frame.width]
    return bool((rows[:, 1:] == rows[:, :-1]).mean() >= DRAWN)
