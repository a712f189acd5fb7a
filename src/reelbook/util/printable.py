"""Sanitising of text and ids from outside for printing: no control characters, and bounded length."""

from __future__ import annotations

MAX_ID_LENGTH = 100
"""Longer ids are truncated for printing."""
MAX_SENTENCE_LENGTH = 1_800
"""Longer texts of a service are truncated for printing; an error can be an entire HTML page."""

CONTROLS = dict.fromkeys(
    (
        *(code for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"),
        *(0x61C, 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)),
    ),
    "\N{REPLACEMENT CHARACTER}",
)
"""Control characters that a terminal would interpret, and those that change the direction of text."""


def printable(text: str) -> str:
    """The text with control characters replaced, except line breaks and tabs.

    >>> printable("busy\\x1b[2J\\x9b31m,\\r\\ntry later")
    'busy�[2J�31m,\\ntry later'
    """
    return text.replace("\r\n", "\n").translate(CONTROLS)


def readable_id(request_id: str) -> str:
    """The id on one line, without control characters, truncated to `MAX_ID_LENGTH`.

    >>> readable_id("r-7"), readable_id(".. " + chr(10)), len(readable_id("x" * 9000))
    ('r-7', "'.. \\\\n'", 100)
    """
    text = request_id if request_id.isprintable() and request_id == request_id.strip() else ascii(request_id)
    return text if len(text) <= MAX_ID_LENGTH else f"{text[: MAX_ID_LENGTH - 1]}…"


def shortened(text: str) -> str:
    """The text truncated to `MAX_SENTENCE_LENGTH` characters."""
    return text if len(text) <= MAX_SENTENCE_LENGTH else f"{text[: MAX_SENTENCE_LENGTH - 1]}…"


def as_sentence(text: str) -> str:
    """The text truncated and ended with a full stop, so that another sentence can follow it.

    >>> as_sentence("busy"), as_sentence("Try later!"), len(as_sentence("x" * 9000))
    ('busy.', 'Try later!', 1800)
    """
    text = text.rstrip()
    return shortened(text if text.endswith((".", "!", "?", "…")) else f"{text}.")
