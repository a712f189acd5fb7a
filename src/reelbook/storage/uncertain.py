"""Runs that were sent and whose answer was lost: only a person can say what became of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ..errors import ReelbookError
from ..util.printable import readable_id
from .ledger import transitions
from .ledger.transitions import Entry
from .ledger.writer import Ledger
from .table.library_table import parsed

_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Ways:
    """The ways out that need a client; without one the ledger is set so that the next run goes on from there."""

    attach: Callable[[Entry, str], Any] | None = None
    resend: Callable[[Entry], Any] | None = None


@dataclass(frozen=True, slots=True)
class Uncertain:
    """One such run, what it may have cost, and the three ways out."""

    entry: Entry = field(repr=False)
    _ledger: Ledger = field(repr=False, compare=False)
    _ways: Ways = field(default_factory=Ways, repr=False, compare=False)

    @property
    def run(self) -> int:
        """Its number in the library."""
        return self.entry.id

    @property
    def model(self) -> str:
        """The model that was asked."""
        return self.entry.model

    @property
    def input(self) -> Mapping[str, Any]:
        """What was asked."""
        return _asked(self.entry)

    @property
    def what(self) -> str:
        """What was asked, in a few words."""
        return words_of(self.entry)

    @property
    def when(self) -> datetime:
        """When it was sent."""
        return datetime.fromtimestamp(self.entry.sent or self.entry.created, UTC)

    @property
    def credits(self) -> int | None:
        """What it may have cost at worst; None where nobody knows its price."""
        return self.entry.price

    @property
    def reason(self) -> str:
        """How its answer was lost."""
        return self.entry.error or "its answer was lost"

    def attach(self, request_id: str) -> Any:
        """The service has it, under this id: take it from there. Look the id up in the account's history."""
        request_id = _checked_id(request_id)
        if self._ways.attach is not None:
            self._ledger.look(lambda db: _check_unused(db, self.entry, request_id))
            return self._ways.attach(self.entry, request_id)

        def settle(db: sqlite3.Connection) -> None:
            _check_unused(db, self.entry, request_id)
            transitions.settled(db, self.run, request_id, self._ledger.owner)
            transitions.left(db, self.run, self._ledger.owner)

        self._ledger.now(settle)
        return None

    def write_off(self) -> None:
        """Give it up: it counts as failed, and its price as spent."""
        self._ledger.now(lambda db: transitions.written_off(db, self.run))

    def resubmit(self) -> Any:
        """The service does not have it: send it once more. Should it have arrived after all, it is paid twice."""
        if self._ways.resend is not None:
            return self._ways.resend(self.entry)
        self._ledger.now(lambda db: transitions.resubmittable(db, self.run))
        return None

    def __repr__(self) -> str:
        price = "at an unknown price" if self.credits is None else f"at most {self.credits:,} credits"
        return f"<Uncertain run {self.run}: {self.what}, sent {self.when:%Y-%m-%d %H:%M} UTC, {price} ({self.reason})>"


class Uncertainties(list[Uncertain]):
    """All of them, oldest first."""

    @property
    def credits(self) -> int:
        """What they may have cost at worst, as far as their prices are known."""
        return sum(one.credits or 0 for one in self)

    def __repr__(self) -> str:
        if not self:
            return "<No uncertain runs>"
        lines = [f"<{len(self)} uncertain {'run' if len(self) == 1 else 'runs'}, at most {self.credits:,} credits:"]
        return "\n".join([*lines, *(f"  {one!r}" for one in self), f"  {ADVICE}>"])


ADVICE = (
    "Look into the account's history at the service. If it has the run: attach(request_id). "
    "If not: resubmit() sends it once more, write_off() gives it up."
)


def in_words(values: Mapping[str, Any]) -> str:
    """What was asked, on one short line: the prompt if there is one.

    >>> in_words({"seed": 7, "prompt": "a paper   boat"}), in_words({"fps": 24})
    ('a paper boat', 'fps 24')
    """
    prompt = values.get("prompt")
    if isinstance(prompt, str) and prompt.strip():
        text = " ".join(prompt.split())
    else:
        text = ", ".join(f"{name} {value}" for name, value in values.items() if isinstance(value, (str, int, float)))
    text = "".join(letter for letter in text if letter.isprintable()) or "no words"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rstrip()}…"


def words_of(entry: Entry) -> str:
    """What a run was asked, on one short line."""
    return in_words(_asked(entry))


def _asked(entry: Entry) -> Mapping[str, Any]:
    (asked,) = parsed([entry.input])
    return asked if isinstance(asked, dict) else {}


def _checked_id(request_id: str) -> str:
    if not isinstance(request_id, str) or not request_id.strip():
        raise ReelbookError(
            f"{request_id!r} is no request id. Copy it from the account's history at the service, as text."
        )
    return request_id.strip()


def _check_unused(db: sqlite3.Connection, entry: Entry, request_id: str) -> None:
    """A request belongs to one run: attached to a second one, a paid result would be counted for two."""
    row = db.execute(
        "SELECT id FROM runs WHERE service = ? AND request_id = ? AND id != ?", (entry.service, request_id, entry.id)
    ).fetchone()
    if row is not None:
        raise ReelbookError(
            f"Request {readable_id(request_id)} is run {row[0]} of the library already, so it is not the lost one. "
            f"Look for another request in the account's history, sent about {datetime.fromtimestamp(entry.sent or entry.created, UTC):%Y-%m-%d %H:%M} UTC."
        )
