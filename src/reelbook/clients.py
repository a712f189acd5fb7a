"""The door: the default client, the embedded service, and the calls that a notebook types."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from .client.http import Http
from .client.service import ServiceCalls
from .errors import ReelbookError
from .libraries.folder import library_folder
from .loop import background
from .models.base import Input
from .models.catalog import CATALOG
from .models.pricing import Estimate, Rates
from .runs import Run
from .service.embedded import Embedded
from .service.settings import Settings

CALL_SECONDS = 120.0

_guard = threading.Lock()
_open_clients: list[Client] = []
_embedded: dict[Path, Embedded] = {}


class Client:
    """A conversation with one service. Its methods block; its runs can be awaited."""

    def __init__(self, address: str | None, key: str | None, library: Path, rates: Rates | None = None) -> None:
        self.library = library
        self._closed = False
        self._embedded: Embedded | None = None
        if address is None:
            self._embedded = _embedded_in(library, rates)
            found = self._embedded.address()
            address, key = found.base_url, found.key
        self._http = background.wait(_made(key))
        self._calls = ServiceCalls(self._http, address, self._renewed if self._embedded else None, rates)

    @property
    def base_url(self) -> str:
        """The address of the service; an embedded one can move to another port."""
        return self._calls.base_url

    def account(self) -> Mapping[str, Any]:
        """Credits and permissions, as the service tells them."""
        return background.wait(self._calls.account(), CALL_SECONDS)

    def models(self) -> Sequence[Mapping[str, Any]]:
        """The models that the service lists."""
        return background.wait(self._calls.models(), CALL_SECONDS)

    def estimate(self, request: Input) -> Estimate:
        """What a run costs; nothing is sent to a model and nothing is charged."""
        return background.wait(self._calls.estimate(request), CALL_SECONDS)

    def start(self, request: Input) -> Run:
        """Submit a run; returns as soon as the service has it."""
        if self._closed:
            raise ReelbookError("This client is closed. Open another one with rb.connect().")
        price = background.wait(self._calls.estimate(request), CALL_SECONDS).credits
        # No time limit and no giving up here: the request carries its own deadline, and is paid for.
        answer = background.wait(self._calls.run(request, price))
        request_id = answer.get("requestId") or answer.get("request_id")
        output = answer.get("output") if isinstance(answer.get("output"), dict) else None
        if not request_id and output is None:
            raise ReelbookError(
                f"The service took the run and named no request: {str(answer)[:200]}. Look at the account's history before you repeat it."
            )
        told = answer.get("credits")
        return Run(
            self._calls, background, self.library / "media", request.endpoint_id, str(request_id or "synchronous"),
            input=request, credits=told if isinstance(told, int) else price, output=output,
        )  # fmt: skip

    def run(self, request: Input) -> Run:
        """Submit a run and wait until its media are here, with progress where there is a notebook."""
        run = self.start(request)
        from .display.live import watch

        with watch(run):
            run.wait()
        return run

    def attach(self, request_id: str, *, model: str) -> Run:
        """A run that was started elsewhere, or on another day."""
        return Run(self._calls, background, self.library / "media", model, request_id)

    def close(self) -> None:
        """End the conversation and give the place of default client back."""
        if self._closed:
            return
        self._closed = True
        with _guard:
            _open_clients[:] = [client for client in _open_clients if client is not self]
            shared = any(client._embedded is self._embedded for client in _open_clients)
        background.wait(self._http.close(), 10)
        if self._embedded is not None and not shared:
            self._embedded.close()

    def _renewed(self) -> str:
        assert self._embedded is not None
        return self._embedded.address().base_url

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        kind = "embedded service" if self._embedded else "service"
        return f"<Client of the {kind} at {self.base_url}, library {self.library}>"


def connect(
    address: str | None = None,
    *,
    api_key: str | None = None,
    library: str | Path | None = None,
    rates: str | Path | None = None,
) -> Client:
    """A client of the embedded service, or of the one at this address.

    `REELBOOK_URL` and `REELBOOK_API_KEY` serve where nothing is given. `rates` names a TOML table of per-unit prices
    that the embedded service charges, and that stand in where a hosted one does not tell its own.
    """
    address = address or os.environ.get("REELBOOK_URL") or None
    key = api_key or os.environ.get("REELBOOK_API_KEY") or None
    if address is not None and not address.startswith(("http://", "https://")):
        raise ReelbookError(f"{address!r} is not an address of a service: it begins with http:// or https://.")
    folder = Path(library).expanduser().absolute() if library else library_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    client = Client(address, key, folder, Rates.read(rates) if rates else None)
    with _guard:
        _open_clients.append(client)
    return client


def default_client() -> Client:
    """The client that was opened last, else a new one."""
    with _guard:
        latest = _open_clients[-1] if _open_clients else None
    return latest or connect()


def run(request: Input) -> Run:
    """Run a model and wait for its media."""
    return default_client().run(_checked(request))


def start(request: Input) -> Run:
    """Start a run and return as soon as the service has it."""
    return default_client().start(_checked(request))


def attach(request_id: str, *, model: str) -> Run:
    """Pick up a run that was started elsewhere."""
    return default_client().attach(request_id, model=model)


def estimate(request: Input) -> Estimate:
    """What a run costs."""
    return default_client().estimate(_checked(request))


def _checked(request: Input) -> Input:
    if not isinstance(request, Input):
        names = ", ".join(row.input.__name__ for row in CATALOG)
        raise ReelbookError(f"A run needs a typed input ({names}), not {type(request).__name__}.")
    return request


def _embedded_in(library: Path, rates: Rates | None) -> Embedded:
    """The one embedded service of a library that this process knows."""
    with _guard:
        folder = library / "service"
        known = _embedded.get(library)
        if known is not None and rates is not None and known.settings.rates != rates:
            if known.runs_here:
                raise ReelbookError(
                    "The embedded service of this library runs with other rates. Close its clients first, then connect with the new ones."
                )
            known = None
        if known is None:
            known = _embedded[library] = Embedded(folder, Settings(data=folder, rates=rates or Rates()))
        return known


async def _made(key: str | None) -> Http:
    # Made on the loop, because that is where all its calls are.
    return Http(key)


@atexit.register
def _stop_embedded_services() -> None:
    for embedded in _embedded.values():
        embedded.close()
