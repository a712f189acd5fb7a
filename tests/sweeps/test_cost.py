"""What runs cost, against sums made by hand."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from reelbook.api import table_accessor  # noqa: F401  # Hangs `table.reel` into pandas.
from reelbook.sweeps.tables import COST_COLUMNS

# What was asked, how it went, credits, who says so, the price told, frames at 24 per second.
RUNS: list[tuple[str, str, int | None, str | None, int | None, int]] = [
    ("480p", "completed", 40, "charged", 53, 48),
    ("480p", "completed", 53, "charged", 53, 96),
    ("480p", "failed", 0, "estimated", 53, 48),
    ("720p", "completed", 106, "charged", 106, 48),
    ("720p", "uncertain", 106, "estimated", 106, 48),
    ("720p", "not started", None, None, None, 48),
    ("4K", "completed", None, None, None, 48),
    ("4K", "completed", 200, "charged", None, 24),
    ("8K", "failed", None, None, None, 48),
    ("8K", "impossible", None, None, None, 48),
    ("16K", "completed", None, None, None, 48),
]


def table(runs: list[tuple[str, str, int | None, str | None, int | None, int]] = RUNS) -> pd.DataFrame:
    """A table of results with what matters for costs."""
    names = ["resolution", "status", "credits", "credits_source", "credits_estimated", "num_frames"]
    frame = pd.DataFrame(runs, columns=names)
    frame["frame_rate"] = 24
    kinds = {"credits": "Int64", "credits_estimated": "Int64", "status": "category", "credits_source": "category"}
    return frame.astype(kinds).rename_axis(index="run")


def row(costs: pd.DataFrame, value: Any) -> list[Any]:
    """One line of the costs, with None for what is not known."""
    found = costs.loc[value].astype(object)
    return list(found.where(found.notna(), None))


def test_sums_and_shares_are_those_made_by_hand() -> None:
    """Charged, estimated, failed, never sent and of unknown price, each where it belongs."""
    costs = table().reel.cost("resolution")

    assert tuple(costs.columns) == COST_COLUMNS
    # 93 credits for two clips of 2 s and 4 s; the failed run was told 53 and cost nothing.
    assert row(costs, "480p") == [3, 2, 93, 159, 93, 6.0, 46.5, 15.5]
    # 106 charged and 106 that may have been: both count for the one success.
    assert row(costs, "720p") == [3, 1, 212, 212, 106, 2.0, 212.0, 106.0]
    # One of two has no price. Its success and its seconds are left out of the shares: 200 for 1 s.
    assert row(costs, "4K") == [2, 2, 200, None, 200, 3.0, 200.0, 200.0]


def test_what_nothing_is_known_of_is_not_said_to_be_free() -> None:
    """A failed run costs nothing; a clip without a price is unknown; neither gives a share."""
    costs = table().reel.cost("resolution")

    assert row(costs, "8K") == [2, 0, 0, 0, 0, 0.0, None, None]
    assert row(costs, "16K") == [1, 1, None, None, 0, 2.0, None, None]


def test_the_whole_table_is_one_line() -> None:
    """If nothing is named; a table without runs has no line at all."""
    whole = table().reel.cost()

    # 505 credits for the four clips of known price, which are 2, 4, 2 and 1 s long; the other two are 2 s each.
    assert row(whole, "all") == [11, 6, 505, 371, 399, 13.0, 126.25, 56.111]
    assert len(table([]).reel.cost()) == 0
    assert len(table([]).reel.cost("resolution")) == 0


@pytest.mark.parametrize("name", ["resolutoin", ["resolution", "nothing"]])
def test_a_column_that_is_not_there_is_named(name: str | list[str]) -> None:
    """Before anything is added up."""
    with pytest.raises(Exception, match="This table has no column"):
        table().reel.cost(name)


def test_texts_stand_in_the_order_of_the_sweep_and_numbers_in_their_own() -> None:
    """A prompt has no place in the alphabet that means anything; a seed has one among seeds."""
    table = pd.DataFrame({"prompt": ["tram", "boat", "fox"], "seed": [3, 1, 2], "status": "completed", "credits": 53})

    assert list(table.reel.cost("prompt").index) == ["tram", "boat", "fox"]
    assert list(table.reel.cost("seed").index) == [1, 2, 3]
