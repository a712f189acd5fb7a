"""What a service was paid for, by its own charge log and database, and what a library has of it."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.faults.nursery import number_of

if TYPE_CHECKING:
    from tests.support import Served


@dataclass(frozen=True)
class Row:
    """A run as the ledger has it."""

    id: int
    number: int
    """That of its clip."""
    state: str
    request_id: str | None
    media: tuple[str, ...]
    """The hashes of its files."""
    sent: float
    judged: float
    """When it was sent, and when its last news came."""


def rows_of(library: Path) -> list[Row]:
    """All runs of a library."""
    found = query(
        library / "ledger.sqlite",
        "SELECT id, input, state, request_id, media, (SELECT max(at) FROM events WHERE run = runs.id AND state = 'sending'),"
        " (SELECT max(at) FROM events WHERE run = runs.id) FROM runs ORDER BY id",
    )
    return [
        Row(run, number_of(json.loads(text)), state, request, tuple(file["sha256"] for file in json.loads(media or "[]")), *times)
        for run, text, state, request, media, *times in found
    ]  # fmt: skip


def asked_of(served: Served) -> dict[str, int]:
    """The number of the clip that each request asked for, as the service has kept it."""
    requests = query(served.server.service.settings.data / "service.sqlite3", "SELECT id, input, account FROM requests")
    return {name: number_of(json.loads(text)) for name, text, account in requests if served.account in (None, account)}


def reserved(served: Served) -> dict[int, list[str]]:
    """The requests of each clip that were paid for, by the service's charge log."""
    asked, found = asked_of(served), defaultdict[int, list[str]](list)
    for line in served.charges():
        if line["kind"] == "reserve":
            found[asked[line["request_id"]]].append(line["request_id"])
    return found


def paid(served: Served) -> Counter[int]:
    """How often each clip was paid for."""
    return Counter({number: len(names) for number, names in reserved(served).items()})


def query(path: Path, sql: str) -> Sequence[tuple[Any, ...]]:
    """Ask a database that others may be writing to."""
    with closing(sqlite3.connect(path, timeout=30)) as db:
        return db.execute(sql).fetchall()
