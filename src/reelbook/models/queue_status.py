"""The status of a queued request, and the log of a run: what each status adds to it, the last lines only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BeforeValidator

from ..util.printable import printable
from .base import Output

IN_QUEUE, IN_PROGRESS, COMPLETED = STATUSES = ("IN_QUEUE", "IN_PROGRESS", "COMPLETED")
"""The three states in the specification."""
ANSWER_LOST = "answer_lost"
"""The error type of a run that a gateway has sent on, and of which nobody knows whether it was made and paid for."""

MAX_LOG_LINES = 5_000
"""How many lines of a run are stored."""
MAX_LINE_LENGTH = 2_000


def parse_count(value: Any) -> int | None:
    """A count, also from text or from 3.0; None for anything else.

    >>> [parse_count(value) for value in (3, 3.0, "3", True, -1, "three", None)]
    [3, 3, 3, None, None, None, None]
    """
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 20:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e18 or value != int(value):
        return None
    return int(value)


def _status(value: Any) -> Any:
    """One of the three states in their canonical spelling; anything else unchanged."""
    name = value.strip().upper().replace(" ", "_").replace("-", "_") if isinstance(value, str) else value
    return name if name in STATUSES else value


# A malformed optional field counts as missing, so that a paid run can still be followed.
_ParsedCount = Annotated[int | None, BeforeValidator(parse_count)]
_Table = Annotated[dict[str, Any] | None, BeforeValidator(lambda value: value if isinstance(value, dict) else None)]
_Address = Annotated[str | None, BeforeValidator(lambda value: value if isinstance(value, str) else None)]


class QueueStatus(Output):
    """The status of a request. Only `status` and `request_id` are guaranteed."""

    status: Annotated[str, BeforeValidator(_status)]
    """`IN_QUEUE`, `IN_PROGRESS` or `COMPLETED`; any other value counts as unfinished."""
    request_id: str
    """The id of the request."""
    queue_position: _ParsedCount = None
    """The number of requests ahead of it."""
    logs: Any = None
    """The log; a free-form object in the specification, a list at other services."""
    metrics: _Table = None
    """Figures about the run, free-form."""
    status_url: _Address = None
    """The URL of the status."""
    response_url: _Address = None
    """The URL of the result."""
    cancel_url: _Address = None
    """The URL for cancellation."""

    @property
    def finished(self) -> bool:
        """Whether the request is completed.

        >>> QueueStatus(status="COMPLETED", request_id="1").finished
        True
        """
        return self.status == COMPLETED

    def last_lines(self, limit: int | None = None) -> tuple[list[str], int]:
        """The last lines of the log, from any format of a service, and the number of lines before them.

        >>> QueueStatus(status="IN_PROGRESS", request_id="1", logs=[{"message": "warming up"}]).last_lines()
        (['warming up'], 0)
        """
        logs = self.logs
        if isinstance(logs, dict) and "entries" in logs:
            logs = logs["entries"]
        if isinstance(logs, dict):
            logs = [f"{name}: {value}" for name, value in logs.items()]
        if isinstance(logs, str):
            logs = logs.splitlines()
        if not isinstance(logs, Iterable):
            logs = [] if logs is None else [logs]
        entries = list(logs)
        skipped = 0 if limit is None else max(len(entries) - limit, 0)
        messages = (entry.get("message", entry) if isinstance(entry, dict) else entry for entry in entries[skipped:])
        return [printable(str(entry)) for entry in messages], skipped


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
