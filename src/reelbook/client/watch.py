"""Following a request to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ..models.queue import QueueStatus
from .service import ServiceCalls

FIRST_PAUSE, LONGEST_PAUSE, GROWTH = 0.05, 1.0, 1.3


async def follow(
    calls: ServiceCalls, endpoint_id: str, request_id: str, tell: Callable[[QueueStatus], None]
) -> QueueStatus:
    """The final status; each one on the way is told. Asks often at first, then less and less."""
    pause = FIRST_PAUSE
    while True:
        status = await calls.status(endpoint_id, request_id)
        tell(status)
        if status.finished:
            return status
        await asyncio.sleep(pause)
        pause = min(pause * GROWTH, LONGEST_PAUSE)
