"""Find or create a run's row, claim it if it is unpaid and within its limits, and recover the runs of ended processes.

Each accepted request is appended to a list, a file next to the ledger, before the ledger is written: so no request that
is paid for is lost with the ledger. What the list has more is put back when the ledger is next opened.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sqlite3
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import ReelbookError
from ...util.file_locks import try_lock
from ...util.replace_file import PRIVATE, replace_file
from . import transitions
from .schema import Budget, Spend, check_limits, join_scope
from .transitions import ATTACHED, CLAIMED, COMPLETED, EXPIRED, RESUBMITTED, Entry, State, find_entries, get_entry

LIST_NAME = "accepted.jsonl"
KEY_SECONDS = 23 * 3600.0
"""How long a service recognises a repeated request by its idempotency key; services store keys for a day."""
BEST_FIRST = (State.STORED, COMPLETED, State.ACCEPTED, State.SENDING, CLAIMED, EXPIRED, State.UNCERTAIN)
"""Order of preference among takes: stored, then paid, then possibly paid, before all unpaid ones."""
MAKER, _LIST_SIZE = "maker ", "accepted list"
"""Names in `meta`: of what to call a service with an id, and of the size of the list up to which the ledger has it."""
_LISTED = ("service", "identity", "take", "attempt", "model", "price", "input", "name")
"""The columns of a run in the list of accepted requests."""


class Process:
    """A process that uses a library. Its file in the folder `owners` is locked, for the system to unlock when it ends."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.owner, self._owners = folder, uuid.uuid4().hex, folder / "owners"
        for each in (folder, self._owners):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = os.open(self._owners / self.owner, os.O_RDWR | os.O_CREAT, 0o600)
        # Another process may be looking whether it is locked.
        try_lock(self._file, wait=True)

    def is_dead(self, name: str) -> bool:
        """Whether the process of this name has ended, independently of clocks and process ids."""
        if name == self.owner:
            return False
        try:
            file = os.open(self._owners / name, os.O_RDWR)
        except FileNotFoundError:
            return True
        except OSError:
            return False  # Unknown: assumed to be alive.
        try:
            # Shared, so that two processes checking at once do not mistake each other for the owner.
            return try_lock(file, shared=True)
        finally:
            os.close(file)

    def leave(self) -> None:
        """Delete its file, so that others may take over its unfinished runs."""
        with contextlib.suppress(OSError):
            (self._owners / self.owner).unlink()
        os.close(self._file)


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A run requested by a caller, with its price."""

    service: str
    identity: str
    model: str
    input: str
    price: int | None
    """What one attempt costs at least, until the service has reported its charge."""
    idempotent: bool
    reusable: bool
    """Whether equal input gives an equal result, which can be reused."""
    take: int | None = None
    fresh: bool = False
    join: bool = True
    """Whether an unseeded run joins an unfinished one of this process."""
    name: str | None = None
    """Only the row of this name is the run."""
    budget: Budget | None = None
    spend: Spend | None = None


class Action(StrEnum):
    """What to do about a requested run."""

    SEND = "send"
    FOLLOW = "follow"  # To its end and its files, at no cost: it is paid for, and no process follows it.
    JOIN = "join"  # Use the run that this process follows.
    AWAIT = "await"  # Wait for the process that follows it.
    ASK = "ask"  # Ask the user, because it is uncertain.


class Verdict(NamedTuple):
    """The action to take for a requested run, and its row."""

    action: Action
    entry: Entry


def name_service(db: sqlite3.Connection, address: str, own_id: str | None) -> str:
    """The name of a service in the ledger: its address, or the id that one of Reelbook's own keeps with its data."""
    if own_id:
        transitions.write_meta(db, MAKER + own_id, address)
    elif db.execute("SELECT 1 FROM meta WHERE name GLOB ? AND value = ?", (MAKER + "*", address)).fetchone():
        # Under another name it would not find the runs that are paid for.
        raise ReelbookError(
            f"The service at {address} does not say which one it is, as it did before. Nothing was sent; try again. "
            "If another service runs at this address now, give it a library of its own: rb.connect(…, library=…)."
        )
    return own_id or address


def find_or_claim(db: sqlite3.Connection, request: RunRequest, process: Process) -> Verdict:
    """Find or create the row of a run, claim it if it is unpaid, and return the action to take."""
    recover(db, process)
    service, identity, name, budget = request.service, request.identity, request.name, request.budget
    if name is not None:
        # One of another service can only have been refused there.
        rows = find_entries(db, "service = ? AND name = ?", service, name)
        entry = rows[0] if rows else None
    else:
        entry = None if request.fresh else _find_candidate(db, request, process.owner)
    if entry is None:
        is_free = request.take is None or request.fresh or name is not None
        db.execute("UPDATE runs SET name = NULL WHERE name = ?", (name,))
        run = transitions.insert_run(
            db, service=service, identity=identity, model=request.model, input=request.input, state=State.PLANNED, name=name,
            take=transitions.get_next_take(db, service, identity) if is_free else request.take, created=time.time(),
        )  # fmt: skip
        entry = get_entry(db, run)
    if budget is not None:
        join_scope(db, budget.scope, service, [(identity, entry.take)])
    if entry.state == State.UNCERTAIN:
        return Verdict(Action.ASK, entry)
    if entry.owner is not None or entry.state in (State.ACCEPTED, State.STORED):
        return _follow_or_wait(db, entry, process.owner)
    # What was sent before is repeated with its key, and so paid once.
    repeats = entry.attempt_key is not None
    if repeats and not (request.idempotent and abs(time.time() - (entry.sent or 0)) <= KEY_SECONDS):
        # Too old in both directions: after the clock was set back the elapsed time is unknown.
        why = "it was sent before, and the service may not recognise the repetition any more"
        transitions.move(db, entry.id, State.UNCERTAIN, error_type="uncertain", error=why)
        return Verdict(Action.ASK, get_entry(db, entry.id))
    earlier = (entry.spent, entry.unpriced) if repeats else (entry.counted, entry.unknown)
    price = entry.price if repeats and entry.price is not None else transitions.coerce_credits(request.price)
    transitions.move(
        db, entry.id, CLAIMED, owner=process.owner, attempt=entry.attempt + 1, spent=earlier[0], unpriced=earlier[1],
        price=price, error_type=RESUBMITTED if entry.error_type == RESUBMITTED else None,
        **dict.fromkeys(("charged", "request_id", "output", "media", "error", "queued_s", "running_s", "finished")),
        **({} if repeats else {"attempt_key": str(uuid.uuid4()) if request.idempotent else None, "body": None}),
    )  # fmt: skip
    # If it raises, the claim is rolled back.
    check_limits(db, entry.id, price, earlier[0] + earlier[1] * (price or 0), budget, request.spend)
    return Verdict(Action.SEND, get_entry(db, entry.id))


def attach(db: sqlite3.Connection, service: str, model: str, request_id: str, process: Process) -> Verdict:
    """Find the row of a run by its request id, or insert one if it was made elsewhere, and return the action to take."""
    recover(db, process)
    # A row resolved from an uncertain run is preferred to an attached one, which lacks the input.
    order = f"ORDER BY identity GLOB '{ATTACHED}*', id DESC LIMIT 1"
    entries = find_entries(db, f"service = ? AND request_id = ? {order}", service, request_id)
    if entries:
        return _follow_or_wait(db, entries[0], process.owner)
    now = time.time()
    run = transitions.insert_run(
        db, service=service, identity=ATTACHED + request_id, take=0, model=model, input="{}", state=State.ACCEPTED,
        owner=process.owner, request_id=request_id, created=now, sent=now,
    )  # fmt: skip
    return Verdict(Action.FOLLOW, get_entry(db, run))


def _find_candidate(db: sqlite3.Connection, request: RunRequest, owner: str) -> Entry | None:
    """Find the preferred row with the same input. Without a seed a finished run is a separate take, and not reused."""
    where = "service = ? AND identity = ? AND (? IS NULL OR take = ?) AND (? OR state != ?) ORDER BY take DESC"
    take, may_be_stored = request.take, request.take is not None or request.reusable
    entries = find_entries(db, where, request.service, request.identity, take, take, may_be_stored, State.STORED)
    if take is None and not request.reusable:
        # Unfinished takes of other processes cannot be joined; expired ones are superseded by later takes.
        latest = transitions.get_next_take(db, request.service, request.identity) - 1
        entries = [entry for entry in entries if entry.owner is None or (request.join and entry.owner == owner)]
        entries = [entry for entry in entries if entry.stage != EXPIRED or entry.take == latest]
    return min(entries, key=lambda entry: (*BEST_FIRST, entry.stage).index(entry.stage), default=None)


def _follow_or_wait(db: sqlite3.Connection, entry: Entry, owner: str) -> Verdict:
    """The action for a run that is paid for or has an owner; takes ownership of a paid one without."""
    if entry.owner is None:
        if entry.state == State.ACCEPTED:
            transitions.update_run(db, entry.id, owner=owner)
        return Verdict(Action.FOLLOW, get_entry(db, entry.id))
    return Verdict(Action.JOIN if entry.owner == owner else Action.AWAIT, entry)


# Runs of ended processes, and the list of accepted requests.


def recover(db: sqlite3.Connection, process: Process) -> None:
    """Clear the owner of every run whose process has ended."""
    owners = [row[0] for row in db.execute("SELECT DISTINCT owner FROM runs WHERE owner IS NOT NULL")]
    if dead := [name for name in owners if process.is_dead(name)]:
        catch_up(db, process.folder)  # First, because it may have the answers to these runs.
        for entry in find_entries(db, "owner IN (SELECT value FROM json_each(?))", json.dumps(dead)):
            transitions.release(db, entry.id, entry.owner)


def make_acceptance(entry: Entry, request_id: str) -> dict[str, Any]:
    """The line in the list of accepted requests, from which the row of the run can be restored."""
    return {"at": time.time(), "request_id": request_id, **{name: getattr(entry, name) for name in _LISTED}}


def append_lines(folder: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Append lines durably to the list."""
    # Each starts with a line break, because the previous one may be incomplete. ASCII can have any foreign text.
    content = b"".join(b"\n" + json.dumps(line).encode("ascii") for line in lines) + b"\n"
    file = os.open(folder / LIST_NAME, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        # In one call, so that lines of two processes are not interleaved.
        if os.write(file, content) != len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(file)
    finally:
        os.close(file)


def read_lines(folder: Path, start: int = 0) -> list[dict[str, Any]]:
    """Read the whole lines from an offset on; damaged and incomplete ones are left out."""
    values = []
    for line in (folder / LIST_NAME).read_bytes()[start:].splitlines():
        with contextlib.suppress(ValueError):
            values.append(json.loads(line))
    return values


def catch_up(db: sqlite3.Connection, folder: Path) -> None:
    """Put back what only the list has: its writer died before the commit, or the ledger is an older copy."""
    start, size = int(transitions.read_meta(db, _LIST_SIZE) or 0), (folder / LIST_NAME).stat().st_size
    lines = [] if size == start else read_lines(folder, start if start < size else 0)
    mark_as_read(db, folder)
    for line in sorted(lines, key=lambda line: int(line["attempt"])):
        _apply(db, line)


def mark_as_read(db: sqlite3.Connection, folder: Path) -> None:
    """Record that the ledger has the whole list, up to its present end."""
    transitions.write_meta(db, _LIST_SIZE, str((folder / LIST_NAME).stat().st_size))


def forget_before(db: sqlite3.Connection, folder: Path, before: float) -> None:
    """Leave the lines out that are older than this moment and whose runs the ledger has; on its thread."""
    catch_up(db, folder)
    lines = [json.dumps(line).encode("ascii") for line in read_lines(folder) if line["at"] >= before]
    replace_file(folder / LIST_NAME, b"".join(line + b"\n" for line in lines), mode=PRIVATE)
    mark_as_read(db, folder)


def _apply(db: sqlite3.Connection, line: Mapping[str, Any]) -> None:
    """Put back one request: a lost answer, a later attempt of an older copy of the ledger, or a run that has no row."""
    if find_entries(db, "service = ? AND request_id = ?", line["service"], line["request_id"]):
        return
    changes = {"state": State.ACCEPTED, "sent": line["at"], "request_id": line["request_id"]}
    changes |= {name: line.get(name) for name in _LISTED}
    rows = find_entries(db, "service = ? AND identity = ? AND take = ?", *(line[name] for name in _LISTED[:3]))
    if not rows:
        transitions.insert_run(db, **changes, created=line["at"])
        return
    entry = rows[0]
    is_later = line["attempt"] > entry.attempt and entry.output is None
    if is_later:
        changes |= {"spent": entry.counted, "unpriced": entry.unknown}
    if is_later or (line["attempt"] == entry.attempt and entry.state in ("planned", "sending", "uncertain")):
        cleared = dict.fromkeys(("attempt_key", "body", "charged", "error", "error_type", "finished"))
        transitions.update_run(db, entry.id, **changes, **cleared)
        transitions.record_event(db, entry.id, State.ACCEPTED, line["request_id"])
