"""Every notebook in notebooks/: well-formed, free of outputs, and runs from top to bottom."""

from __future__ import annotations

import ast
import asyncio
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import cast

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager
from nbclient import NotebookClient
from nbformat import NotebookNode
from playwright.sync_api import Browser, sync_playwright

import reelbook
from tests.browser.conftest import FLAGS, chromium_path
from tests.clips import film
from tests.demo import FRAMES, run_demo
from tests.notebooks.saved_pages import convert, sample
from tests.support import examples

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
FIRST = ROOT / "notebooks" / "01-first-video.ipynb"
INDEX = ROOT / "notebooks" / "00-index.ipynb"
LESSONS = [path for path in NOTEBOOKS if path != INDEX]
OFTEN = ("01-first-video", "03-sweeps-under-a-budget", "11-a-class-on-one-key")
EXECUTED = [path for path in NOTEBOOKS if path.stem in OFTEN or examples(0, 1)]
"""What runs here; `make docs` runs every notebook, and `test_site.py` looks at all of them."""
MAX_WORDS = 1_500
"""What is read in ten minutes, code included."""
LARGEST = 1_000_000
LONG = "num_frames=[17, 25]"
SHORT = f"num_frames={[examples(9, 17), examples(10, 25)]}"
"""The longest clips of a sweep are shorter here, and as written with `make deep`."""

Run = Callable[[Path], NotebookNode]


# In one worker, so that no notebook runs twice.


def stored(path: Path) -> NotebookNode:
    notebook: NotebookNode = nbformat.read(path, as_version=nbformat.NO_CONVERT)  # type: ignore[no-untyped-call]
    return notebook


@pytest.fixture(scope="module")
def execute(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Runs notebooks, each in a kernel of this environment and in an empty folder of its own."""
    with pytest.MonkeyPatch.context() as patch, asyncio.Runner() as runner:
        patch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
        patch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        for name in ("REELBOOK_URL", "REELBOOK_API_KEY", "REELBOOK_LIBRARY"):
            patch.delenv(name, raising=False)

        def executed(path: Path) -> NotebookNode:
            notebook = stored(path)
            for cell in notebook.cells:
                cell.source = cell.source.replace(LONG, SHORT)
            client = NotebookClient(
                notebook, kernel_name="python3", timeout=90, resources={"metadata": {"path": str(tmp_path_factory.mktemp(path.stem))}},
                extra_arguments=["--log-level=40"],
            )  # fmt: skip
            runner.run(client.async_execute())
            return notebook

        yield executed


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs a notebook, each only once for all tests that look at it; the first one as `make demo` does."""

    @cache
    def once(path: Path) -> NotebookNode:
        if path == FIRST:
            return stored(run_demo(tmp_path_factory).notebook)
        return cast(Run, request.getfixturevalue("execute"))(path)

    return once


@pytest.fixture
def first(run: Run) -> NotebookNode:
    """The first notebook with its outputs."""
    return run(FIRST)


def plain_python(cell: str) -> str:
    """The code of a cell, with IPython's own spellings as calls."""
    manager = TransformerManager()  # type: ignore[no-untyped-call]
    return str(manager.transform_cell(cell))


def outputs(notebook: NotebookNode, kind: str) -> list[str]:
    """Every output of one MIME type, in order."""
    return [
        str(output.data[kind])
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if kind in output.get("data", {})
    ]


def test_there_are_notebooks() -> None:
    """The tests below are about something."""
    assert FIRST in NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
class TestStored:
    """Notebooks as they lie in the repository."""

    def test_it_is_well_formed(self, path: Path) -> None:
        """The file follows the notebook format, with an id for each cell, and asks for a plain Python kernel."""
        notebook = stored(path)

        nbformat.validate(notebook)
        assert (notebook.nbformat, notebook.nbformat_minor) >= (4, 5)
        assert notebook.metadata.kernelspec.name == "python3"

    def test_it_is_stored_without_outputs(self, path: Path) -> None:
        """No output, no count, no saved widget: what a reader sees comes from their own run."""
        notebook = stored(path)

        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert [cell.outputs for cell in cells] == [[]] * len(cells)
        assert {cell.execution_count for cell in cells} == {None}
        assert "widgets" not in notebook.metadata

    def test_it_defines_no_helpers(self, path: Path) -> None:
        """A notebook tells a story and calls the package; functions and classes belong there."""
        code = [cell.source for cell in stored(path).cells if cell.cell_type == "code"]

        nodes = [node for cell in code for node in ast.walk(ast.parse(plain_python(cell)))]
        assert nodes
        assert not [node for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]

    def test_it_begins_with_a_title_and_says_why(self, path: Path) -> None:
        """A reader learns first what the notebook is about."""
        opening = stored(path).cells[0]

        assert opening.cell_type == "markdown"
        assert re.match(r"# \w[^\n]+\n\n\w", opening.source)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_it_ends_with_something_to_try(path: Path) -> None:
    """Three questions, and as many answers, folded so that nobody reads them by accident; the whole is read in ten minutes."""
    cells = stored(path).cells
    last = cells[-1].source
    questions, _, answers = last.partition("<details><summary>Answers</summary>")

    assert last.startswith("## Try this\n")
    assert answers.rstrip().endswith("</details>")
    assert re.findall(r"^(\d)\. ", questions, re.M) == re.findall(r"^(\d)\. ", answers, re.M) == ["1", "2", "3"]
    assert sum(len(cell.source.split()) for cell in cells) <= MAX_WORDS


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_what_its_answers_call_is_there(path: Path) -> None:
    """Code in the answers is Python, and every public name in it exists."""
    codes = re.findall(r"`([^`]+)`", stored(path).cells[-1].source.partition("<details>")[2])

    names = [name for code in codes for name in re.findall(r"\brb\.(\w+)", code)]
    assert [name for name in names if not hasattr(reelbook, name)] == []
    for code in codes:
        if "(" in code:
            ast.parse(code)


def test_the_index_leads_to_every_notebook() -> None:
    """Each is in its table once, under its own title; and what it and the others link to is there."""
    rows = re.findall(r"^\| (\d\d) \| \[([^]]+)\]\(([^)]+)\)", stored(INDEX).cells[0].source, re.M)
    links = {
        link
        for path in [*NOTEBOOKS, ROOT / "notebooks" / "TEACHING.md"]
        for link in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8"))
    }

    assert [name for _, _, name in rows] == [path.name for path in LESSONS]
    assert [number for number, _, name in rows if not name.startswith(number)] == []
    assert [title for _, title, name in rows if not stored(INDEX.parent / name).cells[0].source.startswith(f"# {title}\n")] == []
    assert [link for link in links if "://" not in link and not (INDEX.parent / link).exists()] == []


@pytest.mark.parametrize("path", EXECUTED, ids=lambda path: path.stem)
def test_it_runs_from_top_to_bottom(path: Path, run: Run) -> None:
    """Every cell has run, in order, and none raised an error."""
    cells = [cell for cell in run(path).cells if cell.cell_type == "code" and cell.source]

    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not [output for cell in cells for output in cell.outputs if output.output_type == "error"]


class TestFirst:
    """What the first notebook shows."""

    def test_its_table_has_three_completed_rows(self, first: NotebookNode) -> None:
        """The last output is a table of the three takes, each with its own seed, and paid."""
        table = outputs(first, "text/plain")[-1]

        rows = [line.split() for line in table.splitlines()]
        assert [row[-3:] for row in rows if "completed" in row] == [["completed", "53", "charged"]] * 3
        assert 'class="dataframe"' in outputs(first, "text/html")[-1]
        assert [seed for seed in ("7", "8", "9") if re.search(rf"sunset +{seed} +{FRAMES} +{seed}\b", table)] == [
            "7",
            "8",
            "9",
        ]

    def test_its_clips_are_in_the_page(self, first: NotebookNode) -> None:
        """Two figures, each with a player that holds a copy of the clip; one for each cell that shows a run."""
        figures = [html for html in outputs(first, "text/html") if "<figure" in html]

        assert len(figures) == 2
        assert all(re.search(r'<video src="data:video/mp4;base64,[A-Za-z0-9+/=]{1000,}"', html) for html in figures)

    def test_its_clips_have_forms_for_places_without_players(self, first: NotebookNode) -> None:
        """Each figure comes with a JPEG of its frames, for paper and for sites that take HTML away, and a line of text."""
        assert len(outputs(first, "image/jpeg")) == 2
        assert all(content.startswith("/9j/") for content in outputs(first, "image/jpeg"))
        assert (
            sum("a paper boat on a calm lake" in text and "53 credits" in text for text in outputs(first, "text/plain"))
            >= 2
        )

    def test_it_leaves_no_progress_behind(self, first: NotebookNode) -> None:
        """The line that moved while the run worked has become the figure."""
        assert not [html for html in outputs(first, "text/html") if "<progress" in html]

    def test_it_stays_small_enough_to_send(self, first: NotebookNode) -> None:
        """Saved with all outputs, two clips among them, it has at most 1 MB."""
        size = len(nbformat.writes(first).encode())  # type: ignore[no-untyped-call]

        assert 60_000 < size <= LARGEST, f"{size:,} bytes"


SHOWN: dict[str, tuple[str, ...]] = {
    "02-what-will-it-cost": ("Estimate(53 credits, exact)", "Estimate(106 credits, exact)", "(True, 53)", "(1, 106)", "(212, 159)", "106 of 150 credits"),
    "03-sweeps-under-a-budget": ("4 runs of svc/text-to-video", "212 of 212 credits", "(318, 106)"),
    "04-look-and-compare": ("4 runs · 4 completed", "clips on one clock"),
    "05-forms-and-studio": ("outside 9 to 1441",),
    "06-one-picture-every-format": ("[(1080, 1080), (1080, 1920), (1500, 500), (1280, 720)]", "33 of 33 credits"),
    "07-stills-to-film": ("Probe(width=640, height=360, frames=54", "13 frames at 24/s", "5.0 s"),
    "08-chaining": ("159 of 159 credits", "480×480", "120 frames at 24/s", "20 frames at 8/s"),
    "09-any-model": ("is not one of 'ink', 'oil', 'photo'", "not a multiple of 64", "18 runs of studio/painter · price unknown", "72"),
    "10-when-things-go-wrong": ("outside 9 to 1441", "content_policy_violation", "2 of 4 · 2 completed · 2 not started", "was cancelled", "0 damaged"),
    "11-a-class-on-one-key": ("3 new keys", "0 left", "159 159", "3 in all", "This key is not known here"),
    "12-growing": ("10,000 runs", "530,000 credits", "318 of 318 credits", "<Shelf at memory://films>"),
    "13-deciding": ("48 runs", "of 636 credits", "(True, True)", "more judgements would settle", "Krippendorff's alpha is 0.56"),
    "14-your-own-gpu": ("svc/smart-resize is run by this machine", "there is no folder", "ink-drawing", "2.6 Wh"),
}
"""Words that the outputs of a notebook have, so that it does show what it tells."""


def find_missing(notebook: NotebookNode, name: str) -> list[str]:
    """The words that the outputs of a notebook should have and do not."""
    printed = [str(output.text) for cell in notebook.cells for output in cell.get("outputs", []) if output.output_type == "stream"]
    texts = "\n".join([*outputs(notebook, "text/plain"), *printed])
    return [words for words in SHOWN[name] if words not in texts]


@pytest.mark.parametrize("name", [path.stem for path in EXECUTED if path.stem in SHOWN])
def test_it_shows_what_it_tells(name: str, run: Run) -> None:
    """Prices, refusals, sizes and counts are those of its text."""
    assert find_missing(run(ROOT / "notebooks" / f"{name}.ipynb"), name) == []


CLIPS = {
    "01-first-video": 2, "02-what-will-it-cost": 3, "04-look-and-compare": 1, "05-forms-and-studio": 1, "06-one-picture-every-format": 1,
    "07-stills-to-film": 4, "08-chaining": 3, "11-a-class-on-one-key": 3, "12-growing": 1,
}  # fmt: skip
"""How many players each saved notebook has; those that are not named have none."""
WITHOUT_PICTURES = ("00-index", "09-any-model")


@pytest.fixture(scope="module")
def chromium(run: Run) -> Iterator[Browser]:
    """Chromium, once the notebooks have run: while Playwright lives, nothing else has an event loop in this thread."""
    for path in EXECUTED:
        run(path)
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)


@pytest.mark.browser
class TestSavedPage:
    """An executed notebook as a page of its own, on the screen of somebody who has neither kernel nor network."""

    @pytest.mark.parametrize("path", EXECUTED, ids=lambda path: path.stem)
    def test_its_clips_and_pictures_are_there(self, path: Path, run: Run, chromium: Browser, tmp_path: Path) -> None:
        """In the middle of each clip is a picture, no picture is broken; nothing complains or asks for anything."""
        page = tmp_path / "page.html"
        page.write_text(convert(run(path)), encoding="utf-8")

        found = sample(chromium, page)

        assert found.problems == ()
        assert [clip.find_problem() for clip in found.clips] == [""] * CLIPS.get(path.stem, 0)
        assert (found.pictures > 0) == (path.stem not in WITHOUT_PICTURES)

    def test_what_is_broken_is_noticed(self, chromium: Browser, tmp_path: Path) -> None:
        """The control: a clip of one grey, one that no decoder reads, a broken picture, an error, a request."""
        grey = film(tmp_path / "grey.mp4").path.read_bytes()
        page = tmp_path / "page.html"
        page.write_text(
            f"<video src='data:video/mp4;base64,{b64encode(grey).decode()}'></video><video src='data:video/mp4;base64,AAAA'></video>"
            "<img src='data:image/png;base64,AAAA'><img src='http://127.0.0.1:9/'><script>console.error('one'); two()</script>",
            encoding="utf-8",
        )

        found = sample(chromium, page)

        assert found.clips[0].find_problem() == "one flat colour"
        assert found.clips[1].find_problem()
        assert [
            word
            for word in ("broken: <img", "one", "two is not defined", "asks for http://127.0.0.1:9/")
            if word not in " ".join(found.problems)
        ] == []
