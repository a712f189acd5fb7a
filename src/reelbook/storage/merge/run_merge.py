"""Merge one run of another library: it updates the same run here, replaces one, or becomes another take."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal

from ..ledger import transitions
from ..ledger.transitions import Entry, State

PROGRESS: Mapping[str, int] = {
    State.PLANNED: 0, State.INTENT: 0, State.REJECTED: 1, State.SENDING: 2, State.UNCERTAIN: 2, State.ACCEPTED: 3,
    State.RUNNING: 4, State.EXPIRED: 5, State.CANCELLED: 6, State.FAILED: 6, State.COMPLETED: 7, State.STORED: 8,
}  # fmt: skip
"""How far a run has come in each state, to compare its rows in two ledgers."""

_NAMES = tuple(field.name for field in fields(Entry) if field.name != "id")

_ENDED = (State.FAILED, State.CANCELLED)

Outcome = Literal["new", "further", "known", "busy", "nothing"]
"""What becomes of a row: inserted, updates a run that is here, known already, left out because a process is working on
the run here, or not worth a row."""


@dataclass(frozen=True, slots=True)
class Merge:
    """What to do with another library's row: write it as this entry (number 0 means a new row), or nothing."""

    outcome: Outcome
    entry: Entry | None = None


def merge_run(db: sqlite3.Connection, other: Entry) -> Merge:
    """Merge a row of another library into this one; `entry` is the row as it stands here then."""
    plan = plan_merge(db, other)
    if plan.entry is None:
        return plan
    values, run = [getattr(plan.entry, name) for name in _NAMES], plan.entry.id
    if run:
        db.execute(f"UPDATE runs SET {', '.join(f'{name} = ?' for name in _NAMES)} WHERE id = ?", (*values, run))
    else:
        holes = ", ".join("?" * len(_NAMES))
        run = db.execute(f"INSERT INTO runs ({', '.join(_NAMES)}) VALUES ({holes})", values).lastrowid or 0
    transitions.record_event(db, run, plan.entry.state, _note(other))
    return Merge(plan.outcome, transitions.get_entry(db, run))


def plan_merge(db: sqlite3.Connection, other: Entry) -> Merge:
    """Decide what to do with a row; nothing is written."""
    here = _find_related(db, other)
    same = next((entry for entry in here if _is_same(entry, other)), None)
    if same is not None:
        return _plan_update(here, same, other)
    if _is_earlier_attempt(db, here, other) or _is_empty(other):
        return Merge("known" if here else "nothing")
    place = next((entry for entry in here if _place(entry) == _place(other)), None)
    if place is not None and place.owner is None and _can_replace(place, other):
        return Merge("further", _as_next_attempt(place, other))
    take = other.take if place is None else _get_free_take(here, other)
    return Merge("new", replace(other, id=0, take=take, owner=None))


def _find_related(db: sqlite3.Connection, other: Entry) -> list[Entry]:
    """The runs here with the same input or the same request."""
    rows = db.execute(
        f"SELECT {transitions.COLUMNS} FROM runs WHERE (service = ? AND identity = ?) OR (request_id = ? AND service = ?)",
        (other.service, other.identity, other.request_id, other.service),
    )
    return [Entry(*row) for row in rows]


def _place(entry: Entry) -> tuple[str, str, int]:
    return entry.service, entry.identity, entry.take


def _is_same(one: Entry, other: Entry) -> bool:
    """Whether both rows are of the same request to the service."""
    if one.request_id is not None and other.request_id is not None:
        return one.request_id == other.request_id
    # Copies of one ledger: times distinguish them from other runs of the same input.
    return (one.created, one.attempt, one.sent) == (other.created, other.attempt, other.sent)


def _plan_update(here: Sequence[Entry], ours: Entry, other: Entry) -> Merge:
    """Update our row with what the other ledger knows more of the same run."""
    changed = _with_known_input(here, ours, other)
    # Only a request id resolves what was uncertain; that it was written off there says nothing about it.
    learned = ours.request_id is None and other.request_id is not None
    if learned or (other.request_id is not None and PROGRESS[other.state] > PROGRESS[ours.state]):
        facts = {name: getattr(other, name) for name in _NAMES if name not in _UNCHANGED}
        changed = replace(
            changed,
            **facts,
            charged=other.charged if other.charged is not None else ours.charged,
            # The price of a request that was written off here is in our sum already.
            spent=other.spent if learned else max(ours.spent, other.spent),
            unpriced=other.unpriced if learned else max(ours.unpriced, other.unpriced),
        )
    if changed == ours:
        return Merge("known")
    return Merge("busy") if ours.owner is not None else Merge("further", changed)


_UNCHANGED = frozenset(
    {"service", "identity", "take", "model", "input", "owner", "created", "charged", "spent", "unpriced"}
)
"""The fields that an update of a run leaves unchanged."""


def _with_known_input(here: Sequence[Entry], ours: Entry, other: Entry) -> Entry:
    """Our row with the input that the other ledger knows, if ours was only attached by its request id."""
    unknown = ours.identity.startswith(transitions.ATTACHED) and not other.identity.startswith(transitions.ATTACHED)
    if not unknown:
        return ours
    return replace(
        ours, identity=other.identity, take=_get_free_take(here, other), model=other.model, input=other.input
    )  # fmt: skip


def _is_earlier_attempt(db: sqlite3.Connection, here: Sequence[Entry], other: Entry) -> bool:
    """Whether the row is an earlier attempt of a run that is here, from an old copy of this ledger, or adopted before."""
    if other.state in (State.COMPLETED, State.STORED):
        return False  # Its files are worth having all the same.
    for origin in here:
        if origin.created == other.created:
            events = db.execute("SELECT at, state, note FROM events WHERE run = ?", (origin.id,))
            if any(_is_event_of(other, *event) for event in events):
                return True
    return False


def _is_event_of(entry: Entry, at: float, state: str, note: str | None) -> bool:
    if note == _note(entry):
        return True
    if entry.request_id is not None:
        return state == State.ACCEPTED and note == entry.request_id
    return state == State.SENDING and entry.sent is not None and abs(at - entry.sent) < 1


def _note(entry: Entry) -> str:
    """The note of the event that records the adoption of this attempt."""
    return f"from another library: attempt {entry.attempt}, sent {entry.sent!r}, request {entry.request_id}"


def _is_empty(entry: Entry) -> bool:
    """Whether it was never sent and has cost nothing: what may have been sent has a key, or a cost."""
    was_paid = entry.attempt_key is not None or entry.spent or entry.unpriced
    return entry.state in (State.PLANNED, State.REJECTED) and not was_paid


def _can_replace(ours: Entry, other: Entry) -> bool:
    """Whether the other row can replace ours as a further attempt: ours has no result, and the other was paid."""
    if ours.state not in (*_ENDED, State.PLANNED, State.REJECTED) or ours.attempt_key is not None:
        return False
    return other.state in (*transitions.PAID, State.STORED)


def _as_next_attempt(ours: Entry, other: Entry) -> Entry:
    earlier = {"spent": ours.spent, "unpriced": ours.unpriced}
    if ours.state in _ENDED:
        earlier = transitions.get_past_cost(ours)
    # Copies of one ledger have the same past; otherwise both were paid for.
    together = max if ours.created == other.created else int.__add__
    return replace(
        other,
        id=ours.id,
        owner=None,
        spent=together(earlier["spent"], other.spent),
        unpriced=together(earlier["unpriced"], other.unpriced),
        attempt=max(ours.attempt + 1, other.attempt),
        created=ours.created,
    )


def _get_free_take(here: Sequence[Entry], other: Entry) -> int:
    taken = {entry.take for entry in here if (entry.service, entry.identity) == (other.service, other.identity)}
    return other.take if other.take not in taken else max(taken) + 1
