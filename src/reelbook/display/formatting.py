"""Numbers, times and states as a person reads them: the same words wherever something is shown."""

from __future__ import annotations

from collections.abc import Mapping

MARKS: Mapping[str, str] = {
    "planned": "○", "not started": "○", "waiting": "◔", "IN_QUEUE": "◔", "running": "◑", "IN_PROGRESS": "◑", "completed": "●",
    "from library": "◉", "failed": "✕", "rejected": "✕", "expired": "✕", "impossible": "✕", "cancelled": "⊘", "uncertain": "?",
    "unfinished": "◔",
}  # fmt: skip
"""One sign for each state, beside its word."""
STATE_COLOURS: Mapping[str, str] = {
    "completed": "good", "from library": "good", "failed": "bad", "rejected": "bad", "expired": "warn", "impossible": "bad", "uncertain": "warn",
    "unfinished": "warn", "waiting": "accent", "running": "accent", "IN_QUEUE": "accent", "IN_PROGRESS": "accent",
}  # fmt: skip
"""The colour of a state's sign, by its name in the style sheet; that of others is soft."""


def joined(*parts: str | None) -> str:
    """What there is of these, with dots between.

    >>> joined("seed 7", "", "49 frames")
    'seed 7 · 49 frames'
    """
    return " · ".join(part for part in parts if part)


def cut(text: object, longest: int) -> str:
    """A text on one line, no longer than this.

    >>> cut("a paper boat on a rainy street", 12)
    'a paper boa…'
    """
    flat = " ".join(str(text).split())
    return flat if len(flat) <= longest else f"{flat[: longest - 1].rstrip()}…"


def format_credits(amount: int | None, source: str | None = None) -> str:
    """An amount of credits; one that is not certain is marked.

    >>> format_credits(1272), format_credits(53, "estimated"), format_credits(1), format_credits(None)
    ('1,272 credits', '≈ 53 credits', '1 credit', '')
    """
    if amount is None:
        return ""
    about = "≈ " if source in ("estimated", "assumed") else ""
    return f"{about}{amount:,} credit{'' if amount == 1 else 's'}"


def duration(seconds: float) -> str:
    """A time as one says it.

    >>> duration(4.2), duration(48), duration(200), duration(720), duration(9000)
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


def size(count: int) -> str:
    """A number of bytes.

    >>> size(900), size(41_300), size(4_100_000)
    ('900 B', '41 kB', '4.1 MB')
    """
    if count < 1000:
        return f"{count} B"
    return f"{count / 1e3:.0f} kB" if count < 999_500 else f"{count / 1e6:.1f} MB"
