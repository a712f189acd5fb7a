"""Plan: the runs of a sweep, validated and priced before anything is sent."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from ..current import session
from ..errors import Interrupted
from ..models.base import Input
from ..models.pricing import Estimate
from ..models.problems import format_literal
from ..util import registry
from ..util.background_loop import background
from ..util.notebook import get_kernel_shell
from .money_text import sum_or_none
from .parts import AnyPart, Rows
from .plan_file import FORMAT, PlanFile, format_plan_file
from .plan_rows import Known, Row, RowMaker, value_key
from .plan_summary import PlanFacts, find_warnings, format_facts, summarise
from .values import MAX_RUNS, coerce_value, get_fields, too_many, usage_error

if TYPE_CHECKING:
    import pandas as pd

    from ..client import Client
    from .job import SweepJob


@dataclass(frozen=True, eq=False, repr=False)
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
    labels: frozenset[str] = frozenset()
    """The columns that are not fields."""
    parts: tuple[AnyPart, ...] | None = None
    """What was crossed to construct the plan, as a file can store it; None if only its rows describe it."""

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
        if isinstance(place, slice):
            return self._with_rows(self.rows[place])
        if not isinstance(place, Iterable):
            return self.rows[operator.index(place)]
        indexes = coerce_value(list(place))
        if not indexes or not all(isinstance(index, bool) for index in indexes):
            return self._with_rows([self.rows[operator.index(index)] for index in indexes])
        if len(indexes) != len(self):
            raise usage_error(f"The mask has {len(indexes):,} values and the plan {len(self):,} runs.")
        return self._with_rows([row for row, is_in in zip(self.rows, indexes, strict=True) if is_in])

    def __add__(self, other: Plan) -> Plan:
        """The runs of both plans; runs of the second that are also in the first are dropped."""
        if not isinstance(other, Plan):
            return NotImplemented
        if type(other.base) is not type(self.base):
            raise usage_error(
                f"One plan is for {self.base.endpoint_id}, the other for {other.base.endpoint_id}, and a plan is for one model. "
                "Run one after the other, and put their tables together with pandas.concat."
            )
        have = {row.key for row in self.rows}
        added = [row for row in other.rows if row.key not in have]
        columns = tuple(dict.fromkeys((*self.columns, *other.columns)))
        merged_plan = replace(self, columns=columns, labels=self.labels | other.labels)
        return merged_plan._with_rows([*self.rows, *added])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Plan):
            return NotImplemented
        return (self.base, self.columns, self.rows) == (other.base, other.columns, other.rows)

    def __hash__(self) -> int:
        return hash((self.base, self.columns, self.rows))

    def __repr__(self) -> str:
        return format_facts(self.facts)

    def where(self, predicate: Callable[[Row], Any]) -> Plan:
        """The runs for which the predicate is true; an impossible run for which it fails is kept."""
        return self._with_rows(
            [row for row in self.rows if _call_on_row("where", lambda run: bool(predicate(run)), row, otherwise=True)]
        )

    def derived(self, **functions: Callable[[Row], Any]) -> Plan:
        """The plan with columns computed from each run; a column with the name of a field changes the run."""
        plan = self
        for name, function in functions.items():
            plan = plan._with_column(name, function)
        return plan

    def repeated(self, takes: int) -> Plan:
        """Every run several times, as takes 0, 1, 2 …, which the library distinguishes."""
        takes = coerce_value(takes)
        if isinstance(takes, bool) or not isinstance(takes, int) or takes < 1:
            raise usage_error(f"repeated() needs a number of takes of at least 1, not {format_literal(takes)}.")
        if len(self) * takes > MAX_RUNS:
            raise too_many(len(self) * takes)
        rows = [replace(row, take=row.take * takes + take) for row in self.rows for take in range(takes)]
        return self._with_rows(rows)

    def shuffled(self, seed: int = 0) -> Plan:
        """The runs in random order, determined by the seed."""
        # By `random()` only, whose sequence is stable between Python versions.
        draw = random.Random(coerce_value(seed))
        rows = [row for _, row in sorted(((draw.random(), row) for row in self.rows), key=operator.itemgetter(0))]
        return self._with_rows(rows)

    def priced(self, price: Callable[[Input], Estimate | int | None]) -> Plan:
        """The plan with prices from a function: those of the service, or your own.

        >>> from reelbook.models.text_to_video import TextToVideo
        >>> from reelbook.sweeps.sweep_call import sweep
        >>> sweep(TextToVideo(prompt="a paper boat"), seed=[1, 2]).priced(lambda request: 40).credits
        80
        """
        estimates: dict[Input, Estimate] = {}
        rows = []
        for row in self.rows:
            if row.input is not None and row.input not in estimates:
                answer = price(row.input)
                estimates[row.input] = answer if isinstance(answer, Estimate) else Estimate(answer)
            rows.append(row if row.input is None else replace(row, estimate=estimates[row.input]))
        return replace(self, rows=tuple(rows))

    @cached_property
    def axes(self) -> Mapping[str, tuple[Any, ...]]:
        """The columns that vary, with their distinct values in the order of the runs.

        >>> from reelbook.models.text_to_video import TextToVideo
        >>> from reelbook.sweeps.sweep_call import sweep
        >>> sweep(TextToVideo(prompt="a paper boat"), seed=[1, 2], resolution=["480p"]).axes
        {'seed': (1, 2), 'resolution': ('480p',)}
        """
        axes: dict[str, dict[Hashable, Any]] = {name: {} for name in self.columns}
        for name, values in axes.items():
            for row in self.rows:
                value = row[name]
                values.setdefault(value_key(value), value)
        return {name: tuple(values.values()) for name, values in axes.items()}

    @cached_property
    def distinct(self) -> tuple[Row, ...]:
        """The possible runs without duplicates."""
        distinct: dict[Any, Row] = {}
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
        known = self._known()
        return sum_or_none(row.credits for row in self.distinct if known is None or not known(row))

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about what is valid but probably unintended."""
        return tuple(find_warnings(self))

    @property
    def frame(self) -> pd.DataFrame:
        """A table with one row per planned run: inputs, labels, take, credits, credits due, and problem."""
        from .tables import make_plan_frame

        return make_plan_frame(self, self._known())

    @property
    def facts(self) -> PlanFacts:
        """The summary of the plan as data, for displays."""
        return self.summarise(self._known())

    def summarise(self, known: Known | None) -> PlanFacts:
        """The summary by a lookup of results in the library, if there is one."""
        from .progress import CALL_SECONDS, forecast

        seconds = None
        if (client := session.current) is not None:
            due = [row for row in self.distinct if known is None or not known(row)]
            seconds = forecast(due, client.context.ledger, background.wait(client.context.name(), CALL_SECONDS))
        return summarise(self, known, seconds=seconds)

    @overload
    def to_toml(self, path: None = None) -> str: ...
    @overload
    def to_toml(self, path: str | Path) -> None: ...
    def to_toml(self, path: str | Path | None = None) -> str | None:
        """Write the plan to a file to review and commit; without a path, return the text."""
        text = format_plan_file(self._make_file())
        if path is None:
            return text
        Path(path).write_text(text, encoding="utf-8", newline="\n")
        return None

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
        """Send the runs that are not in the library, wait for them, and return the table of all runs.

        `budget` limits the total cost of this plan's runs, including earlier payments and those of other processes, so
        that a cell executed twice pays once; `spend` limits what this call pays, regardless of earlier payments.
        Neither is ever exceeded, and both may be given. A service that charges real credits requires one of them.
        Call it again to resume after a crash, an interrupt or a stop: only missing runs are sent, also failed ones.
        `rate` is a limit such as `"10/s"`; `take=1` repeats everything once more; `on_error="stop"` sends nothing after
        a failure; `notify` is called with the job at the end; `price` is the maximum price of a run whose price is
        unknown; `order` is "coverage" (spread over all axes) or "as given".
        """
        job = self._make_job(
            client, budget=budget, spend=spend, concurrency=concurrency, rate=rate, take=take, on_error=on_error,
            notify=notify, price=price, order=order,
        )  # fmt: skip
        try:
            # The panel comes first: it has to tell of runs that are paid for, however soon an interrupt comes.
            with registry.find("watch_job")(job) if progress else nullcontext():
                job.begin(has_panel=progress and get_kernel_shell() is not None)
                return job.wait()
        except KeyboardInterrupt:
            raise Interrupted(job.interrupt()) from None

    def start(self, *, client: Client | None = None, **options: Any) -> SweepJob:
        """Like `run`, with its options, without waiting: an awaitable job with `progress`, `frame`, `pause()` and `cancel()`."""
        job = self._make_job(client, **options)
        job.begin()
        return job

    def race(self, *, by: Any, **options: Any) -> Any:
        """Find the best setting for fewer credits than all runs cost: `rb.race(plan, by=…)`, which describes the options."""
        return registry.find("race")(self, by=by, **options)

    def _make_file(self) -> PlanFile:
        base, wire = coerce_value(self.base.changed()), self.base.wire()
        if self.parts is not None:
            return PlanFile(format=FORMAT, model=self.base.endpoint_id, base=base, parts=self.parts)
        cells = tuple({**row.find_changes(wire), **row.labels} for row in self.rows)
        names = dict.fromkeys((*self.columns, *(name for row in cells for name in row)))
        rows = Rows(columns=tuple(names), keep=tuple(name for name in names if name in self.labels), rows=cells)
        takes = tuple(row.take for row in self.rows)
        return PlanFile(
            format=FORMAT, model=self.base.endpoint_id, base=base, columns=self.columns, takes=takes if any(takes) else (),
            parts=(rows,),
        )  # fmt: skip

    def _make_job(self, client: Client | None, **choices: Any) -> SweepJob:
        """Create a job that is not started yet."""
        from .job import make_job
        from .options import make_options

        checked = make_options(**choices)
        return make_job(self, session.client() if client is None else client, checked)

    def _known(self) -> Known | None:
        """The lookup of results in the library at this moment; None without a library."""
        from .progress import find_known

        return None if session.current is None else find_known(self, session.current.context)

    def _with_rows(self, rows: Iterable[Row]) -> Plan:
        """The plan with other rows, renumbered."""
        renumbered = tuple(replace(row, number=number, columns=self.columns) for number, row in enumerate(rows))
        return replace(self, rows=renumbered, parts=None)

    def _with_column(self, name: str, function: Callable[[Row], Any]) -> Plan:
        # Not by `parse_field_path`, because a model with extra fields accepts any name.
        is_label = name not in get_fields(type(self.base)) and "[" not in name and "." not in name
        columns = tuple(dict.fromkeys((*self.columns, name)))
        labels = self.labels | {name} if is_label else self.labels
        make = {base: RowMaker(base, columns, labels) for base in {row.base or self.base for row in self.rows}}
        rows = []
        for row in self.rows:
            value = coerce_value(_call_on_row(name, function, row, otherwise=None))
            if is_label:
                rows.append(replace(row, labels={**row.labels, name: value}, columns=columns))
            else:
                given = {**row.given, name: value}
                rows.append(make[row.base or self.base].row(row.number, given, row.labels, row.take))
        return replace(self, columns=columns, labels=labels, rows=tuple(rows), parts=None)


def _call_on_row(what: str, function: Callable[[Row], Any], row: Row, *, otherwise: Any) -> Any:
    """Call a user's function on a row; `otherwise` is returned if it fails on an impossible row."""
    try:
        return function(row)
    except AttributeError:
        raise
    except Exception as error:
        if row.input is None:
            return otherwise
        values = ", ".join(f"{name}={format_literal(value, 30)}" for name, value in row.values.items())
        raise usage_error(f"`{what}` failed at run {row.number} ({values}): {type(error).__name__}: {error}") from error
