"""The addresses of the board: its pages, its table and its actions."""

from __future__ import annotations

import asyncio
import csv
import io
import re
import secrets
import sqlite3
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs, urlencode

from starlette.requests import Request as HTTPRequest
from starlette.responses import JSONResponse, RedirectResponse, Response

from reelbook.util.printable import format_count

from ..accounts import BadAccounts
from ..class_admin import Chosen, pause, replace_keys, top_up
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
ENDED = "You are not logged in. Nothing was changed."
WORDS = {
    "pause": "{} paused: no new runs; those in progress continue.",
    "resume": "{} may start runs again.",
    "topup": "{} more for {}.",
}

FormFields = dict[str, list[str]]
Handler = Callable[[Service, HTTPRequest, Board], Awaitable[Response]]


def board_routes() -> list[ServiceRoute]:
    """The routes of the board, which only `reelbook serve` has."""
    open_to_all = [("GET", "/class", read_board), ("GET", "/class/login", log_in)]
    behind_login = [
        ("POST", "/class/logout", log_out),
        ("POST", "/class/change", change),
        ("GET", "/class/now", read_now),
        ("GET", "/class/report.csv", export),
        ("GET", "/class/results/{request_id}", read_result),
        ("GET", "/class/media/{request_id}", read_media),
    ]
    return [
        ServiceRoute(
            method, path, _with_board(handler, behind_login=handler not in (read_board, log_in)), in_spec=False
        )
        for method, path, handler in [*open_to_all, *behind_login]
    ]


async def read_board(service: Service, http: HTTPRequest, board: Board) -> Response:
    """Answer with the board, or say where its link is."""
    if not _is_logged_in(service, http, board):
        return respond("login.html", problem="")
    return respond("board.html", notice=_notice(http), is_problem=False, **await board.read())


async def log_in(service: Service, http: HTTPRequest, board: Board) -> Response:
    """Start a session for whoever has the link with the token."""
    if not board.is_token(http.query_params.get("token", "")):
        return respond("login.html", status=401, above="../", problem="That is not the link of this board.")
    # A page that leads on, not a redirect: browsers send a strict cookie only where one of our own pages leads.
    response = respond("opened.html", above="../")
    _set_cookie(service, http, response, board.cookie, SESSION_SECONDS)
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
            names = await service.store.run(chosen.resolve)
            return respond("replace.html", above="../", names=names, most=MAX_LISTED)
        outcome = await _perform_once(service, board, _first(fields, "once"), kind, chosen, amount)
    except BadAccounts as error:
        if _wants_json(http):
            raise Refusal("validation_error", str(error)) from None
        facts = await board.read()
        return respond("board.html", status=422, above="../", notice=str(error), is_problem=True, **facts)
    if kind == "replace":
        address = reachable_address(service.base_url or base_url(http), service.settings.hosts)
        nonce = secrets.token_urlsafe(16)
        return respond_page(render_key_sheet(outcome, address, nonce=nonce, back="../class"), nonce)
    if _wants_json(http):
        return JSONResponse({"done": _words(kind, len(outcome), amount)})
    return RedirectResponse(f"../class?{urlencode({'did': kind, 'count': len(outcome), 'credits': amount})}", 303)


async def read_now(service: Service, http: HTTPRequest, board: Board) -> Response:
    """Answer with what changes on the board, or that nothing did."""
    html, etag = await board.read_table()
    headers = {"etag": etag, "cache-control": "private, no-cache"}
    if http.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    return Response(html, media_type="text/html; charset=utf-8", headers=headers)


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
    return respond("result.html", above="../../", row=row, result=result)


async def read_media(service: Service, http: HTTPRequest, board: Board) -> Response:
    """Serve the file of a result that is on the board; its own address would work without a login."""
    _, result = await board.find_result(http.path_params["request_id"])
    http.path_params["token"] = result.token
    return await file(service, http)


async def _perform_once(
    service: Service, board: Board, once: str, kind: str, chosen: Chosen, credits: int
) -> list[Any]:
    """The keys or the names that came of an action; raises `BadAccounts` for a form that was sent already."""
    if not once or once in board.sent:
        raise BadAccounts("This form was already sent and carried out. Reload the page before you send another one.")
    board.sent.append(once)
    now = service.settings.clock()

    def perform(db: sqlite3.Connection) -> list[Any]:
        if kind == "replace":
            return replace_keys(db, now, chosen)
        if kind == "topup":
            return top_up(db, now, chosen, credits)
        return pause(db, chosen, paused=kind == "pause")

    try:
        return await asyncio.shield(service.accounts.change(perform))
    except BadAccounts:
        board.sent.remove(once)
        raise
    finally:
        board.expire()


def _read_action(fields: FormFields) -> tuple[str, Chosen, int]:
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
    return kind, Chosen(names, group, whom == "all"), int(text)


def _is_count(text: str) -> bool:
    return re.fullmatch("[0-9]{1,13}", text) is not None


def _words(kind: str, count: int, credits: int) -> str:
    whom = format_count(count, "student")
    return WORDS[kind].format(format_count(credits, "credit"), whom) if kind == "topup" else WORDS[kind].format(whom)


def _notice(http: HTTPRequest) -> str:
    """What was done just now, from the address that an action leads to."""
    kind, *counts = (http.query_params.get(name, "") for name in ("did", "count", "credits"))
    return _words(kind, *map(int, counts)) if kind in WORDS and all(map(_is_count, counts)) else ""


def _with_board(handler: Handler, *, behind_login: bool) -> Callable[[Service, HTTPRequest], Awaitable[Response]]:
    """A handler of a service that has a board; behind the login it answers only whoever is logged in."""

    async def call(service: Service, http: HTTPRequest) -> Response:
        board = service.board
        assert board is not None  # Its routes exist only with it.
        if not behind_login or _is_logged_in(service, http, board):
            return await handler(service, http, board)
        if http.method == "POST" and not _wants_json(http):
            return respond("login.html", status=401, above="../", problem=ENDED)
        raise Refusal("unauthorized", ENDED)

    return call


def _cookie_name(service: Service) -> str:
    # Cookies do not know ports: another service on this machine has a name of its own.
    return f"reelbook_board_{service.id[:8]}"


def _is_logged_in(service: Service, http: HTTPRequest, board: Board) -> bool:
    cookie = http.cookies.get(_cookie_name(service), "")
    return secrets.compare_digest(cookie.encode("utf-8", "surrogateescape"), board.cookie.encode())


def _set_cookie(service: Service, http: HTTPRequest, response: Response, cookie: str, max_age: int) -> None:
    # Strict, and out of reach of scripts: with the check of the origin no page elsewhere can act for whoever is logged in.
    # No path: the browser takes the folder of this address, also behind a prefix, so that nobody else there gets it.
    is_secure = http.url.scheme == "https"
    response.set_cookie(
        _cookie_name(service), cookie, max_age, path=None, secure=is_secure, httponly=True, samesite="strict"
    )


def _wants_json(http: HTTPRequest) -> bool:
    return http.headers.get("accept", "") == "application/json"


async def _read_form(http: HTTPRequest) -> FormFields:
    body = await read_body(http, "application/x-www-form-urlencoded", MAX_FORM_BYTES)
    try:
        return parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=10_000)
    except ValueError:
        raise Refusal("bad_request", "The form is not well-formed.") from None


def _first(fields: FormFields, name: str) -> str:
    return (fields.get(name) or [""])[0]
