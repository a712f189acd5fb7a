"""What is left of each display where a notebook goes: every row of the matrix, in every place."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import Any

import nbformat
import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import Browser

from tests.browser import survival
from tests.browser.bare_page import from_disk, new_page
from tests.browser.lab import Lab, OpenNotebook
from tests.browser.looks import playback, shot
from tests.browser.survival import CELLS, PLAYERS, RUNS, TALL, Executed

pytestmark = pytest.mark.browser

MAX_BYTES = 1_000_000
OF_A_SWEEP = ("plan", "sweep", "table", "run", "sheet")
"""The cells of a notebook about one sweep."""
PROMPT_WORDS = survival.PROMPT[:20]
BROKEN = "images => images.filter(image => image.complete && !image.naturalWidth).length"
SEEN = "video => video.checkVisibility({visibilityProperty: true, opacityProperty: true}) && !!video.src"
ONE_LINE = ("run", "video", "picture", "failed", "plan", "sweep", "table", "panel", "library", "sheet", "report")


KEPT = re.compile(
    r"a|b|bdi|bdo|blockquote|br|caption|code|col|colgroup|dd|del|details|div|dl|dt|em|figcaption|figure|h[1-6]|hr|i|img|ins|kbd"
    r"|li|mark|ol|p|pre|q|s|samp|small|span|strong|sub|summary|sup|table|tbody|td|tfoot|th|thead|time|tr|tt|u|ul|var|wbr"
)
"""What public renderers of notebooks and READMEs let through: text, tables, links, pictures."""
EMPTIED = re.compile(r"script|style|title|template|noscript|textarea|iframe|object|video|audio|select|svg|math|canvas")
"""Of these not even the content stays; of other elements that are removed, the words do."""
ATTRIBUTES = re.compile(
    r"align|alt|colspan|dir|headers|height|lang|name|open|rowspan|scope|span|start|title|valign|width"
)
ADDRESS = re.compile(r"(https?:|mailto:|#|/(?!/)|[\w.-]+(/|$))", re.IGNORECASE)
PICTURE = re.compile(r"data:image/(png|jpeg|gif|webp);base64,", re.IGNORECASE)
RICHEST = ("text/html", "image/png", "image/jpeg", "text/plain")


def sanitised(html: str) -> str:
    """The HTML without what could run, play, load or be laid out."""
    soup = BeautifulSoup(html, "html.parser")
    for element in soup.find_all(True):
        if EMPTIED.fullmatch(element.name or ""):
            element.decompose()
    for element in soup.find_all(True):
        element.attrs = {name: value for name, value in element.attrs.items() if _is_let_through(name, str(value))}
        if not KEPT.fullmatch(element.name):
            element.unwrap()
    return str(soup)


def sanitised_page(notebook: Any) -> str:
    """A page with the outputs of a notebook, each in the richest form that such a site shows."""
    cells = [
        f'<section class="jp-CodeCell"><div class="jp-OutputArea">{"".join(map(_output, cell.outputs))}</div></section>'
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]
    return f"<!doctype html><meta charset=utf-8><title>notebook</title><body>{''.join(cells)}"


def _is_let_through(name: str, value: str) -> bool:
    if name == "src":
        return bool(PICTURE.match(value) or ADDRESS.match(value))
    return bool(ADDRESS.match(value)) if name == "href" else bool(ATTRIBUTES.fullmatch(name))


def _output(output: Any) -> str:
    if output.output_type == "stream":
        return f"<pre>{escape(output.text)}</pre>"
    data = output.get("data", {})
    kind = next((kind for kind in RICHEST if data.get(kind)), None)
    if kind is None:
        return ""
    if kind == "text/html":
        return f"<div>{sanitised(data[kind])}</div>"
    if kind == "text/plain":
        return f"<pre>{escape(data[kind])}</pre>"
    return f'<img alt="output" src="data:{kind};base64,{data[kind].strip()}">'


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


def test_as_a_page_from_nbconvert(executed: Executed, chromium: Browser, tmp_path: Path) -> None:
    """Opened from the disk with the network cut off: all is there, clips play, and nothing of ours asks for anything."""
    own = survival.empty_page()
    with from_disk(chromium, survival.as_page(executed, tmp_path)) as (page, asked):
        view = survival.look(page)
        clips = [playback(page.locator("video").nth(place)) for place in range(len(PLAYERS))]
        shot(page, "survival-nbconvert", whole=True)
        survival.settle(page)

    survival.check(view, players=True)
    assert [(clip["error"], clip["advanced"] > 0) for clip in clips] == [(None, True)] * len(PLAYERS)
    assert [url for url in asked if url.startswith("http") and url not in own] == []


def test_where_nothing_may_play(executed: Executed, chromium: Browser, tmp_path: Path) -> None:
    """A site with `media-src 'none'`: no clip comes, its poster and its frames do."""
    with from_disk(chromium, survival.as_page(executed, tmp_path, policy="media-src 'none'")) as (page, _):
        view = survival.look(page)
        clip = playback(page.locator("video").first)
        shot(page, "survival-no-media", whole=True)

    survival.check(view, players=True)
    assert clip["error"] is not None
    assert clip["advanced"] == 0


def test_where_only_words_and_pictures_are_let_through(executed: Executed, chromium: Browser, tmp_path: Path) -> None:
    """As GitHub shows notebooks: no script, style, player or frame, no style attribute. Poster and caption are still there."""
    path = tmp_path / "sanitised.html"
    path.write_text(sanitised_page(executed.notebook), encoding="utf-8")
    with from_disk(chromium, path) as (page, asked):
        view = survival.look(page)
        left = page.locator("video, script, style, iframe, [style], button, input").count()
        shot(page, "survival-sanitised", whole=True)

    survival.check(view, players=False)
    assert left == 0
    assert asked == []


def test_the_sanitiser_takes_away_what_runs() -> None:
    """The control of the test above: it lets nothing through that acts, and keeps words and pictures."""
    kept = sanitised(
        "<p style='color:red' onclick=x()>one</p><script>two()</script><style>p{}</style><iframe src=x>three</iframe>"
        "<video src=data:video/mp4;base64,AA poster=data:image/png;base64,AA>four</video><button>five</button>"
        "<img src='data:image/png;base64,AA' alt=six><img src='data:text/html,x'><img src='//elsewhere/x'><a href='javascript:x()'>seven</a>"
    )

    assert kept == '<p>one</p>five<img alt="six" src="data:image/png;base64,AA"/><img/><img/><a>seven</a>'


@pytest.mark.parametrize("scripts", ["allow-scripts", ""], ids=["with scripts", "without scripts"])
def test_each_output_stands_in_a_frame_that_trusts_nobody(executed: Executed, chromium: Browser, scripts: str) -> None:
    """As Colab and VS Code show it, without an origin: nothing fails or is asked for, no picture is broken, clips play."""
    problems: list[str] = []
    with new_page(chromium, offline=True) as page:
        page.on("console", lambda message: problems.append(message.text) if "Error" in message.text else None)
        page.on("request", lambda request: problems.append(request.url) if request.url.startswith("http") else None)
        # One after the other: a frame that nobody sees draws nothing.
        for html in executed.pages:
            source = escape(f"<!doctype html><meta charset=utf-8>{html}")
            page.set_content(
                f'<!doctype html><iframe sandbox="{scripts}" width=900 height=600 srcdoc="{source}"></iframe>'
            )
            frame = page.frames[1]
            assert frame.locator("body").evaluate("() => self.origin") == "null"
            assert frame.locator("img").evaluate_all(BROKEN) == 0
            assert frame.locator("body").evaluate("body => body.getBoundingClientRect().height") > 10
            for video in frame.locator("video").all():
                if scripts and video.evaluate(SEEN):
                    assert playback(video)["advanced"] > 0

    assert problems == []


@pytest.mark.parametrize("place", ["without-scripts", "in-mail"])
def test_a_report_still_tells(executed: Executed, chromium: Browser, tmp_path: Path, place: str) -> None:
    """Where scripts are off, and where a strict mail reader takes styles and players too: the words, and a picture of each run."""
    path = executed.report
    if place == "in-mail":
        path = tmp_path / "report.html"
        html = f"<!doctype html><meta charset=utf-8>{sanitised(executed.report.read_text())}"
        path.write_text(html, encoding="utf-8")
    with from_disk(chromium, path, java_script_enabled=False) as (page, asked):
        words = " ".join(page.locator("body").inner_text().split())
        pictures = page.locator("video[poster^='data:image/'], img").evaluate_all(
            "all => all.filter(one => one.poster || one.naturalWidth > 0).length"
        )
        shot(page, f"survival-report-{place}", whole=True)

    assert all(word in words for word in (PROMPT_WORDS, f"{RUNS} runs", "num_frames", "credits"))
    assert pictures >= RUNS
    assert asked == []
