"""The addresses for whoever runs a class, which are not part of the API that clients use."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request as HTTPRequest
from starlette.responses import JSONResponse, Response

from .administration import ERRORS, HEADER, PATH, perform
from .core import Service
from .refusals import Refusal
from .request_bodies import read_json_object
from .routes import Row


async def class_action(service: Service, http: HTTPRequest) -> Response:
    """Carry out an action on the accounts of a class, for the command `reelbook class`."""
    administration = service.administration
    if administration is None or not administration.is_secret(http.headers.get(HEADER)):
        raise Refusal("unauthorized", "This call needs the secret of the service's folder: use `reelbook class`.")
    action, running = await read_json_object(http), service.queue.count_running()
    try:
        work = partial(perform, now=service.settings.clock(), action=action, running=running)
        outcome = await service.accounts.change(work)
    except ERRORS as error:
        raise Refusal("validation_error", str(error)) from None
    if service.board is not None:
        await service.board.login.reload()
        service.board.feed.expire()
    return JSONResponse(outcome)


def class_routes() -> list[Row]:
    """The routes for whoever runs a class; none of them exists with --spec-only."""
    return [Row("POST", PATH, class_action, in_spec=False)]
