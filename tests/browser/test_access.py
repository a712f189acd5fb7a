"""A notebook opened again: every display is there, for people who see little, use a keyboard, or hold a phone, too."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import axe, survival
from tests.browser.lab import Lab, OpenNotebook
from tests.browser.looks import overflow, playback, shot
from tests.browser.survival import TALL, Executed
from tests.support import deep

pytestmark = pytest.mark.browser

OUTPUTS = ".jp-OutputArea-output[data-mime-type='text/html']"
NARROW, WIDE = 320, 1200
TAKEN_APART = re.compile(r"<(script|style)\b.*?</\1>", re.DOTALL)
# The room of an output beside Lab's own margins and prompts.
ROOM = "outputs => document.querySelector(outputs).getBoundingClientRect().width"
FAULTY = """<!doctype html><html lang=en><title>x</title><body><main class=rb style="background:#fff">
  <img src="data:image/gif;base64,R0lGODlhAQABAAAAACw="><button></button><p style="color:#bbb">faint words</p>
  <div style="width:5000px">wide</div><a href="#" style="outline:none">x</a><span onclick="x()" tabindex=-1>unreachable</span></main>"""


@pytest.fixture(scope="module")
def executed(lab: Lab, chromium: Browser) -> Executed:
    """The notebook with everything in it, which the tests of survival share."""
    return survival.executed(lab, chromium)


@pytest.fixture(scope="module")
def notebook(lab: Lab, chromium: Browser) -> Iterator[OpenNotebook]:
    """It in JupyterLab after its run, so that scripts run and its kernel answers."""
    with survival.live(lab, chromium) as notebook:
        yield notebook


def test_with_its_kernel_a_table_plays_its_clips_and_tells_what_is_ticked(notebook: OpenNotebook) -> None:
    """A click plays the file itself; rows that are ticked on the page are rows that Python has."""
    page, names = notebook.page, list(survival.CELLS)
    table = page.locator(".jp-CodeCell").nth(names.index("table"))
    table.locator("button.rb-poster").first.click()
    clip = playback(table.locator(".rb-film video"))
    address = table.locator(".rb-film video").get_attribute("src") or ""
    table.locator(".rb-select input[type=checkbox]").nth(2).check()
    told = page.locator(".jp-CodeCell").nth(names.index("selected")).locator(".jp-OutputArea-output")
    for _ in range(50):  # Lab sends a tick to a subshell, and the cell to the main one: a cell may overtake a tick.
        notebook.run_cell(names.index("selected"))
        if told.inner_text() != "[]":
            break

    expect(told).to_contain_text(re.compile(r"\[\d\]"))
    # So short a clip begins again while it is looked at.
    assert (clip["error"], clip["frames"] > 0) == (None, True)
    assert address.startswith("blob:")
    assert notebook.complaints == []


@pytest.mark.parametrize("name", ["sweep", "library"])
def test_with_its_kernel_every_poster_plays_the_original(notebook: OpenNotebook, name: str) -> None:
    """Large, whatever it is a poster of."""
    cell = notebook.page.locator(".jp-CodeCell").nth(list(survival.CELLS).index(name))

    cell.get_by_role("button", name=re.compile("^Play ")).first.click()

    video = cell.locator("video")
    expect(video).to_have_js_property("readyState", 4)
    assert video.evaluate("one => [one.videoWidth, one.src.slice(0, 5)]") == [854, "blob:"]


def test_in_jupyterlab_no_column_of_a_table_closes(notebook: OpenNotebook) -> None:
    """It lays tables out by a rule of its own."""
    heads = notebook.page.locator(".jp-CodeCell").nth(list(survival.CELLS).index("table")).locator("th button")

    assert min(heads.evaluate_all("heads => heads.map(head => head.offsetWidth)")) > 20


def test_with_its_kernel_a_plot_plays_clips_and_ticks_rows_of_its_table(notebook: OpenNotebook) -> None:
    """A click plays the file itself; points that are selected are ticked in the table on the page, and in Python."""
    page, names = notebook.page, list(survival.CELLS)
    cells = page.locator(".jp-CodeCell")
    table, plot = cells.nth(names.index("table")), cells.nth(names.index("plot"))
    points = plot.locator(".rb-drawing:visible use[data-row]")
    points.first.scroll_into_view_if_needed()
    points.nth(0).click(force=True)
    clip = playback(plot.locator(".rb-film video"))
    before = table.locator("tbody .rb-select input:checked").count()
    row = int(points.nth(1).get_attribute("data-row") or "")
    points.nth(1).click(force=True, modifiers=["Shift"])
    is_ticked = table.locator("tbody .rb-select input[type=checkbox]").nth(row).is_checked()
    is_drawn = points.nth(1).get_attribute("aria-pressed") == "true"
    after = table.locator("tbody .rb-select input:checked").count()
    shot(page, "plot-live")

    assert (clip["error"], clip["frames"] > 0) == (None, True)
    assert is_ticked == is_drawn
    assert abs(after - before) == 1
    assert notebook.complaints == []


@pytest.mark.parametrize(
    ("theme", "width"), [("Light", WIDE), ("Dark", NARROW), *deep(("Light", NARROW), ("Dark", WIDE))]
)
def test_no_display_shuts_anybody_out(notebook: OpenNotebook, theme: str, width: int) -> None:
    """No serious finding of axe-core, text stands out by 4.5 to 1, and nothing sticks out of a column of 320 pixels."""
    page = notebook.page
    notebook.use_theme(f"JupyterLab {theme}")
    make_room(notebook, width)
    page.evaluate("for (const fold of document.querySelectorAll('.jp-OutputArea details')) fold.open = true")

    # Of what axe looks at, colours alone change with the theme, and these are measured beside it.
    found = [] if (theme, width) == ("Light", WIDE) else axe.findings(page, OUTPUTS, colours=False)
    faint = axe.faint(page, OUTPUTS)
    beyond = axe.beyond(page, OUTPUTS)

    shot(page, f"access-{theme.lower()}-{width}", whole=True)
    assert found == []
    assert faint == []
    assert beyond == [], beyond


@pytest.mark.parametrize(
    ("theme", "width"), [("light", NARROW), ("dark", WIDE), *deep(("light", WIDE), ("dark", NARROW))]
)
def test_a_report_shuts_nobody_out(executed: Executed, chromium: Browser, theme: str, width: int) -> None:
    """The same for a page of its own, in the colours that the reader's system asks for."""
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)  # type: ignore[arg-type]
    page.goto(executed.report.as_uri())

    found = [] if (theme, width) == ("dark", WIDE) else axe.findings(page, "body", colours=False)
    faint = axe.faint(page, "body")
    wide = overflow(page)

    shot(page, f"access-report-{theme}-{width}", whole=True)
    page.close()
    assert found == []
    assert faint == []
    assert wide <= 0


@pytest.mark.parametrize("width", [NARROW, *deep((WIDE,))])
def test_what_is_left_without_scripts_shuts_nobody_out(executed: Executed, chromium: Browser, width: int) -> None:
    """As a notebook that nobody trusts shows it: without our scripts and style sheets."""
    page = chromium.new_page(viewport={"width": width, "height": 900})
    page.set_content(TAKEN_APART.sub("", outputs_of(executed)))

    found = axe.findings(page, ".output", colours=False)
    faint = axe.faint(page, ".output")
    beyond = axe.beyond(page, ".output")

    shot(page, f"access-static-{width}", whole=True)
    page.close()
    assert found == []
    assert faint == []
    assert beyond == [], beyond


@pytest.mark.parametrize("of", ["outputs", "report"])
def test_a_keyboard_reaches_every_control(executed: Executed, chromium: Browser, of: str) -> None:
    """One after the other by Tab, and each shows that it is the one: in what cells show by themselves, and in a report."""
    page = chromium.new_page(viewport={"width": WIDE, "height": 900})
    if of == "report":
        page.goto(executed.report.as_uri())
    else:
        page.set_content(outputs_of(executed))
        page.locator("figure[data-rb-ready]").first.wait_for()
        survival.settle(page)

    reached = axe.tabbed(page, "body")

    page.close()
    assert len(reached.controls) >= 8
    assert reached.missed == []
    assert reached.unseen == []


def test_faults_are_found(chromium: Browser) -> None:
    """The control: a page with a picture without words, a nameless button, faint words, hidden focus and a wide box."""
    page = chromium.new_page(viewport={"width": NARROW, "height": 600})
    page.set_content(FAULTY)

    rules = {one.partition(":")[0] for one in axe.findings(page, "main")}
    reached = axe.tabbed(page, "main")
    faint, beyond, wide = axe.faint(page, "main"), axe.beyond(page, "main"), overflow(page)

    page.close()
    assert {"image-alt", "button-name"} <= rules
    assert any("faint words" in one for one in faint)
    assert any("wide" in one for one in beyond)
    assert wide > 0
    assert reached.unseen == ["a x"]


def outputs_of(executed: Executed) -> str:
    """A bare page with what each cell shows."""
    body = "".join(f'<div class="output">{html}</div>' for html in executed.pages)
    return f"<!doctype html><html lang=en><meta charset=utf-8><title>outputs</title><body>{body}"


def make_room(notebook: OpenNotebook, width: int) -> None:
    """Change the window so that an output has this much room."""
    notebook.resize(width, TALL)
    if width == NARROW:
        room = float(notebook.page.evaluate(ROOM, OUTPUTS))
        notebook.resize(round(2 * width - room), TALL)
