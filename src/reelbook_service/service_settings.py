"""Settings of a service."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs

from reelbook.models.catalog import Rates

from . import spec_decisions
from .lanes import LaneTable


@dataclass(frozen=True, slots=True)
class Settings:
    """Folder, limits and options of a service."""

    data: Path
    """The folder of its database, files and logs."""
    workers: int = max(1, min(os.cpu_count() or 1, 4))
    """How many runs are executed concurrently."""
    spec_only: bool = False
    """Offer only what the specification lists, for testing clients."""
    rates: Rates = field(default_factory=dict)
    """Custom per-unit rates; empty for the prices of the specification."""
    retention: float = spec_decisions.RETENTION_SECONDS
    """How many seconds files are stored."""
    run_seconds: float = spec_decisions.RUN_SECONDS
    """The time limit of one run, in seconds."""
    worker_mib: int = 640
    """How much memory a worker may allocate, in MiB."""
    max_waiting: int = spec_decisions.MAX_WAITING
    """How many requests of one account may wait."""
    lanes: LaneTable = field(default_factory=LaneTable)
    """Which engine answers for each model."""
    hosts: tuple[str, ...] = ()
    """Host names beyond localhost that clients may use."""
    has_board: bool = False
    """Whether there is a board at /class."""
    clock: Callable[[], float] = time.time
    """The current time; tests replace it."""


def default_data() -> Path:
    """The folder of a service that is given none."""
    return platformdirs.user_data_path("reelbook") / "service"
