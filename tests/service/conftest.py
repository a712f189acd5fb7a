"""`reelbook serve` as a process, for tests of the service."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from reelbook import cli
from reelbook_service.server import Server


class ServeCommand:
    """`reelbook serve` in a process of its own, on a free port."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        command = [sys.executable, "-m", "reelbook", "serve", "--port", "0", "--workers", "1", "--data", str(folder)]
        self.process = subprocess.Popen(
            [*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder.parent
        )
        assert self.process.stdout is not None
        self._stdout, self._printed = self.process.stdout, ""

    def until(self, pattern: str) -> str:
        """Read what it prints up to a line with the pattern; its first group."""
        for line in self._stdout:
            self._printed += line
            if found := re.search(pattern, line):
                return found[1]
        raise AssertionError(f"it ended: {self._printed} {self.process.communicate()}")

    def ended_by(self, number: int) -> tuple[int, str, str]:
        """Its status after a signal, and all that it printed."""
        self.process.send_signal(number)
        # Not `communicate` alone, which leaves out what was read ahead.
        self._printed += self._stdout.read()
        err = self.process.communicate(timeout=30)[1]
        return self.process.returncode, self._printed, err

    def close(self) -> None:
        """End it if a test has left it running."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Callable[..., ServeCommand]]:
    """Starts `reelbook serve` with `tmp_path/service` as its folder."""
    with ExitStack() as stack:

        def start(*arguments: str) -> ServeCommand:
            serving = ServeCommand(tmp_path / "service", *arguments)
            stack.callback(serving.close)
            return serving

        yield start


@pytest.fixture
def announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., str]]:
    """What `reelbook serve` prints, in this process; it is ended as soon as it serves. Its folder is `tmp_path/service`."""
    handler = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(Server, "serve", lambda server: server.start().stop())

    def start(*arguments: str) -> str:
        assert cli.main(["serve", "--port", "0", "--data", str(tmp_path / "service"), *arguments]) == 0
        return capsys.readouterr().out

    yield start
    signal.signal(signal.SIGTERM, handler)
