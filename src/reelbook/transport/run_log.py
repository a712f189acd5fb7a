"""The log of a run: what each poll adds to it, the last lines only."""

from __future__ import annotations

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

    >>> merge_lines(["a", "b", "c"], ["b", "c", "d"]), merge_lines(["a", "b"], ["b", "a"])
    (['a', 'b', 'c', 'd'], ['a', 'b', 'a'])
    """
    if not received:
        return seen
    for overlap in range(min(len(seen), len(received)), 0, -1):
        # The first line is compared on its own, because most places differ in that already.
        if seen[-overlap] == received[0] and seen[-overlap:] == received[:overlap]:
            return seen + received[overlap:]
    known = set(seen)
    return seen + [line for line in received if line not in known]
