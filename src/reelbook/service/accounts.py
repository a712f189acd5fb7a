"""Accounts: keys, permissions, credits and the log of charges."""

from __future__ import annotations

import csv
import hashlib
import json
import secrets
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import ReelbookError
from . import spec_decisions
from .refusals import Refusal
from .store import Store

PERMISSIONS = ("run", "upload", "unchecked")
"""`run` and `upload` are granted by default; `unchecked` allows turning the safety checker off."""

DEFAULT_PERMISSIONS = ("run", "upload")


class BadAccounts(ReelbookError, ValueError):
    """A list of accounts with errors."""


@dataclass(frozen=True, slots=True)
class Account:
    """The name and permissions of one account."""

    name: str
    permissions: frozenset[str]

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
        account = self._by_hash.get(_hash(key))
        if account is None:
            raise Refusal(
                "unauthorized", "This key is not known here. Check that it is complete and belongs to this service."
            )
        return account

    def statement(self, db: sqlite3.Connection, account: Account) -> dict[str, Any]:
        """The available, reserved and spent credits of an account, and its permissions."""
        row = db.execute("SELECT granted, reserved, spent FROM accounts WHERE name = ?", (account.name,)).fetchone()
        return {
            "name": account.name,
            "credits_available": row["granted"] - row["reserved"] - row["spent"],
            "credits_reserved": row["reserved"],
            "credits_spent": row["spent"],
            "permissions": sorted(account.permissions),
        }

    def reserve(self, db: sqlite3.Connection, account: str, request_id: str, credits: int) -> None:
        """Reserve credits for a run; raises a refusal where the account has too few."""
        moved = db.execute(
            "UPDATE accounts SET reserved = reserved + ? WHERE name = ? AND granted - reserved - spent >= ?",
            (credits, account, credits),
        )
        if moved.rowcount == 0:
            row = db.execute("SELECT granted - reserved - spent FROM accounts WHERE name = ?", (account,)).fetchone()
            raise Refusal(
                "insufficient_credits",
                f"This run costs {credits} credits and the account has {row[0]} left. Nothing was charged.",
                facts={"needed": credits, "available": row[0]},
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
            self._record_charge(db, account, request_id, reserved - spent, "refund")

    def _record_charge(self, db: sqlite3.Connection, account: str, request_id: str, credits: int, kind: str) -> None:
        db.execute(
            "INSERT INTO charges (at, request_id, account, credits, kind) VALUES (?, ?, ?, ?, ?)",
            (self._clock(), request_id, account, credits, kind),
        )

    def _upsert(self, db: sqlite3.Connection, *, account: NewAccount, grant_again: bool) -> None:
        granted = "excluded.granted" if grant_again else "granted"
        taken = db.execute("SELECT name FROM accounts WHERE key_hash = ?", (_hash(account.key),)).fetchone()
        if taken and taken["name"] != account.name:
            raise BadAccounts(
                f"The accounts {taken['name']!r} and {account.name!r} have the same key; give each its own."
            )
        db.execute(
            "INSERT INTO accounts (name, key_hash, permissions, granted) VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
            f"key_hash = excluded.key_hash, permissions = excluded.permissions, granted = {granted}",
            (account.name, _hash(account.key), " ".join(account.permissions), account.budget),
        )

    def _load(self, db: sqlite3.Connection) -> None:
        rows = db.execute("SELECT name, key_hash, permissions FROM accounts").fetchall()
        self._by_hash = {row["key_hash"]: Account(row["name"], frozenset(row["permissions"].split())) for row in rows}

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


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()
