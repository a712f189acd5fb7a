"""Lanes of workers: slots that take turns at one queue, each with a process here or a GPU of a cluster.

`worker.py` is what such a process does.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import shutil
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from reelbook.models import catalog
from reelbook.models.base import Input
from reelbook.models.catalog import Estimate
from reelbook.util.printable import map_texts

from . import spec_decisions
from .accounts import Account, may_be_unchecked
from .dask_cluster import DaskWorker, count_workers
from .lanes import DASK, DEVICES, LOCAL, Lane
from .queue import Request, cancellation_error
from .service_settings import Settings
from .weights.config import Weights
from .worker import LOST_DEVICE, OFFLINE, Emit, failed

if TYPE_CHECKING:
    from .core import Service

IDLE_SECONDS = 120.0
"""How long a worker on the CPU is kept without runs."""
GIVE_WAY_SECONDS = 0.05
"""How long a request waits for a running worker that ends its last one, before another worker is started for it."""
CANCEL_SECONDS = 0.8
"""How long a cancelled run may take to end before its worker is killed."""
DEVICE_SECONDS = 3600.0
"""The time limit of loading weights, and that of the run after it."""
DEVICE_CANCEL_SECONDS = 30.0
"""Longer than on the CPU, because killing the worker throws a loaded model away."""
DEVICE_ATTEMPTS = 2
MAX_LINE_BYTES = 64 * spec_decisions.MIB

Worker: TypeAlias = "WorkerProcess | DaskWorker"

log = logging.getLogger("reelbook_service")


@dataclass(frozen=True, slots=True)
class DeviceGroup:
    """Devices with the same models, which share one waiting line."""

    devices: tuple[str, ...]
    rows: tuple[Weights, ...]

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

    def weights_on(self, device: str) -> dict[str, Any]:
        """What the worker of a device has to load."""
        # The process sees one device only, which is the first one there.
        seen = "cpu" if device == "cpu" or device.endswith("/cpu") else "cuda:0"
        rows = [row.model_dump(mode="json") for row in self.rows]
        return {"weights": rows, "device": seen}


class WorkerLane(Lane):
    """Works on the runs of some models, with a slot for each of its workers."""

    def __init__(self, service: Service, group: DeviceGroup | None = None) -> None:
        """`group`: the weights that the workers load; none for workers on the CPU."""
        super().__init__(service, LOCAL if group is None else group.lane)
        self.workers: list[Worker] = []
        self._queue, self._settings = service.queue, service.settings
        self._busy: dict[str, tuple[Worker, asyncio.Timeout]] = {}
        """The worker of each request, and when it is stopped."""
        self._group = group
        self._folders = {} if group is None else {row.endpoint_id: row.folder for row in group.rows}
        self._seconds = self._settings.run_seconds if group is None else DEVICE_SECONDS

    def start(self) -> None:
        """Start to process requests."""
        self._tasks = [asyncio.create_task(self._start())]

    async def cancel(self, request: Request) -> bool:
        """Request that a run stops between two frames; a worker that does not react is killed."""
        if request.id in self._busy:
            worker, limit = self._busy[request.id]
            worker.cancel(request.id)
            seconds = CANCEL_SECONDS if self._group is None else DEVICE_CANCEL_SECONDS
            soon = asyncio.get_running_loop().time() + seconds
            with contextlib.suppress(RuntimeError):  # Its time has come in this very moment.
                limit.reschedule(min(soon, limit.when() or soon))  # A second request wins no time.
        return True

    async def estimate(self, request: Input, account: Account) -> Estimate:
        """The price of a run, which is the amount that will be charged."""
        price = catalog.estimate(request, self._settings.rates)
        return Estimate(price.credits, price.breakdown, price.rate_card, "exact")

    @property
    def pids(self) -> dict[str, int]:
        """The process id of the worker of each request."""
        return {request_id: worker.pid for request_id, (worker, _) in self._busy.items() if worker.pid is not None}

    async def _start(self) -> None:
        settings, group = self._settings, self._group
        if group is None:
            self.workers = [WorkerProcess(settings) for _ in range(settings.workers)]
        elif group.is_cluster:
            device, count = group.devices[0], 1
            with contextlib.suppress(Exception):  # Without an answer, one says with each run that there is none.
                count = max(1, await count_workers(device))
            self.workers = [DaskWorker(device, group.weights_on(device)) for _ in range(count)]
        else:
            self.workers = [WorkerProcess(settings, device, group.weights_on(device)) for device in group.devices]
        self._tasks += [asyncio.create_task(self._serve(worker)) for worker in self.workers]

    async def _serve(self, worker: Worker) -> None:
        """One slot: load ahead, then process requests one after another."""
        try:
            if not await self._load_ahead(worker):
                await worker.end()  # It holds memory of the device for nothing.
                if len(self.workers) > 1:
                    self.workers.remove(worker)
                    return  # The others serve these models; the last one says with each run why it cannot be made.
            request: Request | None = None
            while True:
                request = await self._next(worker, request)
                try:
                    await self._handle(worker, request)
                except Exception:
                    # The next start takes it up again; this slot must survive it. A process that ends has no threads left, and that is no fault.
                    if threading.main_thread().is_alive():
                        log.exception("The run %s broke off in the service", request.id)
        finally:
            await worker.end()

    async def _load_ahead(self, worker: Worker) -> bool:
        """Load the models of one folder; the others are loaded with their first run. False if the worker can run none."""
        if self._group is None:
            return True
        is_useful = False
        for row in self._group.rows:
            if row.folder == self._group.rows[0].folder:
                outcome = await self._order(worker, {"load": row.endpoint_id})
                is_useful = is_useful or (outcome is not None and "done" in outcome)
                if outcome is None or "failed" in outcome:
                    log.error(
                        "The weights of %s could not be loaded: %s", row.endpoint_id, outcome or worker.reason_of_end
                    )
        return is_useful

    async def _next(self, worker: Worker, last: Request | None) -> Request:
        """The next request, if possible one that needs the weights of the last one."""

        def prefer(request: Request) -> bool:
            return last is None or self._folders.get(request.endpoint_id) == self._folders.get(last.endpoint_id)

        waiting = self._queue.waiting[self.name]
        idle_seconds = IDLE_SECONDS if self._group is None else None
        while True:
            if not worker.alive:
                await waiting.wait()
                if any(other.alive for other in self.workers):
                    # It may take the request soon, and starting another worker takes longer than a short run.
                    await asyncio.sleep(GIVE_WAY_SECONDS)
                    if not waiting:
                        continue
            try:
                async with asyncio.timeout(idle_seconds if worker.alive else None):
                    return await self._queue.pop_next(self.name, prefer)
            except TimeoutError:
                await worker.end()

    async def _handle(self, worker: Worker, request: Request) -> None:
        folder = self._folder / request.id
        try:
            outcome = await self._perform(worker, request, folder)
            if outcome is None:
                self._queue.requeue(request, worker.reason_of_end)
            else:
                await self._service.results.end(request, outcome, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    async def _perform(self, worker: Worker, request: Request, folder: Path) -> dict[str, Any] | None:
        """How a run ends; None if its worker broke off and another one is to begin again."""
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
        outcome = None if request.cancelling else await self._order(worker, order, request)
        if request.cancelling:
            # Even if the run ended just before it was cancelled: a cancelled run is not charged.
            return {"failed": cancellation_error()}
        if outcome is not None:
            return {**outcome, "inline": values.get("sync_mode", False)}
        if request.attempts >= (spec_decisions.MAX_ATTEMPTS if self._group is None else DEVICE_ATTEMPTS):
            words = f"{worker.reason_of_end} {request.attempts} times over this run. Nothing was charged. It may need more memory than there is: make it smaller, or tell the people who run the service."
            return failed("engine_error", words)
        return None

    async def _order(
        self, worker: Worker, order: Mapping[str, Any], request: Request | None = None
    ) -> dict[str, Any] | None:
        """Let a worker execute a run, or load weights ahead of runs; None if it broke off."""
        try:
            async with asyncio.timeout(self._seconds) as limit:
                if request is None:
                    return await worker.perform(order, lambda message: None)
                self._busy[request.id] = worker, limit
                return await worker.perform(order, partial(self._hear, request, limit))
        except TimeoutError:
            await worker.end()
            words = (
                f"The run took longer than {self._seconds:g} s and was stopped. Nothing was charged; make it smaller."
            )
            return failed("engine_timeout", words)
        except Exception:
            # For example a process that cannot be started; this slot of the lane must survive it.
            log.exception("An order of the lane %s broke off", self.name)
            await worker.end()
            return None
        finally:
            if request is not None:
                self._busy.pop(request.id, None)

    def _hear(self, request: Request, limit: asyncio.Timeout, message: Mapping[str, Any]) -> None:
        """Note in a request what its worker says on the way; loading does not count for its time limit."""
        if "log" in message:
            request.log(self._settings.clock(), message["log"], message["level"])
        elif "stage" in message:
            request.stage, request.progress = message["stage"], max(request.progress, message["fraction"])
        elif "engine" in message:
            request.engine = message["engine"]
        elif "loaded" in message and not request.cancelling:
            limit.reschedule(asyncio.get_running_loop().time() + self._seconds)

    def _find_local_paths(self, values: Any, account: str) -> dict[str, str]:
        """Local paths of the addresses in an input that are files of this service."""
        paths: dict[str, str] = {}

        def note(text: str) -> str:
            if path := self._service.files.find_local_path(text, account):
                paths[text] = str(path)
            return text

        map_texts(values, note)
        return paths


class WorkerProcess:
    """A worker in a process of its own, which is started again where it has died."""

    def __init__(self, settings: Settings, device: str = "", weights: Mapping[str, Any] | None = None) -> None:
        """`weights`: what it loads on its device; None for a worker on the CPU, whose memory is limited."""
        self._settings, self._device, self._weights = settings, device, weights
        self._process: asyncio.subprocess.Process | None = None

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int | None:
        """The id of the process."""
        return self._process.pid if self._process is not None else None

    @property
    def reason_of_end(self) -> str:
        """Why the process is gone, as the beginning of a sentence."""
        is_lost = self._process is not None and self._process.returncode == LOST_DEVICE
        return "The device was lost" if is_lost else "The worker died"

    async def perform(self, order: Mapping[str, Any], hear: Emit) -> dict[str, Any] | None:
        """The outcome of an order, with what the process says on the way passed on; None if it died over it."""
        if not self.alive:
            await self._start()
        process = self._process
        assert process is not None
        assert process.stdout is not None
        self._send(order)
        # A last line without a newline was truncated by the end of the process.
        while (line := await process.stdout.readline()).endswith(b"\n"):
            message: dict[str, Any] = json.loads(line)
            if "done" in message or "failed" in message:
                return message
            hear(message)
        await process.wait()
        return None

    def cancel(self, request_id: str) -> None:
        """Request a stop between two frames."""
        if self.alive:
            self._send({"cancel": request_id})

    async def end(self) -> None:
        """End the process."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    async def _start(self) -> None:
        with (self._settings.data / "workers.log").open("ab") as errors:
            self._process = await asyncio.create_subprocess_exec(
                # With -P: a notebook's folder may have its own queue.py, which is no module of ours.
                sys.executable, "-P", "-m", "reelbook_service.worker",
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=errors,
                limit=MAX_LINE_BYTES, env=worker_environment(self._device, self._settings.lanes.is_secret), start_new_session=True,
            )  # fmt: skip
        self._send({"weights": self._weights, "memory_mib": None if self._weights else self._settings.worker_mib})

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError):  # A dead process is detected where its messages are read.
            self._process.stdin.write(json.dumps(message).encode() + b"\n")


def worker_environment(device: str = "", is_secret: Callable[[str], bool] = lambda value: False) -> dict[str, str]:
    """The environment of the worker of a device, or on the CPU: that of the service, without its keys and tokens."""
    # Proxies are for clients; a source must be fetched from the address that was checked.
    # A worker opens untrusted media, and does not need the key of a hosted service, nor the token of a hub.
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.lower().endswith(("_proxy", "_api_key", "_token")) and not is_secret(value)
    }
    if device:
        return {**inherited, **OFFLINE, **_thread_counts(os.cpu_count() or 1), "CUDA_VISIBLE_DEVICES": _visible(device)}
    # One thread per library: several workers share the cores already. Few malloc arenas: each can retain memory.
    # Two blocks of Pillow's: pictures of one run tend to have one size, and allocating new pages each time took a
    # tenth of the total time.
    return {**inherited, **_thread_counts(1), "MALLOC_ARENA_MAX": "2", "PILLOW_BLOCKS_MAX": "2"}


def _thread_counts(threads: int) -> dict[str, str]:
    return dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))


def _visible(device: str) -> str:
    """The device for CUDA_VISIBLE_DEVICES, counted among those that the service itself sees; none for the CPU or a hidden one."""
    kind, _, number = device.partition(":")
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if kind != "cuda" or visible is None:
        return number if kind == "cuda" else ""
    return dict(enumerate(visible.split(","))).get(int(number), "").strip()


def seed_of(request: Request, values: Mapping[str, Any]) -> int:
    """The input's seed; without one, a seed derived from the request's id, so that a retry gives the same result."""
    seed = values.get("seed")
    return int.from_bytes(hashlib.sha256(request.id.encode()).digest()[:4]) if seed is None else int(seed)
