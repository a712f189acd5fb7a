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
from ..util.printable import printable
from . import original_links
from .formatting import STATE_SIGNS, format_duration, join_with_dots
from .update_clock import Bundle, LiveOutput, updater

if TYPE_CHECKING:
    from ..sweeps.job import SweepJob

log = logging.getLogger("reelbook")

LINE_SECONDS = 0.25
"""How often the line of a terminal is rewritten."""
QUIET_SECONDS = 1.0
"""The delay before a count is displayed."""
BAR = Markup(
    '<div style="max-width:640px;font-variant-numeric:tabular-nums"><div>{}</div>'
    '<progress max="1" value="{:.3f}" aria-label="progress" style="display:block;width:100%;margin:6px 0 0"></progress></div>'
)
LINE = Markup("<div><bdi>{}</bdi></div>")


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
    last, handle, is_logged = "", None, False

    def show(text: str) -> None:
        nonlocal last, handle, is_logged
        if text == last:
            return
        last = text
        words = f"{STATE_SIGNS['waiting']} {text}" if text else ""
        if get_kernel_shell() is not None:
            bundle: Bundle = {"text/plain": words, "text/html": f"<div>{escape(words)}</div>" if words else ""}
            if handle is None:
                handle = new_output(bundle)
            else:
                handle.update(bundle, raw=True)
        elif is_terminal():
            write_line(words)
        elif text and not is_logged:
            is_logged = True
            log.warning("%s%s.", text[:1].upper(), text[1:])

    try:
        yield show
    finally:
        show("")


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
                job.interrupt()
                job.on_change(lambda job: show(panel_bundle(job.progress)))
                if job.progress.queued:
                    registry.find("show_buttons")(job)
                raise
    elif is_terminal():
        with updating_line(lambda: format_panel(job.progress), lambda: format_panel(job.progress)):
            yield
    else:
        yield


# Measuring, a report, or an animation.


class Count:
    """How many of a number of things are done, and about how long the rest takes."""

    result = ""
    """What stays in the cell in place of the last count."""

    def __init__(self, of: int, words: str, *, stays: bool = False) -> None:
        """`stays`: a terminal keeps the last line, too."""
        self.done, self.of, self.stays = 0, of, stays
        self._words = words
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
    return watch_count(Count(files, "files measured", stays=True))


@contextmanager
def watch_count(count: Count) -> Iterator[Count]:
    """Display a count while the block runs, if that takes longer than `QUIET_SECONDS`."""
    display = _choose_display(count)
    if display is None:
        yield count
        return
    over = threading.Event()

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


def _choose_display(count: Count) -> AbstractContextManager[object] | None:
    """The output of a cell or the line of a terminal; None where there is neither."""
    if get_kernel_shell() is not None:
        return updating_output(
            lambda: _make_line(count.line, BAR, count.done / count.of if count.of else 1.0),
            lambda _: _make_line(count.result or count.line),
        )
    return updating_line(lambda: count.line, lambda: count.line if count.stays else "") if is_terminal() else None


def _make_line(text: str, html: Markup = LINE, share: float = 1.0) -> Bundle:
    return {"text/plain": text, "text/html": str(html.format(text, share))}
