"""A proxy between a client and a real service that damages a share of what passes, by a seed, and writes all of it down.

with Proxy(served.base_url, Deck(3, ONCE)) as proxy:
    rb.connect(proxy.base_url, api_key=…)
    ...
    proxy.journal      # every request: what was done to it, whether the service saw it, and what the service answered
    proxy.elsewhere    # what arrived at the other host to which redirects lead

It runs in a thread of its own, so both blocking and asynchronous code can be its client.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, repeat
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

SOUND = "sound"
UNSEEN = (
    *("refused", "unread", "deaf", "moved"),
    *("500 unseen", "502 unseen", "503 unseen", "504 unseen", "429 unseen"),
)
"""The service never sees the request."""
DESTROYED = (
    *("closed", "reset", "cut head", "cut body", "cut chunked", "late", "dripped"),
    *("garbage", "told more", "told less", "unzippable"),
    *("500", "502", "503", "504", "page", "truncated", "empty"),
)
"""The service has done what it was asked, and its answer does not arrive, or nobody could read it."""
ODD = ("stale", "marked", "wide")
"""Unusual, and can be read: an answer from an old moment, one that begins with a byte order mark, one in UTF-16."""
TWICE = "twice"
"""A middlebox that repeats what it sends, and passes the second answer on."""
ONCE = (*UNSEEN, *DESTROYED, *ODD)
EVERY = (*ONCE, TWICE)

NO_MORE: Mapping[str, str] = {}
SHARE = 4
"""One request in so many suffers."""
OUTAGE_SECONDS = 0.15
LATE_SECONDS = 4.0
DRIP_SECONDS = 0.02
SETTLE_SECONDS = 0.05
"""For connections to close before the loop ends."""
WAIT_SECONDS = 30.0

BODIES = (
    (b"text/html", b"<html>\r\n<head><title>Trouble at the gate</title></head><body>nginx</body></html>\r\n"),
    (b"text/plain", b"upstream connect error or disconnect/reset before headers"),
    (b"application/json", b'{"detail": "The upstream server is not there."}'),
    (b"application/json", b'{"message": "no healthy upstream"}'),
    (b"application/json", b""),
)
"""How gateways put it when they have no good answer."""
PAGE = b"<!DOCTYPE html><html><head><title>Sign in to the wireless network</title></head><body>Welcome</body></html>"

ROUTES: Sequence[tuple[str, str, str]] = (
    ("GET", r"/", "nature"),
    ("POST", r"/models/run", "run"),
    ("POST", r"/models/pricing/estimate", "estimate"),
    ("POST", r"/files", "upload"),
    ("GET", r".+/requests/[^/]+/status", "status"),
    ("GET", r".+/requests/[^/]+", "result"),
    ("GET", r"/files/.+", "file"),
)


class Deck:
    """What happens to whom: for each kind of call a deck of its own, shuffled by the seed, with every fault in it once."""

    def __init__(self, seed: int, faults: Sequence[str], *, spared: Sequence[str] = (), share: int = SHARE) -> None:
        self._seed, self._faults, self._spared, self._share = seed, faults, spared, share
        self._cards: dict[str, Iterator[str]] = {}

    def draw(self, route: str) -> str:
        """What happens to the next call of this kind."""
        if not self._faults or route in self._spared:
            return SOUND
        if route not in self._cards:
            self._cards[route] = self._shuffled(route)
        return next(self._cards[route])

    def _shuffled(self, route: str) -> Iterator[str]:
        chance = random.Random(f"{self._seed} {route}")
        while True:
            yield from _spread(chance.sample(self._faults, len(self._faults)), chance, self._share)


class Only(Deck):
    """The same fault for every call of one kind, and nothing else."""

    def __init__(self, route: str, fault: str) -> None:
        super().__init__(0, ())
        self._route, self._fault = route, fault

    def draw(self, route: str) -> str:
        return self._fault if route == self._route else SOUND


def _spread(faults: Sequence[str], chance: random.Random, share: int) -> Iterator[str]:
    """Each fault once, among so many sound ones that it has its share, at a place that cannot be foreseen."""
    for fault in faults:
        hand = [fault, *repeat(SOUND, share - 1)]
        yield from chance.sample(hand, share)


@dataclass
class Passed:
    """One request, and what became of it."""

    method: str
    path: str
    route: str
    headers: dict[str, str]
    body: bytes = field(repr=False)
    fault: str
    at: float
    """When it arrived, as `time.time()` tells it."""
    answers: list[Answered] = field(default_factory=list, repr=False)
    """What the service answered: nothing where it never saw the request, two answers where it saw it twice."""

    @property
    def forwarded(self) -> bool:
        """Whether the service saw it."""
        return bool(self.answers)

    @property
    def arrived(self) -> bool:
        """Whether an answer of the service came out at the other side, and could be read."""
        return self.forwarded and self.fault not in DESTROYED

    @property
    def request_ids(self) -> list[str]:
        """The requests that the service told of in its answers, also in those that were destroyed."""
        told = [answer.json for answer in self.answers if answer.status == 200]
        return [one["requestId"] for one in told if isinstance(one, dict) and "requestId" in one]

    @cached_property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Answered:
    """One answer of the service."""

    status: int
    headers: dict[str, str]
    body: bytes = field(repr=False)

    @property
    def json(self) -> Any:
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    def raw(
        self, body: bytes | None = None, *, length: int | None = None, headers: Mapping[str, str] = NO_MORE
    ) -> bytes:
        """As it goes out; with another body, or with a length that is not its own."""
        body = self.body if body is None else body
        told = {**self.headers, **headers, "content-length": str(len(body) if length is None else length)}
        lines = [f"HTTP/1.1 {self.status} OK", *(f"{name}: {value}" for name, value in told.items())]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Gone(Exception):
    """This connection is of no more use."""


class Proxy:
    """The proxy, its journal, and the other host to which its redirects lead."""

    def __init__(self, upstream: str, deck: Deck) -> None:
        self.journal: list[Passed] = []
        self.elsewhere: list[bytes] = []
        """Every request that came to the other host, as it came."""
        self.outages: list[tuple[float, float]] = []
        """From when to when connections were refused."""
        self._deck, self._upstream = deck, urlsplit(upstream)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fault-proxy", daemon=True)
        self._tasks: set[asyncio.Task[None]] = set()
        self._replies = chain.from_iterable(repeat(BODIES))
        self.port = self.elsewhere_port = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def calm(self) -> None:
        """From now on everything passes as it is."""
        self.deal(Deck(0, ()))

    def deal(self, deck: Deck) -> None:
        """From now on this deck says what happens."""
        self._deck = deck

    def of(self, route: str) -> list[Passed]:
        """The calls of one kind, in the order in which they came."""
        return [one for one in list(self.journal) if one.route == route]

    def __enter__(self) -> Self:
        self._thread.start()
        self._wait_for(self._listen())
        self._other = self._wait_for(asyncio.start_server(self._hear, "127.0.0.1", 0))
        self.elsewhere_port = int(self._other.sockets[0].getsockname()[1])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._wait_for(self._ended())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(WAIT_SECONDS)
        self._loop.close()

    def _wait_for(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(WAIT_SECONDS)

    async def _listen(self) -> None:
        # A listener of our own: asyncio's server loses connections that come while it is being closed.
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=256)
        self._listener.setblocking(False)
        self.port = int(self._listener.getsockname()[1])
        self._loop.add_reader(self._listener, self._welcome)

    def _listens_no_more(self) -> None:
        if self._listener.fileno() >= 0:
            self._loop.remove_reader(self._listener)
            self._listener.close()

    def _welcome(self) -> None:
        with suppress(BlockingIOError, ConnectionError):
            connection, _ = self._listener.accept()
            task = self._loop.create_task(self._converse(connection))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _ended(self) -> None:
        self._listens_no_more()
        self._other.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(SETTLE_SECONDS)

    async def _hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The other host: it takes note, and gives everybody the same page."""
        with self._conversation(writer), suppress(OSError, asyncio.IncompleteReadError):
            self.elsewhere.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(_reply(200, b"text/html", PAGE))
            await writer.drain()

    async def _converse(self, connection: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=connection, limit=2**22)
        with self._conversation(writer), suppress(OSError, asyncio.IncompleteReadError, Gone):
            while True:
                await self._one(reader, writer)

    def _conversation(self, writer: asyncio.StreamWriter) -> _Conversation:
        return _Conversation(self._tasks, writer)

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Receive one request, and do to it what is its lot."""
        head = await reader.readuntil(b"\r\n\r\n")
        method, target, headers = _parsed(head)
        path = target.partition("?")[0]
        route = next(
            (name for verb, like, name in ROUTES if verb == method and re.fullmatch(like, path)), "something else"
        )
        passed = Passed(method, target, route, headers, b"", self._lot(route), time.time())
        self.journal.append(passed)
        if passed.fault in ("unread", "refused"):
            if passed.fault == "refused":
                self._refuse_for_a_while()
            raise Gone
        passed.body = await reader.readexactly(int(headers.get("content-length", 0)))
        await self._treated(passed, reader, writer)
        await writer.drain()
        if headers.get("connection", "").lower() == "close":
            raise Gone

    def _lot(self, route: str) -> str:
        fault = self._deck.draw(route)
        # Nobody keeps old answers to calls that change something.
        return "marked" if fault == "stale" and route not in ("status", "result") else fault

    async def _treated(self, passed: Passed, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        fault = passed.fault
        if fault in UNSEEN:
            await self._unseen(fault, reader, writer)
        else:
            answer = await self._forwarded(passed)
            if fault == TWICE:
                answer = await self._forwarded(passed)
            if fault in DESTROYED:
                await self._destroyed(fault, answer, reader, writer)
            elif fault == "stale":
                writer.write(_reply(*_as_before(passed, answer)))
            elif fault in ("marked", "wide") and answer.json is not None:
                text = answer.body.decode()
                body, charset = (
                    (b"\xef\xbb\xbf" + answer.body, "utf-8") if fault == "marked" else (text.encode("utf-16"), "utf-16")
                )
                writer.write(answer.raw(body, headers={"content-type": f"application/json; charset={charset}"}))
            else:
                writer.write(answer.raw())

    async def _unseen(self, fault: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if fault == "deaf":
            await reader.read()  # Until the client has had enough.
            raise Gone
        if fault == "moved":
            place = f"http://localhost:{self.elsewhere_port}/sign-in"
            writer.write(_reply(302, b"text/html", b"", {"location": place}))
            return
        extra = {"retry-after": "1"} if fault.startswith("429") else {}
        writer.write(_reply(int(fault[:3]), *next(self._replies), extra))

    async def _destroyed(
        self, fault: str, answer: Answered, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Give anything but this answer; hang up where nothing good can follow."""
        raw = answer.raw()
        head = raw.index(b"\r\n\r\n") + 4
        half = max(len(answer.body) // 2, 1)
        match fault:
            case "closed":
                pass
            case "reset":
                # Lingering for no time makes the system send a reset in place of a proper end.
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                writer.transport.abort()
            case "cut head":
                writer.write(raw[: head // 2])
            case "cut body":
                writer.write(raw[: head + half])
            case "cut chunked":
                start = _head(answer.status, answer.headers | {"transfer-encoding": "chunked"})
                writer.write(start + f"{len(answer.body):x}\r\n".encode() + answer.body[:half])
            case "late":
                with suppress(TimeoutError):
                    async with asyncio.timeout(LATE_SECONDS):
                        await reader.read()
                writer.write(raw)
            case "dripped":
                for byte in raw:
                    if reader.at_eof() or writer.is_closing():
                        break
                    writer.write(bytes([byte]))
                    await writer.drain()
                    await asyncio.sleep(DRIP_SECONDS)
            case "garbage":
                writer.write(b"\x16\x03\x01 SSH-2.0-nothing of this is HTTP\r\n\r\n")
            case "told more":
                writer.write(answer.raw(length=len(answer.body) + 40))
            case "told less":
                # The rest stays in the connection, where it must not be taken for the next answer.
                writer.write(answer.raw(length=half))
                return
            case "unzippable":
                writer.write(answer.raw(b"\x1f\x8b" + answer.body, headers={"content-encoding": "gzip"}))
                return
            case "page":
                writer.write(_reply(200, b"text/html", PAGE))
                return
            case "truncated":
                writer.write(answer.raw(answer.body[:half]))
                return
            case "empty":
                writer.write(answer.raw(b""))
                return
            case _:
                writer.write(_reply(int(fault), *next(self._replies)))
                return
        await writer.drain()
        raise Gone

    async def _forwarded(self, passed: Passed) -> Answered:
        """What the service answers, with its addresses turned into ours."""
        reader, writer = await self._to_the_service(passed)
        try:
            raw = await reader.read()
        finally:
            writer.close()
        head, _, body = raw.partition(b"\r\n\r\n")
        status, headers = _answer_head(head)
        if headers.get("transfer-encoding") == "chunked":
            body = _joined(body)
        if "json" in headers.get("content-type", ""):
            body = body.replace(self._upstream.netloc.encode(), f"127.0.0.1:{self.port}".encode())
        drop = ("connection", "content-length", "transfer-encoding")
        answer = Answered(status, {name: value for name, value in headers.items() if name not in drop}, body)
        passed.answers.append(answer)
        return answer

    async def _to_the_service(self, passed: Passed) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(self._upstream.hostname, self._upstream.port, limit=2**22)
        headers = passed.headers | {"host": self._upstream.netloc, "connection": "close"}
        lines = [f"{passed.method} {passed.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        writer.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + passed.body)
        await writer.drain()
        return reader, writer

    def _refuse_for_a_while(self) -> None:
        """Nobody listens for a moment: whoever connects now is refused."""
        if self._listener.fileno() < 0:
            return
        self._listens_no_more()
        began = time.time()

        async def later() -> None:
            await asyncio.sleep(OUTAGE_SECONDS)
            await self._listen()
            self.outages.append((began, time.time()))

        task = self._loop.create_task(later())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class _Conversation:
    """A connection for as long as it is talked over; known while it is, and closed after."""

    def __init__(self, tasks: set[asyncio.Task[None]], writer: asyncio.StreamWriter) -> None:
        self._tasks, self._writer = tasks, writer

    def __enter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._tasks.add(task)

    def __exit__(self, *_: object) -> None:
        self._tasks.discard(self._task)
        self._writer.close()


def _as_before(passed: Passed, answer: Answered) -> tuple[int, bytes, bytes]:
    """What was true a moment ago: nothing has begun yet."""
    told = answer.json
    if passed.route == "result":
        early = {"detail": "Request is still in progress", "error_type": "not_ready"}
        return 400, b"application/json", json.dumps(early).encode()
    if isinstance(told, dict) and "status" in told:
        told = {"status": "IN_QUEUE", "request_id": told.get("request_id"), "queue_position": 1}
    return answer.status, b"application/json", json.dumps(told).encode()


def _parsed(head: bytes) -> tuple[str, str, dict[str, str]]:
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    method, target, _ = first.split(" ", 2)
    return method, target, _pairs(lines)


def _answer_head(head: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    return int(first.split(" ", 2)[1]), _pairs(lines)


def _pairs(lines: Sequence[str]) -> dict[str, str]:
    pairs = (line.split(":", 1) for line in lines)
    return {name.lower(): value.strip() for name, value in pairs}


def _joined(body: bytes) -> bytes:
    """The chunks of a body as one."""
    pieces = []
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size.partition(b";")[0], 16)
        pieces.append(rest[:length])
        body = rest[length + 2 :] if length else b""
    return b"".join(pieces)


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def _reply(status: int, content_type: bytes, body: bytes, headers: Mapping[str, str] = NO_MORE) -> bytes:
    """An answer of the proxy's own."""
    told = {**headers, "content-type": content_type.decode(), "content-length": str(len(body))}
    return _head(status, told) + body
