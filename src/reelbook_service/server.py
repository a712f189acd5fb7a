"""The HTTP server of the service, with deadlines for slow clients."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from . import spec_decisions
from .app import create_app
from .core import Service
from .http_framing import StrictConnection
from .refusals import Refusal
from .service_settings import Settings

STOP_SECONDS = 10.0
MAX_HEAD_BYTES = 64 * 1024


class DeadlineProtocol(H11Protocol):
    """HTTP protocol that closes a connection whose request does not arrive in time."""

    _deadline: asyncio.TimerHandle | None = None

    def __init__(self, *parts: Any, **named: Any) -> None:
        super().__init__(*parts, **named)
        self.conn = StrictConnection(h11.SERVER, MAX_HEAD_BYTES)

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._start_deadline()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._cancel_deadline()
        elif self._deadline is None:
            self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_deadline()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Send a 400 whose body has the format of every other refusal."""
        if self.conn.our_state is not h11.IDLE and self.conn.our_state is not h11.SEND_RESPONSE:
            self.transport.close()  # A response has begun already, and cannot be withdrawn.
            return
        refusal = Refusal(
            "bad_request", "This is not an HTTP request as this service reads them. Check its first lines."
        )
        body = json.dumps(refusal.body()).encode()
        headers = [
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
            ("connection", "close"),
            ("x-request-id", str(uuid4())),
        ]
        for event in (h11.Response(status_code=400, headers=headers), h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _start_deadline(self) -> None:
        self._cancel_deadline()
        self._deadline = self.loop.call_later(spec_decisions.HEADER_SECONDS, self._close_if_idle)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close_if_idle(self) -> None:
        self._deadline = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()


def bind_socket(host: str, port: int) -> socket.socket:
    """A socket bound to this address; port 0 selects a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With IPPROTO_TCP: without it asyncio leaves Nagle's algorithm on, which delays each response by 40 ms.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound


def format_address(bound: socket.socket) -> str:
    """The URL of a bound socket."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _is_a_fault(record: logging.LogRecord) -> bool:
    """Whether a log record is about something else than a call that the end of the service has cut off."""
    return record.exc_info is None or not isinstance(record.exc_info[1], asyncio.CancelledError)


class Server:
    """A service on a socket. `serve()` blocks; `with Server(…)` runs it in a thread."""

    def __init__(self, settings: Settings, listening: socket.socket) -> None:
        self.base_url = format_address(listening)
        self._listening = listening
        try:
            app = create_app(settings)
        except BaseException:
            listening.close()
            raise
        self.service: Service = app.state.service
        self.service.add_own_addresses(self.base_url)
        self.service.publish_address(self.base_url)
        # A malformed upload is reported to its sender, not logged in the notebook that runs the service.
        logging.getLogger("python_multipart").setLevel(logging.ERROR)
        logging.getLogger("uvicorn.error").addFilter(_is_a_fault)
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                http=DeadlineProtocol,
                ws="none",
                loop="asyncio",
                lifespan="on",
                log_config=None,
                log_level="error",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=30,
                timeout_graceful_shutdown=2,
            )
        )
        self._thread: threading.Thread | None = None
        # From here on, early connections wait instead of being refused.
        listening.listen(1024)

    def serve(self) -> None:
        """Serve until a signal or `stop`."""
        self._server.run(sockets=[self._listening])

    def start(self) -> Self:
        """Serve in a new thread; connections are already accepted."""
        self._thread = threading.Thread(target=self._serve_in_thread, name="reelbook-service", daemon=True)
        self._thread.start()
        return self

    def _serve_in_thread(self) -> None:
        # Not `asyncio.run`: at its end it starts a thread, which Python 3.12 refuses when the process is ending too.
        loop = asyncio.new_event_loop()
        try:
            loop.run_until_complete(self._serve_to_end())
        finally:
            loop.close()

    async def _serve_to_end(self) -> None:
        await self._server.serve(sockets=[self._listening])
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def stop(self) -> None:
        """Stop serving; unfinished runs resume at the next start."""
        self._server.should_exit = True
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(STOP_SECONDS)

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
