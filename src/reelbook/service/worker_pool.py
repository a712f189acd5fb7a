"""The worker pool: starts worker processes, assigns requests, cancels runs, and replaces workers that crash."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..models import pricing
from ..models.base import Input
from ..models.pricing import Estimate
from . import spec_decisions
from .accounts import Account, Accounts
from .queue import Queue, Request, cancellation_error
from .result_writer import ResultWriter
from .service_files import Files
from .service_settings import Settings

log = logging.getLogger("reelbook.service")

MAX_LINE_BYTES = 64 * spec_decisions.MIB
CANCEL_SECONDS = 0.8
IDLE_SECONDS = 120.0
GIVE_WAY_SECONDS = 0.05
"""How long a request waits for a running worker that ends its last one, before another worker is started for it."""
WATCH_SECONDS = 0.05  # A decoder can allocate hundreds of megabytes within a few of these.
MAX_FILE_BYTES = 2_000_000_000

# Not "-m": that would search for modules in the current folder first, where a notebook may have its own queue.py.
_MAIN = (
    f"import sys; sys.path.append({str(Path(__file__).parents[2])!r}); from reelbook.service.worker import main; main()"
)


class WorkerPool:
    """As many workers as the settings allow, each started when there is a request for it."""

    def __init__(
        self, settings: Settings, queue: Queue, files: Files, accounts: Accounts, results: ResultWriter
    ) -> None:
        self._settings, self._queue, self._files, self._accounts = settings, queue, files, accounts
        self._results = results
        self._folder = settings.data / "work"
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(mode=0o700)
        self._busy: dict[str, Worker] = {}
        self._workers: set[Worker] = set()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start to process requests."""
        self._tasks = [asyncio.create_task(self._serve()) for _ in range(self._settings.workers)]

    async def stop(self) -> None:
        """Stop processing requests and end the workers; unfinished runs start again with the next service."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    async def cancel(self, request: Request) -> bool:
        """Cancel a request that a worker is processing."""
        worker = self._busy.get(request.id)
        if worker:
            worker.cancel(request.id)
        return True

    async def estimate(self, request: Input, account: Account) -> Estimate:
        """The price of a run; exact, because it is the amount that will be charged."""
        found = pricing.estimate(request, self._settings.rates)
        return Estimate(found.credits, found.breakdown, found.rate_card, "exact")

    @property
    def pids(self) -> dict[str, int]:
        """The process id of the worker of each request."""
        return {request_id: worker.pid for request_id, worker in self._busy.items() if worker.pid is not None}

    async def _serve(self) -> None:
        """One slot of the pool: process requests one after another, with a worker that is replaced when necessary."""
        worker: Worker | None = None
        try:
            while True:
                try:
                    if worker is None:
                        request = await self._pop_for_new_worker()
                    else:
                        request = await asyncio.wait_for(self._queue.pop_next(), IDLE_SECONDS)
                except TimeoutError:
                    await self._end_worker(worker)
                    worker = None
                    continue
                if worker is None or not worker.alive:
                    await self._end_worker(worker)
                    worker = Worker(self._settings)
                    self._workers.add(worker)
                await self._handle(worker, request)
        finally:
            await self._end_worker(worker)

    async def _pop_for_new_worker(self) -> Request:
        """The next request that no worker takes soon: starting another one takes longer than a short run."""
        while True:
            await self._queue.wait_for_request()
            if self._workers:
                await asyncio.sleep(GIVE_WAY_SECONDS)
            if self._queue.count_waiting():
                return await self._queue.pop_next()

    async def _end_worker(self, worker: Worker | None) -> None:
        if worker is not None:
            self._workers.discard(worker)
            await worker.end()

    async def _handle(self, worker: Worker, request: Request) -> None:
        folder = self._folder / request.id
        self._busy[request.id] = worker
        try:
            try:
                outcome = await self._run(worker, request, folder)
            except Exception:
                # For example a process that cannot be started; this slot of the pool must survive it.
                log.exception("The run %s broke off in the service", request.id)
                await worker.end()
                outcome = _outcome_after_crash(request)
            if request.cancelling:
                # Even if the run ended just before it was cancelled: a cancelled run is not charged.
                outcome = {"failed": cancellation_error()}
            if outcome is None:
                self._queue.requeue(request)
            else:
                await self._results.end(request, outcome, folder)
        finally:
            self._busy.pop(request.id, None)
            shutil.rmtree(folder, ignore_errors=True)

    async def _run(self, worker: Worker, request: Request, folder: Path) -> dict[str, Any] | None:
        """The outcome of the run; None if it should be retried."""
        if request.cancelling:
            return None
        values = await self._queue.read_input(request)
        order = {
            "id": request.id,
            "endpoint": request.endpoint_id,
            "input": values,
            "seed": seed_of(request, values),
            "folder": str(folder),
            "local": self._find_local_paths(values, request.account),
            "may_be_unchecked": "unchecked" in self._accounts.permissions_of(request.account),
        }
        outcome = await worker.perform(order, request, self._settings)
        return (
            _outcome_after_crash(request) if outcome is None else {**outcome, "inline": values.get("sync_mode", False)}
        )

    def _find_local_paths(self, input: Any, account: str) -> dict[str, str]:
        """Local paths of the addresses in an input that are files of this service."""
        found: dict[str, str] = {}
        for value in input.values() if isinstance(input, dict) else input:
            if isinstance(value, str):
                path = self._files.find_local_path(value, account)
                found |= {value: str(path)} if path else {}
            elif isinstance(value, (dict, list)):
                found |= self._find_local_paths(value, account)
        return found


class Worker:
    """The service's handle on one worker process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._process: asyncio.subprocess.Process | None = None
        self._kill_reason: dict[str, str] | None = None
        self._request_id: str | None = None

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    async def perform(self, order: Mapping[str, Any], request: Request, settings: Settings) -> dict[str, Any] | None:
        """Execute one run in the process; None if the process crashed."""
        if not self.alive:
            await self._start()
        assert self._process is not None
        process, self._kill_reason, self._request_id = self._process, None, request.id
        watch = asyncio.create_task(self._watch(process))
        try:
            self._send(order)
            if request.cancelling:
                self.cancel(request.id)  # It was cancelled while the process was starting.
            return await asyncio.wait_for(self._follow(process, request), settings.run_seconds)
        except TimeoutError:
            await self.end()
            detail = f"The run took longer than {settings.run_seconds:g} s and was stopped. Nothing was charged; make it smaller."
            return {"failed": {"error_type": "engine_timeout", "detail": detail}}
        except asyncio.CancelledError:
            await self.end()
            raise
        finally:
            self._request_id = None
            watch.cancel()

    async def _follow(self, process: asyncio.subprocess.Process, request: Request) -> dict[str, Any] | None:
        assert process.stdout is not None
        clock = self._settings.clock
        # A last line without a newline was truncated by the end of the process.
        while (line := await process.stdout.readline()).endswith(b"\n"):
            message = json.loads(line)
            if "done" in message or "failed" in message:
                return dict(message)
            if "log" in message:
                request.log(clock(), message["log"], message["level"])
            elif "stage" in message:
                request.stage, request.progress = message["stage"], max(request.progress, message["fraction"])
                request.notify_watchers()
            elif "engine" in message:
                request.engine = message["engine"]
        await process.wait()
        return {"failed": self._kill_reason} if self._kill_reason else None

    def cancel(self, request_id: str) -> None:
        """Request a stop between two frames; a process that does not react is killed."""
        if not self.alive:
            return
        self._send({"cancel": request_id})
        process = self._process
        asyncio.get_running_loop().call_later(CANCEL_SECONDS, lambda: self._kill_if_running(process, request_id))

    def _kill_if_running(self, process: asyncio.subprocess.Process | None, request_id: str) -> None:
        if process is self._process and self._request_id == request_id and self.alive:
            self._kill(cancellation_error())

    async def end(self) -> None:
        """End the process."""
        if self._process is None:
            return
        self._kill(None)
        await self._process.wait()

    def _kill(self, reason: dict[str, str] | None) -> None:
        self._kill_reason = reason
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def _start(self) -> None:
        with (self._settings.data / "workers.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-c", _MAIN,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=log,
                limit=MAX_LINE_BYTES, env=_environment(self._settings.lanes.is_secret), start_new_session=True,
            )  # fmt: skip
        self._send(
            {"limits": {"nice": 5, "data": 3 * self._settings.worker_mib * spec_decisions.MIB, "file": MAX_FILE_BYTES}}
        )

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError):  # A dead process is detected where its messages are read.
            self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        """Kill the process if it uses too much memory."""
        while True:
            if _resident_mib(process.pid) > self._settings.worker_mib:
                limit = self._settings.worker_mib
                detail = f"The run needed more than {limit} MiB of memory and was stopped. Nothing was charged; make it smaller."
                self._kill({"error_type": "engine_error", "detail": detail})
                return
            await asyncio.sleep(WATCH_SECONDS)


def seed_of(request: Request, input: Mapping[str, Any]) -> int:
    """The input's seed; without one, a seed derived from the request's id, so that a retry gives the same result."""
    seed = input.get("seed")
    if isinstance(seed, (int, float)) and not isinstance(seed, bool):
        return int(seed)
    return int.from_bytes(hashlib.sha256(request.id.encode()).digest()[:4])


def _outcome_after_crash(request: Request) -> dict[str, Any] | None:
    """Failure once MAX_ATTEMPTS is reached; None means requeue."""
    if request.attempts < spec_decisions.MAX_ATTEMPTS:
        return None
    detail = f"The worker died {request.attempts} times over this run. Nothing was charged; change the input, or tell whoever runs the service."
    return {"failed": {"error_type": "engine_error", "detail": detail}}


def _environment(is_secret: Callable[[str], bool] = lambda value: False) -> dict[str, str]:
    # One thread per library: several workers share the cores already. Few malloc arenas: each can retain memory.
    # Two blocks of Pillow's: pictures of one run tend to have one size, and allocating new pages each time took a
    # tenth of the total time.
    threads = {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "2",
        "PILLOW_BLOCKS_MAX": "2",
    }
    # Proxies are for clients; a source must be fetched from the address that was checked.
    # A worker opens untrusted media, and does not need the key of a hosted service.
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.lower().endswith(("_proxy", "_api_key")) and not is_secret(value)
    }
    return {**inherited, **threads, "PYTHONUNBUFFERED": "1"}


def _resident_mib(pid: int) -> float:
    """Resident memory of a process, on Linux; 0 elsewhere."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / spec_decisions.MIB
