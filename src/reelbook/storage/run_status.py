"""The words for how a run stands: in the library's table, in a sweep's table and panel, and at the run itself.

The ledger has its own states (`State`), whose stages are finer; `STATUSES_BY_STAGE` is the one translation. While a run is
active, `Run.status` shows the service's own `IN_QUEUE` and `IN_PROGRESS` instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from ..errors import ReelbookError, RunCancelled, RunFailed, UncertainRun
from .ledger.transitions import CLAIMED, COMPLETED, EXPIRED, State


class RunStatus(StrEnum):
    """How a run stands, as users read it.

    An unfinished run is paid for, but its result was not received; running the plan again fetches it at no cost.
    """

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNFINISHED = "unfinished"
    UNCERTAIN = "uncertain"
    REJECTED = "rejected"
    EXPIRED = "expired"
    IMPOSSIBLE = "impossible"
    PLANNED = "planned"
    NOT_STARTED = "not started"
    WAITING = "waiting"
    RUNNING = "running"


LIBRARY_STATUSES = tuple(
    status.value
    for status in (
        RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.UNCERTAIN, RunStatus.REJECTED, RunStatus.EXPIRED,
        RunStatus.WAITING, RunStatus.PLANNED,
    )
)  # fmt: skip
"""All values of the column `status` in the library's table."""
SWEEP_STATUSES = tuple(
    status.value for status in RunStatus if status not in (RunStatus.REJECTED, RunStatus.EXPIRED, RunStatus.PLANNED)
)
"""All values of the column `status` in a sweep's table. The last two occur only while the sweep is active."""
WITHOUT_RESULT = (RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.UNFINISHED, RunStatus.UNCERTAIN)
"""Statuses of runs that have ended without a result."""
ENDED = (RunStatus.COMPLETED, *WITHOUT_RESULT)

STATUSES_BY_STAGE: Mapping[str, tuple[RunStatus, RunStatus]] = {
    State.PLANNED: (RunStatus.PLANNED, RunStatus.NOT_STARTED),
    CLAIMED: (RunStatus.WAITING, RunStatus.WAITING),
    State.SENDING: (RunStatus.WAITING, RunStatus.WAITING),
    State.ACCEPTED: (RunStatus.WAITING, RunStatus.WAITING),
    COMPLETED: (RunStatus.COMPLETED, RunStatus.RUNNING),  # To a sweep it is completed once its files are here.
    State.STORED: (RunStatus.COMPLETED, RunStatus.COMPLETED),
    State.REJECTED: (RunStatus.REJECTED, RunStatus.FAILED),
    State.CANCELLED: (RunStatus.CANCELLED, RunStatus.CANCELLED),
    State.FAILED: (RunStatus.FAILED, RunStatus.FAILED),
    EXPIRED: (RunStatus.EXPIRED, RunStatus.UNFINISHED),
    State.UNCERTAIN: (RunStatus.UNCERTAIN, RunStatus.UNCERTAIN),
}
"""The status of a run in the library, and in a sweep, for each stage in the ledger."""
_UNKNOWN = (RunStatus.UNCERTAIN, RunStatus.UNCERTAIN)


def get_library_status(stage: str) -> str:
    """The status of a run in the library; a stage that only a later version knows is uncertain.

    >>> get_library_status("stored"), get_library_status("from the future")
    ('completed', 'uncertain')
    """
    return STATUSES_BY_STAGE.get(stage, _UNKNOWN)[0].value


def get_sweep_status(stage: str) -> str:
    """The status of a run in a sweep.

    >>> get_sweep_status("planned"), get_sweep_status("expired")
    ('not started', 'unfinished')
    """
    return STATUSES_BY_STAGE.get(stage, _UNKNOWN)[1].value


def get_end_status(failure: ReelbookError | None) -> str:
    """The status of an ended run.

    >>> get_end_status(None), get_end_status(ReelbookError("The disk is full."))
    ('completed', 'unfinished')
    """
    if failure is None:
        return RunStatus.COMPLETED.value
    # A failure on the client's side, such as of a download, is no failure of the run, which is paid for.
    ends = {RunCancelled: RunStatus.CANCELLED, RunFailed: RunStatus.FAILED, UncertainRun: RunStatus.UNCERTAIN}
    return ends.get(type(failure), RunStatus.UNFINISHED).value
