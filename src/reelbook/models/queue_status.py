"""The status of a queued request, and the log of a run: its last lines."""

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
    """The last lines of a log, and how many earlier ones were dropped."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.left_out = 0

    @property
    def text(self) -> list[str]:
        """The lines, preceded by a note of how many are missing."""
        return [f"({self.left_out:,} earlier lines are not kept)", *self.lines] if self.left_out else list(self.lines)

    def add(self, status: QueueStatus) -> bool:
        """Take over the log of a status, if it has one; true if there are new lines."""
        received, left_out = status.last_lines(MAX_LOG_LINES)
        lines = [line[:MAX_LINE_LENGTH] for line in received]
        if not lines or (lines, left_out) == (self.lines, self.left_out):
            return False
        self.lines, self.left_out = lines, left_out
        return True
