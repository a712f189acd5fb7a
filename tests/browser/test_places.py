"""The same displays in other places: below a hub's prefix, in Notebook 7, in Voilà, and in marimo."""

from __future__ import annotations

import os
import shutil
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from textwrap import indent

import pytest
from playwright.sync_api import Browser, Error, Locator, Page, expect

from tests.browser.lab import PRIVATE, Lab, OpenNotebook, free_port, started, write_notebook
from tests.browser.looks import playback, shot
from tests.kernels.environments import environment

# Deep: each place is an environment of its own, and as slow to start as JupyterLab.
pytestmark = [pytest.mark.browser, pytest.mark.deep]

START = """\
import reelbook as rb
client = rb.connect(library="library")
boat = rb.TextToVideo(prompt="a paper boat", num_frames=9, resolution="480p", seed=7)
run = rb.run(boat)
table = rb.sweep(boat, seed=[1, 2]).run()"""
DISPLAYS = {
    "clip": "run.video",
    "table": "table.reel",
    "grid": 'table.reel.grid(rows="seed")',
    "comparison": "rb.compare(run, run)",
    "form": "form = rb.form(boat.revised(seed=8))\nform",
    "job": "job = rb.sweep(boat, seed=[3, 4, 5]).start()\njob",
    "run": "rb.start(boat.revised(num_frames=121, seed=21))",
}
ROOTS = {
    "clip": "[data-rb-figure]",
    "table": "[data-rb-table]",
    "grid": "[data-rb-viewer]",
    "comparison": "[data-rb-compare]",
    "form": ".rbf",
    "job": ".rb:has([role=progressbar])",
    "run": "figure:has-text('121 frames')",
}
WAIT_MS = 60_000
PREFIX = "/user/ana"
"""As JupyterHub gives each person one."""


class HubLab(Lab):
    """A JupyterLab below a prefix."""

    prefix = PREFIX


class Notebook7(HubLab):
    """A Notebook 7 below a prefix."""

    doc = "notebooks"
    app = ("notebook", "JupyterNotebookApp")

    def _environment(self) -> dict[str, str]:
        application = self._home / "application"
        if not application.exists():
            # Jupyter reads the schemas of settings from one folder only: those of JupyterLab and those of Notebook.
            added = environment("notebook")
            for folder in (Path(sys.prefix), *([added] if added else [])):
                shutil.copytree(
                    folder / "share" / "jupyter" / "lab" / "schemas", application / "schemas", dirs_exist_ok=True
                )
            for name in ("static", "themes"):
                (application / name).symlink_to(Path(sys.prefix) / "share" / "jupyter" / "lab" / name)
        return {**super()._environment(), **with_packages("notebook"), "JUPYTERLAB_DIR": str(application)}


def with_packages(name: str) -> dict[str, str]:
    """The variables with which this Python finds the packages of a list, and Jupyter what they bring along."""
    folder = environment(name)
    if folder is None:
        return {}
    share, settings = folder / "share" / "jupyter", folder / "etc" / "jupyter"
    return {"PYTHONPATH": str(folder), "JUPYTER_PATH": str(share), "JUPYTER_CONFIG_PATH": str(settings)}


@contextmanager
def served(name: str, home: Path, *command: str) -> Iterator[str]:
    """The address of a server of one notebook below the prefix; `command` is what Python runs, without its port."""
    port = free_port()
    address = f"http://127.0.0.1:{port}{PREFIX}/"

    def answers() -> bool:
        """Whether anything does, be it a refusal."""
        try:
            with urllib.request.urlopen(f"{address}static/", timeout=5):
                return True
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False

    kept = {key: value for key, value in os.environ.items() if key not in PRIVATE}
    own = {"HOME": str(home), "IPYTHONDIR": str(home / "ipython"), "JUPYTER_RUNTIME_DIR": str(home / "runtime")}
    variables = {**kept, **own, **with_packages(name), "JUPYTER_PREFER_ENV_PATH": "1"}
    with started([sys.executable, *command, f"--port={port}"], variables, home / "server.log", answers):
        yield address


Find = Callable[[str], Locator]
"""Finds a display by its name, wherever the place has put it."""


@contextmanager
def watched(page: Page) -> Iterator[None]:
    """Nothing may be asked for outside the prefix, nothing be missing, and no script of ours fail."""
    outside: list[str] = []
    # Voilà's own page has its icons from elsewhere.
    page.route("https://**", lambda route: route.abort())
    page.on("request", lambda request: outside.append(request.url) if is_outside(request.url) else None)
    page.on(
        "response",
        lambda response: outside.append(f"{response.status} {response.url}") if response.status >= 400 else None,
    )
    page.on("pageerror", lambda error: outside.append(f"uncaught: {error}") if is_ours(error) else None)
    yield
    assert outside == []


def is_ours(error: Error) -> bool:
    """Whether it comes from a script in an output and not from the place's own, of which Notebook 7 has some that fail."""
    return "/static/" not in (error.stack or "")


def is_outside(url: str) -> bool:
    return url.startswith("http://") and PREFIX not in url


def find_on(page: Page, name: str) -> Locator:
    """A display that is in the page itself; the last panel is that of the job."""
    found = page.locator(ROOTS[name])
    return found.last if name == "job" else found.first


def has_played(video: Locator) -> bool:
    return float(playback(video)["advanced"]) > 0


def check_displays(find: Find) -> None:
    """Clip, table, grid and comparison play the originals, a form runs, a sweep's panel reaches its end, and a run its clip."""
    expect(find("job").get_by_text("3 of 3")).to_be_visible(timeout=WAIT_MS)

    assert has_played(find("clip").locator("video").first)

    find("table").locator("button.rb-poster").first.click()
    opened = find("table").locator(".rb-open video")
    expect(opened).to_be_visible(timeout=WAIT_MS)
    assert opened.evaluate("video => video.currentSrc").startswith("blob:")

    for name in ("grid", "comparison"):
        # Only what has a connection to the kernel has one.
        expect(find(name).locator("[data-rb-do=play]").first).to_be_visible(timeout=WAIT_MS)

    find("form").locator(".rbf-foot .rbf-primary").click()
    made = find("form").locator(".rbf-run video")
    expect(made).to_be_visible(timeout=WAIT_MS)
    assert has_played(made)

    # Its cell has not waited for it, and places such as marimo change no output of a cell that has ended.
    later = find("run").locator("video").first
    expect(later).to_be_visible(timeout=WAIT_MS)
    assert has_played(later)


def write_marimo(path: Path) -> Path:
    """The same as a notebook of marimo, whose cells are functions; the form is wrapped as marimo's own elements are."""
    cells = [START, *DISPLAYS.values(), "studio = rb.studio(boat)\nstudio"]
    cells[5] = "import marimo as mo\nform = mo.ui.anywidget(rb.form(boat.revised(seed=8)))\nform"
    needs = ("", "run", "table", "table", "rb, run", *["rb, boat"] * 4)
    parts = ["import marimo\napp = marimo.App()"]
    for place, (code, need) in enumerate(zip(cells, needs, strict=True)):
        body = indent(code if place else f"{code}\nreturn rb, boat, run, table", "    ")
        parts.append(f"@app.cell\ndef _({need}):\n{body}")
    path.write_text("\n\n".join(parts), encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", [Notebook7, HubLab])
def test_displays_work_below_the_prefix_of_a_hub(kind: type[Lab], chromium: Browser, tmp_path: Path) -> None:
    """In Notebook 7 and in JupyterLab, with every address below `/user/ana`."""
    with kind(tmp_path) as server:
        path = server.write("places", START, *DISPLAYS.values())
        with OpenNotebook(server, chromium, path, height=4000, sort="own") as notebook, watched(notebook.page):
            notebook.open().run_all()
            page = notebook.page
            check_displays(partial(find_on, page))
            shot(page, f"place-{kind.__name__}")
            assert notebook.cell_errors() == []


def test_displays_work_in_voila(chromium: Browser, tmp_path: Path) -> None:
    """A dashboard: nobody runs a cell there, and what is displayed works all the same, also what ends after the notebook has."""
    path = write_notebook(tmp_path / "places.ipynb", START, *DISPLAYS.values())
    command = ("-m", "voila", "--no-browser", f"--base_url={PREFIX}/", str(path))
    with served("notebook", tmp_path, *command) as address, opened_page(chromium) as page, watched(page):
        page.goto(address)
        check_displays(partial(find_on, page))
        shot(page, "place-voila")


def test_displays_work_in_marimo(chromium: Browser, tmp_path: Path) -> None:
    """Displays with scripts are in frames, whose clips the kernel sends; forms and panels are anywidgets."""
    path = write_marimo(tmp_path / "places.py")
    command = ("-m", "marimo", "-q", "run", "--headless", "--no-token", f"--base-url={PREFIX}", "--host=127.0.0.1", str(path))  # fmt: skip
    frames = ("clip", "table", "grid", "comparison")
    with served("marimo", tmp_path, *command) as address, opened_page(chromium) as page, watched(page):
        page.emulate_media(color_scheme="dark")  # marimo has a theme of its own, whatever the system's is.
        page.goto(address)

        def find(name: str) -> Locator:
            place = page.frame_locator("iframe").nth(frames.index(name)) if name in frames else page
            return place.locator(ROOTS[name]).first

        check_displays(find)
        # A studio says what works in its place.
        expect(page.get_by_text("of which a studio consists")).to_be_visible(timeout=WAIT_MS)
        shot(page, "place-marimo")
        for name in (*frames, "form", "job"):
            expect(find(name)).to_have_css("color", "rgb(31, 35, 40)")
        page.evaluate("document.body.className = 'dark dark-theme'")
        for name in frames:
            expect(find(name)).to_have_css("color", "rgb(230, 237, 243)")


@contextmanager
def opened_page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1200, "height": 4000})
    page.set_default_timeout(WAIT_MS)
    yield page
    page.close()
