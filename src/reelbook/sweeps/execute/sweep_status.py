"""The statuses of a run of a sweep."""

from __future__ import annotations

from enum import StrEnum


class SweepStatus(StrEnum):
    """Status of a run of a sweep, and its text in the table. The last two occur only while the run is active.

    An unfinished run is paid for, but its result was not received; running the plan again fetches it at no cost.
    """

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNFINISHED = "unfinished"
    UNCERTAIN = "uncertain"
    IMPOSSIBLE = "impossible"
    NOT_STARTED = "not started"
    WAITING = "waiting"
    RUNNING = "running"


STATUSES = tuple(status.value for status in SweepStatus)
WITHOUT_RESULT = (SweepStatus.FAILED, SweepStatus.CANCELLED, SweepStatus.UNFINISHED, SweepStatus.UNCERTAIN)
"""Statuses of runs that have ended without a result."""
