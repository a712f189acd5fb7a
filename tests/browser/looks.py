"""What a page looks like, in numbers: whether it overflows, whether its text can be read, whether its videos play."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page

# Colours as the browser computed them, laid over one another down to the page; `opacity` thins what is written.
# What was found for a colour or an element is kept: reading a pixel back takes long, and there are thousands of words.
CONTRAST = """(() => {
  const context = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
  const colours = new Map(), grounds = new Map();
  const channels = colour => {
    if (!colours.has(colour)) {
      context.clearRect(0, 0, 1, 1); context.fillStyle = colour; context.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
      colours.set(colour, [r, g, b, a / 255]);
    }
    return colours.get(colour);
  };
  const over = (top, below, strength) => below.map((value, i) => value + (top[i] - value) * strength);
  const light = rgb => {
    const [r, g, b] = rgb.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = element => {
    if (!element) return [channels(getComputedStyle(document.documentElement).colorScheme === 'dark' ? '#121212' : '#fff').slice(0, 3), 1];
    if (!grounds.has(element)) {
      const [paper, opacity] = ground(element.parentElement), style = getComputedStyle(element);
      const back = channels(style.backgroundColor);
      grounds.set(element, [over(back, paper, back[3]), opacity * Number(style.opacity)]);
    }
    return grounds.get(element);
  };
  return element => {
    const [paper, opacity] = ground(element), ink = channels(getComputedStyle(element).color);
    const [bright, dark] = [light(over(ink, paper, ink[3] * opacity)), light(paper)].sort((a, b) => b - a);
    return (bright + 0.05) / (dark + 0.05);
  };
})()"""

IS_PICTURED = "REELBOOK_SCREENSHOTS" in os.environ
"""Whether pictures are taken, and in both themes. They take a third of the time, and no test looks at them."""
SCREENSHOTS = Path(__file__).resolve().parents[2] / "build" / "screenshots"

OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"

IN_VIEW = """selector => {
  const box = document.querySelector(selector).getBoundingClientRect();
  const room = document.querySelector('.jp-WindowedPanel-outer').getBoundingClientRect();
  return box.height > 0 && box.top >= room.top - 1 && box.bottom <= room.bottom + 1;
}"""

PLAYBACK = """async video => {
  const before = video.currentTime;
  await video.play().catch(() => null);
  const until = performance.now() + 5000;
  while (performance.now() < until && !video.error && (video.readyState < 3 || video.currentTime - before < 0.2))
    await new Promise(requestAnimationFrame);
  video.pause();
  return {
    advanced: video.currentTime - before, ready: video.readyState, error: video.error && video.error.message,
    size: [video.videoWidth, video.videoHeight], frames: video.getVideoPlaybackQuality().totalVideoFrames,
  };
}"""


def contrast(element: Locator) -> float:
    """How far the text stands out from what is behind it, 1 to 21."""
    return float(element.evaluate(CONTRAST))


def overflow(page: Page) -> int:
    """How many pixels of the page lie beyond the window's right edge."""
    return int(page.evaluate(OVERFLOW))


def in_view(page: Page, selector: str) -> bool:
    """Whether all of it is within the notebook's part of the window."""
    return bool(page.evaluate(IN_VIEW, selector))


def playback(video: Locator) -> dict[str, Any]:
    """Plays a video until it has moved on a little, or for five seconds, and tells how that went."""
    return dict(video.evaluate(PLAYBACK))


def shot(what: Page | Locator, name: str, *, whole: bool = False) -> None:
    """A picture of the window, of the whole page, or of a part of it, kept for people to look at, where they want any."""
    if not IS_PICTURED:
        return
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    path = SCREENSHOTS / f"{name}.png"
    if isinstance(what, Page):
        what.screenshot(path=path, full_page=whole)
    else:
        what.evaluate("part => part.scrollIntoView()")
        what.screenshot(path=path)
