"""The worker pool: starts worker processes, hands them requests, stops them, and replaces those that die."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from . import spec_decisions
from .accounts import Accounts
from .queue import Queue, Request, cancelled
from .service_files import Files, Stored
from .service_settings import Settings

log = logging.getLogger("reelbook.service")

LONGEST_LINE = 64 * spec_decisions.MIB
CANCEL_SECONDS = 0.8
IDLE_SECONDS = 120.0
WATCH_SECONDS = 0.05  # A decoder can take hundreds of megabytes within a few of these.
LARGEST_FILE = 2_000_000_000

# Not "-m": that would look for modules in the current folder first, where a notebook may have its own queue.py.
_MAIN = (
    f"import sys; sys.path.append({str(Path(__file__).parents[2])!r}); from reelbook.service.worker import main; main()"
)


class WorkerPool:
    """As many workers as the settings allow, each started when there is work for it."""

    def __init__(self, settings: Settings, queue: Queue, files: Files, accounts: Accounts) -> None:
        self._settings, self._queue, self._files, self._accounts = settings, queue, files, accounts
        self._folder = settings.data / "work"
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(mode=0o700)
        self._busy: dict[str, Worker] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self.own_addresses: tuple[str, ...] = ()

    def start(self) -> None:
        """Begin to take requests."""
        self._tasks = [asyncio.create_task(self._work()) for _ in range(self._settings.workers)]

    async def stop(self) -> None:
        """Stop taking requests and end the workers; what was running starts again with the next service."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    def cancel(self, request: Request) -> None:
        """Stop the work on a request, if a worker has it."""
        worker = self._busy.get(request.id)
        if worker:
            worker.cancel(request.id)

    @property
    def pids(self) -> dict[str, int]:
        """The process at work on each request."""
        return {request_id: worker.pid for request_id, worker in self._busy.items() if worker.pid is not None}

    async def _work(self) -> None:
        """One place in the pool: take requests one after another, with a worker that is replaced when needed."""
        worker: Worker | None = None
        try:
            while True:
                try:
                    request = await asyncio.wait_for(self._queue.take(), IDLE_SECONDS if worker else None)
                except TimeoutError:
                    await _dismissed(worker)
                    worker = None
                    continue
                if worker is None or not worker.alive:
                    await _dismissed(worker)
                    worker = Worker(self._settings)
                await self._carry_out(worker, request)
        finally:
            await _dismissed(worker)

    async def _carry_out(self, worker: Worker, request: Request) -> None:
        folder = self._folder / request.id
        self._busy[request.id] = worker
        try:
            try:
                ending = await self._ending(worker, request, folder)
            except Exception:
                # Such as a process that cannot be started. This place in the pool must outlive it.
                log.exception("The run %s broke off in the service", request.id)
                await worker.end()
                ending = _after_death(request)
            if request.cancelling:
                # Also when the last frame was done just before we asked: who cancels does not pay.
                ending = {"failed": cancelled()}
            if ending is None:
                self._queue.put_back(request, "The worker died; the run starts again, free of charge.")
            else:
                await self._end(request, ending, folder)
        finally:
            self._busy.pop(request.id, None)
            shutil.rmtree(folder, ignore_errors=True)

    async def _ending(self, worker: Worker, request: Request, folder: Path) -> dict[str, Any] | None:
        """How the run ended; None if it should be tried again."""
        if request.cancelling:
            return None
        asked = await self._queue.input_of(request)
        order = {
            "id": request.id,
            "endpoint": request.endpoint_id,
            "input": asked,
            "seed": seed_of(request, asked),
            "folder": str(folder),
            "local": self._local(asked, request.account),
            "may_be_unchecked": "unchecked" in self._accounts.permissions_of(request.account),
        }
        ending = await worker.perform(order, request, self._settings)
        return _after_death(request) if ending is None else {**ending, "inline": asked.get("sync_mode", False)}

    async def _end(self, request: Request, ending: Mapping[str, Any], folder: Path) -> None:
        kept: dict[str, Stored] = {}
        output, error = None, ending.get("failed")
        while True:
            try:
                if error is None and output is None:
                    output = await self._kept(request, ending["done"], folder, kept)
                    output |= {"$inline": True} if ending.get("inline") else {}
                await self._queue.finish(
                    request,
                    output=output,
                    error=error,
                    also=lambda db: _insert_all(db, kept.values()),
                    then=lambda: self._serve_or_drop(request, kept.values()),
                )
                break
            except FileNotFoundError:
                detail = "A file that the run made is gone. Nothing was charged; run it again."
                output, error = None, {"error_type": "engine_error", "detail": detail}
                kept.clear()
            except (OSError, sqlite3.Error):
                # A full disk passes; the request stays in progress until its end can be written down.
                log.info("The end of the run %s cannot be written down yet", request.id, exc_info=True)
                words = "The service cannot write the result down yet, and tries again every second."
                request.log(self._settings.clock(), words, "WARNING", "service")
                await asyncio.sleep(1.0)

    def _serve_or_drop(self, request: Request, kept: Iterable[Stored]) -> None:
        for stored in kept:
            if request.error is None:
                self._files.admit(stored)
            else:
                # Cancelled at the last moment: nobody will ever ask for them.
                self._files.path(stored).unlink(missing_ok=True)

    async def _kept(self, request: Request, value: Any, folder: Path, kept: dict[str, Stored]) -> Any:
        """The output with every file taken over and named by its token."""
        if isinstance(value, list):
            return [await self._kept(request, item, folder, kept) for item in value]
        if not isinstance(value, dict):
            return value
        if "$made" not in value:
            return {name: await self._kept(request, item, folder, kept) for name, item in value.items()}
        name = Path(value["$made"]).name
        if name not in kept:  # An output may name a file twice, and a second try finds the first one's files moved.
            label = f"{request.endpoint_id.rsplit('/', 1)[-1]}-{request.id[:8]}" + (f"-{len(kept) + 1}" if kept else "")
            kept[name] = await self._files.keep(folder / name, request.account, label, value["content_type"])
        return {"$file": kept[name].token, "facts": value["facts"]}

    def _local(self, asked: Any, account: str) -> dict[str, str]:
        """Paths for the addresses in an input that mean files of ours."""
        found: dict[str, str] = {}
        for value in asked.values() if isinstance(asked, dict) else asked:
            if isinstance(value, str):
                path = self._files.local(value, account, self.own_addresses)
                found |= {value: str(path)} if path else {}
            elif isinstance(value, (dict, list)):
                found |= self._local(value, account)
        return found


class Worker:
    """One worker process, seen from the service."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._process: asyncio.subprocess.Process | None = None
        self._why_killed: dict[str, str] | None = None
        self._at: str | None = None

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    async def perform(self, order: Mapping[str, Any], request: Request, settings: Settings) -> dict[str, Any] | None:
        """Let the process do one run; None if it died over it."""
        if not self.alive:
            await self._start()
        assert self._process is not None
        process, self._why_killed, self._at = self._process, None, request.id
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
            self._at = None
            watch.cancel()

    async def _follow(self, process: asyncio.subprocess.Process, request: Request) -> dict[str, Any] | None:
        assert process.stdout is not None
        clock = self._settings.clock
        # A last line without an end was cut off by the death of the process.
        while (line := await process.stdout.readline()).endswith(b"\n"):
            message = json.loads(line)
            if "done" in message or "failed" in message:
                return dict(message)
            if "log" in message:
                request.log(clock(), message["log"], message["level"])
            elif "stage" in message:
                request.stage, request.progress = message["stage"], max(request.progress, message["fraction"])
                request.tell()
            elif "engine" in message:
                request.engine = message["engine"]
        await process.wait()
        return {"failed": self._why_killed} if self._why_killed else None

    def cancel(self, request_id: str) -> None:
        """Ask for a stop between two frames; a process that does not listen is ended."""
        if not self.alive:
            return
        self._send({"cancel": request_id})
        process = self._process
        asyncio.get_running_loop().call_later(CANCEL_SECONDS, lambda: self._end_if_still_at(process, request_id))

    def _end_if_still_at(self, process: asyncio.subprocess.Process | None, request_id: str) -> None:
        if process is self._process and self._at == request_id and self.alive:
            self._kill(cancelled())

    async def end(self) -> None:
        """End the process."""
        if self._process is None:
            return
        self._kill(None)
        await self._process.wait()

    def _kill(self, why: dict[str, str] | None) -> None:
        self._why_killed = why
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def _start(self) -> None:
        with (self._settings.data / "workers.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-c", _MAIN,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=log,
                limit=LONGEST_LINE, env=_environment(), start_new_session=True,
            )  # fmt: skip
        self._send(
            {"limits": {"nice": 5, "data": 3 * self._settings.worker_mib * spec_decisions.MIB, "file": LARGEST_FILE}}
        )

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError):  # A dead process is noticed where its answers are read.
            self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        """End the process if it has too much memory in use."""
        while True:
            if _resident_mib(process.pid) > self._settings.worker_mib:
                most = self._settings.worker_mib
                detail = f"The run needed more than {most} MiB of memory and was stopped. Nothing was charged; make it smaller."
                self._kill({"error_type": "engine_error", "detail": detail})
                return
            await asyncio.sleep(WATCH_SECONDS)


def seed_of(request: Request, asked: Mapping[str, Any]) -> int:
    """The input's seed; else one drawn from the request's id, so that a second attempt makes the same."""
    seed = asked.get("seed")
    if isinstance(seed, (int, float)) and not isinstance(seed, bool):
        return int(seed)
    return int.from_bytes(hashlib.sha256(request.id.encode()).digest()[:4])


def _after_death(request: Request) -> dict[str, Any] | None:
    """How a run ends whose worker died: not yet, the first times."""
    if request.attempts < spec_decisions.MAX_ATTEMPTS:
        return None
    detail = f"The worker died {request.attempts} times over this run. Nothing was charged; change the input, or tell whoever runs the service."
    return {"failed": {"error_type": "engine_error", "detail": detail}}


async def _dismissed(worker: Worker | None) -> None:
    if worker is not None:
        await worker.end()


def _insert_all(db: sqlite3.Connection, kept: Iterable[Stored]) -> None:
    for stored in kept:
        stored.insert(db)


def _environment() -> dict[str, str]:
    # One thread per library: several workers share the cores already. Few malloc arenas: each can keep memory for itself.
    # Two blocks of Pillow's: pictures of one run tend to have one size, and asking the system for new pages each time
    # took a tenth of the whole time.
    quiet = {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "2",
        "PILLOW_BLOCKS_MAX": "2",
    }
    # Proxies are for clients; a source must be dialled where its address was checked.
    # A worker opens strangers' media, and has no use for the key of a hosted service.
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith(("_proxy", "_api_key"))}
    return {**kept, **quiet, "PYTHONUNBUFFERED": "1"}


def _resident_mib(pid: int) -> float:
    """Memory in use by a process, where the system tells (Linux); 0 elsewhere."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / spec_decisions.MIB
