"""A plan: every run of a sweep, checked and priced before anything is sent."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from ..models.base import Input
from ..models.pricing import Estimate
from ..models.problems import shown, unknown_field
from .advice import warnings_of
from .axes import SweepPart
from .mistakes import MOST_RUNS, mistake, too_many
from .places import fields_of
from .rows import Known, Row, maker
from .values import plain

if TYPE_CHECKING:
    import pandas as pd

    from .conduct import Client
    from .facts import Facts
    from .house import House
    from .job import SweepJob


Step = tuple[str, Mapping[str, Any]]
"""A method of a plan that was called on it, and with what."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a plan came about, as far as a file can tell it."""

    parts: tuple[SweepPart, ...]
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """Every run of a sweep. A plan never changes; what changes one gives another."""

    base: Input
    """The input that is varied."""
    columns: tuple[str, ...]
    """The names that vary: fields, places in them, labels."""
    rows: tuple[Row, ...]
    """The runs, numbered from 0."""
    labels: frozenset[str] = frozenset()
    """Those of the columns that are no fields."""
    recipe: Recipe | None = None
    """How it came about; None where only its rows can tell."""
    notes: tuple[str, ...] = ()
    """What was odd about the axes."""
    known: Known | None = None
    """Whether the library has the result of a row; None where the library is to be asked, if there is one."""
    house: House | None = None
    """Whoever has a client to run it with."""

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @overload
    def __getitem__(self, place: SupportsIndex) -> Row: ...
    @overload
    def __getitem__(self, place: slice | Iterable[Any]) -> Plan: ...
    def __getitem__(self, place: Any) -> Row | Plan:
        """One run by its number; the runs of a slice, a list of numbers or a mask as a plan."""
        if isinstance(place, slice):
            step = ("sliced", {"start": place.start, "stop": place.stop, "step": place.step})
            return self._of(self.rows[place], step=step)
        # Asked first, because an array claims to be a number, too.
        if isinstance(place, Iterable):
            return self._of(self._picked(plain(list(place))))
        return self.rows[operator.index(place)]

    def __add__(self, other: Plan) -> Plan:
        """The runs of both; what both ask for counts once."""
        if not isinstance(other, Plan):
            return NotImplemented
        if type(other.base) is not type(self.base):
            raise mistake(
                f"One plan is for {self.base.endpoint_id}, the other for {other.base.endpoint_id}, and a plan is for one model. "
                "Run one after the other, and put their tables together with pandas.concat.",
                "two_models",
            )
        have = {row.key for row in self.rows}
        added = [row for row in other.rows if row.key not in have]
        columns = tuple(dict.fromkeys((*self.columns, *other.columns)))
        merged_plan = replace(self, columns=columns, labels=self.labels | other.labels)
        return merged_plan._of([*self.rows, *added])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Plan):
            return NotImplemented
        return (self.base, self.columns, self.rows) == (other.base, other.columns, other.rows)

    def __hash__(self) -> int:
        return hash((self.base, self.columns, self.rows))

    def __repr__(self) -> str:
        return self.summary()

    def where(self, predicate: Callable[[Row], Any]) -> Plan:
        """The runs for which this is true; an impossible one that it cannot judge stays, marked as it is."""
        if not callable(predicate):
            hint = "give a function of a run, such as where(lambda run: run.num_frames < 100)"
            raise mistake(f"where() cannot ask {shown(predicate)}; {hint}, or a mask in brackets: plan[mask].", "where")
        return self._of([row for row in self.rows if _said("where", predicate, row, otherwise=True)])

    def derived(self, **functions: Callable[[Row], Any]) -> Plan:
        """The plan with columns computed from each run; one that has the name of a field changes the run."""
        plan = self
        for name, function in functions.items():
            plan = plan._with_column(name, function)
        return plan

    def repeated(self, takes: int) -> Plan:
        """Every run several times, as takes 0, 1, 2 … that the library keeps apart."""
        if isinstance(takes, bool) or not isinstance(takes, int) or takes < 1:
            raise mistake(f"repeated() needs a number of takes of at least 1, not {shown(takes)}.", "takes")
        if len(self) * takes > MOST_RUNS:
            raise too_many(len(self) * takes)
        rows = [replace(row, take=row.take * takes + take) for row in self.rows for take in range(takes)]
        return self._of(rows, step=("repeated", {"takes": takes}), notes=self.notes)

    def shuffled(self, seed: int = 0) -> Plan:
        """The same runs in an order drawn with this seed."""
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise mistake(f"shuffled() needs a whole number as its seed, not {shown(seed)}.", "shuffle_seed")
        # By random() alone, which Python promises to stay the same from version to version.
        draw = random.Random(seed)
        rows = [row for _, row in sorted(((draw.random(), row) for row in self.rows), key=operator.itemgetter(0))]
        return self._of(rows, step=("shuffled", {"seed": seed}), notes=self.notes)

    def sorted_by(self, *names: str, descending: bool = False) -> Plan:
        """The same runs in the order of these fields, labels, `credits` or `take`; what has no value comes last."""
        rows = list(self.rows)
        for name in reversed(names):
            rows = self._sorted(rows, name, descending=descending)
        return self._of(rows, step=("sorted_by", {"names": list(names), "descending": descending}), notes=self.notes)

    def priced(self, price: Callable[[Input], Estimate | int | None]) -> Plan:
        """The plan with prices from somewhere else: from the service, or what you know a run costs.

        >>> from reelbook.models.text_to_video import TextToVideo
        >>> from reelbook.sweeps.sweep import sweep
        >>> sweep(TextToVideo(prompt="a paper boat"), seed=[1, 2]).priced(lambda request: 40).credits
        80
        """
        asked: dict[Input, Estimate] = {}
        rows = []
        for row in self.rows:
            if row.input is not None and row.input not in asked:
                told = price(row.input)
                asked[row.input] = told if isinstance(told, Estimate) else Estimate(told)
            rows.append(row if row.input is None else replace(row, estimate=asked[row.input]))
        return replace(self, rows=tuple(rows))

    def knowing(self, known: Known | None) -> Plan:
        """The plan with something that tells which results the library has."""
        return replace(self, known=known)

    @cached_property
    def axes(self) -> Mapping[str, tuple[Any, ...]]:
        """What varies, with its values in the order of the runs, each once.

        >>> from reelbook.models.text_to_video import TextToVideo
        >>> from reelbook.sweeps.sweep import sweep
        >>> sweep(TextToVideo(prompt="a paper boat"), seed=[1, 2], resolution=["480p"]).axes
        {'seed': (1, 2), 'resolution': ('480p',)}
        """
        return {name: _each_once(row[name] for row in self.rows) for name in self.columns}

    @cached_property
    def distinct(self) -> tuple[Row, ...]:
        """The possible runs, each once where several rows ask for the same."""
        found: dict[Any, Row] = {}
        for row in self.rows:
            if row.input is not None:
                found.setdefault(row.key, row)
        return tuple(found.values())

    @property
    def credits(self) -> int | None:
        """What all runs cost together, each once; None where the price of one is unknown."""
        return _sum(self.distinct)

    @property
    def credits_due(self) -> int | None:
        """What is still to be paid: the price of the runs that the library does not have."""
        known = self._known()
        return _sum(row for row in self.distinct if known is None or not known(row))

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What is allowed and probably not meant."""
        return (*self.notes, *warnings_of(self.base, self.columns, self.rows, distinct=len(self.distinct)))

    @property
    def frame(self) -> pd.DataFrame:
        """One row per planned run: its inputs, labels, take, credits, what is due, and why it cannot run."""
        from .planframe import frame_of

        return frame_of(self, self._known())

    @property
    def facts(self) -> Facts:
        """What there is to say about the plan, ready to be shown."""
        from .facts import facts_of

        return facts_of(self, self._known())

    def summary(self) -> str:
        """The plan as a small table for a terminal."""
        from .facts import told

        return told(self.facts)

    @overload
    def to_toml(self, path: None = None) -> str: ...
    @overload
    def to_toml(self, path: str | Path) -> None: ...
    def to_toml(self, path: str | Path | None = None) -> str | None:
        """The plan as a file that one can review and commit; without a path, its text."""
        from .planfile import text_of

        text = text_of(self)
        if path is None:
            return text
        Path(path).write_text(text, encoding="utf-8", newline="\n")
        return None

    def run(
        self,
        *,
        budget: int | None = None,
        concurrency: int | None = None,
        rate: str | float | None = None,
        take: int = 0,
        on_error: str = "continue",
        progress: bool = True,
        notify: Callable[[SweepJob], Any] | None = None,
        price: int | None = None,
        order: str = "coverage",
        client: Client | None = None,
    ) -> pd.DataFrame:
        """Run what the library lacks, and wait for it; gives the table of all runs.

        `budget` is the most that the runs of this plan may cost together, whoever pays and whenever; it is never exceeded.
        Run it again to go on after a crash, an interrupt or a stop: only what is missing is sent, failed runs among it.
        `rate` is such as `"10/s"`; `take=1` repeats everything once more; `on_error="stop"` sends nothing after a failure;
        `notify` is called with the job at the end; `price` is the most that one run may cost where nobody knows it;
        `order` is "coverage" (spread over all axes), "as given" or "cheapest".
        """
        job = self.start(
            budget=budget, concurrency=concurrency, rate=rate, take=take, on_error=on_error, notify=notify, price=price,
            order=order, client=client,
        )  # fmt: skip
        with self.house.watching(job) if progress and self.house is not None else nullcontext():
            try:
                return job.wait()
            except KeyboardInterrupt:
                raise KeyboardInterrupt(job.interrupted()) from None

    def start(
        self,
        *,
        budget: int | None = None,
        concurrency: int | None = None,
        rate: str | float | None = None,
        take: int = 0,
        on_error: str = "continue",
        notify: Callable[[SweepJob], Any] | None = None,
        price: int | None = None,
        order: str = "coverage",
        client: Client | None = None,
    ) -> SweepJob:
        """The same without waiting: a job with `progress`, `frame`, `pause()`, `cancel()`, to be awaited if you like."""
        from .job import start
        from .options import options

        said = options(
            budget=budget, concurrency=concurrency, rate=rate, take=take, on_error=on_error, notify=notify, price=price,
            order=order,
        )  # fmt: skip
        if client is None:
            if self.house is None:
                raise mistake("This plan was made without a client; run it with client=rb.connect().", "client")
            client = self.house.client()
        return start(self, client, said)

    def _known(self) -> Known | None:
        """Whether the library has the result of a row, as it stands now; None where nobody can tell."""
        return self.known if self.known is not None or self.house is None else self.house.known(self)

    def _of(self, rows: Iterable[Row], *, step: Step | None = None, notes: tuple[str, ...] = ()) -> Plan:
        """The plan with other rows, numbered anew."""
        recipe = None
        if step is not None and self.recipe is not None:
            recipe = replace(self.recipe, steps=(*self.recipe.steps, step))
        numbered = tuple(replace(row, number=number, columns=self.columns) for number, row in enumerate(rows))
        return replace(self, rows=numbered, recipe=recipe, notes=notes)

    def _picked(self, places: list[Any]) -> list[Row]:
        if places and all(isinstance(place, bool) for place in places):
            if len(places) != len(self):
                raise mistake(f"The mask has {len(places):,} values and the plan {len(self):,} runs.", "mask")
            return [row for row, is_in in zip(self.rows, places, strict=True) if is_in]
        try:
            return [self.rows[operator.index(place)] for place in places]
        except TypeError:
            raise mistake("A plan takes a number, a slice, a list of numbers or a mask in brackets.", "index") from None

    def _with_column(self, name: str, function: Callable[[Row], Any]) -> Plan:
        is_label = not _is_field(self.base, name)
        columns = tuple(dict.fromkeys((*self.columns, name)))
        labels = self.labels | {name} if is_label else self.labels
        make = {base: maker(base, columns, labels) for base in {row.base or self.base for row in self.rows}}
        rows = []
        for row in self.rows:
            value = plain(_said(name, function, row, otherwise=None))
            if is_label:
                rows.append(replace(row, labels={**row.labels, name: value}, columns=columns))
            else:
                made = make[row.base or self.base].row(row.number, {**row.asked, name: value}, row.labels, row.take)
                rows.append(made)
        return replace(self, columns=columns, labels=labels, rows=tuple(rows), recipe=None)

    def _sorted(self, rows: list[Row], name: str, *, descending: bool) -> list[Row]:
        values = [(_value_to_sort(row, name), row) for row in rows]
        some = [pair for pair in values if pair[0] is not None]
        none = [row for value, row in values if value is None]
        try:
            # Python's sort keeps the order of equals, also from the other end.
            ordered = sorted(some, key=operator.itemgetter(0), reverse=descending)
        except TypeError:
            raise mistake(f"The values of `{name}` have no order, so nothing can be sorted by them.", "sort") from None
        return [*(row for _, row in ordered), *none]


def _is_field(base: Input, name: str) -> bool:
    # Not by place_of alone: an open model would take any name for a field.
    return name in fields_of(type(base)) or "[" in name or "." in name


def _said(what: str, function: Callable[[Row], Any], row: Row, *, otherwise: Any) -> Any:
    """What a caller's function says of a row; of an impossible row it may have nothing to say."""
    try:
        return function(row)
    except AttributeError:
        raise
    except Exception as error:
        if row.input is None:
            return otherwise
        values = ", ".join(f"{name}={shown(value, 30)}" for name, value in row.values.items())
        raise mistake(
            f"`{what}` failed at run {row.number} ({values}): {type(error).__name__}: {error}", what
        ) from error


def _value_to_sort(row: Row, name: str) -> Any:
    if name in ("credits", "take", "number", "problem") and name not in row.columns:
        return getattr(row, name)
    try:
        return row[name]
    except KeyError:
        raise mistake(unknown_field((name,), None, [*row.columns, "credits", "take"]).message, "sort", name) from None


def _each_once(values: Iterable[Any]) -> tuple[Any, ...]:
    """The values in their order, each once; also those that cannot be keys of a dict."""
    found: dict[Any, Any] = {}
    for value in values:
        try:
            found.setdefault((type(value), value), value)
        except TypeError:
            found.setdefault(repr(value), value)
    return tuple(found.values())


def _sum(rows: Iterable[Row]) -> int | None:
    prices = [row.credits for row in rows]
    known = [price for price in prices if price is not None]
    return sum(known) if len(known) == len(prices) else None
