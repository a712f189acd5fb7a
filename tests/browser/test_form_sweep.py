"""Sweeps in a real JupyterLab: of a form, chosen by keyboard, priced, run for an amount, and looked at, without any code.

Races of a form as well: the best of its settings is found, judged and taken over in it.
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
from tests.browser.lab import Lab, OpenNotebook, first_cell
from tests.browser.looks import IS_PICTURED, contrast, shot
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
job = plan.start(concurrency=1)
job"""
AFTER = (
    "len(form.races), form.races[-1].spent <= 212, form.value == form.races[-1].best, form.value.num_frames in (9, 17)"
)
JUDGED = """\
boat = rb.TextToVideo(prompt="a paper boat", num_frames=9, resolution="480p", aspect_ratio="1:1")
race = rb.sweep(boat, seed=range(2), num_frames=[9, 17]).race(by=rb.judge, concurrency=2)
race"""
ASKING = """() => {
  const judge = document.querySelector('[data-rb-judge]')?.judge;
  if (judge) judge.rest = 0;
  return judge?.isAsking || [...document.querySelectorAll('.rb-race')].pop().innerText.includes('ecided');
}"""
AT_END = "form.races[-1].is_done, len(form.races[-1].ratings.frame) > 0"
ROOT, MADE, PAY, BEST = ".rbf-sweep", ".rbf-run", ".rbf-sweep-pay", ".rbf-sweep-best"
WORDS = (".rb:has([role=progressbar]) b", BUTTONS, ".rb span")
"""Where a panel has words."""


@pytest.fixture(scope="module")
def sweeping(lab: Lab, chromium: Browser) -> Iterator[OpenNotebook]:
    """A notebook with a form in its first cell, and further cells that start a sweep and wait for it."""
    with first_cell(
        lab, chromium, "form-sweep", START, TABLE, PLAN, JOB, "job.wait(120).status.value_counts()"
    ) as notebook:
        yield notebook


def choose(page: Page, label: str) -> None:
    """Choose an entry of the list that has the focus, as a keyboard does: by the first letters of its name."""
    page.keyboard.type(label)
    page.keyboard.press("Tab")


def test_a_sweep_is_chosen_by_keyboard_priced_and_run(sweeping: OpenNotebook) -> None:
    """Two fields by keys alone; a bad value stops it in words; the price follows; one press runs it to its clips."""
    page = sweeping.page
    sweep, line, why = page.locator(ROOT), page.locator(".rbf-sweep-line"), page.locator(".rbf-sweep > [role=status]")
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
    expect(frames).to_have_value("9")
    frames.focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("5, 9")
    expect(page.locator(".rbf-sweep-axis .rbf-problem")).to_contain_text("5 is outside 9 to 1441")
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
    expect(run).to_have_text("Show 2 from the library")

    sweeping.run_cell(1)

    expect(page.locator(".jp-Cell").nth(1).locator(".jp-OutputArea-output").last).to_contain_text(
        "(1, {'completed'}, 2)", timeout=30_000
    )
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


def test_it_is_opened_again_and_in_another_view(sweeping: OpenNotebook) -> None:
    """Four seeds from this one are proposed; a page that comes back has the results again, in silence."""
    page = sweeping.page
    page.locator(ROOT).get_by_role("button", name="Close the sweep").click()
    expect(page.locator(ROOT)).to_be_hidden()
    page.locator("[data-field=seed] input[type=text]").fill("40")

    page.get_by_role("button", name="Sweep…").click()
    page.locator(ROOT).get_by_role("button", name="Remove Seed").click()
    page.get_by_role("button", name="Add a field").click()
    page.get_by_label("Field to vary").last.select_option("seed")
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
    expect(second.locator(".rbf-run")).to_contain_text("2 of 2", timeout=30_000)
    # What is typed in one view is planned there.
    second.get_by_role("button", name="Sweep…").click()
    second.get_by_label("Field to vary").select_option("seed")
    expect(second.locator(".rbf-sweep-line")).to_contain_text("212 credits")
    expect(page.locator(".rbf-sweep-line").first).to_be_hidden()

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


@pytest.fixture(scope="module")
def racing(lab: Lab, chromium: Browser) -> Iterator[OpenNotebook]:
    """A notebook with a form in its first cell, and a race in another."""
    with first_cell(
        lab, chromium, "form-race", START, AFTER, "form", JUDGED, "race.is_done, len(race.ratings.frame)", AT_END
    ) as notebook:
        yield notebook


def test_the_best_is_found_and_taken_over_by_keyboard(racing: OpenNotebook) -> None:
    """Seeds alone offer no race; with a second field it has a price, runs once, names the best and fills the form."""
    page = racing.page
    best = page.locator(BEST)
    find = best.get_by_role("button", name="Find the best")
    page.get_by_role("button", name="Sweep…").focus()
    page.keyboard.press("Enter")
    choose(page, "Seed")
    expect(page.locator(".rbf-sweep-line")).to_contain_text("212 credits")
    expect(find).to_be_hidden()
    page.get_by_role("button", name="Add a field").focus()
    page.keyboard.press("Enter")
    choose(page, "Number")
    frames = page.get_by_role("textbox", name="Values of Number of frames")
    expect(frames).to_have_value("9")
    frames.fill("9, 17")
    expect(find).to_have_text("Find the best · at most 424 credits")
    page.locator(PAY).get_by_label("Spend at most").fill("212")
    expect(find).to_have_text("Find the best · at most 212 credits")
    judged = page.get_by_label("judged by")
    judged.focus()
    page.keyboard.type("highest motion")
    expect(judged).to_have_value("motion")
    find.focus()
    best.scroll_into_view_if_needed()
    shot(page, "form-race-light")
    grave = [*findings(page, ROOT, colours=False), *faint(page, ROOT)]

    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    use = page.get_by_role("button", name="Use these values")
    expect(use).to_be_visible(timeout=60_000)
    expect(page.locator(MADE)).to_contain_text("chance to be")
    expect(page.locator(f"{MADE} video")).to_be_visible()
    use.focus()
    page.keyboard.press("Enter")
    expect(page.locator(MADE)).to_contain_text("The form has these values now.")
    racing.run_cell(1)

    expect(page.locator(".jp-Cell").nth(1).locator(".jp-OutputArea-output").last).to_contain_text(
        "(1, True, True, True)", timeout=30_000
    )
    assert grave == []
    assert racing.cell_errors() == []
    assert racing.complaints == []


def test_a_race_is_there_again_and_for_everybody(racing: OpenNotebook) -> None:
    """A page that comes back has the panel and the best again; nothing faint, nothing that sticks out at 320 px."""
    page = racing.page
    page.locator(MADE).scroll_into_view_if_needed()
    for theme in ("Dark", "Light") if IS_PICTURED else ("Light",):
        racing.use_theme(f"JupyterLab {theme}")
        shot(page, f"form-race-done-{theme.lower()}")
    grave = [*findings(page, f"{ROOT}, {MADE}", colours=False), *faint(page, f"{ROOT}, {MADE}")]
    racing.resize(320, 1800)
    page.locator(BEST).scroll_into_view_if_needed()
    shot(page, "form-race-320")
    page.locator(MADE).scroll_into_view_if_needed()
    shot(page, "form-race-done-320")
    sticking = [*beyond(page, ROOT), *beyond(page, MADE)]
    racing.resize(1200, 1800)
    racing.run_cell(2)
    again = page.locator(".jp-Cell").nth(2).locator(".rbf-form")

    expect(again.locator(MADE)).to_contain_text("chance to be", timeout=30_000)
    expect(again.get_by_role("button", name="Use these values")).to_be_visible()
    assert grave == []
    assert sticking == []
    assert racing.complaints == []


@pytest.mark.deep
def test_a_race_is_judged_in_its_own_cell(racing: OpenNotebook) -> None:
    """The panel of the judge stands below the card when clips are there, goes on with the next round, and goes at the end."""
    page = racing.page
    racing.run_cell(3)
    cell = page.locator(".jp-Cell").nth(3)
    card, judge, answer = (
        cell.locator(".rb-race"),
        cell.locator("[data-rb-judge]"),
        cell.locator("[data-rb-answer=left]"),
    )
    expect(answer).to_be_visible(timeout=60_000)
    cell.scroll_into_view_if_needed()
    shot(page, "race-judged")
    for _ in range(40):
        page.wait_for_function(ASKING, timeout=60_000)
        if "ecided" in card.inner_text():
            break
        page.evaluate("() => document.querySelector('[data-rb-judge]')?.judge?.answer('left')")
    racing.run_cell(4)

    expect(card).to_contain_text("ecided", timeout=60_000)
    expect(judge).to_have_count(0)
    expect(page.locator(".jp-Cell").nth(4).locator(".jp-OutputArea-output").last).to_contain_text("(True, ")
    assert racing.cell_errors() == []
    assert racing.complaints == []


def test_a_race_of_a_form_is_judged_in_the_form(racing: OpenNotebook) -> None:
    """By eye: the panel of the judge comes below the race's, its answers end the race, and then it goes."""
    page = racing.page
    racing.command("notebook:clear-all-cell-outputs")
    racing.run_cell(0)
    form = page.locator(".jp-Cell").nth(0).locator(".rbf-form")
    expect(form).to_be_visible(timeout=30_000)
    form.get_by_role("button", name="Sweep…").click()
    form.get_by_label("Field to vary").select_option("num_frames")
    form.get_by_role("textbox", name="Values of Number of frames").fill("9, 17")
    expect(form.locator(".rbf-sweep-line")).to_contain_text("106 credits")
    form.get_by_label("judged by").select_option("your eye, in blind pairs")
    form.get_by_role("button", name="Find the best").click()
    expect(form.locator("[data-rb-answer=left]")).to_be_visible(timeout=60_000)
    page.locator(MADE).scroll_into_view_if_needed()
    shot(page, "form-race-judged")
    for _ in range(20):
        page.wait_for_function(ASKING, timeout=60_000)
        if "ecided" in form.locator(MADE).inner_text():
            break
        page.evaluate("() => document.querySelector('[data-rb-judge]')?.judge?.answer('left')")
    expect(form.get_by_role("button", name="Use these values")).to_be_visible(timeout=60_000)
    racing.run_cell(5)

    expect(form.locator("[data-rb-judge]")).to_have_count(0)
    expect(page.locator(".jp-Cell").nth(5).locator(".jp-OutputArea-output").last).to_contain_text("(True, True)")
    assert racing.cell_errors() == []
    assert racing.complaints == []
