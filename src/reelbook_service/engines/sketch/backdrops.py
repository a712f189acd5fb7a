"""The table of backdrops, which are painted between the ground and the sky."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from . import city, depths, flora, interiors, land, town, woods
from .layers import Layer
from .stage import Stage

BACKDROPS: Mapping[str, Callable[[Stage], list[Layer]]] = {
    "mountains": land.mountains,
    "hills": land.hills,
    "dunes": land.dunes,
    "mesas": land.mesas,
    "island": land.island,
    "icebergs": land.icebergs,
    "volcano": land.volcano,
    "craters": land.craters,
    "waterfall": land.waterfall,
    "pines": flora.pines,
    "trees": flora.trees,
    "palms": flora.palms,
    "woods": woods.woods,
    "jungle": woods.jungle,
    "hedge": flora.hedge,
    "blossoms": flora.blossoms,
    "reeds": flora.reeds,
    "skyline": city.skyline,
    "facades": city.facades,
    "village": town.village,
    "barn": town.barn,
    "castle": town.castle,
    "quay": town.quay,
    "room": interiors.room,
    "cave": interiors.cave,
    "stage": interiors.theatre,
    "reef": depths.reef,
    "planets": depths.planets,
}
"""The function that paints each backdrop, by its name in `vocabulary.PLACES`."""
