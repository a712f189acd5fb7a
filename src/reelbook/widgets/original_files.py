"""The originals of figures: brought to the page while the kernel lives, by one connection for all of a session."""

from __future__ import annotations

import secrets
import threading
from collections import deque
from pathlib import Path
from typing import Any

from ..display.run_progress import get_kernel_shell
from .clip_transfer import TableFileSender, has_page, is_jupyter_server

MAX_CELLS = 32
"""Cells whose figures can fetch their files, where each needs a connection of its own."""


class FigureFileSender(TableFileSender):
    """Brings the files of figures, each of which has its own row. A path from the page is never looked at."""

    def __init__(self) -> None:
        super().__init__(secrets.token_urlsafe(16), ())
        self._paths: list[str] = []
        self._guard = threading.Lock()

    def request_key(self, path: Path) -> str:
        """What a figure asks with: the key and its row."""
        with self._guard:
            if str(path) not in self._paths:
                self._paths.append(str(path))
            return f"{self.key} {self._paths.index(str(path))}"

    def _find_path(self, row: int, place: int) -> str | None:
        return self._paths[row] if 0 <= row < len(self._paths) and place == 0 else None


def register_file(path: Path | None) -> str:
    """The word for a file; empty where no page can ask for it. None only opens the way."""
    shell = get_kernel_shell()
    if shell is None:
        return ""
    cell = 0 if is_jupyter_server() else shell.execution_count
    if not (_open and _open[-1][0] == cell):
        # Only the thread of a cell knows its page.
        if threading.current_thread() is not threading.main_thread() or not has_page():
            return ""
        made = FigureFileSender()
        _open.append((cell, made))
        if len(_open) > MAX_CELLS:
            _open.popleft()[1].close()
        if not is_jupyter_server():
            made.show()
    return "" if path is None else _open[-1][1].request_key(path.absolute())


_open: deque[tuple[int, Any]] = deque()
