"""The screenshots in the README and the guides, taken in a real JupyterLab.

python -m tests.tools.screenshots FOLDER
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import nbformat
from playwright.sync_api import Browser, sync_playwright

from tests.browser.conftest import FLAGS, chromium_path
from tests.browser.lab import Lab, OpenNotebook

VIDEO = """\
import reelbook as rb

boat = rb.TextToVideo(prompt="a paper boat on a rainy street", num_frames=49, seed=7)
run = rb.run(boat)"""
RUNS = """\
import reelbook as rb

for prompt in ("a village by a river at dawn", "a red kite over the dunes", "a lighthouse in a storm"):
    rb.run(rb.TextToVideo(prompt=prompt, num_frames=25, seed=3))
balloons = rb.TextToVideo(prompt="hot air balloons over the desert at golden hour", num_frames=25, seed=7)"""
STUDIO = "rb.studio(balloons)"
REPORT = """\
import reelbook as rb

boat = rb.TextToVideo(prompt="a paper boat on a calm lake at sunset", resolution="480p")
table = rb.sweep(boat, seed=range(2), num_frames=[25, 49, 73]).run(budget=318)
table.reel.report("boats.html", title="Paper boats")"""
IS_LOADED = "() => [...document.querySelectorAll('video')].every(video => video.readyState === 4)"
SPINNER_MILLISECONDS = 1_500
"""How long Chromium still shows that a clip is loading once it has loaded."""


def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright, Lab(Path(scratch)) as lab:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)

        with _opened(lab, browser, "boat.ipynb", [VIDEO], 1200, 700) as notebook:
            notebook.run_all()
            notebook.page.locator(".jp-OutputArea video").wait_for()
            notebook.page.wait_for_function(IS_LOADED)
            notebook.page.wait_for_timeout(SPINNER_MILLISECONDS)
            notebook.page.screenshot(path=folder / "first-video.jpg", type="jpeg", quality=85)

        with _opened(lab, browser, "studio.ipynb", [RUNS, STUDIO], 1200, 2600) as notebook:
            notebook.run_all()
            studio = notebook.page.locator(".jp-Cell").nth(1)
            studio.get_by_role("button", name="Run · 53 credits").click()
            studio.locator("video").wait_for()
            notebook.page.wait_for_function(IS_LOADED)
            notebook.page.wait_for_timeout(SPINNER_MILLISECONDS)
            studio.screenshot(path=folder / "studio.jpg", type="jpeg", quality=80)

        with _opened(lab, browser, "report.ipynb", [REPORT], 1200, 900) as notebook:
            notebook.run_all()
        page = browser.new_page(viewport={"width": 1000, "height": 1290})
        page.goto((lab.root / "boats.html").as_uri())
        page.wait_for_function("() => [...document.images].every(image => image.complete)")
        page.screenshot(path=folder / "report.jpg", type="jpeg", quality=80)


def _opened(lab: Lab, browser: Browser, name: str, cells: list[str], width: int, height: int) -> OpenNotebook:
    notebook = nbformat.v4.new_notebook(  # type: ignore[no-untyped-call]
        cells=[nbformat.v4.new_code_cell(source) for source in cells],  # type: ignore[no-untyped-call]
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    )
    nbformat.write(notebook, lab.root / name)  # type: ignore[no-untyped-call]
    return OpenNotebook(lab, browser, lab.root / name, width=width, height=height, sort="own").open()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
