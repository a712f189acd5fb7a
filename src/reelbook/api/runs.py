"""`rb.connect`, and functions that call the current client: `rb.run`, `rb.start`, `rb.attach`, `rb.estimate`, `rb.model`."""

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
"""Libraries of parent folders that this process has logged."""


def connect(
    address: str | None = None,
    *,
    api_key: str | None = None,
    library: str | Path | None = None,
    shelf: str | None = None,
    rates: str | Path | None = None,
) -> Client:
    """A client of the embedded service, or of the one at this address.

    The defaults are `REELBOOK_URL` and `REELBOOK_API_KEY`, then the system's keyring. `shelf` is another place for media
    than the library's folder, such as `s3://bucket/folder`. `rates` is the path of a TOML table of prices per unit, which
    the embedded service charges, and which are assumed where a hosted one does not report its own.
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
        api_key = None  # A verbose traceback shows the variables of every frame, including this one.
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
    """The absolute path of a library's folder, which need not exist; raises a ReelbookError for anything but a local path."""
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
    """The client that was opened last, else a new one of the default service."""
    client = latest_client()
    if client is None:
        client = connect()
        if has_closed_client():
            # No warning without an earlier client, where a new one is expected.
            log.warning(
                "The client was closed, so a new one is used: %s, with the library %s.", client.base_url, client.library
            )
    return client


@with_usage("rb.run(rb.TextToVideo('…'))")
def run(request: Input, *, fresh: bool = False, take: int | None = None) -> Run:
    """Run a model and wait for its media; a run that the library has already is served from there, at no cost."""
    check_input(request)  # Before a service is started.
    return default_client().run(request, fresh=fresh, take=take)


@with_usage("rb.start(rb.TextToVideo('…'))")
def start(request: Input, *, fresh: bool = False, take: int | None = None) -> Run:
    """Start a run and return as soon as the service has accepted it."""
    check_input(request)
    return default_client().start(request, fresh=fresh, take=take)


@with_usage("rb.attach('request-id', model='its/id')")
def attach(request_id: str, *, model: str | None = None) -> Run:
    """Attach to a run that was started elsewhere, and follow it."""
    return default_client().attach(request_id, model=model)


def cancel_queued() -> Cancelled:
    """Cancel the runs in the service's queue, after an interrupt of a sweep for instance; their credits are released.

    Runs that the service has begun continue, and so do sweeps that are still sending, and other notebooks.
    """
    clients = open_clients() or (default_client(),)
    return sum((client.cancel_queued() for client in clients), Cancelled())


@with_usage("rb.estimate(rb.TextToVideo('…'))")
def estimate(request: Input) -> Estimate:
    """The price of a run."""
    check_input(request)
    return default_client().estimate(request)


@with_usage("rb.model('its/id')")
def model(endpoint_id: str) -> type[Any]:
    """The input class of any model, built from the service's description of it."""
    return default_client().model(endpoint_id)
