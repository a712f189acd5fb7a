"""A Dask cluster, seen from the service: its address, and its workers with a GPU."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any

from .lanes import DASK

RESOURCE = "GPU"
"""The resource with which a worker of the cluster is started, one for each process."""
CONNECT_SECONDS = LEAVE_SECONDS = 5.0

log = logging.getLogger("reelbook_service")


def cluster_address(device: str) -> str:
    """The address of the scheduler in the name of a device.

    >>> cluster_address("dask:tcp://10.0.0.5:8786/cpu")
    'tcp://10.0.0.5:8786'
    """
    return device.removeprefix(DASK).removesuffix("/cpu")


async def count_workers(address: str) -> int:
    """How many workers with a GPU a cluster has; raises `ConnectionError`."""
    client = await connect(address)
    try:
        return len(await gpu_workers(client))
    finally:
        await close(client)


async def connect(address: str) -> Any:
    """A client of the scheduler at an address; raises `ConnectionError`."""
    from distributed import Client

    client = Client(address, asynchronous=True, set_as_default=False, timeout=CONNECT_SECONDS)
    try:
        return await client
    except (OSError, TimeoutError):
        await close(client)
        # Not in the sentence, which students read: whoever reaches a scheduler can run programs there.
        log.warning("The Dask scheduler %s cannot be reached", address)
        raise ConnectionError("The Dask scheduler could not be reached") from None
    except BaseException:
        await close(client)
        raise


async def close(client: Any) -> None:
    """Close a client, whatever state it is in."""
    with contextlib.suppress(Exception):
        async with asyncio.timeout(LEAVE_SECONDS):
            await client.close()


async def gpu_workers(client: Any) -> list[str]:
    """The addresses of the workers with a GPU."""
    found = (await client.scheduler.identity())["workers"]
    return [one for one, facts in found.items() if facts["resources"].get(RESOURCE) and facts["status"] == "running"]
