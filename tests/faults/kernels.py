"""A real ipykernel in a process of its own, used as a notebook uses it.

with Kernel(folder) as kernel:
    cell = kernel.begin("import time\\nprint('here')\\ntime.sleep(60)")
    cell.until("here")
    kernel.interrupt()
    assert cell.ended().error == "Interrupted"
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from jupyter_client.manager import KernelManager

PATIENCE = 60.0
"""Longer than anything here takes on a busy machine; what takes longer hangs."""


@dataclass
class Ended:
    """What came of a cell."""

    error: str
    """The name of its error; empty for none."""
    message: str
    out: str
    """All that it printed."""
    err: str
    seconds: float
    """From the last interrupt, else from its begin, to the moment when the kernel was idle again."""


REMARKS = ("Kernel is running over TCP", "KeyboardInterrupt caught in kernel")


class Kernel:
    """A kernel in a process of its own, started and interrupted as notebooks do it."""

    def __init__(self, folder: Path, **environment: str) -> None:
        folder.mkdir(exist_ok=True)
        self._said = folder / "kernel.err"
        self._manager: Any = KernelManager(connection_file=str(folder / "kernel.json"))
        self._environment = {**os.environ, "IPYTHONDIR": str(folder / "ipython"), **environment}
        self._environment.pop("PYTEST_CURRENT_TEST", None)
        self._folder = folder
        self.since = 0.0

    def __enter__(self) -> Self:
        with self._said.open("wb") as said:
            self._manager.start_kernel(cwd=str(self._folder), env=self._environment, stdout=said, stderr=said)
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=PATIENCE)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.stop_channels()
        if self._manager.is_alive():
            self._manager.shutdown_kernel(now=kind is not None)
        self._manager.cleanup_resources()

    @property
    def said(self) -> str:
        """What its process wrote beside all cells, but for ipykernel's own remarks on its connection and on interrupts."""
        lines = self._said.read_text(encoding="utf-8").splitlines(keepends=True)
        return "".join(line for line in lines if not any(remark in line for remark in REMARKS))

    @property
    def process(self) -> Any:
        """The kernel's own process, as `subprocess` has it."""
        return self._manager.provisioner.process

    def begin(self, code: str) -> Cell:
        """Run a cell; returns at once."""
        self.since = time.monotonic()
        return Cell(self, self._client, self._client.execute(code))

    def run(self, code: str) -> Ended:
        """Run a cell to its end, which has to be a good one."""
        ended = self.begin(code).ended()
        assert not ended.error, f"{ended.error}: {ended.message}"
        return ended

    def interrupt(self) -> None:
        """What the stop button does."""
        self.since = time.monotonic()
        self._manager.interrupt_kernel()

    def shut_down(self, meanwhile: Callable[[], None] = lambda: None) -> int:
        """What closing a notebook does; `meanwhile` happens once the kernel has agreed to end. Returns its exit status."""
        process = self.process
        # The notebook's server asks, waits for two and a half seconds, terminates, waits once more, and kills.
        # With a loop of its own, because Jupyter's blocking form would leave one open in this thread.
        server = threading.Thread(target=lambda: asyncio.run(self._manager._async_shutdown_kernel()))
        server.start()
        while self._client.get_iopub_msg(timeout=PATIENCE)["msg_type"] != "shutdown_reply":
            pass
        meanwhile()
        server.join()
        return int(process.returncode)


@dataclass
class Cell:
    """One execution."""

    kernel: Kernel
    client: Any
    name: str
    out: str = ""
    err: str = ""
    _failure: tuple[str, str] = ("", "")
    _over: float = 0.0

    def until(self, text: str) -> None:
        """Wait until it has printed this."""
        while text not in self.out:
            assert not self._over, f"the cell ended ({self._failure}) without printing {text!r}: {self.out}{self.err}"
            self._read()

    def ended(self) -> Ended:
        """Wait until the kernel is idle again."""
        while not self._over:
            self._read()
        return Ended(*self._failure, self.out, self.err, self._over - self.kernel.since)

    def _read(self) -> None:
        message = self.client.get_iopub_msg(timeout=PATIENCE)
        if message["parent_header"].get("msg_id") != self.name:
            return
        content = message["content"]
        match message["msg_type"]:
            case "stream" if content["name"] == "stdout":
                self.out += content["text"]
            case "stream":
                self.err += content["text"]
            case "error":
                self._failure = content["ename"], content["evalue"]
            case "status" if content["execution_state"] == "idle":
                self._over = time.monotonic()
