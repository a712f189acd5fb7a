"""A gateway in a process of its own, to be killed and started again: `reelbook serve --models`, a little less patient.

with GatewayProcess(folder, models, accounts) as gateway:
    gateway.kill()
    gateway.start()
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.faults.nursery import PATIENCE, Trap, until

ROOT = Path(__file__).parents[2]
FORGETS, DIES = "REELBOOK_TEST_FORGETS", "REELBOOK_TEST_DIES"
"""Variables that take its memory, or set a trap; see `nursery.Trap`."""


class GatewayProcess:
    """The process, on the same port each time."""

    def __init__(self, folder: Path, models: Path, accounts: Path, environment: Mapping[str, str]) -> None:
        self.data = folder / "gateway"
        self._folder, self._models, self._accounts, self._environment = folder, models, accounts, environment
        self._port = 0
        self.base_url = ""
        self.up = threading.Event()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def said(self) -> bytes:
        """All that its processes have written to their outputs."""
        return b"".join(path.read_bytes() for path in sorted(self._folder.glob("gateway.*")))

    def start(self) -> None:
        """Start it, and wait until it has printed its address."""
        arguments = ["serve", "--data", self.data, "--models", self._models, "--port", self._port]
        if not self._port:
            arguments += ["--accounts", self._accounts]
        environment = {**os.environ, **self._environment, "PYTHONUNBUFFERED": "1"}
        words = [sys.executable, "-m", "tests.faults.gateway_process", *map(str, arguments)]
        out, errors = (self._folder / f"gateway.{name}" for name in ("out", "err"))
        before = out.stat().st_size if out.exists() else 0
        with out.open("ab") as said, errors.open("ab") as wrong:
            self._process = subprocess.Popen(words, stdout=said, stderr=wrong, cwd=ROOT, env=environment)
        until(lambda: b"\n" in out.read_bytes()[before:] or self._process.poll() is not None)
        first = out.read_bytes()[before:].decode().partition("\n")[0]
        if " at http://" not in first:
            raise AssertionError(errors.read_text()[-3000:])
        self.base_url = first.rpartition(" at ")[2]
        self._port = int(self.base_url.rpartition(":")[2])
        self.up.set()

    def died(self) -> int:
        """Its exit status, once it has ended by itself; the next one starts without a trap."""
        status = self._process.wait(PATIENCE)
        self.up.clear()
        self._environment = {name: text for name, text in self._environment.items() if name != DIES}
        return status

    def kill(self) -> None:
        """End it as the system does: at once, and without a word to it."""
        self.up.clear()
        self._process.kill()
        self._process.wait(PATIENCE)

    def stop(self) -> int:
        """End it as an operator does."""
        self.up.clear()
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(PATIENCE)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self.kill()


def _main() -> int:
    from reelbook.transport import downloader, http

    # A call that is never answered would take half a minute, and a paid one five.
    http.RetryPolicy = partial(  # type: ignore[misc, assignment]
        http.RetryPolicy,
        attempt_seconds=1.5,
        free_seconds=10.0,
        large_seconds=8.0,
        paid_seconds=2.5,
        backoff_seconds=0.05,
    )
    from reelbook_service.hosted import run as paid_run

    downloader.PAUSE_SECONDS, paid_run.PAUSE_SECONDS = 0.01, 0.1
    if DIES in os.environ:
        Trap(os.environ[DIES]).set()
    if FORGETS in os.environ:
        from reelbook.relay import Once
        from reelbook_service.hosted import lane

        # Each process gives a request another key in the ledger, and so does not find what the last one sent.
        lane.Once = lambda relay, key, model: Once(relay, f"{key} {os.getpid()}", model)  # type: ignore[attr-defined, assignment]
    from reelbook.cli import main

    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(_main())
