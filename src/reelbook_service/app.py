"""The ASGI application: the routes, behind checks that apply to every request."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request as HTTPRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .board import Board
from .core import Service
from .refusals import Refusal
from .routes import ServiceRoute, all_routes
from .service_settings import Settings

log = logging.getLogger("reelbook_service")

LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")


def create_app(settings: Settings) -> Starlette:
    """The application of a new service, which starts and stops with the application's lifespan."""
    service = Service(settings)
    board = Board(service) if settings.has_board else None
    rows = [*all_routes(), *(board.routes() if board else ())]
    routes = [_route(service, row) for row in rows if row.in_spec or not settings.spec_only]

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await service.start()
        yield
        await service.stop()

    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _http_exception})
    app.router.redirect_slashes = False
    app.state.service, app.state.board = service, board
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
