"""`rb.sweep` and the parts of plans, connected to the current client."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..client import Client, latest_client
from ..models.base import Input
from ..models.catalog import CATALOG
from ..sweeps.execute.job import SweepJob
from ..sweeps.execute.ledger_lookup import CALL_SECONDS, find_known
from ..sweeps.plan.axes import rows, zipped
from ..sweeps.plan.forecast import forecast
from ..sweeps.plan.make_plan import derived
from ..sweeps.plan.plan import Plan
from ..sweeps.plan.plan_file import Models
from ..sweeps.plan.plan_rows import Known
from ..sweeps.plan.prompt_templates import template
from ..sweeps.plan.sampling import sampled
from ..sweeps.plan.sweep_call import Sweep
from ..util.background_loop import background
from . import tables  # noqa: F401  # Registers the renderer of `table.reel`.
from .runs import default_client

if TYPE_CHECKING:
    import pandas as pd

    from ..runs.run import Run

__all__ = ["derived", "rows", "sampled", "sweep", "template", "zipped"]


class _PlanServices:
    """The services of plans, by the current client."""

    def client(self) -> Client:
        """The latest open client, else a new one."""
        return default_client()

    def known(self, plan: Plan) -> Known | None:
        """The rows that the library of the latest client has; None without a client, because a plan alone does not connect."""
        client = latest_client()
        return None if client is None else find_known(plan, client.context)

    def seconds(self, plan: Plan, known: Known | None) -> float | None:
        """The expected duration, from the runs in the library of the latest client; None if unknown."""
        client = latest_client()
        if client is None:
            return None
        due = [row for row in plan.distinct if known is None or not known(row)]
        return forecast(due, client.context.ledger, background.wait(client.context.name(), CALL_SECONDS))

    def panel(self, job: SweepJob) -> object:
        """A panel with buttons, for display or a layout."""
        from ..widgets.panel import Panel

        return Panel(job)

    def is_watched(self) -> bool:
        """Whether the process is the kernel of a notebook."""
        from ..display.run_progress import get_kernel_shell

        return get_kernel_shell() is not None

    def watching(self, job: SweepJob) -> AbstractContextManager[object]:
        """Progress while the block lasts: a panel in a notebook, a line in a terminal."""
        from ..display.sweep_progress import watch_job
        from ..widgets.panel import show_buttons

        return watch_job(job, show_buttons)


class _Sweep(Sweep):
    __doc__ = Sweep.__doc__

    def __call__(self, base: Input | Run | pd.Series[Any] | pd.DataFrame, /, *parts: Any, **axes: Any) -> Plan:
        """Every combination of the parts and axes, the last one varying fastest; nothing is sent.

        For a run, or a row of a table of runs such as `table.loc[[7]]`, the input of that run is varied.
        """
        if not isinstance(base, (Input, type)):
            from .run_arguments import find_input

            base = cast("Input", find_input(base, "rb.sweep"))
        return replace(super().__call__(base, *parts, **axes), services=_services)

    def read(self, path: str | Path, *, models: Models | None = None) -> Plan:
        """The plan in a file that `plan.to_toml(path)` wrote."""
        return replace(super().read(path, models=models or _find_model), services=_services)


def _find_model(endpoint_id: str) -> type[Input]:
    """The input class of a model, from the catalog or else from the service's description."""
    known_here = next((row.input for row in CATALOG if row.id == endpoint_id), None)
    return known_here or default_client().model(endpoint_id)


_services = _PlanServices()
sweep = _Sweep()
