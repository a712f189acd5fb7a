"""How often the best setting is found, and for how many credits: the belief of `decide` beside other ways to spend them.

    PYTHONPATH=. .venv/bin/python tests/bench/race.py [--draws 400]

64 settings of three axes with four levels, whose true values are drawn anew each time in four ways, with a noise that
nobody knows. A value costs one credit; the full grid is every setting four times. A choice counts if it is among the true
best three; regret is what it lacks, as a share of what the best is above the median. Shares come with Wilson's 95 %
interval. Beside it, at equal credits: settings at random, and halving. The gates are on shares, not on time: they say
BEYOND where the interval of a share lies below the peer's share.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np

from reelbook.decide.posterior import FloatArray, choose, learn_values
from tests.bench.results import record

LEVELS = np.array(list(product(range(4), repeat=3)))
SETTINGS, GRID, QUARTER, BUDGET = 64, 256, 64, 102
FIRST, BATCH = 16, 8


class World(NamedTuple):
    """True values of all settings, and what one try of a setting gives."""

    true: FloatArray
    tries: Callable[[int], float]


class Outcome(NamedTuple):
    """What a choice is worth."""

    top: bool
    regret: float


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


def spend_on_belief(world: World, rng: np.random.Generator, budgets: Iterable[int]) -> list[int]:
    """What the belief would choose after so many credits, in rounds."""
    settings: list[int] = []
    tries: list[float] = []
    found = []
    for budget in budgets:
        while True:
            belief = learn_values(LEVELS, settings, np.array(tries), np.zeros(len(tries), int))
            if len(settings) >= budget:
                break
            spent = np.bincount(np.array(settings, int), minlength=SETTINGS)
            count = min(BATCH if settings else FIRST, budget - len(settings))
            fresh = choose(belief, rng, count, spent=spent)
            settings += fresh
            tries += map(world.tries, fresh)
        found.append(belief.best())
    return found


def spend_on_grid(world: World, rng: np.random.Generator, budget: int) -> int:
    """Every setting equally often."""
    return int(np.argmax([np.mean([world.tries(one) for _ in range(budget // SETTINGS)]) for one in range(SETTINGS)]))


def spend_at_random(world: World, rng: np.random.Generator, budget: int) -> int:
    """Some settings at random, each as often as in the full grid."""
    those = rng.choice(SETTINGS, budget // 4, replace=False)
    means = [np.mean([world.tries(int(one)) for _ in range(4)]) for one in those]
    return int(those[np.argmax(means)])


def spend_on_halves(world: World, rng: np.random.Generator, budget: int) -> int:
    """All, then the better half again with what is left, and so on."""
    alive, total, count, left = np.arange(SETTINGS), np.zeros(SETTINGS), np.zeros(SETTINGS), budget
    for rounds in range(6, 0, -1):
        times = max(1, left // rounds // len(alive)) if rounds < 6 else 1
        if times * len(alive) > left:
            break
        for one in alive:
            total[one] += sum(world.tries(int(one)) for _ in range(times))
        count[alive] += times
        left -= times * len(alive)
        alive = alive[np.argsort(-total[alive] / count[alive], kind="stable")[: len(alive) // 2]]
    return int(alive[np.argmax(total[alive] / count[alive])])


def worth(true: FloatArray, choice: int) -> Outcome:
    """How good a choice is."""
    above = true.max() - np.median(true)
    return Outcome(bool((true > true[choice]).sum() < 3), float((true.max() - true[choice]) / above) if above else 0.0)


def one_draw(kind: str, seed: int) -> dict[str, Outcome]:
    """Every way in one world; each meets it with noise of its own."""
    world = drawn(kind, np.random.default_rng([7, seed]))
    rng = np.random.default_rng([8, seed])
    quarter, most = spend_on_belief(world, rng, (QUARTER, BUDGET))
    choices = {"quarter": quarter, "ours": most, "grid": spend_on_grid(world, rng, GRID)}
    choices["random"] = spend_at_random(world, rng, BUDGET)
    choices["halving"] = spend_on_halves(world, rng, BUDGET)
    return {name: worth(world.true, choice) for name, choice in choices.items()}


# What was found.


def wilson(hits: int, draws: int) -> tuple[float, float]:
    """The 95 % interval of a share."""
    share, z = hits / draws, 1.96
    middle = (share + z * z / (2 * draws)) / (1 + z * z / draws)
    half = z * math.sqrt(share * (1 - share) / draws + z * z / (4 * draws * draws)) / (1 + z * z / draws)
    return middle - half, middle + half


CREDITS = {"quarter": QUARTER, "ours": BUDGET, "grid": GRID, "random": BUDGET, "halving": BUDGET}
NAMES = {
    "quarter": "ours",
    "ours": "ours",
    "grid": "the full grid",
    "random": "at random",
    "halving": "halving",
}


def reported(kind: str, outcomes: list[dict[str, Outcome]]) -> bool:
    """Print one line for each way, leave a row for each peer, and say whether ours is as good as all."""
    print(f"\n{kind}, {len(outcomes)} draws")
    shares: dict[str, tuple[float, float]] = {}
    for name, spent in CREDITS.items():
        those = [outcome[name] for outcome in outcomes]
        hits, regret = sum(one.top for one in those), float(np.mean([one.regret for one in those]))
        low, high = wilson(hits, len(those))
        shares[name] = hits / len(those), (high - low) / 2
        print(
            f"  {NAMES[name]:<14} {spent:>4} credits  top 3 {hits / len(those):.3f} ({low:.3f}-{high:.3f})  regret {regret:.3f}"
        )
    met = True
    for name in ("grid", "random", "halving"):
        (ours, own), (share, half) = shares["ours"], shares[name]
        allowed = 1 - math.hypot(half, own) / max(share, 0.01)
        met &= record(
            f"{kind}: best three, {BUDGET} credits beside {CREDITS[name]}",
            *(ours, round(allowed, 3)),
            peer=NAMES[name],
            theirs=share,
            ratio=ours / max(share, 0.01),
            at_least=True,
        )
    return met


def main() -> int:
    """Race, and leave the rows."""
    parser = argparse.ArgumentParser(description="Compare ways to find the best of 64 settings.")
    parser.add_argument("--draws", type=int, default=400)
    draws = range(parser.parse_args().draws)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # Of the processes that follow, of which there is one for each core.
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        met = [reported(kind, list(pool.map(partial(one_draw, kind), draws, chunksize=4))) for kind in WORLDS]
    return 0 if all(met) else 1


if __name__ == "__main__":
    raise SystemExit(main())
