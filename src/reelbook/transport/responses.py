"""One HTTP response of a service: its JSON, or the error that it means."""

from __future__ import annotations

import html
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

from .. import errors
from ..errors import ServiceBroken, ServiceError
from ..util.printable import format_line, map_texts, replace_surrogates
from .api_key import Key
from .definite_refusal import has_refusal_shape

MAX_TEXT_LENGTH = 500
MAX_ID_LENGTH = 200

ERROR_TYPES: Mapping[int, type[ServiceError]] = {
    401: errors.Unauthorized,
    402: errors.InsufficientCredits,
    403: errors.Forbidden,
    404: errors.NotFound,
    408: errors.ServiceBroken,
    429: errors.TooManyRequests,
}
"""The error for a status; others below 500 are `Refused`, everything else is `ServiceBroken`."""

REASONS = ("detail", "message", "error_description", "msg", "reason", "title", "errors")
"""The fields in which services give their reason, the most reliable first."""


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


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """A request without a response. Not an exception: httpx's frames contain the headers, and with them the key."""

    reason: str
    may_be_sent: bool = True
    """Whether a byte of the request may have left."""
    too_large: bool = False
    """Whether there was a response that exceeded the size limit."""


def parse_json(answer: ServiceAnswer, key: Key) -> Any:
    """The JSON of a response, without the key and without lone surrogates; None where there is none."""
    try:
        # NaN and Infinity are not JSON, and what is stored of a response must be.
        value = json.loads(answer.content, parse_constant=lambda _: None)
        scrub = key if key.is_distinctive or not answer.is_good else None
        # Searching the bytes is cheap, walking the values is not. A backslash may escape even a letter of the key.
        if b"\\" in answer.content or (scrub is not None and scrub.is_in(answer.content)):
            value = _clean(value, scrub)
    except (ValueError, RecursionError):
        return None
    return value


def is_json(answer: ServiceAnswer) -> bool:
    """Whether a response is JSON; `null` is, though it has no value."""
    try:
        json.loads(answer.content)
    except (ValueError, RecursionError):
        return False
    return True


def summarise(answer: ServiceAnswer, key: Key) -> str:
    """A short description of a response, for an error message."""
    if answer.is_html:
        return key.scrubbed(_page(answer))
    if not is_json(answer):
        text = key.scrubbed(_plain(_loose_text(answer)))[:100]
        return f"the text “{text}”" if text else "something that is not JSON" if answer.content else "nothing"
    return key.scrubbed(_plain(answer.content[: 2 * MAX_TEXT_LENGTH].decode("utf-8", "replace")))[:100]


def unreadable_error(answer: ServiceAnswer, key: Key) -> ServiceBroken:
    """The error for a successful status with a body of the wrong kind."""
    return ServiceBroken(
        f"The service answered {summarise(answer, key)} where something else was expected. "
        "Is this the address of a model service?",
        status=answer.status,
        request_id=_request_id(answer, {}, key),
        foreign=True,
    )


def parse_refusal(answer: ServiceAnswer, key: Key) -> ServiceError:
    """The error that a refusal means, with the service's own words and its request id."""
    value = parse_json(answer, key)
    body = value if isinstance(value, dict) else {}
    inner = _inner(body)
    text = key.scrubbed(_plain(_get_reason(answer, value, inner)))
    facts = {name: fact for name, fact in body.items() if name not in ("error", "error_type")}
    if isinstance(facts.get("detail"), str):
        del facts["detail"]
    pause = parse_retry_after(answer.headers)
    if pause is not None:
        facts["retry_after"] = pause
    return _error_type(answer.status, text)(
        text,
        status=answer.status,
        error_type=_text(body.get("error_type")) or _text(inner.get("code")) or _text(inner.get("type")),
        request_id=_request_id(answer, body, key),
        facts=facts,
        foreign=not has_refusal_shape(value),
    )


def parse_retry_after(headers: Mapping[str, str], *, now: Callable[[], float] = time.time) -> float | None:
    """The seconds of a Retry-After header, given as a number or as a date; None without one.

    >>> parse_retry_after({"retry-after": "7"})
    7.0
    """
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value):
        return float(value)
    try:
        until = parsedate_to_datetime(value).timestamp()
        # By the service's own clock, if its response has the date: the local clock may be wrong.
        sent = headers.get("date")
        return max(0.0, until - (parsedate_to_datetime(sent).timestamp() if sent else now()))
    except (ValueError, TypeError, OverflowError):
        return None


def _error_type(status: int, text: str) -> type[ServiceError]:
    # Some services respond with 403 where credits are missing.
    if status == 403 and any(word in text.lower() for word in ("balance", "locked")):
        return errors.InsufficientCredits
    return ERROR_TYPES.get(status, errors.Refused if 400 <= status < 500 else errors.ServiceBroken)


def _inner(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object inside `error` or `detail`, for services that nest their reason."""
    packed = (body.get("error"), body.get("detail"))
    return next((value for value in packed if isinstance(value, dict)), {})


def _get_reason(answer: ServiceAnswer, value: Any, inner: Mapping[str, Any]) -> str:
    """The reason in the service's own words, or a description of its response."""
    if 300 <= answer.status < 400:
        return (
            f"The service answered {answer.status}: it points to another address, and a key is not sent after it. "
            "Connect to the service's own address."
        )
    if answer.is_html:
        return f"The service answered {answer.status} with {_page(answer)}."
    body = value if isinstance(value, dict) else {}
    reasons = [inner.get(name) for name in REASONS] + [body.get("error")] + [body.get(name) for name in REASONS]
    if not isinstance(value, dict):
        reasons = [value if value is not None else _loose_text(answer)]
    found = next((words for words in map(_sentence, reasons) if words), "")
    return found or f"The service answered {answer.status} without saying why."


def _sentence(reason: Any) -> str:
    """A service's reason, a text or a list of problems, as one or more sentences."""
    if isinstance(reason, str):
        return reason.strip()
    if isinstance(reason, list):
        return " ".join(filter(None, map(_sentence_of_one, reason[:20])))
    return ""


def _sentence_of_one(item: Any) -> str:
    """One entry of a list of problems, with its field where the text does not contain it."""
    if not isinstance(item, dict):
        return _sentence(item)
    words = next((item[name] for name in ("msg", "message", "detail") if isinstance(item.get(name), str)), "")
    if not words:
        return json.dumps(item)[:MAX_TEXT_LENGTH]
    loc = item.get("loc")
    place = ".".join(str(part) for part in loc if part not in ("body", "input")) if isinstance(loc, list) else ""
    last = place.rpartition(".")[2]
    ended = words if words.endswith((".", "!", "?")) else f"{words}."
    return ended if not place or last in words else f"{place}: {ended}"


def _page(answer: ServiceAnswer) -> str:
    """A short description of an HTML page, for an error message."""
    text = answer.content[:20_000].decode("utf-8", "replace")
    found = re.search(r"<title[^>]*>(.*?)</title", text, re.IGNORECASE | re.DOTALL)
    title = _plain(html.unescape(found.group(1)))[:100] if found else ""
    return f"an HTML page titled “{title}”" if title else "an HTML page"


def _loose_text(answer: ServiceAnswer) -> str:
    """The body of a response that is not JSON, if it is readable text."""
    text = answer.content[: 4 * MAX_TEXT_LENGTH].decode("utf-8", "replace").strip()
    return "" if text.startswith("<") or text.count("\ufffd") > len(text) / 10 else text


def _plain(text: str) -> str:
    """A text on one line, without control characters."""
    return format_line(text)[:MAX_TEXT_LENGTH]


def _request_id(answer: ServiceAnswer, body: Mapping[str, Any], key: Key) -> str | None:
    ids = [answer.headers.get("x-request-id"), body.get("requestId"), body.get("request_id")]
    found = next((text for text in map(_text, ids) if text), None)
    return key.scrubbed(_plain(found)[:MAX_ID_LENGTH]) if found else None


def _text(value: Any) -> str | None:
    """A short text, or a number as text; None for anything else."""
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return _plain(str(value))[:MAX_ID_LENGTH] or None
    return None


def _clean(value: Any, key: Key | None) -> Any:
    """The same JSON without the key, and without lone surrogates, which cannot be encoded."""
    value = map_texts(value, replace_surrogates)
    return value if key is None else map_texts(value, key.scrubbed)
