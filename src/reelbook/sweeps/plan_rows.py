"""Rows of a plan: one planned run each, or the reason why it is impossible; how they are made and ordered."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ..models.base import Input
from ..models.pricing import Estimate, estimate
from .values import coerce_value, get_fields, parse_field_path, takes_lists_only

if TYPE_CHECKING:
    from .plan import Plan

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


class RowMaker:
    """Factory for the rows of one base that vary in some columns: each with a validated, priced input, or why it has none."""

    def __init__(self, base: Input, columns: tuple[str, ...], labels: frozenset[str]) -> None:
        self.base, self.labels = base, labels
        # Only changed values: defaults of the base need not be repeated, which makes validation faster.
        self._start = base.changed()
        paths = {name: parse_field_path(type(base), name) for name in columns if name not in labels}
        self._inner = {name: path for name, path in paths.items() if len(path) > 1}
        self._lists = {name for name, path in paths.items() if takes_lists_only(type(base), path)}

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
            price = estimate(request)
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


@dataclass(frozen=True, slots=True)
class Known:
    """What the library knows of a plan; called with a row, returns whether its result is there."""

    have: frozenset[Hashable]
    """The keys of the rows with a result."""
    costs: Mapping[Hashable, int]
    """The cost of rows by key, where known."""

    def __call__(self, row: Row) -> bool:
        return row.key in self.have


def spread_rows(plan: Plan) -> list[Row]:
    """Order the rows so that a sweep stopped at any point has used the values of every axis about equally often.

    Greedy: the next run is the one whose values, and pairs of values, were used least so far.
    """
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
