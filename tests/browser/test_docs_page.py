"""The service's documentation page, as a browser shows it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.looks import contrast, overflow, shot
from tests.support import Served, deep

pytestmark = pytest.mark.browser

Scheme = Literal["light", "dark"]
LOOKS: list[Any] = [("light", 1000), ("dark", 320), *deep(("dark", 1000), ("light", 320))]


@contextmanager
def docs(browser: Browser, service: Served, scheme: Scheme = "light", width: int = 1000) -> Iterator[Page]:
    """The page in one colour scheme and width."""
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    try:
        page.goto(f"{service.base_url}/docs")
        yield page
    finally:
        page.close()


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_the_page_fits_its_window(chromium: Browser, shared: Served, scheme: Scheme, width: int) -> None:
    """From a telephone's width on, nothing makes the page wider than the window; wide tables scroll by themselves."""
    with docs(chromium, shared, scheme, width) as page:
        shot(page, f"docs-{scheme}-{width}", whole=True)

        assert overflow(page) == 0
        assert page.locator("h1").inner_text() == "Reelbook service"


def test_the_watch_on_overflow_works(chromium: Browser, shared: Served) -> None:
    """The control of the test above: one line that is too wide is noticed."""
    with docs(chromium, shared, width=320) as page:
        page.locator("h1").evaluate(
            "heading => { heading.style.whiteSpace = 'nowrap'; heading.style.fontSize = '90px' }"
        )

        assert overflow(page) > 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_its_text_can_be_read(chromium: Browser, shared: Served, scheme: Scheme) -> None:
    """Every kind of text stands out from its background by 4.5 to 1 at least, in both schemes."""
    with docs(chromium, shared, scheme) as page:
        kinds = ["h1", "h2", "h3 code", "p", ".soft", "nav a", "pre", "th", "td", "td code", "td b"]

        found = {kind: contrast(page.locator(kind).first) for kind in kinds}

    assert {kind: round(value, 2) for kind, value in found.items() if value < 4.5} == {}


def test_the_measure_of_contrast_is_right(chromium: Browser) -> None:
    """Known pairs of colours give the known figures, also where one is seen through another."""
    page = chromium.new_page()
    page.set_content(
        "<body style='background:#fff;margin:0'><p style='color:#000'>a</p><p style='color:#777'>b</p>"
        "<p style='color:#000;opacity:.5'>c</p><div style='background:rgba(0,0,0,.5)'><p style='color:#fff'>d</p></div>"
    )

    found = [contrast(page.locator("p").nth(place)) for place in range(4)]

    page.close()
    assert found == [pytest.approx(value, abs=0.1) for value in (21.0, 4.48, 3.95, 3.98)]


@pytest.mark.parametrize("width", [1000, 320])
def test_the_names_of_fields_stay_in_one_piece(chromium: Browser, shared: Served, width: int) -> None:
    """A name that is broken over two lines cannot be searched for or copied with the eyes."""
    with docs(chromium, shared, width=width) as page:
        lines = page.locator("td .name code").evaluate_all("names => names.map(name => name.getClientRects().length)")

    assert len(lines) > 30
    assert set(lines) == {1}


def test_defaults_are_whole_and_as_one_sends_them(chromium: Browser, shared: Served) -> None:
    """A default is JSON that can be copied into a request: never cut, never Python's own spelling."""
    with docs(chromium, shared) as page:
        shown = page.locator("h3 + p + .wide td:nth-child(3) code").all_inner_texts()

    defaults = [json.loads(text) for text in shown]
    assert "worst quality, inconsistent motion, blurry, jittery, distorted" in defaults
    assert None in defaults
    assert len(defaults) > 20


def test_it_is_complete_in_itself(chromium: Browser, shared: Served) -> None:
    """The page asks for nothing more than itself, and its own links lead somewhere on it."""
    page = chromium.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    page.goto(f"{shared.base_url}/docs", wait_until="networkidle")
    targets = page.locator("nav a").evaluate_all("links => links.map(a => !!document.querySelector(a.hash))")

    page.close()
    assert [url for url in asked if not url.endswith("/favicon.ico")] == [f"{shared.base_url}/docs"]
    assert targets == [True] * 4
