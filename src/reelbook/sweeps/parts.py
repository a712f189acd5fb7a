"""The parts of a sweep: axes, axes that move together, tables, templates and samples. A plan file holds all but samples."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from importlib import import_module
from itertools import product
from math import prod
from numbers import Real
from string import Formatter
from typing import Any, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from ..errors import InvalidInput, ReelbookError
from ..models.base import Input
from ..models.problems import format_bounds, format_literal, format_number
from ..util.missing_values import is_missing
from .values import (
    MAX_RUNS,
    coerce_axis_values,
    coerce_value,
    get_fields,
    get_schema,
    parse_field_path,
    read_records,
    too_many,
    usage_error,
)

OPTIONS = ("budget", "spend", "concurrency", "take", "on_error")
"""Options of `plan.run` that a newcomer may write as axes."""


class Table(NamedTuple):
    """The expansion of a part of a sweep: its settings in order, with values and labels by column."""

    columns: tuple[str, ...]
    settings: Sequence[Mapping[str, Any]]
    labels: frozenset[str] = frozenset()
    """The columns that are not fields."""


class SweepPart(BaseModel, ABC):
    """One part of a sweep, with the fields that a plan file has; parts are crossed, the last one varying fastest."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @abstractmethod
    def table(self, model: type[Input]) -> Table:
        """The settings for a model."""


class Axis(SweepPart):
    """One field and its values in order."""

    axis: str
    values: tuple[Any, ...] = Field(min_length=1)

    def table(self, model: type[Input]) -> Table:
        try:
            name, fit = _find_field(model, self.axis)
        except InvalidInput:
            if self.axis not in OPTIONS:
                raise
            where = f"it is given where the plan is run: rb.sweep(…).run({self.axis}=…)."
            raise usage_error(f"`{self.axis}` is not a field; {where}") from None
        return Table((name,), [{name: fit(value)} for value in self.values])


class Zipped(SweepPart):
    """Parts that vary together: the first setting of each, then the second, and so on."""

    zipped: tuple[AnyPart, ...] = Field(min_length=1)

    def table(self, model: type[Input]) -> Table:
        tables = [part.table(model) for part in self.zipped]
        if len({len(table.settings) for table in tables}) > 1:
            counts = ", ".join(f"`{table.columns[-1]}` has {len(table.settings)}" for table in tables)
            raise usage_error(
                f"Axes in zipped(…) move together, so they need the same number of values; {counts}. "
                "Give all of them as many, or pass them as separate axes."
            )
        settings = [merge(together) for together in zip(*(table.settings for table in tables), strict=True)]
        columns = tuple(name for table in tables for name in table.columns)
        return Table(columns, settings, frozenset().union(*(table.labels for table in tables)))


class Rows(SweepPart):
    """The rows of a table, one run each; an empty cell keeps the value of the base."""

    columns: tuple[str, ...]
    keep: tuple[str, ...] = ()
    """Columns that are not fields and are kept as labels."""
    rows: tuple[dict[str, Any], ...]

    def table(self, model: type[Input]) -> Table:
        if fields := [name for name in self.keep if name in get_fields(model)]:
            raise usage_error(f"`keep` names `{fields[0]}`, which is a field; it is kept anyway.")
        try:
            fits = {name: _find_field(model, name) for name in self.columns if name not in self.keep}
        except InvalidInput as error:
            hint = "Leave the column out (table.drop(columns=[…])), or keep it as a label: rows(table, keep=[…])."
            raise usage_error(f"{error.problems[0].message} {hint}") from error
        settings = [
            {
                **{fits[name][0]: fits[name][1](cell) for name, cell in row.items() if name in fits},
                **{name: row.get(name) for name in self.keep},
            }
            for row in self.rows
        ]
        columns = tuple(fits[name][0] if name in fits else name for name in self.columns)
        return Table(columns, settings, frozenset(self.keep))


class Template(SweepPart):
    """A text with gaps and the words for each gap; every combination is one text, the last gap varying fastest."""

    template: str
    field: str = "prompt"
    """The field that receives the text."""
    words: dict[str, tuple[Any, ...]] = Field(default_factory=dict)

    def __iter__(self) -> Iterator[str]:  # type: ignore[override]  # Its texts, and not the fields of a pydantic model.
        return (text for _, text in self._fill())

    def table(self, model: type[Input]) -> Table:
        if taken := [gap for gap in self.words if gap in get_fields(model)]:
            raise usage_error(f"The gap {{{taken[0]}}} has the name of a field of the model; give it another name.")
        if (runs := prod(map(len, self.words.values()))) > MAX_RUNS:
            raise too_many(runs)
        name = parse_field_path(model, self.field).name
        settings = [{**words, name: text} for words, text in self._fill()]
        return Table((*self.words, name), settings, frozenset(self.words))

    def _fill(self) -> Iterator[tuple[dict[str, Any], str]]:
        for values in product(*self.words.values()):
            words = dict(zip(self.words, values, strict=True))
            yield words, self.template.format_map(words)


AnyPart: TypeAlias = Axis | Zipped | Template | Rows
"""A part of any kind in a file; each has fields that no other has."""
Zipped.model_rebuild()


def zipped(axes: Mapping[str, Any] | None = None, /, **more: Any) -> Zipped:
    """Zip axes of the same length, so that they vary together.

    Example::

        rb.sweep(boat, rb.zipped(seed=[1, 2], prompt=["a boat", "a kite"]))
    """
    parts = make_axes({**(axes or {}), **more})
    if not parts:
        raise usage_error("zipped() has no axes; name at least one, such as zipped(seed=[1, 2]).")
    return Zipped(zipped=parts)


def rows(table: Any, /, *, keep: Iterable[str] = ()) -> Rows:
    """Plan one run per row of a DataFrame or list of dicts; `keep` names columns that are labels only.

    >>> len(rows([{"seed": 1, "note": "calm"}, {"seed": 2}], keep=["note"]).rows)
    2
    """
    names, records = read_records(table)
    labels = (keep,) if isinstance(keep, str) else tuple(keep)
    if missing := [name for name in labels if name not in names]:
        has = ", ".join(f"`{name}`" for name in names[:40])
        raise usage_error(f"`keep` names `{missing[0]}`, and the table has no such column; it has {has}.")
    if not records:
        raise usage_error("The table has no rows, so there is nothing to run.")
    if unnamed := [name for name in names if not isinstance(name, str)]:
        raise usage_error(f"The column {unnamed[0]!r} has a name that is not text; name it after its field.")
    cells = [{name: coerce_value(cell) for name, cell in record.items() if not is_missing(cell)} for record in records]
    return Rows(columns=tuple(names), keep=labels, rows=tuple(cells))


def template(text: str, /, **words: Any) -> Template:
    """Fill the gaps of a prompt with every combination of the words, which also become columns of the table.

    >>> list(template("a {colour} boat in {weather}", colour=["red", "blue"], weather=["rain"]))
    ['a red boat in rain', 'a blue boat in rain']
    """
    try:
        parts = [part for part in Formatter().parse(text) if part[1] is not None]
    except ValueError as error:
        raise usage_error(
            f"The template {format_literal(text)} cannot be read: {error}. Write {{{{ and }}}} where braces are meant."
        ) from error
    gaps = list(dict.fromkeys(str(name) for _, name, _, _ in parts))
    if odd := [name for _, name, spec, conversion in parts if not str(name).isidentifier() or spec or conversion]:
        raise usage_error(f"The gap {{{odd[0]}}} in the template needs a plain name, such as {{colour}}.")
    if missing := [gap for gap in gaps if gap not in words]:
        raise usage_error(
            f"The template has a gap {{{missing[0]}}} and no words for it; add {missing[0]}=[…], "
            "or write {{ and }} where braces are meant."
        )
    if unused := [name for name in words if name not in gaps]:
        raise usage_error(f"The template has no gap {{{unused[0]}}} for the words of `{unused[0]}`.")
    return Template(template=text, words={gap: coerce_axis_values(gap, words[gap]) for gap in gaps})


def make_axes(axes: Mapping[str, Any]) -> tuple[AnyPart, ...]:
    """A part for each name: an axis, or the given template for that field."""
    if odd := [name for name in axes if not isinstance(name, str)]:
        raise usage_error(f'An axis is named by text, such as "seed", not by {format_literal(odd[0])}.')
    return tuple(
        given.model_copy(update={"field": name})
        if isinstance(given, Template)
        else Axis(axis=name, values=coerce_axis_values(name, given))
        for name, given in axes.items()
    )


def merge(settings: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The values and labels of several settings together."""
    return {name: value for setting in settings for name, value in setting.items()}


def _find_field(model: type[Input], name: str) -> tuple[str, Callable[[Any], Any]]:
    """The canonical name of a field, and a function that wraps a single entry if the field is a list."""
    path = parse_field_path(model, name)
    if get_schema(model, path).get("type") != "array":
        return path.name, lambda value: value
    return path.name, lambda value: value if value is None or isinstance(value, list) else [value]


# Samples.


class Sampled(NamedTuple):
    """Runs whose values are drawn jointly, so that a few runs cover all ranges evenly."""

    runs: int
    domains: Mapping[str, tuple[float, float] | list[Any]]
    """The lowest and highest value of each field, or the values to choose from."""
    seed: int
    method: str

    def draw(self, model: type[Input]) -> Rows:
        """The runs as a table, the same for the same seed."""
        columns = [
            (lambda point, values=domain: values[int(point * len(values))])
            if isinstance(domain, list)
            else _draw_from_range(model, name, *domain)
            for name, domain in self.domains.items()
        ]
        cells = (
            {name: draw(point) for name, draw, point in zip(self.domains, columns, points, strict=True)}
            for points in self._points()
        )
        return Rows(columns=tuple(self.domains), rows=tuple(cells))

    def _points(self) -> list[list[float]]:
        """Points that cover the unit cube evenly."""
        try:
            qmc = import_module("scipy.stats.qmc")
        except ImportError:
            raise ReelbookError(
                "Drawing a sample needs scipy, which is not installed here: pip install 'reelbook[sampling]'"
            ) from None
        points: list[list[float]]
        if self.method == "latin":
            points = qmc.LatinHypercube(len(self.domains), rng=self.seed).random(self.runs).tolist()
        else:
            # Only powers of two are balanced; a prefix of one is the next best.
            sobol = qmc.Sobol(len(self.domains), rng=self.seed)
            points = sobol.random_base2(math.ceil(math.log2(self.runs))).tolist()[: self.runs]
        return points


def sampled(
    n: int, fields: Mapping[str, Any] | None = None, /, *, seed: int = 0, method: Literal["latin", "sobol"] = "latin", **more: Any
) -> Sampled:  # fmt: skip
    """Draw `n` runs that cover the ranges of some fields evenly: `(low, high)` for numbers, a list for choices.

    Fields with the name of a parameter, such as `seed`, go in the dict: `sampled(40, {"seed": (0, 99)}, seed=1)`.

    Example::

        rb.sweep(boat, rb.sampled(40, num_frames=(9, 257), resolution=["480p", "720p"]))
    """
    n, seed = coerce_value(n), coerce_value(seed)
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise usage_error(f"sampled() needs a number of runs of at least 1, not {format_literal(n)}.")
    if n > MAX_RUNS:
        raise too_many(n)
    if method not in ("latin", "sobol"):
        raise usage_error(f"sampled() knows the methods 'latin' or 'sobol', not {format_literal(method)}.")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise usage_error(
            f"The sampler's own seed is a whole number from 0, not {format_literal(seed)}. "
            'To draw the seeds of the runs, write sampled(n, {"seed": (0, 99)}).'
        )
    domains = {name: _parse_domain(name, given) for name, given in {**(fields or {}), **more}.items()}
    if not domains:
        raise usage_error("sampled() has no fields; name at least one, such as num_frames=(9, 257).")
    return Sampled(n, domains, seed, method)


def _parse_domain(name: str, given: Any) -> tuple[float, float] | list[Any]:
    """What a field is drawn from: a range for a tuple of two numbers, else values to choose from."""
    is_pair = isinstance(given, tuple) and len(given) == 2
    if not is_pair or not all(isinstance(end, Real) and not isinstance(end, bool) for end in given):
        return list(coerce_axis_values(name, given))
    low, high = (float(end) if not float(end).is_integer() else int(end) for end in given)
    if not -math.inf < low <= high < math.inf:
        raise usage_error(
            f"`{name}` is to be drawn from {format_number(low)} to {format_number(high)}; give two numbers, the smaller one first."
        )
    return low, high


def _draw_from_range(model: type[Input], name: str, low: float, high: float) -> Callable[[float], Any]:
    """The function that maps a number between 0 and 1 to a value of a field, a multiple of its step."""
    rule = get_schema(model, parse_field_path(model, name))
    ends = f"from {format_number(low)} to {format_number(high)}"
    if "enum" in rule or rule.get("type") not in ("integer", "number", None):
        raise usage_error(f"`{name}` is not a number, so it has no range; give a list of values to choose from.")
    least, most = rule.get("minimum", -math.inf), rule.get("maximum", math.inf)
    above, below = rule.get("exclusiveMinimum", -math.inf), rule.get("exclusiveMaximum", math.inf)
    if not (least <= low and above < low and high <= most and high < below):
        raise usage_error(f"`{name}` is to be drawn {ends}, which leaves {format_bounds(rule)}. Stay inside them.")
    step = Decimal(str(rule["multipleOf"])) if "multipleOf" in rule else None
    if rule.get("type") == "integer":
        # The integral multiples of 2.5 are those of 5.
        step = Decimal(1) if step is None else step * Fraction(step).denominator
    if step is None:
        return lambda point: low + point * (high - low)
    first = int((Decimal(repr(low)) / step).to_integral_value(ROUND_CEILING))
    last = int((Decimal(repr(high)) / step).to_integral_value(ROUND_FLOOR))
    if first > last:
        raise usage_error(f"`{name}` has no value {ends}: it takes multiples of {step}.")
    convert = int if step == step.to_integral_value() else float
    # As a fraction, because a range of seeds can have more values than a float distinguishes.
    return lambda point: convert((first + int(Fraction(point) * (last - first + 1))) * step)
