"""Construction of a plan from a base input and what varies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain, product
from math import prod
from typing import Any

from ...errors import InvalidInput
from ...models.base import Input
from ...models.problems import format_literal, unknown_field
from ..sweep_errors import MAX_RUNS, too_many, usage_error
from .advice import find_axis_notes
from .axes import Rows, SweepPart, make_axes, merge_labels, merge_values, rows
from .field_paths import get_fields, parse_field_path
from .foreign_tables import is_table
from .plan import Plan
from .plan_rows import Row, make_row_maker
from .recipe import Recipe


@dataclass(frozen=True, slots=True)
class Derived:
    """Columns computed from the rest of each row."""

    functions: Mapping[str, Callable[[Row], Any]]


def make_plan(base: Input, /, *parts: Any, **axes: Any) -> Plan:
    """Plan every combination of the parts and axes, the last one varying fastest.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> plan = make_plan(TextToVideo(prompt="a paper boat"), num_frames=[49, 97], seed=range(2))
    >>> [(run.num_frames, run.seed) for run in plan], plan.credits
    ([(49, 0), (49, 1), (97, 0), (97, 1)], 212)
    """
    _check_base(base)
    derived = [part for part in parts if isinstance(part, Derived)]
    crossed = tuple(chain.from_iterable(_make_parts(part) for part in parts if not isinstance(part, Derived)))
    plan = make_plan_from_parts(base, (*crossed, *make_axes(axes)))
    for part in derived:
        plan = plan.derived(**part.functions)
    return plan


def make_plan_from_parts(base: Input, parts: tuple[SweepPart, ...]) -> Plan:
    """Plan every combination of parsed parts."""
    labels = _check_names(type(base), parts)
    runs = prod(map(len, parts))
    if runs > MAX_RUNS:
        raise too_many(runs)
    tables = [part.table(type(base)) for part in parts]
    columns = tuple(chain.from_iterable(table.columns for table in tables))
    make = make_row_maker(base, columns, labels)
    combinations = enumerate(product(*(table.settings for table in tables)))
    if labels:
        made = tuple(
            make.row(number, merge_values(combined), merge_labels(combined)) for number, combined in combinations
        )
    else:
        made = tuple(make.row(number, merge_values(combined)) for number, combined in combinations)
    return Plan(base, columns, made, labels, Recipe(parts), find_axis_notes(parts))


def derived(**functions: Callable[[Row], Any]) -> Derived:
    """Add columns computed from each run.

    Example::

        rb.sweep(boat, rb.derived(seconds=lambda run: run.num_frames / run.frame_rate), num_frames=[9, 17])
    """
    return Derived(functions)


def _check_base(base: Any) -> None:
    if isinstance(base, type) and issubclass(base, Input):
        raise usage_error(f"A sweep varies an input, not a class; begin with {base.__name__}(…).", "base")
    if not isinstance(base, Input):
        raise usage_error(
            f"A sweep begins with an input, such as TextToVideo(…), not with {format_literal(base)}.", "base"
        )


def _make_parts(part: Any) -> tuple[SweepPart, ...]:
    """The parts of a positional argument: a part itself, axes in a dict, or a table."""
    if isinstance(part, Input):
        raise usage_error(
            "A sweep varies one input; for another one, make a second plan and add it: plan + other.", "base"
        )
    if isinstance(part, Mapping):
        return make_axes(part)
    if is_table(part):
        return (rows(part),)
    if isinstance(part, SweepPart):
        return (part,)
    raise usage_error(
        f"A sweep cannot use {format_literal(part)}. By position it takes a DataFrame, zipped(…), sampled(…), a template, "
        "or a dict of axes; a single axis goes by its name: seed=range(4).",
        "part",
    )


def _check_names(model: type[Input], parts: tuple[SweepPart, ...]) -> frozenset[str]:
    """Validate that each column of the parts is a label or a field path and occurs once; return the labels."""
    labels: frozenset[str] = frozenset()
    seen: set[str] = set()
    for part in parts:
        for name in part.columns:
            is_label = name in part.labels
            canonical = name if is_label else _canonical_name(model, part, name)
            if canonical in seen:
                raise usage_error(
                    f"`{canonical}` is named twice in this sweep; give its values in one place. "
                    "What follows from another column can be computed: derived(name=lambda run: …).",
                    "named_twice",
                    canonical,
                )
            if is_label and canonical in get_fields(model) and isinstance(part, Rows):
                raise usage_error(
                    f"`keep` names `{canonical}`, which is a field; it is kept anyway.", "named_twice", canonical
                )
            seen.add(canonical)
        labels |= part.labels
    return labels


def _canonical_name(model: type[Input], part: SweepPart, name: str) -> str:
    try:
        return parse_field_path(model, name).name
    except InvalidInput as error:
        if not isinstance(part, Rows):
            raise
        odd = unknown_field((name,), None, get_fields(model)).message
        raise usage_error(
            f"{odd} Leave the column out (table.drop(columns=[…])), or keep it as a label: rows(table, keep=[{name!r}]).",
            "extra_forbidden",
            name,
        ) from error
