"""The embedded service: one per library folder, run by one process and joined by the others."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from reelbook.errors import FolderInUse, ReelbookError, Unreachable
from reelbook.models.catalog import Rates
from reelbook.util.replace_file import PRIVATE, replace_file

from .accounts import NewAccount, new_key
from .lanes import LaneTable, is_on_this_machine
from .service_settings import Settings

if TYPE_CHECKING:
    from .server import Server

ACCOUNT = "notebook"
ADDRESS = "address.json"
"""The file with the address and the key of the service, which its owner alone can read."""
JOIN_SECONDS = 15.0
RETRY_SECONDS = 0.02


_guard = threading.Lock()
_shared: dict[Path, Embedded] = {}
"""The services that clients of this process use, by library."""
_copies: dict[Path, tempfile.TemporaryDirectory[str]] = {}
"""Copies of the data of services whose library cannot be written."""


def open(library: Path, rates: Rates | None = None, models: str | Path | None = None) -> Embedded:  # noqa: A001 (`embedded.open`)
    """The running service of a library, shared by all clients of this process; each of them closes it.

    `rates` are custom prices, and `models` is the path of a `models.toml`; without one, a service that runs is used as it is.
    """
    lanes = None
    if models is not None:
        # Here, because the hosted lane uses a client itself.
        from .hosted.models_file import make_lane_table, read_models_file

        lanes = make_lane_table(read_models_file(models))
    with _guard:
        service = _shared.get(library)
        if service is not None:
            own = service.settings
            options = (("rates", rates, own.rates), ("engines", lanes, own.lanes))
            others = [what for what, wanted, present in options if wanted not in (None, present)]
            if others and service.runs_here:
                raise ReelbookError(
                    f"The embedded service of this library runs with other {others[0]}. Close its clients first, then connect with the new ones."
                )
            service = None if others else service
        if service is None:
            data = _get_writable(library / _folder_name(lanes))
            service = Embedded(data, Settings(data=data, rates=rates or {}, lanes=lanes or LaneTable()))
            _shared[library] = service
        service.users += 1
    try:
        service.address()
        if lanes is not None and not service.runs_here:
            raise ReelbookError(
                "Another notebook runs the service of this library already, without this models.toml or with its own. "
                "Close it there first, or connect here without `models`."
            )
    except BaseException:
        service.close()
        raise
    return service


def _folder_name(lanes: LaneTable | None) -> str:
    """The folder of the service in its library.

    Other weights are another service, so that a clip of theirs is never taken for one of the weights before. One that
    pays elsewhere stays the same, or it would pay again for what it has.
    """
    if lanes is None or not lanes.weights_id or lanes.has_elsewhere:
        return "service"
    return f"service-{lanes.weights_id}"


def _get_writable(folder: Path) -> Path:
    """The folder of a service, or a copy of its data where the library cannot be written and runs are only looked up."""
    if not folder.is_dir() or os.access(folder, os.W_OK):
        return folder
    if folder not in _copies:
        _copies[folder] = tempfile.TemporaryDirectory(prefix="reelbook-service-", ignore_cleanup_errors=True)
        for path in filter(Path.is_file, folder.iterdir()):
            shutil.copyfile(path, Path(_copies[folder].name) / path.name)
    return Path(_copies[folder].name)


@dataclass(frozen=True, slots=True)
class ServiceAccess:
    """Base URL, key and id of a folder's service."""

    base_url: str
    key: str = field(repr=False)
    id: str


class Embedded:
    """A process's handle on the service of a folder, which it runs or joins.

    The process that runs it holds the folder's lock; the system releases it when the process ends, even by a crash.
    """

    def __init__(self, folder: Path, settings: Settings | None = None) -> None:
        self._folder = folder
        self.settings = settings or Settings(data=folder)
        self.users = 0
        """How many clients of this process use it."""
        self.is_free = not self.settings.lanes.has_elsewhere
        """Whether all its runs are made on this machine; those elsewhere cost real credits."""
        self._server: Server | None = None
        self._address: ServiceAccess | None = None
        self._guard = threading.Lock()
        self._pid = 0
        """The process that runs the server: a forked child has a copy of it without its threads."""

    @property
    def runs_here(self) -> bool:
        """Whether this process runs the service."""
        return self._server is not None and self._server.running

    @property
    def maker(self) -> str:
        """Who makes its runs, for readers of a result."""
        if not self.is_free:
            return "embedded service with a models.toml"
        return "embedded weights, free" if self.settings.lanes.weights_id else "embedded sketch, free"

    def address(self) -> ServiceAccess:
        """The address of the service; starts it where no process runs it."""
        with self._guard:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            deadline = time.monotonic() + JOIN_SECONDS
            while True:
                with contextlib.suppress(FolderInUse):
                    return self._start_here()
                if running := self._find_running():
                    return running
                if time.monotonic() > deadline:
                    reason = "another process holds this folder's service and does not answer"
                    raise Unreachable(str(self._folder), reason)
                time.sleep(RETRY_SECONDS)

    def close(self) -> None:
        """Stop the service if this process runs it and no other client uses it; unfinished runs resume at the next start."""
        with _guard, self._guard:
            self.users = max(self.users - 1, 0)
            if self.users:
                return
            if self._server is not None and self._pid == os.getpid():
                self._server.stop()
            self._server = self._address = None
            # The next client must not pay as those before did.
            for library in [library for library, service in _shared.items() if service is self]:
                del _shared[library]

    def _start_here(self) -> ServiceAccess:
        if self._address is None or not self.runs_here:
            # Here, because another process may run it already.
            from .server import Server, bind_socket

            self._server, self._pid = Server(self.settings, bind_socket("127.0.0.1", 0)), os.getpid()
            # The same at every start: those who have joined keep it.
            saved = self._read_address()
            key = saved.key if saved else new_key()
            self._server.service.accounts.open([NewAccount(ACCOUNT, key)])
            self._server.start()
            self._address = ServiceAccess(self._server.base_url, key, self._server.service.id)
            replace_file(self._folder / ADDRESS, json.dumps(asdict(self._address)).encode(), mode=PRIVATE)
        return self._address

    def _read_address(self) -> ServiceAccess | None:
        try:
            return ServiceAccess(**json.loads((self._folder / ADDRESS).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def _find_running(self) -> ServiceAccess | None:
        """The service at the saved address; None unless it has the saved id: another one may use its port by now."""
        import httpx

        saved = self._read_address()
        try:
            info = httpx.get(saved.base_url, timeout=2, trust_env=False).json() if saved else None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError):
            return None
        if saved is None or not isinstance(info, dict) or info.get("id") != saved.id:
            return None
        self.is_free = all(map(is_on_this_machine, info.get("engines", {}).values()))
        return saved
