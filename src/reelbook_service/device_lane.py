"""A lane of devices of this machine: each has one worker, which holds the weights of some models."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reelbook.models.base import Input
from reelbook.models.pricing import Estimate

from .accounts import Account
from .lanes import DEVICES, ModelState
from .queued_request import Request
from .refusals import Refusal
from .weights.config import LtxWeights, WanWeights
from .worker_pool import Worker, WorkerPool
from .worker_rules import WorkerRules

if TYPE_CHECKING:
    from .core import Service

RUN_SECONDS = LOAD_SECONDS = 3600.0
CANCEL_SECONDS = 30.0
"""Killing a worker throws a loaded model away, so that a cancelled run has time to end."""
ATTEMPTS = 2
MAX_LOAD_ATTEMPTS = 2
"""How many workers may die while they load ahead."""

log = logging.getLogger("reelbook_service")


@dataclass(frozen=True, slots=True)
class DeviceGroup:
    """Devices with the same models, which share one waiting line."""

    devices: tuple[str, ...]
    rows: tuple[LtxWeights | WanWeights, ...]
    max_loaded: int = 1
    """How many folders of weights each device holds at once."""
    keep_warm_seconds: float | None = None
    """How long a worker without runs keeps its weights; None for ever."""
    engine_module: str | None = None
    """Another module than that of the real weights, for tests."""

    @property
    def lane(self) -> str:
        """The name of the lane."""
        return DEVICES + "+".join(self.devices)

    def rules(self, device: str) -> WorkerRules:
        """The rules of the worker of a device."""
        # The process sees one device only, which is the first one there.
        seen = "cpu" if device == "cpu" or device.endswith("/cpu") else "cuda:0"
        message: dict[str, Any] = {"weights": [row.model_dump(mode="json") for row in self.rows], "device": seen}
        message |= {"max_loaded": self.max_loaded}
        if self.engine_module is not None:
            message["module"] = self.engine_module
        return WorkerRules(
            cancel_seconds=CANCEL_SECONDS,
            idle_seconds=self.keep_warm_seconds,
            run_seconds=RUN_SECONDS,
            load_seconds=LOAD_SECONDS,
            limits_memory=False,
            nice=0,
            attempts=ATTEMPTS,
            first_message=message,
            environment=_environment(device),
        )


class DeviceLane(WorkerPool):
    """Works on the runs of the models of some devices, whose weights are loaded in the background."""

    def __init__(self, service: Service, group: DeviceGroup) -> None:
        rules = [group.rules(device) for device in group.devices]
        super().__init__(
            service.settings, service.queue, service.files, service.accounts, service.results, group.lane, rules
        )
        self._group, self._rows = group, {row.endpoint_id: row for row in group.rows}
        self._loading = len(rules)
        """How many devices are still loading ahead."""
        self._ready: set[str] = set()
        self._reasons: dict[str, str] = {}

    def states(self) -> Mapping[str, ModelState]:
        """Loading until a device is ready; failed once none can load the weights."""
        return {model: self._state(model) for model in self._rows}

    def _state(self, model: str) -> ModelState:
        if model in self._ready:
            return ModelState("ready")
        return ModelState("loading") if self._loading else ModelState("failed", self._reasons.get(model, ""))

    async def estimate(self, request: Input, account: Account) -> Estimate:
        """The price of a run; refused where its weights cannot be loaded."""
        state = self._state(request.endpoint_id)
        if state.state == "failed":
            raise Refusal("unavailable", _format_failure(request.endpoint_id, state.reason))
        return await super().estimate(request, account)

    async def _serve(self, rules: WorkerRules) -> None:
        """One device: load ahead, then process requests one after another."""
        worker = self._make_worker(rules)
        try:
            loaded = await self._load_ahead(worker)
            if not loaded:
                await worker.end()  # It holds memory of the device, and runs nothing.
            self._loading -= 1
            if not loaded and (self._ready or self._loading):
                return  # Another device serves these models, or says that none can.
            last: Request | None = None
            while True:
                last = await self._next(worker, last)
                if self._state(last.endpoint_id).state == "failed":
                    await self._refuse(last)
                else:
                    await self._handle(worker, last)
        finally:
            await worker.end()

    def _make_worker(self, rules: WorkerRules) -> Worker:
        return Worker(self._settings, rules)

    async def _load_ahead(self, worker: Worker) -> bool:
        """Load as many models as the device holds; the others are loaded with their first run."""
        folders: list[object] = []
        failed: dict[str, str] = {}
        for model, row in self._rows.items():
            if row.folder not in folders and len(folders) == self._group.max_loaded:
                self._ready.add(model)
                continue
            reason = await self._load(worker, model)
            if reason is None:
                folders.append(row.folder)
                self._ready.add(model)
            else:
                failed[model] = reason
                log.error("The weights of %s cannot be loaded: %s", model, reason)
        self._reasons |= failed
        return len(failed) < len(self._rows)

    async def _load(self, worker: Worker, model: str) -> str | None:
        """None once the weights of a model are loaded, or the reason why they cannot be."""
        reason: str | None = None
        for _ in range(MAX_LOAD_ATTEMPTS):
            try:
                reason = await worker.load(model)
            except Exception as error:  # For example a process that cannot be started.
                reason = f"Its worker cannot be started ({error})."
            if reason is None or worker.alive:
                break
        return reason

    async def _next(self, worker: Worker, last: Request | None) -> Request:
        """The next request, if possible one that needs the weights and LoRAs of the last one."""
        needs = None if last is None else self._needs(last)

        def prefer(request: Request) -> bool:
            return needs is None or self._needs(request) == needs

        while True:
            try:
                async with asyncio.timeout(self._group.keep_warm_seconds if worker.alive else None):
                    return await self._queue.pop_next(self._lane, prefer)
            except TimeoutError:
                await worker.end()

    def _needs(self, request: Request) -> tuple[object, str]:
        return self._rows[request.endpoint_id].folder, request.loras

    async def _refuse(self, request: Request) -> None:
        detail = _format_failure(request.endpoint_id, self._state(request.endpoint_id).reason)
        failed = {"failed": {"error_type": "engine_error", "detail": f"{detail} Nothing was charged."}}
        await self._results.end(request, failed, self._folder / request.id)


def group_rows(
    rows: Sequence[LtxWeights | WanWeights], max_loaded: int = 1, keep_warm_seconds: float | None = None
) -> list[DeviceGroup]:
    """The groups of devices that these models need; models with the same devices share a group."""
    by_devices: dict[tuple[str, ...], list[LtxWeights | WanWeights]] = {}
    for row in rows:
        by_devices.setdefault(row.devices, []).append(row)
    return [DeviceGroup(devices, tuple(same), max_loaded, keep_warm_seconds) for devices, same in by_devices.items()]


def _format_failure(model: str, reason: str) -> str:
    return f"The weights of {model} could not be loaded when the service was started: {reason}"


def _environment(device: str) -> dict[str, str]:
    """Of a worker with weights: no library asks a network for anything, and the process sees one device."""
    threads = str(os.cpu_count() or 1)
    return {
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
        "DIFFUSERS_VERBOSITY": "error",
        "TRANSFORMERS_VERBOSITY": "error",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "CUDA_VISIBLE_DEVICES": _visible_device(device),
    }


def _visible_device(device: str) -> str:
    """The device for CUDA_VISIBLE_DEVICES: counted among those that the service itself sees; none for the CPU.

    None also for a device that the service does not see: another one of that number is not meant.
    """
    kind, _, number = device.partition(":")
    if kind != "cuda":
        return ""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return number
    names = [name.strip() for name in visible.split(",")]
    return names[int(number)] if int(number) < len(names) else ""
