"""The log of a run: what each poll adds to it, the last lines only, in linear time."""

from __future__ import annotations

from collections.abc import Sequence

from ..models.queue_status import QueueStatus

MAX_LOG_LINES = 5_000
"""How many lines of a run are stored."""
MAX_LINE_LENGTH = 2_000


class RunLog:
    """The last lines of a log, each once, and how many earlier ones were dropped."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.left_out = 0

    @property
    def text(self) -> list[str]:
        """The lines, preceded by a note of how many are missing."""
        return [f"({self.left_out:,} earlier lines are not kept)", *self.lines] if self.left_out else list(self.lines)

    def add(self, status: QueueStatus) -> bool:
        """Add the lines of a status, which reports all of the log or its last lines; true if there are new ones."""
        received, skipped = status.last_lines(MAX_LOG_LINES)
        lines = merge_lines(self.lines, [line[:MAX_LINE_LENGTH] for line in received])
        dropped = max(len(lines) - MAX_LOG_LINES, 0)
        is_new = len(lines) != len(self.lines)
        # A whole log that has grown by more than is stored shows by its own length how much is missing.
        self.lines, self.left_out = lines[dropped:], max(self.left_out + dropped, skipped)
        return is_new


def merge_lines(seen: list[str], received: list[str]) -> list[str]:
    """A log with its new lines added, whether the service sends all of it each time or only its last lines.

    >>> merge_lines(["a", "b", "c"], ["b", "c", "d"])
    ['a', 'b', 'c', 'd']
    """
    overlap = count_overlap(seen, received)
    if overlap:
        return seen + received[overlap:]
    known = set(seen)
    return seen + [line for line in received if line not in known]


def count_overlap(seen: Sequence[str], received: Sequence[str]) -> int:
    """How many of the last lines seen so far are the first of those received.

    >>> count_overlap("xaab", "aabaac"), count_overlap("ab", "ba"), count_overlap("ab", "c")
    (3, 1, 0)
    """
    limit = min(len(seen), len(received))
    if not limit:
        return 0
    # Knuth, Morris and Pratt: for each prefix of `received`, the longest shorter prefix that it ends with.
    borders = [0] * limit
    length = 0
    for place in range(1, limit):
        while length and received[place] != received[length]:
            length = borders[length - 1]
        length += received[place] == received[length]
        borders[place] = length
    length = 0
    for line in seen[len(seen) - limit :]:
        while length and (length == limit or line != received[length]):
            length = borders[length - 1]
        length += line == received[length]
    return length
