"""Figures in a bare Chromium: how they play, by mouse and by keys, what can be saved and copied, and how they look."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Locator, Page

from reelbook.display.embedding import data_uri
from reelbook.display.figure import file_figure
from reelbook.display.original_links import set_link_provider
from reelbook.media.local_file import LocalFile
from reelbook.models.text_to_video import TextToVideo
from tests.browser.looks import playback
from tests.clips import at, film
from tests.support import deep

pytestmark = pytest.mark.browser

BOAT = TextToVideo(prompt="a paper boat on a rainy street, seen from a bridge at dusk", num_frames=49, seed=7)
FACTS = {
    "model": BOAT.endpoint_id, "input": BOAT.wire(), "seed": 7, "request_id": "request-1", "credits": 53, "credits_source": "charged",
}  # fmt: skip
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>figures</title><style>
:root { color-scheme: light dark } body { margin: 16px; background: light-dark(#fff, #111); font: 14px system-ui }
</style></head><body><main><h1 style="font-size:14px;color:light-dark(#111,#eee)">Figures</h1>%s</main></body></html>"""
Scheme = Literal["light", "dark"]


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[LocalFile]:
    """Two clips of two seconds, with what their runs tell."""
    folder = tmp_path_factory.mktemp("films")
    made = [film(folder / f"{name}.mp4", frames=48, size=(640, 360)) for name in "ab"]
    return [replace(clip, facts=FACTS) for clip in made]


@contextmanager
def opened(browser: Browser, body: str, *, width: int = 800, scheme: Scheme = "light", **more: Any) -> Iterator[Page]:
    """A page with this in it, and no network."""
    context = browser.new_context(offline=True, viewport={"width": width, "height": 900}, color_scheme=scheme, **more)
    page, complaints = context.new_page(), list[str]()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    try:
        page.set_content(PAGE % body)
        page.wait_for_function("[...document.querySelectorAll('video')].every(video => video.readyState >= 1)")
        yield page
        assert complaints == []
    finally:
        context.close()


def is_playing(video: Locator) -> bool:
    return bool(video.evaluate("video => !video.paused"))


def frame(video: Locator) -> float:
    """The middle of which frame is on the screen; at its end a clip still shows the last one."""
    video.page.wait_for_function("video => !video.seeking", arg=video.element_handle())
    return float(video.evaluate("video => Math.min(video.currentTime * 24, 47.5)"))


class TestMouse:
    """Over a clip."""

    def test_one_clip_plays_at_a_time_while_the_pointer_is_over_it(
        self, chromium: Browser, clips: list[LocalFile]
    ) -> None:
        """It begins under the pointer, without sound, and stops when the pointer leaves; the next one takes over."""
        with opened(chromium, "".join(map(file_figure, clips))) as page:
            first, second = page.locator("video").nth(0), page.locator("video").nth(1)
            before = [is_playing(first), is_playing(second)]
            first.hover()
            page.wait_for_function("video => video.currentTime > 0", arg=first.element_handle())
            on_first = [is_playing(first), is_playing(second), first.evaluate("video => video.muted")]
            second.hover()
            page.wait_for_function("video => video.currentTime > 0", arg=second.element_handle())
            on_second = [is_playing(first), is_playing(second)]
            page.mouse.move(790, 5)
            page.wait_for_function("[...document.querySelectorAll('video')].every(video => video.paused)")

        assert before == [False, False]
        assert on_first == [True, False, True]
        assert on_second == [False, True]

    def test_nothing_moves_for_who_wants_no_motion(self, chromium: Browser, clips: list[LocalFile]) -> None:
        """Under `prefers-reduced-motion` a clip plays when it is asked to, and not before."""
        with opened(chromium, file_figure(clips[0]), reduced_motion="reduce") as page:
            video = page.locator("video")
            video.hover()
            page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
            hovered = is_playing(video)
            asked = playback(video)

        assert not hovered
        assert asked["advanced"] > 0


class TestKeys:
    """With the focus on a clip."""

    def test_arrows_go_frame_by_frame(self, chromium: Browser, clips: list[LocalFile]) -> None:
        """One, ten, to both ends, and never beyond; each time to the middle of a frame."""
        with opened(chromium, file_figure(clips[0])) as page:
            video = page.locator("video")
            video.focus()
            seen = []
            for key in (
                "ArrowRight",
                "ArrowRight",
                "Shift+ArrowRight",
                "ArrowLeft",
                "End",
                "ArrowRight",
                "ArrowLeft",
                "Home",
                "ArrowLeft",
            ):
                page.keyboard.press(key)
                seen.append(frame(video))
            says = page.locator("[role=status]").inner_text()

        assert seen == pytest.approx([1.5, 2.5, 12.5, 11.5, 47.5, 47.5, 46.5, 0.5, 0.5], abs=0.01)
        assert says == "frame 1 of 48 · 0.00 s"

    def test_space_plays_and_pauses_and_the_page_hears_none_of_it(
        self, chromium: Browser, clips: list[LocalFile]
    ) -> None:
        """A notebook must not take `b`, `d` or an arrow for an order; Escape and Shift-Enter are still its own."""
        with opened(chromium, file_figure(clips[0])) as page:
            page.evaluate("window.heard = []; document.addEventListener('keydown', e => window.heard.push(e.key))")
            video = page.locator("video")
            video.focus()
            page.keyboard.press("Space")
            page.wait_for_function("video => video.currentTime > 0", arg=video.element_handle())
            playing = is_playing(video)
            page.keyboard.press("Space")
            paused = not is_playing(video)
            for key in ("b", "d", "d", "ArrowDown", "ArrowRight", "Escape"):
                page.keyboard.press(key)
            page.keyboard.press("?")
            says = page.locator("[role=status]").inner_text()
            heard = page.evaluate("window.heard")

        assert playing
        assert paused
        assert heard == ["ArrowDown", "Escape"]
        assert "one frame" in says


class TestActions:
    """What our script adds."""

    def test_save_gives_the_file(self, chromium: Browser, clips: list[LocalFile], tmp_path: Path) -> None:
        """Under a name that tells what it is, byte for byte."""
        with opened(chromium, file_figure(clips[0]), accept_downloads=True) as page:
            with page.expect_download() as download:
                page.get_by_text("Save", exact=True).click()
            download.value.save_as(tmp_path / "saved.mp4")

        assert download.value.suggested_filename == "a-paper-boat-on-a-rainy-street-seen-from-a_seed-7_640x360.mp4"
        assert (tmp_path / "saved.mp4").read_bytes() == clips[0].path.read_bytes()

    def test_copy_gives_the_code(self, chromium: Browser, clips: list[LocalFile]) -> None:
        """As it stands there; the button says that it has."""
        with opened(chromium, file_figure(clips[0])) as page:
            page.locator("summary").first.click()
            page.evaluate("document.addEventListener('copy', () => { window.copied = getSelection().toString(); })")
            page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
            page.get_by_role("button", name="Copy").click()
            page.get_by_text("Copied").wait_for()
            copied = page.evaluate("window.copied")

        assert copied.startswith("rb.run(rb.TextToVideo(")
        assert "num_frames=49" in copied

    def test_the_original_takes_the_place_of_its_preview_while_there_is_a_kernel(
        self, chromium: Browser, tmp_path: Path
    ) -> None:
        """It is what is shown and saved then; without a kernel the preview is, and says so."""
        clip = film(tmp_path / "clip.mp4", frames=12, size=(1280, 720), noise=12)
        set_link_provider(lambda path: "key 0" if path else "")
        try:
            body = file_figure(clip)
        finally:
            set_link_provider(lambda _: "")
        kernel = f"""<script>addEventListener("reelbook:want", event => {{
          event.preventDefault(); event.detail.answer("{data_uri("video/mp4", clip.path.read_bytes())}"); }});</script>"""

        with opened(chromium, kernel + body) as page:
            video, save = page.locator("video"), page.locator(".rb-actions a")
            page.locator("[data-rb-shows=original]").wait_for()
            page.wait_for_function("video => video.videoWidth === 1280", arg=video.element_handle())
            original = (
                save.inner_text(),
                save.get_attribute("download"),
                page.get_by_text("preview 480×270").is_visible(),
            )
            page.evaluate("dispatchEvent(new CustomEvent('reelbook:gone', { detail: { key: 'key' } }))")
            page.wait_for_function("video => video.videoWidth === 480", arg=video.element_handle())
            preview = (
                save.inner_text(),
                save.get_attribute("download"),
                page.get_by_text("preview 480×270").is_visible(),
            )

        assert original == ("Save", "clip.mp4", False)
        assert preview == ("Save preview (480×270)", "clip_preview.mp4", True)

    def test_a_clip_that_the_browser_cannot_play_says_so(self, chromium: Browser, tmp_path: Path) -> None:
        """A poster, a strip, and a sentence are left."""
        body = file_figure(film(tmp_path / "a.mp4", frames=3)).replace(
            "data:video/mp4;base64,", "data:video/mp4;base64,AAAA"
        )

        page = chromium.new_page()
        page.set_content(PAGE % body)
        page.get_by_text("This browser cannot play it").wait_for()
        page.close()


@pytest.mark.parametrize("name", ["a.mov", *deep(("a.mp4",), ("a.m4v",))])
def test_each_kind_of_clip_plays(chromium: Browser, tmp_path: Path, name: str) -> None:
    """Under the name that its kind has."""
    made = film(tmp_path / "made.mp4", frames=12, size=(320, 180))
    clip = at(made.path.rename(tmp_path / name))

    with opened(chromium, file_figure(clip)) as page:
        played = playback(page.locator("video"))

    assert played["error"] is None
    assert played["advanced"] > 0
