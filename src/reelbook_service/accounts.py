"""Accounts: keys, permissions, credits and the log of charges."""

from __future__ import annotations

import csv
import hashlib
import json
import secrets
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from reelbook.errors import ReelbookError

from . import spec_decisions
from .limits import WHO_HELPS, Limits, format_moment
from .refusals import Refusal
from .store import Store

T = TypeVar("T")

PERMISSIONS = ("run", "upload", "unchecked")
"""`run` and `upload` are granted by default; `unchecked` allows turning the safety checker off."""

DEFAULT_PERMISSIONS = ("run", "upload")
READABLE = "23456789abcdefghjkmnpqrstuvwxyz"


class BadAccounts(ReelbookError, ValueError):
    """A list of accounts with errors."""


@dataclass(frozen=True, slots=True)
class Account:
    """The name and permissions of one account."""

    name: str
    permissions: frozenset[str]
    key_hash: str = field(default="", repr=False)
    """The hash of the key that a caller sent."""

    def require_permission(self, permission: str) -> None:
        """Raise a refusal unless this account has the permission."""
        if permission not in self.permissions:
            raise Refusal(
                "forbidden",
                f"The account {self.name!r} may not do that: it lacks the permission {permission!r}. Ask whoever runs the service.",
            )


@dataclass(frozen=True, slots=True)
class NewAccount:
    """An account to be created or updated."""

    name: str
    key: str
    budget: int = spec_decisions.DEFAULT_GRANT
    permissions: tuple[str, ...] = DEFAULT_PERMISSIONS
    has_generated_key: bool = False
    """Whether nobody has seen the key yet."""


def read_accounts(path: Path, budget: int = spec_decisions.DEFAULT_GRANT) -> list[NewAccount]:
    """The accounts of a CSV file with the columns name[,key][,budget][,permissions]; missing keys are generated."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadAccounts(f"The accounts in {path} could not be read: {error}.") from error
    accounts = [_account(path, number, row, budget) for number, row in enumerate(rows, 2)]
    names = [account.name for account in accounts]
    twice = sorted({name for name in names if names.count(name) > 1})
    if not accounts or twice:
        problem = f"the name {twice[0]!r} stands in it twice" if twice else "it has no rows under the heading `name`"
        raise BadAccounts(f"The accounts in {path} cannot be used: {problem}.")
    return accounts


def _account(path: Path, line: int, row: dict[str, str | None], budget: int) -> NewAccount:
    def cell(column: str) -> str:
        return (row.get(column) or "").strip()

    name, permissions = cell("name"), tuple(cell("permissions").replace(";", " ").split()) or DEFAULT_PERMISSIONS
    unknown = [permission for permission in permissions if permission not in PERMISSIONS]
    if not name or unknown:
        problem = f"permissions are {', '.join(PERMISSIONS)}, not {unknown[0]!r}" if unknown else "`name` is empty"
        raise BadAccounts(f"{path}, line {line}: {problem}.")
    if cell("budget") and not cell("budget").isdecimal():
        raise BadAccounts(f"{path}, line {line}: the budget {cell('budget')!r} is not a whole number of credits.")
    key = cell("key")
    return NewAccount(name, key or new_key(), int(cell("budget") or budget), permissions, has_generated_key=not key)


def new_key() -> str:
    """A new random key."""
    return f"rb_{secrets.token_urlsafe(24)}"


def new_readable_key() -> str:
    """A new random key to be typed from paper: 118 bits, in groups of four characters of which none resembles another."""
    characters = "".join(secrets.choice(READABLE) for _ in range(24))
    return "-".join(["rb", *(characters[start : start + 4] for start in range(0, 24, 4))])


class Accounts:
    """All accounts of a service, and their log of charges."""

    def __init__(self, store: Store, log: Path, clock: Callable[[], float]) -> None:
        self._store, self._log, self._clock = store, log, clock
        # Keys are random and long, so a plain hash is safe, and quick enough for every request.
        self._by_hash: dict[str, Account] = {}
        self._written = 0
        self._log_is_complete = True
        store.submit(self._repair_log).result()
        store.after_commit(self._write_log)
        store.submit(self._load).result()

    def open(self, accounts: Iterable[NewAccount], *, grant_again: bool = True) -> None:
        """Create or update accounts; what they have spent is preserved."""
        for account in accounts:
            self._store.submit(partial(self._upsert, account=account, grant_again=grant_again)).result()
        self._store.submit(self._load).result()

    async def change(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run a change of accounts in the next commit; on return their keys are those of the database."""
        try:
            return await self._store.run(work)
        finally:
            await self._store.run(self._load)

    @property
    def names(self) -> list[str]:
        """The names of all accounts."""
        return sorted(account.name for account in self._by_hash.values())

    def permissions_of(self, name: str) -> frozenset[str]:
        """The current permissions of the account of this name."""
        return next((account.permissions for account in self._by_hash.values() if account.name == name), frozenset())

    def identify(self, key: str | None) -> Account:
        """The account of a key; raises a refusal for an unknown one."""
        if not key:
            raise Refusal("unauthorized", "This call needs a key: send it in the header x-api-key.")
        account = self._by_hash.get(hash_key(key))
        if account is None:
            raise unknown_key()
        return account

    def statement(self, db: sqlite3.Connection, account: Account) -> dict[str, Any]:
        """The available, reserved and spent credits of an account, and its permissions."""
        refill(db, account.name, self._clock())
        query = "SELECT granted, reserved, spent, limits FROM accounts WHERE name = ?"
        row = db.execute(query, (account.name,)).fetchone()
        return {
            "name": account.name,
            "credits_available": row["granted"] - row["reserved"] - row["spent"],
            "credits_reserved": row["reserved"],
            "credits_spent": row["spent"],
            "permissions": sorted(account.permissions),
            "limits": Limits.from_json(row["limits"]).describe(),
        }

    def admit(self, db: sqlite3.Connection, account: Account, endpoint_id: str) -> float | None:
        """Raise a refusal unless the key and the limits of an account allow one more run; returns the start of its week.

        In the transaction that reserves the run's credits, so that of two calls at once only one has the last place, and
        none is accepted once a key has been replaced.
        """
        query = "SELECT key_hash, paused, limits, refilled FROM accounts WHERE name = ?"
        row = db.execute(query, (account.name,)).fetchone()
        if row is None or account.key_hash not in ("", row["key_hash"]):
            raise unknown_key()
        if row["paused"]:
            words = f"The account {account.name!r} is paused: it may start no runs at present. Nothing was charged. {WHO_HELPS}"
            raise Refusal("forbidden", words)
        if not row["limits"]:
            return None if row["refilled"] is None else float(row["refilled"])
        limits, now = Limits.from_json(row["limits"]), self._clock()
        limits.check(account.name, endpoint_id, now)
        if limits.at_once is not None:
            query = "SELECT count(*) FROM requests WHERE account = ? AND finished IS NULL"
            limits.check_count(account.name, db.execute(query, (account.name,)).fetchone()[0])
        return refill(db, account.name, now)

    def reserve(self, db: sqlite3.Connection, account: str, request_id: str, credits: int) -> None:
        """Reserve credits for a run; raises a refusal where the account has too few."""
        moved = db.execute(
            "UPDATE accounts SET reserved = reserved + ? WHERE name = ? AND granted - reserved - spent >= ?",
            (credits, account, credits),
        )
        if moved.rowcount == 0:
            query = "SELECT granted - reserved - spent AS available, limits FROM accounts WHERE name = ?"
            row = db.execute(query, (account,)).fetchone()
            weekly = Limits.from_json(row["limits"]).weekly
            again = (
                f" Its budget of {weekly.budget} is filled again on {format_moment(datetime.fromtimestamp(weekly.next_moment(self._clock())))}."
                if weekly
                else ""
            )
            raise Refusal(
                "insufficient_credits",
                f"This run costs {credits} credits and the account has {row['available']} left. Nothing was charged.{again} {WHO_HELPS}",
                facts={"needed": credits, "available": row["available"]},
            )
        self._record_charge(db, account, request_id, credits, "reserve")

    def settle(
        self, db: sqlite3.Connection, account: str, request_id: str, reserved: int, charged: int | None = None
    ) -> None:
        """Charge a run's reserved credits, or as many of them as `charged` says, and release the others."""
        spent = reserved if charged is None else max(0, min(charged, reserved))
        db.execute(
            "UPDATE accounts SET reserved = reserved - ?, spent = spent + ? WHERE name = ?", (reserved, spent, account)
        )
        if spent or not reserved:
            self._record_charge(db, account, request_id, spent, "settle")
        if spent < reserved:
            self._void_refund_of_earlier_week(db, account, request_id, reserved - spent)
            self._record_charge(db, account, request_id, reserved - spent, "refund")

    def _void_refund_of_earlier_week(self, db: sqlite3.Connection, account: str, request_id: str, refund: int) -> None:
        """Take what is given back for a run of an earlier week from the budget, which was filled again since."""
        refill(db, account, self._clock())
        row = db.execute("SELECT period FROM requests WHERE id = ?", (request_id,)).fetchone()
        if row is not None:
            db.execute(
                "UPDATE accounts SET granted = granted - ?, used_before = used_before - ? WHERE name = ? AND refilled IS NOT ?",
                (refund, refund, account, row["period"]),
            )

    def _record_charge(self, db: sqlite3.Connection, account: str, request_id: str, credits: int, kind: str) -> None:
        db.execute(
            "INSERT INTO charges (at, request_id, account, credits, kind) VALUES (?, ?, ?, ?, ?)",
            (self._clock(), request_id, account, credits, kind),
        )

    def _upsert(self, db: sqlite3.Connection, *, account: NewAccount, grant_again: bool) -> None:
        granted = "used_before + excluded.granted" if grant_again else "granted"
        taken = db.execute("SELECT name FROM accounts WHERE key_hash = ?", (hash_key(account.key),)).fetchone()
        if taken and taken["name"] != account.name:
            raise BadAccounts(
                f"The accounts {taken['name']!r} and {account.name!r} have the same key; give each its own."
            )
        db.execute(
            "INSERT INTO accounts (name, key_hash, permissions, granted) VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
            f"key_hash = excluded.key_hash, permissions = excluded.permissions, granted = {granted}",
            (account.name, hash_key(account.key), " ".join(account.permissions), account.budget),
        )

    def _load(self, db: sqlite3.Connection) -> None:
        rows = db.execute("SELECT name, key_hash, permissions FROM accounts").fetchall()
        self._by_hash = {
            row["key_hash"]: Account(row["name"], frozenset(row["permissions"].split()), row["key_hash"])
            for row in rows
        }

    def _repair_log(self, db: sqlite3.Connection) -> None:
        """Bring the log in line with the database after a crash between their writes."""
        text = self._log.read_bytes() if self._log.exists() else b""
        complete = text[: text.rfind(b"\n") + 1]
        if complete != text:
            self._log.write_bytes(complete)  # A line truncated by a crash is written again.
        # Rows are only ever added, so the number of lines is the number of rows already written.
        self._written = complete.count(b"\n")
        self._append_charges(db)

    def _append_charges(self, db: sqlite3.Connection) -> None:
        rows = db.execute(
            "SELECT at, request_id, account, credits, kind FROM charges WHERE seq > ? ORDER BY seq", (self._written,)
        ).fetchall()
        if rows:
            with self._log.open("a", encoding="utf-8") as log:
                log.write("".join(json.dumps(dict(row)) + "\n" for row in rows))
            self._written += len(rows)

    def _write_log(self, db: sqlite3.Connection) -> None:
        try:
            self._append_charges(db) if self._log_is_complete else self._repair_log(db)
            self._log_is_complete = True
        except OSError:
            # The credits are safe in the database; the log is repaired at the next commit that can write it.
            self._log_is_complete = False


def refill(db: sqlite3.Connection, name: str, now: float) -> float | None:
    """Fill a weekly budget if its moment has passed since it was last filled; returns when it was last filled."""
    row = db.execute("SELECT limits, refilled FROM accounts WHERE name = ?", (name,)).fetchone()
    weekly = Limits.from_json(row["limits"]).weekly
    last: float | None = row["refilled"]
    if weekly is None or (last is not None and weekly.last_moment(now) <= last):
        return last
    filled = weekly.last_moment(now)
    db.execute(
        "UPDATE accounts SET refilled = ?, granted = max(granted, reserved + spent + ?), used_before = reserved + spent "
        "WHERE name = ?",
        (filled, weekly.budget, name),
    )
    return filled


def unknown_key() -> Refusal:
    """The refusal of a key that no account has."""
    words = (
        "This key is not known here. Check that it is complete and belongs to this service; it may have been replaced."
    )
    return Refusal("unauthorized", words)


def hash_key(key: str) -> str:
    """The hash under which a key is stored."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()
