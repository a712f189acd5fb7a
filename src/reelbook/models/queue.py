"""What the queue says of a request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .base import Output

IN_QUEUE, IN_PROGRESS, COMPLETED = STATUSES = ("IN_QUEUE", "IN_PROGRESS", "COMPLETED")
"""The three states that the spec names."""


class QueueStatus(Output):
    """Where a request stands. Only `status` and `request_id` are certain to be there."""

    status: str
    """`IN_QUEUE`, `IN_PROGRESS` or `COMPLETED`; anything else counts as still going."""
    request_id: str
    """Which request this is about."""
    queue_position: int | None = None
    """How many requests are ahead of it."""
    logs: Any = None
    """What the service has to tell; a free-form object here, a list at other services."""
    metrics: dict[str, Any] | None = None
    """Figures about the run, free-form."""
    status_url: str | None = None
    """Where to ask again."""
    response_url: str | None = None
    """Where the result will be."""
    cancel_url: str | None = None
    """Where to cancel."""

    @property
    def finished(self) -> bool:
        """Whether nothing more will happen.

        >>> QueueStatus(status="COMPLETED", request_id="1").finished
        True
        """
        return self.status == COMPLETED

    @property
    def lines(self) -> list[str]:
        """The log as plain lines, whatever shape the service gave it.

        >>> QueueStatus(status="IN_PROGRESS", request_id="1", logs=[{"message": "warming up"}]).lines
        ['warming up']
        """
        logs = self.logs
        if isinstance(logs, dict):
            logs = logs.get("entries", [f"{name}: {value}" for name, value in logs.items()])
        if not isinstance(logs, Iterable) or isinstance(logs, str):
            logs = [] if logs is None else [logs]
        return [str(entry.get("message", entry)) if isinstance(entry, dict) else str(entry) for entry in logs]
