"""One line of a terminal that is rewritten in place."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..util.printable import printable

UPDATE_SECONDS = 0.25


def is_terminal() -> bool:
    """Whether stderr is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def updating_line(now: Callable[[], str], final: Callable[[], str]) -> Iterator[None]:
    """Write `now()` repeatedly while the block lasts, and `final()` at its end, unless that is empty."""
    over = threading.Event()

    def rewrite() -> None:
        while not over.wait(UPDATE_SECONDS):
            write(now())

    writer = threading.Thread(target=rewrite, name="reelbook-progress", daemon=True)
    writer.start()
    try:
        yield
    finally:
        over.set()
        writer.join()
        last = final()
        write(last, "\n" if last else "")


def write(text: str, end: str = "") -> None:
    """Replace the text on the line."""
    room = shutil.get_terminal_size().columns - 1
    flat = " ".join(printable(text).splitlines())
    sys.stderr.write(f"\r\x1b[K{flat[:room]}{end}")
    sys.stderr.flush()
