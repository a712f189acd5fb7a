"""The calls that polling needs, as a protocol: `ServiceCalls` implements it, and so does the fake service of the tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from ...models.queue_status import QueueStatus


class ServiceInfo(Protocol):
    """What a service says about itself."""

    @property
    def features(self) -> frozenset[str]: ...


class StatusCalls(Protocol):
    """The calls of a service that polling needs."""

    async def service_info(self) -> ServiceInfo: ...

    async def status(self, endpoint_id: str, request_id: str) -> QueueStatus: ...

    async def statuses(self, ids: Sequence[str]) -> dict[str, QueueStatus]: ...

    def stream(self, endpoint_id: str, request_id: str) -> AsyncIterator[QueueStatus]: ...
