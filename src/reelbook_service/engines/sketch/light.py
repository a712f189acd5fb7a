"""Colours, and light, which changes every colour in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .noise import NoiseField

Colour = NoiseField
"""Red, green and blue from 0 to 1."""


def hexed(text: str) -> Colour:
    """A colour from its notation.

    >>> hexed("#ff0033").tolist()
    [1.0, 0.0, 0.2]
    """
    return np.array([int(text[at : at + 2], 16) for at in (1, 3, 5)]) / 255


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
