"""A finger on a page: taps, drags, and what is too small for it."""

from __future__ import annotations

import time
from typing import Any

from playwright.sync_api import Locator, Page

Point = tuple[float, float]
REST_SECONDS = 0.3
MOVES = 6
"""Moves of one gesture. A browser that scrolls takes the first for itself."""

# What can be pressed and is narrower or lower than this; a tick's label is pressed with it, and links in a sentence are exempt.
SMALL = """least => [...document.querySelectorAll(
    'button, select, summary, input:not([type=hidden]), [role=slider], [role=tab], [role=radio]')]
  .filter(one => one.checkVisibility({visibilityProperty: true}) && !one.closest('[aria-hidden=true]'))
  .map(one => [one, (one.matches('[type=checkbox], [type=radio]') && one.closest('label') || one).getBoundingClientRect()])
  .filter(([, box]) => box.width > 0 && Math.min(box.width, box.height) < least - 0.5)
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


def small_targets(page: Page, least: int = 24) -> list[str]:
    """What can be pressed and is less than so many pixels wide or high."""
    found: list[str] = page.evaluate(SMALL, least)
    return found
