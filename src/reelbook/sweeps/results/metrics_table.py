"""The table of available metrics, which notebooks display without truncation."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from ...media.measuring.metrics import Metric

COLUMNS = ("meaning", "definition", "unit", "range", "better")


class Metrics(pd.DataFrame):
    """A DataFrame with one row per metric. Operations on it return a plain DataFrame."""

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame


def metrics_table(metrics: Mapping[str, Metric]) -> Metrics:
    """A table with the meaning, definition, unit, range and better direction of each metric."""
    rows = [[getattr(metric, name) for name in COLUMNS] for metric in metrics.values()]
    return Metrics(rows, columns=list(COLUMNS), index=pd.Index(metrics, name="metric"))
