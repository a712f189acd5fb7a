"""A sweep in a real JupyterLab: its panel keeps up, its buttons act, and what is saved needs neither kernel nor widget."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.lab import Lab, OpenNotebook
from tests.browser.looks import IS_PICTURED, contrast, shot

pytestmark = pytest.mark.browser

PLAN = """\
import reelbook as rb
client = rb.connect(library={library!r})
plan = rb.sweep(rb.TextToVideo(prompt="a paper boat <b>at sea</b>", num_frames=25, resolution="480p"), seed=range(14))"""
START = """\
job = plan.start(concurrency=1, order="as given")
job"""
BUTTONS = "[role=group][aria-label=sweep] button"

# Before the others, which have the page of notebooks for themselves from then on.
LONG = """\
import reelbook as rb
client = rb.connect(library={library!r})
plan = rb.sweep(rb.TextToVideo(prompt="a paper boat", num_frames=1441, resolution="480p"), seed=range(9))
job = plan.start(budget=plan.credits, concurrency=9)
job"""


def test_what_queues_is_cancelled_from_the_panel_and_a_restart_is_said(
    lab: Lab, chromium: Browser, tmp_path: Path
) -> None:
    """The button says what comes back; after a restart the buttons are gone, and the panel says how to go on."""
    book = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
    first = LONG.format(library=str(tmp_path / "library"))
    book.cells = [nbformat.v4.new_code_cell(text) for text in (first, first.replace("range(9)", "range(20, 29)"))]  # type: ignore[no-untyped-call]
    book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = lab.root / "cancelled.ipynb"
    nbformat.write(book, path)  # type: ignore[no-untyped-call]
    with OpenNotebook(lab, chromium, path, height=900) as notebook:
        page = notebook.open().page
        buttons, stands = page.locator(BUTTONS), page.locator(".rb:has([role=progressbar])")
        notebook.command("notebook:run-cell-and-select-next")
        expect(stands).to_contain_text("running", timeout=60_000)
        expect(stands).to_contain_text("waiting")
        buttons.nth(1).click()
        expect(buttons).to_have_text([re.compile(r"Cancel \d+ queued · [\d,]+ credits back")], timeout=30_000)
        wanted = buttons.inner_text()
        shot(page, "panel-queued")
        buttons.click()
        said = page.locator("[role=group][aria-label=sweep] [role=status]")
        expect(said).to_contain_text("credits come back", timeout=30_000)
        became = said.inner_text()
        shot(page, "panel-queue-cancelled")

        notebook.command("notebook:run-cell-and-select-next")
        expect(buttons).to_have_text(["Pause", "Cancel"], timeout=60_000)
        expect(stands.last).to_contain_text("waiting", timeout=60_000)
        page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
        expect(said.last).to_contain_text("Run its cells again to go on", timeout=60_000)
        for theme in ("Light", "Dark") if IS_PICTURED else ():
            notebook.use_theme(f"JupyterLab {theme}")
            shot(page, f"panel-restarted-{theme.lower()}")
        notebook.resize(480, 900)
        shot(page, "panel-restarted-narrow")

        count, back = re.fullmatch(r"Cancel (\d+) queued · ([\d,]+) credits back", wanted).groups()  # type: ignore[union-attr]
        assert became.startswith(f"{count} runs are cancelled, {back} credits come back.")
        assert buttons.count() == 0
        assert "If the kernel has ended since" in stands.last.inner_text()
        # Lab itself complains of the comms of the kernel that is gone.
        assert [one for one in notebook.complaints if not one.startswith("Comm not found")] == []


@pytest.fixture(scope="module")
def sweeping(lab: Lab, chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenNotebook]:
    """A notebook whose last cell has started a sweep, which is still going on."""
    library = str(tmp_path_factory.mktemp("panel") / "library")
    book = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
    book.cells = [
        nbformat.v4.new_code_cell(text)  # type: ignore[no-untyped-call]
        for text in (PLAN.format(library=library), "plan", START, "job.wait(120).status.value_counts()")
    ]
    book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = lab.root / "panel.ipynb"
    nbformat.write(book, path)  # type: ignore[no-untyped-call]
    with OpenNotebook(lab, chromium, path, height=1400) as notebook:
        notebook.open()
        for _ in range(3):
            notebook.command("notebook:run-cell-and-select-next")
        yield notebook


def panel(page: Page) -> str:
    """The words of the panel."""
    return page.locator(".rb:has([role=progressbar])").inner_text()


def test_a_sweep_is_watched_paused_and_cancelled_from_its_cell(sweeping: OpenNotebook) -> None:
    """Buttons act while the kernel is free for other cells; what is left in the saved notebook is the panel alone."""
    page = sweeping.page
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
    sweeping.use_theme("JupyterLab Dark")
    shot(page, "panel-dark")
    dark = min(contrast(page.locator(where).first) for where in (".rb:has([role=progressbar]) b", BUTTONS, ".rb span"))
    sweeping.use_theme("JupyterLab Light")
    light = min(contrast(page.locator(where).first) for where in (".rb:has([role=progressbar]) b", BUTTONS, ".rb span"))
    sweeping.resize(400, 1400)
    shot(page, "panel-narrow")
    beyond = page.locator(".rb:has([role=progressbar])").evaluate(
        "box => Math.max(...[...box.querySelectorAll('*')].map(e => e.getBoundingClientRect().right)) - box.getBoundingClientRect().right"
    )
    sweeping.resize(1200, 1400)
    buttons.nth(0).click()
    expect(buttons).to_have_text(["Pause", "Cancel"], timeout=30_000)
    buttons.nth(1).press("Enter")
    expect(buttons).to_have_count(0, timeout=30_000)
    page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex = 3")
    sweeping.command("notebook:run-cell")
    expect(page.locator(".jp-OutputArea-output").last).to_contain_text("not started", timeout=30_000)
    shot(page, "panel-done")
    sweeping.save()

    assert "paused" in paused
    assert min(dark, light) >= 4.5
    assert beyond <= 0.5
    assert "Stopped: The sweep was cancelled. Run the plan again" in panel(page)
    assert sweeping.cell_errors() == []
    assert sweeping.complaints == []


def test_what_is_saved_needs_no_widget(sweeping: OpenNotebook) -> None:
    """The notebook on disk has the last state of the panel with its pictures, and no view of a widget that is gone."""
    saved = nbformat.read(sweeping.path, as_version=4)  # type: ignore[no-untyped-call]
    outputs = [output for cell in saved.cells for output in cell.outputs]

    nbformat.validate(saved)
    text = json.dumps(outputs)
    assert "vnd.jupyter.widget-view" not in text
    assert "of 14" in text
    assert "data:image/jpeg" in text
    assert len(Path(sweeping.path).read_bytes()) < 300_000
