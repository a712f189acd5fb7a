"""The table of costs: bars of the right length, every figure, and nothing from outside that acts."""

from __future__ import annotations

import re

import pandas as pd

from reelbook.display.cost_chart import render_costs
from reelbook.sweeps.tables import Costs, compute_costs


def costs(rows: list[tuple[object, int | None, str, int | None]], by: str = "value") -> Costs:
    """The costs of completed runs: value, credits, their source, the earlier estimate."""
    names = [by, "credits", "credits_source", "credits_estimated"]
    table = pd.DataFrame(rows, columns=names).assign(status="completed", num_frames=24, frame_rate=24)
    table = table.astype({"credits": "Int64", "credits_estimated": "Int64"})
    return compute_costs(table, by)


def bars(html: str) -> list[dict[str, float]]:
    """The parts of every bar and where they end or stand, in percent."""
    return [
        {name: float(share) for name, share in re.findall(r'<i class="rb-costs-(\w+)" style="\w+:([\d.]+)%">', bar)}
        for bar in re.findall(r'<td class="rb-costs-bar".*?</td>', html)
    ]


def cells(html: str) -> list[list[str]]:
    """The words of the table, row by row."""
    rows = re.findall(r"<tr>(.*?)</tr>", html)
    return [[re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)] for row in rows]


def test_bars_are_as_long_as_their_figures() -> None:
    """Solid as far as it was charged, light for the rest; an estimate that was another is marked."""
    html = render_costs(
        costs([("a", 100, "charged", 50), ("b", 30, "charged", 30), ("b", 20, "estimated", 20), ("c", 0, "charged", 0)])
    )

    assert bars(html) == [
        {"sure": 100, "unsure": 0, "mark": 50},
        {"sure": 30, "unsure": 20},
        {"sure": 0, "unsure": 0},
    ]
    assert [row[4] for row in cells(html)[1:4]] == ["100", "≈ 50", "0"]
    assert "The light part of a bar is not confirmed" in html
    assert "The mark is the estimate." in html


def test_an_unknown_price_is_no_bar_and_no_zero() -> None:
    html = render_costs(costs([("a", None, "estimated", None), ("b", 53, "charged", 53)]))

    assert bars(html)[0] == {}
    assert "<td>–</td>" in html
    assert html.count("<td>≥ 53</td>") == 2


def test_of_many_values_the_most_expensive_are_listed_and_all_are_summed() -> None:
    rows = cells(render_costs(costs([(number, number, "charged", number) for number in range(60)])))

    assert [row[0] for row in rows[1:-1]] == [str(number) for number in range(59, 35, -1)]
    assert rows[-1][0] == "all 60, 36 cheaper ones not shown"
    assert f"{sum(range(60)):,}" in rows[-1]


def test_costs_with_a_column_of_somebody_are_shown_by_pandas() -> None:
    shown = costs([("a", 53, "charged", 53)])

    shown["mine"] = 7

    assert "rb-costs" not in render_costs(shown)
    assert "mine" in render_costs(shown)
