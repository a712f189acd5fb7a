"""The addresses of the board: its pages, its stream and its actions."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import math
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlencode

from starlette.requests import Request as HTTPRequest
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse

from reelbook.util.printable import format_count

from .. import spec_decisions
from ..accounts import BadAccounts
from ..class_admin import Chosen, pause, replace_keys, top_up
from ..class_report import report_table
from ..core import Service
from ..refusals import Refusal
from ..request_bodies import read_limited
from ..routes import Row, base_url, file
from .board import Board
from .board_page import SCRIPT, render_board, render_confirmation, render_login, render_new_keys, render_result, respond

MAX_FORM_BYTES = 1_000_000
FORM = "application/x-www-form-urlencoded"
ENDED = "You are not logged in, or no longer. Nothing was changed."
WORDS = {
    "pause": "{} paused: no new runs; those under way go on.",
    "resume": "{} may start runs again.",
    "topup": "{} more for {}.",
}

Handler = Callable[[Service, HTTPRequest, Board, str], Awaitable[Response]]


def board_routes() -> list[Row]:
    """The routes of the board, which only `reelbook serve` has."""
    return [
        Row("GET", "/class", read_board, in_spec=False),
        Row("POST", "/class/login", log_in, in_spec=False),
        Row("POST", "/class/logout", _behind_login(log_out), in_spec=False),
        Row("POST", "/class/change", _behind_login(change), in_spec=False),
        Row("GET", "/class/stream", _behind_login(stream), in_spec=False),
        Row("GET", "/class/report.csv", _behind_login(export), in_spec=False),
        Row("GET", "/class/results/{request_id}", _behind_login(read_result), in_spec=False),
        Row("GET", "/class/media/{request_id}", _behind_login(read_media), in_spec=False),
    ]


async def read_board(service: Service, http: HTTPRequest) -> Response:
    """Answer with the board, or with its login."""
    board = _board(service)
    cookie = _cookie(service, http)
    if not board.login.is_session(cookie):
        return respond("Class", render_login())
    await board.feed.refresh()
    return _board_page(board, cookie, _notice(http))


async def log_in(service: Service, http: HTTPRequest) -> Response:
    """Check the password and start a session."""
    board, fields = _board(service), await _read_form(http)
    address = http.client.host if http.client else ""
    if wait := board.login.seconds_to_wait(address):
        seconds = math.ceil(wait)
        words = (
            f"Too many passwords were tried from your machine. Wait {format_count(seconds, 'second')}, then try again."
        )
        return _login_page(words, 429, {"retry-after": str(seconds)})
    cookie = await board.login.log_in(address, _one(fields, "password"))
    if cookie is None:
        return _login_page("That is not the password of this board.", 401)
    response = RedirectResponse("../class", 303)
    # No path: the browser takes the folder of this address, also behind a prefix, so that nobody else there gets it.
    response.set_cookie(
        _cookie_name(service), cookie, path=None, secure=http.url.scheme == "https", httponly=True, samesite="strict"
    )
    return response


async def log_out(service: Service, http: HTTPRequest, board: Board, cookie: str) -> Response:
    """End the session of this browser."""
    _check_token(board, cookie, await _read_form(http))
    response = RedirectResponse("../class", 303)
    response.set_cookie(_cookie_name(service), "", max_age=0, path=None, httponly=True, samesite="strict")
    return response


async def change(service: Service, http: HTTPRequest, board: Board, cookie: str) -> Response:
    """Carry out an action on students: pause, resume, top up, or replace keys."""
    fields = await _read_form(http)
    _check_token(board, cookie, fields)
    try:
        action = _read_action(fields)
        if action["action"] == "replace" and not _one(fields, "sure"):
            chosen = Chosen(tuple(action["names"]), action["group"], action["all"])
            names = await service.store.run(chosen.resolve)
            return respond("Replace keys", render_confirmation(names, board.login.form_token(cookie)), above="../")
        outcome = await _perform_once(service, board, action, _one(fields, "once"))
    except BadAccounts as error:
        if _wants_json(http):
            raise Refusal("validation_error", str(error)) from None
        await board.feed.refresh()
        return _board_page(board, cookie, str(error), status=422, is_problem=True, above="../")
    if "keys" in outcome:
        return respond("New keys", render_new_keys(outcome["keys"], base_url(http)), above="../")
    did = {"did": action["action"], "count": len(outcome["changed"]), "credits": action.get("credits", 0)}
    if _wants_json(http):
        return JSONResponse({"done": _words(**did)})
    return RedirectResponse(f"../class?{urlencode(did)}", 303)


async def stream(service: Service, http: HTTPRequest, board: Board, cookie: str) -> Response:
    """Stream the changes of the board as server-sent events, until the session ends."""
    since = http.headers.get("last-event-id") or http.query_params.get("since", "")
    events = _stream_events(board, cookie, since)
    return StreamingResponse(events, media_type="text/event-stream", headers={"cache-control": "no-store"})


async def export(service: Service, http: HTTPRequest, board: Board, cookie: str) -> Response:
    """Answer with the table of the class as CSV."""
    await board.feed.refresh()
    text = io.StringIO()
    table = report_table(board.feed.rows)
    csv.writer(text).writerows(table)
    headers = {"content-disposition": 'attachment; filename="class.csv"', "cache-control": "no-store"}
    # With a byte order mark, by which spreadsheets know that it is UTF-8.
    return Response("\ufeff" + text.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)


async def read_result(service: Service, http: HTTPRequest, board: Board, cookie: str) -> Response:
    """Answer with the page of a result that is on the board."""
    await board.feed.refresh()
    return respond("Result", render_result(*board.feed.find_result(http.path_params["request_id"])), above="../../")


async def read_media(service: Service, http: HTTPRequest, board: Board, cookie: str) -> Response:
    """Serve the file of a result that is on the board; its own address would work without a login."""
    _, result, _ = board.feed.find_result(http.path_params["request_id"])
    http.path_params["token"] = result.token
    return await file(service, http)


async def _stream_events(board: Board, cookie: str, since: str) -> AsyncIterator[str]:
    idle = 0
    async for version, cells in board.feed.follow(since):
        if not board.login.is_session(cookie):
            yield "event: end\ndata:\n\n"
            return
        if cells is None:
            yield f"event: page\nid: {version}\ndata:\n\n"
            return
        idle = 0 if cells else idle + 1
        if cells:
            yield f"event: cells\nid: {version}\ndata: {json.dumps(cells)}\n\n"
        elif idle % int(spec_decisions.HEARTBEAT_SECONDS) == 1:
            yield ": still here\n\n"


async def _perform_once(service: Service, board: Board, action: dict[str, Any], once: str) -> dict[str, Any]:
    """The outcome of an action; raises `BadAccounts` for a form that was sent already."""
    if not once or board.is_repeated(once):
        raise BadAccounts(
            "This form was sent already, and was done once. Reload the class before you send another one."
        )
    work = partial(_perform, now=service.settings.clock(), action=action)
    try:
        return await asyncio.shield(service.accounts.change(work))
    except BadAccounts:
        board.forget(once)
        raise
    finally:
        board.feed.expire()


def _perform(db: sqlite3.Connection, now: float, action: dict[str, Any]) -> dict[str, Any]:
    chosen = Chosen(action["names"], action["group"], action["all"])
    if action["action"] == "replace":
        return {"keys": replace_keys(db, chosen)}
    if action["action"] == "topup":
        return {"changed": top_up(db, now, chosen, action["credits"])}
    return {"changed": pause(db, chosen, paused=action["action"] == "pause")}


def _read_action(fields: dict[str, list[str]]) -> dict[str, Any]:
    """The action that a form asks for."""
    kind, _, name = _one(fields, "one").partition(":")
    whom = "marked" if kind else _one(fields, "whom")
    kind = kind or _one(fields, "do")
    names = [name] if name else fields.get("name", []) if whom == "marked" else []
    if kind not in (*WORDS, "replace"):
        raise BadAccounts("There is no such action. Nothing was changed.")
    if whom == "marked" and not names:
        raise BadAccounts("Nobody is marked: mark some students, or choose a group or all. Nothing was changed.")
    action: dict[str, Any] = {"action": kind, "names": names, "group": None, "all": whom == "all"}
    if whom.startswith("group:"):
        action["group"] = whom.removeprefix("group:")
    if kind == "topup":
        text = _one(fields, "credits").strip()
        if not (text.isascii() and text.isdecimal()):
            raise BadAccounts("Say how many credits to add, as a whole number. Nothing was changed.")
        action["credits"] = int(text)
    return action


def _words(did: str, count: int, credits: int) -> str:
    whom = format_count(count, "student")
    return WORDS[did].format(format_count(credits, "credit"), whom) if did == "topup" else WORDS[did].format(whom)


def _notice(http: HTTPRequest) -> str:
    """What was done just now, from the address that an action leads to."""
    given = http.query_params
    numbers = [given.get(name, "") for name in ("count", "credits")]
    if given.get("did") not in WORDS or not all(
        text.isascii() and text.isdecimal() and len(text) < 14 for text in numbers
    ):
        return ""
    return _words(given["did"], int(numbers[0]), int(numbers[1]))


def _board_page(
    board: Board, cookie: str, notice: str, *, status: int = 200, is_problem: bool = False, above: str = ""
) -> Response:
    body = render_board(board.feed, board.login.form_token(cookie), notice, is_problem=is_problem)
    return respond("Class", body, status=status, script=SCRIPT, version=board.feed.version, above=above)


def _login_page(problem: str, status: int, headers: dict[str, str] | None = None) -> Response:
    response = respond("Class", render_login(problem), status=status, above="../")
    response.headers.update(headers or {})
    return response


def _behind_login(handler: Handler) -> Callable[[Service, HTTPRequest], Awaitable[Response]]:
    """A handler that answers only whoever is logged in."""

    async def call(service: Service, http: HTTPRequest) -> Response:
        board, cookie = _board(service), _cookie(service, http)
        if board.login.is_session(cookie):
            return await handler(service, http, board, cookie)
        if http.method == "POST" and not _wants_json(http):
            return _login_page(ENDED, 401)
        raise Refusal("unauthorized", ENDED)

    return call


def _board(service: Service) -> Board:
    assert service.board is not None  # Its routes exist only with it.
    return service.board


def _cookie_name(service: Service) -> str:
    # Cookies do not know ports: another service on this machine has a name of its own.
    return f"reelbook_board_{service.id[:8]}"


def _cookie(service: Service, http: HTTPRequest) -> str:
    return http.cookies.get(_cookie_name(service), "")


def _check_token(board: Board, cookie: str, fields: dict[str, list[str]]) -> None:
    if not board.login.is_form_token(cookie, _one(fields, "token")):
        raise Refusal("forbidden", "This form does not belong to your session. Reload the class and try again.")


def _wants_json(http: HTTPRequest) -> bool:
    return http.headers.get("accept", "") == "application/json"


async def _read_form(http: HTTPRequest) -> dict[str, list[str]]:
    if http.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise Refusal("bad_request", f"The body must be a form: {FORM}.")
    try:
        async with asyncio.timeout(spec_decisions.BODY_SECONDS):
            body = b"".join([chunk async for chunk in read_limited(http, MAX_FORM_BYTES)])
        return parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=10_000)
    except (TimeoutError, ValueError):
        raise Refusal("bad_request", "The form is not well-formed, or did not arrive in time.") from None


def _one(fields: dict[str, list[str]], name: str) -> str:
    values: Sequence[str] = fields.get(name) or [""]
    return values[0]
