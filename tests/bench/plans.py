"""How a plan of 10,000 runs compares with the same grid by hand: `itertools`, a pydantic loop and a DataFrame.

    .venv/bin/python tests/bench/plans.py [--rounds 7]

Four axes of text-to-video, each run validated and priced, then all of them in a DataFrame. The rounds alternate
between the two; medians are shown. The ratio is one of processor time, which a busy machine stretches less.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
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
GATE = 1.5
"""How many times the time of the grid by hand a plan may take."""
GOALS = {"built": 1.0, "shown": 0.3}
"""Seconds; reported, because they depend on the machine."""


@dataclass(frozen=True)
class Round:
    """One measurement: when it was built, when it was shown, and what came out."""

    began: tuple[float, float]
    built: tuple[float, float]
    shown: tuple[float, float]
    credits: int
    frame: pd.DataFrame

    @property
    def figures(self) -> tuple[float, float, float]:
        """Seconds to build, seconds to show, and seconds of the processor for both."""
        return self.built[0] - self.began[0], self.shown[0] - self.built[0], self.shown[1] - self.began[1]


def now() -> tuple[float, float]:
    """The time on the clock and that of the processor."""
    return time.perf_counter(), time.process_time()


def ours() -> Round:
    """A plan and its table."""
    began = now()
    plan = sweep(TextToVideo(prompt="a paper boat"), **AXES)
    price = plan.credits
    built = now()
    frame = plan.frame
    return Round(began, built, now(), price or 0, frame)


def theirs() -> Round:
    """The same by hand, as short as one would write it."""
    began = now()
    runs = [TextToVideo(prompt="a paper boat", **dict(zip(AXES, row, strict=True))) for row in product(*AXES.values())]
    prices = [estimate(run).credits or 0 for run in runs]
    credits_in_all = sum(prices)
    built = now()
    frame = pd.DataFrame([run.model_dump() for run in runs]).assign(credits=prices)
    return Round(began, built, now(), credits_in_all, frame)


def measured(make: Callable[[], Round]) -> tuple[float, float, float]:
    """The figures of one round, with nothing left over from the one before."""
    gc.collect()
    made = make()
    if len(made.frame) != RUNS or made.credits != 53 * RUNS or made.frame["seed"].nunique() != len(AXES["seed"]):
        raise SystemExit(f"{make.__name__} made {len(made.frame):,} runs for {made.credits:,} credits: unfair")
    return made.figures


def main() -> None:
    options = argparse.ArgumentParser(description="Compare a plan with the same grid by hand.")
    options.add_argument("--rounds", type=int, default=7)
    rounds = options.parse_args().rounds
    measured(ours), measured(theirs)  # Warm: what is imported once is not the plan's.
    pairs = [(measured(ours), measured(theirs)) for _ in range(rounds)]
    mine, their = (
        [statistics.median(column) for column in zip(*side, strict=True)] for side in zip(*pairs, strict=True)
    )
    ratio = mine[2] / their[2]
    print(
        f"{RUNS:,} runs: ours {mine[0]:.3f} s built and priced (goal {GOALS['built']}), "
        f"{mine[1]:.3f} s shown (goal {GOALS['shown']}); by hand {their[0]:.3f} s and {their[1]:.3f} s; "
        f"CPU {mine[2]:.3f} s and {their[2]:.3f} s, ratio {ratio:.2f} (gate {GATE})"
    )
    print(f"load average {', '.join(f'{load:.2f}' for load in os.getloadavg())}; {rounds} rounds")
    if not record(f"plan of {RUNS:,} runs", mine[2], GATE, unit="s CPU", peer="by hand", theirs=their[2], ratio=ratio):
        raise SystemExit("Above the gate.")


if __name__ == "__main__":
    main()
