"""What plans get from above, where the clients and the pages are."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from .plan.plan_rows import Known

if TYPE_CHECKING:
    from .execute.executor import Client
    from .execute.job import SweepJob
    from .plan.plan import Plan


class House(Protocol):
    """Whoever has the clients."""

    def client(self) -> Client:
        """Whoever runs a plan if nobody is named."""

    def known(self, plan: Plan) -> Known | None:
        """Which rows the library has; None where nobody is connected."""

    def seconds(self, plan: Plan, known: Known | None) -> float | None:
        """How long what is due may take; None where nobody can tell."""

    def panel(self, job: SweepJob) -> object:
        """A panel with buttons."""

    def is_looked_at(self) -> bool:
        """Whether somebody looks on, in a notebook."""

    def watching(self, job: SweepJob) -> AbstractContextManager[object]:
        """Shows a job while the block lasts."""
