"""Live progress of whatever a cell or a terminal waits for: runs, sweeps, measuring and reports."""

from __future__ import annotations

import logging
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..util.notebook import get_kernel_shell
from ..util.printable import printable
from . import original_links
from .formatting import format_duration, join_with_dots

if TYPE_CHECKING:
    from ..sweeps.job import SweepJob

log = logging.getLogger("reelbook")

Bundle = dict[str, Any]
"""One output by MIME type."""
OutputKey = Sequence[Any]
"""A summary of what an output displays: equal keys mean equal output."""

UPDATE_SECONDS = 0.25
"""Interval between two messages. A page that receives more than it can draw lags, and so does the notebook."""
QUIET_SECONDS = 1.0
"""The delay before a count is displayed."""
BAR = Markup(
    '<div style="max-width:640px;font-variant-numeric:tabular-nums"><div>{}</div>'
    '<progress max="1" value="{:.3f}" aria-label="progress" style="display:block;width:100%;margin:6px 0 0"></progress></div>'
)
LINE = Markup("<div><bdi>{}</bdi></div>")


@dataclass(eq=False)
class LiveOutput:
    """One output that is updated until it is over."""

    send: Callable[[Any], object]
    bundle: Callable[[], Any]
    key: Callable[[], OutputKey] | None = None
    """A summary of what is displayed, where that is quicker to compare than the bundles."""
    is_over: Callable[[], bool] = lambda: False
    sent: Any = ()
    """The bundle that was sent last, or its key."""
    is_closed: bool = False
    _sending: threading.Lock = field(default_factory=threading.Lock)

    def update(self) -> bool | None:
        """Send the output if it has changed or is over; None if it has not, else whether it is over."""
        # Read before the output is made: if it ends meanwhile, it is sent once more.
        is_over = self.is_over()
        news = self.key() if self.key else self.bundle()
        if news == self.sent and not is_over:
            return None
        bundle = self.bundle() if self.key else news
        with self._sending:
            if not self.is_closed:
                self.send(bundle)
        self.sent = news
        return is_over

    def close(self) -> None:
        """Send nothing more, not even an output that is being rendered."""
        with self._sending:
            self.is_closed = True


class OutputUpdater:
    """Updates live outputs in turn, four messages a second in all, in a thread that runs while there are any.

    A thread apart from that of the runs: a slow page must not delay the requests to the service.
    """

    def __init__(self) -> None:
        self._outputs: list[LiveOutput] = []
        """The one that was sent last is at the end."""
        # Not held while an output is made: the owner of one may hold locks of its own while it is added.
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, output: LiveOutput) -> None:
        """Update this output until it is over or removed."""
        with self._guard:
            self._outputs.append(output)
            if self._thread is None or not self._thread.is_alive():  # After a fork there is none.
                self._thread = threading.Thread(target=self._run, name="reelbook-progress", daemon=True)
                self._thread.start()

    def remove(self, output: LiveOutput) -> None:
        """Stop updating this output; the caller may send to it afterwards."""
        output.close()
        self._drop(output)

    def join(self, timeout: float | None = None) -> None:
        """Wait until all outputs are over."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout)

    def _run(self) -> None:
        while True:
            time.sleep(UPDATE_SECONDS)
            with self._guard:
                outputs = list(self._outputs)
                if not outputs:
                    self._thread = None
                    return
            self._update_first(outputs)

    def _update_first(self, outputs: list[LiveOutput]) -> None:
        """Update the first output that has news."""
        for output in outputs:
            try:
                is_over = output.update()
            except Exception:
                # It would fail again each time, and block the others.
                log.debug("an output could not be updated", exc_info=True)
                is_over = True
            if is_over is not None:
                self._drop(output, again=not is_over)
                return

    def _drop(self, output: LiveOutput, *, again: bool = False) -> None:
        """Take an output from the list; `again`: it goes to the end, if it was there."""
        with self._guard:
            if output in self._outputs:
                self._outputs.remove(output)
                self._outputs.extend([output] if again else [])


updater = OutputUpdater()
"""The updater of this process."""


def new_output(bundle: Bundle) -> Any:
    """Display a new output in the cell, and return its handle for updates."""
    from IPython.display import display

    return display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call]  # IPython is untyped here


class CellOutput:
    """A function that displays a bundle as an output of the cell in which it was made, and later ones in its place."""

    def __init__(self) -> None:
        # A kernel would display what another thread shows without this context in another cell.
        self._context = copy_context()
        self._handle: Any = None

    def __call__(self, bundle: Bundle) -> None:
        if self._handle is None:
            self._handle = self._context.run(new_output, bundle)
        else:
            self._handle.update(bundle, raw=True)


def is_terminal() -> bool:
    """Whether stderr is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def write_line(text: str, end: str = "") -> None:
    """Replace the text on the line of a terminal."""
    room = shutil.get_terminal_size().columns - 1
    flat = " ".join(printable(text).splitlines())
    sys.stderr.write(f"\r\x1b[K{flat[:room]}{end}")
    sys.stderr.flush()


@contextmanager
def updating_output(
    now: Callable[[], Bundle],
    final: Callable[[bool], Bundle],
    line: Callable[[], str],
    last_line: Callable[[], str],
    *,
    delay: float = 0.0,
) -> Iterator[Callable[[Bundle], object]]:
    """Display what changes while the block runs, and in the end what stays: in the cell, or on a line of a terminal.

    `now()` and `final(was_interrupted)` are the bundles for a cell, `line()` and `last_line()` the texts for a terminal;
    elsewhere nothing is displayed, nor is what takes less than `delay` seconds. Yields a function that replaces the output
    of a cell, also after the block.
    """
    show: Callable[[Any], object] = write_line
    read: Callable[[], Any] = line
    is_cell = get_kernel_shell() is not None
    if is_cell:
        original_links.prepare_links()
        show, read = CellOutput(), now
    elif not is_terminal():
        yield lambda bundle: None
        return
    due, first = time.monotonic() + delay, None
    if not delay:
        show(first := read())
    output = LiveOutput(show, lambda: read() if time.monotonic() >= due else first, sent=first)
    updater.add(output)
    is_interrupted = False
    try:
        yield show
    except KeyboardInterrupt:
        is_interrupted = True
        raise
    finally:
        updater.remove(output)
        if time.monotonic() >= due:
            if is_cell:
                show(final(is_interrupted))
            else:
                last = last_line()
                write_line(last, "\n" if last else "")


# A sweep.


@contextmanager
def watch_job(job: SweepJob) -> Iterator[None]:
    """Display a sweep while the block runs, and after an interrupt until its paid runs have ended."""
    from .sweep_panel import HINT, format_panel, panel_bundle

    def line() -> str:
        return format_panel(job.progress)

    with updating_output(
        lambda: panel_bundle(job.progress, hint=HINT), lambda _: panel_bundle(job.progress), line, line
    ) as show:
        try:
            yield
        except KeyboardInterrupt:
            if get_kernel_shell() is not None:
                # Paid runs continue, and the panel follows them after the cell has ended.
                job.interrupt()
                job.on_change(lambda job: show(panel_bundle(job.progress)))
            raise


# Measuring, a report, or an animation.


class Count:
    """How many of a number of things are done, and about how long the rest takes."""

    def __init__(self, of: int, words: str) -> None:
        self.done, self.of, self._words = 0, of, words
        self._known: int | None = None
        self._began = time.monotonic()

    def __call__(self, done: int, of: int) -> None:
        """Count what is done. What is done at the first call was done before, and took no time."""
        self._known = done if self._known is None else self._known
        self.done, self.of = done, of

    @property
    def line(self) -> str:
        """The progress on one line, with the time that is left."""
        fresh, rest = self.done - (self._known or 0), self.of - self.done
        left = (time.monotonic() - self._began) / fresh * rest if fresh else 0.0
        return join_with_dots(
            f"{self.done:,} of {self.of:,} {self._words}", f"about {format_duration(left)} left" if left >= 1 else ""
        )


def watch_measuring(files: int) -> AbstractContextManager[Count]:
    """A counter of measured files, displayed while the block runs."""
    return watch_count(Count(files, "files measured"))


@contextmanager
def watch_count(count: Count) -> Iterator[Count]:
    """Display a count while the block runs, if that takes longer than `QUIET_SECONDS`."""
    with updating_output(
        lambda: _make_line(count.line, BAR, count.done / count.of if count.of else 1.0),
        lambda _: _make_line(count.line),
        lambda: count.line,
        lambda: count.line,
        delay=QUIET_SECONDS,
    ):
        yield count


def _make_line(text: str, html: Markup = LINE, share: float = 1.0) -> Bundle:
    return {"text/plain": text, "text/html": str(html.format(text, share))}
