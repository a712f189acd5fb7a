"""Drafts: the rows of a plan with cheaper values, which stand in for the real ones while a race decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...errors import InvalidInput
from ...models.base import Input
from ...models.catalog import find_endpoint
from ...models.pricing import estimate
from ...sweeps.plan.plan import Plan
from ...sweeps.plan.plan_rows import Row
from ...sweeps.plan.row_selection import sum_credits
from .race_errors import race_error


def make_drafts(plan: Plan, draft: Mapping[str, Any] | bool) -> Plan:
    """The plan with cheaper values in each row, under the same numbers; `draft=True` turns off what costs extra.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> from reelbook.sweeps.plan.sweep_call import sweep
    >>> boat = TextToVideo(prompt="a paper boat", enable_detail_pass=True)
    >>> plan = sweep(boat, num_frames=[49, 97])
    >>> plan.credits, make_drafts(plan, True).credits
    (212, 106)
    """
    values = dict(draft) if isinstance(draft, Mapping) else _find_extras(plan)
    if varied := [name for name in values if name in plan.columns]:
        raise race_error(
            f"`draft` sets {', '.join(varied)}, which this plan varies; a draft may only change what is the same in all runs.",
            "draft",
        )
    try:
        rows = tuple(_make_draft(row, values) for row in plan.rows)
    except InvalidInput as error:
        raise race_error(f"`draft` does not fit this plan: {error}", "draft") from error
    drafts = replace(plan, rows=rows, recipe=None)
    full, cheap = sum_credits(plan.distinct), sum_credits(drafts.distinct)
    if full is not None and cheap is not None and cheap >= full:
        raise race_error(
            f"Drafts with {_format_values(values)} cost {cheap:,} credits, and the runs themselves {full:,}: leave `draft` out.",
            "draft",
        )
    return drafts


def _find_extras(plan: Plan) -> dict[str, Any]:
    """The switches of a model that multiply its price and are on, turned off."""
    endpoint = find_endpoint(plan.base)
    switches = [] if endpoint is None else [switch for switch, factor in endpoint.multipliers if factor > 1]
    found = {
        switch: False
        for switch in switches
        if switch not in plan.columns and any(getattr(row.input, switch, False) for row in plan.rows)
    }
    if not found:
        known = f" ({', '.join(switches)})" if switches else ""
        raise race_error(
            f"No draft of these runs is cheaper: nothing is on that costs extra{known}. Leave `draft` out.", "draft"
        )
    return found


def _make_draft(row: Row, values: Mapping[str, Any]) -> Row:
    if row.input is None:
        return row
    request: Input = row.input.revised(**values)
    return replace(row, input=request, estimate=estimate(request))


def _format_values(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())
