"""`rb.sweep` and the parts of a plan; a plan is also made of a run, or of a row of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..current import session
from ..models.base import Input
from ..sweeps.parts import rows, sampled, template, zipped
from ..sweeps.plan import Plan
from ..sweeps.sweep_call import FindModel, Sweep, derived

if TYPE_CHECKING:
    import pandas as pd

    from ..runs.run import Run

__all__ = ["derived", "rows", "sampled", "sweep", "template", "zipped"]


class _Sweep(Sweep):
    __doc__ = Sweep.__doc__

    def __call__(self, base: Input | Run | pd.Series[Any] | pd.DataFrame, /, *parts: Any, **axes: Any) -> Plan:
        """Plan every combination of the parts and axes, the last one varying fastest; nothing is sent.

        For a run, or a row of a table of runs such as `table.loc[[7]]`, the input of that run is varied.
        """
        if not isinstance(base, (Input, type)):
            from .tables import find_input

            base = cast("Input", find_input(base, "rb.sweep"))
        return super().__call__(base, *parts, **axes)

    def read(self, path: str | Path, *, models: FindModel | None = None) -> Plan:
        """Read the plan in a file written by `plan.to_toml(path)`."""
        return super().read(path, models=models or session.model)


sweep = _Sweep()
