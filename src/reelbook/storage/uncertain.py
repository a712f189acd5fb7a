"""Uncertain runs: sent, but their response was lost, so only the user can resolve them."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ..errors import ReelbookError
from ..util.printable import format_count, format_line
from .ledger import transitions
from .ledger.transitions import Entry
from .ledger.writer import Ledger
from .table import parse_text

_MAX_LETTERS = 60
ADVICE = (
    "Look into the account's history at the service. If it has the run: attach(request_id). "
    "If not: resubmit() sends it again, write_off() removes it from the books."
)


@dataclass(frozen=True, slots=True)
class Uncertain:
    """An uncertain run, its possible cost, and three methods to resolve it."""

    entry: Entry = field(repr=False)
    _ledger: Ledger = field(repr=False, compare=False)
    _client: Any = field(default=None, repr=False, compare=False)
    """The client that resolves it; without one the ledger is updated, and a later run continues."""

    @property
    def run(self) -> int:
        """Its number in the library."""
        return self.entry.id

    @property
    def input(self) -> Mapping[str, Any]:
        """Its input."""
        values = parse_text(self.entry.input)
        return values if isinstance(values, dict) else {}

    @property
    def what(self) -> str:
        """Its input as a short text: the prompt if there is one."""
        values = [f"{name} {value}" for name, value in self.input.items() if isinstance(value, (str, int, float))]
        text = format_line(str(self.input.get("prompt") or ", ".join(values))) or "no words"
        return text if len(text) <= _MAX_LETTERS else f"{text[: _MAX_LETTERS - 1].rstrip()}…"

    @property
    def when(self) -> datetime:
        """When it was sent."""
        return datetime.fromtimestamp(self.entry.sent or self.entry.created, UTC)

    @property
    def credits(self) -> int | None:
        """Its maximum possible cost; None if the price is unknown."""
        return self.entry.price

    @property
    def reason(self) -> str:
        """How its response was lost."""
        return self.entry.error or "its answer was lost"

    def attach(self, request_id: str) -> Any:
        """Resolve it as the request with this id at the service, as found in the account's history."""
        if not isinstance(request_id, str) or not request_id.strip():
            raise ReelbookError(
                f"{request_id!r} is not a request id. Copy it as text from the account's history at the service."
            )
        if self._client is not None:
            return self._client.resolve(self.entry, request_id.strip())

        def resolve(db: sqlite3.Connection) -> None:
            transitions.resolve(db, self.run, request_id.strip(), self._ledger.owner)
            transitions.release(db, self.run, self._ledger.owner)

        return self._ledger.transact_now(resolve)

    def write_off(self) -> None:
        """Resolve it as failed; its price counts as spent."""
        self._ledger.transact_now(lambda db: transitions.write_off(db, self.run))

    def resubmit(self) -> Any:
        """Send it once more, because the service does not have it. If it had arrived after all, it is charged twice."""
        if self._client is not None:
            return self._client.resend(self.entry)
        return self._ledger.transact_now(lambda db: transitions.allow_resubmission(db, self.run))

    def __repr__(self) -> str:
        price = "at an unknown price" if self.credits is None else f"at most {self.credits:,} credits"
        return f"<Uncertain run {self.run}: {self.what}, sent {self.when:%Y-%m-%d %H:%M} UTC, {price} ({self.reason})>"


class Uncertainties(list[Uncertain]):
    """All uncertain runs, oldest first."""

    @property
    def credits(self) -> int:
        """Their maximum possible cost, where prices are known."""
        return sum(run.credits or 0 for run in self)

    def __repr__(self) -> str:
        if not self:
            return "<No uncertain runs>"
        first = f"<{format_count(len(self), 'uncertain run')}, at most {self.credits:,} credits:"
        return "\n".join([first, *(f"  {run!r}" for run in self), f"  {ADVICE}>"])
