"""Progress of long operations, in a notebook cell or on one line of a terminal, and nowhere else."""

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
"""Replaces the last line of progress."""


def ignore_text(_: str) -> None:
    """Ignore a text; used where nothing is displayed."""


@contextmanager
def show_progress(done: Callable[[], int], of: int, words: str) -> Iterator[SetText]:
    """Display the progress while the block runs; yields a function that replaces the last line, also after the block.

    The last line stays in the cell: an output cannot be removed, and an empty one would leave a gap.
    """

    def format_line() -> str:
        return f"{done():,} of {of:,} {words}"

    def bundle() -> Bundle:
        return {"text/plain": format_line(), "text/html": str(BAR.format(format_line(), done() / of))}

    if get_kernel_shell() is not None:
        with updating_output(bundle, lambda _: _bundle(format_line())) as change:
            yield lambda text: change(_bundle(text))
    elif is_terminal():
        with updating_line(format_line, lambda: ""):
            yield ignore_text
    else:
        yield ignore_text


def _bundle(text: str) -> Bundle:
    return {"text/plain": text, "text/html": str(LINE.format(text))}
