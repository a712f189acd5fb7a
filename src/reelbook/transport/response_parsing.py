"""Parsers for the fields of the specification, and for the shapes in which services send what it leaves open."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from ..errors import ServiceError
from ..models.pricing import Estimate, Line
from ..models.queue_status import IN_PROGRESS, IN_QUEUE, parse_count
from .service_address import MAX_ID_LENGTH

UNFINISHED_STATUSES = frozenset({IN_QUEUE, IN_PROGRESS, "QUEUED", "PENDING", "STARTING", "PROCESSING", "RUNNING"})
UNFINISHED_TEXT = re.compile(
    r"in progress|in[ _]queue|not[ _](yet )?(ready|finished|complete|available)|still|pending", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class ServiceInfo:
    """A service's description of itself; the defaults for one that implements the specification only."""

    id: str | None = None
    name: str = "hosted service"
    features: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Accepted:
    """The response to a run call. It has a `request_id`, an `output`, or both."""

    request_id: str | None
    output: Mapping[str, Any] | None
    """The output, from a service that responds with it at once."""
    credits: int | None
    """The credits that the service reports to charge."""
    answer: Mapping[str, Any]
    """The complete response."""


def parse_service_info(answer: Mapping[str, Any]) -> ServiceInfo:
    """The description of a service; the defaults where it says nothing."""
    features, name, own_id = answer.get("features"), answer.get("service"), _id(answer.get("id"))
    return ServiceInfo(
        own_id and own_id.strip()[:500],
        name[:100] if isinstance(name, str) and name else "hosted service",
        frozenset(item for item in features if isinstance(item, str)) if isinstance(features, list) else frozenset(),
    )


def parse_accepted(answer: Any) -> Accepted | None:
    """The accepted run; None where the response has neither a request id nor an output."""
    if not isinstance(answer, dict):
        return None
    request_id = next(filter(None, (_id(answer.get(name)) for name in ("requestId", "request_id", "id"))), None)
    output = None if _name(answer.get("status")) in UNFINISHED_STATUSES else _find_output(answer)
    if request_id is None and output is None:
        return None
    return Accepted(request_id, output, parse_count(answer.get("credits")), answer)


def parse_output(answer: Any) -> Mapping[str, Any] | None:
    """The output in the response to a result call; None where it reports that there is none yet."""
    if not isinstance(answer, dict):
        # The run is paid for, so any response is returned.
        return {"output": answer}
    if "status" not in answer or has_files(answer.values()):
        return answer
    return None if _name(answer["status"]) in UNFINISHED_STATUSES else _find_output(answer) or answer


def is_unfinished(error: ServiceError) -> bool:
    """Whether the refusal of a result means that the run is unfinished."""
    if error.status == 425 or error.error_type == "not_ready":
        return True
    return error.status in (400, 404, 409) and UNFINISHED_TEXT.search(error.message) is not None


def parse_cancelled(answer: Any, *, default: bool) -> bool:
    """Whether a service agreed to a cancellation; `default` where it does not report it."""
    if not isinstance(answer, dict):
        return default
    if isinstance(answer.get("success"), (bool, str)):
        return str(answer["success"]).strip().lower() == "true"
    name = _name(answer.get("status"))
    return name.startswith("CANCEL") if name else default


def parse_estimate(answer: Any) -> Estimate | None:
    """An estimate; None where the response has no price in credits."""
    body = answer if isinstance(answer, dict) else {}
    amount, lines, card = _amount(body.get("credits")), body.get("breakdown"), body.get("rateCard")
    if amount is None:
        return None
    breakdown = tuple(filter(None, map(_line, lines))) if isinstance(lines, list) else ()
    # A fractional price is charged as the next integer.
    return Estimate(math.ceil(amount), breakdown, card if isinstance(card, str) else None, "exact")


def has_files(values: Iterable[Any]) -> bool:
    """Whether the values include a File object, or a list with one."""
    flat = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return any(isinstance(item, dict) and isinstance(item.get("url"), str) for item in flat)


def _find_output(answer: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The output within a response, in a field of its own or beside the other fields."""
    for name in ("output", "response"):
        value = answer.get(name)
        if isinstance(value, dict) and (value if name == "output" else has_files(value.values())):
            return value
    return answer if has_files((answer.get("video"), answer.get("images"))) else None


def _id(value: Any) -> str | None:
    """An id exactly as it was reported; None for what cannot be an id."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    return str(value) if str(value).strip() and len(str(value)) <= MAX_ID_LENGTH else None


def _name(value: Any) -> str:
    return value.strip().upper() if isinstance(value, str) else ""


def _amount(value: Any) -> Decimal | None:
    """A price in credits, exactly as written; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)) or len(str(value)) > 40:
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and 0 <= amount < 10**15 else None


def _line(line: Any) -> Line | None:
    if not isinstance(line, dict):
        return None
    amount, factor = _amount(line.get("credits")), _amount(line.get("factor"))
    if amount is None and factor is None:
        return None
    # In its short form: 53 and not 53.0.
    if amount is not None and amount == amount.to_integral_value():
        amount = amount.to_integral_value()
    return Line(str(line.get("label", ""))[:200], amount, factor)
