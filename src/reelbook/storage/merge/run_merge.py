"""Merge a run of another library: update the same run, replace one, or insert another take."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..ledger import transitions
from ..ledger.transitions import Entry, State

PROGRESS: Mapping[str, int] = {
    State.PLANNED: 0, transitions.CLAIMED: 0, State.REJECTED: 1, State.SENDING: 2, State.UNCERTAIN: 2, State.ACCEPTED: 3,
    transitions.EXPIRED: 5, State.CANCELLED: 6, State.FAILED: 6, transitions.COMPLETED: 7, State.STORED: 8,
}  # fmt: skip
"""Rank of each stage by progress, to compare a run's rows in two ledgers."""

_NAMES = tuple(name for name in transitions.STORED_COLUMNS if name != "id")

_ENDED = (State.FAILED, State.CANCELLED)

Outcome = Literal["new", "further", "known", "busy", "nothing"]
"""The result for a row: inserted, updated an existing run, known already, left out because a process follows the
existing run, or empty."""


@dataclass(frozen=True, slots=True)
class Merge:
    """The outcome for another library's row, and the entry to write (number 0 means a new row), None for nothing."""

    outcome: Outcome
    entry: Entry | None = None


def merge_run(db: sqlite3.Connection, other: Entry) -> Merge:
    """Merge a row of another library into this one; `entry` of the result is the row in this ledger."""
    plan = plan_merge(db, other)
    if plan.entry is None:
        return plan
    values, run = [getattr(plan.entry, name) for name in _NAMES], plan.entry.id
    if run:
        db.execute(f"UPDATE runs SET {', '.join(f'{name} = ?' for name in _NAMES)} WHERE id = ?", (*values, run))
    else:
        placeholders = ", ".join("?" * len(_NAMES))
        run = db.execute(f"INSERT INTO runs ({', '.join(_NAMES)}) VALUES ({placeholders})", values).lastrowid or 0
    transitions.record_event(db, run, plan.entry.state, _note(other))
    return Merge(plan.outcome, transitions.get_entry(db, run))


def plan_merge(db: sqlite3.Connection, other: Entry) -> Merge:
    """Determine the merge of a row, without writing."""
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
    """The runs in this ledger with the same input or the same request."""
    rows = db.execute(
        f"SELECT {transitions.COLUMNS} FROM entries WHERE (service = ? AND identity = ?) OR (request_id = ? AND service = ?)",
        (other.service, other.identity, other.request_id, other.service),
    )
    return [Entry(*row) for row in rows]


def _place(entry: Entry) -> tuple[str, str, int]:
    return entry.service, entry.identity, entry.take


def _is_same(one: Entry, other: Entry) -> bool:
    """Whether both rows are of the same request."""
    if one.request_id is not None and other.request_id is not None:
        return one.request_id == other.request_id
    # In copies of one ledger, times distinguish a run from others with the same input.
    return (one.created, one.attempt, one.sent) == (other.created, other.attempt, other.sent)


def _plan_update(here: Sequence[Entry], ours: Entry, other: Entry) -> Merge:
    """Update our row with the facts that only the other ledger has about the same run."""
    changed = _with_known_input(here, ours, other)
    # Only a request id resolves an uncertain run; being written off in the other ledger does not.
    learned = ours.request_id is None and other.request_id is not None
    if learned or (other.request_id is not None and PROGRESS[other.stage] > PROGRESS[ours.stage]):
        facts = {name: getattr(other, name) for name in _NAMES if name not in _UNCHANGED}
        changed = replace(
            changed,
            **facts,
            charged=other.charged if other.charged is not None else ours.charged,
            # The price of a request written off here is in our sum already.
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
    """Our row with the other ledger's input, if ours was only attached by its request id."""
    unknown = ours.identity.startswith(transitions.ATTACHED) and not other.identity.startswith(transitions.ATTACHED)
    if not unknown:
        return ours
    return replace(
        ours, identity=other.identity, take=_get_free_take(here, other), model=other.model, input=other.input
    )  # fmt: skip


def _is_earlier_attempt(db: sqlite3.Connection, here: Sequence[Entry], other: Entry) -> bool:
    """Whether the row is an earlier attempt of a known run, from an old copy of this ledger or adopted before."""
    if other.output is not None:
        return False  # Its files are wanted in any case.
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
    """Whether a run was never sent and has no cost: one that may have been sent has a key, or a cost."""
    was_paid = entry.attempt_key is not None or entry.spent or entry.unpriced
    return entry.state in (State.PLANNED, State.REJECTED) and not was_paid


def _can_replace(ours: Entry, other: Entry) -> bool:
    """Whether the other row can replace ours as a later attempt: ours has no result, and the other was paid."""
    if ours.state not in (*_ENDED, State.PLANNED, State.REJECTED) or ours.attempt_key is not None:
        return False
    return other.state in (State.ACCEPTED, State.STORED)


def _as_next_attempt(ours: Entry, other: Entry) -> Entry:
    # Copies of one ledger have the same earlier attempts; otherwise both were paid.
    combine = max if ours.created == other.created else int.__add__
    return replace(
        other,
        id=ours.id,
        owner=None,
        spent=combine(ours.counted, other.spent),
        unpriced=combine(ours.unknown, other.unpriced),
        attempt=max(ours.attempt + 1, other.attempt),
        created=ours.created,
    )


def _get_free_take(here: Sequence[Entry], other: Entry) -> int:
    taken = {entry.take for entry in here if (entry.service, entry.identity) == (other.service, other.identity)}
    return other.take if other.take not in taken else max(taken) + 1
