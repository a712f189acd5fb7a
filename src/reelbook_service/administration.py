"""The administration of a service's accounts: of a running one by a call with the secret of its folder, else directly.

The lock of the folder decides which: whoever holds it is the only writer of the accounts, and the only one whose memory
of the keys counts. A second process that wrote to the database would leave a replaced key valid in the first one's memory.
"""

from __future__ import annotations

import hmac
import http.client
import json
import secrets
import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from reelbook.errors import FolderInUse, ReelbookError
from reelbook.util.replace_file import PRIVATE, replace_file

from .accounts import Accounts, BadAccounts
from .board.board_login import renew_password
from .class_actions import Chosen, NewKey, Student, add, pause, replace_keys, resume, top_up
from .class_rows import read_class
from .limits import BadLimit
from .store import FolderLock, Store

FILE = "administration.json"
PATH = "/class/actions"
HEADER = "x-class-secret"
CALL_SECONDS = 60.0
JOIN_SECONDS = 10.0
RETRY_SECONDS = 0.05


class AdministrationError(ReelbookError):
    """The accounts of a service could not be changed or read."""


@dataclass(frozen=True, slots=True)
class Administration:
    """Where a running service takes actions on its accounts, and the secret that it takes them with."""

    base_url: str
    secret: str = field(repr=False)
    names: tuple[str, ...] = ()
    """The host names by which clients call this machine."""

    @classmethod
    def publish(cls, data: Path, base_url: str, names: tuple[str, ...]) -> Administration:
        """A new secret, stored in the data folder, where only its owner can read it."""
        made = cls(base_url, secrets.token_urlsafe(32), names)
        replace_file(data / FILE, json.dumps(asdict(made)).encode(), mode=PRIVATE)
        return made

    @classmethod
    def read(cls, data: Path) -> Administration | None:
        """That of the service which ran last in a folder; None if there was none."""
        try:
            stored = json.loads((data / FILE).read_text(encoding="utf-8"))
            return cls(str(stored["base_url"]), str(stored["secret"]), tuple(stored.get("names", ())))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def is_secret(self, text: str | None) -> bool:
        """Whether a caller sent the secret."""
        return hmac.compare_digest((text or "").encode("utf-8", "surrogateescape"), self.secret.encode())


def perform(
    db: sqlite3.Connection, now: float, action: Mapping[str, Any], running: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """Carry out one action, given as JSON, and return its outcome as JSON; raises `BadAccounts` or `BadLimit`."""
    chosen = Chosen(tuple(action.get("names") or ()), action.get("group"), bool(action.get("all")))
    match action.get("action"):
        case "add":
            students = [Student(**student) for student in action["students"]]
            keys, changed = add(db, now, students, weekly=action.get("weekly"), limits=action.get("limits"))
            return {"keys": _as_json(keys), "changed": changed}
        case "topup":
            return {"changed": top_up(db, now, chosen, int(action["credits"]))}
        case "pause":
            return {"changed": pause(db, chosen)}
        case "resume":
            return {"changed": resume(db, chosen)}
        case "replace":
            return {"keys": _as_json(replace_keys(db, chosen))}
        case "board-password":
            return {"password": renew_password(db)}
        case "report":
            return {"rows": [row.to_json() for row in read_class(db, now, running, with_results=False)]}
    raise BadAccounts("There is no such action.")


def administer(data: Path, action: Mapping[str, Any], clock: Callable[[], float] = time.time) -> dict[str, Any]:
    """Carry out one action on the accounts of the service in a folder, whether it runs or not."""
    if not (data / "service.sqlite3").exists():
        raise AdministrationError(
            f"There is no service in {data}. Start one there with `reelbook serve --data {data}`, or name its folder with --data."
        )
    deadline = time.monotonic() + JOIN_SECONDS
    while True:
        try:
            lock = FolderLock(data)
        except FolderInUse:
            found = Administration.read(data)
            answer = _call(found, action) if found is not None else None
            if answer is not None:
                return answer
            if time.monotonic() > deadline:
                raise AdministrationError(
                    f"Another process uses the service in {data} and does not answer. Try again, or stop it first. Nothing was changed."
                ) from None
            time.sleep(RETRY_SECONDS)
            continue
        try:
            return _perform_here(data, action, clock)
        finally:
            lock.release()


def _perform_here(data: Path, action: Mapping[str, Any], clock: Callable[[], float]) -> dict[str, Any]:
    store = Store(data / "service.sqlite3")
    try:
        Accounts(store, data / "charges.jsonl", clock)
        return store.submit(lambda db: perform(db, clock(), action)).result()
    finally:
        store.close()


def _call(found: Administration, action: Mapping[str, Any]) -> dict[str, Any] | None:
    """The outcome of an action by a running service; None if it is not reached, or not the one of this folder."""
    parts = urlsplit(found.base_url)
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(parts.hostname or "", parts.hostname or "")
    connection = http.client.HTTPConnection(host, parts.port, timeout=CALL_SECONDS)
    try:
        connection.connect()
    except OSError:
        return None
    try:
        headers = {"content-type": "application/json", HEADER: found.secret}
        connection.request("POST", PATH, json.dumps(action), headers)
        response = connection.getresponse()
        status, body = response.status, json.loads(response.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise AdministrationError(
            f"The service's answer was lost ({type(error).__name__}). It may have done this: `reelbook class report` shows it. "
            "Keys that were lost that way are made anew with `reelbook class replace`."
        ) from None
    finally:
        connection.close()
    if status == 401:
        return None  # Another service by now, or this one has just been started again with a new secret.
    if status == 404:
        raise AdministrationError(
            "This service answers with only what the specification shows. Stop it to change its accounts, then start it again."
        )
    if status != 200:
        raise BadAccounts(str(body.get("detail", "The service refused it.")))
    return dict(body)


def _as_json(keys: list[NewKey]) -> list[dict[str, str]]:
    return [asdict(key) for key in keys]


ERRORS = (BadAccounts, BadLimit)
"""What an action raises where its options are wrong; nothing was changed then."""
