"""The rules for a worker process: its patience, its limits and its environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import spec_decisions

LOST_DEVICE = 70
"""The exit code of a worker whose device failed: it answers nothing more in that process."""


@dataclass(frozen=True, slots=True)
class WorkerRules:
    """What a worker may do. The defaults are those of workers on the CPU, of which several share the cores."""

    cancel_seconds: float = 0.8
    """How long a cancelled run may take to end before its process is killed."""
    idle_seconds: float | None = 120.0
    """How long a worker without runs is kept; None for ever."""
    run_seconds: float | None = None
    """The time limit of a run, without loading; None for that of the settings."""
    load_seconds: float | None = None
    """The time limit of loading, which comes before each run; None where nothing is loaded."""
    limits_memory: bool = True
    nice: int = 5
    attempts: int = spec_decisions.MAX_ATTEMPTS
    """How many workers a run may cost."""
    first_message: Mapping[str, Any] | None = None
    """What the process is sent before its first run: the weights that it has to load."""
    environment: Mapping[str, str] = field(
        # One thread per library: several workers share the cores already. Few malloc arenas: each can retain memory.
        # Two blocks of Pillow's: pictures of one run tend to have one size, and allocating new pages each time took a
        # tenth of the total time.
        default_factory=lambda: {
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
            "MALLOC_ARENA_MAX": "2",
            "PILLOW_BLOCKS_MAX": "2",
        }
    )


CPU_RULES = WorkerRules()


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
