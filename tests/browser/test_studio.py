"""A studio in a real JupyterLab: a model chosen by keyboard, a run in the gallery and in the costs, and used again."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import reelbook as rb
from reelbook.display.compare.compared_items import Item
from reelbook.display.compare.comparison import Comparison
from reelbook.display.compare.comparison_html import render_comparison_markup, render_differences
from reelbook.widgets.forms.base_widget import pack_script
from reelbook.widgets.link import make_messages
from tests.browser.axe import beyond, faint, findings, tabbed
from tests.browser.lab import Lab, OpenNotebook
from tests.browser.looks import shot
from tests.browser.test_form_hostile import page_with
from tests.browser.test_hostile import page_of
from tests.clips import DARKEST, STEP, film

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
HOSTILE = "<img src=x onerror='top.__pwned=1'>"


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


def run_small(page: Page) -> None:
    """Run the quickest form, so that there is something in the gallery."""
    page.locator("[data-field=num_frames] input[type=text]").first.fill("9")
    page.locator("[data-field=resolution]").get_by_role("radio", name="480p").check()
    run(page, "a paper boat")


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
    """It plays large in the gallery, and its inputs come back into the form; it and an earlier one are compared."""
    page = studio.page
    run_small(page)
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
    expect(earlier).to_have_count(1)
    for place in (0, 1):
        page.locator(".rbs-tick input").nth(place).check()
    page.get_by_role("button", name="Compare", exact=True).click()
    beside = page.locator(".rbs-compare")
    stage = beside.locator(".rb-compare-stage")
    expect(beside.get_by_role("slider", name="Wipe between A and B")).to_be_visible()
    expect(beside.locator("[data-loaded=decoded]")).to_have_count(2)
    expect(beside.locator("[data-rb-differences]")).to_contain_text("A and B: mean absolute difference")
    expect(beside.get_by_role("region", name="what differs")).to_contain_text("a green tram")
    shot(page, "studio-compare")
    stage.locator(".rb-compare-view").first.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(stage).to_have_attribute("data-frame", "1")
    beside.get_by_role("button", name="Difference").click()
    expect(beside.get_by_label("Amplified by")).to_be_visible()
    shot(page, "studio-compare-difference")
    page.locator(".rbs-compare").get_by_role("button", name="Close").click()

    for words, own, before in (("green TRAM", 0, 1), ("paper", 1, 0), ("", 1, 1)):
        page.get_by_role("searchbox").fill(words)
        expect(cards(page)).to_have_count(own)
        expect(earlier).to_have_count(before)
    shot(page, "studio-search")
    assert studio.complaints == []


def test_a_studio_is_for_everybody(studio: OpenNotebook) -> None:
    """Nothing grave for axe, enough contrast, nothing sticks out of a narrow page, all by keyboard."""
    page = studio.page
    if not cards(page).count():  # It is run alone.
        run_small(page)
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
    studio.run_cell(1)
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
    studio.run_cell(2)
    expect(page.locator(".rbs")).to_have_count(0)
    assert studio.cell_errors() == []


@pytest.mark.deep
def test_a_run_whose_kernel_ends_is_uncertain_small_and_large(studio: OpenNotebook) -> None:
    """Nobody tells how it goes on, so that neither its card nor its large view says that it is running."""
    page = studio.page
    studio.run_cell(0)
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

    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")

    expect(cards(page).first.locator("b")).to_have_text("uncertain", timeout=ROOM)
    expect(cards(page).first.locator(".rbs-state")).to_have_text("?uncertain≈ 53 credits")
    expect(large).to_have_text("?uncertain · it was running")
    see(page, "studio-ended")


def test_a_run_that_nobody_tells_of_is_uncertain(chromium: Browser) -> None:
    """The same of a gallery on a page of its own, to which the host says that the kernel is another one."""
    card = {"key": "1", "status": "running", "mark": "◑", "model": TEXT, "name": TEXT, "lead": "a long way", "paid": "≈ 53 credits", "fraction": 0.4, "line": "painting · 40%", "can": ["cancel", "use"], "lines": 1, "since": 0, "shapes": [[16000, 9000]]}  # fmt: skip
    told = {"part": "gallery", "cards": [card], "script_key": ""}

    with page_of(chromium, page_with(pack_script("studio")[1], told)) as watched:
        page = watched.page
        cards(page).first.click()
        large = page.locator(".rbs-large .rbf-run-state")
        expect(large).to_contain_text("running")
        page.evaluate("() => { window.hasEnded = true; happen('comm_live_update'); }")

        expect(cards(page).first.locator("b")).to_have_text("uncertain")
        expect(cards(page).first.locator(".rbs-state")).to_have_text("?uncertain≈ 53 credits")
        expect(large).to_have_text("?uncertain · it was running")


COMPARED = """async ({ markup, differences, clips }) => {
  const until = async (found) => { while (!found()) await new Promise(requestAnimationFrame); };
  await until(() => sent.some(({ do: what }) => what === "compare"));
  const compared = sent.find(({ do: what }) => what === "compare").runs;
  say({ compared: ["others"], markup: "<p>of another page</p>" });
  say({ compared, markup });
  say({ compared, markup });
  await until(() => clips.every(([[run]]) => sent.some((one) => one.want?.[0] === run && one.want.length === 2)));
  for (const [, content, data] of clips) say(content, [Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0))]);
  say({ compared, differences });
}"""
GREYS = """() => {
  const { views, clock, stage } = document.querySelector("[data-rb-compare]").compare;
  return [stage.dataset.frame, views.filter(({ el }) => !el.hidden).map(({ context }) => context.getImageData(20, 20, 1, 1).data[0])];
}"""


def compare(page: Page, tmp_path: Path, *, count: int) -> None:
    """Open a gallery of so many clips, choose all and compare them."""
    bare = tmp_path / "studio.html"
    bare.write_text(page_with(pack_script("studio")[1], gallery_of(count)), encoding="utf-8")
    page.goto(bare.as_uri())  # By plain HTTP a page may not decode.
    page.locator(".rbs-tick input").first.wait_for()
    for place in range(count):
        page.locator(".rbs-tick input").nth(place).check()
    page.get_by_role("button", name="Compare", exact=True).click()
    files = [film(tmp_path / f"{place}.mp4", frames=9, size=(640, 360), noise=place) for place in range(count)]
    items = [Item(f"run {place}", file, {"seed": str(place), "prompt": HOSTILE}, key=f"{place} 0") for place, file in enumerate(files)]  # fmt: skip
    comparison = Comparison(items)
    markup = render_comparison_markup(comparison, with_differences=False)
    clips = []
    for place, file in enumerate(files):
        ((content, data),) = make_messages(file.path, [str(place), 0])
        clips.append([[str(place)], content, base64.b64encode(data).decode()])
    page.evaluate(COMPARED, {"markup": str(markup), "differences": str(render_differences(comparison)), "clips": clips})
    expect(page.locator(".rbs-compare [data-loaded=decoded]")).to_have_count(count)


def gallery_of(count: int) -> dict[str, Any]:
    """A gallery of clips."""
    file = {"kind": "video/mp4", "name": "a.mp4", "width": 640, "height": 360, "frames": 9, "rate": 24}
    card = {"status": "completed", "mark": "●", "model": TEXT, "name": TEXT, "lead": "a boat", "can": [], "files": [file]}  # fmt: skip
    return {"part": "gallery", "cards": [{**card, "key": str(place)} for place in range(count)], "script_key": ""}


def test_several_runs_are_compared_in_step(offline_page: Page, tmp_path: Path) -> None:
    """More than two begin side by side; any two of them are composed; and what is closed is given back."""
    page = offline_page
    compare(page, tmp_path, count=3)
    beside = page.locator(".rbs-compare")
    expect(beside.locator(".rb-compare-view:visible")).to_have_count(3)
    expect(beside.locator("[data-rb-chart]")).to_be_visible()
    beside.locator(".rb-compare-view").first.focus()
    found = []
    page.keyboard.press("Home")
    for frame in range(4):
        expect(beside.locator(".rb-compare-stage")).to_have_attribute("data-frame", str(frame))
        found.append(page.evaluate(GREYS))
        page.keyboard.press("ArrowRight")
    beside.get_by_role("button", name="Difference").click()
    expect(beside.locator(".rb-compare-view:visible")).to_have_count(1)
    expect(beside.get_by_label("File B").locator("option")).to_have_count(3)
    fired = page.evaluate("window.__pwned ?? 0")
    page.keyboard.press("Escape")
    expect(beside).to_have_count(0)
    expect(page.get_by_role("button", name="Compare", exact=True)).to_be_focused()
    owners = page.evaluate("reelbookFrames.owners.size")

    for frame, (at, greys) in enumerate(found):
        assert at == str(frame)
        assert [round((grey - DARKEST) / STEP) for grey in greys] == [frame] * 3
    assert fired == 0
    assert owners == 0


@pytest.mark.parametrize(("size", "scheme"), [((1280, 800), "light"), ((360, 800), "dark")])
def test_a_comparison_in_a_studio_is_for_everybody(offline_page: Page, tmp_path: Path, size: tuple[int, int], scheme: Any) -> None:  # fmt: skip
    """Nothing grave for axe, enough contrast, and nothing sticks out."""
    page = offline_page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(color_scheme=scheme)
    compare(page, tmp_path, count=2)
    page.add_style_tag(content=":root{color-scheme:light dark;background:Canvas}")
    expect(page.locator(".rbs-compare .rb-compare-handle")).to_be_visible()
    expect(page.locator(".rbs-compare [data-rb-chart]")).to_be_visible()
    shot(page, f"studio-compare-{scheme}-{size[0]}")
    grave = [*findings(page, PARTS, colours=False), *faint(page, PARTS)]
    sticking = beyond(page, PARTS)

    assert grave == []
    assert sticking == []
