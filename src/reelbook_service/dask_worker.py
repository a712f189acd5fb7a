"""A worker of a Dask cluster, which runs one model after another on the GPU of its machine."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import uuid
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from reelbook._version import __version__

from .dask_cluster import CONNECT_SECONDS, LEAVE_SECONDS, RESOURCE, close, connect, gpu_workers
from .dask_remote import cancel_there, drop_there, run_there
from .worker_pool import MAX_LINE_BYTES, Worker
from .worker_rules import LOST_DEVICE

if TYPE_CHECKING:
    from .service_settings import Settings
    from .worker_rules import WorkerRules

REPLACE_SECONDS = 30.0
"""How long a worker of the cluster may take to come back, or another one to appear."""
_HERE_ONLY = ("CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""What the other machine decides about its processes."""

log = logging.getLogger("reelbook_service")


class DaskWorker(Worker):
    """The service's handle on one worker of a cluster, which another one replaces when it is lost."""

    def __init__(self, settings: Settings, rules: WorkerRules, address: str, taken: dict[str, RemoteProcess]) -> None:
        super().__init__(settings, rules)
        self._address, self._taken = address, taken
        self._unreachable = ""

    @property
    def _remote(self) -> RemoteProcess | None:
        return cast("RemoteProcess | None", self._process)

    @property
    def alive(self) -> bool:
        """Whether there is a worker, with the connection to it."""
        return super().alive and self._remote is not None and self._remote.is_connected

    @property
    def reason_of_end(self) -> str:
        """Why there is no worker, as the beginning of a sentence."""
        return self._unreachable or (self._remote and self._remote.reason) or "The Dask worker was lost"

    @property
    def is_lost(self) -> bool:
        """Whether there was a worker, or an attempt to find one, and there is none now."""
        return not self.alive and (self._process is not None or bool(self._unreachable))

    async def find(self) -> None:
        """Connect to a worker that no other slot has; raises `ConnectionError` where there is none."""
        self._unreachable = ""
        await self.end()
        try:
            remote = await open_remote(self._address, self._taken, self._rules)
        except ConnectionError as error:
            self._unreachable = str(error)
            raise
        # It has the parts of a process that are used here, so that patience and cancelling are the same.
        self._process = cast(asyncio.subprocess.Process, remote)

    async def _start(self) -> None:
        await self.find()


class RemoteProcess:
    """A worker of a cluster, with the parts of `asyncio.subprocess.Process` that `Worker` uses."""

    def __init__(self, client: Any, address: str, rules: WorkerRules, taken: dict[str, RemoteProcess]) -> None:
        self._client, self._address, self._rules, self._taken = client, address, rules, taken
        self._connection = client.scheduler_comm
        self._order_id = self._key = self.reason = ""
        self._names: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._run: asyncio.Task[None] | None = None
        self.pid: int | None = None
        self.returncode: int | None = None
        self.stdin, self.stdout = self, asyncio.StreamReader(limit=MAX_LINE_BYTES)
        taken[address] = self
        # The scheduler writes there that it has lost the worker.
        client.subscribe_topic(address, self._on_event)

    @property
    def is_connected(self) -> bool:
        """Whether the connection to the scheduler is still the first one; another one knows nothing of our runs."""
        return self._client.status == "running" and self._client.scheduler_comm is self._connection

    def write(self, line: bytes) -> None:
        """Take a message of the service: a run, a model to load, or a cancellation."""
        message = json.loads(line)
        if "id" in message or "load" in message:
            self._order_id, self._key = message.get("id", ""), f"reelbook-{uuid.uuid4().hex}"
            self._run = self._begin(self._execute(message, self._key))
        elif message.get("cancel") == self._order_id:
            self._begin(self._call(cancel_there, self._key))

    def kill(self) -> None:
        """Leave the worker, which drops its weights; in the middle of a run its process ends, and Dask starts it again."""
        self._end("The Dask worker was ended")

    async def wait(self) -> int:
        """Wait until the worker was left."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        return self.returncode or 0

    async def check(self) -> None:
        """Raise unless the worker answers."""
        async with asyncio.timeout(CONNECT_SECONDS):
            self.pid = (await self._client.run(os.getpid, workers=[self._address]))[self._address]
        if self.returncode is not None:
            raise ConnectionError

    async def _execute(self, order: Mapping[str, Any], key: str) -> None:
        client, there = self._client, [self._address]
        future = None
        try:
            client.subscribe_topic(key, lambda event: self._feed(event[1]))
            task = await asyncio.to_thread(self._pack, order)
            # Not as an argument, which Dask warns of from 10 MB on.
            [data] = await client.scatter([task], workers=there, hash=False)
            future = client.submit(
                run_there, data, key, key=key, workers=there, resources={RESOURCE: 1}, retries=0, pure=False
            )
            reply = await self._result(future, "load" in order)
            await asyncio.to_thread(_write_files, reply["files"], order.get("folder"))
            self._feed(reply["message"])
        except Exception:
            # Whatever it was, nothing is known of the run any more; it counts as an attempt.
            log.info("A run on the Dask worker %s broke off", self._address, exc_info=True)
            self._end(
                "The Dask worker was lost" if self.is_connected else "The connection to the Dask scheduler was lost"
            )
        finally:
            if future is not None:
                future.release()
            if self.returncode is None:
                client.unsubscribe_topic(key)

    async def _result(self, future: Any, is_loading: bool) -> dict[str, Any]:
        from distributed import KilledWorker

        try:
            return dict(await future)
        except Exception as error:
            if future.status != "error" or isinstance(error, KilledWorker):
                raise
            # No engine raises through its run: the machine lacks the package, or has another version of it.
            log.error("The Dask worker %s cannot run anything: %s", self._address, error)
            detail = f"The Dask worker cannot run it ({type(error).__name__}: {error})."
            failed = {"error_type": "engine_error", "detail": f"{detail} Nothing was charged."}
            return {"message": {"load_failed": detail} if is_loading else {"failed": failed}, "files": {}}

    def _pack(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """What the worker is sent: source files as bytes, and no address of ours, which has a token in it."""
        by_name = {f"file_{hashlib.sha256(one.encode()).hexdigest()[:32]}": one for one in order.get("local", {})}
        self._names, text = by_name, json.dumps(order.get("input"))
        for name, address in by_name.items():
            text = text.replace(json.dumps(address), json.dumps(name))
        return {
            "version": __version__,
            "weights": self._rules.first_message,
            "environment": {one: value for one, value in self._rules.environment.items() if one not in _HERE_ONLY},
            "order": {**order, "input": json.loads(text), "local": {}, "folder": ""},
            "files": {name: Path(order["local"][one]).read_bytes() for name, one in by_name.items()},
        }

    def _feed(self, message: Mapping[str, Any]) -> None:
        line = json.dumps(message)
        for name, address in self._names.items():
            line = line.replace(name, json.dumps(address)[1:-1])
        if self.returncode is None:
            self.stdout.feed_data(line.encode() + b"\n")

    def _on_event(self, event: tuple[float, Mapping[str, Any]]) -> None:
        if event[1].get("action") == "remove-worker":
            self._end("The Dask worker was lost", is_there=False)

    def _end(self, reason: str, is_there: bool = True) -> None:
        if self.returncode is None:
            self.returncode, self.reason = LOST_DEVICE, reason
            self._taken.pop(self._address, None)
            self.stdout.feed_eof()
            if self._run is not None and self._run is not asyncio.current_task():
                self._run.cancel()
            self._begin(self._leave(is_there and self.is_connected))

    async def _leave(self, is_there: bool) -> None:
        if is_there:
            await self._call(drop_there, self._key)
        await close(self._client)

    async def _call(self, function: Any, key: str) -> None:
        with contextlib.suppress(Exception):  # It may be gone, and says so elsewhere.
            async with asyncio.timeout(LEAVE_SECONDS):
                await self._client.run(function, key, workers=[self._address])

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def open_remote(address: str, taken: dict[str, RemoteProcess], rules: WorkerRules) -> RemoteProcess:
    """A worker of the cluster that no other slot has; raises `ConnectionError`."""
    client = await connect(address)
    try:
        async with asyncio.timeout(REPLACE_SECONDS):
            while True:
                for one in await gpu_workers(client):
                    if one in taken:
                        continue
                    remote = RemoteProcess(client, one, rules, taken)
                    try:
                        await remote.check()
                        return remote
                    except Exception:
                        # It went away just now, and with it what was to be closed.
                        taken.pop(one, None)
                        client.unsubscribe_topic(one)
                await asyncio.sleep(0.5)
    except TimeoutError:
        await close(client)
        log.warning("The Dask scheduler %s has no free worker with the resource %s", address, RESOURCE)
        raise ConnectionError(f"The Dask cluster has no free worker with the resource {RESOURCE}") from None
    except BaseException as error:
        await close(client)
        if isinstance(error, Exception):
            raise ConnectionError("The connection to the Dask scheduler was lost") from error
        raise


def _write_files(files: Mapping[str, bytes], folder: str | None) -> None:
    for name, content in files.items():
        path = Path(folder or ".") / Path(name).name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
