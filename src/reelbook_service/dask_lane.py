"""A lane of the workers of a Dask cluster, each of which has a GPU on its machine."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from .dask_cluster import cluster_address, count_workers
from .dask_worker import DaskWorker, RemoteProcess
from .device_lane import DeviceGroup, DeviceLane
from .queued_request import Request
from .worker_pool import Worker
from .worker_rules import WorkerRules

if TYPE_CHECKING:
    from .core import Service

log = logging.getLogger("reelbook_service")


class DaskLane(DeviceLane):
    """Works on the runs of the models of a cluster, one on each worker with a GPU that it has at the start."""

    def __init__(self, service: Service, group: DeviceGroup) -> None:
        super().__init__(service, group)
        self._address = cluster_address(group.devices[0])
        self._taken: dict[str, RemoteProcess] = {}
        """The workers of the cluster that are in use, by address."""

    def start(self) -> None:
        """Start to process requests, once it is known on how many workers."""
        self._tasks = [asyncio.create_task(self._start_all())]

    async def _start_all(self) -> None:
        try:
            self._loading = max(1, await count_workers(self._address))
        except Exception as error:
            # One goes on without, and says of each model why it cannot be loaded.
            log.warning("%s", error)
        self._tasks += [asyncio.create_task(self._serve(self._rules[0])) for _ in range(self._loading)]

    def _make_worker(self, rules: WorkerRules) -> Worker:
        return DaskWorker(self._settings, rules, self._address, self._taken)

    async def _next(self, worker: Worker, last: Request | None) -> Request:
        """The next request; without a worker, only where no other one can take it, because looking costs an attempt."""
        while isinstance(worker, DaskWorker) and worker.is_lost:
            try:
                await worker.find()
            except ConnectionError:
                if not any(remote.is_connected for remote in self._taken.values()):
                    break
        return await super()._next(worker, last)
