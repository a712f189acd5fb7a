"""Small things in the air: rain, snow, leaves, sparks, stars. The rows of `particles.toml`, for videos and sketches alike."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

import numpy as np
from PIL import Image

PARTICLES: Mapping[str, Mapping[str, Any]] = tomllib.loads(
    files(__package__).joinpath("particles.toml").read_text("utf-8")
)

TURNS, NEARNESS = 8, 4
"""Stored rotations of a particle, and its sizes; near ones are large, fast and soft-edged."""


class Particles:
    """The particles of one kind, at any moment in any order."""

    def __init__(
        self, kind: str, size: tuple[int, int], draw: np.random.Generator, *, many: float = 1.0, wind: float = 0.0
    ) -> None:
        """`wind` drives them to the right, in heights a second."""
        self._row, self._size, self._wind = PARTICLES[kind], size, wind + PARTICLES[kind].get("wind", 0.0)
        count = max(3, round(self._row["count"] * many * min(3.0, size[0] / size[1] * 9 / 16 + 0.2)))
        # More far ones than near ones.
        self._near = np.sort(draw.uniform(0, 1, count) ** 1.7)
        self._start = draw.uniform(0, 1, (2, count))
        self._phase = draw.uniform(0, 1, count)
        self._pace = draw.uniform(0.8, 1.2, count)
        self._sprites = [
            [self._sprite((level + 0.5) / NEARNESS, turn / TURNS) for turn in range(TURNS)] for level in range(NEARNESS)
        ]

    def masks(self, seconds: float, strength: float = 1.0) -> Iterator[tuple[str, Image.Image]]:
        """Yield each colour, as #rrggbb, and the opacity of the particles of that colour at each pixel."""
        row, (width, height), pace, near = self._row, self._size, self._pace, 0.35 + 0.65 * self._near
        swing = row.get("sway", 0.0) * np.sin(math.tau * (0.35 * seconds * pace + self._phase)) * near
        # The field is a little larger than the frame, so that nothing appears or disappears at its edge.
        xs = ((self._start[0] * 1.4 + self._wind * near * seconds * height / width) % 1.4 - 0.2) * width
        ys = ((self._start[1] * 1.4 + row["fall"] * near * pace * seconds) % 1.4 - 0.2) * height
        alpha = 255 * strength * row["strength"] * np.ones_like(xs)
        if flicker := row.get("flicker"):
            alpha *= 1 - flicker * (0.5 + 0.5 * np.sin(math.tau * (0.6 * seconds * pace + 3 * self._phase)))
        turns = (self._phase + row.get("spin", 0.0) * seconds * pace) % 1 * TURNS
        levels = np.minimum(NEARNESS - 1, self._near * NEARNESS)
        table = np.stack([xs + swing * height, ys, levels, turns, alpha], -1)
        colours = row["colours"].split()
        for index, colour in enumerate(colours):
            mask = Image.new("L", self._size)
            for x, y, level, turn, value in table[index :: len(colours)].tolist():
                sprite = self._sprites[int(level)][int(turn) % TURNS]
                mask.paste(int(value), (round(x - sprite.width / 2), round(y - sprite.height / 2)), sprite)
            yield colour, mask

    def _sprite(self, near: float, turn: float) -> Image.Image:
        """One particle as a mask: an ellipse with a soft edge, along its path where it only falls."""
        row, height = self._row, self._size[1]
        long, wide = (max(1.2, row[side] * height * (0.3 + 0.7 * near**1.5)) for side in ("long", "wide"))
        angle = math.tau * turn if "spin" in row else math.atan2(self._wind, row["fall"])
        # Spinning particles are sometimes seen from the side.
        wide *= abs(math.cos(math.tau * turn * 1.5)) * 0.7 + 0.3 if "spin" in row else 1.0
        reach = math.ceil(max(long, wide) / 2) + 2
        y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1].astype(float)
        along, aside = x * math.sin(angle) + y * math.cos(angle), x * math.cos(angle) - y * math.sin(angle)
        distance = np.hypot(along / (long / 2), aside / (wide / 2))
        match row.get("look"):
            case "glow":
                cover = np.minimum(1, np.exp(-((3.2 * distance) ** 2)) + 0.3 * np.exp(-((1.6 * distance) ** 2)))
            case "ring":
                cover = np.exp(-((4 * (distance - 0.8)) ** 2)) + 0.15 * (distance < 0.8)
            case _:
                edge = (0.35 + 0.5 * near) if row["long"] == row["wide"] else 0.35
                cover = np.clip((1 + edge - distance) / (2 * edge), 0, 1) ** 1.5 * (1 - 0.35 * near)
        return Image.fromarray(np.rint(255 * np.minimum(cover, 1)).astype(np.uint8))
