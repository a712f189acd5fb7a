"""What runs are made on: the CPU, devices with real weights, or a cluster; the rules of their workers, and their lanes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .lanes import DASK, DEVICES
from .weights.config import LtxWeights, WanWeights
from .worker_process import WorkerProcess, WorkerRules
from .workers import WorkerLane

if TYPE_CHECKING:
    from .core import Service

RUN_SECONDS = LOAD_SECONDS = 3600.0
CANCEL_SECONDS = 30.0
"""Killing a worker throws a loaded model away, so that a cancelled run has time to end."""
ATTEMPTS = 2


@dataclass(frozen=True, slots=True)
class DeviceGroup:
    """Devices with the same models, which share one waiting line."""

    devices: tuple[str, ...]
    rows: tuple[LtxWeights | WanWeights, ...]
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

    def rules(self, device: str) -> WorkerRules:
        """The rules of the worker of a device."""
        # The process sees one device only, which is the first one there.
        seen = "cpu" if device == "cpu" or device.endswith("/cpu") else "cuda:0"
        message: dict[str, Any] = {"weights": [row.model_dump(mode="json") for row in self.rows], "device": seen}
        message |= {"max_loaded": self.max_loaded}
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


def make_cpu_lane(service: Service) -> WorkerLane:
    """The lane of the engines that come with the service, with as many processes as its settings say."""

    async def make_workers() -> list[WorkerProcess]:
        return [WorkerProcess(service.settings, WorkerRules()) for _ in range(service.settings.workers)]

    return WorkerLane(service, make_workers)


def make_device_lane(group: DeviceGroup, service: Service) -> WorkerLane:
    """The lane of a group, whose weights are loaded in the background."""
    if group.is_cluster:
        from .dask_cluster import Cluster

        cluster, rules = Cluster(group.devices[0]), group.rules(group.devices[0])
        return WorkerLane(service, lambda: cluster.find_workers(service.settings, rules), group, cluster.close)

    async def make_workers() -> list[WorkerProcess]:
        return [WorkerProcess(service.settings, group.rules(device)) for device in group.devices]

    return WorkerLane(service, make_workers, group)


def group_rows(
    rows: Sequence[LtxWeights | WanWeights], max_loaded: int = 1, keep_warm_seconds: float | None = None
) -> list[DeviceGroup]:
    """The groups of devices that these models need; models with the same devices share a group."""
    by_devices: dict[tuple[str, ...], list[LtxWeights | WanWeights]] = {}
    for row in rows:
        by_devices.setdefault(row.devices, []).append(row)
    return [DeviceGroup(devices, tuple(same), max_loaded, keep_warm_seconds) for devices, same in by_devices.items()]


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
