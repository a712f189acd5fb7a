"""Clips whose strengths are known, and a judge who sees them with noise."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from reelbook.decide.ranking import Clips, JudgedPair, choose_pair, find_clips

AXES = ("num_frames", "guidance", "steps")


def make_table(clips: int, prompts: int = 1) -> pd.DataFrame:
    """A table of runs as a sweep gives it, whose axes have four values each."""
    place = np.arange(clips)
    settings = place // prompts
    columns = {
        "prompt": [f"prompt {one % prompts}" for one in place],
        **{name: settings // 4**power % 4 for power, name in enumerate(AXES)},
    }
    table = pd.DataFrame(columns, index=pd.RangeIndex(clips, name="run"))
    table.attrs["reelbook"] = {"axes": ["prompt", *AXES]}
    return table


def make_clips(clips: int, prompts: int = 1) -> Clips:
    """Its clips, with the names of their rows."""
    table = make_table(clips, prompts)
    return find_clips(table, [f"clip {row}" for row in table.index])


def draw_strengths(clips: Clips, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Strengths of which the axes decide the most."""
    effects = sum(rng.normal(size=4)[clips.levels[:, axis]] * 0.8 for axis in range(len(clips.axes)))
    return np.asarray(effects + rng.normal(size=len(clips)) * 0.5)


def answer(left: float, right: float, rng: np.random.Generator) -> float:
    """Whether the left one wins, as the model has it."""
    return float(rng.random() < 1 / (1 + np.exp(right - left)))


def judge_actively(
    clips: Clips, strengths: npt.NDArray[np.float64], count: int, rng: np.random.Generator
) -> list[JudgedPair]:  # fmt: skip
    """The answers to the pairs that are asked."""
    done = list[JudgedPair]()
    for _ in range(count):
        pair = choose_pair(clips, done, rater="ana")
        assert pair is not None
        done.append(JudgedPair(*pair, answer(strengths[pair.left], strengths[pair.right], rng), rater="ana"))
    return done


def judge_at_random(
    clips: Clips, strengths: npt.NDArray[np.float64], count: int, rng: np.random.Generator
) -> list[JudgedPair]:  # fmt: skip
    """The answers to pairs that are drawn."""
    pairs = [rng.choice(len(clips), 2, replace=False) for _ in range(count)]
    return [JudgedPair(int(a), int(b), answer(strengths[a], strengths[b], rng), rater="ana") for a, b in pairs]
