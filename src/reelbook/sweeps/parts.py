"""The parts of a sweep: axes, axes that move together, tables, templates and samples. A plan file holds all but samples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from string import Formatter
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from ..models.base import Input
from ..models.problems import format_literal
from ..util.missing_values import is_missing
from .field_paths import get_fields, get_schema, parse_field_path
from .sampling import Domain, Method, draw_values, parse_domain
from .values import MAX_RUNS, coerce_axis_values, coerce_value, read_records, too_many, usage_error


class Table(NamedTuple):
    """The expansion of a part of a sweep: its columns, and its settings in order with values and labels by column."""

    columns: tuple[str, ...]
    settings: Sequence[Mapping[str, Any]]


class SweepPart(BaseModel, ABC):
    """One part of a sweep; parts are crossed with each other, the last one varying fastest."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The names of the fields and labels that it varies."""

    @property
    def labels(self) -> frozenset[str]:
        """The columns that are not fields."""
        return frozenset()

    @abstractmethod
    def __len__(self) -> int:
        """The number of settings."""

    @abstractmethod
    def table(self, model: type[Input]) -> Table:
        """The settings for a model."""

    def for_file(self, model: type[Input]) -> SweepPart:
        """The part as a file keeps it."""
        return self


class Axis(SweepPart):
    """One field and its values in order."""

    name: str = Field(alias="axis")
    values: tuple[Any, ...] = Field(min_length=1)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.name,)

    def __len__(self) -> int:
        return len(self.values)

    def table(self, model: type[Input]) -> Table:
        name, fit = _field_and_fit(model, self.name)
        return Table((name,), [{name: fit(value)} for value in self.values])


class Zipped(SweepPart):
    """Parts that vary together: the first setting of each, then the second, and so on."""

    members: tuple[AnyPart, ...] = Field(alias="zipped", min_length=1)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for member in self.members for name in member.columns)

    @property
    def labels(self) -> frozenset[str]:
        return frozenset().union(*(member.labels for member in self.members))

    def __len__(self) -> int:
        return len(self.members[0])

    def table(self, model: type[Input]) -> Table:
        tables = [member.table(model) for member in self.members]
        settings = [merge(together) for together in zip(*(table.settings for table in tables), strict=True)]
        return Table(tuple(name for table in tables for name in table.columns), settings)


class Rows(SweepPart):
    """The rows of a table, one run each; an empty cell keeps the value of the base."""

    names: tuple[str, ...] = Field(alias="columns")
    keep: tuple[str, ...] = ()
    """Columns that are not fields and are kept as labels."""
    cells: tuple[dict[str, Any], ...] = Field(alias="rows")

    @property
    def columns(self) -> tuple[str, ...]:
        return self.names

    @property
    def labels(self) -> frozenset[str]:
        return frozenset(self.keep)

    def __len__(self) -> int:
        return len(self.cells)

    def table(self, model: type[Input]) -> Table:
        fits = {name: _field_and_fit(model, name) for name in self.names if name not in self.keep}
        settings = [
            {
                **{fits[name][0]: fits[name][1](cell) for name, cell in row.items() if name in fits},
                **{name: row.get(name) for name in self.keep},
            }
            for row in self.cells
        ]
        return Table(tuple(fits[name][0] if name in fits else name for name in self.names), settings)


class Template(SweepPart):
    """A text with gaps and the words for each gap; every combination is one text, the last gap varying fastest."""

    text: str = Field(alias="template")
    name: str = Field("prompt", alias="field")
    """The field that receives the text."""
    words: dict[str, tuple[Any, ...]] = Field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.words, self.name)

    @property
    def labels(self) -> frozenset[str]:
        return frozenset(self.words)

    def __len__(self) -> int:
        return prod(map(len, self.words.values()))

    def __iter__(self) -> Iterator[str]:  # type: ignore[override]  # Its texts, and not the fields of a pydantic model.
        return (str(setting[self.name]) for setting in self._settings(self.name))

    def table(self, model: type[Input]) -> Table:
        for gap in self.words:
            if gap in get_fields(model):
                raise usage_error(f"The gap {{{gap}}} has the name of a field of the model; give the gap another name.")
        name = parse_field_path(model, self.name).name
        return Table((*self.words, name), list(self._settings(name)))

    def _settings(self, name: str) -> Iterator[Mapping[str, Any]]:
        for words in product(*self.words.values()):
            filled = dict(zip(self.words, words, strict=True))
            yield {**filled, name: self.text.format_map(filled)}


class Sampled(SweepPart):
    """Runs whose values are drawn jointly, so that a few runs cover all ranges evenly."""

    count: int
    method: Method = "latin"
    seed: int = 0
    domains: dict[str, Domain]
    """The lowest and highest value of each field, or the values to choose from."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.domains)

    def __len__(self) -> int:
        return self.count

    def table(self, model: type[Input]) -> Table:
        drawn = self.draw(model)
        names = [parse_field_path(model, name).name for name in drawn]
        settings = [dict(zip(names, row, strict=True)) for row in zip(*drawn.values(), strict=True)]
        return Table(tuple(names), settings)

    def draw(self, model: type[Input]) -> dict[str, tuple[Any, ...]]:
        """The values of each field, the same for the same seed."""
        return draw_values(model, self.count, self.domains, seed=self.seed, method=self.method)

    def for_file(self, model: type[Input]) -> Rows:
        """The values drawn, so that the file runs the same without scipy, and whatever its version."""
        columns, settings = self.table(model)
        return Rows(names=columns, cells=tuple(map(dict, settings)))


KINDS: Mapping[str, type[SweepPart]] = {
    "axis": Axis, "zipped": Zipped, "template": Template, "columns": Rows,
}  # fmt: skip
"""The kinds of parts by the key that only they have in a file."""


def _find_kind(part: Any) -> str | None:
    if isinstance(part, SweepPart):
        return next(key for key, kind in KINDS.items() if isinstance(part, kind))
    return next((key for key in KINDS if key in part), None) if isinstance(part, Mapping) else None


AnyPart = Annotated[
    Annotated[Axis, Tag("axis")]
    | Annotated[Zipped, Tag("zipped")]
    | Annotated[Template, Tag("template")]
    | Annotated[Rows, Tag("columns")],
    Discriminator(
        _find_kind, custom_error_type="no_part", custom_error_message=f"a part has one of the keys {', '.join(KINDS)}"
    ),
]
"""A part of any kind, as pydantic reads it from a file."""
Zipped.model_rebuild()


def zipped(axes: Mapping[str, Any] | None = None, /, **more: Any) -> Zipped:
    """Zip axes of the same length, so that they vary together.

    >>> together = zipped(seed=[1, 2], prompt=["a boat", "a kite"])
    >>> len(together), together.columns
    (2, ('seed', 'prompt'))
    """
    members = make_axes({**(axes or {}), **more})
    if not members:
        raise usage_error("zipped() has no axes; name at least one, such as zipped(seed=[1, 2]).")
    if len({len(member) for member in members}) > 1:
        counts = ", ".join(f"`{member.columns[-1]}` has {len(member)}" for member in members)
        raise usage_error(
            f"Axes in zipped(…) move together, so they need the same number of values; {counts}. "
            "Give all of them as many, or pass them as separate axes."
        )
    return Zipped(members=members)


def rows(table: Any, /, *, keep: Iterable[str] = ()) -> Rows:
    """Plan one run per row of a DataFrame or list of dicts; `keep` names columns that are labels only.

    >>> len(rows([{"seed": 1, "note": "calm"}, {"seed": 2}], keep=["note"]))
    2
    """
    names, records = read_records(table)
    label_names = (keep,) if isinstance(keep, str) else tuple(keep)
    for name in label_names:
        if name not in names:
            has = ", ".join(f"`{column}`" for column in names[:40])
            raise usage_error(f"`keep` names `{name}`, and the table has no such column; it has {has}.")
    if not records:
        raise usage_error("The table has no rows, so there is nothing to run.")
    if unnamed := [name for name in names if not isinstance(name, str)]:
        raise usage_error(f"The column {unnamed[0]!r} has a name that is not text; name it after its field.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise usage_error(f"The table has two columns `{twice}`; leave one of them out.")
    cells = [{name: coerce_value(cell) for name, cell in record.items() if not is_missing(cell)} for record in records]
    return Rows(names=tuple(names), keep=label_names, cells=tuple(cells))


def template(text: str, /, **words: Any) -> Template:
    """Fill the gaps of a prompt with every combination of the words, which also become columns of the table.

    >>> list(template("a {colour} boat in {weather}", colour=["red", "blue"], weather=["rain"]))
    ['a red boat in rain', 'a blue boat in rain']
    """
    gaps = _find_gaps(text)
    for gap in gaps:
        if gap not in words:
            raise usage_error(
                f"The template has a gap {{{gap}}} and no words for it; add {gap}=[…], "
                "or write {{ and }} where braces are meant."
            )
    for name in words:
        if name not in gaps:
            raise usage_error(f"The template has no gap {{{name}}} for the words of `{name}`.")
    return Template(text=text, name="prompt", words={gap: coerce_axis_values(gap, words[gap]) for gap in gaps})


def sampled(
    n: int, fields: Mapping[str, Any] | None = None, /, *, seed: int = 0, method: Literal["latin", "sobol"] = "latin", **more: Any
) -> Sampled:  # fmt: skip
    """Draw `n` runs that cover the ranges of some fields evenly: `(low, high)` for numbers, a list for choices.

    Fields with the name of a parameter, such as `seed`, go in the dict: `sampled(40, {"seed": (0, 99)}, seed=1)`.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> few = sampled(3, num_frames=(9, 257), resolution=["480p", "720p"])
    >>> {name: len(values) for name, values in few.draw(TextToVideo).items()}
    {'num_frames': 3, 'resolution': 3}
    """
    n, seed = coerce_value(n), coerce_value(seed)
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise usage_error(f"sampled() needs a number of runs of at least 1, not {format_literal(n)}.")
    if n > MAX_RUNS:
        raise too_many(n)
    if method not in get_args(Method):
        known = " or ".join(map(repr, get_args(Method)))
        raise usage_error(f"sampled() knows the methods {known}, not {format_literal(method)}.")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        hint = ' To draw the seeds of the runs, write sampled(n, {"seed": (0, 99)}).'
        raise usage_error(f"The sampler's own seed is a whole number from 0, not {format_literal(seed)}.{hint}")
    named = {**(fields or {}), **more}
    domains = {name: parse_domain(name, given) for name, given in named.items()}
    if not domains:
        raise usage_error("sampled() has no fields; name at least one, such as num_frames=(9, 257).")
    return Sampled.model_construct(count=n, method=method, seed=seed, domains=domains)


def make_axes(axes: Mapping[str, Any]) -> tuple[SweepPart, ...]:
    """A part for each name: an axis, or the given template for that field."""
    for name in axes:
        if not isinstance(name, str):
            raise usage_error(f'An axis is named by text, such as "seed", not by {format_literal(name)}.')
    return tuple(
        given.model_copy(update={"name": name})
        if isinstance(given, Template)
        else Axis(name=name, values=coerce_axis_values(name, given))
        for name, given in axes.items()
    )


def merge(settings: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The values and labels of several settings together."""
    return {name: value for setting in settings for name, value in setting.items()}


def _find_gaps(text: str) -> list[str]:
    """The distinct names of the gaps in a template."""
    try:
        parts = list(Formatter().parse(text))
    except ValueError as error:
        raise usage_error(
            f"The template {format_literal(text)} cannot be read: {error}. Write {{{{ and }}}} where braces are meant."
        ) from error
    gaps = [(name, spec, conversion) for _, name, spec, conversion in parts if name is not None]
    for name, spec, conversion in gaps:
        if not name.isidentifier() or spec or conversion:
            raise usage_error(f"The gap {{{name}}} in the template needs a plain name, such as {{colour}}.")
    return list(dict.fromkeys(name for name, _, _ in gaps))


def _field_and_fit(model: type[Input], name: str) -> tuple[str, Callable[[Any], Any]]:
    """The canonical name of a field, and a function that wraps a single entry if the field is a list."""
    place = parse_field_path(model, name)
    is_listed = get_schema(model, place).get("type") == "array"
    return (
        place.name,
        lambda value: [value] if is_listed and value is not None and not isinstance(value, list) else value,
    )
