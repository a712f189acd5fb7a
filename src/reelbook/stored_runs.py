"""The library in a folder, and `Run` objects for its runs, with or without a client."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import ReelbookError
from .media.metadata.provenance import write_with_sidecar
from .runs.run import Run
from .runs.submit import ClientContext
from .storage.adopt import find_library
from .storage.ledger import accepted, connection
from .storage.ledger.transitions import Entry, State
from .storage.ledger.writer import Ledger
from .storage.library import Library
from .storage.library_folder import library_folder, parse_library_folder
from .storage.shelf import Shelf
from .transport.downloader import Downloader
from .transport.http import Http
from .transport.poller import Poller
from .transport.service_calls import ServiceCalls
from .util.background_loop import background
from .util.printable import readable_id

if TYPE_CHECKING:
    from .client import Client

CALL_SECONDS = 120.0
NOWHERE = "http://no-service.invalid"
"""Placeholder address without a client; nothing is sent to it."""
_ENDED = (State.FAILED, State.CANCELLED, State.REJECTED)


def open_library(client: Client | None, folder: str | Path | None = None) -> Library:
    """The library in a folder, else the client's, else the default one; the client is used for its own library only."""
    usual = client.library if client else library_folder()
    path = _find_folder(parse_library_folder(folder)) if folder else usual
    if client is None or client.library != path:
        # Without a client, the library is readable and nothing can be sent.
        ledger, shelf = cache(lambda: Ledger(path)), Shelf(path / "media")
        offline = cache(lambda: _offline_context(ledger(), shelf))
        return Library(
            path, ledger, shelf, write=write_with_sidecar, runs=lambda entries: _get_runs(entries, offline, None)
        )
    return Library(
        path,
        client.ledger,
        client.shelf,
        resend=client.resend,
        attach=client.resolve,
        write=write_with_sidecar,
        runs=lambda entries: _get_runs(entries, lambda: client.context, client),
    )


def _get_runs(entries: Sequence[Entry], context: Callable[[], ClientContext], client: Client | None) -> list[Run]:
    """The runs of these ledger rows; unfinished ones are followed by the client, and without one they are an error."""
    ledger, shelf = context().ledger, context().shelf
    over = [entry for entry in entries if _is_over(entry, shelf)]
    if len(over) < len(entries) and client is None:
        first = next(entry for entry in entries if entry not in over)
        raise ReelbookError(
            f"Run {first.id} (request {readable_id(first.request_id or '')}) of the library in {ledger.folder} is not finished here, and no "
            f"client is connected to that library. Connect first, rb.connect(…, library={str(ledger.folder)!r}), then ask again."
        )

    async def make() -> dict[int, Run]:
        return {entry.id: ledger.live.get(entry.id) or Run(context, entry) for entry in over}

    runs = background.wait(make(), CALL_SECONDS)
    return [runs[entry.id] if client is None or entry.id in runs else _attach(client, entry) for entry in entries]


def _attach(client: Client, entry: Entry) -> Run:
    service = background.wait(client.context.name(), CALL_SECONDS)
    if entry.service != service:
        raise ReelbookError(
            f"Run {entry.id} of the library is not finished here and belongs to the service {entry.service}; this client talks to "
            f"{service}. Connect to that service first."
        )
    return client.attach(entry.request_id or "", model=entry.model)


def _is_over(entry: Entry, shelf: Shelf) -> bool:
    """Whether a run is finished and its files are on the shelf, so that no service is needed."""
    if entry.state == State.STORED:
        return all(shelf.find(str(file.get("sha256"))) is not None for file in entry.files)
    return entry.state in _ENDED


def _offline_context(ledger: Ledger, shelf: Shelf) -> ClientContext:
    http = Http(None)
    calls = ServiceCalls(http, NOWHERE)
    return ClientContext(http, calls, ledger, shelf, Poller(calls.poll), Downloader(shelf))


def _find_folder(folder: Path) -> Path:
    """The folder of the library at this path; raises a `ReelbookError` without one, because a typo is likely."""
    with connection.translate_errors(folder):
        if (folder / accepted.NAME).is_file() or (folder.is_dir() and not any(folder.iterdir())):
            return folder  # A lost ledger is restored from the list of accepted requests.
        try:
            return find_library(folder)
        except ReelbookError:
            why = f"no {connection.NAME} is in that folder" if folder.is_dir() else "there is no such folder"
    raise ReelbookError(
        f"There is no library in {folder}: {why}. Check the path; rb.connect(library={str(folder)!r}) creates a new one there."
    )
