"""The log of a run: what each look adds to it, the last lines only, in a time that grows with their number."""

from __future__ import annotations

from collections.abc import Sequence

from ...models.queue_status import QueueStatus

MAX_LINES = 5_000
"""How many lines of a run are kept."""
LONGEST_LINE = 2_000


class Log:
    """The last lines of a log, each once, and how many earlier ones were left out."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.left_out = 0

    @property
    def text(self) -> list[str]:
        """The lines, and before them how many are missing."""
        return [f"({self.left_out:,} earlier lines are not kept)", *self.lines] if self.left_out else list(self.lines)

    def add(self, status: QueueStatus) -> bool:
        """Take in what a status tells, be it all of the log or its last lines; says whether there is something new."""
        news, skipped = status.last_lines(MAX_LINES)
        lines = merged(self.lines, [line[:LONGEST_LINE] for line in news])
        dropped = max(len(lines) - MAX_LINES, 0)
        is_new = len(lines) != len(self.lines)
        # A whole log that has grown by more than is kept shows by its own length how much is missing.
        self.lines, self.left_out = lines[dropped:], max(self.left_out + dropped, skipped)
        return is_new


def merged(seen: list[str], news: list[str]) -> list[str]:
    """A log with what is new in it, whether the service sends all of it each time or only its last lines.

    >>> merged(["a", "b", "c"], ["b", "c", "d"])
    ['a', 'b', 'c', 'd']
    """
    overlap = overlapping(seen, news)
    if overlap:
        return seen + news[overlap:]
    known = set(seen)
    return seen + [line for line in news if line not in known]


def overlapping(seen: Sequence[str], news: Sequence[str]) -> int:
    """How many of the last lines that were seen are the first of the news.

    >>> overlapping("xaab", "aabaac"), overlapping("ab", "ba"), overlapping("ab", "c")
    (3, 1, 0)
    """
    most = min(len(seen), len(news))
    if not most:
        return 0
    # Knuth, Morris and Pratt: for each beginning of the news, the longest shorter one that it ends with.
    shorter = [0] * most
    length = 0
    for place in range(1, most):
        while length and news[place] != news[length]:
            length = shorter[length - 1]
        length += news[place] == news[length]
        shorter[place] = length
    length = 0
    for line in seen[len(seen) - most :]:
        while length and (length == most or line != news[length]):
            length = shorter[length - 1]
        length += line == news[length]
    return length
