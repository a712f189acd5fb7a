"""The original files of figures: sent to the page on request, over one connection for the session."""

from __future__ import annotations

import secrets
import threading
from collections import deque
from pathlib import Path
from typing import Any

from ..util.notebook import get_kernel_shell
from .page_kind import is_jupyter_server, is_page_attached
from .table_clips import TableFileSender

MAX_CELLS = 32
"""Cells whose figures can fetch their files, where each needs its own connection."""


class FigureFileSender(TableFileSender):
    """Sends the files of figures, one row for each. A path from the page is never read."""

    def __init__(self) -> None:
        super().__init__(secrets.token_urlsafe(16), ())
        self._paths: list[str] = []
        self._guard = threading.Lock()

    def register_path(self, path: Path) -> str:
        """Add a file, and return the key with which its figure requests it."""
        with self._guard:
            if str(path) not in self._paths:
                self._paths.append(str(path))
            return f"{self.key} {self._paths.index(str(path))}"

    def _find_path(self, row: int, place: int) -> str | None:
        return self._paths[row] if 0 <= row < len(self._paths) and place == 0 else None


def register_file(path: Path | None) -> str:
    """Register a file, and return the key by which a figure requests it, or "" without a page; None only connects."""
    shell = get_kernel_shell()
    if shell is None:
        return ""
    cell = 0 if is_jupyter_server() else shell.execution_count
    if not (_open_senders and _open_senders[-1][0] == cell):
        # Only the main thread knows the page of its cell.
        if threading.current_thread() is not threading.main_thread() or not is_page_attached():
            return ""
        sender = FigureFileSender()
        _open_senders.append((cell, sender))
        if len(_open_senders) > MAX_CELLS:
            _open_senders.popleft()[1].close()
        if not is_jupyter_server():
            sender.show()
    return "" if path is None else _open_senders[-1][1].register_path(path.absolute())


_open_senders: deque[tuple[int, Any]] = deque()
