"""What a teacher does with the accounts of a class: add, limit, top up, pause, replace keys, remove; and lists of students.

Each action is a function of the database and of options; its changes belong to one transaction, all or none.
"""

from __future__ import annotations

import csv
import json
import re
import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from reelbook.util.printable import format_count, suggest

from .accounts import (
    DEFAULT_PERMISSIONS,
    PERMISSIONS,
    hash_key,
    new_key,
    read_account,
    read_credits,
    read_shared_budget,
    record_charge,
    refuse_taken_key,
    sum_charges,
)
from .limits import NONE, BadAccounts, Limits
from .store import read_fact, write_fact

MAX_NAME_CHARS = 100
MIN_KEY_CHARS = 8
STAFF = ("default", "notebook")
"""The accounts of whoever runs the service. Where runs are paid for elsewhere they are listed and paused like all others."""
SUFFIXES = (".csv", ".txt")
COLUMNS = ("name", "group", "budget", "key", "permissions")


def read_state(db: sqlite3.Connection) -> dict[str, Any]:
    """What the service that ran last has written down for the commands.

    Its `address`; whether it `pays` another service for some of its runs; and what is known of each lane that pays, as `paid`:
    `silent_since`, a moment, and `left`, the credits on its key.
    """
    state: dict[str, Any] = json.loads(read_fact(db, "state") or "{}")
    return {"address": "", "pays": False, "paid": {}, **state}


def read_board_token(db: sqlite3.Connection, *, new: bool = False) -> str:
    """The token that opens the board, which is made if there is none; a `new` one ends all sessions."""
    token = None if new else read_fact(db, "board token")
    if token is None:
        token = secrets.token_urlsafe(24)
        write_fact(db, "board token", token)
    return token


ASK_CREDITS = "Say how many credits to add: "


def read_count(text: str, what: str = "") -> int:
    """The whole number of credits that a person typed; `what` says in the refusal of another text what it is.

    >>> read_count("530")
    530
    """
    if not re.fullmatch("[0-9]{1,12}", text):
        raise BadAccounts(f"{what}{text[:60]!r} is not a whole number of credits.")
    return int(text)


def class_rows(db: sqlite3.Connection) -> list[sqlite3.Row]:
    """The rows of all accounts of the class, by group and name."""
    hidden = () if read_state(db)["pays"] else STAFF
    rows = [row for row in db.execute("SELECT * FROM accounts WHERE NOT removed") if row["name"] not in hidden]
    return sorted(rows, key=lambda row: (sort_key(row["class_group"]), row["class_group"], sort_key(row["name"])))


def sort_key(text: str) -> list[str | int]:
    """What sorts names and groups as people do.

    >>> sorted(["student 10", "Student 9", "Ada"], key=sort_key)
    ['Ada', 'Student 9', 'student 10']
    """
    return [int(part) if number % 2 else part.casefold() for number, part in enumerate(re.split(r"(\d{1,9})", text))]


def choose(
    db: sqlite3.Connection, names: Sequence[str] = (), group: str | None = None, *, everybody: bool = False
) -> list[str]:
    """The accounts of these names, of this group, or all of the class; raises `BadAccounts` for an unknown name or an empty group."""
    groups = {row["name"]: row["class_group"] for row in class_rows(db)}
    if names:
        return list(dict.fromkeys(_find_name(name, list(groups)) for name in names))
    if group is None and not everybody:
        raise BadAccounts("Which accounts? Give names, --group NAME, or --all.")
    chosen = [name for name, of_group in groups.items() if group in (None, of_group)]
    if not chosen:
        where = "in this class" if group is None else f"in the group {group[:MAX_NAME_CHARS]!r}"
        raise BadAccounts(f"There are no accounts {where} yet.")
    return chosen


def _find_name(text: str, names: Sequence[str]) -> str:
    """The account of this name, or the only one that has it as one of its words."""
    if text in names:
        return text
    matching = [name for name in names if text.casefold() in name.casefold().split()]
    if len(matching) == 1:
        return matching[0]
    question = f" Did you mean {' or '.join(map(repr, matching[:5]))}?" if matching else suggest(text, names)
    advice = question or " `reelbook class report` lists all."
    raise BadAccounts(f"There is no account {text[:MAX_NAME_CHARS]!r}.{advice}")


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was made just now; only its hash is stored."""

    name: str
    group: str
    key: str
    terms: str = ""
    """Its budget and limits, in a line."""


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
    limits: Mapping[str, str] | None = None,
    *,
    reset: bool = False,
) -> tuple[list[NewKey], str]:
    """Add accounts; returns their keys, and sentences about those there already or before. They stay as they are, unless
    `reset`: then they get what is given, and the rest stays.
    """
    Limits().changed(limits or {})  # Also where all are there already.
    keys, changed, kept, removed, back = list[NewKey](), dict[str, int](), list[str](), list[str](), list[str]()
    others = [row["name"] for row in class_rows(db)]
    names = [student.name for student in students]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise BadAccounts(f"The name {twice!r} is in the list twice.")
    for student in students:
        _check_student(student)
        name, row = student.name, read_account(db, student.name)
        if row and not reset:
            (removed if row["removed"] else kept).append(name)
            continue
        is_new = row is None or row["removed"]
        if is_new:
            if student.budget is None:
                raise BadAccounts(f"{name!r} is new: say how many credits it may spend, such as --budget 530.")
            query = "INSERT OR REPLACE INTO accounts (name, key_hash, permissions) VALUES (?, '', ?)"
            db.execute(query, (name, " ".join(DEFAULT_PERMISSIONS)))
        topped_up = change(db, now, student, limits or {})
        if is_new:
            back += [name] if row else []
            keys.append(_set_key(db, now, name, student.key or new_key()))
        else:
            changed[name] = topped_up
            if student.key:
                _set_key(db, now, name, student.key)
    alike = [
        f"{key.name} is a new account, and not {other}."
        for key in keys
        for other in others
        if key.name.casefold() in other.casefold().split() and key.name != other
    ]
    sentences = (
        (back, f"Back again: {format_names(back)}. Their runs and spending stay."),
        (changed, describe_change(changed)),
        (kept, f"There already: {format_names(kept)}. They stay as they are; --reset applies the list."),
        (removed, f"Removed before: {format_names(removed)}. They stay removed; --reset brings them back."),
        (alike, " ".join(alike)),
    )
    return keys, " ".join(sentence for names, sentence in sentences if names)


def describe_change(changed: Mapping[str, int]) -> str:
    """The sentences about accounts that were changed, with the credits on top that a new budget replaces."""
    replaced = [f"{name} ({added:,})" for name, added in changed.items() if added]
    note = f" The new budget replaces what was added before: {format_names(replaced)}." if replaced else ""
    return f"Changed: {format_names(list(changed))}. Their runs and spending stay.{note}"


class Action(NamedTuple):
    """What can be done with some accounts or all, by the command and on the board."""

    purpose: str
    done: str
    """What was done, to whom."""


ACTIONS = {
    "topup": Action("give accounts more credits", "{credits} more for {whom}."),
    "pause": Action(
        "stop accounts from starting runs; those in progress continue", "Paused: {whom}. Runs in progress continue."
    ),
    "resume": Action("let paused accounts start runs again", "Resumed: {whom}."),
    "replace": Action(
        "replace keys, of one that leaked or of all; runs and budget stay",
        "Old keys no longer work; runs, files and budget stay.",
    ),
    "remove": Action(
        "remove accounts: their keys stop at once, runs in progress continue",
        "Removed: {whom}. Their keys no longer work. Runs in progress continue, and what was spent still counts.",
    ),
}


def act(db: sqlite3.Connection, now: float, action: str, names: Sequence[str], credits: int = 0) -> list[NewKey]:
    """Carry out an action; returns the keys that it made. Credits are added to those of the present week, where there are weeks."""
    if action == "topup" and credits <= 0:
        raise BadAccounts(f"{credits} is not a number of credits to add.")
    keys = []
    for name in names:
        if action == "topup":
            record_charge(db, now, name, "", credits, "topup")
        elif action in ("pause", "resume"):
            db.execute("UPDATE accounts SET paused = ? WHERE name = ?", (action == "pause", name))
        else:
            keys.append(_set_key(db, now, name, new_key()))
            db.execute("UPDATE accounts SET removed = ? WHERE name = ?", (action == "remove", name))
    return keys


def describe(action: str, whom: str, credits: int) -> str:
    """The sentence about an action that was carried out."""
    return ACTIONS[action].done.format(whom=whom, credits=format_count(credits, "credit"))


def share_budget(db: sqlite3.Connection, text: str) -> str:
    """Set what all accounts may spend together, in all, or take that limit away; returns a sentence that says so."""
    if text == NONE:
        write_fact(db, "shared budget", None)
        return "Each account may spend its own budget; there is no common limit."
    most = read_count(text, "--together is a number or `none`: ")
    write_fact(db, "shared budget", str(most))
    used = most - read_shared_budget(db)[1]
    full = f" {used:,} are spent or reserved already, so nobody can run." if used >= most else ""
    return f"All accounts together may spend {format_count(most, 'credit')}, including what is already spent.{full}"


def _check_student(student: Student) -> None:
    name = student.name
    if not name.strip() or name != name.strip() or not name.isprintable() or len(name) > MAX_NAME_CHARS:
        raise BadAccounts(
            f"{name[:MAX_NAME_CHARS]!r} is not a name: it has 1 to {MAX_NAME_CHARS} printable characters."
        )
    if name in STAFF:
        raise BadAccounts(f"The name {name!r} belongs to an account of the service itself. Choose another one.")
    if student.key is not None and (len(student.key) < MIN_KEY_CHARS or not student.key.isprintable()):
        raise BadAccounts(f"The key of {name!r} can be guessed: it needs {MIN_KEY_CHARS} printable characters or more.")


def _set_key(db: sqlite3.Connection, now: float, name: str, key: str) -> NewKey:
    refuse_taken_key(db, name, key)
    db.execute("UPDATE accounts SET key_hash = ? WHERE name = ?", (hash_key(key), name))
    row = read_account(db, name)
    return NewKey(
        name, row["class_group"], key, Limits.from_json(row["limits"]).terms(read_credits(db, row, now).budget)
    )


def change(db: sqlite3.Connection, now: float, student: Student, options: Mapping[str, str]) -> int:
    """Store the group, permissions, limits and budget of an account, as far as they are given.

    Returns the credits that had been added to the budget that a new one replaces.
    """
    name, budget, row = student.name, student.budget, read_account(db, student.name)
    limits = Limits.from_json(row["limits"])
    week, limits = limits.weekly, limits.changed(options)
    if budget is None and week and not limits.weekly:
        spent = format_count(sum_charges(db, name).spent, "credit")
        raise BadAccounts(
            f"Say with --budget how much {name!r} may spend in total, including the {spent} already spent."
        )
    # A week that begins at another moment counts what was spent since the last such moment.
    began = limits.weekly.last_moment(now) if limits.weekly and limits.weekly != week else row["refilled"]
    permissions = None if student.permissions is None else " ".join(student.permissions)
    db.execute(
        "UPDATE accounts SET class_group = coalesce(?, class_group), permissions = coalesce(?, permissions), refilled = ?, limits = ? "
        "WHERE name = ?",
        (student.group, permissions, began, limits.to_json(), name),
    )
    if budget is None:
        return 0
    has = read_credits(db, read_account(db, name), now)
    record_charge(db, now, name, "", budget - (has.budget - has.added), "grant")
    record_charge(db, now, name, "", -has.added, "topup")
    return has.added


def format_names(names: Sequence[str]) -> str:
    """The first few names, and how many more there are.

    >>> format_names(["Ada", "Bo"]), format_names(list("abcdefg"))
    ('Ada, Bo', 'a, b, c, d, e and 2 more')
    """
    few = ", ".join(names[:5])
    return few if len(names) <= 5 else f"{few} and {len(names) - 5} more"


def read_students(given: Sequence[str], *, group: str | None = None, budget: int | None = None) -> list[Student]:
    """The students of names and files; `group` and `budget` are those of students for whom a file has no others."""
    students: list[Student] = []
    for text in given:
        is_file = text.lower().endswith(SUFFIXES)
        students += read_list(Path(text), group, budget) if is_file else [Student(text.strip(), group, budget)]
    return students


def read_list(path: Path, group: str | None = None, budget: int | None = None) -> list[Student]:
    """The students of a file, as spreadsheets write it: with the columns name[,group][,budget][,key][,permissions], or only names."""
    lines = _read_text(path).splitlines()
    # Spreadsheets write semicolons where a comma is the decimal point, and tabs as "Unicode text".
    table = csv.reader(lines, delimiter=max(",;\t", key=next(filter(str.strip, lines), "").count))
    try:
        rows = [(table.line_num, [cell.strip() for cell in row]) for row in table if any(row)]
    except csv.Error as error:
        raise BadAccounts(f"{path} cannot be read as a table ({error}).") from None
    heading = [cell.lower() for cell in rows[0][1]] if rows else []
    if "name" in heading:
        rows = rows[1:]
    elif any(any(row[1:]) for _, row in rows):
        raise BadAccounts(
            f"{path} is a table without the heading `name`. Its columns can be {', '.join(COLUMNS)}; "
            "a plain list has only a name on each line."
        )
    else:
        heading = ["name"]
    if not rows:
        raise BadAccounts(f"{path} lists nobody. It needs one name on each line, or a table with the heading `name`.")
    students = []
    for number, row in rows:
        cells = dict(zip(heading, row, strict=False))
        given, permissions = cells.get("budget", ""), tuple(cells.get("permissions", "").replace(";", " ").split())
        if not set(permissions) <= set(PERMISSIONS):
            raise BadAccounts(f"{path}, line {number}: permissions are {', '.join(PERMISSIONS)}.")
        budget_here = read_count(given, f"{path}, line {number}: the budget ") if given else budget
        key = cells.get("key") or None
        students.append(
            Student(cells.get("name", ""), cells.get("group") or group, budget_here, key, permissions or None)
        )
    return students


def _read_text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadAccounts(f"{path} cannot be read ({error.strerror}).") from None
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")  # As older spreadsheets write it.
