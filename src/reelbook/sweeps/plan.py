"""Plan: the runs of a sweep, validated and priced before anything is sent; `rb.sweep`, which makes one; the order of its rows."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product
from math import prod
from numbers import Integral
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from ..current import session
from ..errors import Interrupted, InvalidInput
from ..models.base import Input
from ..models.catalog import Estimate, estimate, find_endpoint
from ..models.problems import format_literal
from ..util import registry
from .options import RunOptions, check_options
from .parts import (
    AnyPart,
    PlanFile,
    Sampled,
    SweepPart,
    format_plan_file,
    make_axes,
    merge,
    read_plan_file,
    rows,
)
from .plan_summary import format_plan, sum_or_none
from .values import check_count, coerce_value, get_fields, parse_field_path, takes_lists_only, usage_error

if TYPE_CHECKING:
    import pandas as pd

    from ..client import Client
    from ..runs.run import Run
    from .job import SweepJob
    from .progress import Known

WINDOW_ROWS = 128
"""The next row is chosen among this many candidates, so that the time is linear in the number of rows."""
MAX_PAIRS = 2
"""Pairs of axes with more combinations than this many per row hardly repeat, so that counting them is useless."""
GOLDEN = 0.618033988749895
"""Multiples of it, without their whole parts, lie far from those before them."""


@dataclass(frozen=True, slots=True)
class Row:
    """One planned run. Fields and labels are available as attributes, and as `row["name"]`, also if a name is taken."""

    number: int
    """The position in the plan, from 0."""
    input: Input | None
    """The input to be sent; None if the row is impossible."""
    base: Input = field(repr=False, compare=False)
    """The input that was varied."""
    take: int = 0
    """Which of several repetitions this is."""
    problem: str | None = None
    """A sentence on why the row is impossible."""
    estimate: Estimate | None = field(default=None, compare=False)
    """The price, if known."""
    given: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The values of this row in the columns that vary, as given: by field path, and by label, which is not sent."""

    @property
    def credits(self) -> int | None:
        """The price; None if it is unknown, or if the row is impossible."""
        return None if self.estimate is None else self.estimate.counted

    @property
    def key(self) -> Hashable:
        """A key that is equal for rows with the same input and take."""
        return self.input or (self.problem, repr(self.given)), self.take

    def __getitem__(self, name: str) -> Any:
        request = self.input or self.base
        if name in self.given and (self.input is None or name not in get_fields(type(request))):
            return self.given[name]
        try:
            path, value = parse_field_path(type(request), name), request  # type: Any, Any
        except InvalidInput:
            raise KeyError(name) from None
        try:
            for step in path:
                value = value[step]
        except (LookupError, TypeError):  # A described input without this field, or a list without this entry.
            return None
        return value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            return getattr(self.input or self.base, name)


@dataclass(frozen=True, repr=False)
class Plan:
    """The runs of a sweep. A plan is immutable; methods that change it return a new one.

    Example::

        plan = rb.sweep(boat, seed=range(4))
        plan[:2].credits, plan.where(lambda row: row.seed > 2).frame
    """

    base: Input
    """The input that is varied."""
    columns: tuple[str, ...]
    """The names that vary: fields, paths inside fields, and labels."""
    rows: tuple[Row, ...]
    """The runs, numbered from 0."""
    labels: frozenset[str] = field(default=frozenset(), compare=False)
    """The columns that are not fields."""
    parts: tuple[AnyPart, ...] | None = field(default=None, compare=False)
    """What was crossed to construct the plan, as a file can store it; None once the plan was changed."""

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @overload
    def __getitem__(self, place: SupportsIndex) -> Row: ...
    @overload
    def __getitem__(self, place: slice | Iterable[Any]) -> Plan: ...
    def __getitem__(self, place: Any) -> Row | Plan:
        """One row by its number, or a plan of the rows selected by a slice, a list of numbers or a mask."""
        if isinstance(place, Integral):
            return self.rows[place]
        import numpy as np

        numbers = np.arange(len(self))[place if isinstance(place, slice) else list(place)]
        return self._with_rows(self.rows[number] for number in numbers)

    def __add__(self, other: Plan) -> Plan:
        """The runs of both plans; runs of the second that are also in the first are dropped."""
        if not isinstance(other, Plan):
            return NotImplemented
        if type(other.base) is not type(self.base):
            raise usage_error(
                "These plans are for two models. Run both, and put their tables together with pandas.concat."
            )
        have = {row.key for row in self.rows}
        columns = tuple(dict.fromkeys((*self.columns, *other.columns)))
        both = replace(self, columns=columns, labels=self.labels | other.labels)
        return both._with_rows([*self.rows, *(row for row in other.rows if row.key not in have)])

    def __repr__(self) -> str:
        return format_plan(self, self.known)

    def where(self, predicate: Callable[[Row], Any]) -> Plan:
        """The runs for which the predicate is true; of an impossible run it sees the values that were given."""
        return self._with_rows(row for row in self.rows if predicate(row))

    def repeated(self, takes: int) -> Plan:
        """Every run several times, as takes 0, 1, 2 …, which the library distinguishes."""
        count = index(takes)
        check_count(len(self) * count)
        return self._with_rows(replace(row, take=row.take * count + take) for row in self.rows for take in range(count))

    def shuffled(self, seed: int = 0) -> Plan:
        """The runs in random order, determined by the seed."""
        # By `random()` only, whose sequence is stable between Python versions.
        draw = random.Random(index(seed))
        places = [draw.random() for _ in self.rows]
        return self._with_rows(row for _, row in sorted(zip(places, self.rows, strict=True), key=lambda pair: pair[0]))

    def priced(self, price: Callable[[Input], Estimate | int | None]) -> Plan:
        """The plan with prices from a function: those of the service, or your own."""
        prices: dict[Input | None, Estimate] = {}
        for request in {row.input: None for row in self.distinct if row.input is not None}:
            answer = price(request)
            if not isinstance(answer, Estimate | None) and not (isinstance(answer, Integral) and answer >= 0):
                raise usage_error(
                    f"A price is a whole number of credits, or None where nobody knows, not {format_literal(answer)}."
                )
            prices[request] = answer if isinstance(answer, Estimate) else Estimate(answer and int(answer))
        return replace(self, rows=tuple(replace(row, estimate=prices.get(row.input)) for row in self.rows))

    @cached_property
    def axes(self) -> Mapping[str, tuple[Any, ...]]:
        """The columns that vary, with their distinct values in the order of the runs."""
        return {
            name: tuple({value_key(value := row[name]): value for row in self.rows}.values()) for name in self.columns
        }

    @cached_property
    def distinct(self) -> tuple[Row, ...]:
        """The possible runs without duplicates."""
        distinct: dict[Hashable, Row] = {}
        for row in self.rows:
            if row.input is not None:
                distinct.setdefault(row.key, row)
        return tuple(distinct.values())

    @property
    def credits(self) -> int | None:
        """The total price of all distinct runs; None if any price is unknown."""
        return sum_or_none(row.credits for row in self.distinct)

    @property
    def credits_due(self) -> int | None:
        """The price of the distinct runs that are not in the library; None if any price is unknown."""
        return sum_or_none(row.credits for row in self.find_due(self.known))

    @property
    def frame(self) -> pd.DataFrame:
        """A table with one row per planned run: inputs, labels, take, credits, credits due, and problem."""
        from .tables import make_plan_frame

        return make_plan_frame(self, self.known)

    @property
    def known(self) -> Known:
        """What the library knows of the plan at this moment; nothing without one."""
        from .progress import find_known

        return {} if session.current is None else find_known(self, session.current.context)

    def find_due(self, known: Known) -> list[Row]:
        """The distinct runs that are not in the library."""
        return [row for row in self.distinct if row.key not in known]

    def to_toml(self, path: str | Path | None = None) -> str:
        """The plan as TOML to review and commit, also written to a file if a path is given.

        A file holds what `rb.sweep` was given, so a plan that was cut, filtered, repeated, joined or shuffled has none.
        """
        if self.parts is None:
            raise usage_error(
                "A file holds a plan as rb.sweep made it, and this one was changed afterwards. Write it before that, or sweep "
                f"its rows: rb.sweep(input, plan.frame[{[name for name in self.columns if name not in self.labels]}])."
            )
        base = coerce_value(self.base.changed())
        text = format_plan_file(
            PlanFile(format="reelbook sweep 1", model=self.base.endpoint_id, base=base, parts=self.parts)
        )
        if path is not None:
            Path(path).write_text(text, encoding="utf-8", newline="\n")
        return text

    def run(
        self,
        *,
        budget: int | None = None,
        spend: int | None = None,
        concurrency: int | None = None,
        rate: str | float | None = None,
        take: int = 0,
        on_error: str = "continue",
        progress: bool = True,
        notify: Callable[[SweepJob], Any] | None = None,
        price: int | None = None,
        client: Client | None = None,
    ) -> pd.DataFrame:
        """Send the runs that are not in the library, wait for them, and return the table of all runs.

        `budget` limits the total cost of this plan's runs, including earlier payments and those of other processes, so
        that a cell executed twice pays once; `spend` limits what this call pays, regardless of earlier payments.
        Neither is ever exceeded, and both may be given. A service that charges real credits requires one of them.
        Call it again to resume after a crash, an interrupt or a stop: only missing runs are sent, also failed ones.
        `concurrency` is how many may be under way at a time, `rate` how many are sent, such as `"10/s"`; `take=1` repeats
        everything once more; `on_error="stop"` sends nothing after a failure; `notify` is called with the job at the
        end; `price` is the maximum price of a run whose price is unknown. The runs are sent in an order that spreads over all axes.
        """
        job = self._make_job(
            client, budget=budget, spend=spend, concurrency=concurrency, rate=rate, take=take, on_error=on_error,
            notify=notify, price=price,
        )  # fmt: skip
        try:
            # The panel comes first: it has to tell of runs that are paid for, however soon an interrupt comes.
            with registry.find("watch_job")(job) if progress else nullcontext():
                job.begin()
                return job.wait()
        except KeyboardInterrupt:
            raise Interrupted(job.interrupt()) from None

    def start(self, *, client: Client | None = None, progress: bool = True, **options: Any) -> SweepJob:
        """Like `run`, with its options, without waiting: an awaitable job with `progress`, `frame`, `pause()` and `cancel()`.

        It is displayed only where the job is, whatever `progress` says.
        """
        job = self._make_job(client, **options)
        job.begin()
        return job

    def race(self, *, by: Any, **options: Any) -> Any:
        """Find the best setting for fewer credits than all runs cost: `rb.race(plan, by=…)`, which describes the options."""
        return registry.find("race")(self, by=by, **options)

    def _make_job(self, client: Client | None, **options: Any) -> SweepJob:
        """Create a job that is not started yet."""
        from .job import make_job

        checked = check_options(RunOptions, options)
        return make_job(self, session.client() if client is None else client, checked)

    def _with_rows(self, rows: Iterable[Row]) -> Plan:
        """The plan with other rows, renumbered."""
        # A row from another plan may lack a label.
        blank = dict.fromkeys(self.labels)
        renumbered = (replace(row, number=number, given={**blank, **row.given}) for number, row in enumerate(rows))
        return replace(self, rows=tuple(renumbered), parts=None)


# From a call or a file.


class Sweep:
    """Plan runs for every combination of the values of some fields. Nothing is sent before `plan.run(budget=…)`.

    `rb.sweep(boat, seed=range(4), num_frames=[49, 97])` plans eight runs of one input; `rb.sweep.read("boats.toml")` reads a plan from a file.
    In addition to fields by name, it accepts `rb.zipped(…)`, `rb.sampled(…)`, `rb.template(…)` and DataFrames.

    Example::

        plan = rb.sweep(boat, seed=range(2), num_frames=[9, 17])
        plan.credits
    """

    def __call__(self, base: Input | Run | pd.Series[Any] | pd.DataFrame, /, *parts: Any, **axes: Any) -> Plan:
        """Plan every combination of the parts and axes, the last one varying fastest; nothing is sent.

        Positional arguments: `zipped(…)`, `sampled(…)`, `template(…)`, a DataFrame, or a dict of axes for
        names that are not Python identifiers, such as `{"images[0].frames": [12, 24]}`. For a run, or a row of a table of
        runs such as `table.loc[[7]]`, the input of that run is varied.
        """
        if not isinstance(base, (Input, type)):
            base = registry.find("find_input")(base, "rb.sweep")
        if not isinstance(base, Input):
            raise usage_error(f"A sweep starts from an input, such as TextToVideo(…), not from {format_literal(base)}.")
        if wrong := {"budget", "spend", "concurrency"} & axes.keys() - type(base).model_fields.keys():
            raise usage_error(f"`{min(wrong)}` belongs to the plan: rb.sweep(…).run({min(wrong)}=…).")
        crossed = [made for part in parts for made in _make_parts(part, type(base))]
        return make_plan(base, (*crossed, *make_axes(axes)))

    def read(self, path: str | Path, *, models: Callable[[str], type[Input]] | None = None) -> Plan:
        """Read the plan in a file written by `plan.to_toml(path)`; `models` provides other input classes than the service's."""
        file = read_plan_file(path)
        return make_plan((models or session.model)(file.model)(**file.base), file.parts)


sweep = Sweep()


def make_plan(base: Input, parts: tuple[AnyPart, ...]) -> Plan:
    """Plan every combination of the parts, the last one varying fastest."""
    tables = [part.table(type(base)) for part in parts]
    columns = tuple(name for table in tables for name in table.columns)
    labels = frozenset().union(*(table.labels for table in tables))
    if twice := [name for name, count in Counter(columns).items() if count > 1]:
        raise usage_error(f"`{twice[0]}` is named twice in this sweep; give its values in one place.")
    check_count(prod(len(table.settings) for table in tables))
    make, combinations = RowMaker(base, columns, labels), product(*(table.settings for table in tables))
    made = tuple(make.row(number, merge(settings)) for number, settings in enumerate(combinations))
    return Plan(base, columns, made, labels, parts)


class RowMaker:
    """Factory for the rows of one base that vary in some columns: each with a validated, priced input, or why it has none."""

    def __init__(self, base: Input, columns: tuple[str, ...], labels: frozenset[str]) -> None:
        self.base, self.labels = base, labels
        # Only changed values: defaults of the base need not be repeated, which makes validation faster.
        self._start = base.changed()
        paths = {name: parse_field_path(type(base), name) for name in columns if name not in labels}
        self._inner = {name: path for name, path in paths.items() if len(path) > 1}
        self._lists = {name for name, path in paths.items() if takes_lists_only(type(base), path)}
        endpoint = find_endpoint(base.endpoint_id)
        self._switches = [] if endpoint is None else [name for name, _ in endpoint.multipliers]
        self._prices: dict[Hashable, Estimate] = {}
        """The price by the switches of the input, on which alone it depends."""

    def row(self, number: int, given: Mapping[str, Any], take: int = 0) -> Row:
        """Create one row; all its values are validated together."""
        request = problem = price = None
        sent = {name: value for name, value in given.items() if name not in self.labels} if self.labels else given
        # A list of one entry may be given as this entry.
        if single := {
            name: [sent[name]] for name in self._lists & sent.keys() if not isinstance(sent[name], list | None)
        }:
            sent = {**sent, **single}
        try:
            request = type(self.base)(**(self._with_inner(sent) if self._inner else {**self._start, **sent}))
        except InvalidInput as error:
            problem = " ".join(problem.message for problem in error.problems)
        except LookupError as error:
            problem = str(error.args[0])
        else:
            switches = tuple(getattr(request, name, False) for name in self._switches)
            if switches not in self._prices:
                self._prices[switches] = estimate(request)
            price = self._prices[switches]
        return Row(number, request, self.base, take, problem, price, given)

    def _with_inner(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The values by field, with those of paths inside a field set in a copy of the field's value."""
        values = {**self._start, **{name: value for name, value in given.items() if name not in self._inner}}
        inner = {name: path for name, path in self._inner.items() if name in given}
        for field_name in {str(path[0]) for path in inner.values()}:
            # A plain copy, because the values are written into it.
            values[field_name] = coerce_value(given.get(field_name, self.base[field_name]))
        for name, path in inner.items():
            container: Any = values
            try:
                for step in path[:-1]:
                    container = container[step]
                container[path[-1]] = given[name]
            except (LookupError, TypeError):
                raise LookupError(f"`{name}` is not there: `{path[0]}` of this run has no such entry.") from None
        return values


def _make_parts(part: Any, model: type[Input]) -> Iterable[AnyPart]:
    """The parts of a positional argument: a part itself, a sample drawn, axes in a dict, or a table."""
    if isinstance(part, SweepPart):
        return (part,)  # type: ignore[return-value]  # Every one is one of `AnyPart`.
    if isinstance(part, Sampled):
        return (part.draw(model),)
    if isinstance(part, Mapping):
        return make_axes(part)
    return (rows(part),)


# The order in which rows are sent.


def spread_rows(plan: Plan) -> list[Row]:
    """Order the rows so that a sweep stopped at any point has used the values of every axis about equally often.

    Greedy: the next run is the one whose values, and pairs of values, were used least so far.
    """
    import numpy as np

    rows = [row for row in plan if row.input is not None]
    columns: list[list[Hashable]] = [[row.take for row in rows]]
    columns += [[value_key(row[name]) for row in rows] for name in plan.columns]
    # Axes that vary together are one, and constant ones are left out.
    axes = [np.array(codes) for codes in sorted(set(map(number_values, columns))) if max(codes, default=0)]
    if not axes:
        return list(plan)
    axes += [
        codes * (others.max() + 1) + others
        for codes, others in combinations(axes, 2)
        if (codes.max() + 1) * (others.max() + 1) <= MAX_PAIRS * len(rows)
    ]
    # Each value and each pair has a place in one array of counts, so that a single operation reads all of a row.
    starts = np.cumsum([0, *(codes.max() + 1 for codes in axes)])
    places, counts = np.array(axes) + starts[:-1, None], np.zeros(starts[-1])
    waiting = sorted(range(len(rows)), key=lambda number: number * GOLDEN % 1, reverse=True)
    order = list[Row]()
    while waiting:
        near = waiting[: -WINDOW_ROWS - 1 : -1]
        chosen = waiting.pop(-1 - int(np.argmin((counts[places[:, near]] ** 2).sum(axis=0))))
        counts[places[:, chosen]] += 1
        order.append(rows[chosen])
    return [*order, *(row for row in plan if row.input is None)]


def number_values(values: Sequence[Hashable]) -> tuple[int, ...]:
    """The values as numbers from 0, in order of occurrence."""
    numbers: dict[Hashable, int] = {}
    return tuple(numbers.setdefault(value, len(numbers)) for value in values)


def value_key(value: Any) -> Hashable:
    """A value that can be a key, and differs for 1 and True."""
    return type(value), value if value is None or isinstance(value, (str, int, float)) else repr(value)
