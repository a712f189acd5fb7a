"""What a teacher does with the accounts of a class: add, top up, pause, resume, replace keys.

Each action is a function of the database and of options; its changes belong to one transaction, all or none.
"""

from __future__ import annotations

import difflib
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .accounts import DEFAULT_PERMISSIONS, BadAccounts, hash_key, new_readable_key, refill
from .class_rows import STAFF
from .limits import NONE, Limits, parse_week

MAX_NAME_CHARS = 100
MAX_CREDITS = 10**12


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which accounts an action is about: some by name, those of a group, or all of the class."""

    names: Sequence[str] = ()
    group: str | None = None
    all: bool = False

    def resolve(self, db: sqlite3.Connection) -> list[str]:
        """The names of the accounts; raises `BadAccounts` for an unknown name and for an empty group."""
        rows = db.execute("SELECT name, class_group FROM accounts ORDER BY class_group, name").fetchall()
        if self.names:
            known = [row["name"] for row in rows]
            for name in self.names:
                if name not in known:
                    near = difflib.get_close_matches(name, known, 1)
                    advice = f" Did you mean {near[0]!r}?" if near else " `reelbook class report` lists all."
                    raise BadAccounts(f"There is no account {name[:MAX_NAME_CHARS]!r}; nothing was changed.{advice}")
            return list(dict.fromkeys(self.names))
        if self.group is None and not self.all:
            raise BadAccounts("Say whom: some names, or a group, or all. Nothing was changed.")
        found = [
            row["name"]
            for row in rows
            if row["name"] not in STAFF and (self.group is None or row["class_group"] == self.group)
        ]
        if not found:
            where = "in this class" if self.group is None else f"in the group {self.group[:MAX_NAME_CHARS]!r}"
            raise BadAccounts(f"There are no accounts {where} yet; nothing was changed.")
        return found


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was made just now; only its hash is stored."""

    name: str
    group: str
    key: str


@dataclass(frozen=True, slots=True)
class Student:
    """An account to be added, or one whose limits change; what is None stays as it is."""

    name: str
    group: str | None = None
    budget: int | None = None
    key: str | None = None
    """Its own key, in place of a new one."""
    permissions: tuple[str, ...] | None = None


def add(
    db: sqlite3.Connection,
    now: float,
    students: Sequence[Student],
    *,
    weekly: str | None = None,
    limits: Mapping[str, str] | None = None,
) -> tuple[list[NewKey], list[str]]:
    """Add accounts, and change those that exist; returns the new keys, and the names of the changed ones.

    An account that exists keeps its key, its runs and what it has spent; what is not given stays as it is.
    """
    keys, changed = [], []
    names = [student.name for student in students]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise BadAccounts(f"The name {twice!r} is there twice; nothing was changed.")
    for student in students:
        _check_student(student)
        if db.execute("SELECT 1 FROM accounts WHERE name = ?", (student.name,)).fetchone():
            changed.append(student.name)
            if student.key:
                _set_key(db, student.name, student.key)
        else:
            if student.budget is None:
                words = "say how many credits it may spend, such as --budget 530. Nothing was changed."
                raise BadAccounts(f"The account {student.name!r} is new: {words}")
            key = student.key or new_readable_key()
            keys.append(NewKey(student.name, student.group or "", key))
            _refuse_taken_key(db, student.name, key)
            db.execute(
                "INSERT INTO accounts (name, key_hash, permissions, granted) VALUES (?, ?, ?, ?)",
                (student.name, hash_key(key), " ".join(DEFAULT_PERMISSIONS), student.budget),
            )
        _change(db, now, student, weekly, limits or {})
    return keys, changed


def top_up(db: sqlite3.Connection, now: float, chosen: Chosen, credits: int) -> list[str]:
    """Add credits to what the accounts may spend; returns their names. Weekly budgets have them until they are spent."""
    if not 0 < credits <= MAX_CREDITS:
        raise BadAccounts(f"{credits} is not a number of credits to add; nothing was changed.")
    names = chosen.resolve(db)
    for name in names:
        refill(db, name, now)
        db.execute("UPDATE accounts SET granted = granted + ? WHERE name = ?", (credits, name))
    return names


def pause(db: sqlite3.Connection, chosen: Chosen) -> list[str]:
    """Let the accounts start no more runs; returns their names. Runs that were accepted go on."""
    return _set_paused(db, chosen, True)


def resume(db: sqlite3.Connection, chosen: Chosen) -> list[str]:
    """Let paused accounts start runs again; returns their names."""
    return _set_paused(db, chosen, False)


def replace_keys(db: sqlite3.Connection, chosen: Chosen) -> list[NewKey]:
    """Replace the keys of the accounts; the old ones are refused at once, and runs, files and budgets stay."""
    keys = []
    for name in chosen.resolve(db):
        group = db.execute("SELECT class_group FROM accounts WHERE name = ?", (name,)).fetchone()["class_group"]
        keys.append(NewKey(name, group, new_readable_key()))
        _set_key(db, name, keys[-1].key)
    return keys


def _set_paused(db: sqlite3.Connection, chosen: Chosen, paused: bool) -> list[str]:
    names = chosen.resolve(db)
    for name in names:
        db.execute("UPDATE accounts SET paused = ? WHERE name = ?", (int(paused), name))
    return names


def _check_student(student: Student) -> None:
    name = student.name
    if not name.strip() or name != name.strip() or not name.isprintable() or len(name) > MAX_NAME_CHARS:
        raise BadAccounts(
            f"{name[:MAX_NAME_CHARS]!r} is not a name: it has 1 to {MAX_NAME_CHARS} printable characters. Nothing was changed."
        )
    if name in STAFF:
        raise BadAccounts(f"The name {name!r} is that of an account of the service itself. Choose another one.")
    if student.budget is not None and not 0 <= student.budget <= MAX_CREDITS:
        raise BadAccounts(f"The budget {student.budget} of {name!r} is not a number of credits. Nothing was changed.")


def _set_key(db: sqlite3.Connection, name: str, key: str) -> None:
    _refuse_taken_key(db, name, key)
    db.execute("UPDATE accounts SET key_hash = ? WHERE name = ?", (hash_key(key), name))


def _refuse_taken_key(db: sqlite3.Connection, name: str, key: str) -> None:
    query = "SELECT name FROM accounts WHERE key_hash = ? AND name <> ?"
    if taken := db.execute(query, (hash_key(key), name)).fetchone():
        raise BadAccounts(f"The accounts {taken['name']!r} and {name!r} have the same key; give each its own.")


def _change(
    db: sqlite3.Connection, now: float, student: Student, weekly: str | None, options: Mapping[str, str]
) -> None:
    """Store the group, permissions, budget and limits of an account, as far as they are given."""
    name = student.name
    refill(db, name, now)
    row = db.execute("SELECT * FROM accounts WHERE name = ?", (name,)).fetchone()
    limits = Limits.from_json(row["limits"]).changed(options)
    budget, week = student.budget, limits.weekly
    if weekly is not None and weekly.strip().lower() == NONE:
        week = None
    elif weekly is not None:
        weeks = budget if budget is not None else week.budget if week else row["granted"] - row["used_before"]
        week = parse_week(weekly, weeks)
    elif week is not None and budget is not None:
        week = replace(week, budget=budget)
    if student.group is not None:
        db.execute("UPDATE accounts SET class_group = ? WHERE name = ?", (student.group, name))
    if student.permissions is not None:
        db.execute("UPDATE accounts SET permissions = ? WHERE name = ?", (" ".join(student.permissions), name))
    if budget is not None:
        # Of the present week, where there are weeks.
        db.execute("UPDATE accounts SET granted = used_before + ? WHERE name = ?", (budget, name))
    if week is not None and (limits.weekly is None or str(week) != str(limits.weekly)):
        # The first week begins now, with what the account may spend at present; runs under way belong to it.
        filled, was = week.last_moment(now), row["refilled"]
        db.execute("UPDATE accounts SET refilled = ? WHERE name = ?", (filled, name))
        moved = "UPDATE requests SET period = ? WHERE account = ? AND finished IS NULL AND period IS ?"
        db.execute(moved, (filled, name, was))
    stored = replace(limits, weekly=week).to_json()
    db.execute("UPDATE accounts SET limits = ? WHERE name = ?", (stored, name))
