"""The calls that following runs needs, as a protocol: `ServiceCalls` has them, and so has a test's pretended service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from ...models.queue_status import QueueStatus


class Nature(Protocol):
    """What a service says of itself."""

    @property
    def features(self) -> frozenset[str]: ...


class Calls(Protocol):
    """The calls that following needs."""

    async def nature(self) -> Nature: ...

    async def status(self, endpoint_id: str, request_id: str) -> QueueStatus: ...

    async def statuses(self, ids: Sequence[str]) -> dict[str, QueueStatus]: ...

    def stream(self, endpoint_id: str, request_id: str) -> AsyncIterator[QueueStatus]: ...
