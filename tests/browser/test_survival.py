"""What is left of each display where a notebook goes: every row of the matrix, in every place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Page

from tests.browser import sanitised, survival
from tests.browser.lab import Lab, OpenNotebook
from tests.browser.looks import playback, shot
from tests.browser.survival import CELLS, PLAYERS, RUNS, TALL, Executed

pytestmark = pytest.mark.browser

MAX_BYTES = 1_000_000
OF_A_SWEEP = ("plan", "sweep", "table", "run", "sheet")
"""The cells of a notebook about one sweep."""
PROMPT_WORDS = survival.PROMPT[:20]
ONE_LINE = ("run", "video", "picture", "failed", "plan", "sweep", "table", "panel", "library", "sheet", "report")


@pytest.fixture(scope="module")
def executed(lab: Lab, chromium: Browser) -> Executed:
    """The notebook with everything in it."""
    return survival.executed(lab, chromium)


def test_live_everything_is_shown(executed: Executed) -> None:
    """In JupyterLab, with a kernel: no cell fails, and nothing complains."""
    assert executed.errors == []
    assert executed.complaints == []
    survival.check(executed.live, players=True)


def test_the_saved_notebook_is_valid_and_small(executed: Executed) -> None:
    """By the notebook format's own rules; a sweep of 24 runs takes a megabyte at most, at default options."""
    saved = executed.notebook

    nbformat.validate(saved)
    sizes = {name: len(json.dumps(cell)) for name, cell in zip(CELLS, saved.cells, strict=True) if name in OF_A_SWEEP}

    assert set(sizes) == set(OF_A_SWEEP)
    assert sum(sizes.values()) <= MAX_BYTES, sizes


@pytest.mark.parametrize("name", ONE_LINE)
def test_where_only_text_is_shown_there_is_one_useful_line(executed: Executed, name: str) -> None:
    """No address of an object in memory, no table of signs, no more than fits into a line or two of a terminal."""
    texts = [output.data["text/plain"] for output in executed.outputs(name) if output.data.get("text/plain")]
    lines = [text.replace(str(executed.path.parent), "/home/anna/boats") for text in texts]

    assert lines
    assert all("\n" not in line and 0 < len(line) <= 200 for line in lines), lines
    assert not any(" object at 0x" in line or line == "<IPython.core.display.HTML object>" for line in lines)


@pytest.mark.parametrize("name", ["run", "video", "picture", "sheet"])
def test_where_no_html_is_shown_there_is_a_picture(executed: Executed, name: str) -> None:
    """PDF, LaTeX and mail take an image of its own beside the page."""
    kinds = {kind for output in executed.outputs(name) for kind in output.data}

    assert kinds & {"image/jpeg", "image/png"}


def test_nothing_saved_needs_a_kernel(executed: Executed) -> None:
    """No view of a widget, whose model is gone with the kernel, and no address of this machine that a page would ask."""
    text = json.dumps([cell.outputs for cell in executed.notebook.cells])

    assert "widget-view" not in text
    assert not re.search("blob:(https?:|null/|file:)", text)
    assert 'src=\\"http' not in text


def test_reopened_without_trust_and_without_a_kernel(executed: Executed, lab: Lab, chromium: Browser) -> None:
    """Scripts and style sheets are gone; clips play, and words and pictures stay."""
    with OpenNotebook(lab, chromium, survival.received(executed, lab), height=TALL, sort="received") as notebook:
        notebook.open_without_kernel()
        notebook.page.locator("figure").first.wait_for()
        view = survival.look(notebook.page)
        clips = [playback(notebook.page.locator("video").nth(place)) for place in range(len(PLAYERS))]
        shot(notebook.page, "survival-untrusted", whole=True)

        assert (
            notebook.page.locator(".rb-viewer, [data-rb-compare], [data-rb-explorer]").locator(survival.DEAD).count()
            == 0
        )
        assert not notebook.is_trusted()
        assert not notebook.has_kernel()
    survival.check(view, players=True)
    assert [(clip["error"], clip["advanced"] > 0) for clip in clips] == [(None, True)] * len(PLAYERS)


@contextmanager
def opened(chromium: Browser, path: Path, *, scripts: bool = True) -> Iterator[tuple[Page, list[str], list[str]]]:
    """A page from the disk, cut off from any network; the addresses it asked for, and what it complains about."""
    context = chromium.new_context(viewport={"width": 1200, "height": 1000}, java_script_enabled=scripts, offline=True)
    page = context.new_page()
    asked: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri(), wait_until="load")
    yield page, [url for url in asked if not url.startswith(("data:", "blob:", path.as_uri()))], errors
    context.close()


def test_as_a_page_from_nbconvert(executed: Executed, chromium: Browser, tmp_path: Path) -> None:
    """Opened from the disk with the network cut off: all is there, clips play, and nothing of ours asks for anything."""
    own = survival.empty_page()
    with opened(chromium, survival.as_page(executed, tmp_path)) as (page, asked, _):
        view = survival.look(page)
        clips = [playback(page.locator("video").nth(place)) for place in range(len(PLAYERS))]
        shot(page, "survival-nbconvert", whole=True)
        survival.settle(page)

    survival.check(view, players=True)
    assert [(clip["error"], clip["advanced"] > 0) for clip in clips] == [(None, True)] * len(PLAYERS)
    assert [url for url in asked if url not in own] == []


def test_where_nothing_may_play(executed: Executed, chromium: Browser, tmp_path: Path) -> None:
    """A site with `media-src 'none'`: no clip comes, its poster and its frames do."""
    with opened(chromium, survival.as_page(executed, tmp_path, policy="media-src 'none'")) as (page, _, __):
        view = survival.look(page)
        clip = playback(page.locator("video").first)
        shot(page, "survival-no-media", whole=True)

    survival.check(view, players=True)
    assert clip["error"] is not None
    assert clip["advanced"] == 0


def test_where_only_words_and_pictures_are_let_through(executed: Executed, chromium: Browser, tmp_path: Path) -> None:
    """As GitHub shows notebooks: no script, style, player or frame, no style attribute. Poster and caption are still there."""
    path = tmp_path / "sanitised.html"
    path.write_text(sanitised.page_of(executed.notebook), encoding="utf-8")
    with opened(chromium, path) as (page, asked, _):
        view = survival.look(page)
        left = page.locator("video, script, style, iframe, [style], button, input").count()
        shot(page, "survival-sanitised", whole=True)

    survival.check(view, players=False)
    assert left == 0
    assert asked == []


def test_the_sanitiser_takes_away_what_runs() -> None:
    """The control of the test above: it lets nothing through that acts, and keeps words and pictures."""
    kept = sanitised.sanitised(
        "<p style='color:red' onclick=x()>one</p><script>two()</script><style>p{}</style><iframe src=x>three</iframe>"
        "<video src=data:video/mp4;base64,AA poster=data:image/png;base64,AA>four</video><button>five</button>"
        "<img src='data:image/png;base64,AA' alt=six><img src='data:text/html,x'><img src='//elsewhere/x'><a href='javascript:x()'>seven</a>"
    )

    assert kept == ('<p>one</p>five<img src="data:image/png;base64,AA" alt="six"><img><img><a>seven</a>')


def test_a_report_is_whole_by_itself(executed: Executed, chromium: Browser) -> None:
    """From the disk, without a network: every run is there and its clips play; it asks for nothing."""
    with opened(chromium, executed.report) as (page, asked, errors):
        clips = page.locator("video").count()
        clip = playback(page.locator("video").first)
        words = page.locator("body").inner_text()
        shot(page, "survival-report", whole=True)

    assert clips >= RUNS
    assert clip["error"] is None
    assert clip["advanced"] > 0
    assert PROMPT_WORDS in words
    assert asked == []
    assert errors == []


def test_a_report_without_scripts_still_tells(executed: Executed, chromium: Browser) -> None:
    """Where scripts are off: the words, the posters of all runs, the figures."""
    with opened(chromium, executed.report, scripts=False) as (page, asked, _):
        words = " ".join(page.locator("body").inner_text().split())
        shot(page, "survival-report-static", whole=True)
        posters = page.locator("video[poster^='data:image/'], img[src^='data:image/']").count()

    assert all(word in words for word in (PROMPT_WORDS, f"{RUNS} runs", "num_frames", "credits"))
    assert posters >= RUNS
    assert asked == []


def test_a_report_as_a_strict_mail_reader_shows_it(executed: Executed, chromium: Browser, tmp_path: Path) -> None:
    """Without script, style and players: the words, and a picture of each run."""
    path = tmp_path / "report.html"
    path.write_text(
        f"<!doctype html><meta charset=utf-8>{sanitised.sanitised(executed.report.read_text())}", encoding="utf-8"
    )
    with opened(chromium, path) as (page, asked, _):
        words = " ".join(page.locator("body").inner_text().split())
        pictures = page.locator("img").evaluate_all("images => images.filter(one => one.naturalWidth > 0).length")
        shot(page, "survival-report-sanitised", whole=True)

    assert all(word in words for word in (PROMPT_WORDS, f"{RUNS} runs", "num_frames", "credits"))
    assert pictures >= RUNS
    assert asked == []
