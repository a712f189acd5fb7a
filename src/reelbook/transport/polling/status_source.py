"""The status of a request: from its status call, or from its result where the service refuses that call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from ...errors import NotReady, ReelbookError, ServiceError, TooManyRequests
from ...models.queue_status import COMPLETED, IN_PROGRESS, QueueStatus
from ..definite_refusal import is_about_the_account
from ..response_parsing import ServiceInfo, has_files
from ..service_calls import ServiceCalls


class StatusCalls(Protocol):
    """The calls of a service that polling needs; the tests have a service of their own."""

    async def service_info(self) -> ServiceInfo: ...

    async def status(self, endpoint_id: str, request_id: str) -> QueueStatus: ...

    async def statuses(self, ids: Sequence[str]) -> dict[str, QueueStatus]: ...

    def stream(self, endpoint_id: str, request_id: str) -> AsyncIterator[QueueStatus]: ...


class StatusSource:
    """The calls of a service that polling needs, with the result call as fallback where the status call is refused."""

    def __init__(self, calls: ServiceCalls) -> None:
        self._calls = calls

    @property
    def base_url(self) -> str:
        return self._calls.base_url

    async def service_info(self) -> ServiceInfo:
        return await self._calls.service_info()

    async def status(self, endpoint_id: str, request_id: str) -> QueueStatus:
        """The status of a request; derived from its result where the status call is refused."""
        try:
            return await self._calls.status(endpoint_id, request_id)
        except ServiceError as refused:
            if is_about_the_account(refused) or isinstance(refused, TooManyRequests):
                raise
            derived = await self._status_by_result(endpoint_id, request_id)
            if derived is None:
                raise
            return derived

    async def statuses(self, ids: Sequence[str]) -> dict[str, QueueStatus]:
        return await self._calls.statuses(ids)

    def stream(self, endpoint_id: str, request_id: str) -> AsyncIterator[QueueStatus]:
        return self._calls.stream(endpoint_id, request_id)

    async def _status_by_result(self, endpoint_id: str, request_id: str) -> QueueStatus | None:
        """Completed where there is a result, in progress where the service says that it is too early; else None."""
        try:
            output = await self._calls.result(endpoint_id, request_id)
        except NotReady as early:
            return None if early.foreign else QueueStatus(status=IN_PROGRESS, request_id=request_id)
        except ReelbookError:
            return None
        if not has_files(output.values()):
            return None
        return QueueStatus.model_validate({"status": COMPLETED, "request_id": request_id, "output": output})
