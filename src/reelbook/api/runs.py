"""The door that a notebook uses: `connect`, and the calls that go to the client which was opened last."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from ..client import Client, has_closed_client, latest_client, open_clients, register_client
from ..errors import ReelbookError
from ..models.base import Input
from ..models.pricing import Estimate, Rates
from ..process_shared import find_keyring_key
from ..runs.cancel import Cancelled
from ..runs.run import Run
from ..shutdown import before_signal
from ..storage.library_folder import is_from_above, library_folder
from ..transport.argument_checks import check_input
from ..transport.http import Key
from ..util.name_hints import with_usage

log = logging.getLogger("reelbook")

_reported_folders: set[Path] = set()
"""Libraries of folders above of which this process has been told."""


def connect(
    address: str | None = None,
    *,
    api_key: str | None = None,
    library: str | Path | None = None,
    shelf: str | None = None,
    rates: str | Path | None = None,
) -> Client:
    """A client of the embedded service, or of the one at this address.

    `REELBOOK_URL` and `REELBOOK_API_KEY` serve where nothing is given, then the system's keyring. `shelf` keeps the media
    elsewhere than in the library's folder, such as `s3://bucket/folder`. `rates` names a TOML table of per-unit prices
    that the embedded service charges, and that stand in where a hosted one does not tell its own.
    """
    address = address or os.getenv("REELBOOK_URL") or None
    if address is not None and not isinstance(address, str):
        raise ReelbookError(f"`address` is a text, not a value of the type {type(address).__name__}.")
    if api_key is not None and not isinstance(api_key, str):
        wrong, api_key = type(api_key).__name__, None
        raise ReelbookError(f"`api_key` is a text, not a value of the type {wrong}.")
    try:
        key = Key(api_key or os.getenv("REELBOOK_API_KEY") or (find_keyring_key(address) if address else None))
    finally:
        api_key = None  # A verbose traceback shows the variables of every frame, this one's too.
    if address is not None and not address.lower().startswith(("http://", "https://")):
        raise ReelbookError(f"{address!r} is not an address of a service: it begins with http:// or https://.")
    folder = parse_library_folder(library) if library else library_folder()
    if not library and is_from_above(folder) and folder not in _reported_folders:
        _reported_folders.add(folder)
        log.warning(
            "Using the library of a folder above this one, %s, so that nothing it has is paid for again. "
            "For one of this folder alone: rb.connect(library='.reelbook').",
            folder,
        )
    before_signal.install()
    return register_client(Client(address, key, folder, Rates.read(rates) if rates else None, shelf))


def parse_library_folder(library: str | Path) -> Path:
    """The folder of a library that a person has named, in full; it need not be there."""
    if "://" in str(library):
        raise ReelbookError(
            f"{str(library)[:200]!r} is no folder on this machine. The ledger stays on a local disk; media can live elsewhere: shelf={str(library)[:200]!r}."
        )
    try:
        folder = Path(library).expanduser().absolute()
        if b"\0" not in os.fsencode(folder):
            return folder
        reason = "it has a zero byte in it"
    except (RuntimeError, ValueError, TypeError) as error:
        reason = str(error)
    raise ReelbookError(
        f"{library!r:.200} is no folder of a library ({reason}). Nothing was made or sent: give its path as a text or a Path."
    )


def default_client() -> Client:
    """The client that was opened last, else a new one."""
    client = latest_client()
    if client is None:
        client = connect()
        if has_closed_client():
            # Not where a person has never connected: there it is what they expect.
            log.warning(
                "The client was closed, so a new one is used: %s, with the library %s.", client.base_url, client.library
            )
    return client


@with_usage("rb.run(rb.TextToVideo('…'))")
def run(request: Input, *, fresh: bool = False, take: int | None = None) -> Run:
    """Run a model and wait for its media; what the library has already costs nothing."""
    check_input(request)  # Before a service is started for it.
    return default_client().run(request, fresh=fresh, take=take)


@with_usage("rb.start(rb.TextToVideo('…'))")
def start(request: Input, *, fresh: bool = False, take: int | None = None) -> Run:
    """Start a run and return as soon as the service has it."""
    check_input(request)
    return default_client().start(request, fresh=fresh, take=take)


@with_usage("rb.attach('request-id', model='its/id')")
def attach(request_id: str, *, model: str | None = None) -> Run:
    """Pick up a run that was started elsewhere."""
    return default_client().attach(request_id, model=model)


def cancel_queued() -> Cancelled:
    """Cancel what waits in the service's queue, such as after an interrupt of a sweep: its credits come back.

    What the service works on already goes on, and so do sweeps that still send, and other notebooks that are open.
    """
    clients = open_clients() or (default_client(),)
    return sum((client.cancel_queued() for client in clients), Cancelled())


@with_usage("rb.estimate(rb.TextToVideo('…'))")
def estimate(request: Input) -> Estimate:
    """What a run costs."""
    check_input(request)
    return default_client().estimate(request)


@with_usage("rb.model('its/id')")
def model(endpoint_id: str) -> type[Any]:
    """The input class of any model, built from the service's description of it."""
    return default_client().model(endpoint_id)
