"""What is true of every sweep, whatever is swept: drawn by hypothesis, beside the laws in the tests of each module."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reelbook.storage.run_identity import dumps
from reelbook.storage.run_status import RunStatus
from reelbook.sweeps.ledger_lookup import RunName
from reelbook.sweeps.parts import rows, template
from reelbook.sweeps.plan import Plan
from reelbook.sweeps.progress import Standing
from reelbook.sweeps.sweep_call import sweep
from reelbook.sweeps.tables import PLAN_COLUMNS, build_frame
from tests.support import examples
from tests.sweeps.axes import AXES, BOAT

WORDS = st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=3)


@pytest.mark.parametrize(
    ("seeds", "types"),
    [
        ([2**63], ("UInt64", "UInt64")),
        ([None, 2**63, 5], ("UInt64", "UInt64")),
        ([2**64], ("object", "string")),
        ([2**63, -5, None], ("object", "string")),
    ],
)
def test_seeds_are_exact_to_the_last_digit_in_both(seeds: list[int | None], types: tuple[str, str]) -> None:
    """What no column of numbers holds is kept as it is in a plan, which can be planned from, and as text in a table, which is saved."""
    plan = sweep(BOAT, seed=seeds)

    planned, table = plan.frame["seed"], _table(plan, ["failed"])["seed"]

    assert (str(planned.dtype), str(table.dtype)) == types
    assert _exact(planned) == _exact(table) == seeds


def _exact(column: pd.Series[Any]) -> list[int | None]:
    return [None if pd.isna(value) else int(value) for value in column]


@settings(max_examples=examples(10, 40), deadline=None)
@given(
    axes=AXES,
    takes=st.integers(1, 2),
    some_statuses=st.lists(st.sampled_from(["failed", RunStatus.NOT_STARTED]), min_size=1),
)
def test_the_plan_and_the_table_of_results_agree_row_by_row(
    axes: dict[str, list[Any]], takes: int, some_statuses: list[str]
) -> None:
    """The same inputs, of the same types, under the same numbers; what is impossible in one is so in the other, for the same reason."""
    plan = sweep(BOAT, **axes).repeated(takes)

    planned, table = plan.frame, _table(plan, some_statuses)

    inputs = [name for name in planned.columns if name not in PLAN_COLUMNS]
    assert _exact(planned["seed"]) == _exact(table["seed"])
    alike = [name for name in (*inputs, "take") if name != "seed" or planned["seed"].dtype != object]
    pd.testing.assert_frame_equal(table[alike], planned[alike])
    impossible = planned["problem"].notna()
    assert ((table["status"] == RunStatus.IMPOSSIBLE) == impossible).all()
    assert table.loc[impossible, "error"].tolist() == planned.loc[impossible, "problem"].tolist()
    assert (table["input_json"].isna() == impossible).all()


@settings(max_examples=examples(7, 30), deadline=None)
@given(
    axes=AXES,
    cells=st.lists(st.fixed_dictionaries({"note": st.text("xyz", max_size=3)}), min_size=1, max_size=3),
    words=WORDS,
)
def test_labels_too_agree_row_by_row(axes: dict[str, list[Any]], cells: list[dict[str, str]], words: list[str]) -> None:
    """The words of a template, columns that are kept, and columns that are computed."""
    axes = {name: values for name, values in axes.items() if name != "prompt"}
    plan = sweep(BOAT, template("a {thing}", thing=words), rows(cells, keep=["note"]), **axes)
    plan = plan.derived(long=lambda run: len(run.thing) > 1)

    planned, table = plan.frame, _table(plan, [RunStatus.NOT_STARTED])

    labels = ["thing", "note", "long"]
    assert planned["thing"].tolist() == [row["thing"] for row in plan]
    assert planned["note"].tolist() == [row["note"] for row in plan]
    pd.testing.assert_frame_equal(table[labels], planned[labels])


def _table(plan: Plan, statuses: list[str]) -> pd.DataFrame:
    """The table of results of a plan of which nothing is known but how its rows stand."""
    standings = [
        Standing(row, None, status=RunStatus.IMPOSSIBLE, error_type="impossible", error=row.problem)
        if row.input is None
        else Standing(row, RunName("x", row.take, dumps(row.input.wire())), status=statuses[row.number % len(statuses)])
        for row in plan
    ]
    return build_frame(plan, standings, [None] * len(plan), {})
