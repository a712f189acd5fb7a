"""The options of a race, and the settings that it decides among: the rows of a plan grouped by what is decided."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from numbers import Real
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool

from ...errors import InvalidInput, ReelbookError
from ...models.catalog import estimate, find_endpoint
from ...models.value_types import Integer, coerce_int
from ...sweeps.options import RunOptions, check_options
from ...sweeps.plan import Plan, Row, number_values, value_key
from ...sweeps.values import usage_error
from ...util.printable import format_count

IntArray = npt.NDArray[np.int64]
MAX_LEVELS, BINS = 12, 6
"""From more numeric values on, such as those of a sampled axis, neighbouring values of an axis share a level."""
MAX_SETTINGS = 500
"""The time for a choice grows with the cube of the number of settings."""
FIRST_PER_EFFECT = 1.5
"""Runs of the first rounds, for each effect of an axis' value."""
USUAL_SHARE = 0.4
"""The share of the whole plan's price with which a race usually decides."""


class RaceStopped(ReelbookError):
    """A race that cannot go on, because a run cannot be scored. What is paid for is in the library."""


def race_error(sentence: str) -> InvalidInput:
    """The error for a race that cannot begin."""
    return usage_error(sentence, "race")


def _credits_or_share(value: Any) -> int | float | None:
    """Credits as an integer, a share as a float; a float beyond 1 without a fraction is credits, too."""
    if value is None:
        return None
    if isinstance(value, Real) and not hasattr(value, "__index__") and 0 < float(value) <= 1:
        return float(value)
    number = coerce_int(value)
    if number < 0:
        raise ValueError("neither credits nor a share")
    return number


class RaceOptions(BaseModel):
    """The options of a race. The description of each says what it may be, in errors, too."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True, extra="forbid")

    by: Any
    budget: Annotated[int | float | None, BeforeValidator(_credits_or_share)] = Field(
        None,
        description="give credits as a whole number, or a share of the price of the whole plan as a fraction from 0 to 1: budget=0.4 is "
        "40%, budget=1.0 all of it",
    )
    over: Any = ("seed", "prompt")
    seed: Integer = Field(0, ge=0, description="give a whole number of at least 0")
    sure: Annotated[float, Field(ge=0.5, lt=1, strict=True)] = Field(
        0.95, description="give the chance from 0.5 to below 1 at which the race stops, such as 0.95"
    )
    concurrency: Any = None
    price: Any = None
    draft: StrictBool = Field(False, description="it is True or False")
    retry_failed: bool = False
    question: Annotated[str, Field(pattern=r"\S")] = Field(
        "Which is better?", description="it is the text that a judge answers"
    )
    rater: str | None = None
    is_new: bool = False
    """Whether the budget counts from now on, also if the same race has been started before."""
    judge: Callable[..., Any] | None = None
    """Opens the ratings of a table, where a person judges."""

    @property
    def execution(self) -> RunOptions:
        """The options of each round's execution, without a budget."""
        return check_options(RunOptions, {"concurrency": self.concurrency, "price": self.price})


def make_race_options(**values: Any) -> RaceOptions:
    """Validate the options; raises an error that says what the first wrong one may be.

    >>> make_race_options(by="sharpness", draft=5)
    Traceback (most recent call last):
    reelbook.errors.InvalidInput: race: `draft` is 5; it is True or False.
    """
    options = check_options(RaceOptions, values, race_error)
    assert options.execution
    return options


@dataclass(frozen=True, slots=True)
class Setting:
    """One combination of the values that are decided, and the rows of the plan that repeat it."""

    number: int
    values: Mapping[str, Any]
    rows: tuple[Row, ...]
    """The distinct possible rows in the order in which they are tried."""


@dataclass(frozen=True)
class RaceSettings:
    """The settings of a plan as a race sees them."""

    axes: tuple[str, ...]
    """The columns that are decided."""
    settings: tuple[Setting, ...]
    levels: IntArray
    """The level of each setting on each axis; -1 where a conditional axis does not exist."""
    block: str
    """What may shift all settings alike: the prompt, or if that is the same everywhere, the seed; empty for nothing."""
    blocks: Mapping[int, int]
    """The number of it of each row, by its number in the plan."""
    impossible: int
    """The number of settings without a possible row."""

    @property
    def wanted(self) -> int:
        """The number of settings to try before any choice by what is known: some for each effect of an axis' value."""
        effects = 1 + sum(len(set(column[column >= 0])) - 1 for column in self.levels.T) if len(self.levels) else 1
        return min(len(self.settings), math.ceil(FIRST_PER_EFFECT * effects))


def group_settings(plan: Plan, over: Sequence[str], seed: int, *, is_paired: bool = False) -> RaceSettings:
    """Group the rows of a plan by all axes but those in `over`, which repeat a setting.

    Labels, such as the words of a template, repeat a setting too, unless `over` names one of them. The order in which
    the rows of a setting are tried depends on `seed` alone; `is_paired` has all settings begin with the same prompt.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> from reelbook.sweeps.plan import sweep
    >>> plan = sweep(TextToVideo(prompt="a paper boat"), seed=range(4), num_frames=[49, 97])
    >>> settings = group_settings(plan, ("seed", "prompt"), 0).settings
    >>> [dict(setting.values) for setting in settings], [len(setting.rows) for setting in settings]
    ([{'num_frames': 49}, {'num_frames': 97}], [4, 4])
    """
    repeats = _check_over(plan, over)
    axes = tuple(name for name in plan.columns if name not in repeats)
    groups: dict[Hashable, list[Row]] = {tuple(value_key(row[name]) for name in axes): [] for row in plan}
    for row in plan.distinct:
        groups[tuple(value_key(row[name]) for name in axes)].append(row)
    possible = [rows for rows in groups.values() if rows]
    prompts = number_values([value_key(getattr(row.input or row.base, "prompt", None)) for row in plan])
    # What repeats a setting comes in an order of its own, the same for every setting. By `random()` only, whose sequence
    # is stable between Python versions.
    copies = number_values([(*(value_key(row[name]) for name in repeats), row.take) for row in plan])
    draw = random.Random(seed)
    places = [draw.random() for _ in range(max(copies, default=0) + 1)]

    def arrange(rows: list[Row], start: int) -> tuple[Row, ...]:
        """The rows in their order, one of each prompt in turn, beginning with another prompt for each `start`."""
        by_prompt: dict[int, list[Row]] = {}
        for row in sorted(rows, key=lambda row: places[copies[row.number]]):
            by_prompt.setdefault(prompts[row.number], []).append(row)
        queues, first = list(by_prompt.values()), start % len(by_prompt)
        turns = zip_longest(*queues[first:], *queues[:first])
        return tuple(row for turn in turns for row in turn if row is not None)

    settings = tuple(
        Setting(number, {name: rows[0][name] for name in axes}, arrange(rows, 0 if is_paired else number))
        for number, rows in enumerate(possible)
    )
    columns = [_make_levels(settings, name) for name in axes]
    levels = np.array(columns, dtype=np.int64).reshape(len(axes), len(settings)).T
    has_prompts, has_seeds = (len({numbers[row.number] for row in plan.distinct}) > 1 for numbers in (prompts, copies))
    block = "prompt" if has_prompts else "seed" if has_seeds else ""
    blocks = dict(enumerate(prompts if has_prompts else copies))
    return RaceSettings(axes, settings, levels, block, blocks, len(groups) - len(possible))


def _check_over(plan: Plan, over: Sequence[str]) -> tuple[str, ...]:
    """The columns that repeat a setting; raises for a name that is neither a column nor a field."""
    names = (over,) if isinstance(over, str) or not isinstance(over, Iterable) else tuple(over)
    for name in names:
        if name not in (*plan.columns, "seed", "prompt", "take", *type(plan.base).model_fields):
            raise race_error(
                f"`over` names {name!r}, and this plan varies {', '.join(plan.columns) or 'nothing'}. "
                "Name the columns that only repeat a setting, such as seed and prompt."
            )
    labels = () if plan.labels & set(names) else plan.labels
    return tuple(name for name in plan.columns if name in names or name in labels)


def _make_levels(settings: Sequence[Setting], name: str) -> list[int]:
    """The level of each setting on one axis, by the order of its values."""
    present = {
        setting.number: setting.values[name]
        for setting in settings
        if setting.values[name] is not None or name in setting.rows[0].given
    }
    numbers: Sequence[int] = number_values([value_key(value) for value in present.values()])
    is_numeric = all(isinstance(value, Real) and not isinstance(value, bool) for value in present.values())
    if is_numeric and len(set(numbers)) > MAX_LEVELS:
        points = np.array([*present.values()], dtype=float)
        edges = np.quantile(points, np.linspace(0, 1, BINS + 1)[1:-1])
        numbers = np.searchsorted(edges, points, side="right").tolist()
    levels = dict(zip(present, numbers, strict=True))
    return [levels.get(setting.number, -1) for setting in settings]


def make_drafts(plan: Plan) -> Plan:
    """The plan without what costs extra in each row, under the same numbers.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> from reelbook.sweeps.plan import sweep
    >>> boat = TextToVideo(prompt="a paper boat", enable_detail_pass=True)
    >>> plan = sweep(boat, num_frames=[49, 97])
    >>> plan.credits, make_drafts(plan).credits
    (212, 106)
    """
    inputs = [row.input for row in plan if row.input is not None]
    endpoint = find_endpoint(plan.base.endpoint_id)
    values = {
        name: False
        for name, factor in (endpoint.multipliers if endpoint else ())
        if factor > 1 and name not in plan.columns and any(getattr(request, name) for request in inputs)
    }
    if not values:
        raise race_error(
            "No draft of these runs is cheaper: nothing that costs extra is switched on. Leave `draft` out."
        )
    revised = {request: request.revised(**values) for request in inputs}
    rows = [
        row if row.input is None else replace(row, input=revised[row.input], estimate=estimate(revised[row.input]))
        for row in plan
    ]
    return replace(plan, rows=tuple(rows), parts=None)


def check_settings(race: RaceSettings) -> None:
    """Raise if there is nothing to decide, or too much."""
    count = len(race.settings)
    has = f"This plan has {format_count(count, 'setting')}"
    impossible = f" {race.impossible:,} more cannot run; plan.frame says why." if race.impossible else ""
    if count < 2:
        raise race_error(
            f"{has}, so there is nothing to decide; what `over` names only repeats a setting.{impossible} Vary what "
            "you want to decide: rb.sweep(boat, num_frames=[49, 97, 121], seed=range(4))."
        )
    if count > MAX_SETTINGS:
        raise race_error(
            f"{has}, and a race decides among {MAX_SETTINGS:,} at most: vary less, or race plan.shuffled()[:500]."
        )


def find_budget(
    given: int | float | None, whole: int | None, race: RaceSettings, due: Callable[[Row], int], *, is_embedded: bool
) -> int | None:
    """The budget in credits; None for no limit, which only the embedded service allows. `due` is what a row still costs."""
    if given is None and is_embedded:
        return None
    needs = "Runs on this service cost credits, so a race needs a budget. " if given is None else ""
    if whole is None:
        raise race_error(
            f"{needs}The price of its runs is unknown, so give the most that one run may cost: price=…, and budget=…"
        )
    prices = sorted(min(map(due, setting.rows)) for setting in race.settings)
    if given is None:
        advice = f"budget={USUAL_SHARE}, {USUAL_SHARE:.0%} of that, is usually enough to decide"
        if USUAL_SHARE * whole < sum(prices):
            advice = "with so few runs a race saves little: budget=1.0 pays for all of them"
        raise race_error(
            f"{needs}The whole plan costs {whole:,} credits, and {advice}. It is the most that the race spends from its "
            "first start on, so running the cell twice pays once."
        )
    budget = given if isinstance(given, int) else int(given * whole)
    if sum(prices[:2]) > budget:
        raise race_error(
            f"A budget of {format_count(budget, 'credit')} pays for less than one run of two settings, and there are "
            f"{len(prices):,}. One run of each costs {sum(prices):,} credits."
        )
    return budget
