"""A worker process, which executes one run after another and communicates with the service through pipes.

Decoders that crash, pictures that exhaust memory and engines that hang end this process, never the notebook. It exits
when its pipe closes, so a killed service leaves no process behind.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reelbook.models.base import WIRE, Input
from reelbook.models.catalog import get_endpoint
from reelbook.models.images import pictures_of
from reelbook.util.data_address import is_data_address

from .fetch_pictures import Fetcher, decode_data_uri
from .prompt_check import check_prompt

if TYPE_CHECKING:
    from .engines.protocol import Engine, Report

WEIGHTS_ENGINE = "reelbook_service.weights.pipelines.engine"

LOST_DEVICE = 70
"""The exit code of a process whose device failed: it answers nothing more in that process."""
PROGRESS_INTERVAL_SECONDS = 0.1

Emit = Callable[[dict[str, Any]], None]


def main() -> None:
    """Execute runs until the pipe closes."""
    faulthandler.enable()
    # Libraries may print, which must not reach the service.
    pipe = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    engines = Engines()
    orders: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    cancelled: set[str] = set()
    threading.Thread(target=_listen, args=(orders, cancelled), daemon=True).start()

    def emit(message: dict[str, Any]) -> None:
        pipe.write(json.dumps(message) + "\n")
        pipe.flush()

    while True:
        order = orders.get()
        if "limits" in order:
            _limit(order["limits"])
        elif "weights" in order:
            engines = Engines(order)
        else:
            key = order.get("id", "")
            emit(run_order(order, emit, partial(cancelled.__contains__, key), engines))
            cancelled.discard(key)


class Engines:
    """The engine of each model in this process: that of real weights, where the service has sent their rows."""

    def __init__(self, message: Mapping[str, Any] | None = None) -> None:
        self._message = message or {"weights": []}
        self._models = {row["endpoint_id"] for row in self._message["weights"]}
        self._of_weights: Any = None
        """Its models are loaded before their first run."""

    def load(self, endpoint_id: str, report: Report) -> bool:
        """Load the weights of a model where they are not loaded; false for a model without weights."""
        if endpoint_id not in self._models:
            return False
        if self._of_weights is None:
            from .weights.config import FAMILIES

            report.progress("importing libraries", 0.0)
            message = self._message
            # A worker on the CPU must never import it: torch takes seconds and hundreds of megabytes.
            module = importlib.import_module(message.get("module", WEIGHTS_ENGINE))
            rows = {row["endpoint_id"]: FAMILIES[row["family"]].model_validate(row) for row in message["weights"]}
            self._of_weights = module.WeightsEngine(rows, message["device"], message["max_loaded"])
        self._of_weights.load(endpoint_id, report)
        return True

    def find(self, request: Input) -> tuple[Engine, str]:
        """The engine of a model, with its name and version or its exact weights; those have been loaded before."""
        from .engines.protocol import engine_for

        if self._of_weights is not None and request.endpoint_id in self._models:
            return self._of_weights, self._of_weights.described(request.endpoint_id)
        engine = engine_for(request)
        return engine, f"{engine.name} {engine.version}"


def run_order(
    order: Mapping[str, Any], emit: Emit, is_cancelled: Callable[[], bool], engines: Engines | None = None
) -> dict[str, Any]:
    """Load a model ahead or execute a run, and return a message with the outcome; raises nothing."""
    from .engines.protocol import Cancelled, Report  # Not before a run, because it loads Pillow.

    engines = engines or Engines()
    try:
        if "load" in order:
            engines.load(order["load"], Report())
            return {"done": {}}
        return {"done": perform(order, emit, is_cancelled, engines)}
    except Cancelled:
        return failed("cancelled", "The request was cancelled; its credits were given back.")
    except MemoryError as error:
        words = "The run needed more memory than a worker has. Make it smaller: fewer frames, or smaller pictures."
        return failed("engine_error", str(error) or words)
    except Exception as error:
        if error_type := getattr(error, "error_type", None):  # The engine's own sentence for whoever sent the run.
            return failed(error_type, str(error))
        traceback.print_exc()  # For the operator: the service's folder has the log of the workers.
        sys.stderr.flush()
        name = type(error).__name__
        if "load" in order:
            return failed("engine_error", f"The weights could not be loaded ({name}); workers.log says more.")
        words = f"The engine broke off ({name}). Nothing was charged; try again, or change the input."
        return failed("engine_error", words)


def perform(order: Mapping[str, Any], emit: Emit, is_cancelled: Callable[[], bool], engines: Engines) -> dict[str, Any]:
    """Execute one run, and return its output."""
    from .engines.protocol import EngineTask, Report

    emit = _without_haste(emit)
    report = Report(emit, is_cancelled)
    request = get_endpoint(order["endpoint"]).input.model_validate(order["input"], context=WIRE)
    check_prompt(request, may_be_unchecked=order["may_be_unchecked"])
    # None of it counts as progress of the run.
    if engines.load(request.endpoint_id, Report(lambda message: emit({**message, "fraction": 0.0}), is_cancelled)):
        emit({"loaded": request.endpoint_id})
    engine, name = engines.find(request)
    emit({"engine": name})
    folder = Path(order["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    sources = _Sources(_fetch_sources(request, order["local"], report))
    task = EngineTask(request, order["seed"], folder, sources, order["may_be_unchecked"])
    return dict(_to_json(engine(task, report)))


def _without_haste(emit: Emit) -> Emit:
    """Emit everything but a report of progress that comes soon after another one."""
    reported_at = 0.0

    def emit_some(message: dict[str, Any]) -> None:
        nonlocal reported_at
        if "stage" in message:
            if time.monotonic() - reported_at < PROGRESS_INTERVAL_SECONDS:
                return
            reported_at = time.monotonic()
        emit(message)

    return emit_some


class _Sources(dict[str, bytes]):
    """The pictures of a run by address. An empty address is none of them, and is refused like any other that is unusable."""

    def __missing__(self, address: str) -> bytes:
        return Fetcher().fetch(address)


def _fetch_sources(request: Input, local: Mapping[str, str], report: Report) -> Iterator[tuple[str, bytes]]:
    addresses = list(dict.fromkeys(address for _, address in pictures_of(request)))
    for number, address in enumerate(addresses, 1):
        report.progress(f"fetching picture {number} of {len(addresses)}", 0.0)
        if address in local:
            yield address, Path(local[address]).read_bytes()
        elif is_data_address(address):
            yield address, decode_data_uri(address)
        else:
            yield address, Fetcher().fetch(address)


def _to_json(value: Any) -> Any:
    """The output as JSON for the pipe, with file names in place of files."""
    from .engines.protocol import OutputFile

    if isinstance(value, OutputFile):
        return {"$made": value.path.name, "content_type": value.content_type, "facts": dict(value.facts)}
    if isinstance(value, Mapping):
        return {name: _to_json(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_json(item) for item in value]
    return value


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


def _limit(limits: Mapping[str, int | None]) -> None:
    """Set the resource limits of this process, where the system supports them."""
    try:
        import resource
    except ImportError:  # Windows has no such limits; there only the service limits the memory.
        return
    os.nice(limits["nice"] or 0)
    for name, limit in (("RLIMIT_DATA", limits["data"]), ("RLIMIT_CORE", 0), ("RLIMIT_FSIZE", limits["file"])):
        if limit is None:
            continue
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (limit, hard))


if __name__ == "__main__":
    main()
