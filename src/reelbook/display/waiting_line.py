"""One line with the reason why a cell is waiting, removed when it continues."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from markupsafe import escape

from .formatting import STATE_SIGNS
from .run_progress import Bundle, get_kernel_shell, new_output
from .terminal_line import is_terminal, write

log = logging.getLogger("reelbook")

MARK = STATE_SIGNS["waiting"]


@contextmanager
def waiting_line() -> Iterator[Callable[[str], None]]:
    """Yield a function that displays a text in a notebook cell or on one line of a terminal; elsewhere the first one is logged."""
    line = _Line()
    try:
        yield line.show
    finally:
        line.show("")


class _Line:
    def __init__(self) -> None:
        self._text = ""
        self._is_logged = False
        self._handle: Any = None

    def show(self, text: str) -> None:
        """Display a text in place of the previous one."""
        if text == self._text:
            return
        self._text = text
        if get_kernel_shell() is not None:
            self._update_cell(text)
        elif is_terminal():
            write(f"{MARK} {text}" if text else "")
        elif text and not self._is_logged:
            self._is_logged = True
            log.warning("%s%s.", text[:1].upper(), text[1:])

    def _update_cell(self, text: str) -> None:
        words = f"{MARK} {text}" if text else ""
        bundle: Bundle = {"text/plain": words, "text/html": f"<div>{escape(words)}</div>" if words else ""}
        if self._handle is None:
            self._handle = new_output(bundle)
        else:
            self._handle.update(bundle, raw=True)
