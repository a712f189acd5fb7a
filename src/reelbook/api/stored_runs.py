"""`Run` objects for runs in a library, with a client or without one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from ..client import Client
from ..errors import InvalidInput, ReelbookError
from ..runs.run import Run
from ..runs.submission import ClientContext
from ..storage.ledger import connection, transitions
from ..storage.ledger.transitions import Entry
from ..storage.ledger.writer import Ledger
from ..storage.library import Library
from ..storage.shelf import Shelf
from ..transport.downloads.downloader import Downloader
from ..transport.http import Http
from ..transport.polling.poller import Poller
from ..transport.service_calls import ServiceCalls
from ..util.background_loop import background
from ..util.printable import readable_id

CALL_SECONDS = 120.0
NOWHERE = "http://no-service.invalid"
"""The address without a client; nothing is sent there."""
_ENDED = (transitions.FAILED, transitions.CANCELLED, transitions.REJECTED)


def runs_with_client(client: Client, entries: Sequence[Entry]) -> list[Run]:
    """The runs of these ledger rows; those that are not finished are followed by the client."""
    over = [entry for entry in entries if _is_over(entry, client.shelf)]
    runs_over = dict(zip((entry.id for entry in over), _make_runs(over, lambda: client.context), strict=True))
    return [runs_over.get(entry.id) or _attach(client, entry) for entry in entries]


def runs_without_client(ledger: Ledger, shelf: Shelf, entries: Sequence[Entry]) -> list[Run]:
    """The runs of these ledger rows without a client; raises a ReelbookError if one is not finished."""
    open_still = next((entry for entry in entries if not _is_over(entry, shelf)), None)
    if open_still is not None:
        raise ReelbookError(
            f"Run {open_still.id} (request {readable_id(open_still.request_id or '')}) of the library in {ledger.folder} is not finished here, and no "
            f"client is connected to that library. Connect first, rb.connect(…, library={str(ledger.folder)!r}), then ask again."
        )
    return _make_runs(entries, lambda: _offline_context(ledger, shelf))


def find_library(table: pd.DataFrame, opened: Callable[[str | None], Library], paths: Sequence[str]) -> Library:
    """The library with the runs of a table: the one it was made with, one that contains its files, or the current one."""
    source = table.attrs.get("reelbook")
    named = [source.get("library")] if isinstance(source, dict) else []
    named += [str(Path(path).parent.parent) for path in paths]
    folders = [folder for folder in dict.fromkeys(named) if folder and (Path(folder) / connection.NAME).is_file()]
    failure: InvalidInput | None = None
    for folder in [*folders[:_MAX_FOLDERS], None]:
        library = opened(folder)
        try:
            library.numbers(table)
        except InvalidInput as error:
            failure = failure or error
        else:
            return library
    assert failure is not None, "at least one library was asked"
    raise failure


_MAX_FOLDERS = 8


def _make_runs(entries: Sequence[Entry], context: Callable[[], ClientContext]) -> list[Run]:
    async def make() -> list[Run]:
        live = context().ledger.live
        return [run if isinstance(run := live.get(entry.id), Run) else Run(context, entry) for entry in entries]

    return background.wait(make(), CALL_SECONDS)


def _attach(client: Client, entry: Entry) -> Run:
    service = background.wait(client.context.name(), CALL_SECONDS)
    if entry.service != service:
        raise ReelbookError(
            f"Run {entry.id} of the library is not finished here and belongs to the service {entry.service}; this client talks to "
            f"{service}. Connect to that service first."
        )
    return client.attach(entry.request_id or "", model=entry.model)


def _is_over(entry: Entry, shelf: Shelf) -> bool:
    """Whether a run is finished and its files are here, so that no service is needed."""
    if entry.state == transitions.STORED:
        return all(shelf.find(str(file.get("sha256"))) is not None for file in entry.files)
    return entry.state in _ENDED


def _offline_context(ledger: Ledger, shelf: Shelf) -> ClientContext:
    http = Http(None)
    calls = ServiceCalls(http, NOWHERE)
    return ClientContext(
        http, calls, ledger, shelf, Poller(calls, past=lambda _: ()), Downloader(shelf, lambda: calls.base_url)
    )
