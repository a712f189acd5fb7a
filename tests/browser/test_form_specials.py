"""The special controls of forms on a page of their own: what they show, what they set, and who can use them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Page, expect

import reelbook as rb
from reelbook.errors import InvalidInput
from reelbook.widgets.forms.schema import get_control_data, get_sheet
from tests.browser import bare_form
from tests.browser.axe import beyond, faint, findings, tabbed
from tests.browser.bare_page import without_errors
from tests.browser.looks import overflow, shot
from tests.support import deep

pytestmark = pytest.mark.browser

SIZES = next(node for node in get_sheet(rb.SmartResize)["fields"] if node["name"] == "target_sizes")
SEED = {"name": "seed", "kind": "whole", "label": "Seed", "special": "seed"}
ASPECT = {
    "name": "aspect_ratio", "kind": "choice", "label": "Aspect ratio", "default": "16:9", "special": "aspect",
    "choices": [{"value": shape, "label": shape} for shape in ("9:16", "1:1", "16:9")],
    "beside": get_control_data(rb.TextToVideo, "aspect"),
}  # fmt: skip
FRAMES = {
    "name": "num_frames", "kind": "whole", "label": "Frames", "default": 121, "min": 9, "max": 1441, "special": "frames",
    "beside": get_control_data(rb.TextToVideo, "frames"),
}  # fmt: skip
RATE = {"name": "frame_rate", "kind": "whole", "label": "Frame rate", "default": 24}
RESOLUTION = {
    "name": "resolution", "kind": "choice", "label": "Resolution", "default": "720p",
    "choices": [{"value": lines, "label": lines} for lines in ("480p", "720p")],
}  # fmt: skip
ALL = [SIZES, SEED, ASPECT, FRAMES, RATE, RESOLUTION]
DRAFT = {
    "target_sizes": ["1080x1920", "300x600", "2480x3508", "9000x10", "1240x1754"],
}  # fmt: skip

Build = Callable[..., Page]
Scheme = Literal["light", "dark"]


@pytest.fixture
def build(offline_page: Page, tmp_path: Path) -> Iterator[Build]:
    """Builds fields for these nodes with this draft; nothing may complain."""

    def build(
        *nodes: dict[str, Any], draft: dict[str, Any] | None = None, width: int = 800, scheme: Scheme = "light"
    ) -> Page:
        bare_form.build(offline_page, tmp_path, nodes, draft or {}, width=width, height=760, color_scheme=scheme)
        return offline_page

    with without_errors(offline_page):
        yield build


def drafted(page: Page, name: str) -> Any:
    """What the draft holds; None where the name is absent."""
    return page.evaluate("name => link.draft[name] ?? null", name)


def show(page: Page, name: str, value: Any) -> None:
    """A value that was set elsewhere, such as by the kernel."""
    page.evaluate("([name, value]) => { link.edit(name, value ?? undefined); judge([]); }", [name, value])


def judge(page: Page, *problems: dict[str, Any]) -> None:
    """What the kernel finds wrong with the draft."""
    page.evaluate("problems => judge(problems)", [*problems])


def add(page: Page, text: str) -> None:
    """Add a size as typed."""
    page.get_by_role("button", name="Add to Target sizes").press("Enter")
    page.keyboard.type(text)


def test_sizes_are_added_by_number_and_by_name(build: Build) -> None:
    """The focus is where one types; names of formats are offered, each told with its size."""
    page = build(SIZES)

    for text in ("300x600", "square", "728 x 90"):
        add(page, text)

    assert drafted(page, "target_sizes") == ["300x600", "square", "728 x 90"]
    assert page.locator(".rbf-size .rbf-caption").all_inner_texts() == ["Half page", "1080x1080", ""]
    assert "A4 at 300 dpi" in page.locator("datalist option").evaluate_all("all => all.map(one => one.value)")


def test_a_size_keeps_its_ratio_while_that_is_locked(build: Build) -> None:
    """A width alone is enough then; unlocked, what is typed stays as it is."""
    page = build(SIZES)
    add(page, "story")
    size, lock = page.get_by_label("1.", exact=True), page.get_by_role("button", name="Lock ratio")

    lock.click()
    size.fill("540")
    size.press("Enter")
    kept = drafted(page, "target_sizes")
    lock.click()
    size.fill("300")
    size.press("Enter")

    assert kept == ["540x960"]
    assert drafted(page, "target_sizes") == ["300"]


def test_a_bad_size_stays_and_is_told_at_its_entry(build: Build) -> None:
    """What was typed is not touched; the kernel's words are the entry's own description."""
    page = build(SIZES)
    for text in ("6000x6000", "a boat"):
        add(page, text)

    judge(page, *(problem_of(text, place) for place, text in enumerate(("6000x6000", "a boat"))))
    told = page.locator(".rbf-item .rbf-problem > span").all_inner_texts()
    described = page.get_by_label("1.", exact=True).evaluate(
        "e => document.getElementById(e.getAttribute('aria-describedby')).innerText"
    )
    page.get_by_label("1.", exact=True).fill("4096x4096")
    mended = drafted(page, "target_sizes")
    judge(page, problem_of("a boat", 1))

    assert "no canvas covers it" in told[0]
    assert described == told[0] != told[1]
    assert mended == ["4096x4096", "a boat"]
    invalid = [page.get_by_label(f"{place}.", exact=True).get_attribute("aria-invalid") for place in (1, 2)]
    assert invalid == [None, "true"]
    assert page.get_by_label("2.", exact=True).input_value() == "a boat"


def problem_of(text: str, place: int) -> dict[str, Any]:
    """What the kernel says of a size at this place."""
    with pytest.raises(InvalidInput) as caught:
        rb.SmartResize(image_url="https://example.org/a.png", target_sizes=[text])
    problem = caught.value.problems[0]
    return {"at": ["target_sizes", place], "words": problem.message, "kind": problem.kind}


def test_what_is_being_typed_is_never_disturbed(build: Build) -> None:
    """Whatever comes from the kernel meanwhile: the caret stays in a text, and half a number is spelt as it was typed."""
    page = build({"name": "prompt", "kind": "text", "label": "Prompt", "special": "prompt"}, {**RATE, "kind": "real"})
    prompt, rate = page.get_by_role("textbox", name="Prompt"), page.get_by_label("Frame rate", exact=True)

    prompt.fill("a boat")
    for _ in range(4):
        prompt.press("ArrowLeft")
    judge(page, {"at": ["prompt"], "words": "Too short.", "kind": "short"})
    prompt.press_sequentially("paper ")
    spelt = []
    for letter in "24.50":
        rate.press_sequentially(letter)
        judge(page)
        spelt.append((rate.input_value(), drafted(page, "frame_rate")))
    show(page, "frame_rate", 30)

    assert drafted(page, "prompt") == prompt.input_value() == "a paper boat"
    assert spelt == [("2", 2), ("24", 24), ("24.", 24), ("24.5", 24.5), ("24.50", 24.5)]
    assert rate.input_value() == "30"


def test_sizes_are_removed_by_keys(build: Build) -> None:
    """The focus goes on to the entry that is there now, and at the end to the button that adds one."""
    page = build(SIZES, draft={"target_sizes": ["1080x1920", "728x90"]})

    page.get_by_role("button", name="Remove 1.").press("Enter")
    left = drafted(page, "target_sizes")
    expect(page.get_by_label("1.", exact=True)).to_be_focused()
    page.get_by_role("button", name="Remove 1.").press("Enter")

    assert left == ["728x90"]
    assert drafted(page, "target_sizes") is None
    expect(page.get_by_role("button", name="Add to Target sizes")).to_be_focused()


def test_dice_and_lock_say_what_happens_to_the_seed(build: Build) -> None:
    """The dice lock a new seed; unlocking leaves it to the service."""
    page = build(SEED)
    lock = page.get_by_role("button", name="Lock the seed")
    expect(lock).to_have_attribute("title", "Unlocked: a new seed for each run")

    page.get_by_role("button", name="Draw a random seed").click()
    thrown = drafted(page, "seed")
    expect(lock).to_have_attribute("aria-pressed", "true")
    expect(lock).to_have_attribute("title", "Locked: the same for every run")
    lock.click()

    assert isinstance(thrown, int)
    assert 0 <= thrown < 2**31
    assert drafted(page, "seed") is None


def test_what_is_taken_is_seen_without_colours(build: Build) -> None:
    """Where the host takes all colours away, an outline says which choice is taken; the words of a segment are underlined besides, and none moves."""
    page = build(RESOLUTION | {"special": "plain"}, ASPECT)
    page.emulate_media(forced_colors="active")
    shot(page, "form-forced")

    for taken, other in (("480p", "720p"), ("1:1", "16:9")):
        before = page.get_by_role("radio", name=other).bounding_box()
        page.get_by_role("radio", name=taken).check()
        style = [
            page.get_by_role("radio", name=name).evaluate("e => getComputedStyle(e.closest('label')).outlineStyle")
            for name in (taken, other)
        ]
        assert style == ["solid", "none"]
        assert page.get_by_role("radio", name=other).bounding_box() == before
    line = page.get_by_text("480p", exact=True).evaluate("e => getComputedStyle(e).textDecorationLine")
    page.emulate_media(forced_colors="none")

    assert line == "underline"


def test_shapes_are_drawn_with_their_pixels(build: Build) -> None:
    """Each shape says how many pixels it has at the resolution that is chosen."""
    page = build(ASPECT, RESOLUTION)
    boxes, pixels = page.locator(".rbf-shape-box"), page.locator(".rbf-shape-pixels")
    large = pixels.all_inner_texts()
    drawn = boxes.evaluate_all("all => all.map((e) => [e.offsetWidth, e.offsetHeight])")

    show(page, "resolution", "480p")
    page.get_by_role("radio", name="9:16").check()

    assert large == ["720×1280", "720×720", "1280×720"]
    assert pixels.all_inner_texts() == ["480×854", "480×480", "854×480"]
    assert [wide / tall for wide, tall in drawn] == pytest.approx([9 / 16, 1, 16 / 9], rel=0.1)
    assert drafted(page, "aspect_ratio") == "9:16"


def test_seconds_follow_frames_and_rate(build: Build) -> None:
    """They stand beside the frames; another rate keeps the frames."""
    page = build(FRAMES, RATE)
    words = page.locator(".rbf-frames")
    expect(words).to_contain_text("= 5.04 s at 24/s")

    page.get_by_label("Frames", exact=True).fill("49")
    expect(words).to_contain_text("= 2.04 s at 24/s")
    show(page, "frame_rate", 30)

    expect(words).to_contain_text("= 1.63 s at 30/s")
    assert drafted(page, "num_frames") == 49


@pytest.mark.parametrize(("scheme", "width"), [("dark", 320), *deep(("light", 800), ("dark", 800), ("light", 320))])
def test_special_controls_are_for_everybody(build: Build, scheme: str, width: int) -> None:
    """Nothing grave for axe-core, nothing faint, nothing beyond its place, every control reached by Tab and seen there."""
    page = build(*ALL, draft=DRAFT, width=width, scheme=scheme)

    shot(page, f"form-specials-{scheme}-{width}", whole=True)

    assert findings(page, ".rbf", colours=False) == []
    assert faint(page, ".rbf") == []
    assert beyond(page, ".rbf") == []
    assert overflow(page) <= 0
    reached = tabbed(page, ".rbf")
    assert reached.missed == []
    assert reached.unseen == []
