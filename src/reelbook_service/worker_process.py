"""The service's handle on one worker process: its rules, its start and end, and the messages through its pipes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import spec_decisions
from .queue import Request
from .service_settings import Settings
from .worker import LOST_DEVICE, failed

MAX_LINE_BYTES = 64 * spec_decisions.MIB
WATCH_SECONDS = 0.05  # A decoder can allocate hundreds of megabytes within a few of these.
MAX_FILE_BYTES = 2_000_000_000
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
    "DIFFUSERS_VERBOSITY": "error",
    "TRANSFORMERS_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
}
"""The environment of engines with weights: no library asks a network for anything."""

# Not "-m": that would search for modules in the current folder first, where a notebook may have its own queue.py.
_MAIN = (
    f"import sys; sys.path.append({str(Path(__file__).parents[1])!r}); from reelbook_service.worker import main; main()"
)


def _thread_counts(threads: int) -> dict[str, str]:
    return dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))


@dataclass(frozen=True, slots=True)
class WorkerRules:
    """What a worker may do. The defaults are those of workers on the CPU, of which several share the cores."""

    cancel_seconds: float = 0.8
    """How long a cancelled run may take to end before its process is killed."""
    idle_seconds: float | None = 120.0
    """How long a worker without runs is kept; None for ever."""
    seconds: float | None = None
    """The time limit of loading, and that of the run after it; None for that of the settings."""
    attempts: int = spec_decisions.MAX_ATTEMPTS
    """How many workers a run may cost."""
    weights: Mapping[str, Any] | None = None
    """The weights that the process has to load, and their device; None for a worker on the CPU, whose memory is limited."""
    environment: Mapping[str, str] = field(
        # One thread per library: several workers share the cores already. Few malloc arenas: each can retain memory.
        # Two blocks of Pillow's: pictures of one run tend to have one size, and allocating new pages each time took a
        # tenth of the total time.
        default_factory=lambda: {**_thread_counts(1), "MALLOC_ARENA_MAX": "2", "PILLOW_BLOCKS_MAX": "2"}
    )

    @classmethod
    def of_device(cls, device: str, weights: Mapping[str, Any], idle_seconds: float | None) -> WorkerRules:
        """The rules of a worker with weights. Killing it throws a loaded model away, so a cancelled run has time to end."""
        environment = {**OFFLINE, **_thread_counts(os.cpu_count() or 1), "CUDA_VISIBLE_DEVICES": _visible(device)}
        return cls(30.0, idle_seconds, 3600.0, 2, weights, environment)


def _visible(device: str) -> str:
    """The device for CUDA_VISIBLE_DEVICES: counted among those that the service itself sees; none for the CPU.

    None also for a device that the service does not see: another one of that number is not meant.
    """
    kind, _, number = device.partition(":")
    if kind != "cuda":
        return ""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return number
    return dict(enumerate(visible.split(","))).get(int(number), "").strip()


class WorkerProcess:
    """A worker in a process of its own, which is started again where it has died."""

    def __init__(self, settings: Settings, rules: WorkerRules) -> None:
        self.rules = rules
        self._settings = settings
        self._process: asyncio.subprocess.Process | None = None
        self._limit: asyncio.Timeout | None = None
        """When the order that is in progress is stopped."""

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

    async def perform(self, order: Mapping[str, Any], request: Request | None = None) -> dict[str, Any] | None:
        """Execute one run, or load weights ahead of runs; None if the process died over it."""
        if not self.alive:
            await self._start()
        process = self._process
        assert process is not None
        assert process.stdout is not None
        seconds = self.rules.seconds or self._settings.run_seconds
        watch = asyncio.create_task(self._watch(process))
        try:
            async with asyncio.timeout(seconds) as self._limit:
                self._send(order)
                if request is not None and request.cancelling:
                    self.cancel(request.id)  # It was cancelled while the process was starting.
                # A last line without a newline was truncated by the end of the process.
                while (line := await process.stdout.readline()).endswith(b"\n"):
                    message = json.loads(line)
                    if "done" in message or "failed" in message:
                        return dict(message)
                    if request is not None:
                        take_message(request, message, self._settings.clock(), self._limit, seconds)
                await process.wait()
            words = f"The run needed more than {self._settings.worker_mib} MiB of memory and was stopped. Nothing was charged; make it smaller."
            return failed("engine_error", words) if watch.done() else None
        except TimeoutError:
            await self.end()
            return timed_out(order, seconds)
        finally:
            self._limit = None
            watch.cancel()

    def cancel(self, request_id: str) -> None:
        """Request a stop between two frames; a process that does not react is killed."""
        if self._limit is not None:
            self._send({"cancel": request_id})
            soon = asyncio.get_running_loop().time() + self.rules.cancel_seconds
            with contextlib.suppress(RuntimeError):  # Its time has come in this very moment.
                self._limit.reschedule(min(soon, self._limit.when() or soon))  # A second request wins no time.

    async def end(self) -> None:
        """End the process."""
        if self._process is not None:
            _kill(self._process)
            await self._process.wait()

    async def _start(self) -> None:
        with (self._settings.data / "workers.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-c", _MAIN,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=log,
                limit=MAX_LINE_BYTES, env=worker_environment(self.rules, self._settings.lanes.is_secret), start_new_session=True,
            )  # fmt: skip
        limits = {"nice": 0, "RLIMIT_CORE": 0, "RLIMIT_FSIZE": MAX_FILE_BYTES}
        if self.rules.weights is None:
            limits |= {"nice": 5, "RLIMIT_DATA": 3 * self._settings.worker_mib * spec_decisions.MIB}
        self._send({"limits": limits, "weights": self.rules.weights})

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError):  # A dead process is detected where its messages are read.
            self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        """Return once the process has taken too much memory and was killed."""
        while self.rules.weights is not None or _resident_mib(process.pid) <= self._settings.worker_mib:
            await asyncio.sleep(WATCH_SECONDS)
        _kill(process)


def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()


def take_message(
    request: Request, message: Mapping[str, Any], now: float, limit: asyncio.Timeout, seconds: float
) -> None:
    """Note in a request what its worker says on the way; loading does not count for its time limit."""
    if "log" in message:
        request.log(now, message["log"], message["level"])
    elif "stage" in message:
        request.stage, request.progress = message["stage"], max(request.progress, message["fraction"])
    elif "engine" in message:
        request.engine = message["engine"]
    elif "loaded" in message and not request.cancelling:
        limit.reschedule(asyncio.get_running_loop().time() + seconds)


def timed_out(order: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """The outcome of an order that exceeds its time limit."""
    if "load" in order:
        return failed("engine_error", "Loading took too long and was stopped.")
    words = f"The run took longer than {seconds:g} s and was stopped. Nothing was charged; make it smaller."
    return failed("engine_timeout", words)


def _resident_mib(pid: int) -> float:
    """Resident memory of a process, on Linux; 0 on other systems."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / spec_decisions.MIB


def worker_environment(rules: WorkerRules, is_secret: Callable[[str], bool] = lambda value: False) -> dict[str, str]:
    """The environment of a worker process: that of the service, without its keys and tokens."""
    # Proxies are for clients; a source must be fetched from the address that was checked.
    # A worker opens untrusted media, and does not need the key of a hosted service, nor the token of a hub.
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.lower().endswith(("_proxy", "_api_key", "_token")) and not is_secret(value)
    }
    return {**inherited, **rules.environment, "PYTHONUNBUFFERED": "1"}
