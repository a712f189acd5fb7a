"""A hosted service that behaves as it is told: real HTTP on loopback, with every oddity and fault on demand.

with Hosted() as hosted:
    hosted.queue("svc/smart-resize", output={...})              # only what the specification shows
    hosted.on("GET", "/account", Reply(503), {"name": "lab"})   # first this, then that, and that from then on
    ...
    assert len(hosted.seen("POST", "/models/run")) == 1
"""

from __future__ import annotations

import asyncio
import inspect
import json
import socket
import struct
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import TracebackType
from typing import Any, Literal, Self

Fault = Literal["", "close", "reset", "half", "hang", "garbage", "drip", "deaf", "cut", "stall", "drip body"]
"""Hang up without an answer; with a reset; in the middle of the answer; never answer; answer something that is no HTTP;
answer a byte at a time; hang up before the request is read; after the answer; say no more after it;
answer two thirds, and the rest a byte at a time."""
DRIP_SECONDS = 0.02


@dataclass(frozen=True)
class Received:
    """One request as it arrived."""

    method: str
    path: str
    """As it was sent, still quoted, without the query."""
    query: str
    headers: Mapping[str, str]
    """By their names in lower case."""
    body: bytes

    @cached_property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """One answer, or what happens in place of one."""

    status: int = 200
    body: Any = None
    """Bytes and text go out as they are, anything else as JSON."""
    headers: Mapping[str, str] = field(default_factory=dict)
    fault: Fault = ""
    delay: float = 0.0
    """Seconds before anything is answered."""
    gate: threading.Event | None = None
    """Nothing is answered before this is set."""

    @property
    def content(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body).encode()

    @property
    def head(self) -> bytes:
        """Its headers may say something else of the body than is true; an empty one is left out."""
        kind = "application/json" if not isinstance(self.body, (str, bytes)) else "text/plain"
        headers = {"content-type": kind, "content-length": str(len(self.content)), **self.headers}
        lines = [f"{name}: {value}" for name, value in headers.items() if value]
        return "\r\n".join([f"HTTP/1.1 {self.status} Whatever", *lines]).encode() + b"\r\n\r\n"

    def with_headers(self, **headers: str) -> Reply:
        """The same with these headers, whose names are written with _ in place of -."""
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        return replace(self, headers={**self.headers, **more})


def page(status: int, title: str = "Bad gateway") -> Reply:
    """A page for people, as proxies send it."""
    html = f"<!DOCTYPE html>\n<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>"
    return Reply(status, html, {"content-type": "text/html; charset=utf-8"})


def chunked(reply: Reply, *, ended: bool = True) -> Reply:
    """The same in chunks; the last one may be missing."""
    pieces = [reply.content[at : at + 3000] for at in range(0, len(reply.content), 3000)]
    lines = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + (b"0\r\n\r\n" if ended else b"")
    return replace(reply, body=lines).with_headers(transfer_encoding="chunked", content_length="")


Answering = Reply | Callable[[Received], Reply | Awaitable[Reply]] | Mapping[str, Any] | Sequence[Any] | None
"""A plain value stands for its JSON with a 200."""


class Hosted:
    """The service. It runs in a thread of its own, so both blocking and asynchronous code can be its client."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.bytes_received = self.connections = 0
        self.connected = threading.Event()
        """Set by the first connection."""
        self._scripts: dict[tuple[str, str], list[Answering]] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="hosted", daemon=True)
        self._conversations: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self.port = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def on(self, method: str, path: str, *answers: Answering) -> None:
        """What an address answers: each request takes the next one, and the last one stays."""
        self._scripts[method, path] = list(answers)

    def queue(
        self,
        endpoint_id: str,
        *,
        request_id: str = "r-1",
        states: Sequence[str] = ("IN_QUEUE", "IN_PROGRESS", "COMPLETED"),
        output: Mapping[str, Any] | None = None,
    ) -> str:
        """A whole run with only what the specification shows; the address of its request."""
        one = f"/{endpoint_id}/requests/{request_id}"
        left = list(states)

        def result(_: Received) -> Reply:
            done = left[0] == states[-1]
            early = {"detail": "Request is still in progress", "error_type": "not_ready"}
            return Reply(200, dict(output or {})) if done else Reply(400, early)

        def status(_: Received) -> Reply:
            now = left.pop(0) if len(left) > 1 else left[0]
            return Reply(200, {"status": now, "request_id": request_id})

        self.on("POST", "/models/run", {"requestId": request_id})
        self.on("GET", f"{one}/status", status)
        self.on("GET", one, result)
        self.on("PUT", f"{one}/cancel", {"success": True})
        return one

    def seen(self, method: str | None = None, path: str | None = None) -> list[Received]:
        """The requests that arrived, in their order."""
        return [one for one in list(self.received) if method in (None, one.method) and path in (None, one.path)]

    def wait_until(self, claim: Callable[[Hosted], bool], within: float = 10.0) -> None:
        """Wait for something to be true of the service; an error if it does not come true."""
        deadline = time.monotonic() + within
        while not claim(self):
            assert time.monotonic() < deadline, "the service never got there"
            time.sleep(0.002)

    def stop_listening(self) -> None:
        """From now on connections are refused, and those that stand are cut."""
        self._wait_for(self._closed())

    def __enter__(self) -> Self:
        self._thread.start()
        self._wait_for(self._listen())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._wait_for(self._closed())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def _wait_for(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _listen(self) -> None:
        # A listener of our own: asyncio's server loses connections that come while it is being closed.
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=512)
        self._listener.setblocking(False)
        self.port = int(self._listener.getsockname()[1])
        self._loop.add_reader(self._listener, self._welcome)

    def _refuse(self) -> None:
        """Nobody listens any more."""
        if self._listener.fileno() >= 0:
            self._loop.remove_reader(self._listener)
            self._listener.close()

    def _welcome(self) -> None:
        with suppress(BlockingIOError, ConnectionError):
            connection, _ = self._listener.accept()
            self._begin(self._converse(connection))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._conversations.add(task)
        task.add_done_callback(self._conversations.discard)

    async def _closed(self) -> None:
        self._refuse()
        await asyncio.sleep(0)  # One that is cancelled before its first step would never close its connection.
        while self._conversations:
            for task in self._conversations:
                task.cancel()
            await asyncio.gather(*self._conversations, return_exceptions=True)
        # One whose answer nobody has read to its end would wait for that when it is closed.
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.sleep(0.001)  # Each comes to its end in the loop's next round.
        self._writers.clear()

    async def _converse(self, connection: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=connection, limit=2**22)
        self._writers.add(writer)
        self.connections += 1
        self.connected.set()
        try:
            while await self._one(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # The client hung up, or the test is over.
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Receive and answer one request; whether another may follow."""
        first = await reader.readexactly(1)
        if not first.isalpha():
            return False  # Somebody speaks TLS to us, or nothing that we know.
        head = first + await reader.readuntil(b"\r\n\r\n")
        self.bytes_received += len(head)
        method, target, headers = _parsed(head)
        path, _, query = target.partition("?")
        answer = self._next(method, path)
        if isinstance(answer, Reply) and answer.fault == "deaf":
            return False
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.bytes_received += len(body)
        request = Received(method, path, query, headers, body)
        self.received.append(request)
        reply = await _as_reply(answer, request)
        await asyncio.sleep(reply.delay)
        if reply.gate is not None:
            await asyncio.to_thread(reply.gate.wait)
        return await _given(reply, reader, writer) and headers.get("connection", "").lower() != "close"

    def _next(self, method: str, path: str) -> Answering:
        script = self._scripts.get((method, path))
        if script is None:
            return Reply(404, {"detail": "Not Found"})
        return script.pop(0) if len(script) > 1 else script[0]


async def _as_reply(answer: Answering, request: Received) -> Reply:
    reply = answer(request) if callable(answer) else answer
    reply = await reply if inspect.isawaitable(reply) else reply
    return reply if isinstance(reply, Reply) else Reply(200, reply)


async def _given(reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Send a reply, or do what is done in its place; whether the connection is still good."""
    whole = reply.head + reply.content
    match reply.fault:
        case "reset":
            # Lingering for no time makes the system send a reset in place of a proper end.
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
        case "garbage":
            writer.write(b"\x16\x03\x01 SSH-2.0-nothing of this is HTTP\r\n\r\n")
        case "half":
            writer.write(reply.head + reply.content[: len(reply.content) // 2])
        case "drip" | "drip body":
            begun = 0 if reply.fault == "drip" else len(whole) * 2 // 3
            writer.write(whole[:begun])
            for byte in whole[begun:]:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(DRIP_SECONDS)
        case "" | "cut" | "stall":
            writer.write(whole)
            await writer.drain()
    if reply.fault in ("hang", "stall"):
        await reader.read()  # Until the client hangs up.
    return reply.fault in ("", "drip", "drip body")


def _parsed(head: bytes) -> tuple[str, str, dict[str, str]]:
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    method, target, _ = first.split(" ", 2)
    pairs = (line.split(":", 1) for line in lines)
    return method, target, {name.lower(): value.strip() for name, value in pairs}
