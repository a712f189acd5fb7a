"""The words for how a run stands: in the library's table, in a sweep's table and panel, and at the run itself.

The ledger has its own states (`State`), whose stages are finer. While a run is active, `Run.status` shows the service's own
`IN_QUEUE` and `IN_PROGRESS` instead.
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
    IMPOSSIBLE = "impossible"
    NOT_STARTED = "not started"
    WAITING = "waiting"
    RUNNING = "running"


STATUSES_BY_STAGE: Mapping[str, RunStatus] = {
    **dict.fromkeys((State.STORED, COMPLETED), RunStatus.COMPLETED),
    **dict.fromkeys((State.FAILED, State.REJECTED), RunStatus.FAILED),
    State.CANCELLED: RunStatus.CANCELLED,
    State.UNCERTAIN: RunStatus.UNCERTAIN,
    EXPIRED: RunStatus.UNFINISHED,
    **dict.fromkeys((CLAIMED, State.SENDING, State.ACCEPTED), RunStatus.WAITING),
    State.PLANNED: RunStatus.NOT_STARTED,
}
"""The status of a run for each stage in the ledger."""
STATUSES = tuple(status.value for status in RunStatus)
"""All values of the column `status`. The last two occur only while a run is active."""
WITHOUT_RESULT = (RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.UNFINISHED, RunStatus.UNCERTAIN)
"""Statuses of runs that have ended without a result."""
ENDED = (RunStatus.COMPLETED, *WITHOUT_RESULT)


def get_end_status(failure: ReelbookError | None) -> str:
    """The status of an ended run. A failure on the client's side, such as of a download, is no failure of the run."""
    if failure is None:
        return RunStatus.COMPLETED.value
    ends = {RunCancelled: RunStatus.CANCELLED, RunFailed: RunStatus.FAILED, UncertainRun: RunStatus.UNCERTAIN}
    return ends.get(type(failure), RunStatus.UNFINISHED).value
