"""An executed notebook as a page on the disk, and what is found on it: frames of its clips, its pictures, what it complains about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nbconvert import HTMLExporter
from nbformat import NotebookNode
from playwright.sync_api import Browser

# nbconvert's own scripts come from elsewhere: without them, whatever a page asks for is ours.
NOTHING = "data:text/javascript,"
MIN_CONTRAST = 30
"""How far the darkest and the brightest pixel of a frame are apart at least, of 255, in one of the colours."""

# One clip after the other, because each holds a decoder. A player that nobody sees is one of a viewer without a kernel.
SAMPLE = """async MIN_CONTRAST => {
  const settled = (video, event) => new Promise(done => {
    for (const name of [event, 'error']) video.addEventListener(name, done, {once: true});
  });
  const context = new OffscreenCanvas(64, 36).getContext('2d', {willReadFrequently: true});
  const contrast = video => {
    context.drawImage(video, 0, 0, 64, 36);
    const pixels = context.getImageData(0, 0, 64, 36).data;
    return Math.max(...[0, 1, 2].map(colour => {
      const values = pixels.filter((_, place) => place % 4 === colour);
      return Math.max(...values) - Math.min(...values);
    }));
  };
  const isSeen = video => video.checkVisibility({visibilityProperty: true, opacityProperty: true});
  const clips = [];
  for (const video of [...document.querySelectorAll('video')].filter(isSeen)) {
    if (video.readyState < 2 && !video.error && video.src) {
      const loaded = settled(video, 'loadeddata');
      video.preload = 'auto';
      video.load();
      await loaded;
    }
    if (video.readyState >= 2) {
      const sought = settled(video, 'seeked');
      video.currentTime = video.duration / 2;
      await sought;
    }
    const isThere = video.readyState >= 2 && !video.error;
    // A canvas gets the frame of the new place some repaints after the jump.
    let found = 0;
    for (let repaint = 0; isThere && found < MIN_CONTRAST && repaint < 90; repaint++) {
      await new Promise(requestAnimationFrame);
      found = contrast(video);
    }
    clips.push({
      error: isThere ? '' : video.error?.message || 'nothing was loaded',
      place: video.currentTime / video.duration, contrast: found,
    });
  }
  await Promise.all([...document.images].map(image => image.decode().catch(() => null)));
  const broken = [...document.images].filter(image => !image.naturalWidth).map(image => image.outerHTML.slice(0, 200));
  return {clips, broken, pictures: document.images.length};
}"""


@dataclass(frozen=True)
class Clip:
    """One player, after a jump to the middle of its clip."""

    error: str
    place: float
    contrast: int

    def find_problem(self) -> str:
        """What is wrong with it; empty if a picture from the middle of a clip was drawn."""
        if self.error:
            return self.error
        if abs(self.place - 0.5) > 0.05:
            return f"is at {self.place:.0%} instead of the middle"
        return "" if self.contrast >= MIN_CONTRAST else "one flat colour"


@dataclass(frozen=True)
class Page:
    """What was found on a page."""

    clips: tuple[Clip, ...]
    pictures: int
    problems: tuple[str, ...]
    """Broken pictures, errors of scripts and on the console, and addresses that were asked for."""


def convert(notebook: NotebookNode) -> str:
    """The notebook as nbconvert writes it, less the scripts that nbconvert loads from elsewhere."""
    exporter = HTMLExporter(require_js_url=NOTHING, mathjax_url=NOTHING, widget_renderer_url=NOTHING)  # type: ignore[no-untyped-call]
    return str(exporter.from_notebook_node(notebook)[0])


def sample(browser: Browser, path: Path) -> Page:
    """Open a page from the disk, jump to the middle of each clip, and read pictures and complaints."""
    problems: list[str] = []
    context = browser.new_context(viewport={"width": 1000, "height": 900}, offline=True)
    page = context.new_page()
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(f"uncaught: {error}"))
    page.on(
        "request", lambda request: problems.append(f"asks for {request.url}") if is_elsewhere(request.url) else None
    )
    page.goto(path.as_uri(), wait_until="load")
    found = page.evaluate(SAMPLE, MIN_CONTRAST)
    context.close()
    clips = tuple(Clip(**clip) for clip in found["clips"])
    return Page(clips, found["pictures"], (*problems, *(f"broken: {image}" for image in found["broken"])))


def is_elsewhere(url: str) -> bool:
    """Whether an address is not in the page itself; of the disk, only pages are opened."""
    return not url.startswith(("data:", "blob:")) and not (url.startswith("file:") and url.endswith(".html"))
