"""What one response of a service means: the fields of the specification, the error of a refusal, and how a run ended.

Only the service's own JSON decides about money. For the paid request that is `is_definite_refusal`; anything else may have
replaced the response that accepted the run, which is then uncertain. For an accepted run it is a status `COMPLETED` with an
`error`, or a refusal of the result of a completed run; after anything else the run is polled again until a limit, and is
then unfinished: it stays accepted and paid, and only `fresh=True` pays for another.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from http import HTTPStatus
from typing import Any

from .. import errors
from ..errors import NotReady, ReelbookError, RunCancelled, RunFailed, ServiceBroken, ServiceError, Unreachable
from ..models.base import parse_count
from ..models.queue_status import QueueStatus
from ..util.printable import format_line, map_texts, replace_surrogates

MAX_TEXT_LENGTH, MAX_ID_LENGTH = 500, 8_000
"""Longer ids do not fit into an address."""
RESULT_SECONDS, REFUSED_SECONDS, MAX_RETRY_AFTER_SECONDS = 10.0, 60.0, 60.0
"""How long a completed run's result is requested, a run is polled while every poll is refused, and a Retry-After is respected."""
EXPIRED = "expired"
"""The error type of a paid run that the service no longer knows."""

ERROR_CLASSES: Mapping[int, type[ServiceError]] = {
    401: errors.Unauthorized, 402: errors.InsufficientCredits, 403: errors.Forbidden, 404: errors.NotFound, 408: ServiceBroken,
    429: errors.TooManyRequests,
}  # fmt: skip
"""The error for a status; others below 500 are `Refused`, everything else is `ServiceBroken`."""
DEFINITE_STATUSES = frozenset({400, 401, 402, 403, 404, 405, 413, 415, 422, 429})
"""Statuses which mean that a run was not accepted, and so not charged."""
ENDING_ERROR_TYPES = frozenset({"content_policy_violation", "engine_error", "engine_timeout"})
"""Error types that report how a run ended, with any status."""
GATEWAY_ERROR_TYPES = re.compile("gateway|upstream|proxy", re.IGNORECASE)
CALL_ERROR_TYPES = re.compile("bad_?request|not_?(found|ready|allowed)|conflict|gateway|upstream|proxy", re.IGNORECASE)
"""Error types that concern one call and not the run."""
PROBLEM_FIELDS = frozenset({"type", "title", "status"})
"""Fields of problem details (RFC 9457), which gateways and frameworks generate."""
CALL_PLACES = ("path", "query", "header", "cookie")
"""Where in a request a value stands that concerns the call and not the run; the run's input is in its `body`."""
PHRASES = frozenset(status.phrase.lower() for status in HTTPStatus)
UNFINISHED = re.compile(r"still|in progress|in queue|not ready", re.IGNORECASE)


@dataclass(frozen=True)
class ServiceAnswer:
    """One response. Its repr omits the body, which can repeat what was sent."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    content: bytes = field(repr=False)
    hide: Callable[[str], str] = field(default=str, repr=False)
    """Removes the key from a text, for a service that repeats what it received."""

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_html(self) -> bool:
        """Whether it is an HTML page."""
        return self.content[:200].lstrip().lower().startswith((b"<!doctype", b"<html"))

    @cached_property
    def value(self) -> Any:
        """Its JSON, without the key and as it can be stored; None where there is none."""
        try:
            # NaN, Infinity and lone surrogates cannot be stored.
            value = json.loads(self.content, parse_constant=lambda _: None)
            return map_texts(value, lambda text: self.hide(replace_surrogates(text)))
        except (ValueError, RecursionError):
            return None

    @property
    def summary(self) -> str:
        """A short description for an error message."""
        text = self.content[: 4 * MAX_TEXT_LENGTH].decode("utf-8", "replace")
        return "an HTML page" if self.is_html else f"the text “{self.hide(format_line(text))[:100]}”"


# The fields of the specification.


@dataclass(frozen=True, slots=True)
class ServiceInfo:
    """A service's description of itself; the defaults for one that implements the specification only."""

    id: str | None = None
    """The id that one of Reelbook's own services keeps with its data."""
    features: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Accepted:
    """The response to a run call. It has a `request_id`, an `output`, or both."""

    request_id: str | None
    output: Mapping[str, Any] | None
    """The output, from a service that responds with it at once."""
    credits: int | None


def parse_service_info(answer: Any) -> ServiceInfo | None:
    """The description of a service; None where the response is not one."""
    if not isinstance(answer, dict):
        return None
    features = answer.get("features")
    known = [item for item in features if isinstance(item, str)] if isinstance(features, list) else []
    return ServiceInfo(_id(answer.get("id")) if answer.get("service") == "reelbook" else None, frozenset(known))


def parse_accepted(answer: Any) -> Accepted | None:
    """The accepted run; None where the response has neither a request id nor an output."""
    if not isinstance(answer, dict):
        return None
    request_id = next(filter(None, (_id(answer.get(name)) for name in ("requestId", "request_id", "id"))), None)
    output = None if _is_going(answer) else _find_output(answer)
    if request_id is None and output is None:
        return None
    return Accepted(request_id, output, parse_count(answer.get("credits")))


def parse_output(answer: Any) -> Mapping[str, Any] | None:
    """The output in the response to a result call; None where it reports that there is none yet."""
    if not isinstance(answer, dict):
        # The run is paid for, so any response is returned.
        return {"output": answer}
    return None if _is_going(answer) and not has_files(answer.values()) else answer


def parse_cancelled(answer: Any, *, default: bool) -> bool:
    """Whether a service agreed to a cancellation; `default` where it does not report it."""
    success = answer.get("success") if isinstance(answer, dict) else None
    return success if isinstance(success, bool) else default


def parse_price(answer: Any) -> int | None:
    """The price in an estimate in whole credits, as a fraction is charged; None where the response has none."""
    price = answer.get("credits") if isinstance(answer, dict) else None
    is_price = not isinstance(price, bool) and re.fullmatch(r"\d{1,15}(\.\d{1,20})?", str(price))
    return math.ceil(Decimal(str(price))) if is_price else None


def has_files(values: Iterable[Any]) -> bool:
    """Whether the values include a File object, or a list with one."""
    flat = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return any(isinstance(item, dict) and isinstance(item.get("url"), str) for item in flat)


def _is_going(answer: Mapping[str, Any]) -> bool:
    """Whether the status in a response, if there is one, says that the run has not ended."""
    return isinstance(answer.get("status"), str) and answer["status"].strip().upper() in ("IN_QUEUE", "IN_PROGRESS")


def _find_output(answer: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The output within a response, in a field of its own or among the other fields."""
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


# Refusals, and what decides about money.


def unreadable_error(answer: ServiceAnswer) -> ServiceBroken:
    """The error for a successful status with a body of the wrong kind."""
    words = f"The service answered {answer.summary} where something else was expected. Is this the address of a model service?"
    return ServiceBroken(words, answer.status, request_id=_request_id(answer), foreign=True)


def parse_refusal(answer: ServiceAnswer) -> ServiceError:
    """The error that a refusal means, with the service's own words and its request id."""
    body = answer.value if isinstance(answer.value, dict) else {}
    text = format_line(_get_reason(answer, body))[:MAX_TEXT_LENGTH]
    facts = {name: fact for name, fact in body.items() if name not in ("error", "error_type")}
    pause = re.fullmatch(r"\d{1,9}(\.\d{1,9})?", answer.headers.get("retry-after", "").strip())
    facts["retry_after"] = float(pause[0]) if pause else 0.0  # A date would need two clocks to agree.
    kind = ERROR_CLASSES.get(answer.status, errors.Refused if 400 <= answer.status < 500 else ServiceBroken)
    if answer.status == 403 and any(word in text.lower() for word in ("balance", "locked")):
        kind = errors.InsufficientCredits  # Some services respond with 403 where credits are missing.
    error_type, is_foreign = _kind_of(body)[:200] or None, not has_refusal_shape(body)
    return kind(text, answer.status, error_type, _request_id(answer), facts, is_foreign)


def has_refusal_shape(body: Mapping[str, Any]) -> bool:
    """Whether the JSON of a refusal has the format in which services of this family refuse: a reason with an error type."""
    detail, error = body.get("detail"), body.get("error")
    if isinstance(detail, list):
        return any(isinstance(item, dict) and isinstance(item.get("msg"), str) for item in detail)
    words = error.get("message") if isinstance(error, dict) else detail or error
    return isinstance(words, str) and bool(_kind_of(body))


def is_definite_refusal(status: int, value: Any) -> bool:
    """Whether the JSON of a response to a paid request means that the run was not accepted, and so not charged."""
    if status not in DEFINITE_STATUSES or not isinstance(value, dict) or GATEWAY_ERROR_TYPES.search(_kind_of(value)):
        return False
    # Services without error types give a reason as text; a text that only repeats the status may have any origin.
    detail = value.get("detail")
    has_reason = isinstance(detail, str) and bool(detail.strip()) and detail.strip().lower() not in PHRASES
    return has_refusal_shape(value) or (has_reason and not PROBLEM_FIELDS & value.keys())


def is_unfinished(error: ServiceError) -> bool:
    """Whether the refusal of a result means that the run is unfinished."""
    says_so = error.status in (400, 404, 409) and UNFINISHED.search(error.message) is not None
    return says_so or error.status == 425 or error.error_type == "not_ready"


def get_end_by_refusal(request_id: str, error: ReelbookError) -> RunFailed | RunCancelled | None:
    """How a completed run ended, from the refusal of its result; None where that does not concern the run."""
    if not isinstance(error, ServiceError) or error.foreign:
        return None
    if error.error_type == "cancelled" or error.status == 499:
        return RunCancelled(request_id)
    lists = [fact for fact in error.facts.values() if isinstance(fact, list)]
    places = [_get_place(problem)[:1] for problems in lists for problem in problems]
    is_about_the_call = CALL_ERROR_TYPES.search(error.error_type or "") or any([name] in places for name in CALL_PLACES)
    if error.error_type in ENDING_ERROR_TYPES or (error.status in (400, 409, 422) and not is_about_the_call):
        return RunFailed(request_id, error.message, error.error_type)
    return None


def get_end_by_status(status: QueueStatus) -> RunFailed | RunCancelled | None:
    """How a run ended, from its final status; None where it has a result."""
    error, kind = getattr(status, "error", None), str(getattr(status, "error_type", None) or "")
    if kind == "cancelled":
        return RunCancelled(status.request_id)
    return RunFailed(status.request_id, str(error)[:MAX_TEXT_LENGTH], kind or None) if error else None


def is_about_the_account(error: Exception) -> bool:
    """Whether the service itself refuses the key or the account, so that a retry changes nothing."""
    refusals = (errors.Unauthorized, errors.InsufficientCredits, errors.Forbidden)
    return isinstance(error, refusals) and not error.foreign


def make_unfinished_error(request_id: str, reason: ReelbookError) -> NotReady:
    """The error of a paid run whose outcome cannot be determined now; its `status` is 0 where nothing responded."""
    status, kind, words = 0, "unreachable", str(reason)
    if isinstance(reason, ServiceError):
        is_gone = not reason.foreign and reason.status in (404, 410)
        status, kind = reason.status, EXPIRED if is_gone else reason.error_type or "unfinished"
        lead = "The service does not know this run any more" if is_gone else "How this run ended cannot be told now"
        words = f"{lead}: {reason.message}"
    elif isinstance(reason, Unreachable):
        words = f"How this run ended cannot be told now: nothing answered at {reason.address} ({reason.reason})."
    return NotReady(words, status=status, error_type=kind, request_id=request_id)


def _kind_of(body: Mapping[str, Any]) -> str:
    """The error type that a refusal names; digits only are the code of a gateway."""
    inner = body.get("error")
    kind = body.get("error_type") or (inner.get("code") if isinstance(inner, dict) else None)
    return format_line(kind) if isinstance(kind, str) and not kind.strip().isdecimal() else ""


def _get_reason(answer: ServiceAnswer, body: Mapping[str, Any]) -> str:
    """The reason in the service's own words, or a description of its response."""
    if 300 <= answer.status < 400:
        return (
            f"The service answered {answer.status}: it points to another address, and a key is not sent after it. "
            "Connect to the service's own address."
        )
    words, error = body.get("detail") or body.get("message"), body.get("error")
    if isinstance(words, list):
        words = "; ".join(_format_problem(problem) for problem in words[:20] if isinstance(problem, dict))
    words = words or (error.get("message") if isinstance(error, dict) else error)
    return words if isinstance(words, str) else f"The service answered {answer.status} with {answer.summary}."


def _format_problem(problem: Mapping[str, Any]) -> str:
    """One problem with an input, after the field that it is about."""
    place, words = _get_place(problem), str(problem.get("msg", ""))
    for leading in (("body", *CALL_PLACES), ("input",)):
        if place and place[0] in leading:
            del place[0]
    return f"{'.'.join(place)}: {words}" if place and place[-1] not in words else words


def _get_place(problem: Any) -> list[str]:
    """The path of the value that a problem is about; its first part says where in the request it stands."""
    loc = problem.get("loc") if isinstance(problem, dict) else None
    return [str(part) for part in loc] if isinstance(loc, list) else []


def _request_id(answer: ServiceAnswer) -> str | None:
    return answer.hide(format_line(answer.headers.get("x-request-id", "")))[:200] or None


def get_pause(failures: int, error: BaseException | None = None, *, first: float = 0.5, most: float = 30.0) -> float:
    """The seconds to wait after so many earlier failures in a row: twice as long each time, and what the service asks for."""
    # Random, so that many clients that failed together do not retry together.
    pause = min(first * 2.0 ** min(failures, 20), most) * random.uniform(0.5, 1.0)
    asked = error.facts.get("retry_after", 0.0) if isinstance(error, ServiceError) else 0.0
    return min(float(asked), MAX_RETRY_AFTER_SECONDS) + pause
