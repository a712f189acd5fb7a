"""The plan of a form's sweep: what it costs, what an amount pays for, and what its best setting is found by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...display.formatting import format_credits
from ...display.sweep_panel import plan_card
from ...errors import ReelbookError
from ...models.base import Input
from ...models.catalog import Estimate, find_endpoint
from ...storage.run_identity import make_price_key
from ...sweeps.plan import spread_rows, sweep
from ...sweeps.plan_summary import has_exact_prices
from ...sweeps.progress import Known, find_known
from ..notebook import is_jupyter_server

if TYPE_CHECKING:
    from ...current import Session
    from ...sweeps.plan import Plan

NO_PRICE = "The price of these runs is unknown, so no amount limits them here. In code, price=… says the most that one may cost."
OF_STILLS = frozenset({"sharpness", "brightness", "contrast", "colourfulness", "width", "height", "bytes"})
"""Metrics of pictures; the others need several frames."""
EYE = "eye"
"""The measure by which a person judges."""


@dataclass(frozen=True, eq=False)
class PlanPreview:
    """A plan with its prices, and the number by which the page refers to it."""

    number: int
    plan: Plan
    known: Known
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
    def due(self) -> int:
        """What all of them cost."""
        return sum(price or 0 for _, price in self.costs)

    def affordable(self, most: int) -> tuple[int, int]:
        """How many rows an amount pays for, and what they cost: the first that does not fit is the end."""
        runs = cost = 0
        for count, price in self.costs:
            if cost + (price or 0) > most:
                break
            runs, cost = runs + count, cost + (price or 0)
        return runs, cost

    def limit(self, spend: int) -> int:
        """An amount, and no more than the account has."""
        return spend if self.balance is None else min(spend, self.balance)

    @cached_property
    def html(self) -> str:
        """The card of the plan, as `display` shows it."""
        return plan_card(self.plan, self.known)

    @cached_property
    def has_settings(self) -> bool:
        """Whether there is something to decide: more than one setting, whose seeds and prompts repeat it."""
        from ...decide.race.settings import MAX_SETTINGS, group_settings

        return 2 <= len(group_settings(self.plan, ("seed", "prompt"), 0).settings) <= MAX_SETTINGS


def make_preview(number: int, session: Session, base: Input, axes: Mapping[str, Sequence[Any]]) -> PlanPreview:
    """A plan with its prices, by the service if connected."""
    plan = sweep(base, **axes)
    balance = None
    if session.current is not None:
        plan, is_answered = _price_by_service(plan, session)
        balance = _read_balance(session) if is_answered else None
    known: Known = {} if session.current is None else find_known(plan, session.current.context)
    return PlanPreview(number, plan, known, balance)


def _price_by_service(plan: Plan, session: Session) -> tuple[Plan, bool]:
    """The plan with the prices of the service; unchanged, and false, if the service fails."""
    quotes: dict[str, Estimate] = {}

    def price(request: Input) -> Estimate:
        key = make_price_key(request)
        if key not in quotes:
            quotes[key] = session.estimate(request)
        return quotes[key]

    try:
        return plan.priced(price), True
    except ReelbookError:
        return plan, False


def _read_balance(session: Session) -> int | None:
    client = session.current
    try:
        credits_left = None if client is None else client.account().get("credits_available")
    except ReelbookError:
        return None
    return int(credits_left) if isinstance(credits_left, (int, float)) else None


# What an amount comes to, in words.


def offer_sweep(preview: PlanPreview, spend: int | None) -> dict[str, Any]:
    """The button that runs a plan: what it says and costs for this amount, None for all, and why it cannot be pressed."""
    due, balance = preview.due, preview.balance
    shown = preview.limit(due) if spend is None else spend
    most = preview.limit(shown)
    runs, cost = preview.affordable(most)
    offer: dict[str, Any] = {"spend": shown, "cost": cost, "label": "Run", "ready": False}
    if not preview.plan.distinct:
        return {**offer, "why": "No run of this plan is possible."}
    if any(price is None for _, price in preview.costs):
        return {**offer, "why": NO_PRICE}
    total = sum(count for count, _ in preview.costs)
    found = sum(row.input is not None for row in preview.plan) - total
    about = "" if has_exact_prices(preview.plan) else "≈ "
    part = f"{total:,}" if runs == total else f"{runs:,} of {total:,}"
    offer |= {"label": f"Run {part} · {about}{format_credits(cost)}", "ready": bool(runs or found)}
    if preview.has_settings:
        offer |= {"best": f"Find the best · at most {format_credits(min(most, due))}"}
    if not runs:
        offer["label"] = f"Show {found:,} from the library" if found else f"Run none of {total:,}"
    if not total:
        which = "All of it is" if found == 1 else f"All {found:,} runs are"
        return {**offer, "why": f"{which} in the library: paid earlier, nothing now."}
    if runs == total:
        return {**offer, "why": "No more than this is spent."}
    enough = f"enough for {f'{runs:,}' if runs else 'none'} of {total:,} runs."
    if balance is not None and balance < min(due, due if spend is None else spend):
        return {**offer, "why": f"Your account has {format_credits(balance)}: {enough}"}
    more = "; run it again to continue" if runs else ""
    return {**offer, "why": f"{enough.capitalize()} All of them need {format_credits(due)}{more}."}


def list_measures(base: Input) -> list[dict[str, str]]:
    """What the best run of a model can be found by: its value and its label; less of a metric is better after a minus.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> [measure["value"] for measure in list_measures(TextToVideo(prompt="a boat"))[:3]]
    ['sharpness', 'brightness', '-brightness']
    """
    from ...media.measuring.metrics import METRICS  # Here, because it brings NumPy along.

    endpoint = find_endpoint(base.endpoint_id)
    is_still = endpoint is not None and "video" not in endpoint.output.model_fields
    # A page of another kind finds no widget that is not in a cell, as the judge's.
    measures = [{"value": EYE, "label": "your eye, in blind pairs"}] if is_jupyter_server() else []
    for name, metric in METRICS.items():
        if metric.compares or (is_still and name not in OF_STILLS):
            continue
        for sign, word, worse in (("", "highest", "lower"), ("-", "lowest", "higher")):
            if metric.better != worse:
                measures.append({"value": f"{sign}{name}", "label": f"{word} {name.replace('_', ' ')}"})
    return measures


def parse_measure(value: str) -> str | Mapping[str, float]:
    """What `rb.race(by=…)` takes for the value of a measure.

    >>> parse_measure("sharpness"), parse_measure("-brightness")
    ('sharpness', {'brightness': -1})
    """
    name = value.removeprefix("-")
    return name if name == value else {name: -1}
