"""The viewer of one file in a browser: frames, filmstrip, range, and what its buttons ask of the kernel."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from playwright.sync_api import Error, Page, expect

from reelbook.display.explorer_card import render_explorer
from reelbook.media.frame_index import read_frame_index
from reelbook.media.local_file import LocalFile
from reelbook.media.previews import get_preview
from reelbook.models.base import File
from tests.clips import DARKEST, STEP, at, film
from tests.support import png

pytestmark = pytest.mark.browser

PAGE = "<!doctype html><html lang=en><meta charset=utf-8><title>.</title><style>:root{{color-scheme:light dark}}body{{margin:16px;min-height:700px;background:Canvas}}</style><main><h1>.</h1>{}</main>"

# A kernel in the page: it sends the file, and remembers what it was asked to do.
KERNEL = """([content, index, kind, copy]) => {
  const bytesOf = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  window.asked = []; window.replies = {};
  addEventListener("reelbook:want", event => {
    event.preventDefault();
    const [bytes, known] = event.detail.copy ? copy : [content, index];
    const blob = new Blob([bytesOf(bytes)], {type: kind});
    event.detail.answer(URL.createObjectURL(blob), "", {blob, index: known});
  });
  addEventListener("reelbook:do", event => {
    event.preventDefault();
    const {message, answer} = event.detail;
    asked.push(message);
    if (replies[message.do]) answer(...replies[message.do]);
  });
}"""

SHOWN = "document.querySelector('[data-rb-explorer]')?.clock?.clips[0].shown"
GREY = """() => { const c = document.querySelector('.rb-stage canvas');
  return c.getContext('2d').getImageData(c.width >> 1, c.height >> 1, 1, 1).data[0]; }"""

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> LocalFile:
    """A clip of 25 frames, each grey."""
    return film(tmp_path_factory.mktemp("films") / "boat.mp4", size=(640, 360), options={"bf": "2", "g": "12"})


@pytest.fixture
def opened(offline_page: Page, tmp_path: Path) -> Iterator[Open]:
    """Shows the explorer of a file on a page that answers as a kernel does; nothing may complain."""
    complaints = list[str]()

    def note(error: Error) -> None:
        complaints.append(str(error))

    def show(
        file: LocalFile, *, at_frame: int = 0, width: int = 1000, color_scheme: Any = "light", has_kernel: bool = True
    ) -> Page:
        page = offline_page
        # A file, because browsers decode single frames only on pages that they call secure.
        (tmp_path / "page.html").write_text(PAGE.format(""), encoding="utf-8")
        page.goto((tmp_path / "page.html").as_uri())
        page.emulate_media(color_scheme=color_scheme)
        page.set_viewport_size({"width": width, "height": 800})
        explorer = file.explore()
        explorer.frame = at_frame
        html = render_explorer(explorer, key="a-key")
        if has_kernel:
            index = read_frame_index(file.path) if file.is_video else None
            content = base64.b64encode(file.path.read_bytes()).decode()
            preview = get_preview(file.path, longest=320, max_bytes=400_000) if file.is_video and not index else None
            copied = read_frame_index(preview) if preview else None
            copy = [base64.b64encode(preview).decode(), copied.to_json()] if preview and copied else []
            kind = "video/mp4" if file.is_video else "image/png"
            page.evaluate(KERNEL, [content, index.to_json() if index else None, kind, copy])
        page.evaluate(
            """html => { const box = document.createRange().createContextualFragment(html); document.querySelector("main").append(box); }""",
            html,
        )
        if has_kernel and file.is_video:
            page.wait_for_function(f"{SHOWN} === {at_frame}")
        return page

    offline_page.on("pageerror", note)
    yield show
    offline_page.goto("about:blank")
    offline_page.remove_listener("pageerror", note)
    assert complaints == []


def grey_number(grey: int) -> int:
    return round((grey - DARKEST) / STEP)


def frame_on_screen(page: Page, number: int) -> None:
    """Wait for a frame, and read it from the pixels."""
    page.wait_for_function(f"{SHOWN} === {number}")
    assert grey_number(page.evaluate(GREY)) == number


def drag_to(page: Page, share: float, *, y: float = 0.5) -> tuple[float, float]:
    box = page.locator(".rb-line").bounding_box()
    assert box is not None
    return box["x"] + 1.5 + share * (box["width"] - 3), box["y"] + y * box["height"]


def test_the_strip_scrubs(opened: Open, clip: LocalFile) -> None:
    """A click and a drag seek, and neither is a frame off."""
    page = opened(clip)

    page.mouse.move(*drag_to(page, 6 / 24))
    page.mouse.down()
    frame_on_screen(page, 6)
    page.mouse.move(*drag_to(page, 19 / 24), steps=4)
    page.mouse.up()
    frame_on_screen(page, 19)
    assert page.locator("[data-rb-do=told]").inner_text() == "20 of 25 · 0.79 s"


def test_keys_step_and_set_the_range(opened: Open, clip: LocalFile) -> None:
    """All keys of a viewer; the range is what the buttons save."""
    page = opened(clip)
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
    frame_on_screen(page, 13)
    button.click()

    page.wait_for_function("asked.some(({do: what}) => what === 'clip')")
    clip_asked = page.evaluate("asked.findLast(({do: what}) => what === 'clip')")
    assert clip_asked == {"do": "clip", "frame": 13, "range": [4, 13]}
    page.keyboard.press("?")
    assert "Shift ← → ten" in page.locator(".rb-said").inner_text()


def test_a_handle_is_dragged(opened: Open, clip: LocalFile) -> None:
    """The frame at the handle is on the screen meanwhile; the two never cross."""
    page = opened(clip)
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


def test_what_was_saved_is_named(opened: Open, clip: LocalFile) -> None:
    """The path as text, a link for its bytes; an error as the kernel's sentence, and nothing in it is markup."""
    page = opened(clip)
    path = "saved/<b>boat</b>_frame-1-of-25.png"
    page.evaluate(
        "path => { replies.still = [{path, name: 'boat.png', number: 0, size: '3 kB'}, []]; replies.gif = [{error: 'There is no <i>room</i>.'}, []]; }",
        path,
    )

    page.get_by_role("button", name="Save still").click()
    expect(page.locator(".rb-said")).to_have_text(f"Saved {path} · 3 kB · Download")
    page.evaluate("replies.fetch = [{}, [new Uint8Array([1, 2, 3])]]")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    page.get_by_role("button", name="Save GIF").click()

    assert download.value.suggested_filename == "boat.png"
    expect(page.locator(".rb-said")).to_have_text("There is no <i>room</i>.")


def test_without_a_kernel_the_buttons_say_what_they_need(opened: Open, clip: LocalFile) -> None:
    """It is the kernel that saves files."""
    page = opened(clip)
    page.evaluate("replies.clip = [{gone: 'The kernel has ended.'}, []]")

    page.get_by_role("button", name="Save clip").click()

    expect(page.locator(".rb-said")).to_contain_text("Run the cell again")


def test_the_frame_is_used_in_code(opened: Open, clip: LocalFile) -> None:
    """The code is there to copy, with what it stands for."""
    page = opened(clip)
    code = 'rb.ImageToVideo(image_url=e.image, prompt="…")'
    page.evaluate("code => { replies.use = [{code, name: 'e', frame: 0}, []]; }", code)

    page.get_by_role("button", name="Use this frame").click()

    assert page.locator(".rb-said code").inner_text() == code
    expect(page.locator(".rb-said")).to_contain_text("It is the frame on the screen")
    expect(page.get_by_role("button", name="Copy code")).to_be_visible()


def test_the_kernel_follows_the_page_and_the_page_the_kernel(opened: Open, clip: LocalFile) -> None:
    """The frame is reported once the page rests, not while it moves."""
    page = opened(clip)
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


def test_zoom_goes_down_to_pixels(opened: Open, clip: LocalFile) -> None:
    """By keys and buttons, and back."""
    page = opened(clip)
    page.locator("[data-rb-explorer]").focus()

    for _ in range(8):
        page.keyboard.press("+")
    assert page.locator(".rb-zoom button").nth(1).inner_text() == "3200%"
    assert page.locator(".rb-stage").get_attribute("data-crisp") == ""
    page.keyboard.press("0")

    assert page.locator(".rb-zoom button").nth(1).inner_text() == "Fit"


def test_a_picture_is_looked_at_closely(opened: Open, tmp_path: Path) -> None:
    """With zoom, and without what only a clip has."""
    path = tmp_path / "picture.png"
    path.write_bytes(png(300, 200))
    page = opened(LocalFile(path, File(url="")))

    page.get_by_role("button", name="Zoom in").click()

    assert page.locator(".rb-stage").get_attribute("data-zoomed") == ""
    assert page.locator(".rb-bar > :first-child button").all_inner_texts() == ["Save", "Use this picture"]


def test_a_clip_that_browsers_do_not_decode_is_seen_as_a_copy(opened: Open, tmp_path: Path) -> None:
    """Which says so; it has the same frames, and what is saved is of the file itself."""
    path = tmp_path / "old.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=24, options={"qscale": "2"})
        stream.width, stream.height, stream.pix_fmt = 640, 360, "yuv420p"
        for number in range(25):
            picture = np.full((360, 640, 3), DARKEST + STEP * number, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    page = opened(at(path))

    page.locator("[data-rb-explorer]").press("Shift+ArrowRight")

    frame_on_screen(page, 10)
    assert "A small copy" in page.locator(".rb-said").inner_text()


def test_off_the_page_its_memory_is_given_back(opened: Open, clip: LocalFile) -> None:
    """And it shows the same frame when it comes back, as cells of a long notebook do."""
    page = opened(clip, at_frame=3)
    page.evaluate("window.root = document.querySelector('[data-rb-explorer]'); root.remove()")
    page.wait_for_function("reelbookFrames.clips.size === 0")

    page.evaluate("document.querySelector('main').append(root)")

    frame_on_screen(page, 3)
    page.locator("[data-rb-explorer]").press("ArrowRight")
    frame_on_screen(page, 4)
