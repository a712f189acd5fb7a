"""A studio in a real JupyterLab: a model chosen by keyboard, a run in the gallery and in the costs, and used again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import reelbook as rb
from reelbook.widgets.forms.form_scripts import pack_studio_script
from tests.browser.axe import beyond, faint, findings, tabbed
from tests.browser.lab import Lab, OpenNotebook
from tests.browser.looks import shot
from tests.browser.test_form_hostile import page_with
from tests.browser.test_hostile import page_of

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


@pytest.fixture(scope="module")
def studio(lab: Lab, chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenNotebook]:
    """A notebook with a studio in its first cell, and a run that was made before it."""
    library = str(tmp_path_factory.mktemp("studio") / "library")
    book = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
    texts = (START.format(library=library), "studio.value", "studio.close()")
    book.cells = [nbformat.v4.new_code_cell(text) for text in texts]  # type: ignore[no-untyped-call]
    book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = lab.root / "studio.ipynb"
    nbformat.write(book, path)  # type: ignore[no-untyped-call]
    with OpenNotebook(lab, chromium, path, height=2200) as notebook:
        notebook.open()
        notebook.command("notebook:run-cell-and-select-next")
        expect(notebook.page.locator(".rbs-model")).to_be_visible(timeout=ROOM)
        yield notebook


def cards(page: Page) -> Locator:
    return page.locator(".rbs-gallery > .rbs-listed .rbs-card")


def run(page: Page, prompt: str) -> None:
    """Type a prompt, press Run and wait for the end in the gallery."""
    before = cards(page).count()
    page.get_by_role("textbox", name="Prompt").first.fill(prompt)
    button = page.locator(".rbf-foot > .rbf-row > .rbf-primary")
    expect(button).to_be_enabled()
    button.click()
    expect(cards(page)).to_have_count(before + 1, timeout=ROOM)
    expect(cards(page).first.locator("b")).to_have_text("completed", timeout=ROOM)


def see(page: Page, name: str) -> None:
    """Pictures of the head and of the gallery, each as high as it is."""
    page.locator(".rbs-gallery").evaluate("gallery => gallery.scrollIntoView()")
    shot(page, name)


@pytest.mark.deep
def test_a_model_is_chosen_by_keyboard_and_its_form_comes_back(studio: OpenNotebook) -> None:
    """The prompt goes along to image-to-video; the form before comes back as it was; an unknown id is told in words."""
    page = studio.page
    model = page.locator(".rbs-model")
    page.get_by_role("textbox", name="Prompt").fill("a paper boat")
    page.locator("[data-field=num_frames] input[type=text]").first.fill("9")
    # At once: what was typed last goes along, too.
    model.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("[data-field=image_url]")).to_be_visible()
    expect(page.get_by_role("textbox", name="Prompt")).to_have_value("a paper boat")
    expect(page.locator(".rbs-head [role=status]")).to_contain_text("Kept from Text to video: prompt")
    expect(page.locator(".rbs-service")).to_contain_text("credits left")
    shot(page, "studio-image-to-video")
    expect(model).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator("[data-field=num_frames] input[type=text]").first).to_have_value("9")

    page.keyboard.press("End")
    page.keyboard.type("svc/nobody-knows")
    page.keyboard.press("Enter")
    expect(page.locator(".rbs-head [role=alert]")).to_contain_text("svc/nobody-knows")
    expect(page.locator(".rbs-head [role=alert]")).to_contain_text("The form stays as it was")
    shot(page, "studio-unknown")
    page.keyboard.press("Escape")
    expect(model).to_be_focused()
    expect(page.locator("[data-field=num_frames]")).to_be_visible()
    page.keyboard.press("End")
    page.keyboard.type("svc/another")
    expect(page.get_by_label("Model id")).to_have_value("svc/another")
    page.keyboard.press("Escape")
    assert studio.complaints == []


def test_what_is_run_is_in_the_gallery_and_in_the_costs(studio: OpenNotebook) -> None:
    """It plays large in the gallery, and its inputs come back into the form; it and an earlier one stand on one clock."""
    page = studio.page
    page.locator("[data-field=num_frames] input[type=text]").first.fill("9")
    page.locator("[data-field=resolution]").get_by_role("radio", name="480p").check()
    run(page, "a paper boat")
    page.get_by_role("textbox", name="Prompt").fill("another one")
    expect(page.locator(".rbs-cost")).to_have_text("This session: 53 credits in 1 run")
    expect(page.locator(".rbs-service")).to_contain_text("999,894 credits left")
    expect(cards(page).first.locator("img")).to_be_visible()

    cards(page).first.click()
    large = page.locator(".rbs-large")
    expect(large.locator("video")).to_be_visible()
    page.wait_for_function("document.querySelector('.rbs-large video').readyState >= 2")
    shot(page, "studio-large")
    large.get_by_role("button", name="Use these inputs").click()
    expect(large.locator("[role=status]").first).to_contain_text("The form has the inputs")
    expect(page.get_by_role("textbox", name="Prompt")).to_have_value("a paper boat")
    expect(page.locator(".rbs-model")).to_be_focused()
    page.keyboard.press("Tab")
    large.focus()
    page.keyboard.press("Escape")
    expect(large).to_have_count(0)

    earlier = page.locator(".rbs-earlier .rbs-card")
    page.get_by_role("button", name="Earlier runs").click()
    expect(earlier).to_have_count(1)
    for place in (0, 1):
        page.locator(".rbs-tick input").nth(place).check()
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.locator(".rbs-compare video")).to_have_count(2)
    page.locator(".rbs-compare [data-rb-do=play]").click()
    expect(page.locator(".rbs-compare [data-loaded=decoded] canvas")).to_have_count(2)
    expect(page.locator(".rbs-compare [data-rb-do=told]")).not_to_contain_text(re.compile("^1 of"))
    page.locator(".rbs-compare [data-rb-do=play]").click()
    shot(page, "studio-compare")
    page.locator(".rbs-compare").get_by_role("button", name="Close").click()

    for words, own, before in (("green TRAM", 0, 1), ("paper", 1, 0), ("", 1, 1)):
        page.get_by_role("searchbox").fill(words)
        expect(cards(page)).to_have_count(own)
        expect(earlier).to_have_count(before)
    shot(page, "studio-search")
    assert studio.complaints == []


@pytest.mark.deep
def test_a_studio_can_be_read_in_the_dark(studio: OpenNotebook) -> None:
    """Enough contrast in the dark theme, too; and nothing sticks out of a page that is less narrow."""
    page = studio.page
    cards(page).first.click()
    expect(page.locator(".rbs-large video")).to_be_visible()

    studio.use_theme("JupyterLab Dark")
    dark = faint(page, PARTS)
    see(page, "studio-dark")
    studio.use_theme("JupyterLab Light")
    studio.resize(400, 2200)
    sticking = beyond(page, PARTS)
    see(page, "studio-400")
    studio.resize(1200, 2200)
    page.locator(".rbs-large").get_by_role("button", name="Close").click()

    assert dark == []
    assert sticking == []


def test_a_studio_is_for_everybody(studio: OpenNotebook) -> None:
    """Nothing grave for axe, enough contrast, nothing sticks out of a narrow page, all by keyboard."""
    page = studio.page
    cards(page).first.click()
    expect(page.locator(".rbs-large video")).to_be_visible()

    light = [*findings(page, PARTS, colours=False), *faint(page, PARTS)]
    see(page, "studio-light")
    studio.resize(320, 2200)
    sticking = beyond(page, PARTS)
    see(page, "studio-320")
    studio.resize(1200, 2200)
    page.locator(".rbs-large").get_by_role("button", name="Close").click()
    # The form has a test of its own, and more stops than anybody goes through here.
    form = page.locator(".rbf:not(.rbs)")
    form.evaluate("form => { form.style.display = 'none'; }")
    reached = tabbed(page, PARTS)
    form.evaluate("form => { form.style.display = ''; }")

    assert light == []
    assert sticking == []
    assert (reached.missed, reached.unseen) == ([], [])
    assert studio.complaints == []


def test_what_is_saved_shows_what_was_made(studio: OpenNotebook) -> None:
    """The kernel has what stands in the form; the notebook has it in words, with one small picture and without a key."""
    page = studio.page
    page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1")
    studio.command("notebook:run-cell")
    expect(page.locator(".jp-Cell").nth(1).locator(".jp-OutputArea-output").last).to_contain_text("a paper boat", timeout=ROOM)  # fmt: skip
    expect(page.locator("[data-rb-twin]").first).to_be_hidden()
    studio.save()

    saved = nbformat.read(studio.path, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(saved)
    (picture,) = [output.data for output in saved.cells[0].outputs if "text/html" in output.get("data", {})]

    assert "This session: 53 credits in 1 run" in picture["text/plain"]
    assert "a paper boat" in picture["text/html"]
    assert json.dumps(saved.cells[0]).count("data:image") == 1
    assert Path(studio.path).stat().st_size < 80_000
    page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex = 2")
    studio.command("notebook:run-cell")
    expect(page.locator(".rbs")).to_have_count(0)
    assert studio.cell_errors() == []


@pytest.mark.deep
def test_a_run_whose_kernel_ends_is_uncertain_small_and_large(studio: OpenNotebook) -> None:
    """Nobody tells how it goes on, so that neither its card nor its large view says that it is running."""
    page = studio.page
    notebook = "window.jupyterapp.shell.currentWidget"
    page.evaluate(f"{notebook}.content.activeCellIndex = 0")
    studio.command("notebook:run-cell")
    expect(page.locator(".rbs-model")).to_be_visible(timeout=ROOM)
    page.get_by_role("textbox", name="Prompt").first.fill("a long way")
    page.locator("[data-field=num_frames] input[type=text]").first.fill("1441")
    button = page.locator(".rbf-foot > .rbf-row > .rbf-primary")
    expect(button).to_be_enabled()
    button.click()
    expect(cards(page).first.locator("b")).to_have_text("running", timeout=ROOM)
    cards(page).first.click()
    large = page.locator(".rbs-large .rbf-run-state")
    expect(large).to_contain_text("running")

    page.evaluate(f"{notebook}.sessionContext.session.kernel.restart()")

    expect(cards(page).first.locator("b")).to_have_text("uncertain", timeout=ROOM)
    expect(cards(page).first.locator(".rbs-state")).to_have_text("?uncertain≈ 53 credits")
    expect(large).to_have_text("?uncertain · it was running")
    see(page, "studio-ended")


def test_a_run_that_nobody_tells_of_is_uncertain(chromium: Browser) -> None:
    """The same of a gallery on a page of its own, to which the host says that the kernel is another one."""
    card = {"key": "1", "status": "running", "mark": "◑", "model": TEXT, "name": TEXT, "lead": "a long way", "paid": "≈ 53 credits", "percent": "40%", "text": "a long way"}  # fmt: skip
    told = {"part": "gallery", "cards": [card], "script_key": ""}
    entry = {**card, "line": "painting · 40%", "can": ["cancel", "log", "use"], "lines": 1, "since": 0, "shapes": [[16000, 9000]]}  # fmt: skip

    with page_of(chromium, page_with(pack_studio_script()[1], told, draws="renderStudio")) as watched:
        page = watched.page
        cards(page).first.click()
        page.evaluate("entry => say({shown: '1', entry})", entry)
        large = page.locator(".rbs-large .rbf-run-state")
        expect(large).to_contain_text("running")
        page.evaluate("() => { window.hasEnded = true; happen('comm_live_update'); }")

        expect(cards(page).first.locator("b")).to_have_text("uncertain")
        expect(cards(page).first.locator(".rbs-state")).to_have_text("?uncertain≈ 53 credits")
        expect(large).to_have_text("?uncertain · it was running")
