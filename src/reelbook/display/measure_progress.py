"""Progress of measuring: a bar in a notebook, a line in a terminal, and nothing if it is quick."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context

from markupsafe import Markup

from ..util.printable import format_count
from .formatting import format_duration, join_with_dots
from .run_progress import Bundle, get_kernel_shell, updating_output
from .terminal_line import is_terminal, updating_line

QUIET_SECONDS = 1.0
"""The delay before progress is displayed."""
BOX = Markup(
    '<div style="max-width:640px;font-variant-numeric:tabular-nums"><div>{}</div>'
    '<progress max="1" value="{:.3f}" aria-label="files measured" style="display:block;width:100%;margin:6px 0 0"></progress></div>'
)
DONE = Markup('<div style="font-variant-numeric:tabular-nums">{}</div>')


class FileCount:
    """Counts the files that are measured; called with `done` and `of` by the measurement."""

    def __init__(self, files: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.done, self.of = 0, files
        self._known: int | None = None
        self._clock, self._began = clock, clock()

    def __call__(self, done: int, of: int) -> None:
        # Files done at the start were read from the library, and are left out of the estimate of time.
        self._known = done if self._known is None else self._known
        self.done, self.of = done, of

    @property
    def line(self) -> str:
        """The progress on one line."""
        spent = self._clock() - self._began
        if self.done >= self.of:
            return f"{format_count(self.of, 'file')} measured in {format_duration(spent)}"
        fresh = self.done - (self._known or 0)
        left = f"about {format_duration(spent / fresh * (self.of - self.done))} left" if fresh else ""
        return join_with_dots(
            f"measuring: {self.done:,} of {format_count(self.of, 'file')} done", format_duration(spent), left
        )

    @property
    def final_line(self) -> str:
        """The line that stays at the end, also after an interrupt."""
        if self.done >= self.of:
            return self.line
        return f"measuring stopped: {self.done:,} of {format_count(self.of, 'file')} done, which the library keeps"

    def bundle(self) -> Bundle:
        """The progress as a line and as a bar, by MIME type."""
        share = self.done / self.of if self.of else 1.0
        return {"text/plain": self.line, "text/html": str(BOX.format(self.line, share))}

    def final_bundle(self) -> Bundle:
        """The final line, by MIME type."""
        return {"text/plain": self.final_line, "text/html": str(DONE.format(self.final_line))}


@contextmanager
def watch_measuring(files: int) -> Iterator[FileCount]:
    """A counter of measured files, displayed while the block runs, if that takes longer than `QUIET_SECONDS`."""
    count, over = FileCount(files), threading.Event()
    display = _choose_display(count)
    if display is None:
        yield count
        return

    def show() -> None:
        if not over.wait(QUIET_SECONDS):
            with display:
                over.wait()

    # Without the context of this cell, a kernel would display the output in another one.
    displayer = threading.Thread(target=copy_context().run, args=(show,), name="reelbook-measuring", daemon=True)
    displayer.start()
    try:
        yield count
    finally:
        over.set()
        displayer.join()


def _choose_display(count: FileCount) -> AbstractContextManager[object] | None:
    """The output of a cell or the line of a terminal; None where there is neither."""
    if get_kernel_shell() is not None:
        return updating_output(count.bundle, lambda _: count.final_bundle())
    return updating_line(lambda: count.line, lambda: count.final_line) if is_terminal() else None
