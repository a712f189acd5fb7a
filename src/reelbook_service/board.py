"""The board of a class at `/class`: its pages, its table, and what a teacher does there."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import sqlite3
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import FormData
from starlette.requests import Request as HTTPRequest
from starlette.responses import HTMLResponse, RedirectResponse, Response

from reelbook.models.queue_status import IN_PROGRESS
from reelbook.util.printable import format_count, format_line

from .accounts import BadAccounts
from .class_admin import ACTIONS, NewKey, act, choose, describe, format_names, is_count, read_board_token
from .class_report import ClassRow, LastResult, describe_class, format_csv, read_class, read_last_result
from .core import Service
from .key_sheet import reachable_address, render_key_sheet
from .pages import render
from .queue import Request
from .refusals import Refusal
from .routes import ServiceRoute, base_url, file

SESSION_SECONDS = 12 * 3600
MAX_REMEMBERED = 1_000
MAX_LISTED = 200
"""How many names are listed before their keys are replaced."""
MAX_QUEUED = 12
"""How many runs the queue lists; the others are counted."""
BOARD_ACTIONS = ACTIONS.keys() - {"remove"}

Choice = Callable[[sqlite3.Connection], list[str]]
"""Finds the names of the accounts that an action is about."""
Handler = Callable[[HTTPRequest], Awaitable[Response]]


class Board:
    """The board, for whoever has the link with its token; only `reelbook serve` has one."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._sent: deque[str] = deque(maxlen=MAX_REMEMBERED)
        """The forms that were sent already: a double click must not top up twice."""
        # Cookies do not know ports: another service on this machine has a name of its own.
        self._cookie_name = f"reelbook_board_{service.id[:8]}"

    def routes(self) -> list[ServiceRoute]:
        """The routes of the board."""
        rows: list[tuple[str, str, Handler]] = [
            ("GET", "/class", self.read_board),
            ("GET", "/class/login", self.log_in),
            ("POST", "/class/logout", self._for_session(self.log_out)),
            ("POST", "/class/change", self._for_session(self.change)),
            ("GET", "/class/report.csv", self._for_session(self.export)),
            ("GET", "/class/results/{request_id}", self._for_session(self.read_result)),
            ("GET", "/class/media/{request_id}", self._for_session(self.read_media)),
        ]
        return [
            ServiceRoute(method, path, lambda service, http, handler=handler: handler(http), in_spec=False)  # type: ignore[misc]
            for method, path, handler in rows
        ]

    async def read_board(self, http: HTTPRequest) -> Response:
        """Answer with the board, or that nothing on it has changed, or say where its link is."""
        if not await self._is_logged_in(http):
            return respond(http, "login.html", problem="")
        return await self._respond(http, notice=_notice(http))

    async def log_in(self, http: HTTPRequest) -> Response:
        """Start a session for whoever has the link with the token."""
        token = await self._service.store.run(read_board_token)
        if not _is_same(http.query_params.get("token", "").strip(), token):
            return respond(http, "login.html", status=401, problem="That is not the link of this board.")
        # A page that leads on, not a redirect: browsers send a strict cookie only where one of our own pages leads.
        response = respond(http, "opened.html")
        self._set_cookie(http, response, _sign_session(token), SESSION_SECONDS)
        return response

    async def log_out(self, http: HTTPRequest) -> Response:
        """End the session of this browser."""
        response = RedirectResponse("../class", 303)
        self._set_cookie(http, response, "", 0)
        return response

    async def change(self, http: HTTPRequest) -> Response:
        """Carry out an action on students: pause, resume, top up, or replace keys."""
        form = await http.form()
        try:
            action, chosen, amount = _read_action(form)
            if action == "replace" and not form.get("sure"):
                names = await self._service.store.run(chosen)
                return respond(http, "replace.html", names=names, most=MAX_LISTED)
            names, keys = await self._act_once(str(form.get("once", "")), action, chosen, amount)
        except BadAccounts as error:
            return await self._respond(http, status=422, notice=str(error), is_problem=True)
        if action == "replace":
            address = reachable_address(self._service.base_url or base_url(http))
            nonce = secrets.token_urlsafe(16)
            return respond_page(render_key_sheet(keys, address, nonce=nonce, back="../class"), nonce)
        return RedirectResponse(f"../class?{urlencode({'did': action, 'count': len(names), 'credits': amount})}", 303)

    async def export(self, http: HTTPRequest) -> Response:
        """Answer with the table of the class as CSV."""
        rows = await self._service.store.run(partial(read_class, now=self._service.settings.clock()))
        headers = {"content-disposition": 'attachment; filename="class.csv"', "cache-control": "no-store"}
        # With a byte order mark, by which spreadsheets know that it is UTF-8.
        return Response("\ufeff" + format_csv(rows), media_type="text/csv; charset=utf-8", headers=headers)

    async def read_result(self, http: HTTPRequest) -> Response:
        """Answer with the page of a result that is on the board."""
        name, result = await self._find_result(http)
        return respond(http, "result.html", name=name, result=result)

    async def read_media(self, http: HTTPRequest) -> Response:
        """Serve the file of a result that is on the board; its own address would work without a login."""
        _, result = await self._find_result(http)
        http.path_params["token"] = result.token
        return await file(self._service, http)

    async def _find_result(self, http: HTTPRequest) -> tuple[str, LastResult]:
        """Whose result it is that the path names, and the result."""
        request_id = http.path_params["request_id"]

        def find(db: sqlite3.Connection) -> tuple[str, LastResult | None]:
            row = db.execute("SELECT account FROM requests WHERE id = ?", (request_id,)).fetchone()
            return ("", None) if row is None else (row["account"], read_last_result(db, row["account"]))

        name, result = await self._service.store.run(find)
        if result is None or result.token is None or result.request_id != request_id:
            raise Refusal("not_found", "This result is not on the board any more: reload the class.")
        return name, result

    async def _respond(
        self, http: HTTPRequest, *, status: int = 200, notice: str = "", is_problem: bool = False
    ) -> Response:
        service, running = self._service, self._service.queue.count_running()

        def read(db: sqlite3.Connection) -> tuple[list[ClassRow], tuple[list[str], list[str]]]:
            return read_class(db, service.settings.clock(), running), describe_class(db)

        rows, (sentences, problems) = await service.store.run(read)
        facts = _facts(rows, service.queue.unfinished(), sentences, problems)
        headers = {"etag": f'"{hashlib.sha256(repr(facts).encode()).hexdigest()[:32]}"'}
        if http.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        response = respond(http, "board.html", status=status, notice=notice, is_problem=is_problem, **facts)
        response.headers.update(headers)
        return response

    async def _act_once(self, once: str, action: str, chosen: Choice, credits: int) -> tuple[list[str], list[NewKey]]:
        """The names and the new keys that an action was about; raises `BadAccounts` for a form that was sent already."""
        if not once or once in self._sent:
            words = "This form was already sent and carried out. Reload the page before you send another one."
            raise BadAccounts(words)
        self._sent.append(once)

        def work(db: sqlite3.Connection) -> tuple[list[str], list[NewKey]]:
            names = chosen(db)
            return names, act(db, self._service.settings.clock(), action, names, credits)

        try:
            return await asyncio.shield(self._service.store.run(work))
        except BadAccounts:
            self._sent.remove(once)
            raise

    def _for_session(self, handler: Handler) -> Handler:
        """A handler that answers only whoever is logged in."""

        async def call(http: HTTPRequest) -> Response:
            if await self._is_logged_in(http):
                return await handler(http)
            return respond(http, "login.html", status=401, problem="You are not logged in. Nothing was changed.")

        return call

    async def _is_logged_in(self, http: HTTPRequest) -> bool:
        token = await self._service.store.run(read_board_token)
        return _is_same(http.cookies.get(self._cookie_name, ""), _sign_session(token))

    def _set_cookie(self, http: HTTPRequest, response: Response, cookie: str, max_age: int) -> None:
        # Strict, and out of reach of scripts: with the check of the origin no page elsewhere can act for whoever is logged in.
        # No path: the browser takes the folder of this address, also behind a prefix, so that nobody else there gets it.
        is_secure = http.url.scheme == "https"
        response.set_cookie(
            self._cookie_name, cookie, max_age, path=None, secure=is_secure, httponly=True, samesite="strict"
        )


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


def _facts(rows: list[ClassRow], requests: list[Request], sentences: list[str], problems: list[str]) -> dict[str, Any]:
    active, paused = sum(row.active for row in rows), sum(row.paused for row in rows)
    summary = [
        format_count(len(rows), "student"),
        f"{sum(row.spent for row in rows):,} of {format_count(sum(row.budget for row in rows), 'credit')} spent",
        f"{sum(row.completed for row in rows):,} done",
        f"{active:,} queued or running",
        *([f"{paused:,} paused"] if paused else []),
        *(sentence.rstrip(".") for sentence in sentences),
    ]
    ordered = sorted(requests, key=_waits)
    runs = [
        ("◔ waiting" if _waits(request) else f"◑ {request.progress:.0%}", request.account, request.endpoint_id)
        for request in ordered[:MAX_QUEUED]
    ]
    return {
        "summary": summary,
        "problems": problems,
        "runs": runs,
        "more_runs": max(0, len(ordered) - MAX_QUEUED),
        "errors": _count_errors(rows),
        "groups": [(group, list(members)) for group, members in groupby(rows, lambda row: row.group)],
        "students": len(rows),
    }


def _waits(request: Request) -> bool:
    return request.status != IN_PROGRESS or request.waits_elsewhere


def _count_errors(rows: list[ClassRow]) -> list[tuple[int, str, str]]:
    """How often each kind of error happened, its name, and to whom; the most frequent one first."""
    by_kind: dict[str, Counter[str]] = {}
    for row in rows:
        for kind, number in row.errors.items():
            by_kind.setdefault(kind, Counter())[format_line(row.name)] += number
    errors = [
        (students.total(), kind, format_names([name for name, _ in students.most_common()]))
        for kind, students in by_kind.items()
    ]
    return sorted(errors, key=lambda error: (-error[0], error[1]))


def _read_action(form: FormData) -> tuple[str, Choice, int]:
    """The action that a form asks for, whom it is about, and how many credits it adds."""
    action, _, name = str(form.get("one", "")).partition(":")
    whom = "marked" if action else str(form.get("whom", ""))
    action = action or str(form.get("do", ""))
    names = [name] if name else list(map(str, form.getlist("name"))) if whom == "marked" else []
    if action not in BOARD_ACTIONS:
        raise BadAccounts("There is no such action. Nothing was changed.")
    if whom == "marked" and not names:
        raise BadAccounts("Nobody is selected: tick some students, or choose a group or all. Nothing was changed.")
    group = whom.removeprefix("group:") if whom.startswith("group:") else None
    text = str(form.get("credits", "")).strip() if action == "topup" else "0"
    if not is_count(text):
        raise BadAccounts("Say how many credits to add, as a whole number. Nothing was changed.")
    return action, partial(choose, names=names, group=group, everybody=whom == "all"), int(text)


def _notice(http: HTTPRequest) -> str:
    """What was done just now, from the address that an action leads to."""
    action, *counts = (http.query_params.get(name, "") for name in ("did", "count", "credits"))
    if action not in BOARD_ACTIONS or not all(map(is_count, counts)):
        return ""
    students, amount = map(int, counts)
    return describe(action, format_count(students, "student"), amount)
