"""One service for each library folder: whoever comes first runs it, the others join, and when it goes the next takes over."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from ..errors import FolderInUse, Unreachable
from .accounts import NewAccount, new_key
from .server import Server, bound_socket
from .service_settings import Settings

ACCOUNT = "notebook"
JOIN_SECONDS = 15.0
RETRY_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Address:
    """Where the service of a folder answers, and with which key."""

    base_url: str
    key: str = field(repr=False)
    id: str


class Embedded:
    """The service of a folder, as one process sees it: run here, or joined.

    Who runs it owns the folder's lock, which the system takes away when the process dies, however it dies.
    """

    def __init__(self, folder: Path, settings: Settings | None = None) -> None:
        self._folder = folder
        self.settings = settings or Settings(data=folder)
        self._server: Server | None = None
        self._address: Address | None = None
        self._guard = threading.Lock()
        self._pid = os.getpid()

    @property
    def runs_here(self) -> bool:
        """Whether this process runs the service."""
        return self._server is not None and self._server.running

    def address(self) -> Address:
        """Where to reach the service now: it is joined if it runs, and started if it does not."""
        with self._guard:
            self._forget_after_fork()
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            deadline = time.monotonic() + JOIN_SECONDS
            while True:
                with contextlib.suppress(FolderInUse):
                    return self._started()
                joined = self._read_address()
                if joined is not None and _answers(joined):
                    return joined
                if time.monotonic() > deadline:
                    raise Unreachable(
                        str(self._folder), "another process holds this folder's service and does not answer"
                    )
                time.sleep(RETRY_SECONDS)

    def close(self) -> None:
        """Stop the service if this process runs it; its unfinished runs go on with the next start."""
        with self._guard:
            if self._server is not None and self._pid == os.getpid():
                self._server.stop()
                self._address_file.unlink(missing_ok=True)
            self._server = self._address = None

    @property
    def _address_file(self) -> Path:
        return self._folder / "address.json"

    def _started(self) -> Address:
        if self._address is None or not self.runs_here:
            self._server = Server(self.settings, bound_socket("127.0.0.1", 0))
            key = self._kept_key()
            self._server.service.accounts.open([NewAccount(ACCOUNT, key)], grant_again=False)
            self._server.start()
            self._address = Address(self._server.base_url, key, self._server.service.id)
            self._write_address(self._address)
        return self._address

    def _kept_key(self) -> str:
        """The key of this folder: the same over all starts, in a file that only its owner reads."""
        path = self._folder / "key"
        with contextlib.suppress(OSError):
            if kept := path.read_text(encoding="utf-8").strip():
                return kept
        key = new_key()
        _write_private(path, key)
        return key

    def _write_address(self, address: Address) -> None:
        _write_private(
            self._address_file, json.dumps({"base_url": address.base_url, "key": address.key, "id": address.id})
        )

    def _read_address(self) -> Address | None:
        try:
            kept = json.loads(self._address_file.read_text(encoding="utf-8"))
            return Address(kept["base_url"], kept["key"], kept["id"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _forget_after_fork(self) -> None:
        """A forked child has copies of our handles and none of our threads: it starts with nothing."""
        if self._pid != os.getpid():
            self._pid, self._server, self._address = os.getpid(), None, None


def _write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    part.replace(path)


def _answers(address: Address) -> bool:
    """Whether the service with this id answers there; another program may have got its port since."""
    parts = urlsplit(address.base_url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=2)
    try:
        connection.request("GET", "/")
        return bool(json.loads(connection.getresponse().read()).get("id") == address.id)
    except (OSError, http.client.HTTPException, ValueError, AttributeError):
        return False
    finally:
        connection.close()
