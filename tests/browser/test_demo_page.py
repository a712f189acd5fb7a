"""`make demo`: what it prints, and the page it writes, opened from the disk without a network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.looks import contrast, overflow, playback, shot
from tests.demo import FRAMES, Demo, run_demo
from tests.support import deep

pytestmark = pytest.mark.browser

MAX_SECONDS = 60
"""It takes 15 to 20 alone; here other tests and the check of types run beside it."""

SIZE = [480, 270] if FRAMES == 25 else [854, 480]
"""Of the copy that is put into a page, or of a clip that is small enough to be put there as it is."""

Scheme = Literal["light", "dark"]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The demo, run with a hosted service set up that it must not call."""
    return run_demo(tmp_path_factory)


@contextmanager
def opened(
    browser: Browser, demo: Demo, scheme: Scheme = "light", width: int = 1000
) -> Iterator[tuple[Page, list[str]]]:
    """The page, opened from the disk of a machine without a network; and every address that it asks for."""
    context = browser.new_context(offline=True, viewport={"width": width, "height": 800}, color_scheme=scheme)
    page, asked = context.new_page(), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    try:
        page.goto(demo.page.as_uri())
        yield page, asked
    finally:
        context.close()


def outside(asked: list[str]) -> list[str]:
    return [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]


def test_it_prints_the_table_and_where_the_page_is(demo: Demo) -> None:
    """Three completed takes, then the page's name and size."""
    assert len(re.findall(r"^\d +completed +53 +charged", demo.printed, re.MULTILINE)) == 3
    assert f"Wrote {demo.page}" in demo.printed


def test_it_takes_less_than_a_newcomers_patience(demo: Demo) -> None:
    """With the environment made, the whole demo takes a minute at most, with other work beside it."""
    assert demo.seconds <= MAX_SECONDS, f"{demo.seconds:.0f} s"


def test_its_videos_play_without_a_network(chromium: Browser, demo: Demo) -> None:
    """Each player of the page moves on, without an error, and nothing is asked for from elsewhere."""
    with opened(chromium, demo) as (page, asked):
        played = [playback(page.locator("video").nth(place)) for place in range(page.locator("video").count())]

    assert len(played) == 2
    for clip in played:
        assert clip["error"] is None
        assert clip["advanced"] > 0
        assert clip["ready"] >= 3
        assert clip["size"] == SIZE
    assert asked
    assert outside(asked) == []


def test_the_watch_on_the_network_works(chromium: Browser, demo: Demo) -> None:
    """The control of the test above: a picture from elsewhere is noticed."""
    with opened(chromium, demo) as (page, asked):
        page.evaluate("document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/boat.png'}))")
        page.wait_for_function("[...document.images].at(-1).complete")

    assert outside(asked) == ["http://127.0.0.1:9/boat.png"]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1000), ("dark", 320), *deep(("dark", 1000), ("light", 320))])
def test_the_page_fits_and_can_be_read(chromium: Browser, demo: Demo, scheme: Scheme, width: int) -> None:
    """In both schemes and on a telephone, nothing is wider than the window and all text stands out by 4.5 to 1."""
    kinds = ["h1", "h2", "p", "pre", ".highlight .k", ".highlight .s2", "figcaption", "th", "td"]

    with opened(chromium, demo, scheme, width) as (page, _):
        page.wait_for_function("[...document.querySelectorAll('video')].every(video => video.readyState >= 1)")
        shot(page, f"demo-{scheme}-{width}", whole=True)
        wide = overflow(page)
        faint = {kind: value for kind in kinds if (value := contrast(page.locator(kind).first)) < 4.5}

    assert wide == 0
    assert faint == {}


def test_the_page_shows_the_printed_table(chromium: Browser, demo: Demo) -> None:
    """The last table of the page has the rows that were printed."""
    with opened(chromium, demo) as (page, _):
        rows = page.locator("table.dataframe").last.locator("tbody tr").all_inner_texts()

    assert len(rows) == 3
    for seed, row in zip("789", rows, strict=True):
        assert row.split("\t")[1:] == [
            "a paper boat on a calm lake at sunset",
            seed,
            str(FRAMES),
            seed,
            "completed",
            "53",
            "charged",
        ]
