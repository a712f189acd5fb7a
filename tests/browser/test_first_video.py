"""The first notebook in a real JupyterLab: run, watched, saved, and opened again by someone without a kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Browser, Page

from tests.browser.lab import Lab, OpenNotebook
from tests.browser.looks import contrast, playback, shot

pytestmark = [pytest.mark.browser, pytest.mark.deep]

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "01-first-video.ipynb"
TALL = 2500
CAPTION = re.compile(
    r"a paper boat on a calm lake at sunset · seed (\d) · 1280×720 · 9 frames at 24/s · 0\.4 s · [\d.]+ [kM]B · "
    r"53 credits( · preview \d+×\d+, \d+ kB)?"
)

# Every text of an output that a person could have seen, in order.
WATCH = """() => {
  window.seen = [];
  const look = () => document.querySelectorAll('.jp-OutputArea-output').forEach(output => {
    const text = output.innerText.trim();
    if (text && !window.seen.includes(text)) window.seen.push(text);
  });
  window.looking = new MutationObserver(look);
  window.looking.observe(document.body, {childList: true, subtree: true, characterData: true});
}"""

BEFORE_PLAY = """async video => {
  const poster = Object.assign(new Image(), {src: video.poster});
  await poster.decode();
  return {paused: video.paused, time: video.currentTime, poster: [poster.naturalWidth, poster.naturalHeight]};
}"""

# How far a figure, or anything in it, reaches beyond the part of the page that is there for it.
BEYOND = """figure => {
  const room = figure.closest('.jp-OutputArea-output').getBoundingClientRect();
  return Math.max(...[figure, ...figure.querySelectorAll('*')].map(e => e.getBoundingClientRect().right - room.right));
}"""


def seeds(page: Page) -> list[str | None]:
    """The seed in each caption that is as it should be."""
    found = [CAPTION.fullmatch(text.strip()) for text in page.locator("figcaption").all_inner_texts()]
    return [match and match[1] for match in found]


@dataclass(frozen=True)
class Showing:
    """The notebook on the screen after its run, and what was there before."""

    notebook: OpenNotebook
    seen: list[str]
    before_play: dict[str, Any]
    complaints: list[str]


@pytest.fixture(scope="module")
def showing(lab: Lab, chromium: Browser) -> Iterator[Showing]:
    """A copy of the first notebook, opened, run from top to bottom, and saved.

    Its clips are shorter than those that `make demo` makes: what is looked at here is how they are shown.
    """
    path = lab.root / "first-video.ipynb"
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert text.count("num_frames=25") == 1
    path.write_text(text.replace("num_frames=25", "num_frames=9"), encoding="utf-8")
    with OpenNotebook(lab, chromium, path, height=TALL) as notebook:
        notebook.open()
        notebook.page.evaluate(WATCH)
        notebook.run_all()
        notebook.save()
        before_play = notebook.page.locator("video").first.evaluate(BEFORE_PLAY)
        notebook.page.evaluate("window.looking.disconnect()")
        yield Showing(notebook, notebook.page.evaluate("window.seen"), before_play, list(notebook.complaints))


def test_every_cell_runs_and_nothing_complains(showing: Showing) -> None:
    """No cell ends in an error, and the page's console stays free of them."""
    assert showing.notebook.cell_errors() == []
    assert showing.complaints == []


def test_progress_is_seen_while_it_runs(showing: Showing) -> None:
    """While the run works, its cell says what is being done, how far it is and how long it took; at the end that is gone."""
    lines = [text for text in showing.seen if text.startswith(("◔", "◑"))]

    assert any("painting" in line and "%" in line for line in lines)
    assert showing.notebook.page.locator("progress").count() == 0


def test_each_run_is_shown_once(showing: Showing) -> None:
    """The cell that waited for its run shows one figure, and so does the cell that names another."""
    assert showing.notebook.page.locator("figure").count() == 2
    assert seeds(showing.notebook.page) == ["7", "8"]


def test_a_poster_stands_there_before_it_plays(showing: Showing) -> None:
    """Nothing moves unasked; until then a picture of the clip stands in its place."""
    assert showing.before_play == {"paused": True, "time": 0, "poster": [640, 360]}


def test_the_clip_really_plays(showing: Showing) -> None:
    """Once started it moves on, decodes frames, and fills the place that was kept for it."""
    video = showing.notebook.page.locator("video").first

    clip = playback(video)

    assert clip["error"] is None
    assert clip["advanced"] > 0
    assert clip["ready"] >= 3
    assert clip["frames"] > 0
    assert clip["size"] == [1280, 720]  # With its kernel the file itself plays, not the smaller copy.
    assert video.bounding_box() | {"x": 0, "y": 0} == {"x": 0, "y": 0, "width": 640, "height": 360}  # type: ignore[operator]


def test_the_watch_on_playing_works(chromium: Browser) -> None:
    """The control of the test above: a clip that no decoder understands is noticed."""
    page = chromium.new_page()
    page.set_content("<video src='data:video/mp4;base64,AAAAIGZ0eXBpc29t' muted></video>")

    clip = playback(page.locator("video"))

    page.close()
    assert clip["error"]
    assert clip["advanced"] == 0


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_it_fits_into_both_themes(showing: Showing, theme: str) -> None:
    """The caption, in the host's own colours, stands out by 4.5 to 1 at least, and so do the folded parts and the names of facts."""
    showing.notebook.use_theme(f"JupyterLab {theme}")

    faint = [contrast(showing.notebook.page.locator(kind).first) for kind in ("figcaption", "summary", ".rb-facts th")]

    shot(showing.notebook.page, f"lab-{theme.lower()}")
    showing.notebook.use_theme("JupyterLab Light")
    assert min(faint) >= 4.5


def test_it_fits_into_a_narrow_column(showing: Showing) -> None:
    """In a window of 400 pixels no part of a figure reaches beyond its column."""
    page = showing.notebook.page
    showing.notebook.resize(400, 900)
    page.locator("figure").first.scroll_into_view_if_needed()

    beyond = page.locator("figure").first.evaluate(BEYOND)
    video = page.locator("video").first.bounding_box()

    shot(page, "lab-narrow")
    showing.notebook.resize(1200, TALL)
    assert beyond <= 0.5
    assert video is not None
    assert video["width"] / video["height"] == pytest.approx(16 / 9, rel=0.02)


@pytest.fixture
def reopened(showing: Showing, lab: Lab, chromium: Browser) -> Iterator[OpenNotebook]:
    """The saved notebook, on the screen of someone who did not run it and does not have its kernel."""
    saved = nbformat.read(showing.notebook.path, as_version=4)  # type: ignore[no-untyped-call]
    saved.metadata.kernelspec = {"name": "elsewhere", "display_name": "Elsewhere", "language": "elsewhere"}
    saved.metadata.language_info = {"name": "elsewhere"}
    path = lab.root / "received.ipynb"
    nbformat.write(saved, path)  # type: ignore[no-untyped-call]
    with OpenNotebook(lab, chromium, path, height=TALL, sort="received") as notebook:
        yield notebook.open_without_kernel()


def test_a_saved_notebook_still_shows_everything(showing: Showing, reopened: OpenNotebook) -> None:
    """Untrusted and without a kernel: clips play, strips and captions are there, and the table too."""
    page = reopened.page
    page.locator("figure").nth(1).wait_for()
    shot(page, "lab-reopened")

    clips = [playback(page.locator("video").nth(place)) for place in (0, 1)]
    strips = page.locator("figure img").evaluate_all(
        "strips => strips.map(s => [s.naturalWidth > 500, s.alt.slice(0, 10)])"
    )

    assert not reopened.is_trusted()
    assert not reopened.has_kernel()
    assert [(clip["error"], clip["size"]) for clip in clips] == [(None, [480, 270])] * 2
    assert all(clip["advanced"] > 0 for clip in clips)
    assert strips == [[True, "six frames"]] * 2
    assert seeds(page) == ["7", "8"]
    assert page.locator("table.dataframe tbody tr").count() == 3
    assert showing.notebook.is_trusted()
