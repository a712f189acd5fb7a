"""The worker pool: starts worker processes, assigns requests, cancels runs, and replaces workers that crash."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reelbook.models import pricing
from reelbook.models.base import Input
from reelbook.models.pricing import Estimate

from . import spec_decisions
from .accounts import Account, Accounts
from .lanes import LOCAL, ModelState
from .queue import Queue, cancellation_error
from .queued_request import Request
from .service_files import Files, ResultWriter
from .service_settings import Settings
from .worker_rules import CPU_RULES, LOST_DEVICE, WorkerRules, worker_environment

log = logging.getLogger("reelbook_service")

MAX_LINE_BYTES = 64 * spec_decisions.MIB
GIVE_WAY_SECONDS = 0.05
"""How long a request waits for a running worker that ends its last one, before another worker is started for it."""
WATCH_SECONDS = 0.05  # A decoder can allocate hundreds of megabytes within a few of these.
MAX_FILE_BYTES = 2_000_000_000

# Not "-m": that would search for modules in the current folder first, where a notebook may have its own queue.py.
_MAIN = (
    f"import sys; sys.path.append({str(Path(__file__).parents[2])!r}); from reelbook_service.worker import main; main()"
)


class WorkerPool:
    """The workers of a lane, one for each set of rules, and each started when there is a request for it."""

    def __init__(
        self,
        settings: Settings,
        queue: Queue,
        files: Files,
        accounts: Accounts,
        results: ResultWriter,
        lane: str = LOCAL,
        rules: Sequence[WorkerRules] | None = None,
    ) -> None:
        self._settings, self._queue, self._files, self._accounts = settings, queue, files, accounts
        self._results, self._lane = results, lane
        self._rules = [CPU_RULES] * settings.workers if rules is None else rules
        self._folder = settings.data / ("work" if lane == LOCAL else f"work-{re.sub('[^A-Za-z0-9]+', '-', lane)}")
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(mode=0o700)
        self._busy: dict[str, Worker] = {}
        self._workers: set[Worker] = set()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start to process requests."""
        self._tasks = [asyncio.create_task(self._serve(rules)) for rules in self._rules]

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

    def states(self) -> Mapping[str, ModelState]:
        """Nothing: the engines on the CPU are loaded in no time."""
        return {}

    async def estimate(self, request: Input, account: Account) -> Estimate:
        """The price of a run; exact, because it is the amount that will be charged."""
        found = pricing.estimate(request, self._settings.rates)
        return Estimate(found.credits, found.breakdown, found.rate_card, "exact")

    @property
    def pids(self) -> dict[str, int]:
        """The process id of the worker of each request."""
        return {request_id: worker.pid for request_id, worker in self._busy.items() if worker.pid is not None}

    async def _serve(self, rules: WorkerRules) -> None:
        """One slot of the pool: process requests one after another, with a worker that is replaced when necessary."""
        worker: Worker | None = None
        try:
            while True:
                try:
                    if worker is None:
                        request = await self._pop_for_new_worker()
                    else:
                        request = await asyncio.wait_for(self._queue.pop_next(self._lane), rules.idle_seconds)
                except TimeoutError:
                    await self._end_worker(worker)
                    worker = None
                    continue
                if worker is None or not worker.alive:
                    await self._end_worker(worker)
                    worker = Worker(self._settings, rules)
                    self._workers.add(worker)
                await self._handle(worker, request)
        finally:
            await self._end_worker(worker)

    async def _pop_for_new_worker(self) -> Request:
        """The next request that no worker takes soon: starting another one takes longer than a short run."""
        while True:
            await self._queue.wait_for_request(self._lane)
            if self._workers:
                await asyncio.sleep(GIVE_WAY_SECONDS)
            if self._queue.count_waiting(self._lane):
                return await self._queue.pop_next(self._lane)

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
                outcome = worker.outcome_after_crash(request)
            if request.cancelling:
                # Even if the run ended just before it was cancelled: a cancelled run is not charged.
                outcome = {"failed": cancellation_error()}
            if outcome is None:
                self._queue.requeue(request, worker.reason_of_end)
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
        if outcome is None:
            return worker.outcome_after_crash(request)
        return {**outcome, "inline": values.get("sync_mode", False)}

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

    def __init__(self, settings: Settings, rules: WorkerRules = CPU_RULES) -> None:
        self._settings, self._rules = settings, rules
        self._process: asyncio.subprocess.Process | None = None
        self._kill_reason: dict[str, str] | None = None
        self._request_id: str | None = None

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def reason_of_end(self) -> str:
        """Why the process is gone, as the beginning of a sentence."""
        is_lost = self._process is not None and self._process.returncode == LOST_DEVICE
        return "The device was lost" if is_lost else "The worker died"

    def outcome_after_crash(self, request: Request) -> dict[str, Any] | None:
        """Failure once a run has cost as many workers as it may; None means requeue."""
        if request.attempts < self._rules.attempts:
            return None
        detail = (
            f"{self.reason_of_end} {request.attempts} times over this run. Nothing was charged; change the input, or tell "
            "whoever runs the service."
        )
        return {"failed": {"error_type": "engine_error", "detail": detail}}

    async def perform(self, order: Mapping[str, Any], request: Request, settings: Settings) -> dict[str, Any] | None:
        """Execute one run in the process; None if the process crashed."""
        if not self.alive:
            await self._start()
        assert self._process is not None
        process, self._kill_reason, self._request_id = self._process, None, request.id
        watch = asyncio.create_task(self._watch(process))
        seconds = settings.run_seconds if self._rules.run_seconds is None else self._rules.run_seconds
        try:
            self._send(order)
            if request.cancelling:
                self.cancel(request.id)  # It was cancelled while the process was starting.
            async with asyncio.timeout(self._rules.load_seconds or seconds) as limit:
                now = asyncio.get_running_loop().time
                # Loading does not count.
                return await self._follow(process, request, lambda: limit.reschedule(now() + seconds))
        except TimeoutError:
            await self.end()
            detail = f"The run took longer than {seconds:g} s and was stopped. Nothing was charged; make it smaller."
            return {"failed": {"error_type": "engine_timeout", "detail": detail}}
        except asyncio.CancelledError:
            await self.end()
            raise
        finally:
            self._request_id = None
            watch.cancel()

    async def load(self, endpoint_id: str) -> str | None:
        """Load the weights of a model ahead of its runs; None, or the reason why they cannot be loaded."""
        if not self.alive:
            await self._start()
        assert self._process is not None
        process = self._process
        self._send({"load": endpoint_id})
        try:
            async with asyncio.timeout(self._rules.load_seconds):
                while (message := await _read_message(process)) is not None:
                    if "loaded" in message or "load_failed" in message:
                        return message.get("load_failed")
        except TimeoutError:
            await self.end()
            return f"Loading took longer than {self._rules.load_seconds:g} s."
        except asyncio.CancelledError:
            await self.end()
            raise
        await process.wait()
        return f"{self.reason_of_end} while it was loading."

    async def _follow(
        self, process: asyncio.subprocess.Process, request: Request, on_loaded: Callable[[], None] = lambda: None
    ) -> dict[str, Any] | None:
        clock = self._settings.clock
        while (message := await _read_message(process)) is not None:
            if "loaded" in message:
                on_loaded()
            elif "done" in message or "failed" in message:
                return dict(message)
            take_message(request, message, clock())
        await process.wait()
        return {"failed": self._kill_reason} if self._kill_reason else None

    def cancel(self, request_id: str) -> None:
        """Request a stop between two frames; a process that does not react is killed."""
        if not self.alive:
            return
        self._send({"cancel": request_id})
        process = self._process
        asyncio.get_running_loop().call_later(
            self._rules.cancel_seconds, lambda: self._kill_if_running(process, request_id)
        )

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
                limit=MAX_LINE_BYTES, env=worker_environment(self._rules, self._settings.lanes.is_secret), start_new_session=True,
            )  # fmt: skip
        data = 3 * self._settings.worker_mib * spec_decisions.MIB if self._rules.limits_memory else None
        self._send({"limits": {"nice": self._rules.nice, "data": data, "file": MAX_FILE_BYTES}})
        if self._rules.first_message is not None:
            self._send(self._rules.first_message)

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError):  # A dead process is detected where its messages are read.
            self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        """Kill the process if it uses too much memory."""
        while self._rules.limits_memory:
            if _resident_mib(process.pid) > self._settings.worker_mib:
                limit = self._settings.worker_mib
                detail = f"The run needed more than {limit} MiB of memory and was stopped. Nothing was charged; make it smaller."
                self._kill({"error_type": "engine_error", "detail": detail})
                return
            await asyncio.sleep(WATCH_SECONDS)


def take_message(request: Request, message: Mapping[str, Any], now: float) -> None:
    """Note in a request what its worker says on the way."""
    if "log" in message:
        request.log(now, message["log"], message["level"])
    elif "stage" in message:
        request.stage, request.progress = message["stage"], max(request.progress, message["fraction"])
    elif "engine" in message:
        request.engine = message["engine"]


def seed_of(request: Request, input: Mapping[str, Any]) -> int:
    """The input's seed; without one, a seed derived from the request's id, so that a retry gives the same result."""
    seed = input.get("seed")
    if isinstance(seed, (int, float)) and not isinstance(seed, bool):
        return int(seed)
    return int.from_bytes(hashlib.sha256(request.id.encode()).digest()[:4])


async def _read_message(process: asyncio.subprocess.Process) -> dict[str, Any] | None:
    """The next message of a process; None at its end."""
    assert process.stdout is not None
    line = await process.stdout.readline()
    # A last line without a newline was truncated by the end of the process.
    return dict(json.loads(line)) if line.endswith(b"\n") else None


def _resident_mib(pid: int) -> float:
    """Resident memory of a process, on Linux; 0 elsewhere."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / spec_decisions.MIB
