"""One notebook with everything that a cell can end with, run once in a real JupyterLab; and what is left of it in each place."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import Browser, Page, expect

from tests.browser.lab import Lab, OpenNotebook, write_notebook
from tests.support import examples

TALL = 16_000
SETTLE_SECONDS = 30
"""So high that Lab draws every cell: it leaves out what is far from being seen."""

PROMPT = "a paper boat on a calm lake at sunset"
RUNS = examples(4, 24)
"""How many the sweep has; its size on disk is measured with all of them by `make deep`, and with a few otherwise."""
SETUP = """\
import pathlib, warnings
import reelbook as rb
from reelbook.media.local_file import LocalFile
from reelbook.models.base import File
client = rb.connect(library={library!r})
boat = rb.TextToVideo(prompt={prompt!r}, num_frames=9, resolution="480p", seed=7)"""
SWEEP = f"plan = rb.sweep(boat.revised(seed=None), seed=range({RUNS // 2}), num_frames=[9, 10])"

CELLS: Mapping[str, str] = {
    "setup": SETUP,
    "run": "run = rb.run(boat)",
    "video": "run.video",
    "picture": """\
run.video.still(0.5).save("still.png")
LocalFile(pathlib.Path("still.png").resolve(), File(url="http://127.0.0.1/still.png"))""",
    "failed": """\
lost = rb.start(rb.ImageToVideo(prompt="a boat", image_url="http://127.0.0.1:9/none.png"))
try:
    lost.wait(60)
except rb.ReelbookError:
    pass
lost""",
    "plan": f"{SWEEP}\nplan",
    "sweep": "table = plan.run()",
    "table": "table.reel",
    "selected": "list(table.reel.selected.index)",
    "panel": "job = plan.start()\njob.wait(60)\njob",
    "library": "rb.library()",
    "sheet": "table.reel.sheet()",
    "report": 'table.reel.report("survival.html")',
    "costs": 'table.reel.cost("num_frames")',
    "plot": 'table.reel.plot("num_frames", "credits", color="seed")',
    "grid": 'table.reel.grid(rows="seed", cols="num_frames")',
    "explore": "table.reel.explore()",
    "compare": "table.reel.compare(0, 1)",
    "explorer": "run.video.explore()",
    "client": "client",
    "estimate": "rb.estimate(boat)",
    "provenance": "run.video.provenance",
    "input": "boat",
    "answer": "run.output",
    "uncertain": "rb.library().uncertain",
    "options": "rb.options",
}  # fmt: skip

EXPECTED: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "run": (1, (PROMPT, "seed 7", "9 frames at 24/s", "53 credits")),
    "video": (1, (PROMPT, "seed 7", "9 frames at 24/s", "53 credits")),
    "picture": (1, ("kB",)),
    "failed": (0, ("failed", "could not be", "none.png")),
    "plan": (0, (f"{RUNS} runs", "num_frames", "9, 10", "credits")),
    "sweep": (1, (f"{RUNS} of {RUNS}", f"{RUNS} completed")),
    "table": (min(RUNS, 12), (f"{RUNS} runs", f"{RUNS} completed", "num_frames", "10", "53")),
    "panel": (0, (f"{RUNS} of {RUNS}",)),
    "library": (3, ("runs", "credits", "seed")),
    "sheet": (1, ()),
    "plot": (1, ("credits by num_frames", f"{RUNS} runs")),
    "grid": (RUNS, (f"{RUNS} runs", "seed × num_frames", "9 frames", "10 frames", "seed 0", "seed 1", "run 0 · 53 credits")),
    "explore": (1, (f"{RUNS} runs", "seed", "9", "run 0", "53 credits")),
    "compare": (1, ("num_frames 9", "num_frames 10", "A and B: mean absolute difference", "SSIM")),
    "explorer": (1, (PROMPT, "seed 7", "9 frames at 24/s", "53 credits")),
}  # fmt: skip
"""How many pictures a reader must find there at least, and which words, whatever else is lost."""
PLAYERS = ("run", "video")

# What is there to see of the outputs of each cell: words, pictures that have arrived and have a size, and players.
LOOK = """async () => {
  const cells = [...document.querySelectorAll('.jp-CodeCell')];
  const seen = element => { const box = element.getBoundingClientRect(); return box.width > 8 && box.height > 8; };
  const arrived = image => image.complete ? null : new Promise(done => { image.onload = image.onerror = done; setTimeout(done, 3000); });
  await Promise.all([...document.querySelectorAll('.jp-CodeCell img')].map(arrived));
  return Promise.all(cells.map(async cell => {
    const area = cell.querySelector('.jp-OutputArea');
    if (!area) return {text: '', pictures: 0, broken: 0, players: []};
    const pictures = [...area.querySelectorAll('img')];
    const players = await Promise.all([...area.querySelectorAll('video')].map(async video => {
      const poster = Object.assign(new Image(), {src: video.poster});
      const hasPoster = await poster.decode().then(() => poster.naturalWidth > 0, () => false);
      return {poster: hasPoster, width: video.getBoundingClientRect().width};
    }));
    return {
      text: area.innerText, pictures: pictures.filter(one => one.naturalWidth > 0 && seen(one)).length
        + [...area.querySelectorAll('svg.rb-drawing, canvas')].filter(seen).length,
      broken: pictures.filter(one => one.complete && !one.naturalWidth).length, players,
    };
  }));
}"""


ABSENT = ".rb-viewer .rb-notes:visible, .rb-compare-words"
"""Where viewers say that nobody brings their clips."""
VIEWERS = 3
"""How many of them say so in words: two grids and a comparison."""


def settle(page: Page) -> None:
    """Look at each viewer of clips, which asks for them when it is seen, until all say that there are none.

    On a busy machine Lab draws outputs anew for a while, and what is new has not been seen; so they are looked at again.
    """
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        for viewer in page.locator(".rb-viewer, [data-rb-compare]").all():
            viewer.scroll_into_view_if_needed()
            expect(viewer).to_have_attribute("data-absent", "")
        said = [words for words in page.locator(ABSENT).all_inner_texts() if "Run the cell again" in words]
        if (len(said) == VIEWERS and page.locator(DEAD).count() == 0) or time.monotonic() > deadline:
            break
    assert len(said) == VIEWERS, said
    expect(page.locator(DEAD)).to_have_count(0)


@dataclass(frozen=True)
class Seen:
    """What there is to see of the outputs of one cell."""

    text: str
    pictures: int
    broken: int
    players: list[dict[str, Any]]

    def lacks(self, name: str) -> list[str]:
        """What a reader misses of the words that must be there."""
        flat = " ".join(self.text.split())
        return [words for words in EXPECTED[name][1] if words not in flat]


View = Mapping[str, Seen]


def look(page: Page) -> View:
    """What there is to see, by the names of the cells."""
    # Lab draws the last cells when it has nothing else to do.
    page.wait_for_function("count => document.querySelectorAll('.jp-CodeCell').length >= count", arg=len(CELLS))
    found = page.evaluate(LOOK)
    return {name: Seen(**one) for name, one in zip(CELLS, found, strict=True)}


@dataclass(frozen=True)
class Executed:
    """The notebook after its run: on disk, and as it was seen while its kernel lived."""

    path: Path
    live: View
    complaints: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def report(self) -> Path:
        """The page that one of its cells has written."""
        return self.path.with_name("survival.html")

    @property
    def notebook(self) -> Any:
        """What is saved."""
        return nbformat.read(self.path, as_version=4)  # type: ignore[no-untyped-call]

    def outputs(self, name: str) -> list[Any]:
        """The saved outputs of a cell that are no streams."""
        cell = self.notebook.cells[list(CELLS).index(name)]
        return [output for output in cell.outputs if output.output_type in ("display_data", "execute_result")]

    @property
    def pages(self) -> list[str]:
        """What each cell shows, as HTML."""
        pages = [output.data.get("text/html") for name in CELLS for output in self.outputs(name)]
        return [html for html in pages if html]


DEAD = "[data-rb-do]:visible, .rb-explorer :is(button, input, select):visible"
"""Buttons of clips that nobody can play: none may be there without a kernel."""


def check(view: View, *, players: bool) -> None:
    """Every row has its words and pictures; nothing is broken; players are there or are not missed."""
    lacking = {name: lacks for name in EXPECTED if (lacks := view[name].lacks(name))}
    too_few = {name: view[name].pictures for name, (least, _) in EXPECTED.items() if view[name].pictures < least}
    broken = {name: view[name].broken for name in EXPECTED if view[name].broken}
    assert lacking == {}, lacking
    assert too_few == {}
    assert broken == {}
    if players:
        assert all(one["poster"] and one["width"] > 200 for name in PLAYERS for one in view[name].players)
        assert [len(view[name].players) for name in PLAYERS] == [1, 1]


_live: dict[Path, OpenNotebook] = {}
_executed: dict[Path, Executed] = {}


def executed(lab: Lab, chromium: Browser) -> Executed:
    """The notebook, run and saved when it is first asked for, and shared by all tests of the session."""
    if lab.root not in _executed:
        _executed[lab.root] = _run(lab, chromium, lab.root / "survival-live.ipynb")
    return _executed[lab.root]


@contextmanager
def live(lab: Lab, chromium: Browser) -> Iterator[OpenNotebook]:
    """The notebook as it stands on the screen after its run, with its kernel; once, for then its page goes to the next."""
    executed(lab, chromium)
    with _live.pop(lab.root) as notebook:
        yield notebook


def _run(lab: Lab, chromium: Browser, path: Path) -> Executed:
    sources = [
        text.replace("{library!r}", repr(str(lab.root / "library"))).replace("{prompt!r}", repr(PROMPT))
        for text in CELLS.values()
    ]
    notebook = _live[lab.root] = OpenNotebook(lab, chromium, write_notebook(path, *sources))
    notebook.open()
    notebook.run_all(within=100)
    # Only now: a high page would be painted with every step of what goes on in it.
    notebook.resize(1200, TALL)
    live = look(notebook.page)
    notebook.save()
    # The live one is worked with later on, and Lab saves it whenever it wants to.
    saved = path.with_name("survival.ipynb")
    saved.write_bytes(path.read_bytes())
    return Executed(saved, live, list(notebook.complaints), notebook.cell_errors())


def received(executed: Executed, lab: Lab) -> Path:
    """The notebook as somebody gets it by mail: no trust, and no kernel of that name."""
    saved = executed.notebook
    saved.metadata.kernelspec = {"name": "elsewhere", "display_name": "Elsewhere", "language": "elsewhere"}
    saved.metadata.language_info = {"name": "elsewhere"}
    path = lab.root / "survival-received.ipynb"
    nbformat.write(saved, path)  # type: ignore[no-untyped-call]
    return path


@cache
def _converted(path: Path) -> str:
    from nbconvert import HTMLExporter

    return str(HTMLExporter().from_filename(str(path))[0])  # type: ignore[no-untyped-call]


def as_page(executed: Executed, folder: Path, *, policy: str = "") -> Path:
    """The notebook as nbconvert writes it; with a policy, as a strict site serves it."""
    html = _converted(executed.path)
    if policy:
        html = re.sub("<head>", f'<head><meta http-equiv="Content-Security-Policy" content="{policy}">', html, count=1)
    path = folder / f"notebook-{len(list(folder.iterdir()))}.html"
    path.write_text(html, encoding="utf-8")
    return path


def empty_page() -> str:
    """What nbconvert writes for a notebook without cells: the addresses in it are nbconvert's own."""
    from nbconvert import HTMLExporter

    empty = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
    return str(HTMLExporter().from_notebook_node(empty)[0])  # type: ignore[no-untyped-call]
