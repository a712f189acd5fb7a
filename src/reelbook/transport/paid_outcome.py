"""What an answer means for a run that is paid for, or may be.

One rule for both: only the service's own words, in its own shape, end a run.

Of the request that pays for it (`is_refusal`) they are one of a few statuses with a body that says why. A page, an empty
or foreign body, or one that was cut may stand in the place of the answer that accepted it, whatever its status: the run
is uncertain then, and never sent again by itself.

Of a run that was accepted they are a status that says `COMPLETED` and carries an `error`, or a refusal of the result of
a run that is `COMPLETED`. Everything else, be it a page, an empty or foreign body, or a refusal of the call (its key, its
address, its pace), means: ask again, with pauses, until a limit. After that the run is unfinished: the ledger keeps it as
accepted and paid, the next `rb.run` of the same input asks again at no cost, and only `fresh=True` pays for another one.
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

DEFINITE = frozenset({400, 401, 402, 403, 404, 405, 413, 415, 422, 429})
"""With one of these the service says that it has not accepted a run, and so not charged it."""
RESULT_SECONDS = 10.0
"""How long the result of a completed run is asked for again, whatever else is answered."""
REFUSED_SECONDS = 60.0
"""How long the status of a run is asked for again while every answer refuses to tell it."""
EXPIRED = "expired"
"""The kind of error where a service says, in its own words, that it does not know a paid run any more."""

ENDS = frozenset({
    "contentpolicyviolation", "validationerror", "filedownloaderror", "imageloaderror", "engineerror", "enginetimeout",
})  # fmt: skip
"""Kinds of errors that tell how a run ended, whatever status they come with; compared as `_plain` writes them."""
ENDING_STATUSES = frozenset({400, 409, 422, 500})
"""With these a service may tell how a run ended under a name that is not known here."""
_CANCELLED = frozenset({"cancelled", "canceled"})
_OF_THE_CALL = re.compile(
    r"(badrequest|unauthori[sz]ed|unauthenticated|forbidden|notfound|notready|methodnotallowed|insufficientcredits"
    r"|toolarge|conflict|timeout|requesttimeout|(internal)?(server)?error|unknown(error)?)$"
    r"|gateway|upstream|proxy|denied|authenti|apikey|ratelimit|toomany|throttl|quota|unavailable|maintenance|overload"
)
"""Kinds of errors that are about one call and not about the run."""
_OF_A_GATEWAY = re.compile(r"gateway|upstream|proxy")
"""Kinds of errors that something on the way to the service tells."""
_PROBLEM = frozenset({"type", "title", "status"})
"""Fields of problem details (RFC 9457), which gateways and frameworks make."""
_PHRASES = frozenset(status.phrase.lower() for status in HTTPStatus)
_LIKELY: Mapping[int, str] = {
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
"""Where an answer comes from that is not the service's own."""
_PLACES_OF_THE_CALL = frozenset({"path", "query", "header", "cookie"})


def is_own(value: Any) -> bool:
    """Whether the JSON of a refusal has the shape in which services of this family refuse.

    >>> is_own({"detail": "It shows what it must not.", "error_type": "content_policy_violation"})
    True
    >>> [is_own(value) for value in (None, [], {}, {"message": "no route"}, {"detail": "Not Found"}, {"error": {"code": 503}})]
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


def is_refusal(status: int, value: Any) -> bool:
    """Whether the JSON of an answer to a paid request says that the run was not accepted, and so not charged.

    >>> is_refusal(402, {"detail": "53 credits are missing."}), is_refusal(422, {"detail": [{"msg": "too long"}]})
    (True, True)
    >>> [is_refusal(403, value) for value in (None, {"detail": "Forbidden"}, {"message": "no"}, {"title": "No", "detail": "It is not."})]
    [False, False, False, False]
    """
    if status not in DEFINITE or not isinstance(value, dict):
        return False
    detail, inner = value.get("detail"), value.get("error")
    # Services that give no kind of error say why in words; what only repeats its status may come from anywhere.
    says_why = isinstance(detail, str) and _is_text(detail) and detail.strip().lower() not in _PHRASES
    kind = value.get("error_type") or (inner.get("code") or inner.get("type") if isinstance(inner, dict) else None)
    is_its_own = is_own(value) or (says_why and not _PROBLEM & value.keys())
    return is_its_own and _OF_A_GATEWAY.search(_plain(kind)) is None


def doubt(status: int, what: str) -> str:
    """Why an answer leaves a paid request uncertain: `what` is the answer in a few words.

    >>> doubt(407, "an HTML page")
    '407 with an HTML page came in place of an answer, most likely from a proxy that wants a sign-in'
    """
    likely = _LIKELY.get(status, "")
    return f"{status} with {what} came in place of an answer{likely and f', {likely}'}"


def ending(request_id: str, error: ReelbookError) -> RunFailed | RunCancelled | None:
    """How a completed run ended, as the refusal of its result tells; None where that tells nothing about the run."""
    if not isinstance(error, ServiceError) or error.foreign:
        return None
    kind = _plain(error.error_type)
    if kind in _CANCELLED or error.status == 499:
        return RunCancelled(request_id)
    is_named = error.status in ENDING_STATUSES and not _is_of_the_call(kind, error.facts)
    return RunFailed(request_id, error.message, error.error_type) if kind in ENDS or is_named else None


def ending_in(status: QueueStatus) -> RunFailed | RunCancelled | None:
    """How a run ended, as its final status tells; None where it has a result."""
    told, kind = getattr(status, "error", None), getattr(status, "error_type", None)
    if _plain(kind) in _CANCELLED:
        return RunCancelled(status.request_id)
    if not told:
        return None
    words = told if isinstance(told, str) else str(told)[:500]
    return RunFailed(status.request_id, words, kind if isinstance(kind, str) else None)


def is_about_the_account(error: Exception) -> bool:
    """Whether the service says, in its own words, that the key or the account is no good: asking again changes nothing."""
    return isinstance(error, (Unauthorized, InsufficientCredits, Forbidden)) and not error.foreign


def unfinished(request_id: str, reason: ReelbookError) -> NotReady:
    """The error of a run that is paid for, and of which nothing more can be learnt now; `status` 0: nobody answered."""
    status, kind, words = 0, "unreachable", str(reason)
    if isinstance(reason, ServiceError):
        is_gone = not reason.foreign and reason.status in (404, 410)
        status, kind = reason.status, EXPIRED if is_gone else reason.error_type or "unfinished"
        so = "The service does not know this run any more" if is_gone else "How this run ended cannot be told now"
        words = f"{so}: {reason.message}"
    elif isinstance(reason, Unreachable):
        words = f"How this run ended cannot be told now: nothing answered at {reason.address} ({reason.reason})."
    return NotReady(words, status=status, error_type=kind, request_id=request_id)


def _is_of_the_call(kind: str, facts: Mapping[str, Any]) -> bool:
    """Whether a refusal is about the call, by its name, or by the places of what is wrong."""
    if _OF_THE_CALL.search(kind) is not None:
        return True
    detail = facts.get("detail")
    places = [item.get("loc") for item in detail if isinstance(item, dict)] if isinstance(detail, list) else []
    return any(isinstance(place, list) and place[:1] and place[0] in _PLACES_OF_THE_CALL for place in places)


def _is_problems(detail: Any) -> bool:
    """Whether this is a list of problems with an input, each in words."""
    return (
        isinstance(detail, list)
        and bool(detail)
        and all(isinstance(item, dict) and _is_text(item.get("msg")) for item in detail)
    )


def _is_text(value: Any) -> bool:
    """Whether this says something; a number in words is the code of a gateway."""
    return isinstance(value, str) and bool(value.strip()) and not value.strip().isdecimal()


def _plain(kind: Any) -> str:
    """A kind of error without its spelling: `BadRequest`, `bad_request` and `Bad request` are one."""
    return re.sub(r"[^a-z]", "", kind.lower()) if isinstance(kind, str) else ""
