"""The rows of a class: each account's budget, spending, runs, errors and last result."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from reelbook.util.printable import format_count, format_line

from .accounts import Credits, read_credits, read_shared_budget, sum_charges
from .class_admin import class_rows, read_state
from .limits import Limits

MAX_PROMPT_CHARS = 160
MAX_INPUT_CHARS = 200_000
"""Inputs that are longer contain pictures; their prompts are not read."""


@dataclass(frozen=True, slots=True)
class LastResult:
    """The latest run of an account that succeeded."""

    request_id: str
    endpoint_id: str
    finished: float
    token: str | None
    """The token of its first file; None once the file is gone."""
    content_type: str | None
    prompt: str
    """The beginning of its prompt, where it has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassRow(Credits):
    """One account of a class, with its credits: of the present week where the budget is weekly."""

    name: str
    group: str
    spent_in_all: int
    """What it was ever charged."""
    paused: bool
    is_open: bool
    """Whether the time window allows runs at present."""
    limits: Mapping[str, Any]
    """`weekly`, `window`, `at_once` and `models`, as far as they are set."""
    refilled_next: float | None
    """When a weekly budget is filled again."""
    active: int
    """How many runs are queued or running."""
    running: int
    completed: int
    cancelled: int
    errors: Mapping[str, int]
    """How many runs failed, by `error_type`."""
    last_result: LastResult | None

    @property
    def failed(self) -> int:
        return sum(self.errors.values())


def read_class(
    db: sqlite3.Connection, now: float, running: Mapping[str, int] | None = None, *, with_results: bool = True
) -> list[ClassRow]:
    """The rows of all accounts of the class, by group and name; `running` counts runs in progress by account."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    query = (
        "SELECT account, CASE WHEN finished IS NULL THEN '' ELSE coalesce(error_type, 'completed') END, count(*) "
        "FROM requests GROUP BY 1, 2"
    )
    for account, outcome, number in db.execute(query):
        counts[account][outcome] = number
    rows = []
    for row in class_rows(db):
        name, limits, runs = row["name"], Limits.from_json(row["limits"]), counts[row["name"]]
        errors = {kind: runs[kind] for kind in sorted(runs.keys() - {"", "completed", "cancelled"})}
        rows.append(
            ClassRow(
                **asdict(read_credits(db, row, now)),
                name=name,
                group=row["class_group"],
                spent_in_all=sum_charges(db, name).spent,
                paused=bool(row["paused"]),
                is_open=limits.is_open(now),
                limits=limits.describe(),
                refilled_next=limits.weekly.next_moment(now) if limits.weekly else None,
                active=runs[""],
                running=min((running or {}).get(name, 0), runs[""]),
                completed=runs["completed"],
                cancelled=runs["cancelled"],
                errors=errors,
                last_result=read_last_result(db, name) if with_results and runs["completed"] else None,
            )
        )
    return rows


def read_last_result(db: sqlite3.Connection, name: str) -> LastResult | None:
    """The latest run of an account that succeeded."""
    query = (
        "SELECT id, endpoint, finished, record FROM requests "
        "WHERE account = ? AND finished IS NOT NULL AND error_type IS NULL ORDER BY finished DESC LIMIT 1"
    )
    row = db.execute(query, (name,)).fetchone()
    if row is None:
        return None
    # A text of the output has its quotes in escapes, and is never taken for the name of a file.
    token = re.search(r'"\$file": "([^"]+)"', row["record"])
    query = "SELECT token, content_type FROM files WHERE token = ?"
    file, kind = db.execute(query, (token[1] if token else "",)).fetchone() or (None, None)
    return LastResult(row["id"], row["endpoint"], row["finished"], file, kind, read_prompt(db, row["id"]))


def read_prompt(db: sqlite3.Connection, request_id: str) -> str:
    """The beginning of the prompt of a run, where it has one."""
    query = "SELECT input FROM requests WHERE id = ? AND length(input) < ?"
    row = db.execute(query, (request_id, MAX_INPUT_CHARS)).fetchone()
    prompt = json.loads(row["input"]).get("prompt") if row else None
    return format_line(prompt[:MAX_PROMPT_CHARS]) if isinstance(prompt, str) else ""


def describe_class(db: sqlite3.Connection) -> tuple[list[str], list[str]]:
    """What is true of the class as a whole, and what is wrong at present, in sentences."""
    facts, problems = [], []
    for lane, state in read_state(db)["paid"].items():
        name = lane.partition(":")[2]
        if "left" in state:
            facts.append(f"{format_count(int(state['left']), 'credit')} left at the paid service {name!r}.")
        if "silent_since" in state:
            query = "SELECT count(*) FROM requests WHERE lane = ? AND finished IS NULL"
            (waiting,) = db.execute(query, (lane,)).fetchone()
            runs = f"; {format_count(waiting, 'run')} {'waits' if waiting == 1 else 'wait'}" if waiting else ""
            problems.append(
                f"The paid service {name!r} has not answered since {format_time(state['silent_since'])}{runs}."
            )
    shared, left = read_shared_budget(db)
    if shared is not None:
        facts.append(f"All accounts together: {shared - left:,} of {format_count(shared, 'credit')} spent or reserved.")
        if left <= 0:
            problems.append("Nobody can run: all accounts together have used up what they may spend.")
    (spent,) = db.execute(
        "SELECT sum(credits) FROM charges JOIN accounts ON name = account WHERE removed AND kind = 'settle'"
    ).fetchone()
    if spent:
        facts.append(f"Removed students have spent {format_count(spent, 'credit')}.")
    return facts, problems


def format_time(seconds: float) -> str:
    """A moment by the clock of this machine: the time today, else the date as well."""
    moment = datetime.fromtimestamp(seconds)
    return moment.strftime("%H:%M" if moment.date() == datetime.now().date() else "%a %d %b %H:%M")


NUMBERS = ("budget", "spent", "reserved", "left", "active", "completed", "failed")


def format_csv(rows: Sequence[ClassRow]) -> str:
    """The rows of a class as CSV in which no spreadsheet finds a formula, with one more column for each kind of error."""
    names = ("name", "group", *NUMBERS, "cancelled", "spent_in_all")
    kinds = sorted({kind for row in rows for kind in row.errors})
    table = [[*names, "paused", *(f"error_{kind}" for kind in kinds), "window", "weekly", "refilled_next"]]
    for row in rows:
        refilled = row.refilled_next
        cells = [
            *(getattr(row, name) for name in names),
            "yes" if row.paused else "no",
            *(row.errors.get(kind, 0) for kind in kinds),
            *(row.limits.get(name, "") for name in ("window", "weekly")),
            "" if refilled is None else datetime.fromtimestamp(refilled).isoformat(timespec="minutes"),
        ]
        table.append([_without_formula(str(cell)) for cell in cells])
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(table)
    return text.getvalue().rstrip("\n")


def _without_formula(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula.

    >>> _without_formula("=1+1"), _without_formula("-5"), _without_formula("Ada")
    ("'=1+1", '-5', 'Ada')
    """
    is_number = cell.removeprefix("-").isdecimal()
    return f"'{cell}" if cell[:1] in ("=", "+", "-", "@", "\t", "\r") and not is_number else cell


def format_report(rows: Sequence[ClassRow]) -> str:
    """The rows of a class as text in columns with a total."""
    if not rows:
        return "There are no accounts in this class yet. Add some with `reelbook class add names.csv --budget 530`."
    table = [["name", "group", *NUMBERS, "note"]]
    for row in rows:
        notes = ["paused"] if row.paused else []
        notes += [] if row.is_open else ["outside its time"]
        notes += [", ".join(f"{count}x {kind}" for kind, count in row.errors.items())] if row.errors else []
        table.append([row.name, row.group, *(f"{getattr(row, name):,}" for name in NUMBERS), "; ".join(notes)])
    sums = [sum(getattr(row, name) for row in rows) for name in NUMBERS]
    table.append([f"{len(rows)} in all", "", *(f"{number:,}" for number in sums), ""])
    names, groups, *widths, _ = (max(map(len, column)) for column in zip(*table, strict=True))
    return "\n".join(
        f"{name:{names}}  {group:{groups}}  {'  '.join(map(str.rjust, numbers, widths))}  {note}".rstrip()
        for name, group, *numbers, note in table
    )
