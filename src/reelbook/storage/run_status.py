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


STATUSES_BY_STAGE: Mapping[str, tuple[RunStatus, RunStatus]] = {
    State.STORED: (RunStatus.COMPLETED, RunStatus.COMPLETED),
    COMPLETED: (RunStatus.COMPLETED, RunStatus.RUNNING),  # To a sweep it is completed once its files are here.
    State.FAILED: (RunStatus.FAILED, RunStatus.FAILED),
    State.CANCELLED: (RunStatus.CANCELLED, RunStatus.CANCELLED),
    State.UNCERTAIN: (RunStatus.UNCERTAIN, RunStatus.UNCERTAIN),
    State.REJECTED: (RunStatus.REJECTED, RunStatus.FAILED),
    EXPIRED: (RunStatus.EXPIRED, RunStatus.UNFINISHED),
    **dict.fromkeys((CLAIMED, State.SENDING, State.ACCEPTED), (RunStatus.WAITING, RunStatus.WAITING)),
    State.PLANNED: (RunStatus.PLANNED, RunStatus.NOT_STARTED),
}
"""The status of a run in the library, and in a sweep, for each stage in the ledger."""
LIBRARY_STATUSES = tuple(dict.fromkeys(status.value for status, _ in STATUSES_BY_STAGE.values()))
"""All values of the column `status` in the library's table."""
SWEEP_STATUSES = tuple(
    status.value for status in RunStatus if status not in (RunStatus.REJECTED, RunStatus.EXPIRED, RunStatus.PLANNED)
)
"""All values of the column `status` in a sweep's table. The last two occur only while the sweep is active."""
WITHOUT_RESULT = (RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.UNFINISHED, RunStatus.UNCERTAIN)
"""Statuses of runs that have ended without a result."""
ENDED = (RunStatus.COMPLETED, *WITHOUT_RESULT)


def get_library_status(stage: str) -> str:
    """The status of a run in the library."""
    return STATUSES_BY_STAGE[stage][0].value


def get_sweep_status(stage: str) -> str:
    """The status of a run in a sweep."""
    return STATUSES_BY_STAGE[stage][1].value


def get_end_status(failure: ReelbookError | None) -> str:
    """The status of an ended run. A failure on the client's side, such as of a download, is no failure of the run."""
    if failure is None:
        return RunStatus.COMPLETED.value
    ends = {RunCancelled: RunStatus.CANCELLED, RunFailed: RunStatus.FAILED, UncertainRun: RunStatus.UNCERTAIN}
    return ends.get(type(failure), RunStatus.UNFINISHED).value
