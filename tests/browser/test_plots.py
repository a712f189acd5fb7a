"""Plots in a browser: posters on hover, players on a click, selections that are those of the table, all with keys alone, too."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Locator, expect

from reelbook.display.plots.plot_html import Plot, plot_bundle
from reelbook.display.tables.table_html import table_bundle
from tests.browser.bare_page import Open
from tests.browser.fake_kernel import answer_requests
from tests.browser.looks import shot

pytestmark = pytest.mark.browser

PLOT = "[data-rb-plot]"
SENT = """() => {
  window.sent = [];
  addEventListener("reelbook:selected", event => sent.push([event.detail.key, event.detail.rows]));
}"""


@pytest.fixture(scope="module")
def table(clips: list[str]) -> pd.DataFrame:
    """A sweep of 24 runs, of which three have no sharpness."""
    count, rng = 24, np.random.default_rng(2)
    return pd.DataFrame(
        {
            "prompt": "a paper boat on a rainy street", "seed": pd.array([row % 4 for row in range(count)], dtype="Int64"),
            "num_frames": [(49, 97, 121)[row // 4 % 3] for row in range(count)], "frame_rate": 24,
            "resolution": [("480p", "720p")[row // 12] for row in range(count)], "status": "completed",
            "credits": 53, "credits_source": "charged", "motion": rng.random(count),
            "sharpness": [None if row % 10 == 3 else float(value) for row, value in enumerate(rng.random(count))],
            "output_video": [clips[row % 3] for row in range(count)],
        },
        index=pd.RangeIndex(count, name="run"),
    )  # fmt: skip


def html_of(table: pd.DataFrame, *columns: str, key: str = "one", group: str = "boats") -> str:
    return str(plot_bundle(Plot(table, *columns), key=key, group=group)["text/html"])


def point(plot: Locator, row: int) -> tuple[float, float]:
    """The middle of a point on the page."""
    box = plot.locator(f".rb-drawing:visible use[data-row='{row}']").bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def picked(plot: Locator) -> list[int]:
    """The rows that are drawn as selected."""
    shapes = plot.locator(".rb-drawing:visible use[aria-pressed=true]")
    return sorted(int(shape.get_attribute("data-row") or "") for shape in shapes.all())


def test_a_point_shows_its_run_and_plays_it(opened: Open, table: pd.DataFrame, clips: list[str]) -> None:
    """Poster, what differs and credits beside it; a click asks the kernel for the file of this row, and Escape closes it, and then the card."""
    page = opened(html_of(table, "motion", "sharpness", "seed"))
    answer_requests(page, [[clips[row % 3]] for row in range(24)])
    plot = page.locator(PLOT)

    page.mouse.move(*point(plot, 6))
    card = plot.locator(".rb-card")
    words = card.inner_text()
    poster = card.locator("img").bounding_box()
    page.mouse.click(*point(plot, 6))
    expect(plot.locator("video")).to_have_count(1)
    wanted = page.evaluate("toKernel")
    shot(page, "plot-open")
    page.keyboard.press("Tab")
    plot.locator(".rb-pick").press("Escape")

    for expected in ("run\n6", "seed\n2", "num_frames\n97", "resolution\n480p", "credits\n53", "a paper boat"):
        assert expected in words
    assert poster is not None
    assert poster["width"] > 80
    assert wanted == [["want", 6, 0, ""]]
    expect(plot.locator("video")).to_have_count(0)
    expect(plot.locator("use[data-row='6']")).to_be_focused()
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()


def test_a_selection_is_that_of_every_display_of_the_table(opened: Open, table: pd.DataFrame) -> None:
    """By Shift and Ctrl; in another plot and in the table, and from the table to the plots; not in a stranger's."""
    page = opened(
        html_of(table, "motion", "sharpness", "seed"), html_of(table, "resolution", "num_frames", key="two"),
        html_of(table, "motion", "credits", key="three", group="foxes"),
        str(table_bundle(table, key="four", group="boats")["text/html"]),
    )  # fmt: skip
    page.evaluate(SENT)
    page.evaluate("dispatchEvent(new CustomEvent('reelbook:listens', { detail: { key: 'four', rows: [] } }))")
    first, second, stranger = (page.locator(PLOT).nth(number) for number in range(3))
    ticks = page.locator("[data-rb-table] tbody .rb-select input")

    page.keyboard.down("Shift")
    page.mouse.click(*point(first, 5))
    page.keyboard.up("Shift")
    page.keyboard.down("Control")
    page.mouse.click(*point(first, 9))
    page.keyboard.up("Control")
    after_clicks = [picked(one) for one in (first, second, stranger)]
    ticked = [row for row in range(6) if ticks.nth(row).is_checked()]
    ticks.nth(0).check()
    after_tick = [picked(one) for one in (first, second, stranger)]
    said = first.locator(".rb-bar").inner_text()
    first.locator(".rb-drawing").click(position={"x": 2, "y": 2})

    assert after_clicks == [[5, 9], [5, 9], []]
    assert ticked == [5]
    assert after_tick == [[0, 5, 9], [0, 5, 9], []]
    assert said.startswith("3 selected")
    assert picked(first) == picked(second) == []
    assert page.evaluate("sent") == [["one", [5]], ["one", [5, 9]], ["four", [0, 5, 9]], ["one", []]]


def test_the_keyboard_does_all(opened: Open, table: pd.DataFrame) -> None:
    """One stop; arrows reach every point, Space selects, Enter plays, and each point is named by its run."""
    page = opened(html_of(table, "motion", "sharpness", "seed"))
    plot, cursor = page.locator(PLOT), page.locator(".rb-points use:focus")

    page.keyboard.press("Tab")
    expect(cursor).to_have_count(1)
    page.keyboard.press("Home")
    names = [cursor.get_attribute("aria-label")]
    for _ in range(30):
        page.keyboard.press("ArrowRight")
        names.append(cursor.get_attribute("aria-label"))
    page.keyboard.press("Space")
    last = picked(plot)
    page.keyboard.press("ArrowLeft")
    expect(plot.locator(".rb-card")).to_be_visible()
    shot(page, "plot-keys")
    page.keyboard.press("Enter")
    expect(plot.locator(".rb-detail")).to_have_count(1)

    assert len(set(names)) == 21
    assert last == [int(np.nanargmax(table["motion"].where(table["sharpness"].notna()).to_numpy()))]
