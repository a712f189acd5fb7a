"""A worker: a process of its own that does one run after another and talks to the service through pipes.

Decoders that crash, pictures that explode in memory and engines that hang take this process with them, never the
notebook. It ends by itself when its pipe closes, so a service that is killed leaves nothing behind.
"""

from __future__ import annotations

import faulthandler
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
from typing import Any

from ..models.base import WIRE, Input
from ..models.catalog import endpoint
from ..models.images import pictures_of
from .fetch_pictures import Fetcher, SourceError, data_uri
from .prompt_check import ContentRefused, check

NEWS_EVERY_SECONDS = 0.1

Emit = Callable[[dict[str, Any]], None]


class Cancelled(Exception):
    """The service asked us to stop."""


def main() -> None:
    """Work until the pipe closes."""
    faulthandler.enable()
    # Libraries may print; what goes to the service must be ours alone.
    pipe = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
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
            continue
        emit(outcome(order, emit, partial(cancelled.__contains__, order["id"])))
        cancelled.discard(order["id"])


def outcome(order: Mapping[str, Any], emit: Emit, is_cancelled: Callable[[], bool]) -> dict[str, Any]:
    """Do one run; whatever happens, there is a message that says how it ended."""
    # Here, because Pillow and its friends are needed by now and not a moment earlier.
    from .engines.protocol import PictureError

    try:
        return {"done": perform(order, emit, is_cancelled)}
    except Cancelled:
        return _failed("cancelled", "The request was cancelled; its credits were given back.")
    except ContentRefused as error:
        return _failed("content_policy_violation", str(error))
    except SourceError as error:
        return _failed("file_download_error", str(error))
    except PictureError as error:
        return _failed("image_load_error", str(error))
    except MemoryError:
        return _failed(
            "engine_error",
            "The run needed more memory than a worker has. Make it smaller: fewer frames, or smaller pictures.",
        )
    except Exception as error:
        traceback.print_exc()  # For whoever runs the service: its folder keeps the log of the workers.
        sys.stderr.flush()
        return _failed(
            "engine_error",
            f"The engine broke off ({type(error).__name__}). Nothing was charged; try again, or change the input.",
        )


def perform(order: Mapping[str, Any], emit: Emit, is_cancelled: Callable[[], bool]) -> dict[str, Any]:
    """One run from its input to its files."""
    from .engines.engine_table import engine_for
    from .engines.protocol import Job, Log, Progress

    request = endpoint(order["endpoint"]).input.model_validate(order["input"], context=WIRE)
    check(request, may_be_unchecked=order["may_be_unchecked"])
    engine = engine_for(request)
    emit({"engine": f"{engine.name} {engine.version}"})
    folder = Path(order["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    sources = dict(_fetched(request, order["local"], emit, is_cancelled))
    work = engine(Job(request, order["seed"], folder, sources))
    told = 0.0
    while True:
        if is_cancelled():
            work.close()
            raise Cancelled
        try:
            news = next(work)
        except StopIteration as stop:
            return dict(_portable(stop.value))
        if isinstance(news, Log):
            emit({"log": news.message, "level": news.level})
        elif isinstance(news, Progress) and time.monotonic() - told >= NEWS_EVERY_SECONDS:
            told = time.monotonic()
            emit({"stage": news.stage, "fraction": news.fraction})


def _fetched(
    request: Input, local: Mapping[str, str], emit: Emit, is_cancelled: Callable[[], bool]
) -> Iterator[tuple[str, bytes]]:
    addresses = list(dict.fromkeys(address for _, address in pictures_of(request)))
    for number, address in enumerate(addresses, 1):
        if is_cancelled():
            raise Cancelled
        emit({"stage": f"fetching picture {number} of {len(addresses)}", "fraction": 0.0})
        if address in local:
            yield address, Path(local[address]).read_bytes()
        elif address.lower().startswith("data:"):
            yield address, data_uri(address)
        else:
            yield address, Fetcher().fetch(address)


def _portable(value: Any) -> Any:
    """The output with every file as its name, for the trip through the pipe."""
    from .engines.protocol import Made

    if isinstance(value, Made):
        return {"$made": value.path.name, "content_type": value.content_type, "facts": dict(value.facts)}
    if isinstance(value, Mapping):
        return {name: _portable(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_portable(item) for item in value]
    return value


def _failed(error_type: str, detail: str) -> dict[str, Any]:
    return {"failed": {"error_type": error_type, "detail": detail}}


def _listen(orders: queue.SimpleQueue[dict[str, Any]], cancelled: set[str]) -> None:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "cancel" in message:
            cancelled.add(message["cancel"])
        else:
            orders.put(message)
    # The service is gone. Not sys.exit: the main thread may be deep inside a library.
    os._exit(0)


def _limit(limits: Mapping[str, int]) -> None:
    """Keep this process within its share of the machine, as far as the system lets us."""
    try:
        import resource
    except ImportError:  # Windows has no such limits; there the service watches us from outside alone.
        return
    os.nice(limits["nice"])
    for name, figure in (("RLIMIT_DATA", limits["data"]), ("RLIMIT_CORE", 0), ("RLIMIT_FSIZE", limits["file"])):
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        figure = figure if hard == resource.RLIM_INFINITY else min(figure, hard)
        resource.setrlimit(kind, (figure, hard))


if __name__ == "__main__":
    main()
