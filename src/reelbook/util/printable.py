"""Text for printing: counts, durations and sizes in words, and texts and ids from outside without control characters and of bounded length."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

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


def format_count(count: int, what: str) -> str:
    """A number of things in words.

    >>> format_count(1, "run"), format_count(1200, "credit")
    ('1 run', '1,200 credits')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def format_duration(seconds: float) -> str:
    """A duration in readable units.

    >>> format_duration(4.2), format_duration(48), format_duration(200), format_duration(720), format_duration(9000)
    ('4.2 s', '48 s', '3 min 20 s', '12 min', '2 h 30 min')
    """
    if seconds < 9.95:
        return f"{max(seconds, 0):.1f} s"
    if round(seconds) < 60:
        return f"{seconds:.0f} s"
    whole = round(seconds)
    if whole < 600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"


def format_size(count: int) -> str:
    """A number of bytes with its unit.

    >>> format_size(900), format_size(41_300), format_size(4_100_000), format_size(45_100_000_000)
    ('900 bytes', '41 kB', '4.1 MB', '45.1 GB')
    """
    if count < 1000:
        return format_count(count, "byte")
    if count < 999_500:
        return f"{count / 1e3:.0f} kB"
    # So that slightly less than a gigabyte is not rounded to 1,000.0 MB.
    unit, name = next(
        (unit, name) for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")) if count >= unit * 0.99995
    )
    return f"{count / unit:,.1f} {name}"


def printable(text: str) -> str:
    """The text with control characters replaced, except line breaks and tabs.

    >>> printable("busy\\x1b[2J\\x9b31m,\\r\\ntry later")
    'busy�[2J�31m,\\ntry later'
    """
    return text if text.isprintable() else text.replace("\r\n", "\n").translate(CONTROLS)


def format_line(text: str) -> str:
    """The text on one line: unprintable characters are spaces, and a row of spaces is one.

    >>> format_line(" busy\\x1b[2J,\\r\\n\\t try\\u2028later ")
    'busy [2J, try later'
    """
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def replace_surrogates(text: str) -> str:
    """A text that UTF-8 can encode: each lone surrogate becomes a `?`.

    >>> replace_surrogates("a\\ud800b")
    'a?b'
    """
    return text.encode(errors="replace").decode()


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with `change` applied to each of its texts, names included.

    >>> map_texts({"a": ["b", 1]}, str.upper)
    {'A': ['B', 1]}
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(name): map_texts(item, change) for name, item in value.items()}
    return [map_texts(item, change) for item in value] if isinstance(value, list) else value


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


def suggest(name: object, known: Iterable[object], *, cutoff: float = 0.6) -> str:
    """A question for a name that does not exist, such as " Did you mean 'seed'?"; empty if nothing is like it.

    >>> suggest("sede", ["seed", "prompt"]), suggest("nothing", ["seed", "prompt"])
    (" Did you mean 'seed'?", '')
    """
    names = list(map(str, islice(known, 10_000)))
    close = difflib.get_close_matches(str(name)[:100], names, n=1, cutoff=cutoff)
    return f" Did you mean {close[0]!r}?" if close else ""
