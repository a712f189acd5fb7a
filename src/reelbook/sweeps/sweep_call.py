"""Sweep: the callable behind `rb.sweep`, which creates a plan from a base and what varies, or reads one from a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..current import session
from ..errors import InvalidInput
from ..models.base import Input
from ..models.catalog import get_endpoint
from ..models.problems import format_literal
from .parts import AnyPart, Sampled, SweepPart, make_axes, merge, rows
from .plan import Plan
from .plan_file import PlanFile, read_plan_file
from .plan_rows import Row, RowMaker
from .values import MAX_RUNS, is_table, too_many, usage_error

if TYPE_CHECKING:
    import pandas as pd

    from ..runs.run import Run

FindModel = Callable[[str], type[Input]]
"""Maps a model id to its input class."""


@dataclass(frozen=True, slots=True)
class Derived:
    """Columns computed from the rest of each row."""

    functions: Mapping[str, Callable[[Row], Any]]


def derived(**functions: Callable[[Row], Any]) -> Derived:
    """Add columns computed from each run.

    Example::

        rb.sweep(boat, rb.derived(seconds=lambda run: run.num_frames / run.frame_rate), num_frames=[9, 17])
    """
    return Derived(functions)


class Sweep:
    """Plan runs for every combination of the values of some fields. Nothing is sent before `plan.run(budget=…)`.

    `rb.sweep(boat, seed=range(4), num_frames=[49, 97])` plans eight runs of one input; `rb.sweep.read("boats.toml")` reads a plan from a file.
    In addition to fields by name, it accepts `rb.zipped(…)`, `rb.sampled(…)`, `rb.template(…)`, `rb.derived(…)` and DataFrames.

    Example::

        plan = rb.sweep(boat, seed=range(2), num_frames=[9, 17])
        plan.credits
    """

    def __call__(self, base: Input | Run | pd.Series[Any] | pd.DataFrame, /, *parts: Any, **axes: Any) -> Plan:
        """Plan every combination of the parts and axes, the last one varying fastest; nothing is sent.

        Positional arguments: `zipped(…)`, `sampled(…)`, `template(…)`, `derived(…)`, a DataFrame, or a dict of axes for
        names that are not Python identifiers, such as `{"images[0].frames": [12, 24]}`. For a run, or a row of a table of
        runs such as `table.loc[[7]]`, the input of that run is varied.

        >>> from reelbook.models.text_to_video import TextToVideo
        >>> boat = TextToVideo(prompt="a paper boat")
        >>> sweep(boat, seed=range(4), num_frames=[49, 97, 121], aspect_ratio=["16:9", "1:1"])
        24 runs of svc/text-to-video-13b-distilled, 1,272 credits (assumed)
          seed          4  0, 1, 2, 3
          num_frames    3  49, 97, 121
          aspect_ratio  2  16:9, 1:1
          prompt           'a paper boat'
        """
        if not isinstance(base, (Input, type)):
            from .named_runs import find_input  # Here, because it brings pandas along.

            base = find_input(base, "rb.sweep")
        if isinstance(base, type) and issubclass(base, Input):
            raise usage_error(f"A sweep varies an input, not a class; start with {base.__name__}(…).")
        if not isinstance(base, Input):
            raise usage_error(f"A sweep starts from an input, such as TextToVideo(…), not from {format_literal(base)}.")
        crossed = [made for part in parts for made in _make_parts(part, type(base))]
        plan = make_plan(base, (*crossed, *make_axes(axes)))
        for part in parts:
            plan = plan.derived(**part.functions) if isinstance(part, Derived) else plan
        return plan

    def read(self, path: str | Path, *, models: FindModel | None = None) -> Plan:
        """Read the plan in a file written by `plan.to_toml(path)`; `models` provides other input classes than the service's."""
        return plan_from_file(read_plan_file(path), models or session.model, name=str(path))


sweep = Sweep()


def make_plan(base: Input, parts: tuple[AnyPart, ...]) -> Plan:
    """Plan every combination of the parts, the last one varying fastest.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> plan = make_plan(TextToVideo(prompt="a paper boat"), make_axes({"num_frames": [49, 97], "seed": range(2)}))
    >>> [(run.num_frames, run.seed) for run in plan], plan.credits
    ([(49, 0), (49, 1), (97, 0), (97, 1)], 212)
    """
    tables = [part.table(type(base)) for part in parts]
    columns = tuple(name for table in tables for name in table.columns)
    labels = frozenset().union(*(table.labels for table in tables))
    if twice := [name for name, count in Counter(columns).items() if count > 1]:
        raise usage_error(
            f"`{twice[0]}` is named twice in this sweep; give its values in one place. "
            "What follows from another column can be computed: derived(name=lambda run: …)."
        )
    if (runs := prod(len(table.settings) for table in tables)) > MAX_RUNS:
        raise too_many(runs)
    make = RowMaker(base, columns, labels)
    made = []
    for number, settings in enumerate(product(*(table.settings for table in tables))):
        given = merge(settings)
        kept = {name: given.pop(name) for name in columns if name in labels and name in given} if labels else {}
        made.append(make.row(number, given, kept))
    return Plan(base, columns, tuple(made), labels, parts)


def plan_from_file(file: PlanFile, models: FindModel | None = None, *, name: str = "The file") -> Plan:
    """The plan of a file; `models` provides input classes of models outside the catalog."""
    try:
        base = (models or (lambda model: get_endpoint(model).input))(file.model)(**file.base)
        plan = make_plan(base, file.parts)
        if file.columns is None:
            return plan
        takes = zip(plan.rows, file.takes or (0,) * len(plan), strict=True)
        rows = (replace(row, take=take, columns=file.columns) for row, take in takes)
        return replace(plan, columns=file.columns, rows=tuple(rows), parts=None)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise usage_error(f"{name} has a part that cannot be read: {type(error).__name__}: {error}.") from error


def _make_parts(part: Any, model: type[Input]) -> Iterator[AnyPart]:
    """The parts of a positional argument: a part itself, a sample drawn, axes in a dict, or a table."""
    if isinstance(part, Input):
        raise usage_error("A sweep varies one input; for another one, make a second plan and add it: plan + other.")
    if isinstance(part, SweepPart):
        yield part  # type: ignore[misc]  # Every one is one of `AnyPart`.
    elif isinstance(part, Sampled):
        yield part.draw(model)
    elif isinstance(part, Mapping):
        yield from make_axes(part)
    elif is_table(part):
        yield rows(part)
    elif not isinstance(part, Derived):
        raise usage_error(
            f"A sweep cannot use {format_literal(part)}. By position it takes a DataFrame, zipped(…), sampled(…), a template, "
            "or a dict of axes; a single axis goes by its name: seed=range(4)."
        )
