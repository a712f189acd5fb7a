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

from ...errors import Interrupted
from ...models.base import Input
from ...models.pricing import Estimate
from ...models.problems import shown
from ...util.interrupts import raised_once
from ...util.name_hints import Hinting, answering
from ..sweep_errors import MAX_RUNS, too_many, usage_error
from .advice import warnings_of
from .axes import SweepPart
from .axis_values import plain
from .plan_rows import Known, Row, maker
from .row_selection import checked_price, each_once, in_order, is_field, numbered, picked, said_of, sum_of

if TYPE_CHECKING:
    import pandas as pd

    from ..execute.executor import Client
    from ..execute.job import SweepJob
    from ..house import House
    from .plan_summary import Facts


Step = tuple[str, Mapping[str, Any]]
"""A method of a plan that was called on it, and with what."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a plan came about, as far as a file can tell it."""

    parts: tuple[SweepPart, ...]
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Hinting):
    """Every run of a sweep. A plan never changes; what changes one gives another."""

    _internal = ("distinct", "facts", "house", "knowing", "known", "recipe")

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
            try:
                return self._of(self.rows[place], step=step)
            except (TypeError, ValueError) as error:
                raise usage_error(f"The slice {place} takes no runs of a plan: {error}.", "index") from None
        # Asked first, because an array claims to be a number, too.
        if isinstance(place, Iterable):
            return self._of(picked(self.rows, plain(list(place))))
        return numbered(self.rows, place)

    def __add__(self, other: Plan) -> Plan:
        """The runs of both; what both ask for counts once."""
        if not isinstance(other, Plan):
            return NotImplemented
        if type(other.base) is not type(self.base):
            raise usage_error(
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
            raise usage_error(
                f"where() cannot ask {shown(predicate)}; {hint}, or a mask in brackets: plan[mask].", "where"
            )
        return self._of(
            [row for row in self.rows if said_of("where", lambda run: bool(predicate(run)), row, otherwise=True)]
        )

    def derived(self, **functions: Callable[[Row], Any]) -> Plan:
        """The plan with columns computed from each run; one that has the name of a field changes the run."""
        plan = self
        for name, function in functions.items():
            plan = plan._with_column(name, function)
        return plan

    def repeated(self, takes: int) -> Plan:
        """Every run several times, as takes 0, 1, 2 … that the library keeps apart."""
        takes = plain(takes)
        if isinstance(takes, bool) or not isinstance(takes, int) or takes < 1:
            raise usage_error(f"repeated() needs a number of takes of at least 1, not {shown(takes)}.", "takes")
        if len(self) * takes > MAX_RUNS:
            raise too_many(len(self) * takes)
        rows = [replace(row, take=row.take * takes + take) for row in self.rows for take in range(takes)]
        return self._of(rows, step=("repeated", {"takes": takes}), notes=self.notes)

    def shuffled(self, seed: int = 0) -> Plan:
        """The same runs in an order drawn with this seed."""
        seed = plain(seed)
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise usage_error(f"shuffled() needs a whole number as its seed, not {shown(seed)}.", "shuffle_seed")
        # By random() alone, which Python promises to stay the same from version to version.
        draw = random.Random(seed)
        rows = [row for _, row in sorted(((draw.random(), row) for row in self.rows), key=operator.itemgetter(0))]
        return self._of(rows, step=("shuffled", {"seed": seed}), notes=self.notes)

    def sorted_by(self, *names: str, descending: bool = False) -> Plan:
        """The same runs in the order of these fields, labels, `credits` or `take`; what has no value comes last."""
        rows = list(self.rows)
        for name in reversed(names):
            rows = in_order(rows, name, descending=descending)
        return self._of(rows, step=("sorted_by", {"names": list(names), "descending": descending}), notes=self.notes)

    def priced(self, price: Callable[[Input], Estimate | int | None]) -> Plan:
        """The plan with prices from somewhere else: from the service, or what you know a run costs.

        >>> from reelbook.models.text_to_video import TextToVideo
        >>> from reelbook.sweeps.plan.sweep_call import sweep
        >>> sweep(TextToVideo(prompt="a paper boat"), seed=[1, 2]).priced(lambda request: 40).credits
        80
        """
        if not callable(price):
            raise usage_error(
                f"priced() asks a function of an input, such as lambda request: 40, not {shown(price)}.", "price"
            )
        asked: dict[Input, Estimate] = {}
        rows = []
        for row in self.rows:
            if row.input is not None and row.input not in asked:
                told = price(row.input)
                asked[row.input] = told if isinstance(told, Estimate) else Estimate(checked_price(told))
            rows.append(row if row.input is None else replace(row, estimate=asked[row.input]))
        return replace(self, rows=tuple(rows))

    def knowing(self, known: Known | None) -> Plan:
        """The plan with something that tells which results the library has."""
        return replace(self, known=known)

    @cached_property
    def axes(self) -> Mapping[str, tuple[Any, ...]]:
        """What varies, with its values in the order of the runs, each once.

        >>> from reelbook.models.text_to_video import TextToVideo
        >>> from reelbook.sweeps.plan.sweep_call import sweep
        >>> sweep(TextToVideo(prompt="a paper boat"), seed=[1, 2], resolution=["480p"]).axes
        {'seed': (1, 2), 'resolution': ('480p',)}
        """
        return {name: each_once(row[name] for row in self.rows) for name in self.columns}

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
        return sum_of(self.distinct)

    @property
    def credits_due(self) -> int | None:
        """What is still to be paid: the price of the runs that the library does not have."""
        known = self._known()
        return sum_of(row for row in self.distinct if known is None or not known(row))

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What is allowed and probably not meant."""
        return (*self.notes, *warnings_of(self.base, self.columns, self.rows, distinct=len(self.distinct)))

    @property
    def frame(self) -> pd.DataFrame:
        """One row per planned run: its inputs, labels, take, credits, what is due, and why it cannot run."""
        from .plan_frame import frame_of

        return frame_of(self, self._known())

    @property
    def facts(self) -> Facts:
        """What there is to say about the plan, ready to be shown."""
        from .plan_summary import facts_of

        known = self._known()
        return facts_of(self, known, seconds=None if self.house is None else self.house.seconds(self, known))

    def summary(self) -> str:
        """The plan as a small table for a terminal."""
        from .plan_summary import told

        return told(self.facts)

    @overload
    def to_toml(self, path: None = None) -> str: ...
    @overload
    def to_toml(self, path: str | Path) -> None: ...
    def to_toml(self, path: str | Path | None = None) -> str | None:
        """The plan as a file that one can review and commit; without a path, its text."""
        from .plan_file import text_of

        text = text_of(self)
        if path is None:
            return text
        try:
            Path(path).write_text(text, encoding="utf-8", newline="\n")
        except (OSError, TypeError) as error:
            raise usage_error(f"The plan could not be written to {path}: {error}.", "unwritable") from error
        return None

    @answering("plan.run(budget=plan.credits)")
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
        order: str = "coverage",
        client: Client | None = None,
    ) -> pd.DataFrame:
        """Run what the library lacks, and wait for it; gives the table of all runs.

        `budget` is the most that the runs of this plan may cost together, whoever pays and whenever, so that a cell that
        is run twice pays once; `spend` is the most that this call may pay, whatever was paid before. Neither is ever
        exceeded, and both may be given. A service that charges real credits needs one of them.
        Run it again to go on after a crash, an interrupt or a stop: only what is missing is sent, failed runs among it.
        `rate` is such as `"10/s"`; `take=1` repeats everything once more; `on_error="stop"` sends nothing after a failure;
        `notify` is called with the job at the end; `price` is the most that one run may cost where nobody knows it;
        `order` is "coverage" (spread over all axes), "as given" or "cheapest".
        """
        with raised_once():
            job = self._job(
                client, budget=budget, spend=spend, concurrency=concurrency, rate=rate, take=take, on_error=on_error,
                notify=notify, price=price, order=order,
            )  # fmt: skip
            job.is_shown = progress and self.house is not None and self.house.is_looked_at()
            try:
                job.begin()
                with self.house.watching(job) if progress and self.house is not None else nullcontext():
                    return job.wait()
            except KeyboardInterrupt:
                raise Interrupted(job.interrupted()) from None

    @answering("plan.start(budget=plan.credits)")
    def start(
        self,
        *,
        budget: int | None = None,
        spend: int | None = None,
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
        job = self._job(
            client, budget=budget, spend=spend, concurrency=concurrency, rate=rate, take=take, on_error=on_error,
            notify=notify, price=price, order=order,
        )  # fmt: skip
        job.begin()
        return job

    def _job(self, client: Client | None, **said: Any) -> SweepJob:
        """A job that has not begun."""
        from ..execute.job import job_of
        from ..execute.run_options import options

        checked = options(**said)
        if client is None:
            if self.house is None:
                raise usage_error("This plan was made without a client; run it with client=rb.connect().", "client")
            client = self.house.client()
        return job_of(self, client, checked)

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

    def _with_column(self, name: str, function: Callable[[Row], Any]) -> Plan:
        is_label = not is_field(self.base, name)
        columns = tuple(dict.fromkeys((*self.columns, name)))
        labels = self.labels | {name} if is_label else self.labels
        make = {base: maker(base, columns, labels) for base in {row.base or self.base for row in self.rows}}
        rows = []
        for row in self.rows:
            value = plain(said_of(name, function, row, otherwise=None))
            if is_label:
                rows.append(replace(row, labels={**row.labels, name: value}, columns=columns))
            else:
                made = make[row.base or self.base].row(row.number, {**row.asked, name: value}, row.labels, row.take)
                rows.append(made)
        return replace(self, columns=columns, labels=labels, rows=tuple(rows), recipe=None)
