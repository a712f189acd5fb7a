"""One line that says what a cell waits for before it can go on; gone when it goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from markupsafe import escape

from .formatting import MARKS
from .run_progress import Bundle, kernel_shell, new_output
from .terminal_line import is_terminal, write

MARK = MARKS["waiting"]


@contextmanager
def waiting_line() -> Iterator[Callable[[str], None]]:
    """Gives what shows a text, in a notebook in the cell and in a terminal on one line; nothing where nobody looks."""
    line = _Line()
    try:
        yield line.show
    finally:
        line.show("")


class _Line:
    def __init__(self) -> None:
        self._shown = ""
        self._handle: Any = None

    def show(self, text: str) -> None:
        """Show this in place of what was there before."""
        if text == self._shown:
            return
        self._shown = text
        if kernel_shell() is not None:
            self._in_cell(text)
        elif is_terminal():
            write(f"{MARK} {text}" if text else "")

    def _in_cell(self, text: str) -> None:
        words = f"{MARK} {text}" if text else ""
        bundle: Bundle = {"text/plain": words, "text/html": f"<div>{escape(words)}</div>" if words else ""}
        if self._handle is None:
            self._handle = new_output(bundle)
        else:
            self._handle.update(bundle, raw=True)
