"""Lanes: which engine works on the queued requests of each model, and what a lane has to do."""

from __future__ import annotations

import asyncio
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reelbook.models.base import Input
    from reelbook.models.catalog import Estimate

    from .accounts import Account
    from .core import Service
    from .queue import Request

LOCAL = "local"
"""The name of the lane whose runs are made on this machine, by the worker pool."""
DEVICES = "weights:"
"""How the names of lanes begin whose runs are made on devices of ours, by real weights: here, or on a cluster."""
DASK = "dask:"
"""How the name of a device begins that is the GPUs of a Dask cluster: `dask:tcp://scheduler:8786`."""


class Lane(ABC):
    """Works on the queued requests of some models: takes them from the queue, one or several at once, and ends them."""

    def __init__(self, service: Service, name: str) -> None:
        self.name = name
        self._service = service
        self._folder = service.settings.data / f"work-{re.sub('[^A-Za-z0-9]+', '-', name)}"
        """Has a folder for each request in progress, with the files that are made for it."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(mode=0o700)
        self._tasks: list[asyncio.Task[None]] = []

    @abstractmethod
    def start(self) -> None:
        """Start to take requests from the queue."""

    async def stop(self) -> None:
        """Stop; unfinished requests are taken up again by the next service with this data."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    @abstractmethod
    async def cancel(self, request: Request) -> bool:
        """Cancel a request in progress; false where it can no longer be cancelled."""

    @abstractmethod
    async def estimate(self, request: Input, account: Account) -> Estimate:
        """The price that is reserved for a run, and never exceeded; raises a refusal for an input that it cannot run."""


@dataclass(frozen=True, slots=True)
class LaneTable:
    """The lane of each model. Models that are not named have the local one."""

    by_model: Mapping[str, str] = field(default_factory=dict)
    makers: Mapping[str, Callable[[Service], Lane]] = field(default_factory=dict, compare=False)
    """How all lanes but the local one are made, by name."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What `/` and `/docs` say about them."""
    sources: tuple[object, ...] = ()
    """What the lanes are made from: two tables are equal if these are."""
    weights_id: str = ""
    """A short name of exactly the weights that run some models here."""
    is_secret: Callable[[str], bool] = field(default=lambda text: False, compare=False)
    """Whether a text contains a key that this process uses, which no worker process may inherit."""

    @property
    def has_elsewhere(self) -> bool:
        """Whether a paid service runs some of the models."""
        return not all(is_on_this_machine(name) for name in self.by_model.values())

    def lane_of(self, endpoint_id: str) -> str:
        """The name of the lane of a model."""
        return self.by_model.get(endpoint_id, LOCAL)

    def label_of(self, endpoint_id: str) -> str:
        """Which engine answers for a model, in words."""
        return self.labels.get(self.lane_of(endpoint_id), LOCAL)

    def resumed_lane(self, lane: str, endpoint_id: str) -> str:
        """The lane that takes up a run of an earlier process.

        What was to be run on this machine moves along with its model's engine, unless that is a paid service by
        now: its price was never quoted there. What may have been sent to another service stays.
        """
        current = self.lane_of(endpoint_id)
        return current if is_on_this_machine(lane) and is_on_this_machine(current) else lane


def is_on_this_machine(lane: str) -> bool:
    """Whether the runs of a lane, by its name or its label, are made here and cost nothing at a paid service.

    >>> [is_on_this_machine(name) for name in ("local", "weights:cuda:0", "hosted:paid", "hosted (paid)")]
    [True, True, False, False]
    """
    return lane == LOCAL or lane.startswith(DEVICES)
