"""Lanes of workers: one loop for each, whether it is a process, a process with weights on a device, or a GPU of a cluster."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from reelbook.models import pricing
from reelbook.models.base import Input
from reelbook.models.pricing import Estimate

from .accounts import Account, may_be_unchecked
from .dask_cluster import Cluster, DaskWorker
from .lanes import DASK, DEVICES, LOCAL, Lane
from .queue import Request, cancellation_error
from .refusals import Refusal
from .weights.config import Weights
from .worker import failed
from .worker_process import WorkerProcess, WorkerRules

if TYPE_CHECKING:
    from .core import Service

GIVE_WAY_SECONDS = 0.05
"""How long a request waits for a running worker that ends its last one, before another worker is started for it."""

Worker: TypeAlias = WorkerProcess | DaskWorker

log = logging.getLogger("reelbook_service")


@dataclass(frozen=True, slots=True)
class DeviceGroup:
    """Devices with the same models, which share one waiting line."""

    devices: tuple[str, ...]
    rows: tuple[Weights, ...]
    max_loaded: int = 1
    """How many folders of weights each device holds at once."""
    keep_warm_seconds: float | None = None
    """How long a worker without runs keeps its weights; None for ever."""

    @property
    def lane(self) -> str:
        """The name of the lane."""
        return DEVICES + "+".join(self.devices)

    @property
    def is_cluster(self) -> bool:
        """Whether its devices are the GPUs of a Dask cluster."""
        return self.devices[0].startswith(DASK)

    @property
    def label(self) -> str:
        """What pages say of it: whoever reaches a scheduler can run programs there, so its address is for the owner alone."""
        return f"{DEVICES}dask" if self.is_cluster else self.lane

    def rules(self, device: str) -> WorkerRules:
        """The rules of the worker of a device."""
        # The process sees one device only, which is the first one there.
        seen = "cpu" if device == "cpu" or device.endswith("/cpu") else "cuda:0"
        rows = [row.model_dump(mode="json") for row in self.rows]
        weights = {"weights": rows, "device": seen, "max_loaded": self.max_loaded}
        return WorkerRules.of_device(device, weights, self.keep_warm_seconds)


class WorkerLane(Lane):
    """Works on the runs of some models, with a slot for each of its workers."""

    def __init__(self, service: Service, group: DeviceGroup | None = None) -> None:
        """`group`: the weights that the workers load; none for workers on the CPU."""
        super().__init__(service, LOCAL if group is None else group.lane)
        self.workers: Sequence[Worker] = ()
        self._queue, self._settings = service.queue, service.settings
        self._busy: dict[str, Worker] = {}
        self._group = group
        self._cluster = Cluster(group.devices[0]) if group is not None and group.is_cluster else None
        self._rows = {} if group is None else {row.endpoint_id: row for row in group.rows}
        self._loading = 1
        """How many workers are still loading ahead."""
        self._ready: set[str] = set()
        self._reasons: dict[str, str] = {}

    def start(self) -> None:
        """Start to process requests."""
        self._tasks = [asyncio.create_task(self._start())]

    async def stop(self) -> None:
        """Stop processing requests and end the workers; unfinished runs start again with the next service."""
        await super().stop()
        if self._cluster is not None:
            await self._cluster.close()

    async def cancel(self, request: Request) -> bool:
        """Cancel a request that a worker is processing."""
        worker = self._busy.get(request.id)
        if worker:
            worker.cancel(request.id)
        return True

    def states(self) -> Mapping[str, Mapping[str, str]]:
        """Of each model with weights: loading until a worker is ready, failed once none can load them."""
        return {model: self._state(model) for model in self._rows}

    def _state(self, model: str) -> dict[str, str]:
        if model in self._ready or model not in self._rows:
            return {"state": "ready"}
        return {"state": "loading"} if self._loading else {"state": "failed", "reason": self._reasons[model]}

    def _find_failure(self, model: str) -> str:
        """Why nobody can run a model, as a sentence; empty if somebody can."""
        reason = self._state(model).get("reason")
        return f"The weights of {model} could not be loaded when the service was started: {reason}" if reason else ""

    async def estimate(self, request: Input, account: Account) -> Estimate:
        """The price of a run, which is the amount that will be charged; refused where its weights cannot be loaded."""
        if failure := self._find_failure(request.endpoint_id):
            raise Refusal("unavailable", failure)
        price = pricing.estimate(request, self._settings.rates)
        return Estimate(price.credits, price.breakdown, price.rate_card, "exact")

    @property
    def pids(self) -> dict[str, int]:
        """The process id of the worker of each request."""
        return {request_id: worker.pid for request_id, worker in self._busy.items() if worker.pid is not None}

    async def _start(self) -> None:
        settings, group = self._settings, self._group
        if group is None:
            self.workers = [WorkerProcess(settings, WorkerRules()) for _ in range(settings.workers)]
        elif self._cluster is not None:
            self.workers = await self._cluster.find_workers(settings, group.rules(group.devices[0]))
        else:
            self.workers = [WorkerProcess(settings, group.rules(device)) for device in group.devices]
        self._loading = len(self.workers)
        self._tasks += [asyncio.create_task(self._serve(worker)) for worker in self.workers]

    async def _serve(self, worker: Worker) -> None:
        """One slot: load ahead, then process requests one after another."""
        try:
            is_useful = await self._load_ahead(worker)
            if not is_useful:
                await worker.end()  # It holds memory of the device, and runs nothing.
            self._loading -= 1
            if not is_useful and (self._ready or self._loading):
                return  # Another worker serves these models, or says that none can.
            request: Request | None = None
            while True:
                request = await self._next(worker, request)
                await self._handle(worker, request)
        finally:
            await worker.end()

    async def _load_ahead(self, worker: Worker) -> bool:
        """Load as many models as the worker holds; the others are loaded with their first run. False if it can run none."""
        folders: set[object] = set()
        is_useful = not self._rows
        for model, row in self._rows.items():
            if row.folder in folders or self._group is None or len(folders) < self._group.max_loaded:
                if reason := await self._load(worker, model):
                    self._reasons[model] = reason
                    log.error("The weights of %s cannot be loaded: %s", model, reason)
                    continue
                folders.add(row.folder)
            self._ready.add(model)
            is_useful = True
        return is_useful

    @staticmethod
    async def _load(worker: Worker, model: str) -> str | None:
        """None once the weights of a model are loaded, or the reason why they cannot be."""
        for _ in range(2):  # It may die over it once, for example because another program took the memory.
            try:
                outcome = await worker.perform({"load": model})
            except Exception as error:  # For example a process that cannot be started.
                return f"Its worker cannot be started ({error})."
            if outcome is not None:
                return str(outcome["failed"]["detail"]) if "failed" in outcome else None
        return f"{worker.reason_of_end} while it was loading."

    async def _next(self, worker: Worker, last: Request | None) -> Request:
        """The next request, if possible one that needs the weights of the last one."""

        def prefer(request: Request) -> bool:
            return last is None or self._folder_of(request) == self._folder_of(last)

        while True:
            if not worker.alive:
                await self._queue.wait_for_request(self.name)
                if any(other.alive for other in self.workers):
                    # It may take the request soon, and starting another worker takes longer than a short run.
                    await asyncio.sleep(GIVE_WAY_SECONDS)
                    if not self._queue.count_waiting(self.name):
                        continue
            try:
                async with asyncio.timeout(worker.rules.idle_seconds if worker.alive else None):
                    return await self._queue.pop_next(self.name, prefer)
            except TimeoutError:
                await worker.end()

    def _folder_of(self, request: Request) -> object:
        row = self._rows.get(request.endpoint_id)
        return row and row.folder

    async def _handle(self, worker: Worker, request: Request) -> None:
        folder = self._folder / request.id
        self._busy[request.id] = worker
        try:
            outcome: dict[str, Any] | None = None
            if failure := self._find_failure(request.endpoint_id):
                outcome = failed("engine_error", f"{failure} Nothing was charged.")
            elif not request.cancelling:
                outcome = await self._perform(worker, request, folder)
            if request.cancelling:
                # Even if the run ended just before it was cancelled: a cancelled run is not charged.
                outcome = {"failed": cancellation_error()}
            if outcome is None and request.attempts >= worker.rules.attempts:
                outcome = failed(
                    "engine_error",
                    f"{worker.reason_of_end} {request.attempts} times over this run. Nothing was charged; change the input, "
                    "or tell the people who run the service.",
                )
            if outcome is None:
                self._queue.requeue(request, worker.reason_of_end)
            else:
                await self._service.results.end(request, outcome, folder)
        finally:
            self._busy.pop(request.id, None)
            shutil.rmtree(folder, ignore_errors=True)

    async def _perform(self, worker: Worker, request: Request, folder: Path) -> dict[str, Any] | None:
        """The outcome of the run; None if its worker broke off."""
        try:
            values = await self._queue.read_input(request)
            order = {
                "id": request.id,
                "endpoint": request.endpoint_id,
                "input": values,
                "seed": seed_of(request, values),
                "folder": str(folder),
                "local": self._find_local_paths(values, request.account),
                "may_be_unchecked": await self._service.store.run(partial(may_be_unchecked, name=request.account)),
            }
            outcome = await worker.perform(order, request)
        except Exception:
            # For example a process that cannot be started; this slot of the lane must survive it.
            log.exception("The run %s broke off in the service", request.id)
            await worker.end()
            return None
        return None if outcome is None else {**outcome, "inline": values.get("sync_mode", False)}

    def _find_local_paths(self, input: Any, account: str) -> dict[str, str]:
        """Local paths of the addresses in an input that are files of this service."""
        paths: dict[str, str] = {}
        for value in input.values() if isinstance(input, dict) else input:
            if isinstance(value, str):
                path = self._service.files.find_local_path(value, account)
                paths |= {value: str(path)} if path else {}
            elif isinstance(value, (dict, list)):
                paths |= self._find_local_paths(value, account)
        return paths


def seed_of(request: Request, values: Mapping[str, Any]) -> int:
    """The input's seed; without one, a seed derived from the request's id, so that a retry gives the same result."""
    seed = values.get("seed")
    return int.from_bytes(hashlib.sha256(request.id.encode()).digest()[:4]) if seed is None else int(seed)
