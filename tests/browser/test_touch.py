"""Viewers under a finger, on a telephone: everything can be done, targets are large enough, and the page still scrolls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import reelbook as rb
from reelbook.display.compare.comparison_html import render_comparison
from reelbook.display.explorer_card import render_explorer
from reelbook.display.original_links import linked_by
from reelbook.display.plots.plot_html import Plot, plot_bundle
from reelbook.display.report.clip_grid import grid_bundle, make_clip_grid
from reelbook.display.tables.table_html import table_bundle
from reelbook.media.local_file import LocalFile
from reelbook.models.base import File
from tests.browser.bare_page import fill, new_page
from tests.browser.fake_kernel import answer_requests, listen
from tests.browser.looks import overflow, shot
from tests.browser.test_grid import table_of
from tests.clips import film
from tests.numbered import KINDS

pytestmark = pytest.mark.browser

KEY = "touch"  # No space: that stands before the row in a figure's own key.
GRID = "document.querySelector('[data-rb-viewer]').grid"
COMPARE = "document.querySelector('[data-rb-compare]').compare"
EXPLORER = "document.querySelector('[data-rb-explorer]')"
CLOCKS = {"grid": f"{GRID}.clock", "explore": f"{GRID}.clock", "compare": f"{COMPARE}.clock", "explorer": f"{EXPLORER}.clock"}  # fmt: skip
SURFACES = {
    "grid": "figure .rb-clip", "compare": ".rb-compare-view", "explorer": ".rb-stage.rb-clip", "plot": ".rb-drawing:visible",
    "table": ".rb-summary",
}  # fmt: skip
"""What a finger is on when it scrolls the page."""
Point = tuple[float, float]
REST_SECONDS = 0.3
MOVES = 6
"""Moves of one gesture. A browser that scrolls takes the first for itself."""

# What can be pressed and is less than 24 pixels wide or high; a tick's label is pressed with it, and links in a sentence are exempt.
SMALL = """() => [...document.querySelectorAll(
    'button, select, summary, input:not([type=hidden]), [role=slider], [role=tab], [role=radio]')]
  .filter(one => one.checkVisibility({visibilityProperty: true}) && !one.closest('[aria-hidden=true]'))
  .map(one => [one, (one.matches('[type=checkbox], [type=radio]') && one.closest('label') || one).getBoundingClientRect()])
  .filter(([, box]) => box.width > 0 && Math.min(box.width, box.height) < 23.5)
  .map(([one, box]) => `${one.outerHTML.slice(0, 90)} ${Math.round(box.width)}×${Math.round(box.height)}`)"""


class Finger:
    """Sends touches as a touch screen does, of which pointer events, clicks and scrolling come."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._session = page.context.new_cdp_session(page)
        self._time = 0.0

    def tap(self, what: Locator | Point) -> None:
        """Touch the middle of an element, or a point of the window, and let go."""
        at = what if isinstance(what, tuple) else middle(what)
        # Both at once: where a busy page answers the first one late, the browser takes it for a long press.
        self.page.touchscreen.tap(*at)

    def drag(self, start: Point, end: Point) -> None:
        """Move one finger from here to there."""
        self._send("touchStart", start)
        for step in range(1, MOVES + 1):
            x, y = (begin + (final - begin) * step / MOVES for begin, final in zip(start, end, strict=True))
            self._send("touchMove", (x, y))
        # It rests before it is lifted: what is let go in motion glides on, and the next tap only stops that.
        self._send("touchMove", end, rest=REST_SECONDS)
        self._send("touchEnd")

    def _send(self, kind: str, *at: Point, rest: float = 0) -> None:
        self._time = max(time.time(), self._time + rest)
        points: list[Any] = [{"x": x, "y": y} for x, y in at]
        self._session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points, "timestamp": self._time})


def middle(element: Locator, x: float = 0.5, y: float = 0.5) -> Point:
    """A point of an element in the window, in shares of its width and height; by default its middle."""
    element.scroll_into_view_if_needed()
    # What follows a scroll is drawn in the next frame; a finger comes later.
    element.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    box = element.bounding_box()
    assert box is not None
    return box["x"] + x * box["width"], box["y"] + y * box["height"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """Two seeds by twelve values, all of one small clip."""
    return table_of(tmp_path_factory.mktemp("runs"), rows=2, cols=12, kinds=[KINDS[0]])


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two clips of 25 frames."""
    folder = tmp_path_factory.mktemp("clips")
    return [film(folder / f"{name}.mp4", size=(640, 360), noise=number, options={"g": "12"}).path for number, name in enumerate("ab")]  # fmt: skip


class PhonePage:
    """Viewers on a page of a telephone."""

    def __init__(self, page: Page, table: pd.DataFrame, clips: list[Path], folder: Path) -> None:
        self.page, self.finger = page, Finger(page)
        self._table, self._clips, self._folder = table, clips, folder
        self._makers: Mapping[str, Callable[[], None]] = {
            "grid": lambda: self._grid("grid"), "explore": lambda: self._grid("one"), "compare": self._compare, "explorer": self._explorer,
            "plot": self._plot, "table": self._runs,
        }  # fmt: skip

    def open(self, viewer: str) -> Page:
        """A page with this viewer, its files loaded."""
        self._makers[viewer]()
        if viewer in CLOCKS:
            self.page.wait_for_function(f"{CLOCKS[viewer]}.clips.every(clip => !clip.isInView || clip.picture)")
        return self.page

    def _write(self, html: str) -> None:
        fill(self.page, self._folder, html, '<div style="height:900px"></div>', width=390, height=760)

    def _answer(self, paths: list[Path]) -> None:
        answer_requests(self.page, [[path] for path in paths])
        listen(self.page, KEY)

    def _grid(self, view: str) -> None:
        parts = {"rows": "seed", "cols": "guidance"} if view == "one" else {"rows": "guidance", "cols": "seed"}
        table = self._table if view == "one" else self._table[self._table["guidance"] < 6]
        self._write(grid_bundle(make_clip_grid(table, key=KEY, view=view, parts=parts))["text/html"])
        self._answer([Path(path) for path in table["output_video"]])

    def _compare(self) -> None:
        with linked_by(lambda path: f"{KEY} {self._clips.index(path)}" if path else ""):
            self._write(render_comparison(rb.compare(*self._clips)))
        self._answer(self._clips)
        self.page.wait_for_function(f"{COMPARE}.items.every(item => item.live)")

    def _explorer(self) -> None:
        self._write(render_explorer(LocalFile(self._clips[0], File(url="")).explore(), key=KEY))
        self._answer(self._clips[:1])
        self.page.wait_for_function(f"{EXPLORER}.clock?.clips[0].picture")

    def _plot(self) -> None:
        self._write(plot_bundle(Plot(self._table, "guidance", "seed"), key=KEY)["text/html"])
        self._answer([Path(path) for path in self._table["output_video"]])

    def _runs(self) -> None:
        self._write(str(table_bundle(self._table, key=KEY)["text/html"]))
        self._answer([Path(path) for path in self._table["output_video"]])


@pytest.fixture(scope="module")
def shown(
    chromium: Browser, table: pd.DataFrame, clips: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PhonePage]:
    with new_page(chromium, offline=True, has_touch=True, viewport={"width": 390, "height": 760}) as page:
        page.set_default_timeout(8_000)
        yield PhonePage(page, table, clips, tmp_path_factory.mktemp("touch"))


@pytest.mark.parametrize("viewer", ["grid", "explore", "compare", "explorer", "plot", "table"])
def test_targets_are_large_enough(shown: PhonePage, viewer: str) -> None:
    """24 pixels at least either way, and nothing is wider than the page."""
    page = shown.open(viewer)
    shot(page, f"touch-{viewer}", whole=True)

    assert page.evaluate(SMALL) == []
    assert overflow(page) <= 0


@pytest.mark.parametrize("viewer", SURFACES)
def test_the_page_scrolls_under_the_finger(shown: PhonePage, viewer: str) -> None:
    """A finger that begins on a picture, a time line or a plot, and goes up."""
    page = shown.open(viewer)
    x, y = middle(page.locator(SURFACES[viewer]).first)
    before = page.evaluate("scrollY")

    shown.finger.drag((x, y), (x, y - 240))

    page.wait_for_function("before => scrollY > before + 100", arg=before)


@pytest.mark.parametrize("viewer", ["grid", "compare"])
def test_a_finger_scrubs_steps_and_plays(shown: PhonePage, viewer: str) -> None:
    """Along the time line, and on the buttons; the clips show the frame of the clock."""
    page, clock, finger = shown.open(viewer), CLOCKS[viewer], shown.finger
    line = page.locator(".rb-line")
    frames = page.evaluate(f"{clock}.frames")

    finger.drag(middle(line, 0.1), middle(line, 0.75))
    page.wait_for_function(f"Math.abs({clock}.frame / ({clock}.frames - 1) - 0.75) < 0.05")
    scrubbed = page.evaluate(f"{clock}.frame")
    finger.tap(page.locator("[data-rb-do=on]"))
    page.wait_for_function(f"{clock}.frame === {scrubbed + 1}")
    page.wait_for_function(f"{clock}.clips.filter(clip => clip.isInView).every(clip => clip.shown === {scrubbed + 1})")
    finger.tap(page.locator("[data-rb-do=play]"))
    page.wait_for_function(f"{clock}.playing")
    finger.tap(page.locator("[data-rb-do=play]"))
    page.wait_for_function(f"!{clock}.playing")

    assert scrubbed < frames - 1
    assert page.evaluate("scrollX") == 0


@pytest.mark.parametrize("viewer", ["compare", "explorer"])
def test_a_finger_moves_what_is_enlarged(shown: PhonePage, viewer: str) -> None:
    """Buttons enlarge and make it fit again."""
    page, finger = shown.open(viewer), shown.finger
    scale, where = {
        "compare": (f"{COMPARE}.camera.scale", f"{COMPARE}.camera.origin"),
        "explorer": (
            "document.querySelector('.rb-clip.rb-stage canvas').getBoundingClientRect().width",
            "(({x, y}) => [x, y])(document.querySelector('.rb-clip.rb-stage canvas').getBoundingClientRect())",
        ),
    }[viewer]
    surface, is_zoomed = page.locator(SURFACES[viewer]).first, "!!document.querySelector('[data-zoomed]')"
    zoom = page.get_by_role("group", name="Zoom").get_by_role("button")
    fitted = page.evaluate(scale)

    for _ in range(2):
        finger.tap(zoom.filter(has_text="+"))
    page.wait_for_function(is_zoomed)
    near, before = page.evaluate(scale), page.evaluate(where)
    finger.drag(middle(surface, 0.8), middle(surface, 0.6, 0.3))
    page.wait_for_function(f"before => Math.abs({where}[0] - before[0]) > 20", arg=before)
    after = page.evaluate(where)
    finger.tap(zoom.nth(1))
    page.wait_for_function(f"!{is_zoomed}")

    assert 3 < near / fitted < 5
    assert after[0] < before[0]
    assert after[1] < before[1]
    assert page.evaluate(f"{CLOCKS[viewer]}.playing") is False  # What moved was no tap.


def test_the_wipe_follows_a_finger(shown: PhonePage) -> None:
    """And modes are tapped."""
    page, finger = shown.open("compare"), shown.finger
    view, handle = page.locator(".rb-compare-view").first, page.get_by_role("slider", name="Wipe between A and B")
    share = f"{COMPARE}.share"

    finger.drag(middle(handle), middle(view, 0.8))
    page.wait_for_function(f"Math.abs({share} - 0.8) < 0.03")
    for name in ("Difference", "Side by side", "Flicker"):
        finger.tap(page.get_by_role("button", name=name))
        expect(page.get_by_role("button", name=name)).to_have_attribute("aria-pressed", "true")
    finger.tap(page.get_by_role("button", name="Stop"))
    finger.tap(middle(page.locator(".rb-compare-plot"), 0.5))
    page.wait_for_function(f"{COMPARE}.clock.frame === 12")


def test_a_tap_on_a_point_plays_its_run(shown: PhonePage) -> None:
    """There is no hovering; a tap beside the points ends the selection."""
    page, finger = shown.open("plot"), shown.finger
    drawing, status = page.locator(".rb-drawing:visible"), page.locator(".rb-bar [role=status]")

    finger.tap(drawing.locator("use[data-row='20']"))
    expect(page.locator(".rb-detail video")).to_be_visible()
    expect(page.locator(".rb-detail p")).to_contain_text("guidance 12")
    finger.tap(page.get_by_role("button", name="Select"))
    expect(status).to_have_text("1 selected; a click elsewhere clears")
    finger.tap(middle(drawing, 0.5, 0.02))
    expect(status).to_contain_text("A click plays")


def test_a_table_is_sorted_ticked_and_played_by_taps(shown: PhonePage) -> None:
    """Its rows scroll under the finger in their own box."""
    page, finger = shown.open("table"), shown.finger
    rows = page.locator("tbody tr")

    finger.tap(page.locator("thead button", has_text="guidance"))
    expect(page.locator("th[aria-sort=ascending]")).to_contain_text("guidance")
    finger.tap(rows.nth(1).get_by_role("checkbox"))
    expect(page.locator(".rb-summary")).to_contain_text("1 selected")
    finger.tap(rows.nth(2).locator(".rb-poster"))
    expect(page.locator(".rb-detail video")).to_be_visible()
    x, y = middle(rows.nth(3))
    finger.drag((x, y), (x, y - 200))
    page.wait_for_function("document.querySelector('.rb-box').scrollTop > 0")
