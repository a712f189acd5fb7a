"""The table of figures: the function that draws each, its placement, size and movement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from ..puppet import Part
from . import air, animals, boats, buildings, cosmos, creatures, hooves, people, plants, sealife, things, vehicles
from .kit import Kit

Where = Literal["sky", "water", "under", "ground", "road", "table", "heaven"]
"""The usual placement: `heaven` is in front of the sky and behind the land, `under` is below the surface of water."""

Gait = Literal["stand", "walk", "roll", "sail", "fly", "drift", "swim", "hover"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A noun that can be drawn."""

    draw: Callable[[Kit], list[Part]]
    where: Where
    size: float
    """Its height when it is alone, as a fraction of the picture's shorter side."""
    gait: Gait = "stand"
    speed: float = 0.0
    """Its speed per second, in shorter sides of the picture."""
    width: float = 1.0
    """Its width as a multiple of its height."""
    shadow: float = 0.0
    """The width of its shadow as a multiple of its height; 0 for none."""


def _on_water(draw: Callable[[Kit], list[Part]], size: float, speed: float, width: float = 1.1) -> Figure:
    return Figure(draw, "water", size, "sail", speed, width)


def _swimmer(draw: Callable[[Kit], list[Part]], size: float, speed: float, width: float = 1.5) -> Figure:
    return Figure(draw, "under", size, "swim", speed, width)


def _flyer(draw: Callable[[Kit], list[Part]], size: float, speed: float, width: float = 1.6) -> Figure:
    return Figure(draw, "sky", size, "fly", speed, width)


def _drifter(draw: Callable[[Kit], list[Part]], size: float, speed: float, width: float = 0.8) -> Figure:
    return Figure(draw, "sky", size, "drift", speed, width)


def _walker(draw: Callable[[Kit], list[Part]], size: float, speed: float, width: float = 1.3) -> Figure:
    return Figure(draw, "ground", size, "walk", speed, width, shadow=0.7 * width)


def _driver(draw: Callable[[Kit], list[Part]], size: float, speed: float, width: float = 2.2) -> Figure:
    return Figure(draw, "road", size, "roll", speed, width, shadow=0.95 * width)


def _standing(draw: Callable[[Kit], list[Part]], size: float, width: float = 0.8) -> Figure:
    return Figure(draw, "ground", size, "stand", 0.0, width, shadow=0.9 * width)


def _small(draw: Callable[[Kit], list[Part]], size: float, width: float = 1.0) -> Figure:
    return Figure(draw, "table", size, "stand", 0.0, width, shadow=0.9 * width)


def _heavenly(draw: Callable[[Kit], list[Part]], size: float, speed: float = 0.0) -> Figure:
    return Figure(draw, "heaven", size, "stand", speed, 1.0)


FIGURES: Mapping[str, Figure] = {
    "boat": _on_water(boats.boat, 0.44, 0.05),
    "paper boat": _on_water(boats.paper_boat, 0.26, 0.045, 1.9),
    "rowing boat": _on_water(boats.rowing_boat, 0.26, 0.04, 2.0),
    "ship": _on_water(boats.ship, 0.38, 0.04, 2.4),
    "duck": _on_water(sealife.duck, 0.17, 0.03, 1.4),
    "swan": _on_water(sealife.swan, 0.28, 0.03, 1.4),
    "whale": _swimmer(sealife.whale, 0.46, 0.05, 1.9),
    "dolphin": _swimmer(sealife.dolphin, 0.26, 0.09, 2.0),
    "submarine": _swimmer(boats.submarine, 0.36, 0.06, 2.0),
    "fish": _swimmer(sealife.fish, 0.20, 0.07),
    "shark": _swimmer(sealife.shark, 0.34, 0.08, 2.0),
    "jellyfish": _swimmer(sealife.jellyfish, 0.34, 0.015, 0.8),
    "turtle": _swimmer(sealife.turtle, 0.34, 0.05, 1.6),
    "octopus": _swimmer(sealife.octopus, 0.38, 0.02, 0.9),
    "bird": _flyer(air.bird, 0.115, 0.10),
    "owl": _flyer(air.owl, 0.24, 0.07, 2.2),
    "butterfly": _flyer(air.butterfly, 0.15, 0.05, 1.4),
    "bee": _flyer(air.bee, 0.12, 0.07, 1.4),
    "plane": _flyer(air.plane, 0.28, 0.11, 2.4),
    "helicopter": _flyer(air.helicopter, 0.30, 0.07, 2.0),
    "dragon": _flyer(creatures.dragon, 0.34, 0.07, 2.6),
    "kite": _drifter(air.kite, 0.24, 0.012),
    "balloon": _drifter(air.balloon, 0.34, 0.02, 0.7),
    "hot-air balloon": _drifter(air.hot_air_balloon, 0.40, 0.015),
    "lantern": _drifter(air.lantern, 0.18, 0.012),
    "bubble": _drifter(air.bubble, 0.2, 0.02, 1.0),
    "cloud": _drifter(cosmos.cloud, 0.22, 0.02, 2.0),
    "rocket": Figure(cosmos.rocket, "sky", 0.5, "hover", 0.03, 0.7),
    "ufo": Figure(cosmos.ufo, "sky", 0.26, "hover", 0.05, 2.0),
    "satellite": Figure(cosmos.satellite, "sky", 0.28, "hover", 0.03, 2.0),
    "astronaut": Figure(people.astronaut, "sky", 0.46, "hover", 0.015, 0.9),
    "sun": _heavenly(cosmos.sun, 0.2),
    "moon": _heavenly(cosmos.moon, 0.24),
    "rainbow": _heavenly(cosmos.rainbow, 0.62),
    "star": _heavenly(cosmos.star, 0.16),
    "planet": _heavenly(cosmos.planet, 0.42, 0.004),
    "comet": _heavenly(cosmos.comet, 0.16, 0.16),
    "firework": _heavenly(cosmos.firework, 0.5),
    "car": _driver(vehicles.car, 0.20, 0.15),
    "truck": _driver(vehicles.truck, 0.28, 0.12),
    "bus": _driver(vehicles.bus, 0.28, 0.12),
    "train": _driver(vehicles.train, 0.24, 0.12, 5.0),
    "bicycle": _driver(vehicles.bicycle, 0.36, 0.10, 1.2),
    "motorcycle": _driver(vehicles.motorcycle, 0.30, 0.16, 1.6),
    "person": _walker(people.person, 0.46, 0.06, 0.5),
    "person with umbrella": _walker(people.under_umbrella, 0.46, 0.05, 0.9),
    "dancer": Figure(people.dancer, "ground", 0.5, "stand", 0.0, 0.6, shadow=0.4),
    "robot": _walker(people.robot, 0.42, 0.04, 0.7),
    "cat": _walker(animals.cat, 0.26, 0.05),
    "dog": _walker(animals.dog, 0.28, 0.08),
    "fox": _walker(animals.fox, 0.24, 0.06, 1.5),
    "horse": _walker(hooves.horse, 0.40, 0.10),
    "unicorn": _walker(hooves.unicorn, 0.42, 0.08),
    "cow": _walker(hooves.cow, 0.34, 0.025),
    "sheep": _walker(hooves.sheep, 0.24, 0.02),
    "deer": _walker(hooves.deer, 0.40, 0.05, 1.1),
    "rabbit": _walker(animals.rabbit, 0.20, 0.06, 1.0),
    "elephant": _walker(hooves.elephant, 0.46, 0.035),
    "lion": _walker(animals.lion, 0.32, 0.05, 1.4),
    "bear": _walker(animals.bear, 0.36, 0.04),
    "penguin": _walker(creatures.penguin, 0.30, 0.02, 0.7),
    "chicken": _walker(creatures.chicken, 0.20, 0.02, 1.1),
    "dinosaur": _walker(creatures.dinosaur, 0.52, 0.03, 2.2),
    "frog": Figure(creatures.frog, "water", 0.16, "stand", 0.0, 1.3),
    "snail": _walker(creatures.snail, 0.18, 0.01, 1.7),
    "tree": _standing(plants.tree, 0.56),
    "pine": _standing(plants.pine, 0.56, 0.6),
    "palm": _standing(plants.palm, 0.56),
    "flower": _standing(plants.flower, 0.34, 0.4),
    "sunflower": _standing(plants.sunflower, 0.46, 0.4),
    "cactus": _standing(plants.cactus, 0.44, 0.5),
    "mushroom": _standing(plants.mushroom, 0.26, 0.9),
    "pumpkin": _standing(plants.pumpkin, 0.22, 1.3),
    "house": _standing(buildings.house, 0.46, 1.2),
    "church": _standing(buildings.church, 0.56, 0.9),
    "castle": _standing(things.sandcastle, 0.28, 1.2),
    "tower": _standing(buildings.tower, 0.74, 0.5),
    "lighthouse": Figure(buildings.lighthouse, "water", 0.62, "stand", 0.0, 1.0),
    "mill": _standing(buildings.mill, 0.6, 0.6),
    "bridge": Figure(buildings.bridge, "water", 0.34, "stand", 0.0, 4.0),
    "tent": _standing(buildings.tent, 0.28, 1.8),
    "fire": _standing(buildings.campfire, 0.26, 0.8),
    "fountain": _standing(buildings.fountain, 0.44, 1.5),
    "lamp": _standing(buildings.lamp, 0.6, 0.2),
    "carousel": _standing(buildings.carousel, 0.66, 0.9),
    "snowman": _standing(things.snowman, 0.46, 0.6),
    "umbrella": _standing(people.umbrella, 0.34, 0.9),
    "ball": Figure(things.ball, "ground", 0.16, "roll", 0.06, 1.0, shadow=0.8),
    "bench": _standing(things.bench, 0.2, 1.8),
    "candle": _small(things.candle, 0.34, 0.5),
    "cup": _small(things.cup, 0.22, 1.2),
    "book": _small(things.book, 0.22, 1.8),
    "cake": _small(things.cake, 0.28, 1.4),
    "apple": _small(things.apple, 0.16, 0.9),
    "vase": _small(things.vase, 0.4, 0.5),
    "clock": _small(things.clock, 0.26, 0.9),
    "teapot": _small(things.teapot, 0.24, 1.4),
    "guitar": _small(things.guitar, 0.5, 0.4),
    "gift": _small(things.gift, 0.22, 0.9),
}
"""The figures by name: all names of `nouns.ACTORS`, and a few that only the engine uses."""
