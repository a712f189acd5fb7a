"""What the ledger knows of a plan: the identities, states and results of its runs, and how long its model takes."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InvalidInput
from ..models.base import Input
from ..models.images import Image, pictures_of
from ..storage.ledger.transitions import COLUMNS, Entry, State
from ..storage.ledger.writer import Ledger
from ..storage.run_identity import format_canonical, make_identity
from ..storage.tidy import get_paths
from ..transport.picture_sources import read_sources
from ..util.background_loop import background
from ..util.data_address import is_data_address
from .plan_rows import Known, Row

if TYPE_CHECKING:
    from ..runs.submit import ClientContext
    from .plan import Plan

CALL_SECONDS = 120.0
MAX_PAST_RUNS = 200
"""The number of recent runs that a forecast uses."""

RunKey = tuple[str, int]
"""Identity and take, which together identify a run of a service."""


class RunName(NamedTuple):
    """The identification of a run in the ledger."""

    identity: str
    take: int
    input: str
    """The input in canonical form."""

    @property
    def key(self) -> RunKey:
        """The key in the ledger of a service."""
        return self.identity, self.take


async def name_rows(
    rows: Iterable[Row], context: ClientContext, *, take: int = 0
) -> tuple[str, dict[int, RunName | InvalidInput]]:
    """The service's name, and by number the ledger names of the possible rows, or the error of one's pictures."""
    runs = {row.number: (row.input, row.take + take) for row in rows if row.input is not None}
    names = await name_runs([*runs.values()], context.shelf.find)
    return await context.name(), dict(zip(runs, names, strict=True))


async def name_runs(
    runs: Sequence[tuple[Input, int]], library: Callable[[str], Path | None]
) -> list[RunName | InvalidInput]:
    """The ledger names of inputs and takes, or the error if an input's pictures cannot be read.

    A picture shared by many runs is read once.
    """
    hashes: dict[str, str] = {}
    pictures: list[Mapping[Any, str] | InvalidInput] = []
    for request, _ in runs:
        # By their content, and those at a URL by that.
        embedded = {
            place: picture
            for place, picture in pictures_of(request)
            if isinstance(picture, Image) or is_data_address(picture)
        }
        try:
            if not hashes.keys() >= set(embedded.values()):
                sources = await read_sources(request, library=library)
                hashes |= {picture: sources[place].sha256 for place, picture in embedded.items()}
            pictures.append({place: hashes[picture] for place, picture in embedded.items()})
        except InvalidInput as error:
            pictures.append(error)

    def make_name(run: tuple[Input, int], found: Mapping[Any, str] | InvalidInput) -> RunName | InvalidInput:
        if isinstance(found, InvalidInput):
            return found
        text = format_canonical(run[0], found or None)
        return RunName(make_identity(run[0].endpoint_id, text), run[1], text)

    return await asyncio.to_thread(lambda: list(map(make_name, runs, pictures)))


def find_rows(ledger: Ledger, service: str, keys: Iterable[RunKey], *, unknown: int = 0) -> dict[RunKey, Entry]:
    """The entries of those runs that are in the ledger, by key; they count `unknown` for an attempt of unknown price."""
    wanted = set(keys)
    values = {"service": service, "values": json.dumps([identity for identity, _ in wanted]), "unknown": unknown}
    columns = COLUMNS.replace("counted", "counted + unknown * :unknown")
    query = (
        f"SELECT {columns} FROM entries WHERE service = :service AND identity IN (SELECT value FROM json_each(:values))"
    )
    stored = (Entry(*row) for row in ledger.read(lambda db: db.execute(query, values).fetchall()))
    return {key: entry for entry in stored if (key := (entry.identity, entry.take)) in wanted}


def find_known(plan: Plan, context: ClientContext, *, take: int = 0) -> Known:
    """A snapshot of the results that the library has for a plan, queried once for all its rows."""
    service, names = background.wait(name_rows(plan.distinct, context, take=take), CALL_SECONDS)
    keys = {row.key: name.key for row in plan.distinct if isinstance(name := names[row.number], RunName)}
    stored, files = find_rows(context.ledger, service, keys.values()), get_paths(context.shelf)
    found = {key: stored[name] for key, name in keys.items() if name in stored}
    have = frozenset(key for key, entry in found.items() if has_result(entry, files))
    return Known(have, {key: entry.credits or 0 for key, entry in found.items()})


def make_budget_scope(service: str, keys: Iterable[RunKey]) -> str:
    """The name of the budget of these runs in the ledger: equal for the same runs in any notebook and order."""
    listed = json.dumps([service, sorted(set(keys))])
    return f"plan {hashlib.sha256(listed.encode()).hexdigest()[:32]}"


def has_result(entry: Entry, files: Mapping[str, str]) -> bool:
    """Whether the library has the result with all its files, so that no request is necessary."""
    return entry.state == State.STORED and all(sha256 in files for sha256 in entry.hashes)


def forecast(rows: Sequence[Row], ledger: Ledger, service: str) -> float | None:
    """Estimated seconds until all rows have ended, at the pace of their model's latest runs; None without any in the ledger.

    That pace is the time in which at least one of them was under way, divided by their number.
    """
    requests = [row.input for row in rows if row.input is not None]
    if not requests:
        return None
    query = (
        "SELECT sent, finished FROM runs WHERE service = ? AND model = ? AND state = ? AND finished > sent"
        f" ORDER BY id DESC LIMIT {MAX_PAST_RUNS}"
    )
    values = (service, requests[0].endpoint_id, State.STORED)
    past = sorted(ledger.read(lambda db: db.execute(query, values).fetchall()))
    busy = until = 0.0
    for sent, finished in past:
        busy, until = busy + max(finished - max(sent, until), 0.0), max(until, finished)
    return busy / len(past) * len(requests) if past else None
