"""What can be measured, as a table that a notebook shows with whole sentences."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from ...media.measuring.metrics import Metric

COLUMNS = ("meaning", "definition", "unit", "range", "better")


class Metrics(pd.DataFrame):
    """A row for each figure. What is made of it is a plain DataFrame."""

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame


def metrics_table(metrics: Mapping[str, Metric]) -> Metrics:
    """What each figure tells, how it is worked out, its unit and range, and which way is better."""
    rows = [[getattr(metric, name) for name in COLUMNS] for metric in metrics.values()]
    return Metrics(rows, columns=list(COLUMNS), index=pd.Index(metrics, name="metric"))
