"""How far measuring is, for those who wait: a bar in a notebook, a line in a terminal, and nothing for what is quick."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context

from markupsafe import Markup

from .formatting import duration, joined
from .run_progress import Bundle, kernel_shell, updated
from .terminal_line import is_terminal, line

PATIENCE = 1.0
"""Seconds that anybody waits without being told anything."""
BOX = Markup(
    '<div style="max-width:640px;font-variant-numeric:tabular-nums"><div>{}</div>'
    '<progress max="1" value="{:.3f}" aria-label="files measured" style="display:block;width:100%;margin:6px 0 0"></progress></div>'
)
DONE = Markup('<div style="font-variant-numeric:tabular-nums">{}</div>')


class Count:
    """How many files are done, and of how many; it is told by whoever measures."""

    def __init__(self, files: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.done, self.of = 0, files
        self._known: int | None = None
        self._clock, self._began = clock, clock()

    def __call__(self, done: int, of: int) -> None:
        # What is done at the start comes from the library, and tells nothing of how long the rest takes.
        self._known = done if self._known is None else self._known
        self.done, self.of = done, of

    @property
    def line(self) -> str:
        """Where it stands, on one line."""
        spent = self._clock() - self._began
        if self.done >= self.of:
            return f"{self._files(self.of)} measured in {duration(spent)}"
        fresh = self.done - (self._known or 0)
        left = f"about {duration(spent / fresh * (self.of - self.done))} left" if fresh else ""
        return joined(f"measuring: {self.done:,} of {self._files(self.of)} done", duration(spent), left)

    @property
    def left(self) -> str:
        """What stays to be read when it is over, also before its time."""
        if self.done >= self.of:
            return self.line
        return f"measuring stopped: {self.done:,} of {self._files(self.of)} done, which the library keeps"

    def bundle(self) -> Bundle:
        """The same as words and as a bar."""
        share = self.done / self.of if self.of else 1.0
        return {"text/plain": self.line, "text/html": str(BOX.format(self.line, share))}

    def last(self) -> Bundle:
        """What stays, as words and as a page's."""
        return {"text/plain": self.left, "text/html": str(DONE.format(self.left))}

    @staticmethod
    def _files(count: int) -> str:
        return f"{count:,} file{'' if count == 1 else 's'}"


@contextmanager
def watch_measuring(files: int) -> Iterator[Count]:
    """What to tell how many files are done; it shows itself while the block lasts, once that takes longer than a moment."""
    count, over = Count(files), threading.Event()
    screen = _screen(count)
    if screen is None:
        yield count
        return

    def show() -> None:
        if not over.wait(PATIENCE):
            with screen:
                over.wait()

    # The thread belongs to the cell that waits: without its context, a kernel would show this in any other.
    shower = threading.Thread(target=copy_context().run, args=(show,), name="reelbook-measuring", daemon=True)
    shower.start()
    try:
        yield count
    finally:
        over.set()
        shower.join()


def _screen(count: Count) -> AbstractContextManager[object] | None:
    """Where there is somebody to see it."""
    if kernel_shell() is not None:
        return updated(count.bundle, lambda _: count.last())
    return line(lambda: count.line, lambda: count.left) if is_terminal() else None
