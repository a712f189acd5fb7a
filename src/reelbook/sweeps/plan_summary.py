"""What a plan says of itself before it runs: its summary, as data and as text, and what is probably not meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..models.catalog import find_endpoint
from ..models.problems import format_literal
from ..util.printable import format_count, format_duration
from .money_text import format_all_paid, sum_or_none
from .plan_rows import Known, Row

if TYPE_CHECKING:
    from .plan import Plan

MAX_VALUES, MAX_REASONS = 6, 5


@dataclass(frozen=True, slots=True)
class Impossible:
    """A reason why some runs are impossible."""

    reason: str
    count: int
    first: int
    """The number of the first such run."""


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """Size, price, axes and problems of a plan."""

    model: str
    runs: int
    possible: int
    in_library: int | None
    """The number of runs in the library; None if the library was not queried."""
    credits: int | None
    credits_due: int | None
    is_exact: bool
    """Whether all prices were stated by the service."""
    unpriced: int
    """The number of runs without a known price."""
    seconds: float | None
    """Estimated duration, from the library's history."""
    takes: int
    axes: Mapping[str, tuple[Any, ...]]
    """The columns that vary, with their distinct values in the order of the runs."""
    held: Mapping[str, Any]
    """Values set by the base and not varied."""
    impossible: tuple[Impossible, ...]
    warnings: tuple[str, ...]
    paid: int | None = None
    """The known cost of the runs in the library; None if the library was not queried."""


def summarise(plan: Plan, known: Known | None = None, *, seconds: float | None = None) -> PlanFacts:
    """Summarise a plan; `known` and `seconds` come from the library and its history, if there is one.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> from reelbook.sweeps.sweep_call import sweep
    >>> facts = summarise(sweep(TextToVideo(prompt="a paper boat"), num_frames=[5, 9]))
    >>> facts.runs, facts.possible, facts.impossible[0].count
    (2, 1, 1)
    """
    possible = plan.distinct
    have = {row.key for row in possible if known is not None and known(row)}
    return PlanFacts(
        model=plan.base.endpoint_id,
        runs=len(plan),
        possible=sum(row.input is not None for row in plan),
        in_library=None if known is None else sum(row.input is not None and row.key in have for row in plan),
        credits=plan.credits,
        credits_due=sum_or_none(row.credits for row in possible if row.key not in have),
        is_exact=bool(possible) and all(row.estimate and row.estimate.source == "exact" for row in possible),
        unpriced=sum(row.credits is None for row in possible),
        seconds=seconds,
        takes=1 + max((row.take for row in plan), default=0),
        axes=plan.axes,
        held={name: value for name, value in plan.base.changed().items() if name not in plan.columns},
        impossible=_impossible_reasons(plan.rows),
        warnings=plan.warnings,
        paid=None if known is None else sum(known.costs.get(row.key, 0) for row in possible),
    )


def format_facts(facts: PlanFacts) -> str:
    """Format the summary as lines for a terminal.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> from reelbook.sweeps.sweep_call import sweep
    >>> print(format_facts(summarise(sweep(TextToVideo(prompt="a paper boat"), seed=range(20), num_frames=[49, 97]))))
    40 runs of svc/text-to-video-13b-distilled, 2,120 credits (assumed)
      seed        20  0, 1, 2 … 17, 18, 19
      num_frames   2  49, 97
      prompt          'a paper boat'
    """
    lines = [f"{format_run_count(facts)}, {'; '.join(format_price(facts))}"]
    wide = max(map(len, (*facts.axes, *facts.held)), default=0)
    many = max((len(f"{len(values):,}") for values in facts.axes.values()), default=0)
    lines += [
        f"  {name:<{wide}}  {len(values):>{many},}  {format_values(values)}" for name, values in facts.axes.items()
    ]
    lines += [f"  {name:<{wide}}  {'':>{many}}  {format_literal(value)}" for name, value in facts.held.items()]
    for impossible in facts.impossible[:MAX_REASONS]:
        runs = "run is" if impossible.count == 1 else "runs are"
        lines.append(
            f"{impossible.count:,} {runs} impossible (the first is run {impossible.first}): {impossible.reason}"
        )
    if rest := sum(impossible.count for impossible in facts.impossible[MAX_REASONS:]):
        lines.append(f"{rest:,} more runs are impossible for other reasons: plan.frame has them in `problem`.")
    return "\n".join([*lines, *(f"Note: {warning}" for warning in facts.warnings)])


def format_values(values: Sequence[Any]) -> str:
    """Format the values of an axis on one line, with the middle of a long list omitted."""
    half = MAX_VALUES // 2
    is_long = len(values) > MAX_VALUES
    texts = [
        value if isinstance(value, str) and value.isprintable() and 0 < len(value) <= 12 else format_literal(value, 24)
        for value in ([*values[:half], *values[-half:]] if is_long else values)
    ]
    return f"{', '.join(texts[:half])} … {', '.join(texts[half:])}" if is_long else ", ".join(texts)


def format_run_count(facts: PlanFacts) -> str:
    """How many runs of which model, and how many takes."""
    takes = f", {facts.takes} takes" if facts.takes > 1 else ""
    return f"{format_count(facts.runs, 'run')} of {facts.model}{takes}"


def format_price(facts: PlanFacts) -> list[str]:
    """Price, credits due, and duration, as far as they are known."""
    paid = facts.credits if facts.paid is None else facts.paid
    if facts.possible and facts.in_library == facts.possible and not facts.credits_due and paid is not None:
        return [format_all_paid(paid)]
    if facts.credits is not None:
        parts = [f"{format_count(facts.credits, 'credit')} ({'exact' if facts.is_exact else 'assumed'})"]
    elif facts.unpriced == facts.possible:
        parts = ["price unknown"]
    else:
        parts = [f"price unknown ({format_count(facts.unpriced, 'run')} without one, counting what is the same once)"]
    if facts.in_library:
        due = "unknown" if facts.credits_due is None else f"{facts.credits_due:,}"
        parts.append(f"{facts.in_library:,} in the library already, {due} credits due")
    if facts.seconds is not None:
        parts.append(f"about {format_duration(facts.seconds)}")
    return parts


def _impossible_reasons(rows: Sequence[Row]) -> tuple[Impossible, ...]:
    """The reasons of impossible runs in order of frequency."""
    numbers: dict[str, list[int]] = {}
    for row in rows:
        if row.problem is not None:
            numbers.setdefault(row.problem, []).append(row.number)
    reasons = (Impossible(reason, len(listed), listed[0]) for reason, listed in numbers.items())
    return tuple(sorted(reasons, key=lambda impossible: -impossible.count))


def find_warnings(plan: Plan) -> Iterator[str]:
    """Warnings about what is valid but probably unintended."""
    model = find_endpoint(plan.base.endpoint_id)
    without_effect = dict(model.without_effect) if model is not None else {}
    for name in plan.columns:
        if name in without_effect:
            yield f"`{name}` has hardly any effect on {plan.base.endpoint_id}: {without_effect[name]}."
    possible = [row for row in plan if row.input is not None]
    if again := len(possible) - len(plan.distinct):
        yield (
            f"{again:,} of {len(possible):,} runs {'asks' if again == 1 else 'ask'} for the same as another; "
            "equal runs are made and paid for once. For several clips of one input, use repeated(n)."
        )
    if plan.rows and not possible:
        yield "No run of this plan is possible."
    if seeded := sum(row.take > 0 and getattr(row.input, "seed", None) is not None for row in possible):
        yield (
            f"{seeded:,} repeats have the seed of the run they repeat, so they give the same clip and are paid again; "
            "leave the repeats out, or sweep the seed: seed=range(3)."
        )
