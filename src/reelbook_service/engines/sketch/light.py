"""Colours, and the light of a scene, which changes every colour in it."""

from __future__ import annotations

import colorsys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reelbook.models.text_to_video import LoRA

from .noise import generator
from .tables import COLOURS, TABLE
from .words import Scene

Colour = tuple[float, float, float]
"""Red, green and blue from 0 to 1."""


def hexed(text: str) -> Colour:
    """A colour from its notation.

    >>> hexed("#ff0033")
    (1.0, 0.0, 0.2)
    """
    return int(text[1:3], 16) / 255, int(text[3:5], 16) / 255, int(text[5:7], 16) / 255


def named(word: str) -> Colour:
    """The colour that a word names."""
    return hexed(COLOURS[word])


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
        red, green, blue = (
            surface * lamp * (1 - depth) + air * depth
            for surface, lamp, air in zip(material, self.ambient, self.haze, strict=True)
        )
        return red, green, blue

    def changed(self, change: Callable[[Colour], Colour]) -> Light:
        """The light with each of its colours changed."""
        return replace(
            self, top=change(self.top), middle=change(self.middle), low=change(self.low), glow=change(self.glow),
            ambient=change(self.ambient), haze=change(self.haze),
        )  # fmt: skip


def _light(name: str) -> Light:
    row = TABLE["lights"][name]
    colours: dict[str, Any] = dict(zip(_PARTS, map(hexed, row["colours"].split()), strict=True))
    return Light(**colours, height=row["height"], across=row["across"], dark=row.get("dark", False))


def light_of(scene: Scene, loras: Sequence[LoRA] = ()) -> Light:
    """The light for a scene's time, weather, colour grade, words and LoRA styles."""
    light = _light("neon" if scene.grade == "neon" else scene.time)
    light = replace(light, across=min(0.88, max(0.12, light.across + 0.1 * scene.chance("sun"))))
    light = _clouded(light, scene)
    for tint in scene.tints:
        light = _washed(light, named(tint), 0.35)
    light = _turned(light, hue=0.015 * scene.chance("hue"), colour=1 + 0.08 * scene.chance("colour"))
    if scene.grade == "pastel":
        light = _washed(light, (0.97, 0.90, 0.95), 0.38)
    for lora in loras:
        light = _styled(light, lora)
    return light


def _clouded(light: Light, scene: Scene) -> Light:
    """The light under clouds: rain and storm make the sky grey; the time of day stays recognisable."""
    named = scene.weather
    grey = max((TABLE["grey"][name] for name in named if name in TABLE["grey"]), default=0.0)
    if not grey or scene.time in ("space", "mars", "underwater"):
        return light
    brightness = sum(light.ambient) / 2.6 * (1 - 0.42 * ("storm" in named) - 0.12 * ("rain" in named))
    if light.dark or scene.time in ("dusk", "sunset"):
        grey *= 0.6
    cover = _light("grey").changed(lambda colour: scaled(colour, brightness))
    parts: dict[str, Any] = {name: mixed(getattr(light, name), getattr(cover, name), grey) for name in _PARTS}
    return replace(light, dark=light.dark or "storm" in named, **parts)


_PARTS = ("top", "middle", "low", "glow", "ambient", "haze")


def _washed(light: Light, tint: Colour, share: float) -> Light:
    """The light tinted by a colour: the sky by `share`, objects less."""
    washed = light.changed(lambda colour: mixed(colour, tint, share))
    return replace(washed, ambient=mixed(light.ambient, tint, share * 0.4), glow=light.glow)


def _turned(light: Light, *, hue: float, colour: float) -> Light:
    def turn(value: Colour) -> Colour:
        turned, lightness, strength = colorsys.rgb_to_hls(*value)
        return colorsys.hls_to_rgb((turned + hue) % 1, lightness, min(1, strength * colour))

    return replace(light.changed(turn), ambient=light.ambient)


def _styled(light: Light, lora: LoRA) -> Light:
    """The light in a style derived from the name of LoRA weights: no file is read, and scale 0 changes nothing."""
    if lora.scale == 0:
        return light
    rng = generator("lora", lora.path, lora.weight_name)
    tint = colorsys.hls_to_rgb(rng.random(), rng.uniform(0.45, 0.65), rng.uniform(0.5, 0.9))
    hue, colour = rng.uniform(-0.09, 0.09), rng.uniform(-0.4, 0.5)
    washed = _washed(light, tint, float(1 - np.exp(-0.32 * lora.scale)))
    return _turned(washed, hue=hue * lora.scale, colour=max(0.2, 1 + colour * min(lora.scale, 2)))
