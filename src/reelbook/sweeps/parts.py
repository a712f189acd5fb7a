"""The parts of a sweep: axes, axes that move together, tables, templates and samples; and TOML files of plans, which hold all but samples."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from importlib import import_module
from itertools import product
from math import prod
from numbers import Integral, Real
from operator import index
from pathlib import Path
from string import Formatter
from typing import Any, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import InvalidInput, ReelbookError
from ..models.base import Input
from ..models.problems import format_literal
from ..util.missing_values import is_missing
from .values import (
    check_count,
    coerce_axis_values,
    coerce_value,
    get_fields,
    get_schema,
    parse_field_path,
    read_records,
    usage_error,
)


class Table(NamedTuple):
    """The expansion of a part of a sweep: its settings in order, with values and labels by column."""

    columns: tuple[str, ...]
    settings: Sequence[Mapping[str, Any]]
    labels: frozenset[str] = frozenset()
    """The columns that are not fields."""


class SweepPart(BaseModel):
    """One part of a sweep, with the fields that a plan file has; parts are crossed, the last one varying fastest."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Axis(SweepPart):
    """One field and its values in order."""

    axis: str
    values: tuple[Any, ...] = Field(min_length=1)

    def table(self, model: type[Input]) -> Table:
        return Table((self.axis,), [{self.axis: value} for value in self.values])


class Zipped(SweepPart):
    """Parts that vary together: the first setting of each, then the second, and so on."""

    zipped: tuple[AnyPart, ...] = Field(min_length=1)

    def table(self, model: type[Input]) -> Table:
        tables = [part.table(model) for part in self.zipped]
        if len({len(table.settings) for table in tables}) > 1:
            counts = ", ".join(f"`{table.columns[-1]}` has {len(table.settings)}" for table in tables)
            raise usage_error(f"Axes in zipped(…) move together, so they need the same number of values; {counts}.")
        settings = [merge(together) for together in zip(*(table.settings for table in tables), strict=True)]
        columns = tuple(name for table in tables for name in table.columns)
        return Table(columns, settings, frozenset().union(*(table.labels for table in tables)))


class Rows(SweepPart):
    """The rows of a table, one run each; an empty cell keeps the value of the base."""

    columns: tuple[str, ...]
    keep: tuple[str, ...] = ()
    """Columns that are not fields and are kept as labels."""
    rows: tuple[dict[str, Any], ...] = ()

    def table(self, model: type[Input]) -> Table:
        labels = frozenset(self.keep) - get_fields(model).keys()
        try:
            for name in frozenset(self.columns) - labels:
                parse_field_path(model, name)
        except InvalidInput as error:
            hint = "Leave the column out (table.drop(columns=[…])), or keep it as a label: rows(table, keep=[…])."
            raise usage_error(f"{error.problems[0].message} {hint}") from error
        blank = dict.fromkeys(labels)
        return Table(self.columns, [{**blank, **row} for row in self.rows], labels)


class Template(SweepPart):
    """A text with gaps and the words for each gap; every combination is one text, the last gap varying fastest."""

    template: str
    field: str = "prompt"
    """The field that receives the text."""
    words: dict[str, tuple[Any, ...]] = Field(default_factory=dict)

    def table(self, model: type[Input]) -> Table:
        if taken := [gap for gap in self.words if gap in get_fields(model)]:
            raise usage_error(f"The gap {{{taken[0]}}} has the name of a field of the model; give it another name.")
        check_count(prod(map(len, self.words.values())))
        try:
            gaps = dict.fromkeys(name for _, name, _, _ in Formatter().parse(self.template) if name is not None)
            if unpaired := gaps.keys() ^ self.words.keys():
                raise KeyError(min(unpaired))
            fillings = [dict(zip(gaps, values, strict=True)) for values in product(*(self.words[gap] for gap in gaps))]
            settings = [{**words, self.field: self.template.format_map(words)} for words in fillings]
        except Exception as error:  # A word of any type may raise anything for a format such as {colour:d}.
            unknown = isinstance(error, KeyError)
            reason = f"{{{error.args[0]}}} has no words, or there is no such gap" if unknown else error
            raise usage_error(
                f"The template {format_literal(self.template)} cannot be filled: {reason}. "
                "Write template('a {colour} boat', colour=[…]), and {{ and }} where braces are meant."
            ) from error
        return Table((*gaps, self.field), settings, frozenset(gaps))


AnyPart: TypeAlias = Axis | Zipped | Template | Rows
"""A part of any kind in a file; each has fields that no other has."""
Zipped.model_rebuild()


def zipped(**axes: Any) -> Zipped:
    """Zip axes of the same length, so that they vary together.

    Example::

        rb.sweep(boat, rb.zipped(seed=[1, 2], prompt=["a boat", "a kite"]))
    """
    if not axes:
        raise usage_error("zipped(…) takes axes that vary together, such as zipped(seed=[1, 2], prompt=[…, …]).")
    return Zipped(zipped=make_axes(axes))


def rows(table: Any, /, *, keep: Iterable[str] = ()) -> Rows:
    """Plan one run per row of a DataFrame or list of dicts; `keep` names columns that are labels only.

    Example::

        rb.sweep(boat, rb.rows([{"seed": 1, "note": "calm"}, {"seed": 2}], keep=["note"]))
    """
    records = read_records(table)
    names = list(dict.fromkeys(str(name) for record in records for name in record))
    labels = tuple(map(str, coerce_axis_values("keep", keep))) if keep else ()
    cells = [
        {str(name): coerce_value(cell) for name, cell in record.items() if not is_missing(cell)} for record in records
    ]
    return Rows(columns=tuple(names), keep=labels, rows=tuple(cells))


def template(text: str, /, **words: Any) -> Template:
    """Fill the gaps of a prompt with every combination of the words, which also become columns of the table.

    Example::

        rb.sweep(boat, rb.template("a {colour} boat in {weather}", colour=["red", "blue"], weather=["rain", "fog"]))
    """
    if not isinstance(text, str):
        raise usage_error(f"A template is a text with gaps, such as 'a {{colour}} boat', not {format_literal(text)}.")
    return Template(template=text, words={gap: coerce_axis_values(gap, given) for gap, given in words.items()})


def make_axes(axes: Mapping[str, Any]) -> tuple[AnyPart, ...]:
    """A part for each name: an axis, or the given template for that field."""
    return tuple(
        given.model_copy(update={"field": name})
        if isinstance(given, Template)
        else Axis(axis=str(name), values=coerce_axis_values(name, given))
        for name, given in axes.items()
    )


def merge(settings: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The values and labels of several settings together."""
    return {name: value for setting in settings for name, value in setting.items()}


# Samples.


class Sampled(NamedTuple):
    """Runs whose values are drawn jointly, so that a few runs cover all ranges evenly."""

    runs: int
    fields: Mapping[str, Any]
    """The lowest and highest value of each field, or the values to choose from."""
    seed: int
    method: str

    def draw(self, model: type[Input]) -> Rows:
        """The runs as a table, the same for the same seed."""
        draws = [_make_draw(model, name, given) for name, given in self.fields.items()]
        drawn = [[draw(point) for draw, point in zip(draws, points, strict=True)] for points in self._find_points()]
        return Rows(columns=tuple(self.fields), rows=tuple(dict(zip(self.fields, row, strict=True)) for row in drawn))

    def _find_points(self) -> list[list[float]]:
        """Points that cover the unit cube evenly."""
        try:
            qmc = import_module("scipy.stats.qmc")
        except ImportError:
            raise ReelbookError(
                "Drawing a sample needs scipy, which is not installed here: pip install 'reelbook[sampling]'"
            ) from None
        if self.method == "latin":
            points = qmc.LatinHypercube(len(self.fields), rng=self.seed).random(self.runs)
        else:
            # Only powers of two are balanced; a prefix of one is the next best.
            points = qmc.Sobol(len(self.fields), rng=self.seed).random_base2(math.ceil(math.log2(self.runs)))
        return list(points[: self.runs].tolist())


def sampled(
    n: int, fields: Mapping[str, Any] | None = None, /, *, seed: int = 0, method: Literal["latin", "sobol"] = "latin", **more: Any
) -> Sampled:  # fmt: skip
    """Draw `n` runs that cover the ranges of some fields evenly: `(low, high)` for numbers, a list for choices.

    Fields with the name of a parameter, such as `seed`, go in the dict: `sampled(40, {"seed": (0, 99)}, seed=1)`.

    Example::

        rb.sweep(boat, rb.sampled(40, num_frames=(9, 257), resolution=["480p", "720p"]))
    """
    drawn = {**(fields or {}), **more}
    if not drawn or method not in ("latin", "sobol") or not isinstance(seed, Integral):
        raise usage_error(
            "sampled(…) takes a number of runs, then the fields to draw, such as num_frames=(9, 257); `method` is 'latin' or "
            "'sobol'. Its `seed` is the sampler's own whole number; to draw those of the runs, write sampled(n, {\"seed\": (0, 99)})."
        )
    check_count(n)
    return Sampled(index(n), drawn, int(seed), method)


def _make_draw(model: type[Input], name: str, given: Any) -> Callable[[float], Any]:
    """The function that maps a number between 0 and 1 to a value of a field: of a range, by its steps, or of a list."""
    rule = get_schema(model, parse_field_path(model, name))
    is_range = isinstance(given, tuple) and len(given) == 2 and all(isinstance(end, Real) for end in given)
    if not is_range or "enum" in rule or rule.get("type") == "boolean":
        values = coerce_axis_values(name, given)
        return lambda point: values[int(point * len(values))]
    low, high = map(int if all(isinstance(end, Integral) for end in given) else float, given)
    step = Fraction(str(rule["multipleOf"])) if "multipleOf" in rule else None
    if rule.get("type") == "integer":
        # The integral multiples of 5/2 are those of 5.
        step = Fraction(1 if step is None else step.numerator)
    if step is None:
        return lambda point: low + point * (high - low)
    first, last = math.ceil(Fraction(str(low)) / step), math.floor(Fraction(str(high)) / step)
    if first > last:
        raise usage_error(f"`{name}` has no value from {low} to {high}: it takes multiples of {float(step):g}.")
    convert = int if step.denominator == 1 else float
    # As a fraction, because a range of seeds can have more values than a float distinguishes.
    return lambda point: convert((first + int(Fraction(point) * (last - first + 1))) * step)


# The file of a plan.


TITLE = '# A sweep of Reelbook. Read it with reelbook.sweep.read("…"), or run it with: reelbook sweep …\n'
NOTHING = {"nothing": True}
"""The table that represents None, which TOML lacks."""


class PlanFile(BaseModel):
    """What the file of a plan holds: its base and parts."""

    model_config = ConfigDict(extra="forbid")

    format: Literal["reelbook sweep 1"]
    model: str
    base: dict[str, Any] = Field(default_factory=dict)
    parts: tuple[AnyPart, ...] = ()


def format_plan_file(file: PlanFile) -> str:
    """Format a plan as TOML."""
    import tomlkit  # Here, because few need it.

    try:
        text = tomlkit.dumps(_replace(file.model_dump(exclude_defaults=True), None, NOTHING))
        text.encode()
    except (TypeError, ValueError) as error:
        raise usage_error(
            f"This plan holds a value that cannot be written to a file: {error}. Save a picture, and give its path or URL instead."
        ) from None
    return TITLE + text


def read_plan_file(path: str | Path) -> PlanFile:
    """Read the file of a plan."""
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise usage_error(f"{path} could not be read as TOML: {error}.") from error
    try:
        return PlanFile.model_validate(_replace(data, NOTHING, None))
    except ValidationError as invalid:
        first = invalid.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise usage_error(f"{path} is no sweep that can be read: `{where}`: {first['msg']}.") from invalid


def _replace(value: Any, old: Any, new: Any) -> Any:
    """Replace one value by another, also inside of lists and tables."""
    if value == old:
        return new
    if isinstance(value, Mapping):
        return {str(name): _replace(item, old, new) for name, item in value.items()}
    return [_replace(item, old, new) for item in value] if isinstance(value, (list, tuple)) else value
