"""Colours, and the light of a scene, which changes every colour in it."""

from __future__ import annotations

import colorsys
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

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

    colours: NoiseField
    """The sky at the zenith, halfway and at the horizon, the glow, the ambient light and the haze, one in each row."""
    height: float
    """Height of the sun, from 0 at the horizon to 1 overhead."""
    across: float
    """Horizontal position of the sun, from 0 at the left to 1 at the right."""
    dark: bool = False
    """Whether windows and lamps are lit."""

    @property
    def glow(self) -> Colour:
        """The colour of sun, moon and lamps."""
        return np.asarray(self.colours[3])

    @property
    def ambient(self) -> Colour:
        """The colour of a white surface in this light."""
        return np.asarray(self.colours[4])

    @property
    def haze(self) -> Colour:
        """The colour that distant objects fade into."""
        return np.asarray(self.colours[5])

    def on(self, material: Colour, *, depth: float = 0.0) -> Colour:
        """The apparent colour of a material: lit, then faded into the haze by depth, from 0 (none) to 1 (all haze)."""
        return mixed(material * self.ambient, self.haze, depth)

    def shining(self, ambient: Colour) -> Light:
        """The light with another colour on white surfaces."""
        return replace(self, colours=np.stack([*self.colours[:4], ambient, self.haze]))

    def washed(self, tint: Colour, share: float) -> Light:
        """The light tinted by a colour: the sky by `share`, objects less, lamps not at all."""
        shares = np.array([share, share, share, 0, share * 0.4, share])[:, None]
        return replace(self, colours=self.colours + (tint - self.colours) * shares)

    def turned(self, hue: float, colour: float) -> Light:
        """The light with other hues, and with more or less colour; white surfaces keep theirs."""
        turned = self.colours.copy()
        for row in (0, 1, 2, 3, 5):
            angle, lightness, strength = colorsys.rgb_to_hls(*self.colours[row].tolist())
            turned[row] = colorsys.hls_to_rgb((angle + hue) % 1, lightness, min(1, strength * colour))
        return replace(self, colours=turned)


def light_of(scene: Scene, loras: Sequence[LoRA] = ()) -> Light:
    """The light for a scene's time, weather, colour grade, words and LoRA styles."""
    light = _light("neon" if scene.grade == "neon" else scene.time)
    light = replace(light, across=min(0.88, max(0.12, light.across + 0.1 * scene.chance("sun"))))
    grey = max((row["grey"] for name in scene.weather if "grey" in (row := TABLE["weather"][name])), default=0.0)
    if grey and scene.time not in ("space", "mars", "underwater"):
        # Rain and storm make the sky grey; the time of day stays recognisable.
        storm, rain = "storm" in scene.weather, "rain" in scene.weather
        brightness = float(light.ambient.sum()) / 2.6 * (1 - 0.42 * storm - 0.12 * rain)
        grey *= 0.6 if light.dark or scene.time in ("dusk", "sunset") else 1
        cover = scaled(_light("grey").colours, brightness)
        light = replace(light, colours=mixed(light.colours, cover, grey), dark=light.dark or storm)
    for tint in scene.tints:
        light = light.washed(named(tint), 0.35)
    light = light.turned(0.015 * scene.chance("hue"), 1 + 0.08 * scene.chance("colour"))
    if scene.grade == "pastel":
        light = light.washed(hexed("#f7e6f2"), 0.38)
    for lora in loras:
        # A style derived from the name of the weights: no file is read, and scale 0 changes nothing.
        rng, scale = generator("lora", lora.path, lora.weight_name), lora.scale
        style = colorsys.hls_to_rgb(rng.random(), rng.uniform(0.45, 0.65), rng.uniform(0.5, 0.9))
        hue, colour = rng.uniform(-0.09, 0.09), rng.uniform(-0.4, 0.5)
        if scale:
            light = light.washed(np.array(style), 1 - math.exp(-0.32 * scale))
            light = light.turned(hue * scale, max(0.2, 1 + colour * min(scale, 2)))
    return light


def _light(name: str) -> Light:
    row = TABLE["time"][name]
    colours = np.stack([hexed(colour) for colour in row["colours"].split()])
    return Light(colours, row["height"], row["across"], row.get("dark", False))
