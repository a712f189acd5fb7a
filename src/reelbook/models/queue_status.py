"""The status of a queued request, and the log of a run: its last lines."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from ..util.printable import printable
from .base import Count, Output, Words

IN_QUEUE, IN_PROGRESS, COMPLETED = STATUSES = ("IN_QUEUE", "IN_PROGRESS", "COMPLETED")
"""The three states in the specification."""
ANSWER_LOST = "answer_lost"
"""The error type of a run that a gateway has sent on, and of which nobody knows whether it was made and paid for."""

MAX_LOG_LINES, MAX_LINE_LENGTH = 5_000, 2_000
"""How much of a log is kept."""


def _status(value: Any) -> Any:
    """One of the three states in their canonical spelling; anything else unchanged."""
    name = value.strip().upper().replace(" ", "_") if isinstance(value, str) else value
    return name if name in STATUSES else value


_Table = Annotated[dict[str, Any] | None, BeforeValidator(lambda value: value if isinstance(value, dict) else None)]


class QueueStatus(Output):
    """The status of a request. Only `status` and `request_id` are guaranteed."""

    status: Annotated[str, BeforeValidator(_status)]
    """`IN_QUEUE`, `IN_PROGRESS` or `COMPLETED`; any other value counts as unfinished."""
    request_id: str
    """The id of the request."""
    queue_position: Count = None
    """The number of requests ahead of it."""
    logs: Any = None
    """The log; a free-form object in the specification, a list at other services."""
    metrics: _Table = None
    """Figures about the run, free-form."""
    status_url: Words = None
    """The URL of the status."""
    response_url: Words = None
    """The URL of the result."""
    cancel_url: Words = None
    """The URL for cancellation."""

    @property
    def finished(self) -> bool:
        """Whether the request is completed."""
        return self.status == COMPLETED

    @property
    def log_lines(self) -> list[str]:
        """The last lines of the log, and before them how many earlier ones are left out.

        >>> QueueStatus(status="IN_PROGRESS", request_id="1", logs=[{"message": "warming up"}]).log_lines
        ['warming up']
        """
        logs = self.logs.get("entries", self.logs) if isinstance(self.logs, dict) else self.logs
        if isinstance(logs, dict):
            logs = [f"{name}: {value}" for name, value in logs.items()]
        entries = logs if isinstance(logs, list) else [] if logs is None else str(logs).splitlines()
        kept = [entry.get("message", entry) if isinstance(entry, dict) else entry for entry in entries[-MAX_LOG_LINES:]]
        earlier = len(entries) - len(kept)
        lines = [printable(str(line)[:MAX_LINE_LENGTH]) for line in kept]
        return [f"({earlier:,} earlier lines are not kept)", *lines] if earlier else lines
