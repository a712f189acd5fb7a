"""The viewer of one file in a browser: frames, filmstrip, range, and what its buttons ask of the kernel."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from reelbook.display.explorer_card import render_explorer
from reelbook.display.theme import render_style
from reelbook.media.local_file import LocalFile
from reelbook.models.base import File
from tests.browser.bare_page import Open
from tests.browser.fake_kernel import answer_requests, listen
from tests.clips import DARKEST, STEP, at, film
from tests.numbered import kind_of, numbered_clip
from tests.support import png

pytestmark = pytest.mark.browser

KEY = "a-key"
SHOWN = "document.querySelector('[data-rb-explorer]')?.clock?.clips[0].shown"
GREY = """() => { const c = document.querySelector('.rb-stage canvas');
  return c.getContext('2d').getImageData(c.width >> 1, c.height >> 1, 1, 1).data[0]; }"""

Show = Callable[..., Page]


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> LocalFile:
    """A clip of 25 frames, each grey."""
    return film(tmp_path_factory.mktemp("films") / "boat.mp4", size=(640, 360), options={"bf": "2", "g": "12"})


@pytest.fixture
def shown(opened: Open) -> Show:
    """Shows the explorer of a file with its kernel."""

    def show(file: LocalFile, *, at_frame: int = 0) -> Page:
        explorer = file.explore()
        explorer.frame = at_frame
        page = opened(render_explorer(explorer, key=KEY), render_style("figure.css"))
        answer_requests(page, [[file.path]])
        listen(page, KEY)
        if file.is_video:
            page.wait_for_function(f"{SHOWN} === {at_frame}")
        return page

    return show


def frame_on_screen(page: Page, number: int) -> None:
    """Wait for a frame, and read it from the pixels."""
    page.wait_for_function(f"{SHOWN} === {number}")
    assert round((page.evaluate(GREY) - DARKEST) / STEP) == number


def drag_to(page: Page, share: float) -> tuple[float, float]:
    box = page.locator(".rb-line").bounding_box()
    assert box is not None
    return box["x"] + 1.5 + share * (box["width"] - 3), box["y"] + box["height"] / 2


def test_the_strip_scrubs(shown: Show, clip: LocalFile) -> None:
    """A click and a drag seek, and neither is a frame off."""
    page = shown(clip)

    page.mouse.move(*drag_to(page, 6 / 24))
    page.mouse.down()
    frame_on_screen(page, 6)
    page.mouse.move(*drag_to(page, 19 / 24), steps=4)
    page.mouse.up()
    frame_on_screen(page, 19)
    assert page.locator("[data-rb-do=told]").inner_text() == "20 of 25 · 0.79 s"


def test_keys_step_and_set_the_range(shown: Show, clip: LocalFile) -> None:
    """All keys of a viewer; the range is what the buttons save."""
    page = shown(clip)
    page.locator("[data-rb-explorer]").focus()

    for key, frame in (("ArrowRight", 1), ("Shift+ArrowRight", 11), ("End", 24), ("ArrowLeft", 23), ("Home", 0)):
        page.keyboard.press(key)
        frame_on_screen(page, frame)
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("[")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("]")
    button = page.get_by_role("button", name="Save range")
    expect(button).to_have_text("Save range · 11 frames")
    page.get_by_role("slider", name="End of the range").press("ArrowLeft")
    expect(button).to_have_text("Save range · 10 frames")
    expect(page.locator(".rb-film-strip")).to_have_css("mask-image", re.compile("16.6667%.*54.1667%"))
    frame_on_screen(page, 13)
    button.click()

    page.wait_for_function("asked.some(({do: what}) => what === 'clip')")
    clip_asked = page.evaluate("asked.findLast(({do: what}) => what === 'clip')")
    assert clip_asked == {"do": "clip", "frame": 13, "range": [4, 13]}
    page.keyboard.press("?")
    assert "Shift ← → ten" in page.locator(".rb-keys").inner_text()


def test_a_handle_is_dragged(shown: Show, clip: LocalFile) -> None:
    """The frame at the handle is on the screen meanwhile; the two never cross."""
    page = shown(clip)
    line = page.locator(".rb-line").bounding_box()
    assert line is not None

    page.mouse.move(line["x"] - 6, line["y"] + 20)
    page.mouse.down()
    page.mouse.move(*drag_to(page, 10 / 24), steps=5)
    page.mouse.up()
    frame_on_screen(page, 10)
    end = page.get_by_role("slider", name="End of the range")
    end.press("Home")

    expect(end).to_have_value("11")
    expect(page.get_by_role("button", name="Save range")).to_have_text("Save range · 2 frames")


def test_what_came_of_a_button_is_said(shown: Show, clip: LocalFile) -> None:
    """The path as text; code to copy; an error as the kernel's sentence; and that there is no kernel."""
    page = shown(clip)
    said = page.locator(".rb-said")
    path, code = "saved/<b>boat</b>_frame-1-of-25.png", 'rb.ImageToVideo(image_url=e.image, prompt="…")'
    page.evaluate(
        """([path, code]) => Object.assign(replies, {
          still: [{path, size: '3 kB'}, []],
          gif: [{error: 'There is no <i>room</i>.'}, []], use: [{code, name: 'e', frame: 0}, []], clip: [{gone: 'Gone.'}, []],
        })""",
        [path, code],
    )

    page.get_by_role("button", name="Save still").click()
    expect(said).to_have_text(f"Saved {path} · 3 kB")
    page.get_by_role("button", name="Save GIF").click()
    expect(said).to_have_text("There is no <i>room</i>.")
    page.get_by_role("button", name="Use this frame").click()
    expect(said.locator("code")).to_have_text(code)
    expect(said.locator("code")).to_have_css("background-color", "rgba(0, 0, 0, 0)")
    expect(page.get_by_role("button", name="Copy code")).to_be_visible()
    page.get_by_role("button", name="Save clip").click()
    expect(said).to_contain_text("Run the cell again")


def test_the_kernel_follows_the_page_and_the_page_the_kernel(shown: Show, clip: LocalFile) -> None:
    """The frame is reported once the page rests, not while it moves."""
    page = shown(clip)
    page.locator("[data-rb-explorer]").focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("asked.some(({frame}) => frame === 5)")
    assert page.evaluate("asked.filter(({do: what}) => what === 'place').length") <= 3

    page.evaluate(
        "dispatchEvent(new CustomEvent('reelbook:told', {detail: {key: 'a-key', told: {frame: 17, range: [3, 20]}}}))"
    )

    frame_on_screen(page, 17)
    expect(page.get_by_role("button", name="Save range")).to_have_text("Save range · 18 frames")


def test_a_picture_is_looked_at_closely(shown: Show, tmp_path: Path) -> None:
    """With zoom, and without what only a clip has."""
    path = tmp_path / "picture.png"
    path.write_bytes(png(300, 200))
    page = shown(LocalFile(path, File(url="")))

    page.get_by_role("button", name="Zoom in").click()

    assert page.locator(".rb-stage").get_attribute("data-zoomed") == ""
    assert page.locator(".rb-bar > :first-child button").all_inner_texts() == ["Save", "Use this picture"]


def test_a_clip_that_browsers_do_not_decode_is_seen_as_a_copy(shown: Show, tmp_path: Path) -> None:
    """Which says so; it has the same frames, and what is saved is of the file itself."""
    page = shown(at(numbered_clip(tmp_path, kind_of("MPEG-4 part 2"))))

    page.locator("[data-rb-explorer]").press("Shift+ArrowRight")

    page.wait_for_function(f"{SHOWN} === 10")
    assert "A small copy" in page.locator(".rb-said").inner_text()


def test_off_the_page_its_memory_is_given_back(shown: Show, clip: LocalFile) -> None:
    """And it shows the same frame when it comes back, as cells of a long notebook do."""
    page = shown(clip, at_frame=3)
    page.evaluate("window.root = document.querySelector('[data-rb-explorer]'); root.remove()")
    page.wait_for_function("reelbookFrames.clips.size === 0")

    page.evaluate("document.body.append(root)")

    frame_on_screen(page, 3)
    page.locator("[data-rb-explorer]").press("ArrowRight")
    frame_on_screen(page, 4)
