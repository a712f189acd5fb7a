"""What one response of a service means: its JSON, the error of a refusal, and how a run ended.

Only the service's own JSON decides about money. For the paid request (`is_definite_refusal`) that is one of a few
statuses with a body that gives a reason. A page, an empty or foreign body, or a truncated one may have replaced the
response that accepted the run, whatever its status: the run is then uncertain, and never sent again automatically.

For an accepted run it is a status `COMPLETED` with an `error`, or a refusal of the result of a run that is `COMPLETED`.
After everything else, such as a page, an empty or foreign body, or a refusal of the call (its key, its address, its
rate), the run is polled again, with pauses, until a limit. After that the run is unfinished: in the ledger it stays
accepted and paid, the next `rb.run` of the same input polls it again for free, and only `fresh=True` pays for another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from .. import errors
from ..errors import NotReady, ReelbookError, RunCancelled, RunFailed, ServiceBroken, ServiceError, Unreachable
from ..models.queue_status import QueueStatus
from ..util.printable import format_line, map_texts, replace_surrogates
from .api_key import Key

MAX_TEXT_LENGTH = 500
RESULT_SECONDS = 10.0
"""How long the result of a completed run is requested, whatever the responses."""
REFUSED_SECONDS = 60.0
"""How long a run is polled while every poll is refused."""
EXPIRED = "expired"
"""The error type of a paid run that the service no longer knows."""

ERROR_TYPES: Mapping[int, type[ServiceError]] = {
    401: errors.Unauthorized,
    402: errors.InsufficientCredits,
    403: errors.Forbidden,
    404: errors.NotFound,
    408: errors.ServiceBroken,
    429: errors.TooManyRequests,
}
"""The error for a status; others below 500 are `Refused`, everything else is `ServiceBroken`."""
REASONS = ("detail", "message", "error", "msg", "title")
"""The fields in which services give their reason, the most reliable first."""

DEFINITE_STATUSES = frozenset({400, 401, 402, 403, 404, 405, 413, 415, 422, 429})
"""Statuses which mean that a run was not accepted, and so not charged."""
ENDING_ERROR_TYPES = frozenset({
    "contentpolicyviolation", "validationerror", "filedownloaderror", "imageloaderror", "engineerror", "enginetimeout",
})  # fmt: skip
"""Error types that report how a run ended, with any status; in the spelling of `_letters`."""
ENDING_STATUSES = frozenset({400, 409, 422, 500})
"""Statuses with which a service may report how a run ended, under an unknown error type."""
_CALL_ERROR_TYPES = re.compile(
    r"(badrequest|unauthori[sz]ed|unauthenticated|forbidden|notfound|notready|methodnotallowed|insufficientcredits"
    r"|toolarge|conflict|timeout|requesttimeout|(internal)?(server)?error|unknown(error)?)$"
    r"|gateway|upstream|proxy|denied|authenti|apikey|ratelimit|toomany|throttl|quota|unavailable|maintenance|overload"
)
"""Error types that concern one call and not the run."""
_CALL_LOCATIONS = frozenset({"path", "query", "header", "cookie"})
_GATEWAY_ERROR_TYPES = re.compile(r"gateway|upstream|proxy")
"""Error types of gateways and proxies in front of a service."""
_PROBLEM_FIELDS = frozenset({"type", "title", "status"})
"""Fields of problem details (RFC 9457), which gateways and frameworks generate."""
_PHRASES = frozenset(status.phrase.lower() for status in HTTPStatus)


@dataclass(frozen=True, slots=True)
class ServiceAnswer:
    """One response. Its repr omits the body, which can repeat what was sent."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    content: bytes = field(repr=False)

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_html(self) -> bool:
        """Whether it is an HTML page."""
        head = self.content[:200].lstrip().lower()
        named = "html" in self.headers.get("content-type", "").lower()
        return head.startswith((b"<!doctype", b"<html")) or (named and head.startswith(b"<"))

    @property
    def is_json(self) -> bool:
        """Whether it is JSON; `null` is, though it has no value."""
        try:
            json.loads(self.content)
        except (ValueError, RecursionError):
            return False
        return True


def parse_json(answer: ServiceAnswer, key: Key) -> Any:
    """The JSON of a response, without the key and without lone surrogates; None where there is none."""
    try:
        # NaN and Infinity are not JSON, and what is stored of a response must be.
        value = json.loads(answer.content, parse_constant=lambda _: None)
        is_secret = key.is_distinctive or not answer.is_good
        # Searching the bytes is cheap, walking the values is not. A backslash may escape even a letter of the key.
        if b"\\" in answer.content or (is_secret and key.is_in(answer.content)):
            value = map_texts(value, replace_surrogates)
            value = map_texts(value, key.scrubbed) if is_secret else value
    except (ValueError, RecursionError):
        return None
    return value


def summarise(answer: ServiceAnswer, key: Key) -> str:
    """A short description of a response, for an error message."""
    if answer.is_html:
        return "an HTML page"
    text = key.scrubbed(_plain(_loose_text(answer)))[:100]
    if answer.is_json:
        return text
    return f"the text “{text}”" if text else "something that is not JSON" if answer.content else "nothing"


def unreadable_error(answer: ServiceAnswer, key: Key) -> ServiceBroken:
    """The error for a successful status with a body of the wrong kind."""
    words = f"The service answered {summarise(answer, key)} where something else was expected. Is this the address of a model service?"
    return ServiceBroken(words, status=answer.status, request_id=_request_id(answer, {}, key), foreign=True)


def parse_refusal(answer: ServiceAnswer, key: Key) -> ServiceError:
    """The error that a refusal means, with the service's own words and its request id."""
    value = parse_json(answer, key)
    body = value if isinstance(value, dict) else {}
    text = key.scrubbed(_plain(_get_reason(answer, value)))
    facts = {name: fact for name, fact in body.items() if name not in ("error", "error_type")}
    if isinstance(facts.get("detail"), str):
        del facts["detail"]
    pause = parse_retry_after(answer.headers)
    if pause is not None:
        facts["retry_after"] = pause
    kind = ERROR_TYPES.get(answer.status, errors.Refused if 400 <= answer.status < 500 else errors.ServiceBroken)
    if answer.status == 403 and any(word in text.lower() for word in ("balance", "locked")):
        kind = errors.InsufficientCredits  # Some services respond with 403 where credits are missing.
    return kind(
        text,
        status=answer.status,
        error_type=_text(_kind_of(body)),
        request_id=_request_id(answer, body, key),
        facts=facts,
        foreign=not has_refusal_shape(value),
    )


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds of a Retry-After header; None without one, and for a date, which needs two clocks to agree.

    >>> parse_retry_after({"retry-after": "7"})
    7.0
    """
    value = headers.get("retry-after", "").strip()
    return float(value) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value) else None


# What decides about money.


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
    if _is_problems(detail) or (_is_words(value.get("error_type")) and (_is_words(detail) or _is_words(inner))):
        return True
    return isinstance(inner, dict) and _is_words(inner.get("message")) and _is_words(_kind_of({"error": inner}))


def is_definite_refusal(status: int, value: Any) -> bool:
    """Whether the JSON of a response to a paid request means that the run was not accepted, and so not charged.

    >>> is_definite_refusal(402, {"detail": "53 credits are missing."}), is_definite_refusal(422, {"detail": [{"msg": "too long"}]})
    (True, True)
    >>> [is_definite_refusal(403, value) for value in (None, {"detail": "Forbidden"}, {"message": "no"}, {"title": "No", "detail": "It is not."})]
    [False, False, False, False]
    """
    if status not in DEFINITE_STATUSES or not isinstance(value, dict):
        return False
    # Services without error types give a reason as text; a text that only repeats the status may have any origin.
    detail = value.get("detail")
    has_reason = _is_words(detail) and str(detail).strip().lower() not in _PHRASES
    has_reason = has_reason and not _PROBLEM_FIELDS & value.keys()
    is_from_service = has_refusal_shape(value) or has_reason
    return is_from_service and _GATEWAY_ERROR_TYPES.search(_letters(_kind_of(value))) is None


def get_end_by_refusal(request_id: str, error: ReelbookError) -> RunFailed | RunCancelled | None:
    """How a completed run ended, from the refusal of its result; None where that does not concern the run."""
    if not isinstance(error, ServiceError) or error.foreign:
        return None
    kind = _letters(error.error_type)
    if kind in ("cancelled", "canceled") or error.status == 499:
        return RunCancelled(request_id)
    detail = error.facts.get("detail")
    places = [item.get("loc") for item in detail if isinstance(item, dict)] if isinstance(detail, list) else []
    is_about_the_call = _CALL_ERROR_TYPES.search(kind) is not None or any(
        isinstance(place, list) and place[:1] and place[0] in _CALL_LOCATIONS for place in places
    )
    if kind in ENDING_ERROR_TYPES or (error.status in ENDING_STATUSES and not is_about_the_call):
        return RunFailed(request_id, error.message, error.error_type)
    return None


def get_end_by_status(status: QueueStatus) -> RunFailed | RunCancelled | None:
    """How a run ended, from its final status; None where it has a result."""
    error, kind = getattr(status, "error", None), getattr(status, "error_type", None)
    if _letters(kind) in ("cancelled", "canceled"):
        return RunCancelled(status.request_id)
    if not error:
        return None
    words = error if isinstance(error, str) else str(error)[:500]
    return RunFailed(status.request_id, words, kind if isinstance(kind, str) else None)


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


def _is_problems(detail: Any) -> bool:
    """Whether a value is a list of problems with an input, each with a message."""
    is_list = isinstance(detail, list) and bool(detail)
    return is_list and all(isinstance(item, dict) and _is_words(item.get("msg")) for item in detail)


def _is_words(value: Any) -> bool:
    """Whether a value is text; digits only are the code of a gateway."""
    return isinstance(value, str) and bool(value.strip()) and not value.strip().isdecimal()


def _kind_of(body: Mapping[str, Any]) -> Any:
    """The error type that a refusal names, in one of three places."""
    inner = body.get("error")
    return body.get("error_type") or (inner.get("code") or inner.get("type") if isinstance(inner, dict) else None)


def _letters(kind: Any) -> str:
    """An error type in canonical spelling: `BadRequest`, `bad_request` and `Bad request` are the same."""
    return re.sub(r"[^a-z]", "", kind.lower()) if isinstance(kind, str) else ""


# What is said of a refusal.


def _get_reason(answer: ServiceAnswer, value: Any) -> str:
    """The reason in the service's own words, or a description of its response."""
    if 300 <= answer.status < 400:
        return (
            f"The service answered {answer.status}: it points to another address, and a key is not sent after it. "
            "Connect to the service's own address."
        )
    if answer.is_html:
        return f"The service answered {answer.status} with an HTML page."
    reason = _sentence(value if value is not None else _loose_text(answer))
    return reason or f"The service answered {answer.status} without saying why."


def _sentence(reason: Any) -> str:
    """A service's reason, a text or one or several problems, as one or more sentences."""
    if isinstance(reason, str):
        return reason.strip()
    if isinstance(reason, list):
        return " ".join(filter(None, map(_sentence, reason[:20])))
    if not isinstance(reason, dict):
        return ""
    words = next((words for words in (_sentence(reason.get(name)) for name in REASONS) if words), "")
    loc = reason.get("loc")
    field = ".".join(str(part) for part in loc if part not in ("body", "input")) if isinstance(loc, list) else ""
    ended = words if not field or words.endswith((".", "!", "?")) else f"{words}."
    return ended if not words or not field or field.rpartition(".")[2] in words else f"{field}: {ended}"


def _loose_text(answer: ServiceAnswer) -> str:
    """The body of a response that is not JSON, if it is readable text."""
    text = answer.content[: 4 * MAX_TEXT_LENGTH].decode("utf-8", "replace").strip()
    return "" if text.startswith("<") or text.count("\ufffd") > len(text) / 10 else text


def _plain(text: str) -> str:
    """A text on one line, without control characters."""
    return format_line(text)[:MAX_TEXT_LENGTH]


def _request_id(answer: ServiceAnswer, body: Mapping[str, Any], key: Key) -> str | None:
    ids = (answer.headers.get("x-request-id"), body.get("requestId"), body.get("request_id"))
    text = next(filter(None, map(_text, ids)), None)
    return key.scrubbed(text) if text else None


def _text(value: Any) -> str | None:
    """A short text, or a number as text; None for anything else."""
    is_text = isinstance(value, (str, int)) and not isinstance(value, bool)
    return (_plain(str(value))[:200] or None) if is_text else None
