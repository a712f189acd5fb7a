"""Resources shared by the clients of one process: ledgers, and keys in the system's keyring."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from .errors import NotFound, ServiceError, UnknownModel, Unreachable
from .models.base import Input
from .models.pricing import Rates
from .runs.submission import ClientContext
from .storage.description_cache import DescriptionCache
from .storage.ledger import known_services
from .storage.ledger.writer import Ledger
from .storage.shelf import Shelf
from .transport.api_key import Key
from .transport.downloader import Downloader
from .transport.http import Http
from .transport.poller import Poller, StatusSource
from .transport.service_calls import ServiceCalls

KEYRING = "reelbook"
"""The service name of keys in the system's keyring; the user name is the service's address."""

_guard = threading.Lock()
_ledgers: dict[Path, tuple[Ledger, int]] = {}


def acquire_ledger(library: Path) -> Ledger:
    """The ledger of a library, shared by all clients of this process."""
    with _guard:
        ledger, users = _ledgers.get(library, (None, 0))
        ledger = ledger or Ledger(library)
        _ledgers[library] = (ledger, users + 1)
        return ledger


def release_ledger(library: Path) -> None:
    """Close the ledger of a library when no other client of this process uses it."""
    with _guard:
        ledger, users = _ledgers.pop(library)
        if users > 1:
            _ledgers[library] = (ledger, users - 1)
            return
    ledger.close()


def find_keyring_key(address: str) -> str | None:
    """The key stored in the system's keyring for this address; None without one, or without the extra `keys`."""
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return None
    try:
        return keyring.get_password(KEYRING, address.rstrip("/"))
    except KeyringError:
        return None


async def make_context(
    key: Key | None,
    address: str,
    renew: Callable[[], str] | None,
    rates: Rates | None,
    ledger: Ledger,
    shelf: Shelf,
    name: str | None,
    maker: str,
    start: Callable[[Input], Any],
) -> ClientContext:
    """Create the dependencies of one client's runs; `maker` is what to call the service of this name."""
    # Created on the background loop, where all its calls run.
    http = Http(key)
    calls = ServiceCalls(http, address, renew, rates)
    past = await ledger.transact(known_services.get_past_seconds)
    if name:
        await ledger.transact(partial(known_services.record_maker, name=name, words=maker))
    poller = Poller(StatusSource(calls), past=lambda endpoint_id: past.get(endpoint_id, ()))
    return ClientContext(http, calls, ledger, shelf, poller, Downloader(shelf), name, start=start)


async def get_description(context: ClientContext, library: Path, endpoint_id: str) -> Any:
    """The service's description of a model, cached; a stale one if the service is unreachable."""
    cache = DescriptionCache(library / "descriptions", await context.name())
    document = await asyncio.to_thread(cache.read, endpoint_id)
    if document is None:
        try:
            document = await context.calls.description(endpoint_id)
        except NotFound:
            known: list[str] = []
            # The list is optional for a service; an error from it would say nothing about the model.
            with contextlib.suppress(ServiceError):
                known = [str(row.get("id", "")) for row in await context.calls.models()]
            raise UnknownModel(endpoint_id, known) from None
        except Unreachable:
            # A stale description is better than none while the service is unreachable.
            document = await asyncio.to_thread(cache.read, endpoint_id, allow_stale=True)
            if document is None:
                raise
        else:
            await asyncio.to_thread(cache.save, endpoint_id, document)
    return document
