"""A hosted service that behaves as it is told: real HTTP on loopback, with every oddity and fault on demand.

with Hosted() as hosted:
    hosted.queue("svc/smart-resize", output={...})              # only what the specification shows
    hosted.on("GET", "/account", Reply(503), {"name": "lab"})   # first this, then that, and that from then on
    ...
    assert len(hosted.seen("POST", "/models/run")) == 1
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from types import TracebackType
from typing import Any, Literal, Self

Fault = Literal["", "close", "reset", "half", "hang", "garbage", "drip", "deaf"]
"""Hang up without an answer; with a reset; in the middle of the answer; never answer; answer something that is no HTTP;
answer a byte at a time; hang up before the request is read."""


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
    connection: int
    """Which connection it came over, counted from 1."""

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
        kind = "application/json" if not isinstance(self.body, (str, bytes)) else "text/plain"
        headers = {"content-type": kind, **self.headers, "content-length": str(len(self.content))}
        lines = [f"HTTP/1.1 {self.status} Whatever", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join(lines).encode() + b"\r\n\r\n"


def page(status: int, title: str = "Bad gateway") -> Reply:
    """A page for people, as proxies send it."""
    html = f"<!DOCTYPE html>\n<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>"
    return Reply(status, html, {"content-type": "text/html; charset=utf-8"})


Answering = Reply | Callable[[Received], Reply] | Mapping[str, Any] | Sequence[Any] | None
"""A plain value stands for its JSON with a 200."""


class Hosted:
    """The service. It runs in a thread of its own, so both blocking and asynchronous code can be its client."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.bytes_received = 0
        self.connections = self.open_now = self.most_open = 0
        self.answering_now = self.most_answering = 0
        """Requests that have arrived and are not answered yet."""
        self.connected = threading.Event()
        """Set by the first connection."""
        self._scripts: dict[tuple[str, str], list[Answering]] = {}
        self._changed = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="hosted", daemon=True)
        self._conversations: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

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
        """Wait for something to be true of the counters; an error if it does not come true."""
        with self._changed:
            assert self._changed.wait_for(lambda: claim(self), within), "the service never got there"

    def stop_listening(self) -> None:
        """From now on connections are refused, and those that stand are cut."""
        self._wait_for(self._closed())

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = self._wait_for(self._started())
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._wait_for(self._closed())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def _wait_for(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _started(self) -> asyncio.Server:
        return await asyncio.start_server(self._begin, "127.0.0.1", 0, backlog=512, limit=2**20)

    async def _closed(self) -> None:
        # First nobody new is let in. asyncio drops a connection that it has accepted when the server closes before that
        # connection has its transport: nothing ever closes its socket then.
        for listening in self._server.sockets:
            self._loop.remove_reader(listening.fileno())
        for _ in range(3):
            await asyncio.sleep(0)  # What has been accepted already becomes a conversation.
        self._server.close()
        while self._conversations:
            for task in self._conversations:
                task.cancel()
            await asyncio.gather(*self._conversations, return_exceptions=True)
        # One whose answer nobody has read to its end would wait for that when it is closed.
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.sleep(0.001)  # Each comes to its end in the loop's next round.
        self._writers.clear()

    def _count(self, *, opened: int = 0, answering: int = 0) -> None:
        with self._changed:
            self.connections += max(0, opened)
            self.open_now += opened
            self.most_open = max(self.most_open, self.open_now)
            self.answering_now += answering
            self.most_answering = max(self.most_answering, self.answering_now)
            self._changed.notify_all()

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._converse(reader, writer))
        self._conversations.add(task)
        self._writers.add(writer)
        task.add_done_callback(self._conversations.discard)
        # Also for one that is cancelled before its first step, and so never comes to its own end.
        task.add_done_callback(lambda _: writer.close())

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._count(opened=1)
        number = self.connections
        self.connected.set()
        try:
            while await self._one(reader, writer, number):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # The client hung up, or the test is over.
        finally:
            self._count(opened=-1)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> bool:
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
        request = Received(method, path, query, headers, body, number)
        with self._changed:
            self.received.append(request)
        self._count(answering=1)
        try:
            reply = _as_reply(answer, request)
            await asyncio.sleep(reply.delay)
            if reply.gate is not None:
                await asyncio.to_thread(reply.gate.wait)
            return await _given(reply, reader, writer) and headers.get("connection", "").lower() != "close"
        finally:
            self._count(answering=-1)

    def _next(self, method: str, path: str) -> Answering:
        script = self._scripts.get((method, path))
        if script is None:
            return Reply(404, {"detail": "Not Found"})
        return script.pop(0) if len(script) > 1 else script[0]


def _as_reply(answer: Answering, request: Received) -> Reply:
    reply = answer(request) if callable(answer) else answer
    return reply if isinstance(reply, Reply) else Reply(200, reply)


async def _given(reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Send a reply, or do what is done in its place; whether the connection is still good."""
    content = reply.content
    match reply.fault:
        case "close":
            return False
        case "reset":
            # Lingering for no time makes the system send a reset in place of a proper end.
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
            return False
        case "garbage":
            writer.write(b"\x00\x01 this is no HTTP\r\n\r\n")
            return False
        case "half":
            writer.write(reply.head + content[: len(content) // 2])
            return False
        case "drip":
            for byte in reply.head + content:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.02)
            return True
    if reply.fault == "hang":
        await reader.read()  # Until the client hangs up.
        return False
    writer.write(reply.head + content)
    await writer.drain()
    return True


def _parsed(head: bytes) -> tuple[str, str, dict[str, str]]:
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    method, target, _ = first.split(" ", 2)
    pairs = (line.split(":", 1) for line in lines)
    return method, target, {name.lower(): value.strip() for name, value in pairs}
