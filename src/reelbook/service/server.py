"""The service on the network: bound to an address, ready when it says so, and impatient with slow callers."""

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


class PunctualProtocol(H11Protocol):
    """HTTP that closes a connection whose request does not arrive in time; a slow sender would hold it for ever."""

    _deadline: asyncio.TimerHandle | None = None

    def __init__(self, *parts: Any, **named: Any) -> None:
        super().__init__(*parts, **named)
        self.conn = StrictConnection(h11.SERVER, MAX_HEAD_BYTES)

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._expect_a_request()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._deadline is None:
            self._expect_a_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Say that this is no HTTP, in the shape of every other refusal."""
        if self.conn.our_state is not h11.IDLE and self.conn.our_state is not h11.SEND_RESPONSE:
            self.transport.close()  # An answer has begun already, and cannot be taken back.
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

    def _expect_a_request(self) -> None:
        self._stop_waiting()
        self._deadline = self.loop.call_later(spec_decisions.HEADER_SECONDS, self._hang_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _hang_up(self) -> None:
        self._deadline = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket at this address; port 0 finds a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # TCP by name: asyncio turns Nagle's delay off only where it is told, and each answer would wait 40 ms for it.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError:
        found.close()
        raise
    return found


def address_of(found: socket.socket) -> str:
    """The URL of a bound socket."""
    host, port = found.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Server:
    """A service behind a socket. `serve()` blocks; `with Server(…)` runs it in a thread beside you."""

    def __init__(self, settings: Settings, listening: socket.socket) -> None:
        self.base_url = address_of(listening)
        self._listening = listening
        try:
            app = create_app(settings)
        except BaseException:
            listening.close()
            raise
        self.service: Service = app.state.service
        self.service.own(self.base_url)
        # A caller's broken request or form is the caller's news, not a line in somebody's notebook.
        logging.getLogger("python_multipart").setLevel(logging.ERROR)
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                http=PunctualProtocol,
                ws="none",
                loop="asyncio",
                lifespan="on",
                log_config=None,
                log_level="error",
                access_log=False,
                server_header=False,
                timeout_keep_alive=30,
                timeout_graceful_shutdown=2,
            )
        )
        self._thread: threading.Thread | None = None
        # From here on a call that comes early waits instead of being refused.
        listening.listen(1024)

    def serve(self) -> None:
        """Answer until a signal or `stop` ends it."""
        self._server.run(sockets=[self._listening])

    def start(self) -> Self:
        """Answer from a thread of its own; returns once calls are taken."""
        self._thread = threading.Thread(target=self.serve, name="reelbook-service", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop answering; runs that are under way go on with the next start."""
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
