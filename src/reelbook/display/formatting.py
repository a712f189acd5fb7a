"""Numbers, durations, sizes and states as text."""

from __future__ import annotations

import re
import textwrap
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from ..storage.run_status import WITHOUT_RESULT
from ..util.printable import format_count
from ..util.printable import format_duration as format_duration
from ..util.printable import format_size as format_size

WRAP_WIDTH = 95
"""Letters of a line of a message; a notebook breaks longer ones within words."""
_AMOUNT = re.compile(r"(\d) (?=[a-z%])")
STATE_SIGNS: Mapping[str, str] = {
    "not started": "○", "waiting": "◔", "IN_QUEUE": "◔", "running": "◑", "IN_PROGRESS": "◑", "completed": "●",
    "from library": "◉", "failed": "✕", "impossible": "✕", "cancelled": "⊘", "uncertain": "?", "unfinished": "◔",
}  # fmt: skip
"""One sign for each state, displayed beside its word."""
STATE_COLOURS: Mapping[str, str] = {
    "completed": "good", "from library": "good", "failed": "bad", "impossible": "bad", "uncertain": "warn",
    "unfinished": "warn", "waiting": "accent", "running": "accent", "IN_QUEUE": "accent", "IN_PROGRESS": "accent",
}  # fmt: skip
"""The colour of a state's sign, by its name in the style sheet; `soft` for the others."""


def join_with_dots(*parts: str | None) -> str:
    """The parts that are not empty, joined with dots.

    >>> join_with_dots("seed 7", "", "49 frames")
    'seed 7 · 49 frames'
    """
    return " · ".join(part for part in parts if part)


def shorten(text: object, max_length: int) -> str:
    """A text on one line, cut to a maximum length.

    >>> shorten("a paper boat on a rainy street", 12)
    'a paper boa…'
    """
    flat = " ".join(str(text).split())
    return flat if len(flat) <= max_length else f"{flat[: max_length - 1].rstrip()}…"


def wrap(text: str, width: int = WRAP_WIDTH) -> str:
    """A text in lines that end between words, for places that break a long line anywhere; an amount stays whole.

    >>> print(wrap("Eight runs cost 424 credits, and spend=159 pays for three of them.", 22))
    Eight runs cost
    424 credits, and
    spend=159 pays for
    three of them.
    """
    kept = [_AMOUNT.sub("\\1\N{NO-BREAK SPACE}", line) for line in text.split("\n")]
    lines = [
        textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False, subsequent_indent=line[: len(line) - len(line.lstrip())])
        if len(line) > width
        else line
        for line in kept
    ]  # fmt: skip
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")


def format_credits(amount: int | None, source: str | None = None, status: str = "") -> str:
    """An amount of credits, with `≈` or `up to` where it was not charged for certain.

    >>> format_credits(1272), format_credits(53, "estimated"), format_credits(1), format_credits(None)
    ('1,272 credits', '≈ 53 credits', '1 credit', '')
    >>> format_credits(53, "estimated", "failed"), format_credits(0, "charged", "failed")
    ('up to 53 credits', '0 credits')
    """
    if amount is None:
        return ""
    about = ""
    if source in ("estimated", "assumed") and amount:
        # A run without a result may have been refunded.
        about = "up to " if status in WITHOUT_RESULT else "≈ "
    return f"{about}{format_count(amount, 'credit')}"


def format_folder(folder: Path) -> str:
    """A folder from that of the notebook, where it is in it."""
    try:
        return str(folder.absolute().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(folder)


def format_path(path: Path) -> str:
    """A file as a page that is given away may name it: from the notebook's folder, else with its last folder alone."""
    name = format_folder(path)
    return name if name != str(path) else f"{path.parent.name}/{path.name}"


def format_time(moment: datetime) -> str:
    """A moment in local time, to the minute."""
    try:
        return f"{datetime.fromtimestamp(moment.timestamp()):%Y-%m-%d %H:%M}"  # In local time, for readers.
    except (ValueError, OverflowError, OSError):
        return "at an unknown time"


def format_late_note(what: str, state: str) -> str:
    """The note on an unfinished sweep or race, for readers of a saved notebook."""
    return (
        f"It was {state} at {time.strftime('%H:%M:%S')}. If the kernel has ended since, the {what} ended with it: "
        "run its cells again. What is paid for is fetched, and nothing is paid twice."
    )
