"""The plan of a form's sweep: what it costs, what an amount pays for, and what a race of its settings is judged by."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...display.formatting import format_credits
from ...display.sweep_panel import plan_card
from ...errors import ReelbookError
from ...media.measuring.metrics import METRICS
from ...models.base import Input
from ...models.catalog import find_endpoint
from ...models.pricing import Estimate
from ...storage.run_identity import make_price_key
from ...sweeps.options import MAX_STORED
from ...sweeps.plan import sweep
from ...sweeps.plan_rows import spread_rows
from ...sweeps.plan_summary import has_exact_prices
from ..notebook import is_jupyter_server

if TYPE_CHECKING:
    from ...current import Session
    from ...sweeps.plan import Plan
    from ...sweeps.plan_rows import Known, Row

PRICING_SECONDS = 5.0
"""After this, the catalog's prices are used, marked as estimates."""
NO_PRICE = "The price of these runs is unknown. Set the most that one run may cost."
MAX_SETTINGS = 500
"""The most settings of a race, as `rb.race` has it."""
RACE_SHARE = 0.4
"""The part of the whole price that is proposed for a race."""
OF_STILLS = frozenset({"sharpness", "brightness", "contrast", "colourfulness", "width", "height", "bytes"})
"""Metrics of pictures; the others need several frames."""
LEAST = "-"
"""The first character of the value of a measure of which less is better."""
EYE = "eye"
"""The value of the measure by which a person judges."""
WORDS = {
    "temporal_flickering": "steadiness",
    "loop_closure": "closed loop",
    "bytes": "file size",
    "frame_count": "number of frames",
}
"""The displayed names of metrics, where they differ."""


@dataclass(frozen=True, eq=False)
class PlanPreview:
    """A plan with its prices, and the number by which the page refers to it."""

    number: int
    plan: Plan
    axes: Mapping[str, Sequence[Any]]
    known: Known | None
    """The lookup of results in the library, made once: running the plan looks again."""
    balance: int | None
    """The credits left on the account; None if the service does not say."""

    @cached_property
    def costs(self) -> list[tuple[int, int | None]]:
        """What the library lacks, in the order in which it is sent: how many rows share a run, and its price."""
        due = {row.key: row.credits for row in self.plan.find_due(self.known)}
        counts = Counter(row.key for row in self.plan)
        rows = self.plan.rows if len(set(due.values())) < 2 else spread_rows(self.plan)
        return [(counts[key], due[key]) for key in dict.fromkeys(row.key for row in rows) if key in due]

    @property
    def is_unpriced(self) -> bool:
        """Whether the price of some runs is unknown."""
        return any(price is None for _, price in self.costs)

    def due(self, price: int | None) -> int:
        """What all of them cost; `price` is that of a run without one."""
        return sum((price or 0) if own is None else own for _, own in self.costs)

    def affordable(self, most: int, price: int | None) -> tuple[int, int]:
        """How many rows an amount pays for, and what they cost: the first that does not fit is the end."""
        runs = cost = 0
        for count, own in self.costs:
            each = (price or 0) if own is None else own
            if cost + each > most:
                break
            runs, cost = runs + count, cost + each
        return runs, cost

    def limit(self, spend: int) -> int:
        """An amount, and no more than the account has."""
        return spend if self.balance is None else min(spend, self.balance)

    @cached_property
    def html(self) -> str:
        """The card of the plan, as `display` shows it."""
        return plan_card(self.plan, self.known, is_in_code=False)

    @cached_property
    def settings(self) -> list[tuple[Row, ...]]:
        """The rows of each setting that a race would compare; empty if there are too few settings, or too many."""
        from ...decide.race.settings import group_settings

        settings = group_settings(self.plan, ("seed", "prompt"), 0).settings
        return [tuple(setting.rows) for setting in settings] if 2 <= len(settings) <= MAX_SETTINGS else []

    def due_of(self, rows: Sequence[Row], price: int | None) -> int:
        """What some rows cost now."""
        paid = [row for row in rows if self.known is None or not self.known(row)]
        return sum((price or 0) if row.credits is None else row.credits for row in paid)


def make_preview(number: int, session: Session, base: Input, axes: Mapping[str, Sequence[Any]]) -> PlanPreview:
    """A plan with its prices, by the service if connected."""
    from ...sweeps.progress import find_known  # Here, because it brings pandas along.

    plan = sweep(base, **axes)
    balance = None
    if session.current is not None:
        plan, is_answered = _price_by_service(plan, session)
        balance = _read_balance(session) if is_answered else None
    known = None if session.current is None else find_known(plan, session.current.context)
    return PlanPreview(number, plan, axes, known, balance)


def _price_by_service(plan: Plan, session: Session) -> tuple[Plan, bool]:
    """The plan with the prices of the service; unchanged, and false, if the service fails or is slow."""
    deadline, quotes = time.monotonic() + PRICING_SECONDS, dict[str, Estimate]()

    def price(request: Input) -> Estimate:
        key = make_price_key(request)
        if key not in quotes:
            if time.monotonic() > deadline:
                raise TimeoutError
            quotes[key] = session.estimate(request)
        return quotes[key]

    try:
        return plan.priced(price), True
    except (ReelbookError, TimeoutError):
        return plan, False


def _read_balance(session: Session) -> int | None:
    client = session.current
    try:
        credits_left = None if client is None else client.account().get("credits_available")
    except ReelbookError:
        return None
    return int(credits_left) if isinstance(credits_left, (int, float)) else None


# What an amount comes to, in words.


def parse_amount(value: Any) -> int | None:
    """A whole number of credits from a page; None if it is none."""
    return value if type(value) is int and 0 <= value <= MAX_STORED else None


def offer_sweep(preview: PlanPreview, spend: int | None, price: int | None) -> dict[str, Any]:
    """The button that runs a plan: what it says and costs for this amount, None for what is proposed, and why it cannot be pressed."""
    due, balance = preview.due(price), preview.balance
    shown = preview.limit(due) if spend is None else spend
    runs, cost = preview.affordable(preview.limit(shown), price)
    offer: dict[str, Any] = {"spend": shown, "cost": cost, "label": "Run", "ready": False}
    if not preview.plan.distinct:
        return {**offer, "why": "No run of this plan is possible."}
    if preview.is_unpriced and price is None:
        return {**offer, "why": NO_PRICE}
    total = sum(count for count, _ in preview.costs)
    found = sum(row.input is not None for row in preview.plan) - total
    about = "" if has_exact_prices(preview.plan) or preview.is_unpriced else "≈ "
    part = f"{total:,}" if runs == total else f"{runs:,} of {total:,}"
    offer |= {"label": f"Run {part} · {about}{format_credits(cost)}", "ready": bool(runs or found)}
    if not runs:
        offer["label"] = f"Show {found:,} from the library" if found else f"Run none of {total:,}"
    if not total:
        which = "All of it is" if found == 1 else f"All {found:,} runs are"
        return {**offer, "why": f"{which} in the library: paid earlier, nothing now."}
    if runs == total:
        return {**offer, "why": "No more than this is spent."}
    enough = f"enough for {f'{runs:,}' if runs else 'none'} of {total:,} runs."
    if balance is not None and balance < min(due, due if spend is None else spend):
        return {**offer, "asks": offer["ready"], "why": f"Your account has {format_credits(balance)}: {enough}"}
    more = "; run it again to continue" if runs else ""
    return {**offer, "why": f"{enough.capitalize()} All of them need {format_credits(due)}{more}."}


def offer_race(preview: PlanPreview, by: Any, spend: int | None, price: int | None) -> dict[str, Any]:
    """The button that starts a race of the plan's settings, and what its page needs; empty where there is nothing to decide."""
    if not preview.settings:
        return {}
    measures = list_measures(preview.plan.base)
    chosen = next((measure for measure in measures if measure["value"] == by), measures[0])
    due = preview.due(price)
    firsts = sorted(preview.due_of(rows[:1], price) for rows in preview.settings)
    least, fair = sum(firsts[:2]), sum(preview.due_of(rows[:2], price) for rows in preview.settings)
    shown = preview.limit(min(max(round(RACE_SHARE * due), fair), due)) if spend is None else spend
    most = preview.limit(shown)
    about = (
        f"{len(preview.settings):,} settings are compared, each with several seeds and prompts where the plan has them."
    )
    if all(len(rows) < 2 for rows in preview.settings):
        about += " With one run of each, luck cannot be told from merit: add a few seeds."
    if preview.is_unpriced and price is None:
        why = NO_PRICE
    elif most < least:
        why = f"One run of two settings costs {format_credits(least)}; this pays for {format_credits(most)}."
    elif most < fair:
        why = (
            f"This pays for fewer than two runs of each setting, which can hardly decide: {format_credits(fair)} would."
        )
    elif not due:
        why = "All of its runs are in the library: paid earlier, nothing now."
    else:
        why = f"Costs at most {most:,} of {format_credits(due)}. Stops when it is 95% sure."
    return {
        "about": about, "measures": measures, "by": chosen["value"], "meaning": chosen["meaning"], "spend": shown,
        "label": f"Start · at most {format_credits(most)}", "ready": why != NO_PRICE and most >= least, "why": why,
    }  # fmt: skip


def list_measures(base: Input) -> list[dict[str, str]]:
    """The measures of what a model returns; a metric whose direction is a matter of taste is listed twice.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> [measure["value"] for measure in list_measures(TextToVideo(prompt="a boat"))[:3]]
    ['sharpness', 'brightness', '-brightness']
    """
    endpoint = find_endpoint(base.endpoint_id)
    is_still = endpoint is not None and "video" not in endpoint.output.model_fields
    measures = []
    for name, metric in METRICS.items():
        if metric.compares or (is_still and name not in OF_STILLS):
            continue
        words = WORDS.get(name, name.replace("_", " "))
        meaning = f"{metric.meaning[0].upper()}{metric.meaning[1:]}."
        if metric.better != "lower":
            measures.append({"value": name, "label": f"highest {words}", "meaning": meaning})
        if metric.better != "higher":
            measures.append({"value": f"{LEAST}{name}", "label": f"lowest {words}", "meaning": meaning})
    # A page of another kind finds no widget that is not in a cell, as the judge's.
    if is_jupyter_server():
        meaning = "After each round you say which of two clips is better."
        measures.insert(0, {"value": EYE, "label": "your eye, in blind pairs", "meaning": meaning})
    return measures


def parse_measure(value: str | None) -> str | Mapping[str, float]:
    """What `rb.race(by=…)` takes for the value of a measure; empty without one.

    >>> parse_measure("sharpness"), parse_measure("-brightness"), parse_measure(None)
    ('sharpness', {'brightness': -1}, '')
    """
    name = value or ""
    return {name.removeprefix(LEAST): -1} if name.startswith(LEAST) else name
