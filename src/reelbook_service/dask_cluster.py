"""The GPUs of a Dask cluster as workers: the cluster decides which of its processes makes which run."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gc
import logging
import os
import tempfile
import uuid
import warnings
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, cast

from reelbook._version import __version__
from reelbook.util.printable import map_texts

from .lanes import DASK
from .worker import OFFLINE, Emit, Engines, run_order

RESOURCE = "GPU"
"""The resource with which a worker of the cluster is started, one for each process."""
CONNECT_SECONDS = LEAVE_SECONDS = 5.0

Reply: TypeAlias = tuple[dict[str, Any], dict[str, bytes]]
"""The message with the outcome of a run, and its files by name."""

log = logging.getLogger("reelbook_service")


@contextlib.asynccontextmanager
async def connect(device: str) -> AsyncIterator[Any]:
    """A client of the scheduler; raises `ConnectionError` where that does not answer."""
    from distributed import Client

    address = device.removeprefix(DASK).removesuffix("/cpu")
    client = Client(address, asynchronous=True, set_as_default=False, timeout=CONNECT_SECONDS)
    try:
        try:
            await client
        except (OSError, TimeoutError):
            # Not in the sentence, which students read: whoever reaches a scheduler can run programs there.
            log.warning("The Dask scheduler %s cannot be reached", address)
            raise ConnectionError("The Dask scheduler could not be reached") from None
        yield client
    finally:
        with contextlib.suppress(Exception):
            async with asyncio.timeout(LEAVE_SECONDS):
                await client.close()


async def count_workers(device: str) -> int:
    """How many workers with a GPU the cluster has."""
    async with connect(device) as client:
        workers = (await client.scheduler.identity())["workers"].values()
        return sum(bool(facts["resources"].get(RESOURCE)) and facts["status"] == "running" for facts in workers)


class DaskWorker:
    """One run at a time in the cluster, wherever there is a GPU for it."""

    alive = False
    """It has no process of its own: those of the cluster keep their weights until another service needs others."""

    def __init__(self, device: str, weights: Mapping[str, Any]) -> None:
        self.pid: int | None = None
        """The process of its run on the other machine."""
        self.reason_of_end = ""
        """Why the last run broke off, as the beginning of a sentence."""
        self._device, self._weights = device, weights
        self._future: Any = None
        self._cancelling: asyncio.Task[None] | None = None

    async def perform(self, order: Mapping[str, Any], hear: Emit) -> dict[str, Any] | None:
        """The outcome of an order, with what its process says on the way passed on; None if it was lost, with the reason set."""
        # No address of ours leaves this machine: it has a token in it.
        pictures = {
            address: await asyncio.to_thread(_data_uri, path) for address, path in order.get("local", {}).items()
        }
        values = map_texts(order.get("input"), lambda text: pictures.get(text, text))
        remote_order = {**order, "input": values, "local": {}, "folder": ""}
        task = {"version": __version__, "weights": self._weights, "order": remote_order}
        try:
            async with connect(self._device) as client:
                message, files = await self._submit(client, task, hear)
        except Exception as error:
            # No engine raises through its run: the connection or the worker was lost, or has another version of the package.
            log.warning("A run in the Dask cluster broke off", exc_info=True)
            is_known = isinstance(error, ConnectionError)
            self.reason_of_end = str(error) if is_known else "The Dask cluster broke off"
            return None
        if files:
            await asyncio.to_thread(_write_files, files, Path(order["folder"]))
        return message

    def cancel(self, request_id: str) -> None:
        """Request a stop between two steps."""
        self._cancelling = asyncio.create_task(self._cancel())

    async def _cancel(self) -> None:
        """Request it in all workers that are there: the run may be about to begin on any."""
        if (future := self._future) is not None:
            with contextlib.suppress(Exception):
                async with asyncio.timeout(LEAVE_SECONDS):
                    await future.client.run(cancel_there, future.key, on_error="ignore")
            if self.pid is None:
                await future.cancel()

    async def end(self) -> None:
        """There is nothing to end here."""

    async def _submit(self, client: Any, task: Mapping[str, Any], hear: Emit) -> Reply:
        """The reply of the cluster."""
        self.pid, key = None, f"reelbook-{uuid.uuid4().hex}"

        def on_event(event: tuple[float, dict[str, Any]]) -> None:
            message = event[1]
            if "begin" not in message:
                hear(message)
                return
            if self.pid is not None:
                hear({"log": "The Dask worker was lost; the run starts again, free of charge.", "level": "WARNING"})
            self.pid = message["begin"]

        client.subscribe_topic(key, on_event)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pictures make it larger than Dask likes.
            future = self._future = client.submit(run_there, task, key, key=key, resources={RESOURCE: 1}, pure=False)
        try:
            return cast(Reply, await future)
        finally:
            if not future.done():
                await self._cancel()
            self._future = None


def _data_uri(path: str) -> str:
    return f"data:;base64,{base64.b64encode(Path(path).read_bytes()).decode()}"


def _write_files(files: Mapping[str, bytes], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / Path(name).name).write_bytes(content)


# What follows is done by a process of the cluster, which holds weights between runs, as a worker here does.

_cancelled: set[str] = set()
_engines: list[tuple[Mapping[str, Any], Engines]] = []
"""At most one, with the message that it was made from. Dask runs each task in this process, so that it stays."""


def run_there(task: Mapping[str, Any], key: str) -> Reply:
    """Load a model or execute a run in this process."""
    if task["version"] != __version__:
        raise RuntimeError(f"it has reelbook {__version__}, the service has {task['version']}")
    from distributed import get_worker

    emit = partial(get_worker().log_event, key)
    emit({"begin": os.getpid()})
    os.environ.update(OFFLINE)
    if not _engines or _engines[0][0] != task["weights"]:
        _engines.clear()
        gc.collect()  # Before other weights are loaded.
        _engines.append((task["weights"], Engines(task["weights"])))
    with tempfile.TemporaryDirectory(prefix="reelbook-") as folder:
        order = {**task["order"], "folder": folder}
        message = run_order(order, emit, partial(_cancelled.__contains__, key), _engines[0][1])
        paths = Path(folder).iterdir() if "done" in message else ()
        return message, {path.name: path.read_bytes() for path in paths if path.is_file()}


def cancel_there(key: str) -> None:
    """Request that a run in this process stops between two steps."""
    _cancelled.add(key)
