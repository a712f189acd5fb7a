"""How a plan of 10,000 runs compares with the same grid by hand: `itertools`, a pydantic loop and a DataFrame.

    .venv/bin/python tests/bench/plans.py [--rounds 7]

Four axes of text-to-video, each run validated and priced, then all of them in a DataFrame. The rounds alternate
between the two; medians of processor time are shown, which a busy machine stretches less.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable
from itertools import product
from typing import Any

import pandas as pd

from reelbook.models.pricing import estimate
from reelbook.models.text_to_video import TextToVideo
from reelbook.sweeps.plan import sweep
from tests.bench.results import record

AXES: dict[str, list[Any]] = {
    "seed": list(range(100)),
    "num_frames": [49, 97, 121, 145, 169],
    "aspect_ratio": ["16:9", "1:1"],
    "first_pass_num_inference_steps": list(range(3, 13)),
}
RUNS = 10_000
GATE = 1.2
"""How many times the time of the grid by hand a plan may take."""


def by_plan() -> tuple[int, pd.DataFrame]:
    """The price and table of a plan."""
    plan = sweep(TextToVideo(prompt="a paper boat"), **AXES)
    return plan.credits or 0, plan.frame


def by_hand() -> tuple[int, pd.DataFrame]:
    """The same by hand, as short as one would write it."""
    runs = [TextToVideo(prompt="a paper boat", **dict(zip(AXES, row, strict=True))) for row in product(*AXES.values())]
    prices = [estimate(run).credits or 0 for run in runs]
    return sum(prices), pd.DataFrame([run.model_dump() for run in runs]).assign(credits=prices)


def measure(make: Callable[[], tuple[int, pd.DataFrame]]) -> float:
    """Seconds of the processor for one round, with nothing left over from the one before."""
    gc.collect()
    began = time.process_time()
    price, frame = make()
    seconds = time.process_time() - began
    if len(frame) != RUNS or price != 53 * RUNS or frame["seed"].nunique() != len(AXES["seed"]):
        raise SystemExit(f"{make.__name__} made {len(frame):,} runs for {price:,} credits: unfair")
    return seconds


def main() -> None:
    options = argparse.ArgumentParser(description="Compare a plan with the same grid by hand.")
    options.add_argument("--rounds", type=int, default=7)
    rounds = options.parse_args().rounds
    measure(by_plan), measure(by_hand)  # Warm: what is imported once is not the plan's.
    pairs = [(measure(by_plan), measure(by_hand)) for _ in range(rounds)]
    ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    ratio = ours / theirs
    print(f"{RUNS:,} runs: CPU {ours:.3f} s, by hand {theirs:.3f} s, ratio {ratio:.2f} (gate {GATE}), {rounds} rounds")
    if not record(f"plan of {RUNS:,} runs", ours, GATE, unit="s CPU", peer="by hand", theirs=theirs, ratio=ratio):
        raise SystemExit("Above the gate.")


if __name__ == "__main__":
    main()
