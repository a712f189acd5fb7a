"""Live progress of whatever a cell or a terminal waits for: runs, sweeps, measuring, reports, and why nothing goes on."""

from __future__ import annotations

import logging
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from ..util import registry
from ..util.notebook import get_kernel_shell
from ..util.printable import format_count, printable
from . import original_links
from .formatting import STATE_SIGNS, format_duration, join_with_dots
from .update_clock import Bundle, LiveOutput, updater

if TYPE_CHECKING:
    from ..sweeps.job import SweepJob

log = logging.getLogger("reelbook")

LINE_SECONDS = 0.25
"""How often the line of a terminal is rewritten."""
QUIET_SECONDS = 1.0
"""The delay before the progress of measuring is displayed."""
BAR = Markup(
    '<div style="max-width:640px;font-variant-numeric:tabular-nums"><div>{}</div>'
    '<progress max="1" value="{:.3f}" aria-label="progress" style="display:block;width:100%;margin:6px 0 0"></progress></div>'
)
LINE = Markup("<div><bdi>{}</bdi></div>")
SetText = Callable[[str], object]
"""Replaces the last line of progress."""


def new_output(bundle: Bundle) -> Any:
    """Display a new output in the cell, and return its handle for updates."""
    from IPython.display import display

    return display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call]  # IPython is untyped here


@contextmanager
def updating_output(now: Callable[[], Bundle], final: Callable[[bool], Bundle]) -> Iterator[Callable[[Bundle], object]]:
    """An output of the cell, updated from `now` while the block runs, then replaced by `final(was_interrupted)`.

    Yields a function that replaces the output, also after the block.
    """
    first = now()
    handle = new_output(first)
    output = LiveOutput(
        lambda bundle: handle.update(bundle, raw=True), now, lambda: tuple(now().items()), sent_key=tuple(first.items())
    )
    updater.add(output)
    is_interrupted = False
    try:
        yield lambda bundle: handle.update(bundle, raw=True)
    except KeyboardInterrupt:
        is_interrupted = True
        raise
    finally:
        updater.remove(output)
        handle.update(final(is_interrupted), raw=True)


# One line of a terminal that is rewritten in place.


def is_terminal() -> bool:
    """Whether stderr is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def updating_line(now: Callable[[], str], final: Callable[[], str]) -> Iterator[None]:
    """Write `now()` repeatedly while the block lasts, and `final()` at its end, unless that is empty."""
    over = threading.Event()

    def rewrite() -> None:
        while not over.wait(LINE_SECONDS):
            write_line(now())

    writer = threading.Thread(target=rewrite, name="reelbook-progress", daemon=True)
    writer.start()
    try:
        yield
    finally:
        over.set()
        writer.join()
        last = final()
        write_line(last, "\n" if last else "")


def write_line(text: str, end: str = "") -> None:
    """Replace the text on the line."""
    room = shutil.get_terminal_size().columns - 1
    flat = " ".join(printable(text).splitlines())
    sys.stderr.write(f"\r\x1b[K{flat[:room]}{end}")
    sys.stderr.flush()


# Why a cell is waiting.


@contextmanager
def waiting_line() -> Iterator[Callable[[str], None]]:
    """Yield a function that displays a text in a notebook cell or on one line of a terminal; elsewhere the first one is logged."""
    line = _WaitingLine()
    try:
        yield line.show
    finally:
        line.show("")


class _WaitingLine:
    """One line with the reason why a cell is waiting, removed when it continues."""

    def __init__(self) -> None:
        self._text = ""
        self._is_logged = False
        self._handle: Any = None

    def show(self, text: str) -> None:
        """Display a text in place of the previous one."""
        if text == self._text:
            return
        self._text = text
        words = f"{STATE_SIGNS['waiting']} {text}" if text else ""
        if get_kernel_shell() is not None:
            self._update_cell(words)
        elif is_terminal():
            write_line(words)
        elif text and not self._is_logged:
            self._is_logged = True
            log.warning("%s%s.", text[:1].upper(), text[1:])

    def _update_cell(self, words: str) -> None:
        bundle: Bundle = {"text/plain": words, "text/html": f"<div>{escape(words)}</div>" if words else ""}
        if self._handle is None:
            self._handle = new_output(bundle)
        else:
            self._handle.update(bundle, raw=True)


# A sweep.


@contextmanager
def watch_job(job: SweepJob) -> Iterator[None]:
    """Display a sweep while the block runs; after an interrupt also its buttons, which need an idle kernel."""
    from .sweep_panel import HINT, format_panel, panel_bundle

    if get_kernel_shell() is not None:
        original_links.prepare_links()
        with updating_output(
            lambda: panel_bundle(job.progress, hint=HINT), lambda _: panel_bundle(job.progress)
        ) as show:
            try:
                yield
            except KeyboardInterrupt:
                # Paid runs continue, and the panel follows them after the cell has ended.
                job.stop_sending()
                job.on_change(lambda job: show(panel_bundle(job.progress)))
                if job.progress.queued:
                    registry.find("show_buttons")(job)
                raise
    elif is_terminal():
        with updating_line(lambda: format_panel(job.progress), lambda: format_panel(job.progress)):
            yield
    else:
        yield


# A report or an animation.


def ignore_text(_: str) -> None:
    """Ignore a text; used where nothing is displayed."""


@contextmanager
def show_progress(done: Callable[[], int], of: int, words: str) -> Iterator[SetText]:
    """Display the progress while the block runs; yields a function that replaces the last line, also after the block.

    The last line stays in the cell: an output cannot be removed, and an empty one would leave a gap.
    """

    def format_line() -> str:
        return f"{done():,} of {of:,} {words}"

    if get_kernel_shell() is not None:
        bar = lambda: _make_bar(format_line(), done() / of)  # noqa: E731
        with updating_output(bar, lambda _: _make_line(format_line())) as change:
            yield lambda text: change(_make_line(text))
    elif is_terminal():
        with updating_line(format_line, lambda: ""):
            yield ignore_text
    else:
        yield ignore_text


def _make_bar(text: str, share: float) -> Bundle:
    return {"text/plain": text, "text/html": str(BAR.format(text, share))}


def _make_line(text: str) -> Bundle:
    return {"text/plain": text, "text/html": str(LINE.format(text))}


# Measuring.


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
        return _make_bar(self.line, self.done / self.of if self.of else 1.0)

    def final_bundle(self) -> Bundle:
        """The final line, by MIME type."""
        return _make_line(self.final_line)


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
