"""The default place of each noun, for prompts that name no place."""

from __future__ import annotations

from collections.abc import Mapping

_HOMES: Mapping[str, str] = {
    "sea": "boat, ship, whale, dolphin, lighthouse, submarine",
    "pond": "paper boat, duck, swan, frog",
    "lake": "rowing boat",
    "underwater": "fish, shark, jellyfish, turtle, octopus",
    "clouds": "plane, dragon",
    "sky": "cloud, rainbow, bubble, hot-air balloon",
    "space": "rocket, ufo, planet, comet, satellite, astronaut, star",
    "meadow": "bird, butterfly, bee, balloon, kite, horse, unicorn, cow, sheep, rabbit, sunflower, flower, tree, house, sun",
    "hills": "moon, lantern, owl, mill, church, helicopter, deer, dinosaur",
    "city": "car, truck, bus, motorcycle, robot, lamp, tower, firework",
    "street": "umbrella",
    "railway": "train",
    "park": "person, dog, bicycle, fountain, bench, ball, carousel, dancer",
    "garden": "cat, snail, chicken, mushroom, gift",
    "forest": "fox, bear, fire, pumpkin",
    "mountains": "tent, pine",
    "snowfield": "snowman, penguin",
    "desert": "cactus, elephant, lion",
    "beach": "palm, castle",
    "river": "bridge",
    "room": "candle, cup, book, cake, apple, vase, clock, teapot, guitar",
}

HOME: Mapping[str, str] = {kind: place for place, kinds in _HOMES.items() for kind in kinds.split(", ")}
"""The default place of every noun that has one."""

NIGHTLY = frozenset({"moon", "candle", "fire", "lantern", "firework", "owl", "comet", "lamp"})
"""Nouns that imply darkness if the prompt names no time of day."""

SWIMMERS = frozenset({"fish", "shark", "jellyfish", "turtle", "octopus"})
"""Nouns that imply a scene under water, unless another noun requires the surface."""

UNKNOWN = ("meadow", "sea", "mountains", "hills", "lake", "clouds", "desert", "beach")
"""Places for a prompt of unknown words, chosen by its hash."""
