"""The HTTP server of the service."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Sequence
from typing import Self

import uvicorn

from .app import create_app
from .board import Board
from .core import Service
from .service_settings import Settings

STOP_SECONDS = 10.0
MAX_HEAD_BYTES = 64 * 1024


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


def format_address(bound: socket.socket, names: Sequence[str] = ()) -> str:
    """The URL of a bound socket; where it listens to all addresses, with the first of the names."""
    host, port = bound.getsockname()[:2]
    host = names[0] if names and host in ("0.0.0.0", "::") else host
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _is_a_fault(record: logging.LogRecord) -> bool:
    """Whether a log record is about something else than a call that the end of the service has cut off."""
    return record.exc_info is None or not isinstance(record.exc_info[1], asyncio.CancelledError)


class Server:
    """A service on a socket. `serve()` blocks; `with Server(…)` runs it in a thread."""

    def __init__(self, settings: Settings, listening: socket.socket) -> None:
        self.base_url = format_address(listening, settings.hosts)
        self._listening = listening
        try:
            app = create_app(settings)
        except BaseException:
            listening.close()
            raise
        self.service: Service = app.state.service
        self.board: Board | None = app.state.board
        self.service.files.add_own_addresses(self.base_url)
        self.service.publish_address(self.base_url)
        # A malformed upload is reported to its sender, not logged in the notebook that runs the service.
        logging.getLogger("python_multipart").setLevel(logging.ERROR)
        logging.getLogger("uvicorn.error").addFilter(_is_a_fault)
        config = uvicorn.Config(
            app,
            http="h11",  # Stricter than httptools about where a request ends; the app refuses one with two lengths.
            h11_max_incomplete_event_size=MAX_HEAD_BYTES,
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
        # Not in the server's thread: a child forked while a thread imports would wait for that import for ever.
        config.load()
        self._server = uvicorn.Server(config)
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

    def __exit__(self, *error: object) -> None:
        self.stop()
