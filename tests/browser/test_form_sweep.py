"""Sweeps in a real JupyterLab: of a form, chosen by keyboard, priced, run for an amount, and looked at, without any code.

And of a cell: its panel keeps up, its buttons act, and what is saved needs neither kernel nor widget.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.axe import CONTROLS, FOCUSED, beyond, faint, findings
from tests.browser.lab import Lab, OpenNotebook
from tests.browser.looks import contrast, shot
from tests.browser.test_sweep_panel import BUTTONS

pytestmark = pytest.mark.browser

START = """\
import reelbook as rb
client = rb.connect(library={library!r})
form = rb.form(rb.TextToVideo(prompt="a paper boat <b>at sea</b>", num_frames=9, resolution="480p", aspect_ratio="1:1"))
form"""
TABLE = "len(form.jobs), set(form.jobs[-1].frame.status), len(form.jobs[-1].frame)"
PLAN = """\
plan = rb.sweep(rb.TextToVideo(prompt="a paper boat <b>at sea</b>", num_frames=9, resolution="480p", aspect_ratio="1:1"), seed=range(40))
plan"""
JOB = """\
job = plan.start(concurrency=1, order="as given")
job"""
ROOT, MADE, PAY = ".rbf-sweep", ".rbf-run", ".rbf-sweep-pay"
WORDS = (".rb:has([role=progressbar]) b", BUTTONS, ".rb span")
"""Where a panel has words."""


@pytest.fixture(scope="module")
def sweeping(lab: Lab, chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenNotebook]:
    """A notebook with a form in its first cell, and further cells that start a sweep and wait for it."""
    library = str(tmp_path_factory.mktemp("form-sweep") / "library")
    texts = (START.format(library=library), TABLE, PLAN, JOB, "job.wait(120).status.value_counts()")
    path = lab.write("form-sweep", *texts)
    with OpenNotebook(lab, chromium, path, height=1800) as notebook:
        notebook.open()
        notebook.command("notebook:run-cell-and-select-next")
        expect(notebook.page.locator(".rbf")).to_be_visible(timeout=30_000)
        yield notebook


def choose(page: Page, label: str) -> None:
    """Choose an entry of the list that has the focus, as a keyboard does: by the first letters of its name."""
    page.keyboard.type(label)
    page.keyboard.press("Tab")


def test_a_sweep_is_chosen_by_keyboard_priced_and_run(sweeping: OpenNotebook) -> None:
    """Two fields by keys alone; a bad value stops it in words; the price follows; one press runs it to its contact sheet."""
    page = sweeping.page
    sweep, line, why = page.locator(ROOT), page.locator(".rbf-sweep-line"), page.locator(".rbf-sweep-why")
    run = page.locator(f"{PAY} .rbf-primary")
    expect(sweep).to_be_hidden()

    page.get_by_role("button", name="Sweep…").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Field to vary")).to_be_focused()
    choose(page, "Seed")
    values = page.get_by_role("textbox", name="Values of Seed")
    expect(values).to_have_value("0-3")
    expect(line).to_contain_text("212 credits (exact)")
    values.focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("7")
    expect(run).to_have_text("Run 1 · 53 credits")
    page.get_by_role("button", name="Add a field").focus()
    page.keyboard.press("Enter")
    choose(page, "Number")
    frames = page.get_by_role("textbox", name="Values of Number of frames")
    # What the kernel proposes comes a moment later, and would stand beside what is typed.
    expect(frames).not_to_have_value("")
    frames.focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("5, 9")
    expect(page.locator(".rbf-sweep-axis .rbf-problem").nth(1)).to_contain_text("5 is outside 9 to 1441")
    expect(why).to_contain_text("Correct the values")
    expect(line).to_be_hidden()
    shot(page, "sweep-wrong")
    page.keyboard.press("Control+A")
    page.keyboard.type("9, 10")
    expect(run).to_have_text("Run 2 · 106 credits")
    spend = page.locator(PAY).get_by_label("Spend at most")
    spend.fill("79")
    expect(run).to_have_text("Run 1 of 2 · 53 credits")
    expect(why).to_contain_text("Enough for 1 of 2 runs")
    spend.fill("10")
    expect(run).to_be_disabled()
    expect(why).to_contain_text("Enough for none of 2 runs")
    spend.fill("1.5")
    expect(why).to_contain_text("a whole number of credits")
    expect(run).to_be_disabled()
    spend.fill("")
    expect(spend).to_have_attribute("placeholder", "106")
    expect(run).to_have_text("Run 2 · 106 credits")
    expect(run).to_be_enabled()
    page.keyboard.press("Tab")
    expect(run).to_be_focused()
    shot(page, "sweep-light")

    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(run).to_be_focused()
    card = page.locator(MADE)
    expect(card.locator(".rbf-run-state")).to_contain_text("completed", timeout=60_000)
    expect(card).to_contain_text("2 of 2")
    expect(card.locator("button.rb-opens")).to_have_count(2)
    card.get_by_role("button", name="Contact sheet").click()
    sheet = page.locator(".rbf-sweep-picture img:visible")
    expect(sheet).to_have_attribute("alt", re.compile("contact sheet: a paper boat"), timeout=30_000)
    with page.expect_download() as download:
        page.get_by_role("link", name="Save the sheet").click()
    expect(run).to_have_text("Show 2 from the library")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    card.get_by_role("button", name="Copy code").click()
    page.get_by_role("button", name="Copied").wait_for()
    code = page.evaluate("navigator.clipboard.readText()")
    sweeping.run_cell(1)

    expect(page.locator(".jp-Cell").nth(1).locator(".jp-OutputArea-output").last).to_contain_text(
        "(1, {'completed'}, 2)", timeout=30_000
    )
    assert download.value.suggested_filename == "contact-sheet.jpg"
    assert "num_frames=[9, 10],\n).run(budget=106)" in code
    assert sweeping.cell_errors() == []
    assert sweeping.complaints == []


def test_a_sweep_is_for_everybody(sweeping: OpenNotebook) -> None:
    """Nothing grave for axe, no faint word; all of it is reached by Tab; nothing sticks out of a narrow page."""
    page = sweeping.page
    page.get_by_role("button", name="Add a field").click()
    page.get_by_label("Field to vary").last.select_option("resolution")
    expect(page.locator(".rbf-sweep-line")).to_contain_text("2 in the library already")
    page.locator(ROOT).scroll_into_view_if_needed()

    grave = [*findings(page, f"{ROOT}, {MADE}", colours=False), *faint(page, f"{ROOT}, {MADE}")]
    shot(page, "sweep-done-light")
    sweeping.resize(320, 1800)
    page.locator(ROOT).scroll_into_view_if_needed()
    shot(page, "sweep-done-320")
    sticking = [*beyond(page, ROOT), *beyond(page, MADE)]
    sweeping.resize(1200, 1800)
    controls = page.evaluate(CONTROLS, ROOT)
    page.get_by_role("button", name="Close the sweep").focus()
    # What a program has focused shows it only after a key.
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    reached = [page.evaluate(FOCUSED)]
    for _ in controls[1:]:
        page.keyboard.press("Tab")
        reached.append(page.evaluate(FOCUSED))

    assert grave == []
    assert sticking == []
    assert reached == [{"place": place, "isSeen": True} for place in range(len(controls))]


def test_other_parts_of_the_form_lead_to_it(sweeping: OpenNotebook) -> None:
    """The four seeds after this one are an axis by one click; a page that comes back has fields, plan and panel again."""
    page = sweeping.page
    page.locator(ROOT).get_by_role("button", name="Close the sweep").click()
    expect(page.locator(ROOT)).to_be_hidden()
    page.locator("[data-field=seed] input[type=text]").fill("40")

    page.get_by_role("button", name="Try four seeds").click()
    expect(page.get_by_role("textbox", name="Values of Seed")).to_have_value("40-43")
    expect(page.locator(".rbf-sweep-line")).to_contain_text("848 credits (exact)")
    spend = page.locator(PAY).get_by_label("Spend at most")
    spend.fill("59")
    spend.press("Tab")
    expect(page.locator(f"{PAY} .rbf-primary")).to_have_text("Run 1 of 16 · 53 credits")
    sweeping.page.evaluate("""() => {
      const model = window.jupyterapp.shell.currentWidget.content.model.cells.get(1);
      model.sharedModel.setSource('form');
    }""")
    sweeping.run_cell(1)
    second = page.locator(".jp-Cell").nth(1).locator(".rbf-form")
    expect(second.get_by_role("textbox", name="Values of Seed")).to_have_value("40-43", timeout=30_000)
    expect(second.locator(PAY).get_by_label("Spend at most")).to_have_value("59")
    expect(second.locator(".rbf-run")).to_contain_text("2 of 2")

    assert sweeping.complaints == []


def panel(page: Page) -> str:
    """The words of the panel."""
    return page.locator(".rb:has([role=progressbar])").inner_text()


@pytest.fixture(scope="module")
def watched(sweeping: OpenNotebook) -> OpenNotebook:
    """The same notebook without the form, when a cell has started a sweep, which is still going on."""
    sweeping.command("notebook:clear-all-cell-outputs")
    expect(sweeping.page.locator(".rbf")).to_have_count(0)
    start(sweeping, 2, 3)
    return sweeping


def start(notebook: OpenNotebook, *cells: int) -> None:
    """Run these cells, one after the other."""
    for cell in cells:
        notebook.run_cell(cell)


def test_a_sweep_is_watched_paused_and_cancelled_from_its_cell(watched: OpenNotebook) -> None:
    """Buttons act while the kernel is free for other cells; what is left in the saved notebook is the panel alone."""
    page = watched.page
    buttons = page.locator(BUTTONS)
    expect(buttons).to_have_text(["Pause", "Cancel"], timeout=30_000)
    expect(page.locator(".rb img")).not_to_have_count(0, timeout=30_000)
    shot(page, "panel-light")

    buttons.nth(0).click()
    expect(buttons).to_have_text(["Resume", "Cancel"], timeout=30_000)
    # What was sent goes on and is drawn; colours are measured once the panel stands still.
    expect(page.locator(".rb:has([role=progressbar])")).not_to_contain_text(
        re.compile("running|waiting"), timeout=30_000
    )
    paused = panel(page)
    light = min(contrast(page.locator(where).first) for where in WORDS)
    watched.resize(400, 1400)
    shot(page, "panel-narrow")
    beyond = page.locator(".rb:has([role=progressbar])").evaluate(
        "box => Math.max(...[...box.querySelectorAll('*')].map(e => e.getBoundingClientRect().right)) - box.getBoundingClientRect().right"
    )
    watched.resize(1200, 1400)
    buttons.nth(0).click()
    expect(buttons).to_have_text(["Pause", "Cancel"], timeout=30_000)
    buttons.nth(1).press("Enter")
    expect(buttons).to_have_count(0, timeout=30_000)
    start(watched, 4)
    expect(page.locator(".jp-OutputArea-output").last).to_contain_text("not started", timeout=30_000)
    shot(page, "panel-done")
    watched.save()

    assert "paused" in paused
    assert light >= 4.5
    assert beyond <= 0.5
    assert "Stopped: The sweep was cancelled. Run the plan again" in panel(page)
    assert watched.cell_errors() == []
    assert watched.complaints == []


def test_what_is_saved_needs_no_widget(watched: OpenNotebook) -> None:
    """The notebook on disk has the last state of the panel with its pictures, and no view of a widget that is gone."""
    saved = nbformat.read(watched.path, as_version=4)  # type: ignore[no-untyped-call]
    outputs = [output for cell in saved.cells for output in cell.outputs]

    nbformat.validate(saved)
    text = json.dumps(outputs)
    assert "vnd.jupyter.widget-view" not in text
    assert "of 40" in text
    assert "data:image/jpeg" in text
    assert len(Path(watched.path).read_bytes()) < 300_000
