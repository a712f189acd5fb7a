"""A studio in a real JupyterLab: a model chosen by keyboard, a run on the shelf and in the costs, and used again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import reelbook as rb
from tests.browser.axe import beyond, faint, findings, tabbed
from tests.browser.lab import Lab, OpenNotebook, first_cell
from tests.browser.looks import shot

pytestmark = pytest.mark.browser

START = """\
import reelbook as rb
client = rb.connect(library={library!r})
rb.start(rb.TextToVideo(prompt="a green tram", num_frames=9, seed=7, resolution="480p", aspect_ratio="1:1")).wait()
studio = rb.studio()
studio"""
PARTS = ".rbs"
TEXT = rb.TextToVideo.endpoint_id
ROOM = 60_000
RUN = ".rbf-foot .rbf-run-button"


@pytest.fixture(scope="module")
def studio(lab: Lab, chromium: Browser) -> Iterator[OpenNotebook]:
    """A notebook with a studio in its first cell, and a run that was made before it."""
    with first_cell(
        lab, chromium, "studio", START, "studio.value", "studio.close()", shows=".rbs-model", height=2200
    ) as notebook:
        yield notebook


def cards(page: Page) -> Locator:
    return page.locator(".rbs-card")


def run_small(page: Page) -> None:
    """Run the quickest form, so that there is something of this session on the shelf."""
    page.locator("[data-field=num_frames] input[type=text]").first.fill("9")
    page.locator("[data-field=resolution]").get_by_role("radio", name="480p").check()
    page.get_by_role("textbox", name="Prompt").first.fill("a paper boat")
    expect(page.locator(RUN)).to_be_enabled()
    page.locator(RUN).click()
    expect(cards(page).first).to_contain_text("a paper boat", timeout=ROOM)
    expect(cards(page).first.locator("b")).to_have_text("completed", timeout=ROOM)


@pytest.mark.deep
def test_a_model_is_chosen_by_keyboard_and_its_form_comes_back(studio: OpenNotebook) -> None:
    """The prompt goes along to image-to-video; the form before comes back as it was."""
    page = studio.page
    model = page.locator(".rbs-model")
    page.get_by_role("textbox", name="Prompt").fill("a paper boat")
    page.locator("[data-field=num_frames] input[type=text]").first.fill("9")
    # At once: what was typed last goes along, too.
    model.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("[data-field=image_url]")).to_be_visible()
    expect(page.get_by_role("textbox", name="Prompt")).to_have_value("a paper boat")
    expect(page.locator(".rbs-head [role=status]").first).to_contain_text("Kept from Text to video: Prompt")
    expect(page.locator(".rbs-service")).to_contain_text("credits left")
    expect(model).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator("[data-field=num_frames] input[type=text]").first).to_have_value("9")

    assert studio.complaints == []


def test_what_is_run_is_on_the_shelf_and_in_the_costs(studio: OpenNotebook) -> None:
    """It opens with what the library has; a run plays large, is starred and used, and goes on by arrows."""
    page = studio.page
    expect(cards(page)).to_have_count(1)
    expect(cards(page).first).to_contain_text("a green tram")
    run_small(page)
    page.get_by_role("textbox", name="Prompt").first.fill("another one")
    expect(page.locator(".rbs-cost")).to_have_text("This session: 53 credits")

    cards(page).first.focus()
    page.keyboard.press("Enter")
    large = page.locator(".rbs-large")
    expect(large).to_be_focused()
    expect(large.locator("video")).to_be_visible(timeout=ROOM)
    large.get_by_role("button", name="Star").click()
    expect(large.get_by_role("button", name="★ Starred")).to_be_visible()
    large.get_by_label("Use the frame displayed in").select_option("Image to video")
    expect(large).to_contain_text("Image to video has frame 0 now.")
    expect(page.locator("[data-field=image_url] img").first).to_be_visible(timeout=ROOM)
    page.locator(".rbs-model").select_option(TEXT)
    large.get_by_role("button", name="Use these inputs").click()
    expect(page.get_by_role("textbox", name="Prompt").first).to_have_value("a paper boat")
    expect(page.locator(".rbs-model")).to_be_focused()
    large.focus()
    page.keyboard.press("ArrowDown")
    expect(large).to_have_attribute("aria-label", "a green tram")
    shot(page, "studio-large")
    page.keyboard.press("Escape")
    expect(large).to_have_count(0)

    for place in (0, 1):
        page.locator(".rbs-tick input").nth(place).check()
    shot(page, "studio-chosen")
    grave = [*findings(page, PARTS, colours=False), *faint(page, PARTS)]
    page.get_by_role("button", name="Clear").click()

    page.get_by_role("searchbox").fill("green TRAM")
    expect(cards(page)).to_have_count(1)
    page.get_by_role("searchbox").fill("")
    page.get_by_label("Which runs").select_option("Starred")
    expect(cards(page)).to_have_count(1)
    page.get_by_label("Which runs").select_option("All but hidden")
    expect(cards(page)).to_have_count(2)

    page.locator(".rbs-tick input").nth(1).check()
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator(".rbs-gallery [role=status]").first).to_contain_text("Deleted 1 file")
    expect(cards(page).nth(1).locator("img")).to_have_count(0)
    expect(cards(page).nth(0).locator("img")).to_have_count(1)
    assert grave == []
    assert studio.complaints == []


def test_a_studio_is_for_everybody(studio: OpenNotebook) -> None:
    """Nothing grave for axe, enough contrast, on a laptop Run is in view, nothing sticks out of a narrow page, all by keyboard."""
    page = studio.page
    if cards(page).count() < 2:  # It is run alone.
        run_small(page)
    cards(page).first.click()
    expect(page.locator(".rbs-large video")).to_be_visible(timeout=ROOM)

    light = [*findings(page, PARTS, colours=False), *faint(page, PARTS)]
    studio.resize(1280, 800)
    (top, bottom) = (
        page.locator(".rbs-head").evaluate("head => head.getBoundingClientRect().top"),
        page.locator(RUN).evaluate("run => run.getBoundingClientRect().bottom"),
    )
    studio.resize(320, 2200)
    sticking = beyond(page, PARTS)
    page.locator(".rbs-gallery").evaluate("gallery => gallery.scrollIntoView()")
    shot(page, "studio-320")
    studio.resize(1200, 2200)
    page.locator(".rbs-large").get_by_role("button", name="Close").click()
    # The form has a test of its own, and more stops than anybody goes through here.
    form = page.locator(".rbf:not(.rbs)")
    form.evaluate("form => { form.style.display = 'none'; }")
    reached = tabbed(page, PARTS)
    form.evaluate("form => { form.style.display = ''; }")

    assert light == []
    assert bottom - top <= 600, "model, prompt, four settings and Run stand in view on a laptop"
    assert sticking == []
    assert (reached.missed, reached.unseen) == ([], [])
    assert studio.complaints == []


def test_what_is_saved_shows_what_was_made(studio: OpenNotebook) -> None:
    """The kernel has what stands in the form; the notebook has it in words, with one small picture and without a key."""
    page = studio.page
    studio.run_cell(1)
    expect(page.locator(".jp-Cell").nth(1).locator(".jp-OutputArea-output").last).to_contain_text("a paper boat", timeout=ROOM)  # fmt: skip
    expect(page.locator("[data-rb-twin]").first).to_be_hidden()
    studio.save()

    saved = nbformat.read(studio.path, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(saved)
    (picture,) = [output.data for output in saved.cells[0].outputs if "text/html" in output.get("data", {})]

    assert "This session: 53 credits" in picture["text/plain"]
    assert "a paper boat" in picture["text/html"]
    assert json.dumps(saved.cells[0]).count("data:image") == 1
    assert Path(studio.path).stat().st_size < 80_000


def test_a_studio_whose_kernel_ends_says_so(studio: OpenNotebook) -> None:
    """Nobody tells how a run goes on; the shelf says what to do; and the next kernel begins with what was typed."""
    page = studio.page
    page.get_by_role("textbox", name="Prompt").first.fill("a long way")
    page.locator("[data-field=num_frames] input[type=text]").first.fill("1441")
    expect(page.locator(RUN)).to_be_enabled()
    page.locator(RUN).click()
    expect(page.locator(".rbf-run-state")).to_contain_text("running", timeout=ROOM)

    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    expect(page.locator(".rbf-run-state")).to_have_text("?uncertain · it was running", timeout=ROOM)
    expect(page.locator(".rbs-gallery [role=status]").first).to_contain_text("The kernel has ended")
    shot(page, "studio-ended")
    studio.run_cell(0)
    expect(page.get_by_role("textbox", name="Prompt").first).to_have_value("a long way", timeout=ROOM)

    assert studio.cell_errors() == []
