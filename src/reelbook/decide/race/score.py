"""What judges the runs of a race: numbers by columns, metrics, functions or a mix of these, or the judgements of a person."""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ...media.measuring.metrics import METRICS
from ...models.problems import format_literal
from ...util.missing_values import is_missing
from ...util.printable import suggest
from ..posterior import Belief, learn_pairs, learn_values
from .settings import RaceOptions, RaceStopped, race_error

if TYPE_CHECKING:
    import pandas as pd

    from ...runs.run import Run
    from ...sweeps.plan import Plan
    from .rounds import Rounds

FIGURES = ("credits", "credits_estimated", "queued_s", "running_s")
"""The numeric columns of every table besides inputs, outputs and metrics."""
PER_CLIP = 2
"""Judgements that a race waits for, for each new clip."""
POLL_SECONDS = 0.5
"""Interval between readings of the library, in which others may judge, too."""
ADVICE = "Paid runs are in the library: correct it, and race again."
BAD_SHARE = 0.5
"""What a pair counts of which both clips are bad: as a tie."""
FLAT = 1e-12
"""Scores that differ by no more than this share of their size are equal."""
Measure = str | Callable[["Run"], Any]


@dataclass
class Score:
    """What a race judges runs by. Higher is better."""

    weights: Mapping[Measure, float]
    """The parts and their weights; one part with weight 1 unless it is a mix."""
    is_mix: bool
    values: dict[int, tuple[float | None, ...]] = field(default_factory=dict)
    """The values of the parts, in order, of each run by its number in the plan; None if it has none."""

    @property
    def name(self) -> str:
        """What tells this score from another; of two functions, what they do."""
        return repr(sorted((_name_measure(measure), weight) for measure, weight in self.weights.items()))

    @property
    def text(self) -> str:
        """The score in words, such as `sharpness − 2 × temporal_flickering`."""
        text = ""
        for measure, weight in self.weights.items():
            name = measure if isinstance(measure, str) else getattr(measure, "__name__", "a function")
            factor = "" if abs(weight) == 1 else f"{abs(weight):g} × "
            sign = (" − " if weight < 0 else " + ") if text else "−" if weight < 0 else ""
            text += f"{sign}{factor}{'a function' if name == '<lambda>' else name}"
        return text

    def add(self, table: pd.DataFrame, numbers: list[int]) -> None:
        """Score the completed runs of a table that have no score yet; `numbers` are their numbers in the plan."""
        completed = zip(numbers, table["status"].eq("completed"), strict=True)
        is_due = [is_completed and number not in self.values for number, is_completed in completed]
        if not any(is_due):
            return
        fresh, places = table[is_due], [number for number, due in zip(numbers, is_due, strict=True) if due]
        if wanted := [name for name in self.weights if name in METRICS and name not in fresh.columns]:
            # All at once, because each file is decoded once for all of them.
            fresh = fresh.reel.measure(wanted, progress=False)
        parts = [_call(part, fresh) if callable(part) else _read_column(part, fresh) for part in self.weights]
        self.values |= dict(zip(places, zip(*parts, strict=True), strict=True))

    def totals(self) -> dict[int, float]:
        """The score of each run that has one.

        The parts of a mix are put on one scale first: each is divided by its standard deviation over the runs scored
        so far, after its mean is subtracted. A part that does not vary counts nothing.
        """
        # Ordered by number, so that rounding does not depend on the order in which runs ended.
        numbers = [number for number in sorted(self.values) if None not in self.values[number]]
        if not numbers:
            return {}
        parts = np.array([self.values[number] for number in numbers], dtype=float)
        if self.is_mix:
            means, spreads = parts.mean(axis=0), parts.std(axis=0)
            is_flat = spreads <= FLAT * np.maximum(np.abs(means), 1e-300)
            parts = (parts - means) / np.where(is_flat, np.inf, spreads)
        return dict(zip(numbers, (parts @ np.array([*self.weights.values()])).tolist(), strict=True))

    def learn(self, rounds: Rounds) -> tuple[Belief | None, set[int]]:
        """What the scores say of the settings, and the rows with one."""
        totals, race = self.totals(), rounds.race
        numbers = sorted(set(totals) & set(rounds.round_of))
        if not numbers:
            return None, set()
        settings = [rounds.setting_of[number] for number in numbers]
        blocks, values = [race.blocks[number] for number in numbers], [totals[number] for number in numbers]
        return learn_values(race.levels, settings, values, blocks), set(numbers)

    @property
    def without(self) -> int:
        """The number of completed runs for which a part gave no number."""
        return sum(None in values for values in self.values.values())

    @property
    def is_constant(self) -> bool:
        """Whether at least two runs have a score and all scores are equal."""
        totals = list(self.totals().values())
        return len(totals) > 1 and max(totals) - min(totals) <= FLAT * max(map(abs, totals))

    def get_metrics(self, numbers: list[int]) -> dict[str, list[float | None]]:
        """The measured metrics among the parts, with their values of these runs by their numbers in the plan."""
        nothing = (None,) * len(self.weights)
        return {
            str(name): [self.values.get(number, nothing)[part] for number in numbers]
            for part, name in enumerate(self.weights)
            if name in METRICS
        }


class Judging:
    """The ratings of a race's clips, and which of the judgements it has used."""

    def __init__(self, options: RaceOptions) -> None:
        assert options.judge is not None
        self._judge, self._options = options.judge, options
        self.ratings: Any = None
        """The ratings of the clips so far; None before the first round."""
        self._target = self._clips = 0
        self._used: list[tuple[int, int, float]] = []

    @property
    def name(self) -> str:
        """What tells these judgements from others."""
        return f"judge {self._options.question}"

    @property
    def awaited(self) -> int:
        """The judgements that are missing until the race goes on."""
        return max(self._target - len(self._read()), 0)

    def open(self, table: pd.DataFrame) -> None:
        """Ask about the clips of this table, which contains that of the round before."""
        clips = int((table["status"] == "completed").sum())
        # As many as there are pairs at most, so that a round of one clip does not wait for ever.
        self._target = min(self._target + PER_CLIP * (clips - self._clips), clips * (clips - 1) // 2)
        self._clips = clips
        if clips < 2:
            return
        ratings = self._judge(table, question=self._options.question, rater=self._options.rater)
        if self.ratings is None:
            self.ratings = ratings
        else:
            # The same object, because its panel may be on the page.
            self.ratings.replace_table(ratings)

    def wait(self, cancelled: threading.Event, changed: Callable[[], None]) -> None:
        """Wait until there are enough judgements, there is nothing more to ask, or the race is cancelled."""
        before = -1
        while not cancelled.is_set() and (awaited := self.awaited) and self.ratings.next_pair() is not None:
            if awaited != before:
                before = awaited
                changed()
            cancelled.wait(POLL_SECONDS)
        # The first ones only, so that a repeated race learns the same from the same.
        self._used = self._read()[: self._target]

    def learn(self, rounds: Rounds) -> tuple[Belief | None, set[int]]:
        """What the judgements used say of the settings, and the rows with a judged clip."""
        if not self._used:
            return None, set()
        rows = [row.number for row in rounds.used]
        left, right = [rows[left] for left, _, _ in self._used], [rows[right] for _, right, _ in self._used]
        settings = [[rounds.setting_of[number] for number in side] for side in (left, right)]
        shares = [share for _, _, share in self._used]
        return learn_pairs(rounds.race.levels, settings[0], settings[1], shares, left, right), {*left, *right}

    def _read(self) -> list[tuple[int, int, float]]:
        """The judgements of pairs, oldest first: rows of the table, and the share of the left one."""
        if self.ratings is None:
            return []
        rows = self.ratings.clips.rows
        return [
            (rows[pair.left], rows[pair.right], BAD_SHARE if pair.share is None else pair.share)
            for pair in self.ratings.pairs
            if not pair.is_skipped
        ]


def make_score(by: Any, plan: Plan) -> Score:
    """Validate what runs are judged by; raises an error that lists what exists."""
    if not isinstance(by, Mapping):
        return Score({_check(by, plan): 1.0}, False)
    if not by:
        raise race_error('`by` is empty; give measures and weights, such as {"sharpness": 1}.')
    for measure, weight in by.items():
        if isinstance(weight, bool) or not isinstance(weight, Real) or not math.isfinite(float(weight)) or not weight:
            raise race_error(
                f"The weight of {measure!r} is {format_literal(weight)}; it is a number other than 0, negative where less is better."
            )
    return Score({_check(measure, plan): float(weight) for measure, weight in by.items()}, True)


def _check(measure: Any, plan: Plan) -> Measure:
    from ...sweeps.tables import RUN_COLUMNS  # Here, because it brings pandas along.

    if callable(measure) and not isinstance(measure, type):
        return measure  # type: ignore[no-any-return]
    if not isinstance(measure, str):
        raise race_error(
            f"`by` cannot be {format_literal(measure)}. It is the name of a metric or a column, a function of a run, a mix "
            'such as {"sharpness": 1, "temporal_flickering": -2}, or rb.judge for a person.'
        )
    metrics = [name for name, metric in METRICS.items() if not metric.compares]
    names = [*metrics, *FIGURES, *type(plan.base).model_fields, *plan.columns]
    if measure in names or (measure not in METRICS and measure.startswith("output_")):
        return measure
    hint = suggest(measure, names)
    if measure in METRICS or measure in RUN_COLUMNS:
        compares = measure in METRICS and METRICS[measure].compares
        hint = f" It {'compares with a reference' if compares else 'is not a number'}."
    raise race_error(
        f"A race cannot be judged by {measure!r}.{hint} There are the metrics {', '.join(metrics)}; the columns "
        f"{', '.join(FIGURES)}, the inputs, and what a service returns as output_…; or give a function of a run."
    )


def _call(function: Callable[[Run], Any], table: pd.DataFrame) -> list[float | None]:
    values = []
    for label in table.index:
        run = table.reel.run(label)
        try:
            value = function(run)
        except Exception as error:
            raise RaceStopped(
                f"`by` has failed for the run {run.request_id}: {type(error).__name__}: {error}. {ADVICE}"
            ) from error
        values.append(_parse_number(value, f"`by` gave {{}} for the run {run.request_id}; it must return a number"))
    return values


def _read_column(name: str, table: pd.DataFrame) -> list[float | None]:
    """A column of the table as numbers."""
    if name not in table.columns:
        raise RaceStopped(f"The table has no column {name!r}. Its columns are {', '.join(map(str, table.columns))}.")
    return [_parse_number(value, f"The column {name!r} holds {{}}, and a race needs numbers") for value in table[name]]


def _parse_number(value: Any, problem: str) -> float | None:
    """The value as a number; None for NaN and None, which say that a run has no score. `problem` is said of a text."""
    if value is None or is_missing(value):
        return None
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise RaceStopped(f"{problem.format(format_literal(value))}, or None if there is none. {ADVICE}") from None
    return number if math.isfinite(number) else None


def _name_measure(measure: Measure) -> str:
    """The name of a measure; of a function, with a hash of what it does, because any two may have one name."""
    code = getattr(measure, "__code__", None)
    if isinstance(measure, str) or code is None:
        return str(measure) if isinstance(measure, str) else type(measure).__name__
    constants = [constant for constant in code.co_consts if not hasattr(constant, "co_code")]
    does = repr((code.co_code, code.co_names, constants)).encode()
    return f"{getattr(measure, '__qualname__', '')} {hashlib.sha256(does).hexdigest()[:16]}"
