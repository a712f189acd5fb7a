"""What plans get from above, where the clients and the pages are."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from .rows import Known

if TYPE_CHECKING:
    from .conduct import Client
    from .job import SweepJob
    from .plan import Plan


class House(Protocol):
    """Whoever has the clients."""

    def client(self) -> Client:
        """Whoever runs a plan if nobody is named."""

    def known(self, plan: Plan) -> Known | None:
        """Which rows the library has; None where nobody is connected."""

    def watching(self, job: SweepJob) -> AbstractContextManager[object]:
        """Shows a job while the block lasts."""
