"""The HTTP server of the service: the routes behind checks that apply to every request, and uvicorn around them."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import socket
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Self
from uuid import uuid4

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request as HTTPRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .board import BOARD_ROUTES
from .core import Service
from .refusals import Refusal
from .routes import ServiceRoute, all_routes
from .service_settings import Settings

log = logging.getLogger("reelbook_service")

LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
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
            self.service = Service(settings)
        except BaseException:
            listening.close()
            raise
        self.service.files.add_own_addresses(self.base_url)
        self.service.publish_address(self.base_url)
        # A malformed upload is reported to its sender, not logged in the notebook that runs the service.
        logging.getLogger("python_multipart").setLevel(logging.ERROR)
        logging.getLogger("uvicorn.error").addFilter(_is_a_fault)
        config = uvicorn.Config(
            create_app(self.service),
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


def create_app(service: Service) -> Starlette:
    """The application of a service, which starts and stops with the application's lifespan."""
    rows = [*all_routes(), *(BOARD_ROUTES if service.settings.has_board else ())]
    routes = [_route(service, row) for row in rows if row.in_spec or not service.settings.spec_only]

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await service.start()
        yield
        await service.stop()

    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _http_exception})
    app.router.redirect_slashes = False
    app.add_middleware(RequestGuard, service=service)
    return app


class RequestGuard:
    """Middleware: checks host and origin of each request, and adds a request id to the response."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app, self.service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).setdefault("x-request-id", str(uuid4()))
            await send(message)

        refusal = self._check(scope, HTTPRequest(scope))
        app = self.app if refusal is None else _refusal_response(refusal)
        await app(scope, receive, send_named)

    def _check(self, scope: Scope, http: HTTPRequest) -> Refusal | None:
        if "content-length" in http.headers and "transfer-encoding" in http.headers:
            # Two readers could see its end in two places, and a second request in what one of them leaves over.
            words = "The length of a body is given once: by Content-Length or by Transfer-Encoding."
            return Refusal("bad_request", words, headers={"connection": "close"})
        host = http.headers.get("host", "").lower()
        if not self._is_own_host(scope, host):
            # A page on the internet can point its own name at 127.0.0.1; the Host header reveals that.
            words = "This service does not answer to that host name. Use the address that it printed at its start."
            return Refusal("forbidden", words)
        origin = http.headers.get("origin")
        if origin is not None and origin.lower() != f"{scope['scheme']}://{host}":
            return Refusal("forbidden", "Pages of other origins may not call this service.")
        self.service.files.add_own_addresses(f"{scope['scheme']}://{host}")
        return None

    def _is_own_host(self, scope: Scope, host: str) -> bool:
        name, port = host, 80
        if not host.endswith("]") and ":" in host:
            name, _, digits = host.rpartition(":")
            # Only the canonical spelling is accepted: each other spelling would be stored as one more own address.
            port = int(digits) if re.fullmatch("[1-9][0-9]{0,4}", digits) else -1
        server = scope.get("server") or ("", None)
        if server[1] is not None and port != server[1]:
            return False
        # The IP address that this connection was made to cannot be rebound by a page.
        return name in LOCAL_NAMES or name.strip("[]") == server[0] or name in self.service.settings.hosts


def _route(service: Service, row: ServiceRoute) -> Route:
    async def call(http: HTTPRequest) -> Response:
        try:
            if not service.settings.spec_only:
                return await row.handler(service, http)
            return await _answer_in_spec(service, http, row)
        except Refusal as refusal:
            return _refusal_response(refusal)
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("%s %s broke off", row.method, row.path)
            words = "Something went wrong inside the service, and nothing was charged for this call. Try again; its log says more."
            return _refusal_response(Refusal("unavailable", words))

    return Route(row.path, call, methods=[row.method], name=f"{row.method} {row.path}")


async def _answer_in_spec(service: Service, http: HTTPRequest, row: ServiceRoute) -> Response:
    """The answer to what the specification shows of a call, with the fields that it shows."""
    http.scope["headers"] = [(name, value) for name, value in http.scope["headers"] if name != b"idempotency-key"]
    response = await row.handler(service, HTTPRequest(http.scope, http.receive))
    if not row.fields:
        return response
    shown = {name: value for name, value in json.loads(bytes(response.body)).items() if name in row.fields}
    return JSONResponse(shown, headers={"x-request-id": response.headers["x-request-id"]})


def _refusal_response(refusal: Refusal) -> Response:
    return JSONResponse(refusal.body(), status_code=refusal.status, headers=refusal.headers)


async def _http_exception(http: HTTPRequest, error: Exception) -> Response:
    if allowed := (getattr(error, "headers", None) or {}).get("Allow"):
        words = f"This address does not take {http.method}. It takes {allowed}."
        return _refusal_response(Refusal("method_not_allowed", words, headers={"Allow": allowed}))
    return _refusal_response(Refusal("not_found", "There is nothing at this path. /docs lists all paths."))
