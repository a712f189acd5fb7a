"""Who may see the board: whoever has the link with its token, as `reelbook serve` and `reelbook class board` print it."""

from __future__ import annotations

import hmac
import secrets
import sqlite3
from collections.abc import Callable

from ..store import Store

RECORD = "board token"
"""The name of the token in the table `service`."""
SESSION_SECONDS = 12 * 3600.0


def read_token(db: sqlite3.Connection, *, new: bool = False) -> str:
    """The token of the board, which is made if there is none; a `new` one ends all sessions."""
    row = db.execute("SELECT value FROM service WHERE name = ?", (RECORD,)).fetchone()
    if row is not None and not new:
        return str(row["value"])
    token = secrets.token_urlsafe(24)
    db.execute("INSERT OR REPLACE INTO service VALUES (?, ?)", (RECORD, token))
    return token


class BoardLogin:
    """The token and its sessions. A session is a cookie that says when it ends, signed with the token."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.token = ""
        store.on_foreign_change(self._load)
        store.submit(self._load).result()

    def _load(self, db: sqlite3.Connection) -> None:
        self.token = read_token(db)

    def is_token(self, text: str) -> bool:
        """Whether this is the token of the board."""
        return hmac.compare_digest(text.strip().encode("utf-8", "surrogateescape"), self.token.encode())

    def make_session(self) -> str:
        """The cookie of a new session."""
        end = str(int(self._clock() + SESSION_SECONDS))
        return f"{end}.{self._sign(end)}"

    def is_session(self, cookie: str) -> bool:
        """Whether this cookie was made with the present token, and its session has not ended."""
        end, _, signature = cookie.partition(".")
        is_ours = hmac.compare_digest(signature.encode("utf-8", "surrogateescape"), self._sign(end).encode())
        return is_ours and int(end) > self._clock()

    def _sign(self, text: str) -> str:
        return hmac.new(self.token.encode(), text.encode("utf-8", "surrogateescape"), "sha256").hexdigest()
