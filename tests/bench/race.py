"""How often the best setting is found, and for how many credits: the belief of `decide` beside other ways to spend them.

    PYTHONPATH=. .venv/bin/python tests/bench/race.py [--draws 400] [--peer-draws 100] [--judge-draws 40] [--only worlds]

`worlds`: 64 settings of three axes with four levels, whose true values are drawn anew each time in four ways, with a
noise that nobody knows. `table`: 64 settings of text-to-video × 16 prompts, made once by the embedded engine and measured;
what is wanted is a weighted mix of measures that is drawn anew each time and does not add up over the axes. `judge`: a
person who compares two clips, and errs. A value costs one credit; the full grid is every setting four times. A choice
counts if it is among the true best three; regret is what it lacks, as a share of what the best is above the median.
Shares come with Wilson's 95 % interval. Beside it, at equal credits: settings at random, halving and optuna's TPE.
The gates are on shares, not on time: they say BEYOND where the interval of a share lies below the peer's share.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np

from reelbook.decide.posterior import Belief, FloatArray, choose, learn_pairs, learn_values
from reelbook.media.measuring.metrics import measure_file
from reelbook.models.text_to_video import TextToVideo
from reelbook_service.engines.protocol import EngineTask, Report
from reelbook_service.engines.sketch.engine import sketch
from tests.bench.results import failed, record

ROOT = Path(__file__).parents[2]
LEVELS = np.array(list(product(range(4), repeat=3)))
SETTINGS, GRID, QUARTER, BUDGET = 64, 256, 64, 102
FIRST, BATCH = 16, 8
PEER = "optuna's TPE"
CACHE = ROOT / "build" / "bench-race-table.json"
MEASURES = ("sharpness", "contrast", "colourfulness", "motion", "temporal_flickering")
AXES = {
    "first_pass_num_inference_steps": (2, 4, 7, 12),
    "tone_map_compression_ratio": (0.0, 0.3, 0.6, 1.0),
    "frame_rate": (6, 12, 24, 48),
}
PROMPTS = (
    *("a red sailing boat at sunset", "a neon city in the rain", "a whale under water", "a snowman in falling snow"),
    *("three balloons over a lake", "a cat on a sofa", "a train through hills", "a house by the sea at night"),
    *("a forest in autumn", "a desert at noon", "birds over a field", "a market street", "a waterfall in fog"),
    *("a rocket at dawn", "a lighthouse in a storm", "a horse on a beach"),
)


class World(NamedTuple):
    """True values of all settings, and what one try of a setting gives."""

    true: FloatArray
    tries: Callable[[int], tuple[float, int]]
    """A value of a setting and the number of its prompt."""


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
    return World(true, lambda setting: (float(true[setting] + noise * rng.normal()), 0))


# The ways to spend credits.


def spend_on_belief(world: World, rng: np.random.Generator, budgets: Iterable[int]) -> list[int]:
    """What the belief would choose after so many credits, in rounds."""
    settings: list[int] = []
    tries: list[tuple[float, int]] = []
    found = []
    for budget in budgets:
        while True:
            values, blocks = np.array(tries).reshape(-1, 2).T
            belief = learn_values(LEVELS, settings, values, blocks.astype(int))
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
    return int(
        np.argmax([np.mean([world.tries(one)[0] for _ in range(budget // SETTINGS)]) for one in range(SETTINGS)])
    )


def spend_at_random(world: World, rng: np.random.Generator, budget: int) -> int:
    """Some settings at random, each as often as in the full grid."""
    those = rng.choice(SETTINGS, budget // 4, replace=False)
    means = [np.mean([world.tries(int(one))[0] for _ in range(4)]) for one in those]
    return int(those[np.argmax(means)])


def spend_on_halves(world: World, rng: np.random.Generator, budget: int) -> int:
    """All, then the better half again with what is left, and so on."""
    alive, total, count, left = np.arange(SETTINGS), np.zeros(SETTINGS), np.zeros(SETTINGS), budget
    for rounds in range(6, 0, -1):
        times = max(1, left // rounds // len(alive)) if rounds < 6 else 1
        if times * len(alive) > left:
            break
        for one in alive:
            total[one] += sum(world.tries(int(one))[0] for _ in range(times))
        count[alive] += times
        left -= times * len(alive)
        alive = alive[np.argsort(-total[alive] / count[alive], kind="stable")[: len(alive) // 2]]
    return int(alive[np.argmax(total[alive] / count[alive])])


def spend_on_tpe(world: World, rng: np.random.Generator, budget: int) -> int:
    """What optuna tries; of those that it tried, the one with the best mean."""
    import optuna  # type: ignore[import-not-found]  # In an environment of its own: see .ci/peers.

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=int(rng.integers(2**31)), multivariate=False)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    total, count = np.zeros(SETTINGS), np.zeros(SETTINGS)
    for _ in range(budget):
        trial = study.ask()
        one = int(sum(4 ** (2 - axis) * trial.suggest_categorical(f"axis {axis}", list(range(4))) for axis in range(3)))
        value = world.tries(one)[0]
        total[one] += value
        count[one] += 1
        study.tell(trial, value)
    means = np.where(count > 0, total / np.maximum(count, 1), -np.inf)
    return int(np.argmax(means))


def worth(true: FloatArray, choice: int) -> Outcome:
    """How good a choice is."""
    above = true.max() - np.median(true)
    return Outcome(bool((true > true[choice]).sum() < 3), float((true.max() - true[choice]) / above) if above else 0.0)


def one_draw(make: Callable[[np.random.Generator], World], peer: bool, seed: int) -> dict[str, Outcome]:
    """Every way in one world; each meets it with noise of its own."""
    world = make(np.random.default_rng([7, seed]))
    rng = np.random.default_rng([8, seed])
    quarter, most = spend_on_belief(world, rng, (QUARTER, BUDGET))
    choices = {"quarter": quarter, "ours": most, "grid": spend_on_grid(world, rng, GRID)}
    choices["random"] = spend_at_random(world, rng, BUDGET)
    choices["halving"] = spend_on_halves(world, rng, BUDGET)
    if peer:
        choices["tpe"] = spend_on_tpe(world, rng, BUDGET)
    return {name: worth(world.true, choice) for name, choice in choices.items()}


# A table of measures, made once by the engine.


def measured(place: tuple[int, int]) -> list[float]:
    """The measures of one setting with one prompt."""
    setting, prompt = place
    values = {name: values[level] for (name, values), level in zip(AXES.items(), LEVELS[setting], strict=True)}
    request = TextToVideo(prompt=PROMPTS[prompt], num_frames=9, resolution="480p", aspect_ratio="1:1", **values)
    with tempfile.TemporaryDirectory() as folder:
        sketch(EngineTask(request, 1000 * prompt + setting, Path(folder)), Report())
        figures = measure_file(Path(folder) / "clip.mp4", MEASURES)
    return [float(figures[name]) for name in MEASURES]  # type: ignore[arg-type]  # All are numbers.


def table_of_measures(pool: ProcessPoolExecutor) -> FloatArray:
    """Settings × prompts × measures; from the file of an earlier bench if there is one."""
    heading = json.dumps([AXES, PROMPTS, MEASURES])
    if CACHE.exists() and (known := json.loads(CACHE.read_text(encoding="utf-8")))["heading"] == heading:
        return np.array(known["table"])
    places = list(product(range(SETTINGS), range(len(PROMPTS))))
    rows = np.array(list(pool.map(measured, places, chunksize=8))).reshape(SETTINGS, len(PROMPTS), len(MEASURES))
    CACHE.parent.mkdir(exist_ok=True)
    CACHE.write_text(json.dumps({"heading": heading, "table": rows.tolist()}), encoding="utf-8")
    return rows


def wanted(table: FloatArray, rng: np.random.Generator) -> World:
    """A utility of the measures with products and a most-liked amount, over settings and prompts."""
    parts = (table - table.mean(axis=(0, 1))) / (table.std(axis=(0, 1)) + 1e-12)
    linear, liked = rng.normal(size=len(MEASURES)), rng.normal(size=len(MEASURES))
    one, other = rng.choice(len(MEASURES), 2, replace=False)
    utility = (
        parts @ linear - 0.5 * ((parts - liked) ** 2).mean(axis=2) + rng.normal() * parts[..., one] * parts[..., other]
    )
    left: dict[int, list[int]] = {}

    def tries(setting: int) -> tuple[float, int]:
        if not left.get(setting):
            left[setting] = list(rng.permutation(len(PROMPTS)))
        prompt = left[setting].pop()
        return float(utility[setting, prompt]), prompt

    return World(utility.mean(axis=1), tries)


# A judge.


def judged(noise: float, seed: int) -> dict[str, Outcome]:
    """Pairs chosen by the belief, beside twice as many random pairs of four clips of every setting."""
    rng = np.random.default_rng([9, seed])
    true = scaled(np.sqrt(0.75) * additive(rng) + np.sqrt(0.25) * scaled(rng.normal(size=SETTINGS)))

    def prefers(lead: float) -> float:
        return float(rng.random() < 1 / (1 + np.exp(-lead / 0.5)))

    clips = true[:, None] + noise * rng.normal(size=(SETTINGS, 4))
    pairs = [rng.choice(SETTINGS, 2, replace=False) for _ in range(400)]
    shares = [prefers(clips[left, rng.integers(4)] - clips[right, rng.integers(4)]) for left, right in pairs]
    strengths = bradley_terry(np.array(pairs), np.array(shares))
    return {
        "grid": worth(true, int(np.argmax(strengths))),
        "ours": worth(true, choose_by_judge(true, noise, prefers, rng)),
    }


def bradley_terry(pairs: FloatArray, shares: FloatArray) -> FloatArray:
    """Strengths that explain the judgements best, with a little ridge."""
    design, strengths = np.zeros((len(pairs), SETTINGS)), np.zeros(SETTINGS)
    design[np.arange(len(pairs)), pairs[:, 0]], design[np.arange(len(pairs)), pairs[:, 1]] = 1, -1
    for _ in range(12):
        chance = 1 / (1 + np.exp(-design @ strengths))
        inner = (design * (chance * (1 - chance))[:, None]).T @ design + 0.5 * np.eye(SETTINGS)
        strengths += np.linalg.solve(inner, design.T @ (shares - chance) - 0.5 * strengths)
    return strengths


def choose_by_judge(true: FloatArray, noise: float, prefers: Callable[[float], float], rng: np.random.Generator) -> int:
    """The choice after 200 judgements of at most 102 clips."""
    values: list[float] = []
    clips: dict[int, list[int]] = {}
    rows: list[tuple[int, int, float, int, int]] = []

    def clip_of(setting: int) -> int:
        those = clips.setdefault(setting, [])
        if len(values) < BUDGET and (not those or rng.random() < 0.5):
            those.append(len(values))
            values.append(true[setting] + noise * rng.normal())
        return int(rng.choice(those))

    while True:
        left, right, share, one, other = np.array(rows).reshape(-1, 5).T
        belief = learn_pairs(LEVELS, left.astype(int), right.astype(int), share, one.astype(int), other.astype(int))
        if len(rows) >= 200:
            return belief.best(np.array([setting in clips for setting in range(SETTINGS)]))
        for _ in range(min(20, 200 - len(rows))):
            first, second = choose_two(belief, rng, clips, len(values))
            pair = clip_of(first), clip_of(second)
            rows.append((first, second, prefers(values[pair[0]] - values[pair[1]]), *pair))


def choose_two(belief: Belief, rng: np.random.Generator, clips: dict[int, list[int]], made: int) -> tuple[int, int]:
    """Two settings that may be the best, with a clip or with one left to make."""
    open_ = np.array([made < BUDGET - 1 or setting in clips for setting in range(SETTINGS)])
    (first,) = choose(belief, rng, 1, open_=open_)
    open_[first] = False
    (second,) = choose(belief, rng, 1, open_=open_)
    return first, second


# What was found.


def attempted(draw: Callable[[int], dict[str, Outcome]], seed: int) -> dict[str, Outcome] | str:
    """One draw, or why it failed, so that the others go on."""
    try:
        return draw(seed)
    except Exception as error:  # A failure of ours can be of any kind, and is a row of the table.
        return f"{type(error).__name__}: {error}"


def wilson(hits: int, draws: int) -> tuple[float, float]:
    """The 95 % interval of a share."""
    share, z = hits / draws, 1.96
    middle = (share + z * z / (2 * draws)) / (1 + z * z / draws)
    half = z * math.sqrt(share * (1 - share) / draws + z * z / (4 * draws * draws)) / (1 + z * z / draws)
    return middle - half, middle + half


CREDITS = {"quarter": QUARTER, "ours": BUDGET, "grid": GRID, "random": BUDGET, "halving": BUDGET, "tpe": BUDGET}
NAMES = {
    "quarter": "ours",
    "ours": "ours",
    "grid": "the full grid",
    "random": "at random",
    "halving": "halving",
    "tpe": PEER,
}


def reported(heading: str, draws: list[dict[str, Outcome] | str], credits: dict[str, int]) -> bool:
    """Print one line for each way, leave a row for each peer, and say whether ours is as good as all, in every draw."""
    outcomes, errors = [one for one in draws if isinstance(one, dict)], [one for one in draws if isinstance(one, str)]
    print(f"\n{heading}, {len(draws)} draws")
    if errors:
        failed("ours", f"{heading}: {len(errors)} of {len(draws)} draws failed, the first with {errors[0]}")
    shares: dict[str, tuple[float, float]] = {}
    for name, spent in credits.items():
        those = [outcome[name] for outcome in outcomes if name in outcome]
        if not those:
            continue
        hits, regret = sum(one.top for one in those), float(np.mean([one.regret for one in those]))
        low, high = wilson(hits, len(those))
        shares[name] = hits / len(those), (high - low) / 2
        print(
            f"  {NAMES[name]:<14} {spent:>4} credits  top 3 {hits / len(those):.3f} ({low:.3f}-{high:.3f})  regret {regret:.3f}"
        )
    met = not errors
    for name, (share, half) in shares.items():
        if name not in ("quarter", "ours"):
            ours, own = shares["ours"]
            allowed = 1 - math.hypot(half, own) / max(share, 0.01)
            met &= record(
                f"{heading}: best three, {credits['ours']} credits beside {credits[name]}",
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
    parser.add_argument("--peer-draws", type=int, default=100)
    parser.add_argument("--judge-draws", type=int, default=40)
    parser.add_argument("--only", choices=("worlds", "table", "judge"), nargs="*", default=("worlds", "table", "judge"))
    asked = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # Of the processes that follow, of which there is one for each core.
    peers = Path(sys.prefix) / "peers" / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    sys.path.append(str(peers))  # The processes that follow get the same.
    has_peer = (peers / "optuna").is_dir()
    if not has_peer:
        failed(PEER, "not installed: sh .ci/peers installs it")
    met = True
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:

        def play(make: Callable[[np.random.Generator], World], draws: int) -> list[dict[str, Outcome] | str]:
            few = asked.peer_draws if has_peer else 0
            return [
                *pool.map(partial(attempted, partial(one_draw, make, True)), range(min(few, draws)), chunksize=4),
                *pool.map(partial(attempted, partial(one_draw, make, False)), range(few, draws), chunksize=4),
            ]

        for kind in WORLDS if "worlds" in asked.only else ():
            met &= reported(kind, play(partial(drawn, kind), asked.draws), CREDITS)
        if "table" in asked.only:
            table = table_of_measures(pool)
            met &= reported("measures of clips", play(partial(wanted, table), asked.draws), CREDITS)
        for noise in (0.5, 1.0) if "judge" in asked.only else ():
            outcomes = list(pool.map(partial(attempted, partial(judged, noise)), range(asked.judge_draws), chunksize=2))
            met &= reported(f"judge, clips that vary by {noise}", outcomes, {"ours": BUDGET, "grid": GRID})
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
