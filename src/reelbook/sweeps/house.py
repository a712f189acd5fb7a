"""How a plan gets a client, ledger lookups and a panel."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from .plan.plan_rows import Known

if TYPE_CHECKING:
    from .execute.executor import Client
    from .execute.job import SweepJob
    from .plan.plan import Plan


class PlanServices(Protocol):
    """The services of plans, which `rb.sweep` hands over."""

    def client(self) -> Client:
        """The client that runs a plan if none is named."""

    def known(self, plan: Plan) -> Known | None:
        """The rows that the library has; None without a client."""

    def seconds(self, plan: Plan, known: Known | None) -> float | None:
        """The expected duration of the runs that are due; None if unknown."""

    def panel(self, job: SweepJob) -> object:
        """A panel with buttons, for display or a layout."""

    def is_watched(self) -> bool:
        """Whether a person is watching in a notebook."""

    def watching(self, job: SweepJob) -> AbstractContextManager[object]:
        """Display the progress of a job while the block lasts."""
