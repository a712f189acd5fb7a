"""What a response means for a run that is paid for, or may be: only the service's own JSON ends a run.

For the paid request (`is_definite_refusal`) that is one of a few statuses with a body that gives a reason. A page, an
empty or foreign body, or a truncated one may have replaced the response that accepted the run, whatever its status: the
run is then uncertain, and never sent again automatically.

For an accepted run it is a status `COMPLETED` with an `error`, or a refusal of the result of a run that is `COMPLETED`.
After everything else, such as a page, an empty or foreign body, or a refusal of the call (its key, its address, its
rate), the run is polled again, with pauses, until a limit. After that the run is unfinished: in the ledger it stays
accepted and paid, the next `rb.run` of the same input polls it again for free, and only `fresh=True` pays for another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from ..errors import (
    Forbidden,
    InsufficientCredits,
    NotReady,
    ReelbookError,
    RunCancelled,
    RunFailed,
    ServiceError,
    Unauthorized,
    Unreachable,
)
from ..models.queue_status import QueueStatus

DEFINITE_STATUSES = frozenset({400, 401, 402, 403, 404, 405, 413, 415, 422, 429})
"""Statuses which mean that a run was not accepted, and so not charged."""
RESULT_SECONDS = 10.0
"""How long the result of a completed run is requested, whatever the responses."""
REFUSED_SECONDS = 60.0
"""How long a run is polled while every poll is refused."""
EXPIRED = "expired"
"""The error type of a paid run that the service no longer knows."""

ENDING_ERROR_TYPES = frozenset({
    "contentpolicyviolation", "validationerror", "filedownloaderror", "imageloaderror", "engineerror", "enginetimeout",
})  # fmt: skip
"""Error types that report how a run ended, with any status; in the spelling of `_plain`."""
ENDING_STATUSES = frozenset({400, 409, 422, 500})
"""Statuses with which a service may report how a run ended, under an unknown error type."""
_CANCELLED = frozenset({"cancelled", "canceled"})
_CALL_ERROR_TYPES = re.compile(
    r"(badrequest|unauthori[sz]ed|unauthenticated|forbidden|notfound|notready|methodnotallowed|insufficientcredits"
    r"|toolarge|conflict|timeout|requesttimeout|(internal)?(server)?error|unknown(error)?)$"
    r"|gateway|upstream|proxy|denied|authenti|apikey|ratelimit|toomany|throttl|quota|unavailable|maintenance|overload"
)
"""Error types that concern one call and not the run."""
_GATEWAY_ERROR_TYPES = re.compile(r"gateway|upstream|proxy")
"""Error types of gateways and proxies in front of a service."""
_PROBLEM_FIELDS = frozenset({"type", "title", "status"})
"""Fields of problem details (RFC 9457), which gateways and frameworks generate."""
_PHRASES = frozenset(status.phrase.lower() for status in HTTPStatus)
_LIKELY_SOURCES: Mapping[int, str] = {
    401: "most likely from a gateway that wants another key",
    403: "most likely from a filter or a gateway that blocks such calls",
    404: "as where the address is not the service's own: check it",
    405: "as where the address is not the service's own: check it",
    407: "most likely from a proxy that wants a sign-in",
    413: "most likely from a gateway that takes no request of this size",
    429: "most likely from a gateway that limits the pace",
    502: "as from a gateway that got no answer from the service",
    503: "as from a gateway that got no answer from the service",
    504: "as from a gateway that waited too long for the service",
    511: "most likely from a network that wants a sign-in",
}
"""The probable origin of a response that is not the service's own."""
_CALL_LOCATIONS = frozenset({"path", "query", "header", "cookie"})


def has_refusal_shape(value: Any) -> bool:
    """Whether the JSON of a refusal has the format in which services of this family refuse.

    >>> has_refusal_shape({"detail": "It shows what it must not.", "error_type": "content_policy_violation"})
    True
    >>> [has_refusal_shape(value) for value in (None, [], {}, {"message": "no route"}, {"detail": "Not Found"}, {"error": {"code": 503}})]
    [False, False, False, False, False, False]
    """
    if not isinstance(value, dict):
        return False
    detail, inner = value.get("detail"), value.get("error")
    if _is_text(value.get("error_type")) and (_is_text(detail) or _is_problems(detail) or _is_text(inner)):
        return True
    if _is_problems(detail):
        return True
    kind = inner.get("code") or inner.get("type") if isinstance(inner, dict) else None
    return isinstance(inner, dict) and _is_text(inner.get("message")) and _is_text(kind)


def is_definite_refusal(status: int, value: Any) -> bool:
    """Whether the JSON of a response to a paid request means that the run was not accepted, and so not charged.

    >>> is_definite_refusal(402, {"detail": "53 credits are missing."}), is_definite_refusal(422, {"detail": [{"msg": "too long"}]})
    (True, True)
    >>> [is_definite_refusal(403, value) for value in (None, {"detail": "Forbidden"}, {"message": "no"}, {"title": "No", "detail": "It is not."})]
    [False, False, False, False]
    """
    if status not in DEFINITE_STATUSES or not isinstance(value, dict):
        return False
    detail, inner = value.get("detail"), value.get("error")
    # Services without error types give a reason as text; a text that only repeats the status may have any origin.
    has_reason = isinstance(detail, str) and _is_text(detail) and detail.strip().lower() not in _PHRASES
    kind = value.get("error_type") or (inner.get("code") or inner.get("type") if isinstance(inner, dict) else None)
    is_from_service = has_refusal_shape(value) or (has_reason and not _PROBLEM_FIELDS & value.keys())
    return is_from_service and _GATEWAY_ERROR_TYPES.search(_plain(kind)) is None


def format_uncertain_reason(status: int, what: str) -> str:
    """Why a response leaves a paid request uncertain; `what` summarises the response.

    >>> format_uncertain_reason(407, "an HTML page")
    '407 with an HTML page came in place of an answer, most likely from a proxy that wants a sign-in'
    """
    likely = _LIKELY_SOURCES.get(status, "")
    return f"{status} with {what} came in place of an answer{likely and f', {likely}'}"


def get_end_by_refusal(request_id: str, error: ReelbookError) -> RunFailed | RunCancelled | None:
    """How a completed run ended, from the refusal of its result; None where that does not concern the run."""
    if not isinstance(error, ServiceError) or error.foreign:
        return None
    kind = _plain(error.error_type)
    if kind in _CANCELLED or error.status == 499:
        return RunCancelled(request_id)
    is_named = error.status in ENDING_STATUSES and not _is_about_the_call(kind, error.facts)
    return RunFailed(request_id, error.message, error.error_type) if kind in ENDING_ERROR_TYPES or is_named else None


def get_end_by_status(status: QueueStatus) -> RunFailed | RunCancelled | None:
    """How a run ended, from its final status; None where it has a result."""
    error, kind = getattr(status, "error", None), getattr(status, "error_type", None)
    if _plain(kind) in _CANCELLED:
        return RunCancelled(status.request_id)
    if not error:
        return None
    words = error if isinstance(error, str) else str(error)[:500]
    return RunFailed(status.request_id, words, kind if isinstance(kind, str) else None)


def is_about_the_account(error: Exception) -> bool:
    """Whether the service itself refuses the key or the account, so that a retry changes nothing."""
    return isinstance(error, (Unauthorized, InsufficientCredits, Forbidden)) and not error.foreign


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


def _is_about_the_call(kind: str, facts: Mapping[str, Any]) -> bool:
    """Whether a refusal concerns the call, by its error type or the locations of its problems."""
    if _CALL_ERROR_TYPES.search(kind) is not None:
        return True
    detail = facts.get("detail")
    places = [item.get("loc") for item in detail if isinstance(item, dict)] if isinstance(detail, list) else []
    return any(isinstance(place, list) and place[:1] and place[0] in _CALL_LOCATIONS for place in places)


def _is_problems(detail: Any) -> bool:
    """Whether a value is a list of problems with an input, each with a message."""
    return (
        isinstance(detail, list)
        and bool(detail)
        and all(isinstance(item, dict) and _is_text(item.get("msg")) for item in detail)
    )


def _is_text(value: Any) -> bool:
    """Whether a value is text; digits only are the code of a gateway."""
    return isinstance(value, str) and bool(value.strip()) and not value.strip().isdecimal()


def _plain(kind: Any) -> str:
    """An error type in canonical spelling: `BadRequest`, `bad_request` and `Bad request` are the same."""
    return re.sub(r"[^a-z]", "", kind.lower()) if isinstance(kind, str) else ""
