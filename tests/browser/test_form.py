"""A form in a real JupyterLab: filled by keyboard, run, looked at, and still readable when its kernel is gone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.lab import Lab, OpenNotebook, first_cell
from tests.browser.looks import IN_VIEW, in_view, shot
from tests.support import deep

pytestmark = pytest.mark.browser

START = """\
import reelbook as rb
client = rb.connect(library={library!r})
form = rb.form(rb.TextToVideo)
form"""
PROMPT = "a paper boat bb dd 00 <b>at sea</b>"
"""With what would be commands for the notebook, if it heard them."""

# Types into every field, and tells which boxes have moved within their fields; then all is as it was.
MOVED = """async () => {
  const boxes = [...document.querySelectorAll('.rbf .rbf-field')].flatMap((field) => {
    const box = field.querySelector('textarea, input[type=text], input[type=checkbox], input[type=radio]:not(:checked)');
    return box ? [{field, box}] : [];
  });
  const places = () => boxes.map(({field, box}) => box.getBoundingClientRect().y - field.getBoundingClientRect().y);
  const before = places();
  for (const {box} of boxes) {
    if (/checkbox|radio/.test(box.type)) { box.click(); continue; }
    box.value = '7';
    box.dispatchEvent(new Event('input', {bubbles: true}));
  }
  await new Promise((done) => setTimeout(done, 500));
  const after = places();
  for (const reset of document.querySelectorAll('.rbf .rbf-reset:not([hidden])')) reset.click();
  return boxes.map(({field}, n) => [field.dataset.field, after[n] - before[n]]).filter(([, by]) => by);
}"""

# In which part of the form the buttons stand whose ground is their border's colour.
FILLED = """() => [...document.querySelectorAll('.rbf-primary')].filter((one) => {
  const {backgroundColor, borderColor} = getComputedStyle(one);
  return one.offsetWidth && backgroundColor === borderColor;
}).map((one) => one.closest('.rbf-sweep, .rbf-foot').className)"""
RUN = ".rbf-foot .rbf-primary"


@pytest.fixture(scope="module")
def filling(lab: Lab, chromium: Browser) -> Iterator[OpenNotebook]:
    """A notebook with a form in its first cell."""
    with first_cell(lab, chromium, "form", START, "form.value", "form.code", height=1400) as notebook:
        yield notebook


def cells(page: Page) -> int:
    return int(page.evaluate("window.jupyterapp.shell.currentWidget.content.model.cells.length"))


def unfold(page: Page) -> None:
    """Show the fields that few need."""
    page.locator(".rbf-fold").evaluate("fold => { fold.open = true; }")


def scrolled(page: Page) -> float:
    return float(page.evaluate("document.querySelector('.jp-WindowedPanel-outer').scrollTop"))


def test_a_form_is_filled_by_keyboard_run_and_plays(filling: OpenNotebook) -> None:
    """From the prompt on by keys alone; a bad value stops it in words; what is typed is no command for the notebook.

    On a laptop: the result begins beside the inputs, the button says how far it is, and nothing is moved for it.
    """
    page = filling.page
    run = page.locator(".rbf-foot .rbf-primary")
    expect(run).to_have_text("Run · 53 credits")
    expect(run).to_be_disabled()
    expect(page.locator(".rbf-why")).to_have_text("Type a prompt.")
    page.locator("[data-field=resolution]").get_by_role("radio", name="480p").check()

    page.get_by_role("textbox", name="Prompt").focus()
    page.keyboard.type(PROMPT)
    frames = page.locator("[data-field=num_frames] input[type=text]").first
    frames.focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("5")
    expect(page.locator("[data-field=num_frames] .rbf-problem")).to_contain_text("outside 9 to 1441")
    expect(run).to_be_disabled()
    page.keyboard.press("Control+A")
    page.keyboard.type("25")
    expect(page.locator("[data-field=num_frames] .rbf-problem")).to_be_hidden()
    unfold(page)
    page.locator("[data-field=enable_detail_pass] input").focus()
    page.keyboard.press("Space")
    expect(run).to_have_text("Run · 106 credits")
    page.keyboard.press("Space")
    expect(run).to_have_text("Run · 53 credits")
    page.locator(".rbf-fold").evaluate("fold => { fold.open = false; }")
    frames.focus()
    shot(page, "form-light")
    for _ in range(12):
        if run.evaluate("button => button === document.activeElement"):
            break
        page.keyboard.press("Tab")
    filling.resize(1280, 800)
    run.evaluate("button => button.scrollIntoView({block: 'end'})")
    at = scrolled(page)
    page.keyboard.press("Enter")
    expect(run).to_contain_text(re.compile(r"^(Running|Waiting) · "))
    shot(page, "laptop-run-pressed")
    seen = in_view(page, ".rbf-run-state"), in_view(page, RUN)
    expect(run).to_be_focused()

    expect(page.locator(".rbf-run-state")).to_contain_text("completed", timeout=60_000)
    expect(run).to_have_text("Run · 53 credits")
    expect(page.locator(".rbf video")).to_be_visible(timeout=60_000)
    page.wait_for_function("document.querySelector('.rbf video').readyState >= 2")
    shot(page, "laptop-run-done")
    assert seen == (True, True)
    assert in_view(page, ".rbf-run-media")
    assert scrolled(page) == at
    filling.resize(1200, 1400)
    playing = page.evaluate("document.querySelector('.rbf video').play().then(() => true)")
    shot(page, "form-run")
    assert playing
    assert cells(page) == 3
    assert filling.complaints == []


def test_a_price_that_nobody_has_seen_is_not_paid(filling: OpenNotebook) -> None:
    """Who changes something dear and presses Run before the button says what it costs is asked again."""
    page = filling.page
    box = "[data-field=enable_detail_pass] input"
    runs = page.locator(".rbf-run-cell").count()

    # In one breath, as nobody types; with a kernel that is busy the button can be behind for long.
    page.evaluate(f"document.querySelector('{box}').click(); document.querySelector('.rbf-foot .rbf-primary').click()")

    expect(page.locator(".rbf-run-said")).to_contain_text(
        "The price has moved (106 credits now), so nothing was sent yet. Press Run"
    )
    expect(page.locator(".rbf-foot .rbf-primary")).to_have_text("Run · 106 credits")
    assert page.locator(".rbf-run-cell").count() == runs
    unfold(page)
    page.locator(box).click()
    expect(page.locator(".rbf-foot .rbf-primary")).to_have_text("Run · 53 credits")


def test_what_is_saved_shows_the_values(filling: OpenNotebook) -> None:
    """The kernel has what was typed; the notebook on disk has it as a picture that needs neither kernel nor widget."""
    page = filling.page
    filling.run_cell(1)
    expect(page.locator(".jp-Cell").nth(1).locator(".jp-OutputArea-output").last).to_contain_text(
        "a paper boat", timeout=30_000
    )
    expect(page.locator("[data-rb-twin]")).to_be_hidden()
    expect(page.locator("[data-rb-twin] img")).to_have_count(1)
    filling.save()

    saved = nbformat.read(filling.path, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(saved)
    pictures = [output for output in saved.cells[0].outputs if "text/html" in output.get("data", {})]

    assert len(pictures) == 1
    assert "a paper boat bb dd 00 &lt;b&gt;at sea" in pictures[0].data["text/html"]
    # One small picture of what was made.
    assert json.dumps(saved.cells[0]).count("data:image") == 1
    assert "● completed" in pictures[0].data["text/html"]
    assert Path(filling.path).stat().st_size < 60_000
    assert filling.cell_errors() == []


@pytest.mark.parametrize("width", [320, *deep((1400,), (800,))])
def test_nothing_moves_under_who_is_typing(filling: OpenNotebook, width: int) -> None:
    """That a field is changed, and can be reset, is told where there was room for it before."""
    page = filling.page
    unfold(page)
    filling.resize(width, 1400)

    moved = page.evaluate(MOVED)
    shot(page, f"form-typed-{width}")
    filling.resize(1200, 1400)

    assert moved == []
    expect(page.locator(".rbf-reset:visible")).to_have_count(0)


def test_an_earlier_prompt_is_taken_by_keys_and_taken_back(filling: OpenNotebook) -> None:
    """The list follows its button; Ctrl+Z brings back what stood there; each text has its own direction."""
    page = filling.page
    prompt = page.get_by_role("textbox", name="Prompt").first
    prompt.fill("سفينة ورقية")
    assert prompt.evaluate("area => getComputedStyle(area).direction") == "rtl"

    page.get_by_role("button", name="Earlier prompts").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".rbf-prompt")).to_have_count(1)
    page.keyboard.press("Tab")
    expect(page.locator(".rbf-prompt")).to_be_focused()
    page.keyboard.press("Enter")
    expect(prompt).to_have_value(PROMPT)
    page.keyboard.press("Control+Z")
    expect(prompt).to_have_value("سفينة ورقية")


def test_what_is_missing_in_a_new_entry_is_told_beside_run(filling: OpenNotebook) -> None:
    """Who has just added weights is told why Run is not to be had, and not that what nobody could have typed yet is wrong."""
    page = filling.page
    entry = page.locator("[data-field='loras.0.path']")
    run = page.locator(".rbf-foot .rbf-primary")
    page.get_by_role("textbox", name="Prompt").first.fill("a boat")
    unfold(page)
    expect(run).to_be_enabled()

    page.get_by_role("button", name="Add to LoRAs").click()
    expect(entry.locator("input")).to_be_focused()
    expect(run).to_be_disabled()
    expect(page.locator(".rbf-why")).to_have_text("LoRAs 1, path: this is required.")
    expect(entry.locator(".rbf-problem")).to_be_hidden()
    edges = [
        page.locator(f"[data-field=loras] {part}").evaluate("part => part.getBoundingClientRect().left")
        for part in (".rbf-item", ".rbf-item > .rbf-quiet")
    ]
    page.get_by_role("button", name="Remove 1.").click()
    expect(run).to_be_enabled()
    expect(page.get_by_role("button", name="Reset: LoRAs")).to_be_hidden()
    assert abs(edges[1] - edges[0]) < 12, "Remove stands at the edge of its entry"


def test_reset_is_offered_where_it_changes_something(filling: OpenNotebook) -> None:
    """Not where somebody has gone back to the default."""
    resolution = filling.page.locator("[data-field=resolution]")
    reset = resolution.get_by_text("Reset", exact=True)

    for value, is_offered in (("480p", True), ("720p", False)):
        resolution.get_by_role("radio", name=value).check()
        expect(reset).to_be_visible(visible=is_offered)


def test_in_one_column_the_result_comes_into_view(filling: OpenNotebook) -> None:
    """Pressed at the lower edge of a window of less than 900 pixels, it is scrolled to when it begins."""
    page = filling.page
    run = page.locator(RUN)
    filling.resize(900, 800)
    page.locator("[data-field=seed] input[type=text]").first.fill("4")
    expect(run).to_be_enabled()
    run.evaluate("button => button.scrollIntoView({block: 'end'})")

    run.click()

    page.wait_for_function(f"selector => ({IN_VIEW})(selector)", arg=".rbf-run-state")
    expect(page.locator(".rbf-run-state")).to_contain_text("completed", timeout=60_000)
    filling.resize(1200, 1400)


def test_a_kernel_that_has_ended_is_not_waited_for(filling: OpenNotebook) -> None:
    """After a restart the form says so once, whatever is pressed; a run that was under way is uncertain, and its clock stands."""
    page = filling.page
    run, state = page.locator(".rbf-foot .rbf-primary"), page.locator(".rbf-run-state")
    said = page.locator(".rbf").get_by_text("The kernel has ended")
    page.get_by_role("textbox", name="Prompt").first.fill("a boat")
    expect(run).to_be_enabled()
    page.locator("[data-field=num_frames] input[type=text]").first.fill("1441")
    run.click()
    # A worker may have to start first.
    expect(state).to_contain_text("running", timeout=30_000)
    page.get_by_role("button", name="Sweep…").click()
    page.get_by_label("Field to vary").select_option("Seed")
    expect(page.locator(".rbf-sweep-line")).to_contain_text("4 runs")
    filled = page.evaluate(FILLED)
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    expect(page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").first).to_be_attached(timeout=30_000)

    expect(page.locator(".rbf-all-fields > .rbf-problem")).to_have_text(
        "The kernel has ended; run the cell again to continue."
    )
    expect(state).to_have_text("?uncertain · it was running")
    expect(page.locator(".rbf-run-actions button")).to_have_count(0)
    page.get_by_role("textbox", name="Prompt").first.fill("after the end")
    page.get_by_role("button", name="Earlier prompts").click()
    run.click()
    page.locator(".rbf-foot").get_by_role("button", name="Copy code").click()
    expect(run).to_contain_text("Run")
    expect(page.locator(".rbf-prompts")).to_be_hidden()
    expect(page.locator(".rbf-sweep-line")).to_be_hidden()
    expect(page.locator(".rbf-sweep > [role=status]")).to_have_text("")
    shot(page, "form-ended")

    assert filled == ["rbf-sweep"]
    assert said.count() == 1
    assert not [words for words in filling.complaints if "uncaught" in words]
