"""A race in a form of a real JupyterLab: the best of a sweep's settings, found and taken over by keys alone, without any code."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.axe import beyond, faint, findings
from tests.browser.lab import Lab, OpenNotebook
from tests.browser.looks import IS_PICTURED, shot
from tests.browser.test_form_sweep import choose

pytestmark = pytest.mark.browser

START = """\
import reelbook as rb
client = rb.connect(library={library!r})
form = rb.form(rb.TextToVideo(prompt="a paper boat <b>at sea</b>", num_frames=9, resolution="480p", aspect_ratio="1:1"))
form"""
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
ROOT, BEST, MADE = ".rbf-sweep", ".rbf-sweep-best", ".rbf-run"


@pytest.fixture(scope="module")
def racing(lab: Lab, chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenNotebook]:
    """A notebook with a form in its first cell."""
    library = str(tmp_path_factory.mktemp("form-race") / "library")
    texts = (
        START.format(library=library),
        AFTER,
        "form",
        JUDGED,
        "race.is_done, len(race.ratings.frame)",
        "form.races[-1].is_done, len(form.races[-1].ratings.frame) > 0",
    )
    path = lab.write("form-race", *texts)
    with OpenNotebook(lab, chromium, path, height=1800) as notebook:
        notebook.open()
        notebook.command("notebook:run-cell-and-select-next")
        expect(notebook.page.locator(".rbf")).to_be_visible(timeout=30_000)
        yield notebook


def test_the_best_is_found_and_taken_over_by_keyboard(racing: OpenNotebook) -> None:
    """Seeds alone offer no race; with a second field it has a price, runs once, names the best and fills the form."""
    page = racing.page
    best, find = page.locator(BEST), page.get_by_role("button", name="Find the best…")
    page.get_by_role("button", name="Sweep…").focus()
    page.keyboard.press("Enter")
    choose(page, "Seed")
    expect(page.locator(".rbf-sweep-line")).to_contain_text("212 credits")
    expect(find).to_be_hidden()
    page.get_by_role("button", name="Add a field").focus()
    page.keyboard.press("Enter")
    choose(page, "Number")
    frames = page.get_by_role("textbox", name="Values of Number of frames")
    expect(frames).not_to_have_value("")
    frames.fill("9, 17")
    expect(page.locator(".rbf-sweep-line")).to_contain_text("424 credits")
    find.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Judged by")).to_be_focused()
    page.keyboard.type("highest motion")
    expect(page.get_by_label("Judged by")).to_have_value("motion")
    expect(best).to_contain_text("2 settings are compared")
    spend = best.get_by_label("Spend at most")
    expect(spend).to_have_attribute("placeholder", "212")
    expect(best).to_contain_text("Stops when it is 95% sure")
    spend.fill("159")
    expect(best).to_contain_text("fewer than two runs of each setting, which can hardly decide: 212 credits would")
    spend.fill("10")
    expect(best.locator(".rbf-primary")).to_be_disabled()
    expect(best).to_contain_text("One run of two settings costs")
    spend.fill("")
    page.keyboard.press("Tab")
    expect(best.locator(".rbf-primary")).to_be_focused()
    expect(best.locator(".rbf-primary")).to_be_enabled()
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
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(MADE).get_by_role("button", name="Copy code").click()
    page.get_by_role("button", name="Copied").wait_for()
    code = page.evaluate("navigator.clipboard.readText()")
    racing.run_cell(1)

    expect(page.locator(".jp-Cell").nth(1).locator(".jp-OutputArea-output").last).to_contain_text(
        "(1, True, True, True)", timeout=30_000
    )
    assert ".race(by='motion', budget=212)\nrace" in code
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
    form.get_by_role("button", name="Find the best…").click()
    form.get_by_label("Judged by").select_option("your eye, in blind pairs")
    form.locator(BEST).get_by_role("button", name="Start").click()
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
