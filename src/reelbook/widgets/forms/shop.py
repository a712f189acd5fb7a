"""What forms get from above, where the clients are."""

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
"""What the embedded service is called; nothing costs anything there."""


class Shop(Protocol):
    """Whoever has the clients. Everything that takes time is asked for in a thread."""

    def client_told(self) -> str:
        """The service in a few words; empty where nobody is connected."""

    def is_connected(self) -> bool:
        """Whether somebody is connected already. Nothing is connected only to show a form."""

    def estimate(self, request: Input) -> Estimate:
        """What it costs: exact where somebody is connected, else as the catalog has it."""

    def start(self, request: Input, take: int | None = None) -> Run:
        """Start a run, and connect if need be; returns as soon as the service has it."""

    def shelf_find(self, sha256: str) -> Path | None:
        """The file with this content, where the library has it."""

    def shelf_keep(self, content: bytes, suffix: str) -> None:
        """Put a picture into the library, where somebody is connected."""

    def library_frame(self) -> pd.DataFrame:
        """Every run that was ever made here, the newest last."""

    def plan(self, request: Input, axes: Mapping[str, Sequence[Any]]) -> Plan:
        """Every combination of the values, as a plan that can be started."""

    def model(self, endpoint_id: str) -> type[Input]:
        """The input class of any model."""

    def account(self) -> Mapping[str, Any]:
        """Credits and permissions, as the service tells them."""

    def features(self) -> frozenset[str]:
        """What the service offers beyond the specification."""

    def service_to_come(self) -> str:
        """Which service the first run would connect to, in a few words."""


def elsewhere(where: str) -> str:
    """Why nothing is sent where nobody has seen the price."""
    return f"This would run elsewhere now: {where}. Look at what it costs there, then press Run again."
