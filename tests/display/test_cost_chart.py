"""The chart of costs and its table: right lengths, all words, nothing from outside that acts."""

from __future__ import annotations

import re
from xml.etree import ElementTree as Tree

import pandas as pd
import pytest

from reelbook.display.cost_chart import BAR, NOTHING, render_cost_svg, render_costs
from reelbook.sweeps.results.cost import Costs, make_costs

DRAWN = "{http://www.w3.org/2000/svg}"
FULL = 100 - 31 - 4 - 4 * 2.3
"""The percents that the longest bar takes."""
HOSTILE = '"><script>alert(1)</script><b onclick=x>&amp;'


def costs(rows: list[tuple[object, int | None, str, int | None]], by: str = "value") -> Costs:
    """The costs of completed runs: value, credits, who says so, the price told before."""
    names = [by, "credits", "credits_source", "credits_estimated"]
    table = pd.DataFrame(rows, columns=names).assign(status="completed")
    table = table.astype({"credits": "Int64", "credits_estimated": "Int64"})
    return make_costs(table, [by], [1.0] * len(table))


def bars(svg: str) -> list[list[tuple[float, float]]]:
    """Start and width of every bar's parts in percent, value by value; also proves that the drawing is well-formed."""
    found = []
    for group in Tree.fromstring(svg).iter(f"{DRAWN}g"):
        rects = [rect for rect in group.iter(f"{DRAWN}rect") if int(rect.attrib["height"]) >= BAR - 1]
        found.append([tuple(float(rect.attrib[name].rstrip("%")) for name in ("x", "width")) for rect in rects])
    return found  # type: ignore[return-value]  # Each tuple has the two that were named.


def words(svg: str) -> list[str]:
    """Every text that is drawn."""
    return [text.text or "" for text in Tree.fromstring(svg).iter(f"{DRAWN}text")]


def test_bars_are_as_long_as_what_they_say() -> None:
    """Solid as far as it was charged, light for the rest; the longest takes all of the width there is."""
    svg = render_cost_svg(
        costs(
            [("a", 100, "charged", 100), ("b", 30, "charged", 30), ("b", 20, "estimated", 20), ("c", 0, "charged", 0)]
        )
    )

    (a,), b, c = bars(svg)
    assert a[1] == pytest.approx(FULL)
    assert [part[1] for part in b] == [pytest.approx(0.3 * FULL, abs=0.01), pytest.approx(0.2 * FULL, abs=0.01)]
    assert b[1][0] == pytest.approx(b[0][0] + b[0][1], abs=0.02)
    assert c == []
    assert {"100", "≈ 50", "0", "charged", "unconfirmed"} <= set(words(svg))


def test_a_mark_stands_where_the_estimate_was_and_only_where_it_was_another() -> None:
    """Half of what was charged: in the middle of the bar; where all went as estimated, the legend says so."""
    off, as_told = (render_cost_svg(costs([("a", 106, "charged", told)])) for told in (53, 106))

    (mark,) = [
        line for group in Tree.fromstring(off).iter(f"{DRAWN}g") for line in group.iter(f"{DRAWN}line")
    ]  # fmt: skip
    ((start, width),) = bars(off)[0]
    assert float(mark.attrib["x1"].rstrip("%")) == pytest.approx(start + width / 2, abs=0.01)
    assert "estimated" in words(off)
    assert "charged, as estimated" in words(as_told)
    assert not [line for group in Tree.fromstring(as_told).iter(f"{DRAWN}g") for line in group.iter(f"{DRAWN}line")]


def test_what_is_not_known_is_said() -> None:
    """No price at all is no bar, and no zero either."""
    shown = costs([("a", None, "estimated", None), ("b", 53, "charged", 53)])

    svg, html = render_cost_svg(shown), render_costs(shown)

    assert bars(svg)[0] == []
    assert "unknown" in words(svg)
    assert "<td>–</td>" in html
    assert html.count("<td>≥ 53</td>") == 2


def test_tables_that_do_not_know_who_charged_have_bars_of_one_kind() -> None:
    """And no legend, for there is nothing to tell apart."""
    table = pd.DataFrame({"seed": [1, 2], "status": "completed", "credits": [53, 106]})

    svg = render_cost_svg(make_costs(table, ["seed"], [1.0, 1.0]))

    assert [len(parts) for parts in bars(svg)] == [1, 1]
    assert words(svg) == ["Credits by seed", "1", "53", "2", "106"]


def test_of_many_values_the_highest_are_drawn_and_the_rest_is_counted() -> None:
    """Sixty values: twenty-four bars from the dearest on, and what the others come to. The table says so too."""
    shown = costs([(number, number, "charged", number) for number in range(60)])

    svg, html = render_cost_svg(shown), render_costs(shown)

    assert len(bars(svg)) == 24
    assert "Credits by value, the 24 highest of 60" in words(svg)
    assert words(svg)[1:3] == ["59", "59"]
    assert f"and 36 more · {sum(range(36))} credits in all" in words(svg)
    assert "all 60, 36 not shown" in html
    assert f"<td>{sum(range(60)):,}</td>" in html


def test_two_columns_are_drawn_in_groups() -> None:
    """The values of the first are headings; those of the second stand beside their bars."""
    table = pd.DataFrame(
        {"tier": ["1K", "1K", "2K"], "seed": [1, 2, 1], "status": "completed", "credits": [11, 11, 22]}
    )

    svg = render_cost_svg(make_costs(table, ["tier", "seed"], [1.0] * 3))

    assert words(svg) == ["Credits by tier · seed", "1K", "1", "11", "2", "11", "2K", "1", "22"]


def test_prompts_that_begin_alike_can_be_told_apart() -> None:
    """Cut from the right they would all read the same."""
    begin = "a paper boat on a rainy street in the old town "
    svg = render_cost_svg(costs([(f"{begin}at {when}", 53, "charged", 53) for when in ("dawn", "dusk", "night")]))

    assert {"… dawn", "… dusk", "… night"} <= set(words(svg))
    assert f"{begin}at dawn: 53 credits" in svg


def test_it_is_read_out_as_a_sentence_for_each_value() -> None:
    """A screen reader gets a name, the figures, and a table that can be reached by keyboard."""
    html = render_costs(costs([("a", 53, "charged", 50), ("b", 106, "estimated", 106)]))

    assert 'role="img"' in html
    assert 'aria-label="Credits by value. a: 53 credits, estimated 50. b: 106 credits, 0 of them charged."' in html
    assert 'role="region" tabindex="0" aria-label="Costs as a table"' in html
    assert html.count('scope="row"') == 3


@pytest.mark.parametrize("name", ["value", HOSTILE])
def test_words_of_others_stay_words(name: str) -> None:
    """In values and in names of columns: nothing of them becomes an element, an attribute or a script."""
    html = render_costs(costs([(HOSTILE, 53, "charged", 53), ("\u202eoff", 1, "charged", 1)], by=name))

    assert "<script" not in html
    assert "<b " not in html
    assert "onclick=x>" not in html
    assert re.search(r"\son\w+=", re.sub(r'"[^"]*"|>[^<]*<', "", html)) is None
    assert "&lt;script&gt;" in html
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", html)
    assert ' id="' not in html


@pytest.mark.parametrize("value", ["a\ud800b", ["a\ud800b"], {"a\ud800": 1}], ids=["text", "list", "dict"])
def test_half_a_character_breaks_nothing(value: object) -> None:
    """It can be grouped by, apart from the other half, and what is shown of it can be sent; a name may have one, too."""
    values = pd.Series([value, "a\udfffb", "a", value], dtype=object)
    table = pd.DataFrame({"kind": values, "status": "completed", "credits": [60, 10, 1, 40]})
    table.columns = pd.Index(["n\ud800", "status", "credits"], dtype=object)
    found = make_costs(table, ["n\ud800"], [1.0] * 4)

    shown = render_costs(found)

    assert sorted(found["credits"]) == [1, 10, 100]
    assert render_cost_svg(found).encode()
    assert shown.encode()
    assert "Credits by n?" in shown
    assert render_costs(Costs(found[["credits"]])).encode()


def test_a_category_may_have_half_a_character() -> None:
    """Categories are grouped by as they are, and shown as all else."""
    kinds = pd.Categorical.from_codes([0, 1], categories=pd.Index(["a\ud800b", "c"], dtype=object))
    table = pd.DataFrame({"kind": kinds, "status": "completed", "credits": [1, 2]})

    shown = render_costs(make_costs(table, ["kind"], [1.0, 1.0]))

    assert shown.encode()
    assert "a?b" in shown


def test_where_drawings_are_removed_their_words_are_hidden() -> None:
    """A host that takes away the sheet takes the drawing, too, and leaves its words: in a block that only the sheet opens."""
    html = render_costs(costs([("a", 53, "charged", 53)]))

    assert re.search(r'<div class="rb-costs-chart" hidden style="display:none"><svg', html)
    assert re.search(r"\.rb-costs-chart\s*\{display: block !important", html)
    assert html.index("</svg></div>") < html.index("<table>")


def test_no_runs_are_a_sentence() -> None:
    """No empty axes and no empty table."""
    shown = costs([])

    assert NOTHING in render_cost_svg(shown)
    assert "<svg" not in render_costs(shown)
    assert "<table" not in render_costs(shown)
    assert NOTHING in render_costs(shown)


def test_costs_that_somebody_has_changed_are_shown_as_pandas_does() -> None:
    """A column more or less in the very same object, and it is a table like any other."""
    shown = costs([("a", 53, "charged", 53)])

    shown["mine"] = 7

    assert "<svg" not in render_costs(shown)
    assert "mine" in render_costs(shown)


def test_gaps_and_fractions_and_texts_have_labels() -> None:
    """As a person writes them, the empty text in quotes."""
    labels = [words(render_cost_svg(costs([(value, 1, "charged", 1)])))[1] for value in (0.5, None, True, "")]

    assert labels == ["0.5", "not set", "True", '""']
