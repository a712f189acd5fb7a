"""The move engine: a camera move over one picture."""

from __future__ import annotations

import math
import random
from contextlib import closing
from fractions import Fraction
from itertools import pairwise
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageColor

from reelbook.models.image_to_video import ImageToVideo

from ..open_pictures import flattened, frame_size, open_picture, upright_size
from ..particles import PARTICLES, Particles
from ..protocol import EngineTask, OutputFile, Report
from ..saliency import saliency_of
from ..sketch.noise import cloudy
from ..video_writer import Movie, in_order, yuv
from ..write_provenance import WrittenProvenance
from .camera import Path, ease
from .field import Field, relief_of
from .plan import LIGHT, WEATHER, Plan, described, make_plan

RATE = 24
"""Frames per second."""

BLEND_FRAMES = 6
"""Frames over which the original picture is blended into the camera's view, so that the transition is not visible."""

OVERSIZE = 1.5
"""Size of the stored picture relative to a frame: close views have more detail, and bilinear sampling stays crisp."""

CELL, WAVE_CELL = (64, 64), (96, 16)
"""The width and height of the mesh's cells in pixels, which cost time each; waves need finer ones down the picture."""

BLACK, WHITE, NEUTRAL = 16, 235, 128
"""The bounds of luma, and neutral chroma, in video of limited range."""

Planes = tuple[Image.Image, Image.Image, Image.Image]
"""Luma and two chroma planes, the latter at half the width and height."""

FOG = "#c8cdcf"


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


class Effects:
    """The light and the weather of one clip; both set in gradually, and frames can be drawn in any order."""

    def __init__(self, plan: Plan, size: tuple[int, int], seconds: float) -> None:
        self._size, self._seconds = size, seconds
        self._amounts = {kind: plan.amount(kind) for kind in (*LIGHT, *WEATHER) if plan.amount(kind)}
        draw, random_numbers = random.Random(plan.seed + 1), np.random.default_rng(plan.seed)
        self._strikes = [draw.uniform(part + 0.1, part + 0.8) * seconds / 3 for part in range(3)]
        self._phases = [draw.uniform(0, math.tau) for _ in range(3)]
        self._particles = [
            Particles(kind, size, random_numbers, many=min(1.6, 0.4 + amount))
            for kind, amount in self._amounts.items()
            if kind in PARTICLES
        ]
        veil = np.tile(cloudy((plan.seed, "fog"), 1.8)[::4, ::2], 2)
        self._veil = Image.fromarray(np.rint(255 * veil).astype(np.uint8))

    def over(self, planes: Planes, seconds: float) -> Planes:
        """The planes of a frame in the light of their moment, with the weather in front."""
        planes = self._lit(planes, seconds) if self._amounts.keys() & LIGHT.keys() else planes
        if fog := self._amounts.get("fog"):
            width, height = self._veil.size
            left = 0.035 * seconds * width % (width / 2)
            box = (left, 0.0, left + width / 2, float(height))
            strength = 0.75 * fog * ease(min(1.0, seconds / 2.5))
            seen = self._veil.resize(self._size, Image.Resampling.BICUBIC, box=box)
            _lay(planes, seen.point([round(value * strength) for value in range(256)]), FOG)
        for particles in self._particles:
            for colour, mask in particles.masks(seconds, ease(min(1.0, seconds / 1.5))):
                _lay(planes, mask, colour)
        return planes

    def _lit(self, planes: Planes, seconds: float) -> Planes:
        progress, amounts = ease(seconds / self._seconds), self._amounts
        gain, lift, blue, red, colour = (
            sum(progress * amounts.get(kind, 0) * row.get(name, 0.0) for kind, row in LIGHT.items())
            for name in ("gain", "lift", "blue", "red", "colour")
        )
        rates = zip((1.3, 3.1, 7.3), self._phases, strict=True)
        flame = sum(math.sin(math.tau * rate * seconds + phase) / 3 for rate, phase in rates)
        unrest = flame * amounts.get("flicker", 0) * min(1.0, seconds)
        gain = (1 + gain) * (1 + 0.13 * unrest)
        bolt = max(math.exp((strike - seconds) / 0.12) * (seconds >= strike) for strike in self._strikes)
        scale = np.arange(256.0)
        level = np.clip((scale - BLACK) / (WHITE - BLACK), 0, 1)
        # Highlights, such as a lamp or a window, stay bright when the rest is darkened.
        level = level * (gain + max(0.0, 1 - gain) * level**4)
        level = level + lift * level * (1 - level) + 0.6 * amounts.get("flash", 0) * bolt * (1 - 0.5 * level)
        chroma = (scale - NEUTRAL) * max(0.0, 1 + colour) + NEUTRAL
        light, first, second = planes
        return (
            light.point(_table(BLACK + (WHITE - BLACK) * level)),
            first.point(_table(chroma + blue - 3 * unrest)),
            second.point(_table(chroma + red + 2.5 * unrest)),
        )


def _lay(planes: Planes, mask: Image.Image, colour: str) -> None:
    """Paint a colour into the planes, which are changed in place."""
    red, green, blue = (part / 255 for part in ImageColor.getrgb(colour)[:3])
    luma = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    values = BLACK + 219 * luma, NEUTRAL + 224 * (blue - luma) / 1.8556, NEUTRAL + 224 * (red - luma) / 1.5748
    half = mask.reduce(2)
    for plane, value, cover in zip(planes, values, (mask, half, half), strict=True):
        plane.paste(round(value), (0, 0), cover)


def _table(values: NDArray[np.float64]) -> list[int]:
    return [int(value) for value in np.clip(np.rint(values), 0, 255)]


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
