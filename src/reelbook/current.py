"""Session: the open clients of this process, which one is current, and the defaults of a new one."""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from .errors import ReelbookError
from .models.base import Input
from .models.catalog import CATALOG
from .models.pricing import Estimate, Rates, estimate
from .storage.ledger.known_services import describe_maker
from .storage.library_folder import is_from_above, library_folder, parse_library_folder

if TYPE_CHECKING:
    from .client import Client
    from .runs.run import Run
    from .shutdown import ProcessEnd
    from .storage.library import Library

log = logging.getLogger("reelbook")

KEYRING = "reelbook"
"""The service name of keys in the system's keyring; the user name is the service's address."""


class Session:
    """The clients of this process. The one opened last is current.

    Forms, plans and tables use its current client, and never open one just for a display.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._clients: list[Client] = []
        self._has_opened = False
        self._reported_folders: set[Path] = set()
        self._end: ProcessEnd | None = None

    @property
    def current(self) -> Client | None:
        """The client opened last; None if no client is open."""
        return self.clients[-1] if self.clients else None

    @property
    def clients(self) -> tuple[Client, ...]:
        """The open clients, the latest last."""
        return tuple(client for client in self.unfinished if client.is_open)

    @property
    def unfinished(self) -> tuple[Client, ...]:
        """The open clients, and those still waiting for answers to paid requests."""
        # Without the lock: it is read when a signal ends the process, at whatever moment.
        return tuple(client for client in tuple(self._clients) if not client.is_finished)

    def connect(
        self,
        address: str | None = None,
        *,
        api_key: str | None = None,
        library: str | Path | None = None,
        shelf: str | None = None,
        rates: str | Path | None = None,
        models: str | Path | None = None,
    ) -> Client:
        """Connect to the embedded service, or to the one at this URL, and return the client.

        The defaults come from `REELBOOK_URL` or `REELBOOK_MODELS`, and `REELBOOK_API_KEY`; the key also from the system's keyring.
        `shelf` stores the media outside the library's folder, such as in `s3://bucket/folder`. `rates` is the path of a TOML table of
        per-unit prices, which the embedded service charges, and which count where a hosted one states none. `models` is the path of a
        `models.toml`, which says what runs each model: the embedded service itself, a paid service on your account, or weights of
        your own.

        Example::

            client = rb.connect()  # the service that comes with the package
            client.account()["credits_available"]
        """
        # Here, because a form or a plan that is only displayed needs none of them.
        from .client import Client
        from .shutdown import ProcessEnd
        from .transport.http import Key

        if models is not None and address is not None:
            raise ReelbookError("`models` is for the embedded service: give either an address or `models`.")
        if address is None and models is None:
            models = _usual_models()
        address = None if models is not None else address or os.getenv("REELBOOK_URL") or None
        if address is not None and not isinstance(address, str):
            raise ReelbookError(f"`address` is a text, not a value of the type {type(address).__name__}.")
        if api_key is not None and not isinstance(api_key, str):
            wrong, api_key = type(api_key).__name__, None
            raise ReelbookError(f"`api_key` is a text, not a value of the type {wrong}.")
        try:
            key = Key(api_key or os.getenv("REELBOOK_API_KEY") or (find_keyring_key(address) if address else None))
        finally:
            api_key = None  # A verbose traceback prints the variables of every frame, including this one.
        if address is not None and not address.lower().startswith(("http://", "https://")):
            raise ReelbookError(f"{address!r} is not an address of a service: it begins with http:// or https://.")
        folder = parse_library_folder(library) if library else self._usual_folder()
        self._end = self._end or ProcessEnd(lambda: self.unfinished)
        self._end.install()
        client = Client(address, key, folder, Rates.read(rates) if rates else None, shelf, models)
        if address is not None:
            try:
                client.check_key()
            except BaseException:
                client.close()
                raise
        with self._guard:
            self._clients = [*self.unfinished, client]
            self._has_opened = True
        if note := self.format_other_service():
            log.warning("%s", note)
        return client

    def client(self) -> Client:
        """The current client, else a new one."""
        if (current := self.current) is not None:
            return current
        has_closed = self._has_opened
        client = self.connect()
        if has_closed:
            # Not for users who have never connected: they expect a new client.
            log.warning(
                "The client was closed, so a new one is used: %s, with the library %s.", client.base_url, client.library
            )
        return client

    def service_name(self) -> str:
        """The service of the current client; empty without one."""
        client = self.current
        return "" if client is None else "embedded service" if client.is_embedded else client.base_url

    @property
    def is_embedded(self) -> bool:
        """Whether the current client uses the embedded service."""
        client = self.current
        return client is not None and client.is_embedded

    def format_other_service(self) -> str:
        """The note that the current client is embedded and another service made the library's latest run; empty if not."""
        client = self.current
        last = "" if client is None or not client.is_embedded else client.other_last_service
        if not last:
            return ""
        name = describe_maker(last, client.library) if client is not None else ""
        address = repr(name) if "://" in name else "…"
        return (
            f"The latest run in this library was made by {name}. This is the embedded service, whose clips are sketches; "
            f"to use the other one: rb.connect({address}, api_key=…)."
        )

    def next_service_name(self) -> str:
        """The service that the first run would connect to: the host only, because an address may contain a password."""
        host = urlsplit(os.getenv("REELBOOK_URL") or "").hostname
        return host or "the embedded service on this machine, at no cost"

    def estimate(self, request: Input) -> Estimate:
        """The cost of a run: from the current client, else from the prices of the specification."""
        client = self.current
        return estimate(request) if client is None else client.estimate(request)

    def start(self, request: Input) -> Run:
        """Start a run that the user is watching, with a new client if none is open."""
        return self.client().start(request, watched=True)

    def model(self, endpoint_id: str) -> type[Input]:
        """The input class of a model, by id or class name: from the catalog, else from the service's description."""
        known = next((row.input for row in CATALOG if endpoint_id in (row.id, row.input.__name__)), None)
        return known or self.client().model(endpoint_id)

    def library(self, folder: str | Path | None = None) -> Library:
        """The library of the current client, or the one in this folder."""
        from .stored_runs import open_library

        return open_library(self.current, folder)

    def _usual_folder(self) -> Path:
        folder = library_folder()
        if is_from_above(folder) and folder not in self._reported_folders:
            self._reported_folders.add(folder)
            log.warning(
                "Using the library of a folder above this one, %s, so that nothing it has is paid for again. "
                "For one of this folder alone: rb.connect(library='.reelbook').",
                folder,
            )
        return folder


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


def _usual_models() -> str | None:
    """The `models.toml` of the environment."""
    models = os.getenv("REELBOOK_MODELS") or None
    if models is not None and os.getenv("REELBOOK_URL"):
        raise ReelbookError("REELBOOK_URL and REELBOOK_MODELS are both set, and only one can count. Unset one.")
    return models


session = Session()
"""The session of this process."""
