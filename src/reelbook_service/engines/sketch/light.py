"""Colours, and the light of a scene, which changes every colour in it."""

from __future__ import annotations

import colorsys
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reelbook.models.text_to_video import LoRA

from .noise import NoiseField, generator
from .tables import TABLE
from .words import Scene

Colour = NoiseField
"""Red, green and blue from 0 to 1."""


def hexed(text: str) -> Colour:
    """A colour from its notation.

    >>> hexed("#ff0033").tolist()
    [1.0, 0.0, 0.2]
    """
    return np.array([int(text[at : at + 2], 16) for at in (1, 3, 5)]) / 255


def named(word: str) -> Colour:
    """The colour that a word names."""
    return hexed(TABLE["colour"][word].split()[0])


def mixed(first: Colour, second: Colour | tuple[float, float, float], share: float) -> Colour:
    """A mixture of two colours; `share` is that of the second."""
    return np.asarray(first + (np.asarray(second) - first) * share)


def scaled(colour: Colour, factor: float) -> Colour:
    """A colour made lighter or darker by a factor, at most 1 in each channel."""
    return np.minimum(1.0, colour * factor)


def in_bytes(colour: Colour) -> tuple[int, int, int]:
    """A colour as Pillow takes it."""
    red, green, blue = (np.clip(colour, 0, 1) * 255 + 0.5).astype(int).tolist()
    return red, green, blue


@dataclass(frozen=True, slots=True)
class Light:
    """The colours of light and air."""

    zenith: Colour
    middle: Colour
    low: Colour
    """These three are the sky's: overhead, halfway and at the horizon."""
    glow: Colour
    """The colour of sun, moon and lamps."""
    ambient: Colour
    """The colour of a white surface in this light."""
    haze: Colour
    """The colour that distant objects fade into."""
    height: float
    """Height of the sun, from 0 at the horizon to 1 overhead."""
    across: float
    """Horizontal position of the sun, from 0 at the left to 1 at the right."""
    dark: bool = False
    """Whether windows and lamps are lit."""

    def on(self, material: Colour, *, depth: float = 0.0) -> Colour:
        """The apparent colour of a material: lit, then faded into the haze by depth, from 0 (none) to 1 (all haze)."""
        return mixed(material * self.ambient, self.haze, depth)

    def washed(self, tint: Colour, share: float) -> Light:
        """The light tinted by a colour: the sky by `share`, objects less, lamps not at all."""
        shares = {"zenith": share, "middle": share, "low": share, "ambient": 0.4 * share, "haze": share}
        colours: dict[str, Any] = {name: mixed(getattr(self, name), tint, part) for name, part in shares.items()}
        return replace(self, **colours)


def light_of(scene: Scene, loras: Sequence[LoRA] = ()) -> Light:
    """The light for a scene's time, weather, colour grade, words and LoRA styles."""
    row = TABLE["time"]["neon" if scene.grade == "neon" else scene.time]
    zenith, middle, low, glow, ambient, haze = map(hexed, row["colours"].split())
    across = min(0.88, max(0.12, row["across"] + 0.1 * scene.chance("sun")))
    light = Light(zenith, middle, low, glow, ambient, haze, row["height"], across, row.get("dark", False))
    grey = max((row["grey"] for name in scene.weather if "grey" in (row := TABLE["weather"][name])), default=0.0)
    if grey and scene.time not in ("space", "mars", "underwater"):
        # Rain and storm make the sky grey; the time of day stays recognisable.
        storm, rain = "storm" in scene.weather, "rain" in scene.weather
        brightness = float(light.ambient.sum()) / 2.6 * (1 - 0.42 * storm - 0.2 * rain)
        grey *= 0.6 if light.dark or scene.time in ("dusk", "sunset") else 1
        light = replace(light.washed(scaled(hexed("#a4aeb8"), brightness), grey), dark=light.dark or storm)
    for tint in scene.tints:
        light = light.washed(named(tint), 0.35)
    light = light.washed(np.array(colorsys.hls_to_rgb(scene.chance("hue") % 1, 0.5, 0.7)), 0.03)
    for lora in loras:
        # A style derived from the name of the weights: no file is read, and scale 0 changes nothing.
        rng = generator("lora", lora.path, lora.weight_name)
        style = colorsys.hls_to_rgb(rng.random(), rng.uniform(0.45, 0.65), rng.uniform(0.5, 0.9))
        light = light.washed(np.array(style), 1 - math.exp(-0.4 * lora.scale))
    return light
