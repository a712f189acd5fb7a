"""One line of a terminal that is written over and over while something goes on."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..util.printable import printable

UPDATE_SECONDS = 0.25


def is_terminal() -> bool:
    """Whether somebody looks at what is written to stderr."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def line(now: Callable[[], str], left: Callable[[], str]) -> Iterator[None]:
    """Show `now()` while the block lasts, and leave `left()` behind; nothing where that is empty."""
    over = threading.Event()

    def keep_up() -> None:
        while not over.wait(UPDATE_SECONDS):
            write(now())

    ticker = threading.Thread(target=keep_up, name="reelbook-progress", daemon=True)
    ticker.start()
    try:
        yield
    finally:
        over.set()
        ticker.join()
        last = left()
        write(last, "\n" if last else "")


def write(text: str, end: str = "") -> None:
    """Put this in place of what stands on the line."""
    room = shutil.get_terminal_size().columns - 1
    words = " ".join(printable(text).splitlines())
    sys.stderr.write(f"\r\x1b[K{words[:room]}{end}")
    sys.stderr.flush()
