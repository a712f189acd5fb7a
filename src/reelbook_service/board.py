"""The board of a class at `/class`: its pages, its table, and what a teacher does there."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import sqlite3
from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import FormData
from starlette.requests import Request as HTTPRequest
from starlette.responses import HTMLResponse, RedirectResponse, Response

from reelbook.models.queue_status import IN_PROGRESS
from reelbook.util.printable import format_count, format_line

from .class_admin import ACTIONS, ASK_CREDITS, NewKey, act, choose, describe, format_names, read_board_token, read_count
from .class_report import ClassRow, LastResult, describe_class, format_csv, read_class, read_last_result, read_prompt
from .core import Service
from .key_sheet import reachable_address, render_key_sheet
from .limits import BadAccounts
from .pages import render
from .queue import Request
from .refusals import Refusal
from .routes import Handler, ServiceRoute, base_url, file

SESSION_SECONDS = 12 * 3600
MAX_LISTED = 200
"""How many names are listed before their keys are replaced."""
MAX_QUEUED = 12
"""How many runs the queue lists; the others are counted."""
BOARD_ACTIONS = ACTIONS.keys() - {"remove"}

Choice = Callable[[sqlite3.Connection], list[str]]
"""Finds the names of the accounts that an action is about."""

_sent: deque[str] = deque(maxlen=1_000)
"""The forms that were sent already: a double click must not top up twice."""


async def read_board(service: Service, http: HTTPRequest) -> Response:
    """Answer with the board, or that nothing on it has changed, or say where its link is."""
    if not await _is_logged_in(service, http):
        return respond(http, "login.html", problem="")
    return await _respond(service, http, notice=_notice(http))


async def log_in(service: Service, http: HTTPRequest) -> Response:
    """Start a session for whoever has the link with the token."""
    token = await service.store.run(read_board_token)
    if not _is_same(http.query_params.get("token", "").strip(), token):
        return respond(http, "login.html", status=401, problem="That is not the link of this board.")
    # A page that leads on, not a redirect: browsers send a strict cookie only where one of our own pages leads.
    return _set_cookie(service, http, respond(http, "opened.html"), _sign_session(token), SESSION_SECONDS)


async def log_out(service: Service, http: HTTPRequest) -> Response:
    """End the session of this browser."""
    return _set_cookie(service, http, RedirectResponse("../class", 303), "", 0)


async def change(service: Service, http: HTTPRequest) -> Response:
    """Carry out an action on students: pause, resume, top up, or replace keys."""
    form = await http.form()
    try:
        action, chosen, amount = _read_action(form)
        if action == "replace" and not form.get("sure"):
            names = await service.store.run(chosen)
            return respond(http, "replace.html", names=names, most=MAX_LISTED)
        names, keys = await _act_once(service, str(form.get("once", "")), action, chosen, amount)
    except BadAccounts as error:
        return await _respond(service, http, status=422, notice=str(error), is_problem=True)
    if action == "replace":
        address = reachable_address(service.base_url or base_url(http))
        nonce = secrets.token_urlsafe(16)
        return respond_page(render_key_sheet(keys, address, nonce=nonce, back="../class"), nonce)
    return RedirectResponse(f"../class?{urlencode({'did': action, 'count': len(names), 'credits': amount})}", 303)


async def export(service: Service, http: HTTPRequest) -> Response:
    """Answer with the table of the class as CSV."""
    rows = await service.store.run(partial(read_class, now=service.settings.clock()))
    headers = {"content-disposition": 'attachment; filename="class.csv"', "cache-control": "no-store"}
    # With a byte order mark, by which spreadsheets know that it is UTF-8.
    return Response("\ufeff" + format_csv(rows), media_type="text/csv; charset=utf-8", headers=headers)


async def read_result(service: Service, http: HTTPRequest) -> Response:
    """Answer with the page of a result that is on the board."""
    name, result = await _find_result(service, http)
    return respond(http, "result.html", name=name, result=result)


async def read_media(service: Service, http: HTTPRequest) -> Response:
    """Serve the file of a result that is on the board; its own address would work without a login."""
    _, result = await _find_result(service, http)
    http.path_params["token"] = result.token
    return await file(service, http)


async def _find_result(service: Service, http: HTTPRequest) -> tuple[str, LastResult]:
    """Whose result it is that the path names, and the result."""
    request_id = http.path_params["request_id"]

    def find(db: sqlite3.Connection) -> tuple[str, LastResult | None]:
        row = db.execute("SELECT account FROM requests WHERE id = ?", (request_id,)).fetchone()
        return ("", None) if row is None else (row["account"], read_last_result(db, row["account"]))

    name, result = await service.store.run(find)
    if result is None or result.token is None or result.request_id != request_id:
        raise Refusal("not_found", "This result is not on the board any more: reload the class.")
    return name, result


async def _respond(
    service: Service, http: HTTPRequest, *, status: int = 200, notice: str = "", is_problem: bool = False
) -> Response:
    def read(db: sqlite3.Connection) -> dict[str, Any]:
        prompts = [read_prompt(db, request.id) for request in requests[:MAX_QUEUED]]
        return _facts(read_class(db, service.settings.clock(), running), requests, prompts, *describe_class(db))

    running, requests = service.queue.count_running(), sorted(service.queue.unfinished(), key=_waits)
    facts = await service.store.run(read)
    headers = {"etag": f'"{hashlib.sha256(repr(facts).encode()).hexdigest()[:32]}"'}
    if http.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    response = respond(http, "board.html", status=status, notice=notice, is_problem=is_problem, **facts)
    response.headers.update(headers)
    return response


async def _act_once(
    service: Service, once: str, action: str, chosen: Choice, credits: int
) -> tuple[list[str], list[NewKey]]:
    """The names and the new keys that an action was about; raises `BadAccounts` for a form that was sent already."""
    if not once or once in _sent:
        raise BadAccounts("This form was already sent and carried out. Reload the page before you send another one.")
    _sent.append(once)

    def work(db: sqlite3.Connection) -> tuple[list[str], list[NewKey]]:
        names = chosen(db)
        return names, act(db, service.settings.clock(), action, names, credits)

    try:
        return await asyncio.shield(service.store.run(work))
    except BadAccounts:
        _sent.remove(once)
        raise


def _for_session(handler: Handler) -> Handler:
    """A handler that answers only whoever is logged in."""

    async def call(service: Service, http: HTTPRequest) -> Response:
        if await _is_logged_in(service, http):
            return await handler(service, http)
        return respond(http, "login.html", status=401, problem="You are not logged in. Nothing was changed.")

    return call


BOARD_ROUTES = [
    ServiceRoute("GET", "/class", read_board, in_spec=False),
    ServiceRoute("GET", "/class/login", log_in, in_spec=False),
    ServiceRoute("POST", "/class/logout", _for_session(log_out), in_spec=False),
    ServiceRoute("POST", "/class/change", _for_session(change), in_spec=False),
    ServiceRoute("GET", "/class/report.csv", _for_session(export), in_spec=False),
    ServiceRoute("GET", "/class/results/{request_id}", _for_session(read_result), in_spec=False),
    ServiceRoute("GET", "/class/media/{request_id}", _for_session(read_media), in_spec=False),
]
"""The routes of the board, for whoever has the link with its token; only `reelbook serve` has them."""


async def _is_logged_in(service: Service, http: HTTPRequest) -> bool:
    token = await service.store.run(read_board_token)
    return _is_same(http.cookies.get(_cookie_name(service), ""), _sign_session(token))


def _cookie_name(service: Service) -> str:
    # Cookies do not know ports: another service on this machine has a name of its own.
    return f"reelbook_board_{service.id[:8]}"


def _set_cookie(service: Service, http: HTTPRequest, response: Response, cookie: str, max_age: int) -> Response:
    # Strict, and out of reach of scripts: with the check of the origin no page elsewhere can act for whoever is logged in.
    # No path: the browser takes the folder of this address, also behind a prefix, so that nobody else there gets it.
    is_secure = http.url.scheme == "https"
    response.set_cookie(
        _cookie_name(service), cookie, max_age, path=None, secure=is_secure, httponly=True, samesite="strict"
    )
    return response


def respond(http: HTTPRequest, template: str, *, status: int = 200, **facts: Any) -> HTMLResponse:
    """A page with our own style and script: nothing else runs or loads."""
    # Its addresses are relative to the folder of `/class`, so that they hold behind a prefix too.
    facts["above"] = "../" * (http.scope["path"].count("/") - 1)
    nonce = secrets.token_urlsafe(16)
    return respond_page(render(template, nonce=nonce, once=secrets.token_hex(8), **facts), nonce, status)


def respond_page(page: str, nonce: str, status: int = 200) -> HTMLResponse:
    """A page whose own style and script carry this nonce."""
    policy = (
        f"default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; connect-src 'self'; img-src 'self' data:; "
        "media-src 'self'; form-action 'self'; base-uri 'self'; frame-ancestors 'none'"
    )
    headers = {
        "content-security-policy": policy,
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "cross-origin-opener-policy": "same-origin",
        # Not `no-referrer`: browsers would send forms with the origin `null` then, which is refused.
        "referrer-policy": "same-origin",
    }
    return HTMLResponse(page, status, headers)


def _is_same(text: str, secret: str) -> bool:
    return hmac.compare_digest(text.encode("utf-8", "surrogateescape"), secret.encode())


def _sign_session(token: str) -> str:
    """What the cookie of a session says; another token ends all sessions."""
    return hmac.new(token.encode(), b"session", "sha256").hexdigest()


def _facts(
    rows: list[ClassRow], requests: list[Request], prompts: list[str], sentences: list[str], problems: list[str]
) -> dict[str, Any]:
    active, paused = sum(row.active for row in rows), sum(row.paused for row in rows)
    errors = sum((Counter(row.errors) for row in rows), Counter[str]())
    summary = [
        format_count(len(rows), "student"),
        f"{sum(row.spent for row in rows):,} of {format_count(sum(row.budget for row in rows), 'credit')} spent",
        f"{sum(row.completed for row in rows):,} done",
        f"{active:,} queued or running",
        *([f"{paused:,} paused"] if paused else []),
        *(sentence.rstrip(".") for sentence in sentences),
    ]
    runs = [
        ("◔ waiting" if _waits(request) else f"◑ {request.progress:.0%}", request.account, prompt, request.endpoint_id)
        for request, prompt in zip(requests, prompts, strict=False)
    ]
    return {
        "summary": summary,
        "problems": problems,
        "runs": runs,
        "more_runs": max(0, len(requests) - MAX_QUEUED),
        "errors": [
            (number, kind, format_names([format_line(row.name) for row in rows if kind in row.errors]))
            for kind, number in errors.most_common()
        ],
        "groups": [(group, list(members)) for group, members in groupby(rows, lambda row: row.group)],
        "students": len(rows),
    }


def _waits(request: Request) -> bool:
    return request.status != IN_PROGRESS or request.waits_elsewhere


def _read_action(form: FormData) -> tuple[str, Choice, int]:
    """The action that a form asks for, whom it is about, and how many credits it adds."""
    action, _, name = str(form.get("one", "")).partition(":")
    whom = "marked" if action else str(form.get("whom", ""))
    action = action or str(form.get("do", ""))
    names = [name] if name else list(map(str, form.getlist("name"))) if whom == "marked" else []
    if action not in BOARD_ACTIONS:
        raise BadAccounts("There is no such action.")
    if whom == "marked" and not names:
        raise BadAccounts("Nobody is selected: tick some students, or choose a group or all.")
    group = whom.removeprefix("group:") if whom.startswith("group:") else None
    amount = read_count(str(form.get("credits", "")).strip(), ASK_CREDITS) if action == "topup" else 0
    return action, partial(choose, names=names, group=group, everybody=whom == "all"), amount


def _notice(http: HTTPRequest) -> str:
    """What was done just now, from the address that an action leads to."""
    action, *counts = (http.query_params.get(name, "") for name in ("did", "count", "credits"))
    try:
        students, amount = map(read_count, counts)
    except BadAccounts:
        return ""
    if action not in BOARD_ACTIONS:
        return ""
    return describe(action, format_count(students, "student"), amount)
