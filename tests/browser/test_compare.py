"""Comparisons in a browser: exact to the frame and to the pixel, by mouse and by keys, with and without a kernel."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Page, expect

import reelbook as rb
from reelbook.api.table_accessor import Reel
from reelbook.display.compare.comparison_html import render_comparison
from reelbook.display.original_links import linked_by
from reelbook.media.bounded_open import open_video
from reelbook.media.video_colours import convert_to_rgb, get_colours
from tests.browser.bare_page import Open
from tests.browser.fake_kernel import answer_requests, listen
from tests.browser.looks import overflow
from tests.clips import DARKEST, STEP, film
from tests.media.bars import SAYS, Says, bar_clip
from tests.support import deep

pytestmark = pytest.mark.browser

STAGE = """async place => {
  const {views, items, clock} = document.querySelector("[data-rb-compare]").compare;
  const {canvas, context} = views[place];
  const bytes = new Uint8Array(context.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  let text = "";
  for (let start = 0; start < bytes.length; start += 32768) text += String.fromCharCode(...bytes.subarray(start, start + 32768));
  return [canvas.width, canvas.height, btoa(text)];
}"""
# The stage is drawn in the next frame of the page, and exact colours a moment later.
SEEK = """async frame => {
  const {clock, stage} = document.querySelector("[data-rb-compare]").compare;
  await clock.seek(frame);
  const until = performance.now() + 3000;
  while (stage.dataset.frame !== String(frame) && performance.now() < until) await new Promise(requestAnimationFrame);
  for (let turn = 0; turn < 3; turn += 1) await new Promise(requestAnimationFrame);
}"""
# The grey of either half of the stage, while it plays for a second and a half.
PLAYED = """async () => {
  const {clock, views} = document.querySelector("[data-rb-compare]").compare, {context} = views[0], found = [];
  clock.seek(0);
  clock.play();
  for (const until = performance.now() + 1500; performance.now() < until;) {
    await new Promise(requestAnimationFrame);
    found.push([10, 50].map(x => context.getImageData(x, 20, 1, 1).data[0]));
  }
  clock.pause();
  return found;
}"""
IS_THERE = """() => { const {items, stage} = document.querySelector("[data-rb-compare]").compare;
  return stage.dataset.frame && items.every(item => item.live || !item.clip?.isInView); }"""

KEY = "key"
Show = Callable[..., Page]


@pytest.fixture
def shown(opened: Open) -> Show:
    """Shows a comparison of files, which a kernel sends unless there is none."""

    def show(paths: list[Path], *, has_kernel: bool = True, rows: Any = None, **options: Any) -> Page:
        with linked_by(lambda path: f"{KEY} {paths.index(path)}" if path else ""):
            html = render_comparison(rb.compare(*paths) if rows is None else Reel(rows).compare())
        page = opened(html, **options)
        if has_kernel:
            connect(page, paths)
            page.wait_for_function(IS_THERE)
        return page

    return show


def connect(page: Page, paths: list[Path]) -> None:
    """Let a kernel come that sends these files."""
    answer_requests(page, [[path] for path in paths])
    listen(page, KEY)


@pytest.fixture(scope="module")
def greys(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three clips whose grey tells the frame: with B-frames, of half the rate, and longer."""
    folder = tmp_path_factory.mktemp("greys")
    return [
        film(folder / "b-frames.mp4", frames=24, options={"preset": "medium", "bf": "3", "g": "9"}).path,
        film(folder / "slow.mp4", frames=12, rate=Fraction(12), options={"g": "5"}).path,
        film(folder / "odd.mp4", frames=30, size=(98, 54), options={"g": "12"}).path,
    ]


def stage(page: Page, place: int = 0) -> NDArray[np.int16]:
    """What a canvas has: rows, columns, red-green-blue."""
    width, height, content = page.evaluate(STAGE, place)
    return np.frombuffer(base64.b64decode(content), np.uint8).reshape(height, width, 4)[..., :3].astype(np.int16)


def seek(page: Page, frame: int) -> None:
    page.evaluate(SEEK, frame)


def mode(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def frame_of(path: Path, wanted: int) -> NDArray[np.int16]:
    """A frame as PyAV decodes it, converted with the colours that the file declares."""
    with open_video(path) as (container, stream):
        for number, frame in enumerate(container.decode(stream)):
            if number == wanted:
                colours = get_colours(frame)
                return np.asarray(convert_to_rgb(frame, colours)).astype(np.int16)
    raise AssertionError(f"There is no frame {wanted}.")


def number_at(pixels: NDArray[np.int16]) -> int:
    """Which frame of a clip in greys this is."""
    return round((float(pixels.mean()) - DARKEST) / STEP)


def waves(size: tuple[int, int], shift: int) -> NDArray[np.uint8]:
    """A picture of soft colours."""
    width, height = size
    y, x = np.mgrid[0:height, 0:width]
    red, green = np.sin((x + shift) / width * 9), np.cos(y / height * 7 + shift / 40)
    blue = np.sin((x + y + 2 * shift) / (width + height) * 11)
    return np.stack([128 + 110 * wave for wave in (red, green, blue)], -1).astype(np.uint8)


@pytest.mark.parametrize(
    ("says", "size"),
    [(SAYS[1], (160, 90)), (SAYS[2], (160, 90)), (SAYS[5], (160, 720)), *deep(*[(says, (160, 90)) for says in SAYS])],
    ids=str,
)
def test_pixels_are_those_of_the_decoded_frames(shown: Show, tmp_path: Path, says: Says, size: tuple[int, int]) -> None:
    """Wipe and difference beside numpy: the mean error is at most 2 of 255, whatever colours a clip declares."""
    pictures = {"a": waves(size, 0), "b": waves(size, 25)}
    paths = [bar_clip(tmp_path / f"{name}.mp4", size, says, picture=one) for name, one in pictures.items()]
    page = shown(paths)
    seek(page, 2)
    a, b = (frame_of(path, 2) for path in paths)
    middle = size[0] // 2

    wiped = stage(page)
    mode(page, "Difference")
    found = {}
    for factor in (1, 8):
        page.get_by_label("Amplified by").select_option(str(factor))
        seek(page, 2)
        found[factor] = stage(page)

    # Without a graphics card Chromium draws the blue of BT.709 up to twelve steps too weak.
    colours = slice(2 if says == SAYS[0] else 3)
    assert np.abs(wiped - np.concatenate([a[:, :middle], b[:, middle:]], 1))[..., colours].mean() <= 2
    assert np.abs(found[1] - np.abs(a - b))[..., colours].mean() <= 2
    assert (found[8] == np.minimum(8 * found[1], 255)).all()


def test_both_show_the_frame_of_the_clock(shown: Show, greys: list[Path]) -> None:
    """After any step and scrub, with B-frames, other rates, lengths and sizes: 0 wrong."""
    page = shown(greys)
    chance = random.Random(7)
    wrong = []
    mode(page, "Side by side")
    for _ in range(24):
        tick = chance.randrange(30)
        seek(page, tick)
        time = (tick + 0.5) / 24
        # By time: the slow one has every other frame, and each stays at its last.
        expected = [min(tick, 23), min(int(time * 12), 11), tick]
        found = [number_at(stage(page, place)[26, 45:52]) for place in range(3)]
        if found != [number % 25 for number in expected]:
            wrong.append((tick, found, expected))

    assert wrong == []


def test_what_plays_is_never_of_two_frames(shown: Show, tmp_path: Path) -> None:
    """While it plays, either half of the wipe has the same frame; and it goes on."""
    paths = [
        film(tmp_path / f"{name}.mp4", frames=24, size=(64, 48), options={"g": g}).path
        for name, g in (("a", "6"), ("b", "24"))
    ]
    page = shown(paths)
    found = page.evaluate(PLAYED)

    assert len({tuple(pair) for pair in found}) > 10
    assert [pair for pair in found if abs(pair[0] - pair[1]) > STEP / 2] == []


def test_the_wipe_goes_by_mouse_and_keys(shown: Show, tmp_path: Path) -> None:
    """Its handle is dragged, or moved by arrows that step no clip."""
    paths = [film(tmp_path / f"{name}.mp4", frames=12, size=(200, 100)).path for name in "ab"]
    Image.new("RGB", (200, 100), "white").save(white := tmp_path / "white.png")
    page = shown([paths[0], white])
    handle = page.get_by_role("slider", name="Wipe between A and B")
    at = page.locator("[data-rb-do=told]").inner_text()

    def is_white() -> NDArray[np.bool_]:
        page.wait_for_timeout(60)
        found: NDArray[np.bool_] = np.min(stage(page), axis=2) > 250
        return found

    handle.press("Home")
    whole = is_white().mean()
    for _ in range(3):
        handle.press("PageUp")
    left = is_white()
    box = page.locator(".rb-compare-view").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 30)
    page.mouse.up()
    dragged = is_white()

    assert whole == 1
    assert not left[:, : int(0.29 * 200)].any() or left[:, 70:].all()
    assert 95 <= np.flatnonzero(dragged[50])[0] <= 105
    assert page.locator("[data-rb-do=told]").inner_text() == at


def test_zoom_reaches_single_pixels_and_goes_with_the_pair(shown: Show, greys: list[Path]) -> None:
    """By keys, wheel with ctrl, and double click; the canvases stay at the pictures' own size."""
    page = shown(greys[:2])
    camera = "document.querySelector('[data-rb-compare]').compare.camera"
    view = page.locator(".rb-compare-view").first
    page.locator("[data-rb-compare]").focus()
    fit = page.evaluate(f"{camera}.scale")

    for _ in range(5):
        page.keyboard.press("+")
    near = page.evaluate(f"{camera}.scale")
    expect(page.locator(".rb-compare-view canvas").first).to_have_css("image-rendering", "pixelated")
    before = page.evaluate(f"{camera}.origin")
    view.press("ArrowRight")
    panned = page.evaluate(f"{camera}.origin")
    view.dblclick(position={"x": 20, "y": 20})
    fitted = page.evaluate(f"[{camera}.scale, {camera}.isFitted]")
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")

    assert near > 5 * fit
    assert [round(one - other) for one, other in zip(panned, before, strict=True)] == [-40, 0]
    assert fitted == [fit, True]
    assert page.evaluate(f"{camera}.scale") > fit
    page.get_by_role("group", name="Zoom").get_by_role("button").nth(1).click()
    assert page.evaluate(f"{camera}.isFitted")


def test_the_chart_seeks_and_follows(shown: Show, greys: list[Path]) -> None:
    """A click on it goes to the frame, the mark is at the present one, and another pair has other lines."""
    page = shown([greys[0], greys[2], greys[1]])
    plot = page.locator(".rb-compare-plot")
    box = plot.bounding_box()
    assert box is not None
    lines = page.locator("polyline").first.get_attribute("points")

    plot.click(position={"x": box["width"] * 20 / 29, "y": 30})
    expect(page.locator("[data-rb-do=told]")).to_contain_text("21 of 30")
    mark = page.locator(".rb-compare-now").evaluate("mark => parseFloat(mark.style.left)")
    page.get_by_label("File B").select_option(label="slow.mp4")

    assert mark == pytest.approx(100 * 20 / 29, abs=0.1)
    assert page.locator("polyline").first.get_attribute("points") != lines


def test_a_and_b_are_chosen_by_keys(shown: Show, greys: list[Path]) -> None:
    """A takes the next file for A, B for B; if that is the other's, both swap."""
    page = shown(greys)
    pair = "document.querySelector('[data-rb-compare]').compare.pair"
    page.locator("[data-rb-compare]").focus()

    found = []
    for key in "abb":
        page.keyboard.press(key)
        found.append(page.evaluate(pair))

    assert found == [[1, 0], [0, 1], [0, 2]]
    page = shown(greys[:2])
    page.get_by_label("File A").select_option(label="slow.mp4")
    assert page.evaluate(pair) == [1, 0]
    assert page.get_by_label("File B").input_value() == "0"


def test_nothing_flickers_for_who_wants_no_motion(shown: Show, greys: list[Path]) -> None:
    """Until the button is pressed; else A and B alternate."""
    page = shown(greys[:2], reduced_motion="reduce")
    mode(page, "Flicker")
    name = page.locator(".rb-compare-name").first

    page.wait_for_timeout(400)
    still = name.inner_text()
    page.get_by_role("button", name="Start").click()

    assert still == "A · b-frames.mp4"
    expect(name).to_have_text("B · slow.mp4")
    expect(name).to_have_text("A · b-frames.mp4")
    page.get_by_role("button", name="Stop").click()


def test_without_a_kernel_the_stills_are_compared(shown: Show, greys: list[Path]) -> None:
    """And it is said how to get all frames; there is no time line that would move nothing."""
    page = shown(greys[:2], has_kernel=False)
    words = page.locator(".rb-compare-words")

    expect(words).to_have_text(
        "Run the cell again to compare them frame by frame; these are small copies of the middle frames."
    )
    mode(page, "Side by side")
    page.wait_for_timeout(100)

    assert [number_at(stage(page, place)) for place in range(2)] == [12, 6]
    assert not page.locator(".rb-transport").is_visible()
    # A kernel that comes later brings them.
    connect(page, greys[:2])
    expect(words).to_have_text("")
    seek(page, 20)
    assert [number_at(stage(page, place)) for place in range(2)] == [20, 10]
    page.emulate_media(media="print")
    assert page.locator(".rb-compare-stills img").first.is_visible()


def test_no_mode_is_wider_than_a_narrow_page(shown: Show, greys: list[Path]) -> None:
    """Also where files have long names in other scripts; that hostile ones do nothing is tried with all displays."""
    rows = pd.DataFrame(
        {
            "note": ["比较 مقارنة 🚤" * 9, "x" * 99],
            "output_video": [str(path) for path in greys[:2]],
            "status": "completed",
        },
        index=pd.RangeIndex(2, name="run"),
    )
    page = shown(greys[:2], rows=rows, width=320)

    for name in ("Wipe", "Onion skin", "Difference", "Flicker", "Side by side"):
        mode(page, name)
        page.wait_for_timeout(60)
        assert overflow(page) <= 0
