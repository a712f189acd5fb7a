"""Figures in a bare Chromium: how they play, by mouse and by keys, what can be saved and copied, and how they look."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from reelbook.display.figure import file_figure
from reelbook.display.original_links import linked_by
from reelbook.media.local_file import LocalFile
from reelbook.models.text_to_video import TextToVideo
from tests.browser.bare_page import Open
from tests.browser.fake_kernel import answer_requests, listen
from tests.browser.looks import playback
from tests.clips import at, film

pytestmark = pytest.mark.browser

BOAT = TextToVideo(prompt="a paper boat on a rainy street, seen from a bridge at dusk", num_frames=49, seed=7)
FACTS = {
    "model": BOAT.endpoint_id, "input": BOAT.wire(), "seed": 7, "request_id": "request-1", "credits": 53, "credits_source": "charged",
}  # fmt: skip


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[LocalFile]:
    """Two clips of two seconds, with what their runs tell."""
    folder = tmp_path_factory.mktemp("films")
    made = [film(folder / f"{name}.mp4", frames=48, size=(640, 360)) for name in "ab"]
    return [replace(clip, facts=FACTS) for clip in made]


@pytest.fixture
def shown(opened: Open) -> Open:
    """Shows figures on a page, ready to play."""

    def show(*bodies: str, **options: Any) -> Page:
        page = opened(*bodies, width=800, **options)
        page.wait_for_function("[...document.querySelectorAll('video')].every(video => video.readyState >= 1)")
        return page

    return show


def is_playing(video: Locator) -> bool:
    return bool(video.evaluate("video => !video.paused"))


def frame(video: Locator) -> float:
    """The middle of which frame is on the screen; at its end a clip still shows the last one."""
    video.page.wait_for_function("video => !video.seeking", arg=video.element_handle())
    return float(video.evaluate("video => Math.min(video.currentTime * 24, 47.5)"))


def test_arrows_go_frame_by_frame(shown: Open, clips: list[LocalFile]) -> None:
    """One, ten, to both ends, and never beyond; each time to the middle of a frame."""
    page = shown(file_figure(clips[0]))
    video = page.locator("video")
    video.focus()
    keys = "ArrowRight ArrowRight Shift+ArrowRight ArrowLeft End ArrowRight ArrowLeft Home ArrowLeft"
    seen = []
    for key in keys.split():
        page.keyboard.press(key)
        seen.append(frame(video))

    assert seen == pytest.approx([1.5, 2.5, 12.5, 11.5, 47.5, 47.5, 46.5, 0.5, 0.5], abs=0.01)
    assert page.locator("[role=status]").inner_text() == "frame 1 of 48 · 0.00 s"


def test_space_plays_and_pauses_and_the_page_hears_none_of_it(shown: Open, clips: list[LocalFile]) -> None:
    """A notebook must not take `b`, `d` or an arrow for an order; Escape and Shift-Enter are still its own."""
    page = shown(file_figure(clips[0]))
    page.evaluate("window.heard = []; document.addEventListener('keydown', e => window.heard.push(e.key))")
    video = page.locator("video")
    video.focus()
    page.keyboard.press("Space")
    page.wait_for_function("video => video.currentTime > 0", arg=video.element_handle())
    has_played = is_playing(video)
    page.keyboard.press("Space")
    is_paused = not is_playing(video)
    for key in ("b", "d", "d", "ArrowDown", "ArrowRight", "Escape", "?"):
        page.keyboard.press(key)

    assert has_played
    assert is_paused
    assert page.evaluate("window.heard") == ["ArrowDown", "Escape"]
    assert "one frame" in page.locator("[role=status]").inner_text()


def test_save_gives_the_file(shown: Open, clips: list[LocalFile]) -> None:
    """Under a name that tells what it is, byte for byte."""
    page = shown(file_figure(clips[0]))
    with page.expect_download() as download:
        page.get_by_text("Save", exact=True).click()

    assert download.value.suggested_filename == "a-paper-boat-on-a-rainy-street-seen-from-a_seed-7_640x360.mp4"
    assert Path(download.value.path()).read_bytes() == clips[0].path.read_bytes()


def test_copy_gives_the_code(shown: Open, clips: list[LocalFile]) -> None:
    """As it stands there; the button says that it has."""
    page = shown(file_figure(clips[0]))
    page.locator("summary").first.click()
    page.evaluate("document.addEventListener('copy', () => { window.copied = getSelection().toString(); })")
    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    page.get_by_role("button", name="Copy").click()
    page.get_by_text("Copied").wait_for()
    copied = page.evaluate("window.copied")

    assert copied.startswith("rb.run(rb.TextToVideo(")
    assert "num_frames=49" in copied


def test_the_original_takes_the_place_of_its_preview_while_there_is_a_kernel(shown: Open, tmp_path: Path) -> None:
    """It is what is shown and saved then; without a kernel the preview is, and says so."""
    clip = film(tmp_path / "clip.mp4", frames=12, size=(1280, 720), noise=12)
    with linked_by(lambda path: "key 0" if path else ""):
        page = shown(file_figure(clip))
    save, note = page.locator(".rb-actions a"), page.get_by_text("preview 480×270")
    said = []

    answer_requests(page, [[clip.path]])
    listen(page, "key")
    for width in (1280, 480):
        page.wait_for_function("width => document.querySelector('video').videoWidth === width", arg=width)
        said.append((save.inner_text(), save.get_attribute("download"), note.is_visible()))
        page.evaluate("dispatchEvent(new CustomEvent('reelbook:gone', { detail: { key: 'key' } }))")

    assert said == [("Save", "clip.mp4", False), ("Save preview (480×270)", "clip_preview.mp4", True)]


def test_a_clip_that_the_browser_cannot_play_says_so(opened: Open, tmp_path: Path) -> None:
    """A poster, a strip, and a sentence are left."""
    figure = file_figure(film(tmp_path / "a.mp4", frames=3))

    page = opened(figure.replace("data:video/mp4;base64,", "data:video/mp4;base64,AAAA"))

    page.get_by_text("This browser cannot play it").wait_for()


def test_a_clip_of_another_kind_plays(shown: Open, tmp_path: Path) -> None:
    """Under the name that its kind has."""
    made = film(tmp_path / "made.mp4", frames=12, size=(320, 180))
    page = shown(file_figure(at(made.path.rename(tmp_path / "a.mov"))))

    played = playback(page.locator("video"))

    assert played["error"] is None
    assert played["advanced"] > 0
