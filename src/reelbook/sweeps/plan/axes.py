"""Axes of a sweep: values that vary between runs, as lists, zipped columns, or the rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

from ...models.base import Input
from ...models.problems import format_literal
from ...util.missing_values import is_missing
from ..sweep_errors import usage_error
from .axis_values import coerce_axis_values, coerce_value
from .field_paths import get_schema, parse_field_path
from .foreign_tables import read_records

NO_LABELS: Mapping[str, Any] = {}
"""Shared by all settings without labels."""


class Assignment(NamedTuple):
    """The values that one part of a sweep assigns to one run."""

    values: Mapping[str, Any]
    """Values by field; other fields keep the value of the base."""
    labels: Mapping[str, Any]
    """Values that are columns of the table only, and are not sent."""


class Table(NamedTuple):
    """The expansion of a part of a sweep: its columns and its settings in order."""

    columns: tuple[str, ...]
    settings: Sequence[Assignment]


@runtime_checkable
class SweepPart(Protocol):
    """One part of a sweep; parts are crossed with each other, the last one varying fastest."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the fields and labels that it varies."""

    @property
    def labels(self) -> frozenset[str]:
        """The columns that are not fields."""

    def __len__(self) -> int:
        """The number of settings."""

    def table(self, model: type[Input]) -> Table:
        """The settings for a model."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One field and its values in order."""

    name: str
    values: tuple[Any, ...]
    labels: frozenset[str] = field(default=frozenset(), init=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The name of the field."""
        return (self.name,)

    def __len__(self) -> int:
        return len(self.values)

    def table(self, model: type[Input]) -> Table:
        """One setting for each value."""
        name, fit = _field_and_fit(model, self.name)
        return Table((name,), [Assignment({name: fit(value)}, NO_LABELS) for value in self.values])


@dataclass(frozen=True, slots=True)
class Zipped:
    """Axes that vary together: the first value of each, then the second, and so on."""

    members: tuple[SweepPart, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all members."""
        return tuple(name for member in self.members for name in member.columns)

    @property
    def labels(self) -> frozenset[str]:
        """The labels of all members."""
        return frozenset().union(*(member.labels for member in self.members))

    def __len__(self) -> int:
        return len(self.members[0])

    def table(self, model: type[Input]) -> Table:
        """One setting for each position in the lists."""
        tables = [member.table(model) for member in self.members]
        side_by_side = zip(*(table.settings for table in tables), strict=True)
        columns = tuple(name for table in tables for name in table.columns)
        return Table(columns, [Assignment(merge_values(settings), merge_labels(settings)) for settings in side_by_side])


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a table, one run each; an empty cell keeps the value of the base."""

    names: tuple[str, ...]
    cells: tuple[Mapping[str, Any], ...]
    keep: tuple[str, ...] = ()
    """Columns that are not fields and are kept as labels."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table."""
        return self.names

    @property
    def labels(self) -> frozenset[str]:
        """The columns kept as labels."""
        return frozenset(self.keep)

    def __len__(self) -> int:
        return len(self.cells)

    def table(self, model: type[Input]) -> Table:
        """One setting for each row."""
        fits = {name: _field_and_fit(model, name) for name in self.names if name not in self.keep}
        settings = [
            Assignment(
                {fits[name][0]: fits[name][1](cell) for name, cell in row.items() if name in fits},
                {name: row.get(name) for name in self.keep},
            )
            for row in self.cells
        ]
        return Table(tuple(fits[name][0] if name in fits else name for name in self.names), settings)


def zipped(axes: Mapping[str, Any] | None = None, /, **more: Any) -> Zipped:
    """Zip axes of the same length, so that they vary together.

    >>> together = zipped(seed=[1, 2], prompt=["a boat", "a kite"])
    >>> len(together), together.columns
    (2, ('seed', 'prompt'))
    """
    if axes is not None and not isinstance(axes, Mapping):
        raise usage_error(
            f"zipped() takes axes by name, such as zipped(seed=[1, 2]), not {format_literal(axes)}.", "axis_name"
        )
    return zip_parts(make_axes({**(axes or {}), **more}))


def zip_parts(members: Sequence[SweepPart]) -> Zipped:
    """Zip parts of the same length, so that they vary together."""
    if not members:
        raise usage_error("zipped() has no axes; name at least one, such as zipped(seed=[1, 2]).", "empty_axis")
    if len({len(member) for member in members}) > 1:
        counts = ", ".join(f"`{member.columns[-1]}` has {len(member)}" for member in members)
        raise usage_error(
            f"Axes in zipped(…) move together, so they need the same number of values; {counts}. "
            "Give each as many, or cross them as axes of their own.",
            "zipped_lengths",
        )
    return Zipped(tuple(members))


def rows(table: Any, /, *, keep: Iterable[str] = ()) -> Rows:
    """Plan one run per row of a DataFrame or list of dicts; `keep` names columns that are labels only.

    >>> len(rows([{"seed": 1, "note": "calm"}, {"seed": 2}], keep=["note"]))
    2
    """
    names, records = read_records(table)
    if not isinstance(keep, Iterable):
        raise usage_error(f"`keep` names columns, such as keep=['note'], not {format_literal(keep)}.", "no_column")
    label_names = (keep,) if isinstance(keep, str) else tuple(keep)
    for name in label_names:
        if name not in names:
            has = ", ".join(f"`{column}`" for column in names[:40])
            raise usage_error(
                f"`keep` names `{name}`, and the table has no such column; it has {has}.", "no_column", name
            )
    if not records:
        raise usage_error("The table has no rows, so there is nothing to run.", "empty_axis")
    unnamed = [name for name in names if not isinstance(name, str)]
    if unnamed:
        raise usage_error(
            f"The column {unnamed[0]!r} has no name in text; name it after the field it is for.", "column_name"
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise usage_error(f"The table has two columns `{twice}`; leave one of them out.", "named_twice", twice)
    cells = [{name: coerce_value(cell) for name, cell in record.items() if not is_missing(cell)} for record in records]
    return Rows(tuple(names), tuple(cells), label_names)


def make_axes(axes: Mapping[str, Any]) -> tuple[SweepPart, ...]:
    """Create a part for each name: an axis, or the given part for that field if it has labels, such as a template."""
    for name in axes:
        if not isinstance(name, str):
            raise usage_error(f'An axis is named by text, such as "seed", not by {format_literal(name)}.', "axis_name")
    return tuple(
        given.for_field(name) if isinstance(given, Named) else Axis(name, coerce_axis_values(name, given))
        for name, given in axes.items()
    )


@runtime_checkable
class Named(SweepPart, Protocol):
    """A part whose field is determined by its keyword."""

    def for_field(self, name: str) -> SweepPart:
        """The same part for another field."""


def merge_values(settings: Iterable[Assignment]) -> Mapping[str, Any]:
    """Merge the values of several settings."""
    values: dict[str, Any] = {}
    for setting in settings:
        values.update(setting.values)
    return values


def merge_labels(settings: Iterable[Assignment]) -> Mapping[str, Any]:
    """Merge the labels of several settings."""
    return {name: value for setting in settings for name, value in setting.labels.items()}


def _field_and_fit(model: type[Input], name: str) -> tuple[str, Callable[[Any], Any]]:
    """The canonical name of a field, and a function that wraps a single entry if the field is a list."""
    place = parse_field_path(model, name)
    return place.name, _as_list if get_schema(model, place).get("type") == "array" else lambda value: value


def _as_list(value: Any) -> Any:
    return value if value is None or isinstance(value, list) else [value]
