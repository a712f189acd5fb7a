"""The standings of a race: each setting with its estimated score, chance, runs and credits."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

from .standing import Contender, RaceProgress

if TYPE_CHECKING:
    import pandas as pd

    from ..posterior import Belief, FloatArray
    from .rounds import Rounds

FIGURES = ("mean", "low", "high", "chance", "runs", "credits")
"""The columns of a ranking beside the settings' values."""
SHARE = 0.9
"""The probability of the intervals."""


def make_contenders(
    rounds: Rounds, belief: Belief | None, chances: FloatArray | None, costs: Mapping[Hashable, int]
) -> list[Contender]:
    """All settings, those with a score first, the best first; then the others by what their values let expect."""
    settings, counts = rounds.race.settings, rounds.count_runs()
    tried = [[row for row in one.rows if row.number in rounds.round_of] for one in settings]
    paid = [sum(costs.get(row.key, 0) for row in rows) for rows in tried]
    done = [sum(row.key in costs for row in rows) for rows in tried]
    failed = [max(ended - count, 0) for ended, count in zip(done, counts, strict=True)]
    if belief is None or chances is None:
        return [
            Contender(one.number, one.values, None, None, None, None, 0, failed[one.number], paid[one.number])
            for one in settings
        ]
    low, high = belief.bounds(SHARE)
    best = rounds.rank(belief)
    rest = sorted(
        set(range(len(settings))) - set(best), key=lambda one: (rounds.is_given_up(one), -float(belief.mean[one]), one)
    )
    return [
        Contender(
            one, settings[one].values, float(belief.mean[one]), float(low[one]), float(high[one]), float(chances[one]),
            counts[one], failed[one], paid[one],
        )
        if not rounds.is_given_up(one)
        else Contender(one, settings[one].values, None, None, None, 0.0, 0, failed[one], paid[one])
        for one in [*best, *rest]
    ]  # fmt: skip


def make_ranking_frame(progress: RaceProgress) -> pd.DataFrame:
    """One row per setting, the best first, indexed by the number of the setting."""
    import pandas as pd

    from ...storage.table.typed_columns import build_column

    found = progress.contenders
    names = {name: f"setting_{name}" if name in FIGURES else name for name in progress.axes}
    columns: dict[str, Any] = {
        title: build_column([one.values[name] for one in found]).array for name, title in names.items()
    }
    for name in ("mean", "low", "high", "chance"):
        columns[name] = pd.array([getattr(one, name) for one in found], dtype="Float64").to_numpy(
            "float64", na_value=float("nan")
        )
    columns["runs"] = [one.runs for one in found]
    columns["credits"] = [one.credits for one in found]
    return pd.DataFrame(columns, index=pd.Index([one.number for one in found], name="setting"))
