"""The main function of a measuring process: it reads orders from its pipe, and exits when that closes."""

from __future__ import annotations

import faulthandler
import json
import os
import queue
import sys
import threading

from .measure_file import measure_file
from .measure_pool import Order

MEMORY = 6 * 1024**3
"""Memory limit of a process, on systems that support it: a broken file can request any size."""


def main() -> None:
    """Measure files until the pipe closes."""
    faulthandler.enable()
    # Libraries may print to stdout; only our messages may reach the parent.
    pipe = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _limit()
    # Imported before the first file, whose time is limited.
    import av  # noqa: F401
    import PIL.Image  # noqa: F401

    orders: queue.SimpleQueue[Order] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()
    message: object = "ready"
    while True:
        print(json.dumps(message), file=pipe, flush=True)
        order = orders.get()
        message = measure_file(order.path, order.metrics, reference=order.reference)


def _listen(orders: queue.SimpleQueue[Order]) -> None:
    for line in sys.stdin.buffer:
        fields = json.loads(line)
        orders.put(Order(fields["path"], tuple(fields["metrics"]), fields["reference"]))
    # The parent has exited. Not sys.exit: the main thread may be inside a decoder.
    os._exit(0)


def _limit() -> None:
    """Limit this process's priority, memory and core dumps, where the system supports it."""
    try:
        import resource
    except ImportError:  # Windows has no such limits.
        return
    os.nice(5)
    for kind, limit in ((resource.RLIMIT_DATA, MEMORY), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(kind)[1]
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (limit, hard))
