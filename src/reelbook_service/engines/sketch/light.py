"""Colours, and the light of a scene, which changes every colour in it."""

from __future__ import annotations

import colorsys
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reelbook.models.text_to_video import LoRA

from .noise import generator
from .tables import TABLE
from .words import Scene

Colour = tuple[float, float, float]
"""Red, green and blue from 0 to 1."""

_PARTS = ("top", "middle", "low", "glow", "ambient", "haze")


def hexed(text: str) -> Colour:
    """A colour from its notation.

    >>> hexed("#ff0033")
    (1.0, 0.0, 0.2)
    """
    return int(text[1:3], 16) / 255, int(text[3:5], 16) / 255, int(text[5:7], 16) / 255


def named(word: str) -> Colour:
    """The colour that a word names."""
    return hexed(TABLE["colour"][word].split()[0])


def mixed(first: Colour, second: Colour, share: float) -> Colour:
    """A mixture of two colours; `share` is that of the second."""
    red, green, blue = (a + (b - a) * share for a, b in zip(first, second, strict=True))
    return red, green, blue


def scaled(colour: Colour, factor: float) -> Colour:
    """A colour made lighter or darker by a factor, at most 1 in each channel."""
    red, green, blue = (min(1.0, part * factor) for part in colour)
    return red, green, blue


def in_bytes(colour: Colour) -> tuple[int, int, int]:
    """A colour as Pillow takes it."""
    red, green, blue = (int(max(0.0, min(1.0, part)) * 255 + 0.5) for part in colour)
    return red, green, blue


@dataclass(frozen=True, slots=True)
class Light:
    """The colours of light and air."""

    top: Colour
    middle: Colour
    low: Colour
    """With `top` and `middle`, the sky from the zenith to the horizon."""
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
        red, green, blue = (surface * lamp for surface, lamp in zip(material, self.ambient, strict=True))
        return mixed((red, green, blue), self.haze, depth)

    def changed(self, change: Callable[[Colour], Colour]) -> Light:
        """The light with each of its colours changed."""
        parts: dict[str, Any] = {name: change(getattr(self, name)) for name in _PARTS}
        return replace(self, **parts)

    def washed(self, tint: Colour, share: float) -> Light:
        """The light tinted by a colour: the sky by `share`, objects less."""
        washed = self.changed(lambda colour: mixed(colour, tint, share))
        return replace(washed, ambient=mixed(self.ambient, tint, share * 0.4), glow=self.glow)

    def turned(self, hue: float, colour: float) -> Light:
        """The light with other hues, and with more or less colour."""

        def turn(value: Colour) -> Colour:
            turned, lightness, strength = colorsys.rgb_to_hls(*value)
            return colorsys.hls_to_rgb((turned + hue) % 1, lightness, min(1, strength * colour))

        return replace(self.changed(turn), ambient=self.ambient)


def light_of(scene: Scene, loras: Sequence[LoRA] = ()) -> Light:
    """The light for a scene's time, weather, colour grade, words and LoRA styles."""
    light = _light("neon" if scene.grade == "neon" else scene.time)
    light = replace(light, across=min(0.88, max(0.12, light.across + 0.1 * scene.chance("sun"))))
    light = _clouded(light, scene)
    for tint in scene.tints:
        light = light.washed(named(tint), 0.35)
    light = light.turned(0.015 * scene.chance("hue"), 1 + 0.08 * scene.chance("colour"))
    if scene.grade == "pastel":
        light = light.washed((0.97, 0.90, 0.95), 0.38)
    for lora in loras:
        # A style derived from the name of the weights: no file is read, and scale 0 changes nothing.
        rng, scale = generator("lora", lora.path, lora.weight_name), lora.scale
        style = colorsys.hls_to_rgb(rng.random(), rng.uniform(0.45, 0.65), rng.uniform(0.5, 0.9))
        hue, colour = rng.uniform(-0.09, 0.09), rng.uniform(-0.4, 0.5)
        if scale:
            light = light.washed(style, 1 - math.exp(-0.32 * scale))
            light = light.turned(hue * scale, max(0.2, 1 + colour * min(scale, 2)))
    return light


def _light(name: str) -> Light:
    row = TABLE["lights"][name]
    colours: dict[str, Any] = dict(zip(_PARTS, map(hexed, row["colours"].split()), strict=True))
    return Light(**colours, height=row["height"], across=row["across"], dark=row.get("dark", False))


def _clouded(light: Light, scene: Scene) -> Light:
    """The light under clouds: rain and storm make the sky grey; the time of day stays recognisable."""
    grey = max((TABLE["grey"][name] for name in scene.weather if name in TABLE["grey"]), default=0.0)
    if not grey or scene.time in ("space", "mars", "underwater"):
        return light
    storm, rain = "storm" in scene.weather, "rain" in scene.weather
    brightness = sum(light.ambient) / 2.6 * (1 - 0.42 * storm - 0.12 * rain)
    if light.dark or scene.time in ("dusk", "sunset"):
        grey *= 0.6
    cover = _light("grey").changed(lambda colour: scaled(colour, brightness))
    parts: dict[str, Any] = {name: mixed(getattr(light, name), getattr(cover, name), grey) for name in _PARTS}
    return replace(light, dark=light.dark or storm, **parts)
