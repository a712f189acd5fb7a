"""How a service is set up: where it keeps things, how much it may use, what it answers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ..models.pricing import Rates
from . import spec_decisions


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can differ between two services."""

    data: Path
    """The folder of its database, files and logs."""
    workers: int = max(1, min(os.cpu_count() or 1, 4))
    """How many runs are worked on at once."""
    spec_only: bool = False
    """Answer with only what the specification shows, for testing clients."""
    rates: Rates = field(default_factory=Rates)
    """Per-unit rates of a lab; empty for the spec's prices."""
    retention: float = spec_decisions.RETENTION_SECONDS
    """How many seconds files are kept."""
    run_seconds: float = spec_decisions.RUN_SECONDS
    """The longest that one run may take."""
    worker_mib: int = 512
    """How much memory a worker may have in use."""
    most_waiting: int = spec_decisions.MAX_WAITING
    """How many requests of one account may wait."""
    hosts: tuple[str, ...] = ()
    """Names beyond localhost by which clients may call it."""
    clock: Callable[[], float] = time.time
    """The time; tests move it."""
