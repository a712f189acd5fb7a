"""The settings of a plan: its rows grouped by what is decided, each with the rows that repeat it."""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from ...sweeps.plan.plan import Plan
from ...sweeps.plan.plan_rows import Row
from .race_errors import race_error

IntArray = npt.NDArray[np.int64]
MAX_LEVELS, BINS = 12, 6
"""From more numeric values on, such as those of a sampled axis, neighbouring values of an axis share a level."""


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


def group_settings(plan: Plan, over: Sequence[str], seed: int, *, is_paired: bool = False) -> RaceSettings:
    """Group the rows of a plan by all axes but those in `over`, which repeat a setting.

    Labels, such as the words of a template, repeat a setting too, unless `over` names one of them. The order in which
    the rows of a setting are tried depends on `seed` alone; `is_paired` has all settings begin with the same prompt.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> from reelbook.sweeps.plan.sweep_call import sweep
    >>> plan = sweep(TextToVideo(prompt="a paper boat"), seed=range(4), num_frames=[49, 97])
    >>> found = group_settings(plan, ("seed", "prompt"), 0)
    >>> found.axes, [dict(setting.values) for setting in found.settings], [len(one.rows) for one in found.settings]
    (('num_frames',), [{'num_frames': 49}, {'num_frames': 97}], [4, 4])
    """
    repeats = _check_over(plan, over)
    axes = tuple(name for name in plan.columns if name not in repeats)
    groups: dict[Hashable, list[Row]] = {}
    for row in plan.rows:
        groups.setdefault(tuple(_key(row[name]) for name in axes), []).append(row)
    distinct = {row.number for row in plan.distinct}
    found = [[row for row in rows if row.number in distinct] for rows in groups.values()]
    possible = [rows for rows in found if rows]
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
    columns = [_make_levels([(one.rows[0], one.values[name]) for one in settings], name) for name in axes]
    levels = np.array(columns, dtype=np.int64).T if columns else np.zeros((len(settings), 0), dtype=np.int64)
    return RaceSettings(
        axes, repeats, settings, levels, "prompt" if has_prompts else "seed" if has_seeds else "",
        prompts if has_prompts else order, len(groups) - len(possible),
    )  # fmt: skip


def _check_over(plan: Plan, over: Sequence[str]) -> tuple[str, ...]:
    """The columns that repeat a setting; raises for a name that is neither a column nor a field."""
    names = (over,) if isinstance(over, str) or not isinstance(over, Iterable) else tuple(over)
    for name in names:
        if (
            name not in plan.columns
            and name not in ("seed", "prompt", "take")
            and name not in type(plan.base).model_fields
        ):
            raise race_error(
                f"`over` names {name!r}, and this plan varies {', '.join(plan.columns) or 'nothing'}. "
                "It takes the columns that only repeat a setting, such as seed and prompt.",
                "over",
            )
    labels = () if plan.labels & set(names) else tuple(name for name in plan.columns if name in plan.labels)
    return tuple(dict.fromkeys(name for name in (*names, *labels) if name in plan.columns))


def _number_prompts(plan: Plan) -> dict[int, int]:
    """The number of each row's prompt, in order of occurrence; one number for a model without prompts."""
    has_prompt = "prompt" in type(plan.base).model_fields or "prompt" in plan.columns
    known: dict[Hashable, int] = {}
    return {
        row.number: known.setdefault(_key(row["prompt"]) if has_prompt else None, len(known))
        for row in plan.rows
        if row.input is not None
    }


def _shuffle_repeats(plan: Plan, over: tuple[str, ...], seed: int) -> dict[int, int]:
    """The place of each row by what repeats it, in an order determined by the seed, the same for every setting."""
    keys = {row.number: (*(_key(row[name]) for name in over), row.take) for row in plan.rows}
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
    exists = [value is not None or name in row.given for row, value in values]
    keys = [_key(value) if here else None for (_, value), here in zip(values, exists, strict=True)]
    distinct = list(dict.fromkeys(key for key, here in zip(keys, exists, strict=True) if here))
    numbers = [value for (_, value), here in zip(values, exists, strict=True) if here]
    is_numeric = all(isinstance(value, Real) and not isinstance(value, bool) for value in numbers)
    if is_numeric and len(distinct) > MAX_LEVELS:
        edges = np.quantile(np.array(numbers, dtype=float), np.linspace(0, 1, BINS + 1)[1:-1])
        return [
            int(np.searchsorted(edges, float(value), side="right")) if here else -1
            for (_, value), here in zip(values, exists, strict=True)
        ]
    level = {key: number for number, key in enumerate(distinct)}
    return [level[key] if here else -1 for key, here in zip(keys, exists, strict=True)]


def _key(value: Any) -> Hashable:
    """A value that can be a key, and differs for 1 and True."""
    return (type(value), value) if isinstance(value, (str, int, float, bool, type(None))) else repr(value)
