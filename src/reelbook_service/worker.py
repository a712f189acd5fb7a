"""A worker process, which executes one run after another and communicates with the service through pipes.

Decoders that crash, pictures that exhaust memory and engines that hang end this process, never the notebook. It exits
when its pipe closes, so a killed service leaves no process behind. `workers.py` is the side of the service.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import queue
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from reelbook.models.base import WIRE, Input
from reelbook.models.catalog import get_endpoint
from reelbook.models.images import pictures_of
from reelbook.util.data_address import is_data_address, parse_data_address

from .engines.protocol import Cancelled, Engine, EngineTask, OutputFile, Report, engine_for
from .prompt_check import check_prompt
from .spec_decisions import MIB

WEIGHTS_ENGINE = "reelbook_service.weights.pipelines.engine"
LOST_DEVICE = 70
"""The exit code of a process whose device failed: it answers nothing more in that process."""
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

Emit = Callable[[dict[str, Any]], None]


def main() -> None:
    """Execute runs until the pipe closes. Its first line has the memory limit of the process, and the weights to load."""
    faulthandler.enable()
    # Libraries may print, which must not reach the service.
    pipe = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    start = json.loads(sys.stdin.buffer.readline())
    _limit(start["memory_mib"])
    engines = Engines(start["weights"])
    orders: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    cancelled: set[str] = set()
    threading.Thread(target=_listen, args=(orders, cancelled), daemon=True).start()

    def emit(message: dict[str, Any]) -> None:
        print(json.dumps(message), file=pipe, flush=True)

    while True:
        order = orders.get()
        emit(run_order(order, emit, partial(cancelled.__contains__, order.get("id")), engines))


class Engines:
    """The engine of each model in this process: that of real weights, where the service has sent their rows."""

    def __init__(self, weights: Mapping[str, Any] | None = None) -> None:
        self._weights = weights or {"weights": []}
        self._models = {row["endpoint_id"] for row in self._weights["weights"]}
        self._of_weights: Any = None
        """Its models are loaded before their first run."""

    def load(self, endpoint_id: str, report: Report) -> bool:
        """Load the weights of a model where they are not loaded; false for a model without weights."""
        if endpoint_id not in self._models:
            return False
        if self._of_weights is None:
            from .weights.config import FAMILIES

            report.progress("importing libraries", 0.0)
            # A worker on the CPU must never import it: torch takes seconds and hundreds of megabytes.
            module = importlib.import_module(self._weights.get("module", WEIGHTS_ENGINE))
            rows = {row["endpoint_id"]: FAMILIES[row["family"]].model_validate(row) for row in self._weights["weights"]}
            self._of_weights = module.WeightsEngine(rows, self._weights["device"])
        self._of_weights.load(endpoint_id, report)
        return True

    def find(self, request: Input) -> tuple[Engine, str]:
        """The engine of a model, with its name and version or its exact weights; those have been loaded before."""
        if request.endpoint_id in self._models:
            return self._of_weights, self._of_weights.described(request.endpoint_id)
        engine = engine_for(request)
        return engine, f"{engine.name} {engine.version}"


def run_order(
    order: Mapping[str, Any], emit: Emit, is_cancelled: Callable[[], bool], engines: Engines | None = None
) -> dict[str, Any]:
    """Load a model ahead or execute a run, and return a message with the outcome; raises nothing."""
    engines = engines or Engines()
    try:
        if "load" in order:
            engines.load(order["load"], Report())
            return {"done": {}}
        # As JSON, with the names of files in place of the files.
        return {"done": json.loads(json.dumps(_perform(order, emit, is_cancelled, engines), default=_describe_file))}
    except Cancelled:
        return failed("cancelled", "The request was cancelled; its credits were given back.")
    except Exception as error:
        if error_type := getattr(error, "error_type", None):  # The engine's own sentence for whoever sent the run.
            return failed(error_type, str(error))
        if type(error) is MemoryError and str(error):  # That of an engine too, which knows its device.
            return failed("engine_error", str(error))
        traceback.print_exc()  # For the operator: the service's folder has the log of the workers.
        if isinstance(error, MemoryError):
            return failed("engine_error", "The run needed more memory than a worker has. Make it smaller.")
        name = type(error).__name__
        words = f"The engine broke off ({name}), perhaps for want of memory. Nothing was charged; try again, or make the run smaller."
        return failed("engine_error", words)


def _perform(
    order: Mapping[str, Any], emit: Emit, is_cancelled: Callable[[], bool], engines: Engines
) -> dict[str, Any]:
    """Execute one run, and return its output."""
    request = get_endpoint(order["endpoint"]).input.model_validate(order["input"], context=WIRE)
    check_prompt(request, may_be_unchecked=order["may_be_unchecked"])
    # None of it counts as progress of the run.
    if engines.load(request.endpoint_id, Report(lambda message: emit({**message, "fraction": 0.0}), is_cancelled)):
        emit({"loaded": request.endpoint_id})
    engine, name = engines.find(request)
    emit({"engine": name})
    folder, report = Path(order["folder"]), Report(emit, is_cancelled)
    folder.mkdir(parents=True, exist_ok=True)
    sources = _Sources({address: Path(path).read_bytes() for address, path in order["local"].items()})
    addresses = list(dict.fromkeys(address for _, address in pictures_of(request)))
    for number, address in enumerate(addresses, 1):
        report.progress(f"fetching picture {number} of {len(addresses)}", 0.0)
        sources[address] = sources[address]  # Fetches what is not there.
    return engine(EngineTask(request, order["seed"], folder, sources, order["may_be_unchecked"]), report)


class _Sources(dict[str, bytes]):
    """The pictures of a run by address. An empty address is none of them, and is refused like any other that is unusable."""

    def __missing__(self, address: str) -> bytes:
        if is_data_address(address):
            return parse_data_address(address)  # Checked when it was submitted.
        from .fetch_pictures import Fetcher  # Most runs fetch nothing, and each process would pay for httpx.

        return Fetcher().fetch(address)


def _describe_file(file: OutputFile) -> dict[str, Any]:
    return {"$made": file.path.name, "content_type": file.content_type, "facts": dict(file.facts)}


def failed(error_type: str, detail: str) -> dict[str, Any]:
    """The outcome of a run that has no output."""
    return {"failed": {"error_type": error_type, "detail": detail}}


def _listen(orders: queue.SimpleQueue[dict[str, Any]], cancelled: set[str]) -> None:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "cancel" in message:
            cancelled.add(message["cancel"])
        else:
            orders.put(message)
    # The service has ended. Not sys.exit: the main thread may be inside a library.
    os._exit(0)


def _limit(memory_mib: int | None) -> None:
    """Limit this process, where the system supports that; with a memory limit, it also yields to others."""
    try:
        import resource
    except ImportError:  # Windows has no such limits.
        return
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: MAX_FILE_BYTES}
    if memory_mib is not None:
        os.nice(5)
        limits[resource.RLIMIT_DATA] = memory_mib * MIB
    for kind, limit in limits.items():
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


if __name__ == "__main__":
    main()
