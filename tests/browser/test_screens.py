"""Forms, studios, sweeps, tables, sheets and libraries as a laptop shows them: 1280×800 and 480 pixels, light and dark.

That pressing Run is seen at once, on a laptop too, is among the tests of the form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.lab import Lab, OpenNotebook
from tests.browser.looks import IN_VIEW, IS_PICTURED, overflow, shot

pytestmark = [pytest.mark.browser, pytest.mark.deep]

START = """\
import reelbook as rb
client = rb.connect(library={library!r})
form = rb.form(rb.TextToVideo(prompt="a red fox in the snow", num_frames=9, seed=3, resolution="480p"))
form"""
STUDIO = """\
for prompt in ("a green tram in the rain", "a lighthouse at dusk"):
    rb.start(rb.TextToVideo(prompt=prompt, num_frames=9, seed=7, resolution="480p")).wait()
studio = rb.studio(rb.TextToVideo(prompt="a red fox in the snow", num_frames=9, seed=3, resolution="480p"))
studio"""
OTHERS = {
    "sweep": """\
from IPython.display import HTML, display
from reelbook.display.figure import file_figure
table = rb.sweep(rb.TextToVideo(prompt="a green tram in the rain", num_frames=9, resolution="480p"), seed=range(2, 10)).run()""",
    "table": "table.reel",
    "frame": "table",
    "sheet": "table.reel.sheet()",
    "library": "rb.library()",
    "figure": "display(HTML(file_figure(table.reel.file(0), many=True)))",
}
"""What a day with a sweep shows, cell by cell."""
# Colours change no width.
THEMES = ("Light", "Dark") if IS_PICTURED else ("Light",)
LAPTOP, PHONE = (1280, 800), (480, 800)
ROOM = 60_000
RUN = ".rbf-foot .rbf-primary"
PRESS_AND_GO_ON = """button => {
  button.scrollIntoView({block: 'end'});
  const {scrollIntoView} = Element.prototype;
  window.scrolledTo = [];
  Element.prototype.scrollIntoView = function (...how) {
    window.scrolledTo.push(this.className);
    scrollIntoView.apply(this, how);
  };
  button.click();
  document.querySelector('.rbf-name').dispatchEvent(new PointerEvent('pointerdown', {bubbles: true}));
}"""


@pytest.fixture(scope="module")
def laptop(lab: Lab, chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenNotebook]:
    """A notebook on a small laptop, with a form in its first cell and a studio in its second."""
    library = str(tmp_path_factory.mktemp("screens") / "library")
    texts = (START.format(library=library), STUDIO, *OTHERS.values())
    path = lab.write("screens", *texts)
    with OpenNotebook(lab, chromium, path, width=LAPTOP[0], height=LAPTOP[1]) as notebook:
        notebook.open()
        notebook.command("notebook:run-cell")
        expect(notebook.page.locator(".rbf-foot")).to_be_visible(timeout=ROOM)
        yield notebook


def top(page: Page, selector: str) -> None:
    """Bring the upper edge of something to that of the window."""
    page.locator(selector).first.evaluate("one => one.scrollIntoView({block: 'start'})")
    if IS_PICTURED:
        page.wait_for_timeout(200)


def pictures(notebook: OpenNotebook, name: str, selector: str, tall: int) -> None:
    """It as a laptop shows it, and whole, in both widths; for people who look at pictures, in both themes."""
    page = notebook.page
    for theme in THEMES:
        notebook.use_theme(f"JupyterLab {theme}")
        top(page, selector)
        shot(page, f"{name}-1280x800-{theme.lower()}")
        for width, height in ((LAPTOP[0], tall), (PHONE[0], 2 * tall)):
            notebook.resize(width, height)
            top(page, selector)
            assert overflow(page) <= 0
            shot(page, f"{name}-{width}-{theme.lower()}")
        notebook.resize(*LAPTOP)
    notebook.use_theme("JupyterLab Light")


def press_at_the_edge(page: Page) -> None:
    """Press Run where it stands at the lower edge of the window, when nothing moves any more."""
    run = page.locator(RUN).first
    expect(run).to_be_enabled()
    run.evaluate("button => button.scrollIntoView({block: 'end'})")
    run.click()


def test_in_one_column_the_result_comes_into_view(laptop: OpenNotebook) -> None:
    """Below 900 pixels it is scrolled to when it begins; not for somebody who has gone on to something else."""
    page = laptop.page
    laptop.resize(900, 800)
    page.locator("[data-field=seed] input[type=text]").first.fill("4")

    press_at_the_edge(page)
    expect(page.locator(".rbf-run-cell")).to_have_count(1)
    page.wait_for_function(f"selector => ({IN_VIEW})(selector)", arg=".rbf-run-state")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    shot(page, "laptop-run-one-column")
    expect(page.locator(".rbf-run-state")).to_contain_text("completed", timeout=ROOM)
    page.locator("[data-field=seed] input[type=text]").first.fill("5")
    expect(page.locator(RUN).first).to_be_enabled()
    # In one go: the run may begin before another message of the test arrives.
    page.locator(RUN).first.evaluate(PRESS_AND_GO_ON)
    expect(page.locator(".rbf-run-cell")).to_have_count(2)
    expect(page.locator(".rbf-run-state")).to_contain_text("completed", timeout=ROOM)
    # Not the place itself, which Lab corrects, too, when what is above has another height than it thought.
    scrolled_to = page.evaluate("window.scrolledTo")
    laptop.resize(*LAPTOP)

    assert scrolled_to == []


def test_a_form_on_a_laptop(laptop: OpenNotebook) -> None:
    """With a sweep beside it, and one of its clips large."""
    page = laptop.page
    page.get_by_role("button", name="Sweep…").click()
    page.get_by_label("Field to vary").select_option("Seed")
    expect(page.locator(".rbf-sweep-line")).to_contain_text("4 runs")
    page.locator(".rbf-sweep-pay .rbf-primary").click()
    expect(page.locator(".rbf-run")).to_contain_text("4 of 4", timeout=ROOM)
    results = page.locator(".rbf-run button.rb-opens")
    expect(results).to_have_count(4)
    results.last.click()
    expect(page.locator(".rbf-run video").first).to_be_visible()

    pictures(laptop, "laptop-form", ".rbf", 2000)


def test_a_studio_on_a_laptop(laptop: OpenNotebook) -> None:
    """Three runs in the gallery, one of them large, and those of before."""
    page = laptop.page
    laptop.run_cell(1)
    expect(page.locator(".rbs-model")).to_be_visible(timeout=ROOM)
    studio = page.locator(".jp-Cell").nth(1)
    for number, seed in enumerate((7, 8), 1):
        studio.locator("[data-field=seed] input[type=text]").first.fill(str(seed))
        expect(studio.locator(RUN)).to_be_enabled()
        studio.locator(RUN).click()
        expect(studio.locator(".rbf-run-state")).to_contain_text(re.compile("completed|from library"), timeout=ROOM)
        expect(studio.locator(".rbf-run-cell")).to_have_count(number)
    expect(studio.locator(".rbs-card").nth(2)).to_be_visible()
    studio.locator(".rbs-card").first.click()
    expect(studio.locator(".rbs-large video")).to_be_visible()

    pictures(laptop, "laptop-studio", ".rbs", 2400)


def cell(page: Page, name: str) -> Locator:
    """The output of one of the other cells."""
    return page.locator(".jp-Cell").nth(2 + list(OTHERS).index(name)).locator(".jp-Cell-outputWrapper")


def test_a_day_with_a_sweep_on_a_laptop(laptop: OpenNotebook) -> None:
    """The panel, the table, the sheet, the library and one figure among many, one after the other."""
    page = laptop.page
    for number in range(len(OTHERS)):
        laptop.run_cell(2 + number)
    expect(cell(page, "figure").locator("figure")).to_have_count(1, timeout=ROOM)
    widths = cell(page, "table").locator("th button").evaluate_all("heads => heads.map(head => head.offsetWidth)")
    assert widths
    assert min(widths) > 20, "JupyterLab lays tables out by its own rule, which must not close columns"

    for theme in THEMES:
        laptop.use_theme(f"JupyterLab {theme}")
        for width, height in (LAPTOP, PHONE):
            laptop.resize(width, height)
            assert overflow(page) <= 0
            for name in OTHERS:
                if not IS_PICTURED:
                    break
                cell(page, name).evaluate("one => one.scrollIntoView({block: 'start'})")
                page.wait_for_timeout(100)
                shot(page, f"laptop-{name}-{width}-{theme.lower()}")
        laptop.resize(*LAPTOP)
    laptop.use_theme("JupyterLab Light")


def test_every_poster_plays(laptop: OpenNotebook) -> None:
    """Of a sweep with what it took from the library, of a library and of a figure: the original, large."""
    page = laptop.page
    posters = cell(page, "sweep").get_by_role("button", name=re.compile("^Play "))
    expect(posters).to_have_text([""] * 8)
    labels = [one.get_attribute("aria-label") for one in posters.all()]
    sizes = {}
    for name in ("sweep", "library", "figure"):
        cell(page, name).get_by_role("button", name=re.compile("^Play ")).first.click()
        video = cell(page, name).locator("video")
        expect(video).to_have_js_property("readyState", 4, timeout=ROOM)
        shot(page, f"laptop-{name}-open")
        sizes[name] = video.evaluate("one => [one.videoWidth, one.src.slice(0, 5)]")
    cell(page, "sweep").get_by_role("button", name="Close").click()

    assert labels == [f"Play seed {seed}" for seed in range(2, 10)]
    assert set(map(tuple, sizes.values())) == {(854, "blob:")}
    expect(cell(page, "sweep").locator("video")).to_have_count(0)
    assert laptop.complaints == []
