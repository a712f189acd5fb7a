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
from tests.browser.looks import contrast, shot

pytestmark = pytest.mark.browser

PLAN = """\
import reelbook as rb
client = rb.connect(library={library!r})
plan = rb.sweep(rb.TextToVideo(prompt="a paper boat <b>at sea</b>", num_frames=49, resolution="480p"), seed=range(14))"""
START = """\
job = plan.start(concurrency=2, order="as given")
job"""
BUTTONS = "[role=group][aria-label=sweep] button"
HELD = 3
"""So many clips are made before the pause."""


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
