"""Frames from one picture: its planes, warped over a mesh."""

from __future__ import annotations

import av
import numpy as np
from av.video.reformatter import ColorRange, Colorspace, Interpolation
from PIL import Image

from .camera import CameraPose
from .field import Field

OVERSIZE = 1.5
"""Size of the stored picture relative to a frame: close views have more detail, and bilinear sampling stays crisp."""

CELL = (64, 64)
"""The width and height of the mesh's cells in pixels; each cell has a cost besides its pixels."""

WAVE_CELL = (96, 16)
"""The same where there are waves, which need finer cells down the picture."""

Planes = tuple[Image.Image, Image.Image, Image.Image]
"""Luma and two chroma planes, the latter at half the width and height."""


def planes_of(picture: Image.Image) -> Planes:
    """The planes of an RGB picture with even sides, in BT.709 of limited range."""
    width, height = picture.size
    frame = av.VideoFrame.from_ndarray(np.asarray(picture), format="rgb24").reformat(
        format="yuv420p",
        dst_colorspace=Colorspace.ITU709,
        dst_color_range=ColorRange.MPEG,
        interpolation=Interpolation.AREA,
    )
    light, blue, red = np.split(frame.to_ndarray().reshape(-1), [width * height, width * height * 5 // 4])
    half = (height // 2, width // 2)
    return (
        Image.fromarray(light.reshape(height, width)),
        Image.fromarray(blue.reshape(half)),
        Image.fromarray(red.reshape(half)),
    )


def frame_of(planes: Planes) -> av.VideoFrame:
    """The planes as a frame for a `Movie`."""
    width = planes[0].width
    flat = np.concatenate([np.asarray(plane).reshape(-1) for plane in planes])
    return av.VideoFrame.from_ndarray(flat.reshape(-1, width), format="yuv420p")


class Warp:
    """A picture that can be rendered from any pose."""

    def __init__(self, planes: Planes, size: tuple[int, int], field: Field) -> None:
        self._planes, self._size, self._field = planes, size, field
        self._xs, self._ys = map(_ticks, size, WAVE_CELL if field.waves else CELL)
        self._grid = np.meshgrid(np.array(self._xs) / size[0] - 0.5, np.array(self._ys) / size[1] - 0.5)

    def seen(self, pose: CameraPose) -> Planes:
        """The planes of the frame rendered from a pose."""
        x, y = self._field.origin(*self._grid, pose)
        light, blue, red = (self._bent(plane, x, y, part) for plane, part in zip(self._planes, (1, 2, 2), strict=True))
        return light, blue, red

    def _bent(self, plane: Image.Image, x: np.ndarray, y: np.ndarray, part: int) -> Image.Image:
        width, height = self._size
        # Slightly inside: a sample exactly on the edge would count as outside and be black.
        across = np.clip((x + 0.5) * plane.width, 1e-3, plane.width - 1e-3)
        down = np.clip((y + 0.5) * plane.height, 1e-3, plane.height - 1e-3)
        corners = np.stack([across, down], axis=-1)
        quads = np.concatenate([corners[:-1, :-1], corners[1:, :-1], corners[1:, 1:], corners[:-1, 1:]], axis=-1)
        left, top = self._xs, self._ys
        boxes = [
            (left[column] // part, top[row] // part, left[column + 1] // part, top[row + 1] // part)
            for row in range(len(top) - 1)
            for column in range(len(left) - 1)
        ]
        mesh = list(zip(boxes, quads.reshape(-1, 8).tolist(), strict=True))
        return plane.transform((width // part, height // part), Image.Transform.MESH, mesh, Image.Resampling.BILINEAR)


def _ticks(length: int, cell: int) -> list[int]:
    """Even positions along a side, including both ends, so that they fall on integer pixels of all planes."""
    count = max(1, round(length / cell))
    return [2 * round(length / 2 * step / count) for step in range(count + 1)]
