"""Plots and comparisons in a report on the screen: opened from the disk, without a kernel and without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from reelbook.display.report.make_report import write_report
from tests.browser.test_report import opened, table_of
from tests.clips import DARKEST, STEP

pytestmark = pytest.mark.browser

PLOT, VIEWS = "#views-1 [data-rb-plot]", "[data-rb-compare]"
# The frame of each half of the wipe, by its grey; the comparison waits until both are drawn.
FRAMES = """async ([root, frame]) => {
  const {clock, stage, views} = root.compare;
  await clock.seek(frame);
  while (stage.dataset.frame !== String(frame)) await new Promise(requestAnimationFrame);
  const {canvas} = views[0], row = canvas.height / 2;
  const grey = share => views[0].context.getImageData(Math.round(canvas.width * share), row, 1, 1).data[0];
  return [grey(0.3), grey(0.7)];
}"""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Thirteen runs of three lengths, of which one failed, with a measure."""
    found = table_of(tmp_path_factory.mktemp("clips"))
    return found.assign(sharpness=np.random.default_rng(1).random(len(found)))


@pytest.fixture(scope="module")
def views(table: Any) -> list[Any]:
    """A plot, and two runs."""
    return [table.reel.plot("num_frames", "sharpness", "prompt"), table.reel.compare(0, 1)]


@pytest.fixture(scope="module")
def path(table: Any, views: list[Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report with all of them."""
    return write_report(table, tmp_path_factory.mktemp("report") / "boats.html", views=views)


@pytest.fixture(scope="module")
def common(path: Path, chromium: Browser) -> Iterator[tuple[Page, list[str]]]:
    with opened(chromium, path) as (page, noted):
        yield page, noted


@pytest.fixture
def report(common: tuple[Page, list[str]], path: Path) -> Iterator[Page]:
    """The report, loaded anew; nothing may ask for an address outside, or complain."""
    page, noted = common
    page.goto("about:blank")
    page.goto(path.as_uri())
    yield page
    assert noted == []


def point(page: Page, row: int) -> Locator:
    return page.locator(f"{PLOT} .rb-drawing:visible use[data-row='{row}']")


def painted(grey: float) -> int:
    """The number that a film's grey means, up to 25."""
    return round((grey - DARKEST) / STEP)


def test_a_point_shows_its_poster_and_plays(report: Page) -> None:
    """From the files of the page: the poster is that of the grid, and the clip too; the prompt is said once."""
    point(report, 4).hover(force=True)
    card = report.locator(f"{PLOT} .rb-card")
    poster = card.locator("img").get_attribute("src")
    words = card.inner_text()
    point(report, 4).click(force=True)
    video = report.locator(f"{PLOT} .rb-stage video")
    expect(video).to_have_js_property("readyState", 4)

    assert poster == report.locator("#clips figure[data-row='4'] img").get_attribute("src")
    assert video.get_attribute("src") == report.locator("#clips figure[data-row='4'] video").get_attribute("src")
    assert words.count("paper boat") == 1
    assert (report.locator(f"{PLOT} .rb-points use").first.get_attribute("aria-label") or "").count("paper boat") == 1


def test_what_is_selected_is_so_in_plot_grid_and_table(report: Page) -> None:
    """In each direction; there is no button that needs a kernel."""
    point(report, 4).click(modifiers=["Shift"], force=True)
    report.locator("#clips figure[data-row='7'] .rb-pick").check()
    report.get_by_role("checkbox", name="Select ", exact=False).and_(report.locator(".rb-table tbody input")).nth(
        2
    ).check()

    assert report.locator(f"{PLOT} .rb-drawing:visible use[aria-pressed=true]").evaluate_all(
        "all => all.map(one => +one.dataset.row).sort()"
    ) == [2, 4, 7]
    assert report.locator("#clips figure[data-picked]").count() == 3
    assert report.locator(".rb-table tbody input:checked").count() == 3
    assert not report.get_by_role("button", name="Copy to a folder").is_visible()
    report.locator(PLOT).get_by_role("button", name="Clear selection").click()
    assert report.locator("#clips figure[data-picked]").count() == 0


@pytest.mark.parametrize(("frame", "expected"), [(7, (7, 7)), (40, (24, 15))])
def test_a_comparison_plays_from_the_page(report: Page, frame: int, expected: tuple[int, int]) -> None:
    """Exactly that frame of both clips. A clip that has ended stays at its last."""
    root = report.locator(VIEWS)
    root.locator(".rb-compare-stage").scroll_into_view_if_needed()
    expect(root.locator(".rb-compare-words")).to_have_text("")

    greys = report.evaluate(FRAMES, [root.element_handle(), frame])

    assert tuple(map(painted, greys)) == expected
    assert report.evaluate(
        "root => root.compare.clock.clips.every(clip => clip.box.dataset.loaded === 'decoded')", root.element_handle()
    )
    assert "previews of the clips, at most 320 pixels" in root.inner_text()
