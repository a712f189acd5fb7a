"""What a process of a Dask cluster does for the service: it holds weights between runs, as a worker here does."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from reelbook._version import __version__

from .worker import Engines, run_order

_cancelled: set[str] = set()
_running: set[str] = set()
_engines: list[tuple[Mapping[str, Any], Engines]] = []
"""At most one, with the message that it was made from. Dask runs each task in this process, so that it stays."""


def run_there(task: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Load a model or execute a run in this process; returns the message with the outcome, and the files."""
    if task["version"] != __version__:
        raise RuntimeError(f"it has reelbook {__version__}, the service has {task['version']}")
    from distributed import get_worker

    emit = partial(get_worker().log_event, key)
    emit({"begin": {"worker": get_worker().address, "pid": os.getpid()}})
    os.environ.update(task["environment"])
    if not _engines or _engines[0][0] != task["weights"]:
        drop_weights()
        _engines.append((task["weights"], Engines(task["weights"])))
    _running.add(key)
    try:
        with tempfile.TemporaryDirectory(prefix="reelbook-") as folder:
            made, local = Path(folder, "made"), dict[str, str]()
            for address, content in task["files"].items():
                path = Path(folder, f"source-{len(local)}")
                path.write_bytes(content)
                local[address] = str(path)
            order = {**task["order"], "folder": str(made), "local": local}
            message = run_order(order, emit, partial(_cancelled.__contains__, key), _engines[0][1])
            return _with_files(message, made)
    finally:
        _running.discard(key)
        _cancelled.discard(key)


def cancel_there(key: str) -> None:
    """Request that a run in this process stops between two steps."""
    _cancelled.add(key)


def drop_there() -> None:
    """Drop the weights of this process, unless a run needs them."""
    if not _running:
        drop_weights()


def drop_weights() -> None:
    """Free the memory that the weights of this process take."""
    _engines.clear()
    gc.collect()
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


def _with_files(message: dict[str, Any], folder: Path) -> dict[str, Any]:
    paths = [path for path in folder.iterdir() if path.is_file()] if folder.is_dir() and "done" in message else []
    return {"message": message, "files": {path.name: path.read_bytes() for path in paths}}
