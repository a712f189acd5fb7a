"""The door for a program that runs requests of others on its own key, such as the gateway of a service.

client = Client("https://host/api", key, folder)
once = Once(client, "the id of somebody's request", "svc/text-to-video-13b-distilled")
run = await once.start(request)     # on the background loop; sent once, and only continued after a restart
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .client import Client
from .current import KEYRING
from .errors import ReelbookError, UncertainRun
from .models.base import Input
from .runs.run import Run, find_end
from .runs.submit import Submission, identify
from .storage.ledger import claims, transitions
from .storage.ledger.transitions import EXPIRED, Entry, State
from .storage.run_identity import make_price_key
from .storage.tidy import forget_runs
from .transport.http import Key

__all__ = ["KEYRING", "Client", "Key", "NothingToSend", "Once", "RunRecord", "forget_runs", "is_lost", "make_price_key"]


class NothingToSend(ReelbookError):
    """A run without an input, of which nothing was sent that could be continued."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What the library says of a run; the defaults are those of one of which nothing was sent."""

    number: int | None = None
    """Its number in the library."""
    is_paid: bool = False
    """Whether the service has accepted it, and its result is not here yet."""
    is_expired: bool = False
    """Whether the service does not know it any more."""
    may_have_arrived: bool = False
    """Whether it was sent, and nobody knows what became of it."""
    credits: int | None = 0
    """What it has cost, or may have; None if that is unknown."""


class Once:
    """One run, by its key: sent once at most, followed, cancelled, and counted."""

    def __init__(self, client: Client, key: str, model: str) -> None:
        self._client, self.key, self.model = client, key, model
        self._submission: Submission | None = None

    async def start(self, request: Input | None) -> Run:
        """The run, sent or continued.

        Raises how it has ended, if it has; `UncertainRun` if nobody knows whether it was made; `NothingToSend` without an
        input; and what the service refuses. After a refusal it may be started again.
        """
        context, entry = self._client.context, await self._find()
        if entry is not None:
            if entry.state != State.REJECTED and (ended := find_end(entry)) is not None:
                raise ended
            is_accepted = entry.state in (State.ACCEPTED, State.STORED)
            if entry.service == await context.name():
                if entry.request_id is not None and is_accepted:
                    return await self._client.attach_run(entry.request_id, entry.model)
            elif is_accepted or _may_have_arrived(entry):
                raise UncertainRun(entry.service, "it was sent to another service than this one", entry.price)
        if request is None:
            raise NothingToSend("There is no input to send.")
        submission = self._submission = Submission(context, request, name=self.key)
        # Shielded: a paid request in flight is never dropped.
        return await asyncio.shield(context.create_task(self._client.submit_run(submission, watched=True)))

    def stop(self) -> None:
        """Send nothing more."""
        if self._submission is not None:
            self._submission.stopped = True

    async def result(self) -> tuple[Mapping[str, Any], tuple[Mapping[str, Any], ...]]:
        """The output of a finished run, as the service gave it, and its files, each with its `path`."""
        entry = await self._find()
        assert entry is not None
        files = tuple({**file, "path": self._client.shelf.find(file["sha256"])} for file in entry.files)
        return json.loads(entry.output or "{}"), files

    async def record(self, *, charges_failures: bool) -> RunRecord:
        """What the library says of it.

        `charges_failures`: whether failures of which the service reports no charge cost their price, and not nothing.
        """
        entry = await self._find()
        if entry is None:
            return RunRecord()
        may_have_arrived, cost = _may_have_arrived(entry), entry.credits
        if entry.state in (State.PLANNED, State.REJECTED):
            cost = entry.spent + ((entry.price or 0) if may_have_arrived else 0)
        elif entry.state in (State.FAILED, State.CANCELLED) and entry.charged is None and not charges_failures:
            cost = cost if entry.error_type == "written_off" else entry.spent
        return RunRecord(entry.id, entry.state == State.ACCEPTED, entry.stage == EXPIRED, may_have_arrived, cost)

    async def _find(self) -> Entry | None:
        ledger = self._client.ledger

        def find(db: sqlite3.Connection) -> Entry | None:
            claims.recover(db, ledger)
            entries = transitions.find_entries(db, "name = ? ORDER BY id DESC", self.key)
            return entries[0] if entries else None

        return await ledger.transact(find)


async def is_lost(client: Client, request: Input, keys: Sequence[str]) -> bool:
    """Whether one of these runs had this input, and nobody knows or has decided what became of it."""
    _, _, identity = await identify(request, client.shelf)
    query = (
        "SELECT 1 FROM runs WHERE identity = ? AND state NOT IN (?, ?, ?) AND name IN (SELECT value FROM json_each(?))"
    )
    values = (identity, State.FAILED, State.CANCELLED, State.PLANNED, json.dumps(list(keys)))
    return await client.ledger.transact(lambda db: db.execute(query, values).fetchone() is not None)


def _may_have_arrived(entry: Entry) -> bool:
    """Whether an unpaid run has been sent, and may have arrived."""
    if entry.state == State.PLANNED:
        return entry.attempt_key is not None and entry.body is not None
    return entry.state in (State.SENDING, State.UNCERTAIN)
