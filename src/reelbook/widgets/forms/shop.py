"""The protocol of what forms need from a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pandas as pd

    from ...models.base import Input
    from ...models.pricing import Estimate
    from ...runs.run import Run
    from ...sweeps.plan.plan import Plan


EMBEDDED = "embedded service"
"""The name of the embedded service, where nothing has a cost."""


class Shop(Protocol):
    """What forms need from a session; slow methods are called in a thread."""

    def client_told(self) -> str:
        """The name of the service; empty if not connected."""

    def is_connected(self) -> bool:
        """Whether a client is connected; displaying a form does not connect."""

    def estimate(self, request: Input) -> Estimate:
        """The price: exact if connected, else from the catalog."""

    def start(self, request: Input, take: int | None = None) -> Run:
        """Start a run, connecting if required; returns once the service has accepted it."""

    def shelf_find(self, sha256: str) -> Path | None:
        """The file with this content; None if the library does not have it."""

    def shelf_keep(self, content: bytes, suffix: str) -> None:
        """Store a picture in the library, if connected."""

    def library_frame(self) -> pd.DataFrame:
        """All runs of the library, the newest last."""

    def plan(self, request: Input, axes: Mapping[str, Sequence[Any]]) -> Plan:
        """A plan of every combination of the values."""

    def model(self, endpoint_id: str) -> type[Input]:
        """The input class of a model."""

    def account(self) -> Mapping[str, Any]:
        """The credits and permissions of the account."""

    def features(self) -> frozenset[str]:
        """The features of the service beyond the specification."""

    def service_to_come(self) -> str:
        """The name of the service that the first run would connect to."""


def format_service_changed(where: str) -> str:
    """The message that the service has changed, so that its price was not displayed and nothing is sent."""
    return f"This would run elsewhere now: {where}. Look at what it costs there, then press Run again."
