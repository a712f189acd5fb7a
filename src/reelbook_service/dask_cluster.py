"""The GPUs of a Dask cluster as workers: the cluster decides which of its processes makes which run."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from reelbook._version import __version__

from .dask_remote import cancel_there, drop_there, run_there
from .lanes import DASK
from .queue import Request
from .service_settings import Settings
from .worker_process import WorkerRules, take_message, timed_out

RESOURCE = "GPU"
"""The resource with which a worker of the cluster is started, one for each process."""
CONNECT_SECONDS = LEAVE_SECONDS = 5.0
_HERE_ONLY = ("CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""What the other machine decides about its processes."""

log = logging.getLogger("reelbook_service")


class Cluster:
    """The connection to a scheduler, made when it is needed, and again where it was lost."""

    def __init__(self, device: str) -> None:
        self._address = device.removeprefix(DASK).removesuffix("/cpu")
        self._client: Any = None
        self._connecting = asyncio.Lock()

    async def client(self) -> Any:
        """The client; raises `ConnectionError` where the scheduler does not answer."""
        from distributed import Client

        async with self._connecting:
            if self._client is not None and self._client.status == "running":
                return self._client
            await self.close()
            self._client = Client(self._address, asynchronous=True, set_as_default=False, timeout=CONNECT_SECONDS)
            try:
                return await self._client
            except (OSError, TimeoutError):
                await self.close()
                # Not in the sentence, which students read: whoever reaches a scheduler can run programs there.
                log.warning("The Dask scheduler %s cannot be reached", self._address)
                raise ConnectionError("The Dask scheduler could not be reached") from None

    async def count_workers(self) -> int:
        """How many workers with a GPU there are."""
        client = await self.client()
        workers = (await client.scheduler.identity())["workers"].values()
        return sum(bool(facts["resources"].get(RESOURCE)) and facts["status"] == "running" for facts in workers)

    async def find_workers(self, settings: Settings, rules: WorkerRules) -> Sequence[DaskWorker]:
        """As many workers as the cluster has with a GPU now."""
        count = 1  # Without an answer, one goes on and says of each model why it cannot be loaded.
        with contextlib.suppress(Exception):
            count = max(1, await self.count_workers())
        return [DaskWorker(self, settings, rules) for _ in range(count)]

    async def call(self, function: Callable[..., None], *arguments: str, workers: list[str] | None = None) -> None:
        """Call a function in workers, as far as they are still there."""
        with contextlib.suppress(Exception):
            async with asyncio.timeout(LEAVE_SECONDS):
                client = await self.client()
                await client.run(function, *arguments, workers=workers, on_error="ignore")

    async def close(self) -> None:
        """Close the connection, whatever state it is in."""
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(Exception):
                async with asyncio.timeout(LEAVE_SECONDS):
                    await client.close()


async def count_workers(device: str) -> int:
    """How many workers with a GPU a cluster has; raises `ConnectionError`."""
    cluster = Cluster(device)
    try:
        return await cluster.count_workers()
    finally:
        await cluster.close()


class DaskWorker:
    """One run at a time in the cluster, wherever there is a GPU for it."""

    def __init__(self, cluster: Cluster, settings: Settings, rules: WorkerRules) -> None:
        self.rules = rules
        self._cluster, self._settings = cluster, settings
        self._key = self._where = self._reason = ""
        self._pid: int | None = None
        self._future: Any = None
        self._cancelling: asyncio.Task[None] | None = None

    @property
    def alive(self) -> bool:
        """Whether its last run had a process, which holds weights."""
        return bool(self._where)

    @property
    def pid(self) -> int | None:
        """The process of its run on the other machine."""
        return self._pid

    @property
    def reason_of_end(self) -> str:
        """Why the last run broke off, as the beginning of a sentence."""
        return self._reason

    async def perform(self, order: Mapping[str, Any], request: Request) -> dict[str, Any] | None:
        """Execute one run; None if it was lost."""
        # No address of ours leaves this machine: it has a token in it.
        names = {address: f"file_{number}" for number, address in enumerate(order["local"])}
        files = await asyncio.to_thread(
            lambda: {names[address]: Path(path).read_bytes() for address, path in order["local"].items()}
        )
        order_there = {**order, "input": _renamed(order["input"], names), "local": {}, "folder": ""}
        reply = await self._submit(order_there, files, request)
        if reply is None:
            return None
        await asyncio.to_thread(_write_files, reply["files"], Path(order["folder"]))
        return dict(reply["message"])

    async def load(self, endpoint_id: str) -> str | None:
        """Load the weights of a model in some worker; None, or the reason why they cannot be loaded."""
        reply = await self._submit({"load": endpoint_id}, {}, None)
        if reply is None:
            return f"{self._reason} while it was loading."
        failed = reply["message"].get("failed")
        return None if failed is None else str(failed["detail"])

    def cancel(self, request_id: str) -> None:
        """Request a stop between two steps."""
        self._cancelling = asyncio.create_task(self._cancel())

    async def _cancel(self) -> None:
        future = self._future
        # Everywhere: it may be about to begin on any of them.
        await self._cluster.call(cancel_there, self._key)
        if future is not None and not self._where:
            await future.cancel()

    async def end(self) -> None:
        """Drop the weights that its last run has loaded."""
        if self._where:
            await self._cluster.call(drop_there, workers=[self._where])
            self._where = ""

    async def _submit(
        self, order: Mapping[str, Any], files: Mapping[str, bytes], request: Request | None
    ) -> dict[str, Any] | None:
        """The reply of the cluster; None where the run is lost, with the reason set."""
        key = self._key = f"reelbook-{uuid.uuid4().hex}"
        self._where, self._pid, client = "", None, cast(Any, None)
        clock, now = self._settings.clock, asyncio.get_running_loop().time
        seconds = self.rules.run_seconds or self._settings.run_seconds
        limit = asyncio.timeout(self.rules.load_seconds)
        task = {
            "version": __version__,
            "weights": self.rules.first_message,
            "environment": {name: value for name, value in self.rules.environment.items() if name not in _HERE_ONLY},
            "order": dict(order),
            "files": dict(files),
        }

        def on_event(event: tuple[float, Mapping[str, Any]]) -> None:
            message = event[1]
            if "begin" in message:
                self._where, self._pid = message["begin"]["worker"], message["begin"]["pid"]
                # The scheduler writes there that it has lost the worker; it starts the run again on another one.
                client.subscribe_topic(self._where, on_worker)
            elif "loaded" in message:
                limit.reschedule(now() + seconds)  # Loading does not count.
            elif request is not None:
                take_message(request, message, clock())

        def on_worker(event: tuple[float, Mapping[str, Any]]) -> None:
            if event[1].get("action") == "remove-worker" and self._key == key and self._where:
                self._where, self._pid = "", None
                if request is not None:
                    request.stage, request.progress = "", 0.0
                    words = "The Dask worker was lost; the run starts again, free of charge."
                    request.log(clock(), words, "WARNING", "service")

        try:
            client = await self._cluster.client()
            client.subscribe_topic(key, on_event)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Pictures make it larger than Dask likes.
                self._future = client.submit(run_there, task, key, key=key, resources={RESOURCE: 1}, pure=False)
            if request is not None and request.cancelling:
                self.cancel(request.id)  # It was cancelled before there was a future.
            async with limit:
                return await _result_of(self._future)
        except TimeoutError:
            return {"message": timed_out(seconds), "files": {}}
        except Exception as error:
            log.info("A run in the Dask cluster broke off", exc_info=True)
            is_known = isinstance(error, ConnectionError)
            self._reason = str(error) if is_known else "The connection to the Dask scheduler was lost"
            return None
        finally:
            if self._future is not None and not self._future.done():
                await self._cancel()
            self._key, self._future = "", None
            if client is not None:
                with contextlib.suppress(Exception):  # The connection may be gone.
                    client.unsubscribe_topic(key)


async def _result_of(future: Any) -> dict[str, Any]:
    from distributed import KilledWorker

    try:
        return dict(await future)
    except KilledWorker:
        raise ConnectionError("The Dask workers that ran it were lost") from None
    except Exception as error:
        if future.status != "error":
            raise
        # No engine raises through its run: the machine lacks the package, or has another version of it.
        log.error("The Dask worker cannot run anything: %s", error)
        detail = f"The Dask worker cannot run it ({type(error).__name__}: {error}). Nothing was charged."
        return {"message": {"failed": {"error_type": "engine_error", "detail": detail}}, "files": {}}


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """The value with other names in place of these texts."""
    if isinstance(value, Mapping):
        return {key: _renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


def _write_files(files: Mapping[str, bytes], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / Path(name).name).write_bytes(content)
