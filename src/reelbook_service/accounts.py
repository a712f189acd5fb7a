"""Accounts: keys, permissions and credits.

The table `charges` is the only account of credits. It has a row for each of their movements, and only grows: what is granted
in all, or every week, as `grant`; what is added to it once as `topup`; and of each run a `reserve`, and then a `settle` of what it
cost, a `refund` of the rest, or both. `at` is the moment of the acceptance of the run, in whose week it counts.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from reelbook.errors import WHO_HELPS

from . import spec_decisions
from .limits import BadAccounts, Limits, Weekly, format_moment
from .refusals import Refusal
from .store import Store, read_fact

if TYPE_CHECKING:
    from .queue import Request

PERMISSIONS = ("run", "upload", "unchecked")
"""`run` and `upload` are granted by default; `unchecked` allows turning the safety checker off."""

DEFAULT_PERMISSIONS = ("run", "upload")
READABLE = "23456789abcdefghjkmnpqrstuvwxyz"
WEEK_SECONDS = 6 * 24 * 3600.0
"""A week lasts at least so long: the clock of the machine may move to another time zone, and no budget is filled twice then."""


@dataclass(frozen=True, slots=True)
class Account:
    """The name and permissions of one account."""

    name: str
    permissions: frozenset[str]
    key_hash: str = field(repr=False)
    """The hash of the key that a caller sent."""

    def require_permission(self, permission: str) -> None:
        """Raise a refusal unless this account has the permission."""
        if permission not in self.permissions:
            raise Refusal(
                "forbidden",
                f"The account {self.name!r} may not do that: it lacks the permission {permission!r}. {WHO_HELPS}",
            )


@dataclass(frozen=True, slots=True)
class NewAccount:
    """An account to be created or updated."""

    name: str
    key: str
    budget: int = spec_decisions.DEFAULT_GRANT
    permissions: tuple[str, ...] = DEFAULT_PERMISSIONS


def new_key() -> str:
    """A new random key, which can be typed from paper: 118 bits, in groups of four characters of which none resembles another."""
    characters = "".join(secrets.choice(READABLE) for _ in range(24))
    return "-".join(["rb", *(characters[start : start + 4] for start in range(0, 24, 4))])


@dataclass(frozen=True, slots=True)
class Credits:
    """What an account may spend and has spent: of the present week where its budget is weekly, else in all."""

    budget: int
    """All that it may spend, with what was added."""
    added: int
    """What was added to what it may spend in all or every week."""
    spent: int
    reserved: int
    """For runs that are queued or running."""

    @property
    def left(self) -> int:
        return max(0, self.budget - self.spent - self.reserved)


class Accounts:
    """All accounts of a service. The command `reelbook class` changes them too, so that each call looks its key up."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock

    def open(self, accounts: Iterable[NewAccount]) -> None:
        """Create accounts; those that exist get this key and these permissions, and their credits stay."""

        def insert(db: sqlite3.Connection) -> None:
            for account in accounts:
                refuse_taken_key(db, account.name, account.key)
                query = "INSERT INTO accounts (name, key_hash, permissions) VALUES (?, '', '') ON CONFLICT DO NOTHING"
                if db.execute(query, (account.name,)).rowcount:
                    record_charge(db, self._clock(), account.name, "", account.budget, "grant")
                query = "UPDATE accounts SET key_hash = ?, permissions = ?, removed = 0 WHERE name = ?"
                db.execute(query, (hash_key(account.key), " ".join(account.permissions), account.name))

        self._store.submit(insert).result()

    def has_some(self) -> bool:
        """Whether there is any account yet."""
        query = "SELECT 1 FROM accounts WHERE NOT removed"
        return self._store.submit(lambda db: db.execute(query).fetchone() is not None).result()

    async def find(self, key: str | None) -> Account:
        """The account of a key; raises a refusal for an unknown one."""
        if not key:
            raise Refusal("unauthorized", "This call needs a key: send it in the header x-api-key.")
        # Keys are random and long, so a plain hash is safe, and quick enough for every request.
        query, key_hash = "SELECT name, permissions FROM accounts WHERE key_hash = ? AND NOT removed", hash_key(key)
        row = await self._store.run(lambda db: db.execute(query, (key_hash,)).fetchone())
        if row is None:
            raise unknown_key()
        return Account(row["name"], frozenset(row["permissions"].split()), key_hash)

    def statement(self, db: sqlite3.Connection, account: Account) -> dict[str, Any]:
        """The available, reserved and spent credits of an account, and its permissions."""
        row, in_all = _read_row(db, account), sum_charges(db, account.name)
        return {
            "name": account.name,
            "credits_available": max(0, min(read_credits(db, row, self._clock()).left, read_shared_budget(db)[1])),
            "credits_reserved": in_all.reserved,
            "credits_spent": in_all.spent,
            "permissions": sorted(account.permissions),
            "limits": Limits.from_json(row["limits"]).describe(),
        }

    @staticmethod
    def reserve(db: sqlite3.Connection, account: Account, request: Request) -> None:
        """Reserve credits for a run; raises a refusal where the key, the limits or the credits do not allow it.

        All of it in one transaction, so that of two calls at once only one has the last place, and none is accepted once
        a key has been replaced.
        """
        name, now, price, row = account.name, request.created, request.credits, _read_row(db, account)
        if row["paused"]:
            words = f"The account {name!r} is paused: it cannot start runs now. Nothing was charged. {WHO_HELPS}"
            raise Refusal("forbidden", words)
        limits = Limits.from_json(row["limits"])
        query = "SELECT count(*) FROM requests WHERE account = ? AND finished IS NULL"
        limits.check(
            name, request.endpoint_id, now, 0 if limits.at_once is None else db.execute(query, (name,)).fetchone()[0]
        )
        left, (_, shared), again = read_credits(db, row, now).left, read_shared_budget(db), ""
        if limits.weekly:
            moment = format_moment(datetime.fromtimestamp(limits.weekly.next_moment(now)))
            again = f" Its budget is filled again on {moment}."
            began = week_start(row, limits.weekly, now)
            db.execute("UPDATE accounts SET refilled = ? WHERE name = ? AND refilled IS NOT ?", (began, name, began))
        for whose, available, more in (
            ("the account has", left, again),
            ("all accounts together have", max(0, shared), ""),
        ):
            if available < price:
                raise Refusal(
                    "insufficient_credits",
                    f"This run costs {price} credits and {whose} {available} left. Nothing was charged.{more} {WHO_HELPS}",
                    facts={"needed": price, "available": available},
                )
        record_charge(db, now, name, request.id, price, "reserve")

    @staticmethod
    def settle(db: sqlite3.Connection, request: Request, charged: int) -> None:
        """Charge as many of a run's reserved credits as `charged` says, and release the others."""
        spent = max(0, min(charged, request.credits))
        for kind, part in (("settle", spent), ("refund", request.credits - spent)):
            if part or (kind == "settle" and not request.credits):
                record_charge(db, request.created, request.account, request.id, part, kind)


def _read_row(db: sqlite3.Connection, account: Account) -> sqlite3.Row:
    """The row of an account; raises a refusal where its key has been replaced since the call came."""
    query = "SELECT * FROM accounts WHERE name = ? AND key_hash = ?"
    row: sqlite3.Row | None = db.execute(query, (account.name, account.key_hash)).fetchone()
    if row is None:
        raise unknown_key()
    return row


def read_account(db: sqlite3.Connection, name: str) -> Any:
    """The row of the account of this name; None if there is none."""
    return db.execute("SELECT * FROM accounts WHERE name = ?", (name,)).fetchone()


def sum_charges(db: sqlite3.Connection, name: str, since: float = 0.0) -> Credits:
    """The credits of an account by its charges since a moment; what was granted counts from the beginning."""
    query = (
        "SELECT kind, sum(credits) FROM charges WHERE account = ? AND kind IN ('grant', 'topup', 'reserve', 'settle', 'refund') "
        "AND (at >= ? OR kind = 'grant') GROUP BY kind"
    )
    sums = Counter(dict(map(tuple, db.execute(query, (name, since)))))
    reserved = sums["reserve"] - sums["settle"] - sums["refund"]
    return Credits(sums["grant"] + sums["topup"], sums["topup"], sums["settle"], reserved)


def read_credits(db: sqlite3.Connection, account: sqlite3.Row, now: float) -> Credits:
    """The credits of an account, given as its row."""
    weekly = Limits.from_json(account["limits"]).weekly
    return sum_charges(db, account["name"], week_start(account, weekly, now) if weekly else 0.0)


def read_shared_budget(db: sqlite3.Connection) -> tuple[int | None, int]:
    """What all accounts together may spend, ever, if that is limited, and how much of it is left.

    What they have spent and reserved counts, that of removed ones too. Below zero if it was more when it was limited.
    """
    most = read_fact(db, "shared budget")
    if most is None:
        return None, sys.maxsize
    query = "SELECT total(CASE kind WHEN 'reserve' THEN credits WHEN 'refund' THEN -credits END) FROM charges"
    return int(most), int(most) - int(db.execute(query).fetchone()[0])


def week_start(account: sqlite3.Row, weekly: Weekly, now: float) -> float:
    """When the present week of a weekly budget began."""
    last, moment = account["refilled"], weekly.last_moment(now)
    return moment if last is None or moment - last >= WEEK_SECONDS else float(last)


def may_be_unchecked(db: sqlite3.Connection, name: str) -> bool:
    """Whether the account of this name may turn the safety checker off at present."""
    row = db.execute("SELECT permissions FROM accounts WHERE name = ?", (name,)).fetchone()
    return row is not None and "unchecked" in row["permissions"].split()


def record_charge(db: sqlite3.Connection, at: float, account: str, request_id: str, credits: int, kind: str) -> None:
    """Add a row to the charges; one of nothing only for a run that costs nothing, which has ended all the same."""
    if credits or request_id:
        db.execute(
            "INSERT INTO charges (at, request_id, account, credits, kind) VALUES (?, ?, ?, ?, ?)",
            (at, request_id, account, credits, kind),
        )


def refuse_taken_key(db: sqlite3.Connection, name: str, key: str) -> None:
    """Raise `BadAccounts` if another account has this key."""
    query = "SELECT name FROM accounts WHERE key_hash = ? AND name <> ?"
    if taken := db.execute(query, (hash_key(key), name)).fetchone():
        raise BadAccounts(f"The accounts {taken['name']!r} and {name!r} have the same key; give each its own.")


def unknown_key() -> Refusal:
    """The refusal of a key that no account has."""
    words = "This key is not known here; it may have been replaced."
    return Refusal("unauthorized", words)


def hash_key(key: str) -> str:
    """The hash under which a key is stored."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()
