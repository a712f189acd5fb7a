"""The login of the board: its password, its sessions, and how often passwords may be tried."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import secrets
import sqlite3
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from ..accounts import READABLE
from ..store import Store

RECORD = "board"
"""The name of its secrets in the table `service`."""
SESSION_SECONDS = 12 * 3600.0
MAX_TRIES = 5
TRIES_SECONDS = 60.0
"""So many passwords may be tried from one address within so many seconds."""
MAX_ADDRESSES = 1_000
MAX_PASSWORD_CHARS = 200


@dataclass(frozen=True, slots=True)
class BoardSecrets:
    """The hash of the password, and the key that signs sessions; both are replaced together, so that old sessions end."""

    salt: str = field(repr=False)
    password_hash: str = field(repr=False)
    session_key: str = field(repr=False)

    def is_password(self, text: str) -> bool:
        """Whether this is the password; takes some 50 ms, on purpose."""
        return hmac.compare_digest(_hash_password(text, self.salt), self.password_hash)

    def make_session(self, now: float) -> str:
        """The cookie of a new session: when it ends, and a signature."""
        body = f"{int(now + SESSION_SECONDS)}.{secrets.token_hex(8)}"
        return f"{body}.{self._sign('session', body)}"

    def is_session(self, cookie: str, now: float) -> bool:
        """Whether this cookie was made with these secrets, and its session has not ended."""
        body, _, signature = cookie.rpartition(".")
        end = body.partition(".")[0]
        return (
            hmac.compare_digest(signature.encode("utf-8", "surrogateescape"), self._sign("session", body).encode())
            and end.isdecimal()
            and int(end) > now
        )

    def form_token(self, cookie: str) -> str:
        """What each form of a session carries, and no other page knows."""
        return self._sign("form", cookie)

    def _sign(self, purpose: str, text: str) -> str:
        message = f"{purpose}:{text}".encode("utf-8", "surrogateescape")
        return hmac.new(bytes.fromhex(self.session_key), message, "sha256").hexdigest()


def renew_password(db: sqlite3.Connection) -> str:
    """Make a new password and store its hash; everybody who was logged in is logged out."""
    password = "-".join("".join(secrets.choice(READABLE) for _ in range(4)) for _ in range(4))
    salt = secrets.token_hex(16)
    made = {
        "salt": salt,
        "password_hash": _hash_password(password, salt),
        "session_key": secrets.token_hex(32),
    }
    db.execute("INSERT OR REPLACE INTO service VALUES (?, ?)", (RECORD, json.dumps(made)))
    return password


def read_secrets(db: sqlite3.Connection) -> BoardSecrets | None:
    """The stored secrets; None if there has never been a password."""
    row = db.execute("SELECT value FROM service WHERE name = ?", (RECORD,)).fetchone()
    return None if row is None else BoardSecrets(**json.loads(row["value"]))


class BoardLogin:
    """Who is logged in at the board. Used from the service's event loop, except before it serves."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock
        self._secrets: BoardSecrets | None = None
        store.on_foreign_change(self._load)
        store.submit(self._load).result()
        self._tries: OrderedDict[str, list[float]] = OrderedDict()
        self._hashing = asyncio.Lock()

    def make_first_password(self) -> str | None:
        """The password, if this is the first start and it is made now; None if there is one already."""
        if self._secrets is not None:
            return None
        password = self._store.submit(renew_password).result()
        self._secrets = self._store.submit(read_secrets).result()
        return password

    def _load(self, db: sqlite3.Connection) -> None:
        self._secrets = read_secrets(db)

    def is_session(self, cookie: str) -> bool:
        """Whether this cookie is that of somebody who is logged in."""
        return self._secrets is not None and self._secrets.is_session(cookie, self._clock())

    def form_token(self, cookie: str) -> str:
        """What each form of this session carries."""
        return "" if self._secrets is None else self._secrets.form_token(cookie)

    def is_form_token(self, cookie: str, text: str) -> bool:
        """Whether a form was made for this session."""
        expected = self.form_token(cookie)
        return bool(expected) and hmac.compare_digest(expected.encode(), text.encode("utf-8", "surrogateescape"))

    def seconds_to_wait(self, address: str) -> float:
        """How long this address must wait before it may try a password; 0 if it may now, which then counts as a try."""
        now = self._clock()
        recent = [moment for moment in self._tries.pop(address, ()) if 0 <= now - moment < TRIES_SECONDS]
        wait = 0.0 if len(recent) < MAX_TRIES else recent[0] + TRIES_SECONDS - now
        if not wait:
            recent.append(now)
        self._tries[address] = recent
        if len(self._tries) > MAX_ADDRESSES:
            self._tries.popitem(last=False)
        return wait

    async def log_in(self, address: str, password: str) -> str | None:
        """The cookie of a new session; None for a wrong password."""
        current = self._secrets
        # One at a time: each takes a core for 50 ms, and 16 MiB.
        async with self._hashing:
            if current is None or len(password) > MAX_PASSWORD_CHARS:
                return None
            if not await asyncio.to_thread(current.is_password, password.strip()):
                return None
        self._tries.pop(address, None)
        return current.make_session(self._clock())


def _hash_password(text: str, salt: str) -> str:
    password = text.encode("utf-8", "surrogateescape")
    return hashlib.scrypt(password, salt=bytes.fromhex(salt), n=2**14, r=8, p=1, dklen=32).hex()
