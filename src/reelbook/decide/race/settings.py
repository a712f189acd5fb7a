"""The options of a race, and the settings that it decides among: the rows of a plan grouped by what is decided."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool

from ...errors import InvalidInput, ReelbookError
from ...models.catalog import find_endpoint
from ...models.pricing import estimate
from ...sweeps.money_text import sum_or_none
from ...sweeps.options import RunOptions, Whole, check_options, make_options, parse_whole
from ...sweeps.plan import Plan
from ...sweeps.plan_rows import Row, number_values, value_key
from ...sweeps.values import usage_error
from ...util.printable import format_count

IntArray = npt.NDArray[np.int64]
UNKNOWN_PRICE = "The price of its runs is unknown, so give the most that one run may cost: price=…"
MAX_LEVELS, BINS = 12, 6
"""From more numeric values on, such as those of a sampled axis, neighbouring values of an axis share a level."""
MAX_SETTINGS = 500
"""The time for a choice grows with the cube of the number of settings."""
FIRST_PER_EFFECT = 1.5
"""Runs of the first rounds, for each effect of an axis' value."""
ENOUGH_RUNS = 2
"""Runs of each setting with which a race can be expected to decide."""
MIN_LEADER_RUNS = 2
"""Runs that the leading setting needs before a race may stop because it is sure."""


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
    number = parse_whole(value)
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
    keep: Whole = Field(1, ge=1, description="give a whole number of at least 1")
    over: Any = ("seed", "prompt")
    seed: Whole = Field(0, ge=0, description="give a whole number of at least 0")
    sure: Annotated[float, Field(ge=0.5, lt=1, strict=True)] = Field(
        0.95, description="give the chance from 0.5 to below 1 at which the race stops, such as 0.95"
    )
    concurrency: Any = None
    price: Any = None
    draft: StrictBool | Mapping[str, Any] | None = Field(
        None,
        description="it takes the values that make a run cheaper, such as {'enable_detail_pass': False}, or True for those of the model",
    )
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
        return make_options(concurrency=self.concurrency, price=self.price)


def make_race_options(**values: Any) -> RaceOptions:
    """Validate the options; raises an error that says what the first wrong one may be.

    >>> make_race_options(by="sharpness", keep=0)
    Traceback (most recent call last):
    reelbook.errors.InvalidInput: race: `keep` is 0; give a whole number of at least 1.
    """
    options = check_options(RaceOptions, values, race_error)
    make_options(concurrency=options.concurrency, price=options.price)
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
    over: tuple[str, ...]
    """The columns that only repeat a setting."""
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

    def find_enough(self, price: Callable[[Row], int]) -> int:
        """The credits with which a race of these settings can be expected to decide, at these prices.

        Two runs of each setting, or of as many of them as say what each value of an axis is worth.
        """
        due = sum(sum(sorted(map(price, setting.rows))[:ENOUGH_RUNS]) for setting in self.settings)
        return math.ceil(due * self.wanted / max(len(self.settings), 1))


def group_settings(plan: Plan, over: Sequence[str], seed: int, *, is_paired: bool = False) -> RaceSettings:
    """Group the rows of a plan by all axes but those in `over`, which repeat a setting.

    Labels, such as the words of a template, repeat a setting too, unless `over` names one of them. The order in which
    the rows of a setting are tried depends on `seed` alone; `is_paired` has all settings begin with the same prompt.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> from reelbook.sweeps.sweep_call import sweep
    >>> plan = sweep(TextToVideo(prompt="a paper boat"), seed=range(4), num_frames=[49, 97])
    >>> found = group_settings(plan, ("seed", "prompt"), 0)
    >>> found.axes, [dict(setting.values) for setting in found.settings], [len(one.rows) for one in found.settings]
    (('num_frames',), [{'num_frames': 49}, {'num_frames': 97}], [4, 4])
    """
    repeats = _check_over(plan, over)
    axes = tuple(name for name in plan.columns if name not in repeats)
    groups: dict[Hashable, list[Row]] = {}
    for row in plan.rows:
        groups.setdefault(tuple(value_key(row[name]) for name in axes), []).append(row)
    distinct = {row.number for row in plan.distinct}
    distinct_rows = [[row for row in rows if row.number in distinct] for rows in groups.values()]
    possible = [rows for rows in distinct_rows if rows]
    prompts = _number_prompts(plan)
    order = _shuffle_repeats(plan, repeats, seed)
    has_prompts, has_seeds = len(set(prompts.values())) > 1, len(set(order.values())) > 1
    settings = tuple(
        Setting(
            number,
            {name: rows[0][name] for name in axes},
            _interleave(rows, prompts, order, start=0 if is_paired else number),
        )
        for number, rows in enumerate(possible)
    )
    columns = [_make_levels([(setting.rows[0], setting.values[name]) for setting in settings], name) for name in axes]
    levels = np.array(columns, dtype=np.int64).T if columns else np.zeros((len(settings), 0), dtype=np.int64)
    return RaceSettings(
        axes, repeats, settings, levels, "prompt" if has_prompts else "seed" if has_seeds else "",
        prompts if has_prompts else order, len(groups) - len(possible),
    )  # fmt: skip


def _check_over(plan: Plan, over: Sequence[str]) -> tuple[str, ...]:
    """The columns that repeat a setting; raises for a name that is neither a column nor a field."""
    names = (over,) if isinstance(over, str) or not isinstance(over, Iterable) else tuple(over)
    for name in names:
        if name not in (*plan.columns, "seed", "prompt", "take", *type(plan.base).model_fields):
            raise race_error(
                f"`over` names {name!r}, and this plan varies {', '.join(plan.columns) or 'nothing'}. "
                "Name the columns that only repeat a setting, such as seed and prompt."
            )
    labels = () if plan.labels & set(names) else tuple(name for name in plan.columns if name in plan.labels)
    return tuple(dict.fromkeys(name for name in (*names, *labels) if name in plan.columns))


def _number_prompts(plan: Plan) -> dict[int, int]:
    """The number of each row's prompt, in order of occurrence; one number for a model without prompts."""
    has_prompt = "prompt" in type(plan.base).model_fields or "prompt" in plan.columns
    rows = [row for row in plan.rows if row.input is not None]
    numbers = number_values([value_key(row["prompt"] if has_prompt else None) for row in rows])
    return dict(zip((row.number for row in rows), numbers, strict=True))


def _shuffle_repeats(plan: Plan, over: tuple[str, ...], seed: int) -> dict[int, int]:
    """The place of each row by what repeats it, in an order determined by the seed, the same for every setting."""
    keys = {row.number: (*(value_key(row[name]) for name in over), row.take) for row in plan.rows}
    # By `random()` only, whose sequence is stable between Python versions.
    draw = random.Random(seed)
    places = {key: draw.random() for key in dict.fromkeys(keys.values())}
    ranked = {key: place for place, key in enumerate(sorted(places, key=places.__getitem__))}
    return {number: ranked[key] for number, key in keys.items()}


def _interleave(
    rows: Sequence[Row], prompts: Mapping[int, int], order: Mapping[int, int], *, start: int
) -> tuple[Row, ...]:
    """The rows in the shuffled order, one of each prompt in turn, beginning with another prompt for each `start`."""
    by_block: dict[int, list[Row]] = {}
    for row in sorted(rows, key=lambda row: order[row.number]):
        by_block.setdefault(prompts[row.number], []).append(row)
    queues = list(by_block.values())
    first = start % len(queues)
    queues = [*queues[first:], *queues[:first]]
    longest = max(map(len, queues))
    return tuple(queue[place] for place in range(longest) for queue in queues if place < len(queue))


def _make_levels(values: Sequence[tuple[Row, Any]], name: str) -> list[int]:
    """The level of each setting on one axis, by the order of its values."""
    present = {place: value for place, (row, value) in enumerate(values) if value is not None or name in row.given}
    numbers = number_values([value_key(value) for value in present.values()])
    levels = dict(zip(present, numbers, strict=True))
    is_numeric = all(isinstance(value, Real) and not isinstance(value, bool) for value in present.values())
    if is_numeric and len(set(numbers)) > MAX_LEVELS:
        points = np.array([*present.values()], dtype=float)
        edges = np.quantile(points, np.linspace(0, 1, BINS + 1)[1:-1])
        levels = dict(zip(present, np.searchsorted(edges, points, side="right").tolist(), strict=True))
    return [levels.get(place, -1) for place in range(len(values))]


def make_drafts(plan: Plan, draft: Mapping[str, Any] | bool) -> Plan:
    """The plan with cheaper values in each row, under the same numbers; `draft=True` turns off what costs extra.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> from reelbook.sweeps.sweep_call import sweep
    >>> boat = TextToVideo(prompt="a paper boat", enable_detail_pass=True)
    >>> plan = sweep(boat, num_frames=[49, 97])
    >>> plan.credits, make_drafts(plan, True).credits
    (212, 106)
    """
    values = dict(draft) if isinstance(draft, Mapping) else _find_extras(plan)
    if varied := [name for name in values if name in plan.columns]:
        raise race_error(
            f"`draft` sets {', '.join(varied)}, which this plan varies; a draft can only change what is the same in all runs."
        )
    try:
        rows = tuple(_make_draft(row, values) for row in plan.rows)
    except InvalidInput as error:
        raise race_error(f"`draft` does not fit this plan: {error}") from error
    drafts = replace(plan, rows=rows, parts=None)
    full, cheap = (sum_or_none(row.credits for row in version.distinct) for version in (plan, drafts))
    if not values or (full is not None and cheap is not None and cheap >= full):
        why = f"with `draft` they cost {cheap:,} credits" if values else "nothing that costs extra is switched on"
        raise race_error(f"No draft of these runs is cheaper: {why}. Leave `draft` out.")
    return drafts


def _find_extras(plan: Plan) -> dict[str, Any]:
    """The switches of a model that multiply its price and are on, turned off."""
    endpoint = find_endpoint(plan.base.endpoint_id)
    dear = [] if endpoint is None else [name for name, factor in endpoint.multipliers if factor > 1]
    used = [name for name in dear if any(getattr(row.input, name, False) for row in plan.rows)]
    return {name: False for name in used if name not in plan.columns}


def _make_draft(row: Row, values: Mapping[str, Any]) -> Row:
    if row.input is None:
        return row
    request = row.input.revised(**values)
    return replace(row, input=request, estimate=estimate(request))


def check_settings(race: RaceSettings, keep: int) -> None:
    """Raise if there is nothing to decide, or too much."""
    count = len(race.settings)
    over = ", ".join(race.over)
    repeats = f" {over} only {'repeats' if len(race.over) == 1 else 'repeat'} a setting (over=…)." if over else ""
    impossible = (
        f" {format_count(race.impossible, 'other')} cannot run; plan.frame says why." if race.impossible else ""
    )
    if count < 2:
        raise race_error(
            f"This plan has {format_count(count, 'setting')}, so there is nothing to decide.{repeats}{impossible} Vary what you want "
            "to decide: rb.sweep(boat, num_frames=[49, 97, 121], seed=range(4))."
        )
    if keep >= count:
        raise race_error(
            f"`keep` is {keep}, and this plan has {format_count(count, 'setting')}: keep fewer than that.{impossible}"
        )
    if count > MAX_SETTINGS:
        raise race_error(
            f"This plan has {count:,} settings, and a race decides among {MAX_SETTINGS:,} at most: vary less, or race a part of "
            "it, such as plan.shuffled()[:500]."
        )


def find_budget(given: int | float | None, whole: int | None, enough: int, *, is_embedded: bool) -> int | None:
    """The budget in credits; None for no limit, which only the embedded service allows."""
    if given is None:
        if is_embedded:
            return None
        needs = "Runs on this service cost credits, so a race needs a budget."
        if whole is None:
            raise race_error(f"{needs} {UNKNOWN_PRICE}, and budget=…")
        raise race_error(
            f"{needs} The whole plan costs {whole:,} credits: budget={enough} pays for two runs of each setting, which should "
            "be enough to decide. It is the most that the race spends from its first start on, so running the cell twice pays once."
        )
    if whole is None:
        raise race_error(UNKNOWN_PRICE)
    return given if isinstance(given, int) else int(given * whole)


def check_budget(budget: int, race: RaceSettings, price: Callable[[Row], int]) -> None:
    """Raise if the budget does not pay for one run of two settings at these prices of what is due."""
    prices = sorted(min(map(price, setting.rows)) for setting in race.settings)
    if sum(prices[:2]) > budget:
        raise race_error(
            f"A budget of {format_count(budget, 'credit')} pays for less than one run of two settings, and there are "
            f"{len(prices):,}. One run of each costs {sum(prices):,} credits."
        )
