"""Saved outputs in frames that trust nobody, as Colab and VS Code show them: no origin, no base address, one frame for each."""

from __future__ import annotations

from html import escape
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Frame

from tests.browser import shown
from tests.browser.bare_page import new_page
from tests.browser.looks import playback

pytestmark = [pytest.mark.browser, pytest.mark.deep]

TEXTS = [f"a paper boat on lake {number}" for number in range(16)]
"""A table takes all of them, because some are names of its columns."""
SEEN = "video => video.checkVisibility({visibilityProperty: true, opacityProperty: true}) && !!video.src"


@pytest.mark.parametrize("scripts", ["allow-scripts", ""], ids=["with scripts", "without scripts"])
@pytest.mark.parametrize("name", shown.NAMES)
def test_an_output_needs_no_page_around_it(name: str, scripts: str, chromium: Browser, tmp_path: Path) -> None:
    """Of each display: nothing throws or is asked for, no picture is broken, there is something to see, and players play."""
    bundles = shown.outputs(name, shown.media_in(tmp_path), TEXTS if name == "table" else TEXTS[:3])
    outputs = [str(bundle["text/html"]) for bundle in bundles if bundle.get("text/html")]
    problems: list[str] = []
    with new_page(chromium, offline=True) as page:
        page.on("console", lambda message: problems.append(message.text) if is_complaint(message.text) else None)
        page.on("request", lambda request: problems.append(request.url) if request.url.startswith("http") else None)
        # One after the other: a frame that nobody sees draws nothing.
        for html in outputs:
            source = escape(f"<!doctype html><meta charset=utf-8>{html}")
            page.set_content(
                f'<!doctype html><iframe sandbox="{scripts}" width=900 height=600 srcdoc="{source}"></iframe>'
            )
            check_frame(page.frames[1], plays=bool(scripts))

    assert outputs
    assert problems == []


def test_what_needs_a_page_is_noticed(chromium: Browser) -> None:
    """The control: a script that reads what belongs to the page's origin fails in such a frame."""
    errors: list[str] = []
    page = chromium.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))

    page.set_content('<iframe sandbox="allow-scripts" srcdoc="<script>localStorage.length</script>"></iframe>')

    page.close()
    assert len(errors) == 1


def check_frame(frame: Frame, *, plays: bool) -> None:
    """There is something to see, no picture is broken, and players play."""
    broken = "images => images.filter(image => image.complete && !image.naturalWidth).length"
    assert frame.locator("img").evaluate_all(broken) == 0
    assert frame.locator("body").evaluate("body => body.getBoundingClientRect().height") > 10
    for video in frame.locator("video").all():
        if plays and video.evaluate(SEEN):
            clip = playback(video)
            assert clip["error"] is None
            assert clip["advanced"] > 0


def is_complaint(text: str) -> bool:
    """Whether the console has an error; that scripts do not run where none may is no error of ours."""
    return "Error" in text or "Failed" in text
