"""What the board displays: the class as its template takes it, read once a second at most however many boards are open."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import sqlite3
import time
from collections import Counter, deque
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup
from starlette.requests import Request as HTTPRequest
from starlette.responses import HTMLResponse

from reelbook.models.queue_status import IN_PROGRESS
from reelbook.util.printable import format_count, format_line

from ..class_admin import read_board_token
from ..class_report import ClassRow, LastResult, describe_class, format_time, read_class
from ..queue import Request
from ..refusals import Refusal

if TYPE_CHECKING:
    from ..core import Service

FOLDER = Path(__file__).parent
INTERVAL_SECONDS = 1.0
MAX_REMEMBERED = 1_000
MAX_QUEUED = 12
"""How many runs the queue lists; the others are counted."""
MAX_NAMES = 5
"""How many students are named beside each kind of error."""


def format_moment(seconds: float) -> Markup:
    """A moment of the service's own clock."""
    moment = datetime.fromtimestamp(seconds).isoformat(timespec="minutes")
    return Markup('<time datetime="{}">{}</time>').format(moment, format_time(seconds))


_templates = jinja2.Environment(
    loader=jinja2.FileSystemLoader(FOLDER / "templates"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
)
_templates.filters |= {"moment": format_moment, "line": format_line, "kind": lambda text: text.replace("_", " ")}
_templates.globals |= {
    "count": format_count,
    "style": Markup((FOLDER / "board.css").read_text(encoding="utf-8")),
    "script": Markup((FOLDER / "board.js").read_text(encoding="utf-8")),
}


def respond(http: HTTPRequest, template: str, *, status: int = 200, **facts: Any) -> HTMLResponse:
    """A page with our own style and script: nothing else runs or loads."""
    # Its addresses are relative to the folder of `/class`, so that they hold behind a prefix too.
    facts["above"] = "../" * (http.scope["path"].count("/") - 1)
    nonce, once = secrets.token_urlsafe(16), secrets.token_hex(8)
    page = _templates.get_template(template).render(nonce=nonce, once=once, **facts)
    return respond_page(page, nonce, status)


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


class Board:
    """The class as the template takes it, and who may see it: whoever has the link with its token."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._read_at: float | None = None
        self._facts: dict[str, Any] = {}
        self.rows: list[ClassRow] = []
        self.etag = ""
        """Another one whenever the board shows something else."""
        self.reads = 0
        """How often the class was read."""
        self.sent: deque[str] = deque(maxlen=MAX_REMEMBERED)
        """The forms that were sent already: a double click must not top up twice."""

    @property
    def token(self) -> str:
        """The token that opens it, for whoever starts the service."""
        return self._service.store.submit(read_board_token).result()

    async def is_token(self, text: str) -> bool:
        """Whether this is the token of the board."""
        token = await self._service.store.run(read_board_token)
        return hmac.compare_digest(text.strip().encode("utf-8", "surrogateescape"), token.encode())

    async def make_cookie(self) -> str:
        """What the cookie of a session says; another token ends all sessions."""
        token = await self._service.store.run(read_board_token)
        return hmac.new(token.encode(), b"session", "sha256").hexdigest()

    def expire(self) -> None:
        """Have the class read again at once, because an action changed it."""
        self._read_at = None

    async def read(self) -> dict[str, Any]:
        """The facts for the template, of the last second."""
        if self._read_at is None or time.monotonic() - self._read_at >= INTERVAL_SECONDS:
            self._read_at = time.monotonic()
            self.reads += 1
            service, running = self._service, self._service.queue.count_running()

            def read(db: sqlite3.Connection) -> tuple[list[ClassRow], tuple[list[str], list[str]]]:
                return read_class(db, service.settings.clock(), running), describe_class(db)

            self.rows, (sentences, problems) = await service.store.run(read)
            self._facts = _facts(self.rows, service.queue.unfinished(), sentences, problems)
            self.etag = f'"{hashlib.sha256(repr(self._facts).encode()).hexdigest()[:32]}"'
        return self._facts

    async def find_result(self, request_id: str) -> tuple[ClassRow, LastResult]:
        """A result that is on the board, with its student; raises a refusal for any other."""
        await self.read()
        for row in self.rows:
            result = row.last_result
            if result is not None and result.request_id == request_id and result.token is not None:
                return row, result
        raise Refusal("not_found", "This result is not on the board any more: reload the class.")


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
        "has_groups": any(row.group for row in rows),
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
    errors = []
    for kind, students in by_kind.items():
        names = [name for name, _ in students.most_common()]
        rest = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
        errors.append((students.total(), kind, ", ".join(names[:MAX_NAMES]) + rest))
    return sorted(errors, key=lambda error: (-error[0], error[1]))
