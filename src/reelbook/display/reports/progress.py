"""How far a longer piece of work is: in a notebook in its cell, in a terminal on one line, elsewhere nothing."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from markupsafe import Markup

from ..live import UPDATE_SECONDS, Bundle, kernel_shell, updated

BAR = Markup(
    '<div style="max-width:640px;font-variant-numeric:tabular-nums"><div>{}</div>'
    '<progress max="1" value="{:.3f}" aria-label="progress" style="display:block;width:100%;margin:6px 0 0"></progress></div>'
)


LINE = Markup("<div><bdi>{}</bdi></div>")
Say = Callable[[str], object]
"""Puts a line into the place of what was told."""


def silent(_: str) -> None:
    """Says nothing."""


@contextmanager
def progress(done: Callable[[], int], of: int, words: str) -> Iterator[Say]:
    """Say how much is done while the block lasts. A cell keeps the last line, for which one may say another, also later.

    An output cannot be taken back, and an empty one would stay in the notebook as a gap.
    """

    def line() -> str:
        return f"{done():,} of {of:,} {words}"

    def bundle() -> Bundle:
        return {"text/plain": line(), "text/html": str(BAR.format(line(), done() / of))}

    if kernel_shell() is not None:
        with updated(bundle, lambda _: _bundle(line())) as change:
            yield lambda text: change(_bundle(text))
    elif sys.stderr is not None and sys.stderr.isatty():
        with _line(line):
            yield silent
    else:
        yield silent


def _bundle(text: str) -> Bundle:
    return {"text/plain": text, "text/html": str(LINE.format(text))}


@contextmanager
def _line(words: Callable[[], str]) -> Iterator[None]:
    over = threading.Event()

    def keep_up() -> None:
        while not over.wait(UPDATE_SECONDS):
            _write(words())

    ticker: Any = threading.Thread(target=keep_up, name="reelbook-progress", daemon=True)
    ticker.start()
    try:
        yield
    finally:
        over.set()
        ticker.join()
        _write("")


def _write(text: str) -> None:
    sys.stderr.write(f"\r\x1b[K{text[:160]}")
    sys.stderr.flush()
