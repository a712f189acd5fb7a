"""The panel of a race in a real JupyterLab: live while it runs, and a card that stays in the saved notebook."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, expect

from tests.browser.lab import Lab, OpenNotebook
from tests.browser.looks import IS_PICTURED, shot

pytestmark = [pytest.mark.browser, pytest.mark.deep]

BEGIN = """\
import reelbook as rb
client = rb.connect(library={library!r})
boat = rb.TextToVideo(prompt="a paper boat on a rainy street", num_frames=25, resolution="480p", aspect_ratio="1:1")
plan = rb.sweep(boat, seed=range(4), temporal_adain_factor=[0.0, 0.5, 1.0], tone_map_compression_ratio=[0.0, 0.5, 1.0])
race = plan.race(by={{"sharpness": 1, "temporal_flickering": -1}}, budget=0.5)
race"""


def test_a_race_is_followed_in_its_cell_and_stays_there(lab: Lab, chromium: Browser, tmp_path: Path) -> None:
    """The notebook stays free; the end says whether it is decided, what was saved, and what it assumes."""
    book = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
    texts = (BEGIN.format(library=str(tmp_path / "library")), "race.wait(); race.ranking().head(3)", "race.panel")
    book.cells = [nbformat.v4.new_code_cell(text) for text in texts]  # type: ignore[no-untyped-call]
    book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = lab.root / "race.ipynb"
    nbformat.write(book, path)  # type: ignore[no-untyped-call]
    with OpenNotebook(lab, chromium, path, height=1100) as notebook:
        page = notebook.open().page
        notebook.run_cell(0)
        cards = page.locator(".rb-race")
        expect(cards.first).to_contain_text("Round", timeout=60_000)
        button = page.locator("[role=group][aria-label=race] button")
        expect(button).to_have_text(["Cancel"])
        expect(cards.first).to_contain_text("So far", timeout=60_000)
        shot(page, "race-running")
        notebook.run_cell(1)
        expect(cards.first).to_contain_text("ecided", timeout=120_000)
        expect(button).to_have_count(0)
        notebook.run_cell(2)
        notebook.save()
        for theme in ("Light", "Dark") if IS_PICTURED else ("Light",):
            notebook.use_theme(f"JupyterLab {theme}")
            shot(page, f"race-{theme.lower()}")
        notebook.resize(320, 1100)
        shot(page, "race-narrow")
        overflow = cards.first.evaluate("card => card.scrollWidth - card.clientWidth")

        assert overflow <= 0
        assert notebook.cell_errors() == []
        assert notebook.complaints == []
    saved = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    html = "".join(output.get("data", {}).get("text/html", "") for output in saved.cells[0].outputs)
    assert "chance to be best" in html
    assert "How this is computed" in html
    assert "If the kernel has ended" not in html
