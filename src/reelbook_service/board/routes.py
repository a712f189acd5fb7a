"""The addresses of the board: its pages, its table and its actions."""

from __future__ import annotations

import asyncio
import csv
import io
import re
import secrets
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlencode

from starlette.requests import Request as HTTPRequest
from starlette.responses import RedirectResponse, Response

from reelbook.util.printable import format_count

from ..accounts import BadAccounts
from ..class_admin import choose, pause, replace_keys, top_up
from ..class_report import report_table
from ..core import Service
from ..key_sheet import reachable_address, render_key_sheet
from ..refusals import Refusal
from ..request_bodies import read_body
from ..routes import ServiceRoute, base_url, file
from .view import Board, respond, respond_page

MAX_FORM_BYTES = 1_000_000
MAX_LISTED = 200
"""How many names are listed before their keys are replaced."""
SESSION_SECONDS = 12 * 3600
WORDS = {
    "pause": "{} paused: no new runs; those in progress continue.",
    "resume": "{} may start runs again.",
    "topup": "{} more for {}.",
}

FormFields = dict[str, list[str]]
Choice = Callable[[sqlite3.Connection], list[str]]
"""Finds the names of the accounts that an action is about."""
Handler = Callable[[Service, HTTPRequest, Board], Awaitable[Response]]


def board_routes() -> list[ServiceRoute]:
    """The routes of the board, which only `reelbook serve` has."""
    rows: list[tuple[str, str, Handler]] = [
        ("GET", "/class", read_board),
        ("GET", "/class/login", log_in),
        ("POST", "/class/logout", log_out),
        ("POST", "/class/change", change),
        ("GET", "/class/report.csv", export),
        ("GET", "/class/results/{request_id}", read_result),
        ("GET", "/class/media/{request_id}", read_media),
    ]
    return [ServiceRoute(method, path, _with_board(handler), in_spec=False) for method, path, handler in rows]


async def read_board(service: Service, http: HTTPRequest, board: Board) -> Response:
    """Answer with the board, or that nothing on it has changed, or say where its link is."""
    if not await _is_logged_in(service, http, board):
        return respond(http, "login.html", problem="")
    return await _respond_board(http, board, notice=_notice(http))


async def log_in(service: Service, http: HTTPRequest, board: Board) -> Response:
    """Start a session for whoever has the link with the token."""
    if not await board.is_token(http.query_params.get("token", "")):
        return respond(http, "login.html", status=401, problem="That is not the link of this board.")
    # A page that leads on, not a redirect: browsers send a strict cookie only where one of our own pages leads.
    response = respond(http, "opened.html")
    _set_cookie(service, http, response, await board.make_cookie(), SESSION_SECONDS)
    return response


async def log_out(service: Service, http: HTTPRequest, board: Board) -> Response:
    """End the session of this browser."""
    response = RedirectResponse("../class", 303)
    _set_cookie(service, http, response, "", 0)
    return response


async def change(service: Service, http: HTTPRequest, board: Board) -> Response:
    """Carry out an action on students: pause, resume, top up, or replace keys."""
    fields = await _read_form(http)
    try:
        kind, chosen, amount = _read_action(fields)
        if kind == "replace" and not _first(fields, "sure"):
            names = await service.store.run(chosen)
            return respond(http, "replace.html", names=names, most=MAX_LISTED)
        outcome = await _perform_once(service, board, _first(fields, "once"), kind, chosen, amount)
    except BadAccounts as error:
        return await _respond_board(http, board, status=422, notice=str(error), is_problem=True)
    if kind == "replace":
        address = reachable_address(service.base_url or base_url(http))
        nonce = secrets.token_urlsafe(16)
        return respond_page(render_key_sheet(outcome, address, nonce=nonce, back="../class"), nonce)
    return RedirectResponse(f"../class?{urlencode({'did': kind, 'count': len(outcome), 'credits': amount})}", 303)


async def export(service: Service, http: HTTPRequest, board: Board) -> Response:
    """Answer with the table of the class as CSV."""
    await board.read()
    text = io.StringIO()
    csv.writer(text).writerows(report_table(board.rows))
    headers = {"content-disposition": 'attachment; filename="class.csv"', "cache-control": "no-store"}
    # With a byte order mark, by which spreadsheets know that it is UTF-8.
    return Response("\ufeff" + text.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)


async def read_result(service: Service, http: HTTPRequest, board: Board) -> Response:
    """Answer with the page of a result that is on the board."""
    row, result = await board.find_result(http.path_params["request_id"])
    return respond(http, "result.html", row=row, result=result)


async def read_media(service: Service, http: HTTPRequest, board: Board) -> Response:
    """Serve the file of a result that is on the board; its own address would work without a login."""
    _, result = await board.find_result(http.path_params["request_id"])
    http.path_params["token"] = result.token
    return await file(service, http)


async def _respond_board(
    http: HTTPRequest, board: Board, *, status: int = 200, notice: str = "", is_problem: bool = False
) -> Response:
    facts = await board.read()
    if http.headers.get("if-none-match") == board.etag:
        return Response(status_code=304, headers={"etag": board.etag})
    response = respond(http, "board.html", status=status, notice=notice, is_problem=is_problem, **facts)
    response.headers["etag"] = board.etag
    return response


async def _perform_once(
    service: Service, board: Board, once: str, kind: str, chosen: Choice, credits: int
) -> Sequence[Any]:
    """The keys or the names that came of an action; raises `BadAccounts` for a form that was sent already."""
    if not once or once in board.sent:
        raise BadAccounts("This form was already sent and carried out. Reload the page before you send another one.")
    board.sent.append(once)
    now = service.settings.clock()

    def perform(db: sqlite3.Connection) -> Sequence[Any]:
        names = chosen(db)
        if kind == "replace":
            return replace_keys(db, now, names)
        if kind == "topup":
            top_up(db, now, names, credits)
        else:
            pause(db, names, paused=kind == "pause")
        return names

    try:
        return await asyncio.shield(service.store.run(perform))
    except BadAccounts:
        board.sent.remove(once)
        raise
    finally:
        board.expire()


def _read_action(fields: FormFields) -> tuple[str, Choice, int]:
    """The action that a form asks for, whom it is about, and how many credits it adds."""
    kind, _, name = _first(fields, "one").partition(":")
    whom = "marked" if kind else _first(fields, "whom")
    kind = kind or _first(fields, "do")
    names = [name] if name else fields.get("name", []) if whom == "marked" else []
    if kind not in (*WORDS, "replace"):
        raise BadAccounts("There is no such action. Nothing was changed.")
    if whom == "marked" and not names:
        raise BadAccounts("Nobody is selected: tick some students, or choose a group or all. Nothing was changed.")
    group = whom.removeprefix("group:") if whom.startswith("group:") else None
    text = _first(fields, "credits").strip() if kind == "topup" else "0"
    if not _is_count(text):
        raise BadAccounts("Say how many credits to add, as a whole number. Nothing was changed.")
    return kind, partial(choose, names=names, group=group, everybody=whom == "all"), int(text)


def _is_count(text: str) -> bool:
    return re.fullmatch("[0-9]{1,13}", text) is not None


def _words(kind: str, count: int, credits: int) -> str:
    whom = format_count(count, "student")
    return WORDS[kind].format(format_count(credits, "credit"), whom) if kind == "topup" else WORDS[kind].format(whom)


def _notice(http: HTTPRequest) -> str:
    """What was done just now, from the address that an action leads to."""
    kind, *counts = (http.query_params.get(name, "") for name in ("did", "count", "credits"))
    return _words(kind, *map(int, counts)) if kind in WORDS and all(map(_is_count, counts)) else ""


def _with_board(handler: Handler) -> Callable[[Service, HTTPRequest], Awaitable[Response]]:
    """A handler of a service that has a board; all but the first two answer only whoever is logged in."""

    async def call(service: Service, http: HTTPRequest) -> Response:
        board = service.board
        assert board is not None  # Its routes exist only with it.
        if handler in (read_board, log_in) or await _is_logged_in(service, http, board):
            return await handler(service, http, board)
        return respond(http, "login.html", status=401, problem="You are not logged in. Nothing was changed.")

    return call


def _cookie_name(service: Service) -> str:
    # Cookies do not know ports: another service on this machine has a name of its own.
    return f"reelbook_board_{service.id[:8]}"


async def _is_logged_in(service: Service, http: HTTPRequest, board: Board) -> bool:
    cookie = http.cookies.get(_cookie_name(service), "")
    expected = await board.make_cookie()
    return secrets.compare_digest(cookie.encode("utf-8", "surrogateescape"), expected.encode())


def _set_cookie(service: Service, http: HTTPRequest, response: Response, cookie: str, max_age: int) -> None:
    # Strict, and out of reach of scripts: with the check of the origin no page elsewhere can act for whoever is logged in.
    # No path: the browser takes the folder of this address, also behind a prefix, so that nobody else there gets it.
    is_secure = http.url.scheme == "https"
    response.set_cookie(
        _cookie_name(service), cookie, max_age, path=None, secure=is_secure, httponly=True, samesite="strict"
    )


async def _read_form(http: HTTPRequest) -> FormFields:
    body = await read_body(http, "application/x-www-form-urlencoded", MAX_FORM_BYTES)
    try:
        return parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=10_000)
    except ValueError:
        raise Refusal("bad_request", "The form is not well-formed.") from None


def _first(fields: FormFields, name: str) -> str:
    return (fields.get(name) or [""])[0]
