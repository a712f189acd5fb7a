"""Settings whose true values a test knows, and ways to spend credits on them: the belief of `decide`, and the full grid.

64 settings of three axes with four levels, whose true values are drawn anew each time in four ways, with a noise that
nobody knows. A value costs one credit; the full grid is every setting four times.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np

from reelbook.decide.posterior import FloatArray, choose, learn_values

LEVELS = np.array(list(product(range(4), repeat=3)))
SETTINGS, GRID, BUDGET = 64, 256, 102
FIRST, BATCH = 16, 8


class World(NamedTuple):
    """True values of all settings, and what one try of a setting gives."""

    true: FloatArray
    tries: Callable[[int], float]


def scaled(values: FloatArray) -> FloatArray:
    """The same with mean 0 and variance 1."""
    return np.asarray((values - values.mean()) / values.std())


def additive(rng: np.random.Generator) -> FloatArray:
    """The sum of what each level adds."""
    return scaled(np.asarray(sum(rng.normal(size=4)[LEVELS[:, axis]] for axis in range(3))))


def interacting(rng: np.random.Generator) -> FloatArray:
    """Half of the variance from levels, a third from two axes together, the rest from nothing that axes explain."""
    both = np.asarray(sum(rng.normal(size=(4, 4))[LEVELS[:, a], LEVELS[:, b]] for a, b in ((0, 1), (0, 2), (1, 2))))
    own = rng.normal(size=SETTINGS)
    return scaled(np.sqrt(0.5) * additive(rng) + np.sqrt(0.3) * scaled(both) + np.sqrt(0.2) * scaled(own))


def lucky(rng: np.random.Generator) -> FloatArray:
    """Nearly additive, and one setting above all others that nothing announces."""
    true = scaled(additive(rng) + 0.3 * rng.normal(size=SETTINGS))
    true[rng.integers(SETTINGS)] = true.max() + 1.5
    return true


def flat(rng: np.random.Generator) -> FloatArray:
    """Half as much variation as elsewhere, with the most noise."""
    return 0.5 * scaled(np.sqrt(0.75) * additive(rng) + 0.5 * rng.normal(size=SETTINGS))


WORLDS = {"additive": additive, "interacting": interacting, "lucky corner": lucky, "flat": flat}


def drawn(kind: str, rng: np.random.Generator) -> World:
    """A world of a kind, with its noise."""
    true = WORLDS[kind](rng)
    noise = 1.0 if kind == "flat" else rng.uniform(0.4, 1.1)
    return World(true, lambda setting: float(true[setting] + noise * rng.normal()))


# The ways to spend credits.


def spend_on_belief(world: World, rng: np.random.Generator, budget: int) -> int:
    """What the belief would choose after so many credits, in rounds."""
    settings: list[int] = []
    tries: list[float] = []
    while True:
        belief = learn_values(LEVELS, settings, np.array(tries), np.zeros(len(tries), int))
        if len(settings) >= budget:
            return int(belief.mean.argmax())
        spent = np.bincount(np.array(settings, int), minlength=SETTINGS)
        fresh = choose(belief, rng, min(BATCH if settings else FIRST, budget - len(settings)), spent=spent)
        settings += fresh
        tries += map(world.tries, fresh)


def spend_on_grid(world: World, rng: np.random.Generator, budget: int) -> int:
    """Every setting equally often."""
    return int(np.argmax([np.mean([world.tries(one) for _ in range(budget // SETTINGS)]) for one in range(SETTINGS)]))


def regret_of(true: FloatArray, choice: int) -> float:
    """What a choice lacks, as a share of what the best is above the median."""
    above = true.max() - np.median(true)
    return float((true.max() - true[choice]) / above) if above else 0.0
