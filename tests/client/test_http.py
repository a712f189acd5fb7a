"""Requests: repeated where that is free, sent once where it costs, and every failure one of our errors.

The servers here are fakes, because a real service does not misbehave on demand.
"""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from reelbook import errors
from reelbook.client import http as http_module
from reelbook.client.http import Http, checked_key

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def misbehaving(handle: Handler) -> AsyncIterator[str]:
    """A server on loopback that does exactly this with each connection."""

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handle(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(once, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await server.wait_closed()


async def read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        (int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")), 0
    )
    return head + await reader.readexactly(length)


def answering(status: str, body: Any, *headers: str) -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(content)}", "connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_module, "BACKOFF_SECONDS", 0.001)


def served(answers: list[bytes], *, seen: list[bytes] | None = None) -> Handler:
    """Give each request the next answer; an empty answer hangs up."""
    left = list(answers)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await read_request(reader)
        if seen is not None:
            seen.append(request)
        writer.write(left.pop(0) if len(left) > 1 else left[0])
        await writer.drain()

    return handle


def test_a_free_call_is_repeated_until_the_service_has_found_its_feet() -> None:
    """A 503, a hung-up connection and a page of HTML are followed by the answer."""
    page = answering("502 Bad Gateway", b"<html>bad gateway</html>")

    async def story() -> tuple[Any, int]:
        seen: list[bytes] = []
        async with misbehaving(served([page, b"", answering("200 OK", {"a": 1})], seen=seen)) as address:
            http = Http("key")
            told = await http.free("GET", address + "/x")
            await http.close()
            return told, len(seen)

    assert asyncio.run(story()) == ({"a": 1}, 3)


@pytest.mark.parametrize("answer", [b"", answering("500 Oops", {"detail": "x"}), answering("502 Bad", b"<html>")])
def test_a_paid_call_whose_answer_is_lost_is_sent_once_and_called_uncertain(answer: bytes) -> None:
    """No second POST, whatever comes back; the error names the worst-case price."""

    async def story() -> tuple[errors.UncertainRun, int]:
        seen: list[bytes] = []
        async with misbehaving(served([answer], seen=seen)) as address:
            http = Http("key")
            with pytest.raises(errors.UncertainRun) as caught:
                await http.paid(address + "/models/run", {}, credits=53, idempotency_key=None)
            await http.close()
            return caught.value, len(seen)

    error, posts = asyncio.run(story())

    assert posts == 1
    assert "53 credits" in str(error)


def test_a_paid_call_with_an_idempotency_key_asks_again_with_the_same_key() -> None:
    """A lost answer is asked for again, and the service can tell that it is the same request."""

    async def story() -> tuple[Any, list[bytes]]:
        seen: list[bytes] = []
        async with misbehaving(served([b"", answering("200 OK", {"requestId": "r"})], seen=seen)) as address:
            http = Http("key")
            told = await http.paid(address + "/models/run", {"a": 1}, credits=53, idempotency_key="k-1")
            await http.close()
            return told, seen

    told, seen = asyncio.run(story())

    assert told == {"requestId": "r"}
    assert [b"k-1" in request for request in seen] == [True, True]


def test_a_paid_call_that_was_never_sent_is_not_uncertain() -> None:
    """Nobody listens at that port: Unreachable, and nothing was charged."""

    async def story() -> None:
        http = Http("key")
        try:
            await http.paid("http://127.0.0.1:9/models/run", {}, credits=53, idempotency_key=None)
        finally:
            await http.close()

    with pytest.raises(errors.Unreachable, match="Nothing was sent"):
        asyncio.run(story())


def test_a_call_ends_at_its_deadline_though_bytes_keep_dripping(monkeypatch: pytest.MonkeyPatch) -> None:
    """One byte every 20 ms would keep a read timeout happy for ever."""
    monkeypatch.setattr(http_module, "DEADLINE_SECONDS", 0.3)

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        for byte in answering("200 OK", {"a": "b" * 1000}):
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0.02)

    async def story() -> float:
        async with misbehaving(drip) as address:
            http = Http(None)
            began = asyncio.get_running_loop().time()
            with pytest.raises(errors.Unreachable, match="no answer in time"):
                await http.free("GET", address, attempts=1)
            await http.close()
            return asyncio.get_running_loop().time() - began

    assert asyncio.run(story()) < 1.8


@pytest.mark.parametrize(
    ("status", "body", "kind", "says"),
    [
        ("401 No", {"detail": "who?"}, errors.Unauthorized, "who?"),
        ("402 Pay", {"detail": "poor", "needed": 5}, errors.InsufficientCredits, "poor"),
        ("403 No", {"detail": "User is locked. Reason: exhausted balance."}, errors.InsufficientCredits, "balance"),
        ("403 No", {"detail": "not you"}, errors.Forbidden, "not you"),
        ("404 No", {"error": {"message": "gone", "code": "nf"}}, errors.NotFound, "gone"),
        ("422 No", {"detail": [{"loc": ["body", "x"], "msg": "x is bad", "type": "t"}]}, errors.Refused, "x is bad"),
        ("409 No", {"error": "busy"}, errors.Refused, "busy"),
        ("418 No", {"message": "teapot"}, errors.Refused, "teapot"),
        ("429 No", {"detail": "slow"}, errors.TooManyRequests, "slow"),
        ("500 No", b"<html>oops</html>", errors.ServiceBroken, "without saying why"),
        ("200 OK", b"<html>a page</html>", errors.ServiceBroken, "not JSON"),
    ],
)
def test_every_way_of_saying_no_becomes_the_matching_error(status: str, body: Any, kind: type, says: str) -> None:
    """String and list details, nested errors and pages of HTML are all read; the request id stands in the sentence."""

    async def story() -> errors.ServiceError:
        async with misbehaving(served([answering(status, body, "x-request-id: r-77")])) as address:
            http = Http("key")
            with pytest.raises(errors.ServiceError) as caught:
                await http.free("GET", address, attempts=1)
            await http.close()
            return caught.value

    error = asyncio.run(story())

    assert type(error) is kind
    assert says in str(error)
    assert isinstance(pickle.loads(pickle.dumps(error)), kind)


def test_the_key_goes_to_the_service_and_shows_nowhere_else() -> None:
    """It is sent in x-api-key, and stands in no error, no traceback and no repr; no redirect carries it away."""
    key = "canary-1234567890"

    async def story() -> tuple[list[bytes], str]:
        import traceback

        seen: list[bytes] = []
        answer = answering("302 Found", {}, "location: http://127.0.0.1:9/elsewhere")
        async with misbehaving(served([answer], seen=seen)) as address:
            http = Http(key)
            try:
                await http.paid(address, {}, credits=1, idempotency_key=None)
            except errors.ReelbookError as error:
                shown = "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))
            await http.close()
            return seen, shown + repr(http)

    seen, shown = asyncio.run(story())

    assert len(seen) == 1
    assert b"x-api-key: " + key.encode() in seen[0]
    assert key not in shown


@pytest.mark.parametrize("key", ["two\nlines", "nul\0", "schlüssel"])
def test_a_key_that_cannot_stand_in_a_header_is_refused_without_showing_it(key: str) -> None:
    """The sentence does not repeat the key."""
    with pytest.raises(errors.ReelbookError) as caught:
        checked_key(key)

    assert key not in str(caught.value)
    assert checked_key(" good \n") == "good"
