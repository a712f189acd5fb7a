"""A measuring process: it takes one file after another from its pipe, and ends when that closes."""

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
"""How much a process may ask of the system, where that can be limited: a broken file can ask for any size."""


def main() -> None:
    """Measure until the pipe closes."""
    faulthandler.enable()
    # Libraries may print; what goes to the notebook must be ours alone.
    pipe = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _limit()
    # Now, and not with the first file, whose time is limited.
    import av  # noqa: F401
    import PIL.Image  # noqa: F401

    orders: queue.SimpleQueue[Order] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()
    answer: object = "ready"
    while True:
        print(json.dumps(answer), file=pipe, flush=True)
        order = orders.get()
        answer = measure_file(order.path, order.metrics, reference=order.reference)


def _listen(orders: queue.SimpleQueue[Order]) -> None:
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        orders.put(Order(asked["path"], tuple(asked["metrics"]), asked["reference"]))
    # The notebook is gone. Not sys.exit: the main thread may be deep inside a decoder.
    os._exit(0)


def _limit() -> None:
    """Keep this process within its share of the machine, as far as the system lets us."""
    try:
        import resource
    except ImportError:  # Windows has no such limits.
        return
    os.nice(5)
    for kind, most in ((resource.RLIMIT_DATA, MEMORY), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, hard))
