"""Rows of a plan: one planned run each, or the reason why it is impossible; how they are made and ordered."""

from __future__ import annotations

import json
import operator
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ..models.base import Input
from ..models.catalog import find_endpoint
from ..models.pricing import Estimate, estimate
from ..models.problems import unknown_field
from .values import MissingPath, coerce_value, get_fields, get_value, parse_field_path, set_value

if TYPE_CHECKING:
    from .plan import Plan

WINDOW_ROWS = 128
"""The next row is chosen among this many candidates, so that the time is linear in the number of rows."""
MAX_PAIRS = 2
"""Pairs of axes with more combinations than this many per row hardly repeat, so that counting them is useless."""
GOLDEN = 0.618033988749895
"""Multiples of it, without their whole parts, lie far from those before them."""


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One planned run. Fields and labels are available as attributes, and as `row["name"]`, also if a name is taken."""

    number: int
    """The position in the plan, from 0."""
    input: Input | None
    """The input to be sent; None if the row is impossible."""
    take: int = 0
    """Which of several repetitions this is."""
    problem: str | None = None
    """A sentence on why the row is impossible."""
    estimate: Estimate | None = None
    """The price, if known."""
    given: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The values of this row as given, by field path."""
    labels: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Further values for the table, which are not sent."""
    base: Input | None = field(default=None, repr=False)
    """The input that was varied."""
    columns: tuple[str, ...] = field(default=(), repr=False)
    """The names that vary in the plan."""

    @property
    def credits(self) -> int | None:
        """The price; None if it is unknown, or if the row is impossible."""
        return None if self.estimate is None else self.estimate.counted

    @property
    def values(self) -> dict[str, Any]:
        """The values of this row in the columns that vary."""
        return {name: self[name] for name in self.columns}

    @property
    def key(self) -> Hashable:
        """A key that is equal for rows with the same input and take."""
        if self.input is not None:
            return self.input, self.take
        # In wire format, because different bases can lead to the same request.
        given = {**({} if self.base is None else self.base.wire()), **self.given}
        sent = {name: value for name, value in given.items() if value is not None}
        return json.dumps(sent, default=repr, sort_keys=True), self.take

    def find_changes(self, wire: Mapping[str, Any]) -> dict[str, Any]:
        """The values that differ from a base in wire format, which in a sum of plans need not be the row's own."""
        request = self.input or self.base
        own = {} if request is None else request.wire()
        changed = {name: own.get(name) for name in {**wire, **own} if own.get(name) != wire.get(name)}
        return changed if self.input is not None else {**changed, **self.given}

    def __getitem__(self, name: str) -> Any:
        if name in self.labels:
            return self.labels[name]
        request = self.input or self.base
        if request is None or not isinstance(name, str):
            raise KeyError(name)
        fields = get_fields(type(request))
        if name in self.given and (self.input is None or name not in fields):
            return self.given[name]
        if name in fields:
            return _field_of(request, name)
        try:
            path = parse_field_path(type(request), name)
        except InvalidInput:
            if name in self.columns:  # A label that only rows from another plan have.
                return None
            raise KeyError(name) from None
        return get_value(request.wire(), path.steps) if len(path.steps) > 1 else _field_of(request, path.name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            pass
        if self.input is not None and hasattr(self.input, name):
            return getattr(self.input, name)
        request = self.input or self.base
        known = dict.fromkeys((*self.columns, *(get_fields(type(request)) if request is not None else ())))
        raise AttributeError(unknown_field((name,), None, known).message, name=name, obj=self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((self.number, self.key))

    def _identity(self) -> tuple[Any, ...]:
        return self.number, self.key, self.values, self.problem, self.credits


class RowMaker:
    """Factory for the rows of one base that vary in some columns: each with a validated, priced input, or why it has none."""

    def __init__(self, base: Input, columns: tuple[str, ...], labels: frozenset[str]) -> None:
        self.base, self.columns = base, columns
        # Only changed values: defaults of the base need not be repeated, which makes validation faster.
        self._start = base.changed()
        paths = [parse_field_path(type(base), name) for name in columns if name not in labels]
        self._inner = {path.name: path for path in paths if len(path.steps) > 1}
        endpoint = find_endpoint(base.endpoint_id)
        self._priced = endpoint and [name for name in type(base).model_fields if name not in endpoint.price_neutral]
        self._estimates: dict[Hashable, Estimate] = {}

    def row(self, number: int, given: Mapping[str, Any], labels: Mapping[str, Any], take: int = 0) -> Row:
        """Create one row; all its values are validated together."""
        try:
            request = type(self.base)(**(self._with_inner(given) if self._inner else {**self._start, **given}))
        except InvalidInput as error:
            problem = " ".join(problem.message for problem in error.problems)
        except MissingPath as error:
            problem = str(error)
        else:
            return Row(number, request, take, None, self._estimate(request), given, labels, self.base, self.columns)
        return Row(number, None, take, problem, None, given, labels, self.base, self.columns)

    def _estimate(self, request: Input) -> Estimate:
        """The price of an input: one object for all rows that differ only in fields without effect on it."""
        if not self._priced:
            return estimate(request)
        key = operator.attrgetter(*self._priced)(request)
        if key not in self._estimates:
            self._estimates[key] = estimate(request)
        return self._estimates[key]

    def _with_inner(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The values by field, with those of paths inside a field set in a copy of the field's value."""
        values = {**self._start, **{name: value for name, value in given.items() if name not in self._inner}}
        for name in dict.fromkeys(str(path.steps[0]) for path in self._inner.values() if path.name in given):
            # A plain copy, because the values are written into it.
            values[name] = coerce_value(given[name] if name in given else _field_of(self.base, name))
        for path in self._inner.values():
            if path.name in given:
                set_value(values, path, given[path.name])
        return values


def _field_of(request: Input, name: str) -> Any:
    try:
        return request[name]
    except KeyError:  # A described input without this field.
        return None


@dataclass(frozen=True, slots=True)
class Known:
    """A snapshot of a plan's results in the library; called with a row, returns whether its result is there."""

    have: frozenset[Hashable]
    """The keys of the rows with a result."""
    costs: Mapping[Hashable, int]
    """The cost of rows by key, where known."""

    def __call__(self, row: Row) -> bool:
        return row.key in self.have


def order_rows(plan: Plan, order: str) -> list[Row]:
    """All rows of a plan, "as given" or for "coverage" spread over all axes."""
    return spread_rows(plan) if order == "coverage" else list(plan.rows)


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
    """A value that can be a key, and differs for 1 and True.

    >>> len({value_key(value) for value in (1, True, 1, (1,), (True,), [1], [1])})
    5
    """
    inside = repr(value) if isinstance(value, tuple) else ""
    try:
        hash(value)
    except TypeError:
        return type(value), repr(value)
    return type(value), value, inside
