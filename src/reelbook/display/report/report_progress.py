"""How far a longer piece of work is: in a notebook in its cell, in a terminal on one line, elsewhere nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from markupsafe import Markup

from ..run_progress import Bundle, get_kernel_shell, updating_output
from ..terminal_line import is_terminal, updating_line

BAR = Markup(
    '<div style="max-width:640px;font-variant-numeric:tabular-nums"><div>{}</div>'
    '<progress max="1" value="{:.3f}" aria-label="progress" style="display:block;width:100%;margin:6px 0 0"></progress></div>'
)


LINE = Markup("<div><bdi>{}</bdi></div>")
SetText = Callable[[str], object]
"""Puts a line into the place of what was told."""


def ignore_text(_: str) -> None:
    """Says nothing."""


@contextmanager
def show_progress(done: Callable[[], int], of: int, words: str) -> Iterator[SetText]:
    """Say how much is done while the block lasts. A cell keeps the last line, for which one may say another, also later.

    An output cannot be taken back, and an empty one would stay in the notebook as a gap.
    """

    def told() -> str:
        return f"{done():,} of {of:,} {words}"

    def bundle() -> Bundle:
        return {"text/plain": told(), "text/html": str(BAR.format(told(), done() / of))}

    if get_kernel_shell() is not None:
        with updating_output(bundle, lambda _: _bundle(told())) as change:
            yield lambda text: change(_bundle(text))
    elif is_terminal():
        with updating_line(told, lambda: ""):
            yield ignore_text
    else:
        yield ignore_text


def _bundle(text: str) -> Bundle:
    return {"text/plain": text, "text/html": str(LINE.format(text))}
