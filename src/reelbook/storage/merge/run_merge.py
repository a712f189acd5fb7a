"""A run of another library beside those of this one: the same run, a better one in its place, or one more."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal

from ..ledger import transitions
from ..ledger.transitions import Entry

FAR: Mapping[str, int] = {
    transitions.PLANNED: 0, transitions.INTENT: 0, transitions.REJECTED: 1, transitions.SENDING: 2, transitions.UNCERTAIN: 2, transitions.ACCEPTED: 3,
    transitions.RUNNING: 4, transitions.EXPIRED: 5, transitions.CANCELLED: 6, transitions.FAILED: 6, transitions.COMPLETED: 7, transitions.STORED: 8,
}  # fmt: skip
"""How far a run has come, where two ledgers tell of it."""

_NAMES = tuple(field.name for field in fields(Entry) if field.name != "id")

_ENDED = (transitions.FAILED, transitions.CANCELLED)

Outcome = Literal["new", "further", "known", "busy", "nothing"]
"""What becomes of it: taken in, told more of a run that is here, known already, left because somebody is at work on it
here, or not worth a row."""


@dataclass(frozen=True, slots=True)
class Merge:
    """What is to be done with another library's row: written as this entry (number 0 means a new row), or nothing."""

    outcome: Outcome
    entry: Entry | None = None


def merged(db: sqlite3.Connection, other: Entry) -> Merge:
    """Put a row of another library into this one; `entry` is then the row as it stands here."""
    plan = planned(db, other)
    if plan.entry is None:
        return plan
    values, run = [getattr(plan.entry, name) for name in _NAMES], plan.entry.id
    if run:
        db.execute(f"UPDATE runs SET {', '.join(f'{name} = ?' for name in _NAMES)} WHERE id = ?", (*values, run))
    else:
        holes = ", ".join("?" * len(_NAMES))
        run = db.execute(f"INSERT INTO runs ({', '.join(_NAMES)}) VALUES ({holes})", values).lastrowid or 0
    transitions.event(db, run, plan.entry.state, _note(other))
    return Merge(plan.outcome, transitions.read(db, run))


def planned(db: sqlite3.Connection, other: Entry) -> Merge:
    """What is to be done with it; nothing is written."""
    here = _here(db, other)
    same = next((entry for entry in here if _is_same(entry, other)), None)
    if same is not None:
        return _further(here, same, other)
    if _was_ours(db, here, other) or _is_empty(other):
        return Merge("known" if here else "nothing")
    place = next((entry for entry in here if _place(entry) == _place(other)), None)
    if place is not None and place.owner is None and _makes_way(place, other):
        return Merge("further", _in_its_place(place, other))
    take = other.take if place is None else _free_take(here, other)
    return Merge("new", replace(other, id=0, take=take, owner=None))


def _here(db: sqlite3.Connection, other: Entry) -> list[Entry]:
    """Every run here that may have to do with it."""
    rows = db.execute(
        f"SELECT {transitions.COLUMNS} FROM runs WHERE (service = ? AND identity = ?) OR (request_id = ? AND service = ?)",
        (other.service, other.identity, other.request_id, other.service),
    )
    return [Entry(*row) for row in rows]


def _place(entry: Entry) -> tuple[str, str, int]:
    return entry.service, entry.identity, entry.take


def _is_same(one: Entry, other: Entry) -> bool:
    """Whether both rows tell of the same request to the service."""
    if one.request_id is not None and other.request_id is not None:
        return one.request_id == other.request_id
    # Copies of one ledger: the clock tells them from runs that were merely asked alike.
    return (one.created, one.attempt, one.sent) == (other.created, other.attempt, other.sent)


def _further(here: Sequence[Entry], ours: Entry, other: Entry) -> Merge:
    """What the other ledger knows more of the same run."""
    changed = _named(here, ours, other)
    # Only a request id settles what was uncertain; that somebody gave it up there is no news about it.
    learned = ours.request_id is None and other.request_id is not None
    if learned or (other.request_id is not None and FAR[other.state] > FAR[ours.state]):
        facts = {name: getattr(other, name) for name in _NAMES if name not in _OURS}
        changed = replace(
            changed,
            **facts,
            charged=other.charged if other.charged is not None else ours.charged,
            # The price of a request that was given up here stands in our sum already.
            spent=other.spent if learned else max(ours.spent, other.spent),
            unpriced=other.unpriced if learned else max(ours.unpriced, other.unpriced),
        )
    if changed == ours:
        return Merge("known")
    return Merge("busy") if ours.owner is not None else Merge("further", changed)


_OURS = frozenset({"service", "identity", "take", "model", "input", "owner", "created", "charged", "spent", "unpriced"})
"""What stays as it is here when more is told of a run."""


def _named(here: Sequence[Entry], ours: Entry, other: Entry) -> Entry:
    """Our row with the input that the other ledger knows, where ours was only attached by its request."""
    unknown = ours.identity.startswith(transitions.NO_NAME) and not other.identity.startswith(transitions.NO_NAME)
    if not unknown:
        return ours
    return replace(
        ours, identity=other.identity, take=_free_take(here, other), model=other.model, input=other.input
    )  # fmt: skip


def _was_ours(db: sqlite3.Connection, here: Sequence[Entry], other: Entry) -> bool:
    """Whether it is an earlier attempt of a run that is here, out of an old copy of this ledger, or taken in before."""
    if other.state in (transitions.COMPLETED, transitions.STORED):
        return False  # What was made then is worth having all the same.
    for origin in here:
        if origin.created == other.created:
            events = db.execute("SELECT at, state, note FROM events WHERE run = ?", (origin.id,))
            if any(_tells_of(other, *event) for event in events):
                return True
    return False


def _tells_of(entry: Entry, at: float, state: str, note: str | None) -> bool:
    if note == _note(entry):
        return True
    if entry.request_id is not None:
        return state == transitions.ACCEPTED and note == entry.request_id
    return state == transitions.SENDING and entry.sent is not None and abs(at - entry.sent) < 1


def _note(entry: Entry) -> str:
    """How the events of a run tell that it was taken in, and what of it."""
    return f"from another library: attempt {entry.attempt}, sent {entry.sent!r}, request {entry.request_id}"


def _is_empty(entry: Entry) -> bool:
    """Whether it was never sent and has cost nothing: what may have been sent once has a key, or a price to remember."""
    was_paid = entry.attempt_key is not None or entry.spent or entry.unpriced
    return entry.state in (transitions.PLANNED, transitions.REJECTED) and not was_paid


def _makes_way(ours: Entry, other: Entry) -> bool:
    """Whether a run that came to nothing here is one with a run that came to more there, as a further attempt."""
    if ours.state not in (*_ENDED, transitions.PLANNED, transitions.REJECTED) or ours.attempt_key is not None:
        return False
    return other.state in (*transitions.PAID, transitions.STORED)


def _in_its_place(ours: Entry, other: Entry) -> Entry:
    earlier = {"spent": ours.spent, "unpriced": ours.unpriced}
    if ours.state in _ENDED:
        earlier = transitions.past_cost(ours)
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


def _free_take(here: Sequence[Entry], other: Entry) -> int:
    taken = {entry.take for entry in here if (entry.service, entry.identity) == (other.service, other.identity)}
    return other.take if other.take not in taken else max(taken) + 1
