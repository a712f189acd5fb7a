"""The move engine: a camera move over one picture."""

from __future__ import annotations

from contextlib import closing
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from PIL import Image

from reelbook.models.image_to_video import ImageToVideo

from ..open_pictures import flattened, frame_size, open_picture, upright_size
from ..particles import Particles
from ..protocol import EngineTask, OutputFile, Report
from ..saliency import saliency_of
from ..video_writer import Movie, in_order, yuv
from ..write_provenance import WrittenProvenance
from .camera import Path, ease
from .field import Field, middle_of
from .plan import LIGHT, WEATHER, Plan, described, make_plan

RATE = 24
"""Frames per second."""

BLEND_FRAMES = 6
"""Frames over which the original picture is blended into the camera's view, so that the transition is not visible."""

OVERSIZE = 1.5
"""Size of the stored picture relative to a frame: close views have more detail, and bilinear sampling stays crisp."""

CELL, WAVE_CELL = (64, 64), (96, 16)
"""The width and height of the mesh's cells in pixels, which cost time each; waves need finer ones down the picture."""

LUMA = np.array([0.2126, 0.7152, 0.0722])


class Move:
    """Makes a clip of one picture by a camera move over it, as the prompt describes."""

    name = "move"
    version = "4"

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
            closing(in_order(lambda number: yuv(shot.frame(number, count)), range(count), name="move")) as frames,
            Movie(path, shot.size, Fraction(RATE), provenance) as movie,
        ):
            for done, frame in enumerate(frames, 1):
                movie.add(frame)
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
        self._large, self._still = (
            flattened(picture.resize(size, Image.Resampling.LANCZOS)) for size in (larger, self.size)
        )
        del picture  # It may take more memory than all other work.
        saliency = saliency_of(self._still)
        self._path = Path(plan, middle_of(saliency), width / height, seconds, full[0] / width)
        self._field = Field(saliency, plan, width / height)
        self._light = [(row, plan.amount(kind)) for kind, row in LIGHT.items() if plan.amount(kind)]
        draw, weather = np.random.default_rng(plan.seed), {kind: plan.amount(kind) for kind in WEATHER}
        self._particles = [
            Particles(kind, self.size, draw, many=min(1.6, 0.6 + amount)) for kind, amount in weather.items() if amount
        ]
        self._xs, self._ys = map(_ticks, self.size, WAVE_CELL if plan.amount("ripple") else CELL)
        self._grid = np.meshgrid(np.array(self._xs) / width - 0.5, np.array(self._ys) / height - 0.5)
        self._seconds = seconds

    def frame(self, number: int, count: int) -> Image.Image:
        """One frame; the first is the picture itself."""
        if not number:
            return self._still
        share = number / (count - 1)
        x, y = self._field.origin(*self._grid, self._path.at(share))
        # Slightly inside: a sample exactly on the edge would count as outside and be black.
        across, down = (
            np.clip((part + 0.5) * side, 1e-3, side - 1e-3) for part, side in zip((x, y), self._large.size, strict=True)
        )
        corners = np.stack([across, down], axis=-1)
        quads = np.concatenate([corners[:-1, :-1], corners[1:, :-1], corners[1:, 1:], corners[:-1, 1:]], axis=-1)
        boxes = [(left, top, right, bottom) for top, bottom in pairwise(self._ys) for left, right in pairwise(self._xs)]
        mesh = list(zip(boxes, quads.reshape(-1, 8).tolist(), strict=True))
        frame = self._large.transform(self.size, Image.Transform.MESH, mesh, Image.Resampling.BILINEAR)
        if number < BLEND_FRAMES:
            frame = Image.blend(self._still, frame, number / BLEND_FRAMES)
        return self._over(frame, share * self._seconds)

    def _over(self, frame: Image.Image, seconds: float) -> Image.Image:
        """The frame in the light of its moment, with the weather in front; both set in gradually."""
        frame = self._lit(frame, ease(seconds / self._seconds)) if self._light else frame
        for particles in self._particles:
            for colour, mask in particles.masks(seconds, ease(min(1.0, seconds / 1.5))):
                frame.paste(colour, mask=mask)
        return frame

    def _lit(self, frame: Image.Image, progress: float) -> Image.Image:
        tint, colour = np.ones(3), 1.0
        for row, amount in self._light:
            part = min(1.0, progress * amount)
            tint *= 1 + part * (np.array(row["tint"]) - 1)
            colour *= 1 + part * (row["colour"] - 1)
        matrix = tint[:, None] * (colour * np.eye(3) + (1 - colour) * LUMA)
        return frame.convert("RGB", tuple(np.pad(matrix, ((0, 0), (0, 1))).ravel().tolist()))


def _ticks(length: int, cell: int) -> list[int]:
    """The borders of the mesh's cells along a side, including both ends."""
    count = max(1, round(length / cell))
    return [round(length * step / count) for step in range(count + 1)]
