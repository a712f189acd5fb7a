"""The door to sweeps: what a notebook plans with, with a client behind it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from .clients import Client, latest_client
from .connecting import default_client
from .models.base import Input
from .models.catalog import CATALOG
from .sweeps.axes import rows, zipped
from .sweeps.job import SweepJob
from .sweeps.knowing import known
from .sweeps.plan import Plan
from .sweeps.planfile import Models
from .sweeps.planning import derived
from .sweeps.prompts import template
from .sweeps.rows import Known
from .sweeps.sampling import sampled
from .sweeps.sweep import Sweep

__all__ = ["derived", "rows", "sampled", "sweep", "template", "zipped"]


class _House:
    """What plans get from here."""

    def client(self) -> Client:
        """The latest open client, else a new one."""
        return default_client()

    def known(self, plan: Plan) -> Known | None:
        """Which rows the library of the latest client has. Nothing is connected only to show a plan."""
        client = latest_client()
        return None if client is None else known(plan, client.desk)

    def watching(self, job: SweepJob) -> AbstractContextManager[object]:
        """A panel in a notebook, a line in a terminal."""
        from .display.sweeps import watch_job

        return watch_job(job)


class _Sweep(Sweep):
    """Planning, for those who have a client."""

    def __call__(self, base: Input, /, *parts: Any, **axes: Any) -> Plan:
        """Every combination of the parts and axes, the last one varying fastest; nothing is sent."""
        return replace(super().__call__(base, *parts, **axes), house=_house)

    def read(self, path: str | Path, *, models: Models | None = None) -> Plan:
        """The plan in a file that `plan.to_toml(path)` wrote."""
        return replace(super().read(path, models=models or _model), house=_house)


def _model(endpoint_id: str) -> type[Input]:
    """The input of a model: of the catalog without anybody's help, else as the service describes it."""
    known_here = next((row.input for row in CATALOG if row.id == endpoint_id), None)
    return known_here or default_client().model(endpoint_id)


_house = _House()
sweep = _Sweep()
