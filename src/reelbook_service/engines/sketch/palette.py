"""The light of a scene: a few colours shared by everything in it."""

from __future__ import annotations

import colorsys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reelbook.models.text_to_video import LoRA

from .noise import generator
from .scene import Scene
from .vocabulary import COLOURS

Colour = tuple[float, float, float]
"""Red, green and blue from 0 to 1."""

_Change = Callable[[Colour], Colour]


@dataclass(frozen=True, slots=True)
class Light:
    """The colours of light and air, which change every colour of the scene."""

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


def rgb(red: int, green: int, blue: int) -> Colour:
    """A colour from values of 0 to 255."""
    return red / 255, green / 255, blue / 255


def named(word: str) -> Colour:
    """The colour that a word names."""
    return rgb(*COLOURS[word])


def mixed(first: Colour, second: Colour, share: float) -> Colour:
    """A mixture of two colours; `share` is that of the second."""
    red, green, blue = (a + (b - a) * share for a, b in zip(first, second, strict=True))
    return red, green, blue


def scaled(colour: Colour, factor: float) -> Colour:
    """A colour made lighter or darker by a factor, at most 1 in each channel."""
    red, green, blue = (min(1.0, part * factor) for part in colour)
    return red, green, blue


_LIGHTS: dict[str, Light] = {
    "day": Light(
        rgb(52, 120, 196), rgb(124, 184, 228), rgb(214, 234, 240), rgb(255, 250, 228),
        (1.0, 0.99, 0.95), rgb(190, 216, 232), 0.72, 0.72,
    ),
    "dawn": Light(
        rgb(98, 124, 186), rgb(232, 176, 186), rgb(255, 222, 184), rgb(255, 232, 196),
        (0.94, 0.83, 0.82), rgb(242, 204, 194), 0.16, 0.3,
    ),
    "golden": Light(
        rgb(104, 142, 180), rgb(240, 200, 136), rgb(255, 226, 160), rgb(255, 240, 190),
        (1.0, 0.84, 0.62), rgb(246, 212, 152), 0.3, 0.7,
    ),
    "sunset": Light(
        rgb(58, 48, 104), rgb(206, 92, 100), rgb(255, 180, 98), rgb(255, 228, 160),
        (0.84, 0.60, 0.56), rgb(240, 146, 104), 0.1, 0.62,
    ),
    "dusk": Light(
        rgb(22, 28, 66), rgb(78, 72, 130), rgb(232, 142, 126), rgb(255, 214, 170),
        (0.46, 0.44, 0.60), rgb(140, 106, 136), 0.02, 0.4,
    ),
    "night": Light(
        rgb(7, 11, 34), rgb(20, 34, 76), rgb(52, 74, 122), rgb(240, 240, 222),
        (0.35, 0.43, 0.64), rgb(46, 66, 112), 0.66, 0.74, dark=True,
    ),
    "space": Light(
        rgb(5, 6, 20), rgb(12, 12, 38), rgb(24, 16, 54), rgb(255, 246, 224),
        (0.92, 0.92, 1.0), rgb(20, 18, 50), 0.7, 0.2, dark=True,
    ),
    "mars": Light(
        rgb(150, 92, 70), rgb(216, 152, 112), rgb(240, 196, 156), rgb(255, 246, 230),
        (1.0, 0.84, 0.74), rgb(226, 168, 130), 0.5, 0.7,
    ),
    "underwater": Light(
        rgb(96, 206, 216), rgb(24, 120, 170), rgb(8, 52, 104), rgb(214, 255, 246),
        (0.70, 0.92, 0.98), rgb(20, 98, 148), 0.95, 0.45,
    ),
    "cave": Light(
        rgb(120, 190, 214), rgb(186, 222, 220), rgb(222, 238, 220), rgb(255, 246, 214),
        (0.50, 0.50, 0.60), rgb(74, 84, 108), 0.5, 0.5,
    ),
    "stage": Light(
        rgb(20, 10, 24), rgb(60, 18, 40), rgb(96, 28, 48), rgb(255, 236, 200),
        (0.9, 0.8, 0.78), rgb(80, 30, 50), 0.9, 0.5, dark=True,
    ),
}  # fmt: skip

_GREY = Light(
    rgb(96, 108, 122), rgb(146, 158, 168), rgb(196, 204, 208), rgb(236, 238, 236),
    (0.78, 0.81, 0.84), rgb(178, 188, 194), 0.72, 0.72,
)  # fmt: skip
_NEON = Light(
    rgb(14, 8, 42), rgb(70, 20, 104), rgb(214, 54, 138), rgb(120, 240, 240),
    (0.52, 0.42, 0.76), rgb(120, 36, 120), 0.3, 0.5, dark=True,
)  # fmt: skip


def light_of(scene: Scene, loras: Sequence[LoRA] = ()) -> Light:
    """The light for a scene's time, weather, colour grade, words and LoRA styles."""
    light = _LIGHTS.get(scene.time, _LIGHTS["day"])
    style = scene.style
    light = replace(light, across=min(0.88, max(0.12, light.across + 0.2 * style[8])))
    if scene.grade == "neon":
        light = replace(_NEON, across=light.across)
    light = _clouded(light, scene)
    for tint in scene.tints:
        light = _washed(light, named(tint), 0.35)
    light = _turned(light, hue=0.022 * style[15], colour=1 + 0.12 * style[16])
    light = _GRADES.get(scene.grade, _unchanged)(light)
    for lora in loras:
        light = _styled(light, lora)
    return light


def _clouded(light: Light, scene: Scene) -> Light:
    """The light under clouds: rain and storm make the sky grey; the time of day stays recognisable."""
    weather = scene.weather
    grey = max(0.85 * weather.rain, 0.9 * weather.storm, 0.4 * weather.snow, 0.5 * weather.fog)
    grey = max(grey, 0.4 * (weather.clouds > 0.7))
    if not grey or scene.time in ("space", "underwater", "cave", "stage", "mars"):
        return light
    brightness = sum(light.ambient) / 2.6 * (1 - 0.42 * weather.storm - 0.12 * weather.rain)
    if light.dark or scene.time in ("dusk", "sunset"):
        grey *= 0.6
    cover = _each(_GREY, lambda colour: scaled(colour, brightness))
    return replace(
        light,
        dark=light.dark or weather.storm > 0,
        top=mixed(light.top, cover.top, grey),
        middle=mixed(light.middle, cover.middle, grey),
        low=mixed(light.low, cover.low, grey),
        glow=mixed(light.glow, cover.glow, grey),
        ambient=mixed(light.ambient, cover.ambient, grey),
        haze=mixed(light.haze, cover.haze, grey),
    )


def _each(light: Light, change: _Change) -> Light:
    return replace(
        light,
        top=change(light.top),
        middle=change(light.middle),
        low=change(light.low),
        glow=change(light.glow),
        ambient=change(light.ambient),
        haze=change(light.haze),
    )


def _unchanged(light: Light) -> Light:
    return light


def _grey(colour: Colour) -> Colour:
    value = 0.3 * colour[0] + 0.59 * colour[1] + 0.11 * colour[2]
    return value, value, value


def _washed(light: Light, tint: Colour, share: float) -> Light:
    """The light tinted by a colour: the sky by `share`, objects less."""
    washed = _each(light, lambda colour: mixed(colour, tint, share))
    return replace(washed, ambient=mixed(light.ambient, tint, share * 0.4), glow=light.glow)


def _turned(light: Light, *, hue: float, colour: float) -> Light:
    def turn(value: Colour) -> Colour:
        turned, lightness, strength = colorsys.rgb_to_hls(*value)
        return colorsys.hls_to_rgb((turned + hue) % 1, lightness, min(1, strength * colour))

    return replace(_each(light, turn), ambient=light.ambient)


def _pastel(light: Light) -> Light:
    soft = _each(light, lambda colour: mixed(colour, (0.97, 0.90, 0.95), 0.38))
    return replace(soft, ambient=mixed(light.ambient, (1.0, 0.95, 0.98), 0.5))


_GRADES: dict[str, Callable[[Light], Light]] = {
    "pastel": _pastel,
    "mono": lambda light: _each(light, _grey),
    "sepia": lambda light: _each(light, lambda colour: mixed(_grey(colour), (0.86, 0.66, 0.42), 0.45)),
    "vivid": lambda light: _turned(light, hue=0, colour=1.5),
    "muted": lambda light: _each(light, lambda colour: mixed(colour, _grey(colour), 0.5)),
}


def _styled(light: Light, lora: LoRA) -> Light:
    """The light in a style derived from the name of LoRA weights: no file is read, and scale 0 changes nothing."""
    if lora.scale == 0:
        return light
    rng = generator("lora", lora.path, lora.weight_name)
    tint = colorsys.hls_to_rgb(rng.random(), rng.uniform(0.45, 0.65), rng.uniform(0.5, 0.9))
    hue, colour = rng.uniform(-0.09, 0.09), rng.uniform(-0.4, 0.5)
    share = 1 - np.exp(-0.32 * lora.scale)
    washed = _washed(light, tint, float(share))
    return _turned(washed, hue=hue * lora.scale, colour=max(0.2, 1 + colour * min(lora.scale, 2)))
