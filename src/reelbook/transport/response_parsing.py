"""The answers of services in all the shapes they come in, read as one."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from ..errors import ServiceError
from ..models.pricing import Estimate, Line
from ..models.queue_status import IN_PROGRESS, IN_QUEUE, QueueStatus, whole_number

LONGEST_ID = 8_000
"""An id that is longer cannot be asked for: it would not fit into an address."""
GOING = frozenset({IN_QUEUE, IN_PROGRESS, "QUEUED", "PENDING", "STARTING", "PROCESSING", "RUNNING", "SUBMITTED"})
PACKINGS = ("output", "response", "result", "data")
"""The names under which a service may pack what the specification shows bare."""
UNFINISHED = re.compile(
    r"in progress|in[ _]queue|not[ _](yet )?(ready|finished|complete|available)|still|pending", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Nature:
    """What a service says of itself; nothing at all, for one that answers the specification only."""

    id: str | None = None
    name: str = "hosted service"
    features: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Accepted:
    """What the run call answered. One of `request_id` and `output` is there, or both."""

    request_id: str | None
    output: Mapping[str, Any] | None
    """The output itself, from a service that answers with it at once."""
    credits: int | None
    """What the service says it charges."""
    told: Mapping[str, Any]
    """Everything, as given."""


def nature(told: Any) -> Nature:
    """What a service says of itself, where it is said in the way we know."""
    if not isinstance(told, dict):
        return Nature()
    features, name = told.get("features"), told.get("service")
    return Nature(
        _id(told.get("id")),
        name[:100] if isinstance(name, str) and name else "hosted service",
        frozenset(item for item in features if isinstance(item, str)) if isinstance(features, list) else frozenset(),
    )


def accepted(told: Any) -> Accepted | None:
    """What was bought; None where the answer names neither a request nor an output."""
    if not isinstance(told, dict):
        return None
    packed = [told[name] for name in (*PACKINGS, "request") if isinstance(told.get(name), dict)]
    ids = [_request_id(one.get(name)) for one in (told, *packed) for name in ("requestId", "request_id", "id")]
    request_id = next(filter(None, ids), None)
    output = _output_at_once(told, request_id)
    if request_id is None and output is None:
        return None
    return Accepted(request_id, output, whole_number(told.get("credits")), told)


def output(told: Any) -> Mapping[str, Any] | None:
    """The output in the answer to a result call; None where it says that there is none yet."""
    if not isinstance(told, dict):
        # It is paid for: whatever came is kept.
        return {"output": told}
    if "status" not in told or holds_files(told.values()):
        return told
    if _name(told["status"]) in GOING:
        return None
    return next((told[name] for name in PACKINGS if isinstance(told.get(name), dict)), told)


def is_unfinished(error: ServiceError, *, is_new: bool) -> bool:
    """Whether the refusal of a result means that it is too early; `is_new`: the request was accepted a moment ago."""
    if error.status == 425 or error.error_type == "not_ready":
        return True
    says_so = UNFINISHED.search(error.message) is not None or _name(error.facts.get("status")) in GOING
    return (error.status in (400, 404, 409) and says_so) or (error.status == 404 and is_new)


def status(told: Any, request_id: str) -> QueueStatus | None:
    """A status object; None where there is no status in the answer."""
    if not isinstance(told, dict) or not isinstance(told.get("status"), str):
        return None
    if told.get("error") and str(told.get("request_id") or request_id) != request_id:
        return None  # Another run has failed, out of somebody's store of old answers.
    return QueueStatus.model_validate({**told, "request_id": request_id})


def statuses(told: Any, ids: Iterable[str]) -> dict[str, QueueStatus]:
    """Many status objects by their requests; those that cannot be read are left out."""
    if isinstance(told, dict) and isinstance(told.get("statuses"), (dict, list)):
        told = told["statuses"]
    if isinstance(told, list):
        told = {_request_id(one.get("request_id")): one for one in told if isinstance(one, dict)}
    found = {one: status(told.get(one), one) for one in ids} if isinstance(told, dict) else {}
    return {one: told_of_it for one, told_of_it in found.items() if told_of_it is not None}


def was_cancelled(told: Any, *, otherwise: bool) -> bool:
    """Whether a service agreed to a cancellation, in either of the two ways of saying so."""
    if not isinstance(told, dict):
        return told if isinstance(told, bool) else otherwise
    if isinstance(told.get("success"), (bool, str)):
        return str(told["success"]).strip().lower() == "true"
    name = _name(told.get("status"))
    return name.startswith("CANCEL") if name else otherwise


def estimate(told: Any) -> Estimate | None:
    """An estimate in any of the shapes that services use."""
    body = told if isinstance(told, dict) else {"credits": told}
    packed = [body[name] for name in ("estimate", *PACKINGS) if isinstance(body.get(name), dict)]
    names = ("credits", "total_cost", "estimate", "amount")
    amounts = [_amount(one.get(name)) for one in (body, *packed) for name in names if _is_in_credits(one, name)]
    amount = next((amount for amount in amounts if amount is not None), None)
    if amount is None:
        return None
    lines, card = body.get("breakdown"), body.get("rateCard")
    breakdown = tuple(filter(None, map(_line, lines))) if isinstance(lines, list) else ()
    # A price with a fraction is charged as the next whole credit.
    return Estimate(math.ceil(amount), breakdown, card if isinstance(card, str) else None, "exact")


def models(told: Any) -> Sequence[Mapping[str, Any]] | None:
    """A list of models, bare or packed, each with its `id`."""
    if isinstance(told, dict):
        told = next((told[name] for name in ("models", "data", "items") if isinstance(told.get(name), list)), None)
    if not isinstance(told, list):
        return None
    return [model for model in map(_model, told) if model is not None]


def file_name(told: Any) -> str | None:
    """What to call an upload by in an input: its id, else its address."""
    if not isinstance(told, dict):
        return None
    packed = [told[name] for name in ("file", *PACKINGS) if isinstance(told.get(name), dict)]
    found = [one.get(name) for name in ("file_id", "fileId", "url") for one in (told, *packed)]
    return next((text for text in found if isinstance(text, str) and text), None)


def _model(told: Any) -> Mapping[str, Any] | None:
    if isinstance(told, str):
        return {"id": told}
    if not isinstance(told, dict):
        return None
    names = (told.get(name) for name in ("id", "endpointId", "endpoint_id", "model", "name"))
    return {**told, "id": next((name for name in names if isinstance(name, str)), None)}


def _output_at_once(told: Mapping[str, Any], request_id: str | None) -> Mapping[str, Any] | None:
    if _name(told.get("status")) in GOING:
        return None
    if isinstance(told.get("output"), (dict, list)) and told["output"]:
        return told["output"] if isinstance(told["output"], dict) else {"output": told["output"]}
    for name in PACKINGS:
        packed = told.get(name)
        if isinstance(packed, dict) and holds_files(packed.values()):
            return packed
    # Beside a request id, an address may be one of the queue's own; these two are where the specification has media.
    shown = told.values() if request_id is None else (told.get("video"), told.get("images"))
    return told if holds_files(shown) else None


def holds_files(values: Iterable[Any]) -> bool:
    """Whether there is a File object, or a list with one."""
    flat = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return any(isinstance(item, dict) and isinstance(item.get("url"), str) for item in flat)


def _request_id(value: Any) -> str | None:
    """The id of a request exactly as it was told, however odd; None for what no request can be asked for by."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    return str(value) if str(value).strip() and len(str(value)) <= LONGEST_ID else None


def _id(value: Any) -> str | None:
    """The id of a service."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    return str(value).strip()[:500] or None


def _name(value: Any) -> str:
    return value.strip().upper() if isinstance(value, str) else ""


def _amount(value: Any) -> Decimal | None:
    """A price, exactly as it is written."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)) or len(str(value)) > 40:
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and 0 <= amount < 10**15 else None


def _is_in_credits(told: Mapping[str, Any], name: str) -> bool:
    """Whether an amount is meant in credits, and not in money or in cents."""
    if name == "credits":
        return True
    units = [str(told[unit]).strip().lower() for unit in ("currency", "unit", "units") if told.get(unit) is not None]
    return all(unit.startswith("credit") for unit in units)


def _line(line: Any) -> Line | None:
    if not isinstance(line, dict):
        return None
    amount, factor = _amount(line.get("credits")), _amount(line.get("factor"))
    if amount is None and factor is None:
        return None
    # As one would write it: 53 and not 53.0.
    if amount is not None and amount == amount.to_integral_value():
        amount = amount.to_integral_value()
    return Line(str(line.get("label", ""))[:200], amount, factor)
