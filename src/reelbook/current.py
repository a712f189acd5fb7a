"""Session: the open clients of this process, which one is current, the defaults of a new one, and what happens to them at the end."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import signal
import sys
import threading
import time
from concurrent.futures import wait as wait_for
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from .errors import ReelbookError
from .models.base import Input
from .models.catalog import CATALOG, Estimate, estimate, read_rates
from .storage.library_folder import is_from_above, library_folder, parse_folder
from .util.background_loop import TICK_SECONDS
from .util.printable import format_count

if TYPE_CHECKING:
    from .client import Client
    from .storage.library import Library

log = logging.getLogger("reelbook")

KEYRING = "reelbook"
"""The service name of keys in the system's keyring; the user name is the service's address."""
END_SECONDS = 17.0
"""How long the clients may take to close at the end of the process: the answers to paid requests, and a little more."""
END_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that end a process: a request to terminate, and a closed terminal."""


class Session:
    """The clients of this process. The one opened last is current.

    Forms, plans and tables use its current client, and never open one just for a display.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._clients: tuple[Client, ...] = ()

    @property
    def current(self) -> Client | None:
        """The client opened last; None if no client is open."""
        return next((client for client in reversed(self._clients) if client.is_open), None)

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
        from .transport.http import Key

        if models is not None and address is not None:
            raise ReelbookError("`models` is for the embedded service: give either an address or `models`.")
        if address is None and models is None:
            models = os.getenv("REELBOOK_MODELS") or None
            address = os.getenv("REELBOOK_URL") or None
            if models and address:
                raise ReelbookError("REELBOOK_URL and REELBOOK_MODELS are both set, and only one can count. Unset one.")
        try:
            key = Key(api_key or os.getenv("REELBOOK_API_KEY") or (find_keyring_key(address) if address else None))
        finally:
            api_key = None  # A verbose traceback prints the variables of every frame, including this one.
        folder = parse_folder(library) if library else library_folder()
        if not library and is_from_above(folder):
            log.warning(
                "Using the library of a folder above this one, %s, so that nothing it has is paid for again. "
                "For one of this folder alone: rb.connect(library='.reelbook').",
                folder,
            )
        if not self._clients:
            atexit.register(self._close_clients)
        if threading.current_thread() is threading.main_thread():
            for number in END_SIGNALS:
                if signal.getsignal(number) is signal.SIG_DFL:
                    signal.signal(number, lambda number, frame: sys.exit(128 + number))
        client = Client(address, key, folder, read_rates(rates) if rates else None, shelf, models)
        if address is not None:
            try:
                client.check_key()
            except BaseException:
                client.close()
                raise
        with self._guard:
            # With those that still wait for answers to paid requests.
            self._clients = (*(other for other in self._clients if not other.is_finished), client)
        if client.is_embedded and (other := _find_other_service(client)):
            log.warning(
                "The latest run in this library was made by %s. This is the embedded service, whose clips are sketches; "
                "to use the other one: rb.connect(%r, api_key=…).", other, other,
            )  # fmt: skip
        return client

    def client(self) -> Client:
        """The current client, else a new one."""
        if (current := self.current) is not None:
            return current
        has_closed = bool(self._clients)
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
        return self.current is not None and self.current.is_embedded

    def next_service_name(self) -> str:
        """The service that the first run would connect to: the host only, because an address may contain a password."""
        host = urlsplit(os.getenv("REELBOOK_URL") or "").hostname
        return host or "the embedded service on this machine, at no cost"

    def estimate(self, request: Input) -> Estimate:
        """The cost of a run: from the current client, else from the prices of the specification."""
        return estimate(request) if self.current is None else self.current.estimate(request)

    def model(self, endpoint_id: str) -> type[Input]:
        """The input class of a model, by id or class name: from the catalog, else from the service's description."""
        known = next((row.input for row in CATALOG if endpoint_id in (row.id, row.input.__name__)), None)
        return known or self.client().model(endpoint_id)

    def library(self, folder: str | Path | None = None) -> Library:
        """The library of the current client, or the one in this folder."""
        from .client import open_library

        return open_library(self.current, folder)

    def _close_clients(self) -> None:
        """Wait for the answers to paid requests, and close the clients and with them the embedded services."""
        if threading.current_thread() is threading.main_thread():
            for number in END_SIGNALS:  # Jupyter terminates a kernel that takes more than 2.5 s to end.
                signal.signal(number, signal.SIG_IGN)
        clients = [client for client in self._clients if not client.is_finished]
        endings, deadline = [client.begin_close() for client in clients], time.monotonic() + END_SECONDS
        interrupts = 0
        while interrupts < 2 and time.monotonic() < deadline:
            try:
                if not wait_for(endings, TICK_SECONDS).not_done:
                    break
            except KeyboardInterrupt:
                interrupts += 1
                count = sum(len(client.in_flight) for client in clients)
                if interrupts == 1 and count:
                    waits = f"{format_count(count, 'paid request')} {'waits for its answer' if count == 1 else 'wait for answers'}"
                    _say(f"{waits}, for 15 s at most. Press Ctrl-C once more to give up.")
        if left := [run for client in clients for run in client.in_flight]:
            why = "You gave up" if interrupts > 1 else "No answer came, or it could not be written down"
            runs = ", ".join(map(str, left))
            _say(f"{why}, for run {runs} of the library: rb.library().uncertain lists what may be paid for.")
        for client in clients:
            with contextlib.suppress(Exception):
                client.finish_close()


def _say(text: str) -> None:
    """Write a line to standard error, which may be closed by now."""
    with contextlib.suppress(OSError):
        os.write(2, f"reelbook: {text}\n".encode())


def _find_other_service(client: Client) -> str:
    """The address of the hosted service that made the latest run of a library; empty if none did."""
    latest = client.ledger.select("service", "id = (SELECT max(id) FROM runs WHERE request_id IS NOT NULL)")
    return next((service for (service,) in latest if "://" in service), "")


def find_keyring_key(address: str) -> str | None:
    """The key stored in the system's keyring for this address; None without one, or without the extra `keys`."""
    with contextlib.suppress(Exception):  # Also where the system has no keyring, or a locked one.
        import keyring

        return keyring.get_password(KEYRING, address.rstrip("/"))
    return None


session = Session()
"""The session of this process."""
