"""The move engine: a camera move over one picture."""

from __future__ import annotations

from contextlib import closing
from fractions import Fraction
from itertools import pairwise
from typing import Any

import av
import numpy as np
from PIL import Image

from reelbook.models.image_to_video import ImageToVideo

from ..canvas import frame_size
from ..open_pictures import flattened, open_picture, upright_size
from ..protocol import EngineTask, OutputFile, Report
from ..saliency import saliency_of
from ..video_writer import Movie, in_order, yuv
from ..write_provenance import WrittenProvenance
from .camera import Path
from .effects import Effects, Planes
from .field import Field, relief_of
from .plan import Plan, described, make_plan

RATE = 24
"""Frames per second."""

BLEND_FRAMES = 6
"""Frames over which the original picture is blended into the camera's view, so that the transition is not visible."""

OVERSIZE = 1.5
"""Size of the stored picture relative to a frame: close views have more detail, and bilinear sampling stays crisp."""

CELL, WAVE_CELL = (64, 64), (96, 16)
"""The width and height of the mesh's cells in pixels, which cost time each; waves need finer ones down the picture."""


class Move:
    """Generates a clip from one picture by a camera move over it, as the prompt describes."""

    name = "move"
    version = "3"

    def __call__(self, job: EngineTask[ImageToVideo], report: Report) -> dict[str, Any]:
        request = job.input
        report.log(
            "Move engine: a camera over the picture, computed on this machine. This is not the hosted model; "
            "nothing in the picture comes alive by itself."
        )
        plan = make_plan(request)
        report.log(described(plan))
        count = RATE * int(request.duration)
        report.progress("looking", 0.01)
        shot = Shot(request.image_url, job.sources[request.image_url], plan, int(request.duration))
        path, (width, height) = job.folder / "clip.mp4", shot.size
        provenance = WrittenProvenance(request.endpoint_id, request.wire(), None, self.name, self.version)
        with (
            closing(in_order(lambda number: shot.frame(number, count), range(count), name="move")) as frames,
            Movie(path, shot.size, Fraction(RATE), provenance) as movie,
        ):
            for done, planes in enumerate(frames, 1):
                movie.add(frame_of(planes))
                report.progress(f"moving {done} of {count}", 0.05 + 0.92 * done / count)
            report.progress("encoding", 0.98)
        facts = {"width": width, "height": height, "frames": count, "frame_rate": RATE}
        return {"video": OutputFile(path, "video/mp4", facts)}


move = Move()
"""The engine instance."""


class Shot:
    """Draws the frames of a clip, in any order and on any thread."""

    def __init__(self, source: str, data: bytes, plan: Plan, seconds: float) -> None:
        full = upright_size(source, data)
        self.size = width, height = frame_size(*full)
        larger = 2 * round(width * OVERSIZE / 2), 2 * round(height * OVERSIZE / 2)
        picture = open_picture(source, data, at_least=larger)
        # Transparency is composited over black.
        large, still = (flattened(picture.resize(size, Image.Resampling.LANCZOS)) for size in (larger, self.size))
        del picture  # It may take more memory than all other work.
        relief = relief_of(saliency_of(still))
        self._still, self._large, self._seconds = planes_of(still), planes_of(large), seconds
        self._path = Path(plan, relief.centre, width / height, seconds, full[0] / width)
        self._field = Field(relief, plan, width / height, [self._path.at(step / 12) for step in range(13)])
        self._effects = Effects(plan, self.size, seconds)
        self._xs, self._ys = map(_ticks, self.size, WAVE_CELL if plan.amount("ripple") else CELL)
        self._grid = np.meshgrid(np.array(self._xs) / width - 0.5, np.array(self._ys) / height - 0.5)

    def frame(self, number: int, count: int) -> Planes:
        """The planes of one frame; the first is the picture itself."""
        if not number:
            return self._still
        share = number / (count - 1)
        x, y = self._field.origin(*self._grid, self._path.at(share))
        light, blue, red = (self._warped(plane, x, y, part) for plane, part in zip(self._large, (1, 2, 2), strict=True))
        if number < BLEND_FRAMES:
            part = number / BLEND_FRAMES
            warped = zip(self._still, (light, blue, red), strict=True)
            light, blue, red = (Image.blend(still, plane, part) for still, plane in warped)
        return self._effects.over((light, blue, red), share * self._seconds)

    def _warped(self, plane: Image.Image, x: np.ndarray, y: np.ndarray, part: int) -> Image.Image:
        """A plane whose mesh shows the points (x, y) of the picture; chroma has half the width and height."""
        # Slightly inside: a sample exactly on the edge would count as outside and be black.
        across = np.clip((x + 0.5) * plane.width, 1e-3, plane.width - 1e-3)
        down = np.clip((y + 0.5) * plane.height, 1e-3, plane.height - 1e-3)
        corners = np.stack([across, down], axis=-1)
        quads = np.concatenate([corners[:-1, :-1], corners[1:, :-1], corners[1:, 1:], corners[:-1, 1:]], axis=-1)
        boxes = [
            (left // part, top // part, right // part, bottom // part)
            for top, bottom in pairwise(self._ys)
            for left, right in pairwise(self._xs)
        ]
        mesh = list(zip(boxes, quads.reshape(-1, 8).tolist(), strict=True))
        size = (self.size[0] // part, self.size[1] // part)
        return plane.transform(size, Image.Transform.MESH, mesh, Image.Resampling.BILINEAR)


def _ticks(length: int, cell: int) -> list[int]:
    """Even positions along a side, including both ends, so that they fall on integer pixels of all planes."""
    count = max(1, round(length / cell))
    return [2 * round(length / 2 * step / count) for step in range(count + 1)]


def planes_of(picture: Image.Image) -> Planes:
    """The planes of an RGB picture with even sides, in BT.709 of limited range."""
    width, height = picture.size
    light, blue, red = np.split(yuv(picture).to_ndarray().reshape(-1), [width * height, width * height * 5 // 4])
    half = (height // 2, width // 2)
    return (
        Image.fromarray(light.reshape(height, width)),
        Image.fromarray(blue.reshape(half)),
        Image.fromarray(red.reshape(half)),
    )


def frame_of(planes: Planes) -> av.VideoFrame:
    """The planes as a frame for a `Movie`."""
    flat = np.concatenate([np.asarray(plane).reshape(-1) for plane in planes])
    return av.VideoFrame.from_ndarray(flat.reshape(-1, planes[0].width), format="yuv420p")
