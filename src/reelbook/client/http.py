"""One request, sent as often as that is safe, and every failure as one of our errors."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from .. import errors
from ..errors import ServiceError, TooManyRequests, UncertainRun, Unreachable

DEADLINE_SECONDS = 30.0
FREE_ATTEMPTS = 4
BACKOFF_SECONDS = 0.1
LONGEST_TEXT = 500

KINDS: Mapping[int, type[ServiceError]] = {
    401: errors.Unauthorized,
    402: errors.InsufficientCredits,
    403: errors.Forbidden,
    404: errors.NotFound,
    409: errors.Refused,
    413: errors.Refused,
    422: errors.Refused,
    429: errors.TooManyRequests,
}
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol, httpx.InvalidURL)
DEFINITE = frozenset({400, 401, 402, 403, 404, 405, 413, 415, 422, 429})
"""Answers that mean a paid request was not accepted. Anything else leaves it uncertain."""


class Http:
    """A conversation with one service. The key is kept out of every repr, error and log."""

    def __init__(self, key: str | None) -> None:
        self._headers = {"x-api-key": checked_key(key)} if key else {}
        # Few connections: httpx's cost for each request grows with the number of open ones.
        limits = httpx.Limits(max_connections=8, max_keepalive_connections=4)
        self._free = httpx.AsyncClient(limits=limits, timeout=DEADLINE_SECONDS, follow_redirects=False, trust_env=False)
        # Paid requests never share a connection with anything: a connection that has gone stale loses answers.
        self._paid = httpx.AsyncClient(
            limits=httpx.Limits(max_connections=4, max_keepalive_connections=0),
            timeout=DEADLINE_SECONDS,
            follow_redirects=False,
            trust_env=False,
        )

    async def close(self) -> None:
        await self._free.aclose()
        await self._paid.aclose()

    async def free(self, method: str, url: str, *, body: Any = None, attempts: int = FREE_ATTEMPTS) -> Any:
        """The JSON that a call without a price answers; repeated a few times when the service stumbles."""
        for attempt in range(1, attempts + 1):
            try:
                return answer(await self._sent(self._free, method, url, body, {}))
            except (Unreachable, errors.ServiceBroken, TooManyRequests) as error:
                if attempt == attempts:
                    raise
                await asyncio.sleep(_pause(attempt, error))
        raise AssertionError("the loop above returns or raises")

    async def paid(self, url: str, body: Any, *, credits: int | None, idempotency_key: str | None) -> Any:
        """The JSON that a call with a price answers.

        It is sent once. Only where the service recognises a repetition by its key, a lost answer is asked for again.
        """
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        attempts = FREE_ATTEMPTS if idempotency_key else 1
        for attempt in range(1, attempts + 1):
            try:
                response = await self._sent(self._paid, "POST", url, body, headers, credits=credits)
                if response.is_success or response.status_code in DEFINITE:
                    return answer(response)
                raise UncertainRun(_place(url), f"it answered {response.status_code}", credits)
            except UncertainRun:
                if attempt == attempts:
                    raise
                await asyncio.sleep(_pause(attempt, None))
        raise AssertionError("the loop above returns or raises")

    async def _sent(
        self,
        client: httpx.AsyncClient,
        method: str,
        url: str,
        body: Any,
        headers: Mapping[str, str],
        credits: int | None = None,
    ) -> httpx.Response:
        """One exchange, within one deadline: httpx's own timeouts are for each read and can add up."""
        content = None if body is None else json.dumps(body).encode()
        started = False

        async def trace(event: str, info: Mapping[str, Any]) -> None:
            nonlocal started
            started = started or event.endswith("send_request_headers.started")

        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                return await client.request(
                    method,
                    url,
                    content=content,
                    headers={"content-type": "application/json", **self._headers, **headers},
                    extensions={"trace": trace},
                )
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            reason = _reason(error)
            # Not `from error`: its request carries the headers, and with them the key.
            if client is self._paid and started and not isinstance(error, NOT_SENT):
                raise UncertainRun(_place(url), reason, credits) from None
            raise Unreachable(_place(url), reason) from None


def answer(response: httpx.Response) -> Any:
    """The JSON of an answer; a refusal becomes the matching error."""
    value = _json(response)
    if response.is_success:
        if value is None:
            raise errors.ServiceBroken(
                "The service answered something that is not JSON. Is this the address of a model service?",
                status=response.status_code,
            )
        return value
    raise _error(response, value)


def checked_key(key: str) -> str:
    """A key that can stand in a header; a stray line break would otherwise show it in an error."""
    key = key.strip()
    if not key.isascii() or not key.isprintable():
        raise errors.ReelbookError(
            "The key holds a character that no key has, such as a line break. Copy it again, in one piece."
        )
    return key


def _error(response: httpx.Response, value: Any) -> ServiceError:
    status = response.status_code
    body = value if isinstance(value, dict) else {}
    inner = body.get("error") if isinstance(body.get("error"), dict) else {}
    assert isinstance(inner, dict)
    detail = body.get("detail") or inner.get("message") or body.get("error") or body.get("message")
    text = _sentence(detail) or f"The service answered {status} without saying why."
    kind = KINDS.get(status, errors.ServiceBroken if status >= 500 or value is None else errors.Refused)
    if status == 403 and any(word in text.lower() for word in ("balance", "locked")):
        kind = errors.InsufficientCredits
    if "retry-after" in response.headers:
        body = {**body, "retry_after": response.headers["retry-after"]}
    return kind(
        text,
        status=status,
        error_type=body.get("error_type") or inner.get("code"),
        request_id=response.headers.get("x-request-id"),
        facts={name: fact for name, fact in body.items() if name not in ("detail", "error_type", "error")},
    )


def _sentence(detail: Any) -> str:
    """Whatever a service calls its reasons, as one sentence or a few."""
    if isinstance(detail, str):
        return detail[:LONGEST_TEXT]
    if isinstance(detail, list):
        return " ".join(str(item.get("msg", item)) if isinstance(item, dict) else str(item) for item in detail)[
            :LONGEST_TEXT
        ]
    return "" if detail is None else json.dumps(detail)[:LONGEST_TEXT]


def _json(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return None


def _pause(attempt: int, error: Exception | None) -> float:
    # Jitter, so that many clients that stumbled together do not come back together.
    pause: float = BACKOFF_SECONDS * 2 ** (attempt - 1) * random.uniform(0.5, 1.5)
    told = error.facts.get("retry_after") if isinstance(error, TooManyRequests) else None
    return max(pause, min(float(told), 60.0)) if isinstance(told, str) and told.isdecimal() else pause


def _place(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _reason(error: BaseException) -> str:
    if isinstance(error, (TimeoutError, httpx.TimeoutException)):
        return "no answer in time"
    if isinstance(error, httpx.ConnectError):
        return "the connection was refused"
    return type(error).__name__
