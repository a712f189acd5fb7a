"""Texts of strangers in every display: nothing of them runs, nothing of them is loaded, and what they say is there as text."""

from __future__ import annotations

import html as html_module
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Dialog, Page, Request, Route

from reelbook.display.original_links import render_player_style as player_sheet
from reelbook.display.plots.plot_html import STYLES as PLOT_STYLES
from reelbook.display.tables.table_html import STYLES
from reelbook.display.theme import render_script, render_style
from tests.browser.lab import Lab, OpenNotebook
from tests.browser.shown import NAMES, SELDOM, Bundle, Media, hostile_table, media_in, outputs
from tests.hostile import PAYLOADS, TEXTS
from tests.support import examples

pytestmark = pytest.mark.browser

HOME = "http://page.test/"
OUR_SHEETS = [str(render_style(*names)) for names in (("figure.css",), STYLES, ("costs.css",), PLOT_STYLES, ())] + [
    str(player_sheet())
]
OUR_SCRIPTS = [
    str(render_script(name)) for name in ("figure.js", "table.js", "posters.js", "plot.js", "grid.js", "compare.js")
]
KINDS = {"text/plain", "text/html", "image/jpeg", "image/png"}
"""What displays may consist of. Markdown, LaTeX and scripts would be run by the notebook itself."""
_BRIEF = [
    payload for payload in PAYLOADS if len(payload.text) < 200 and not re.search("[\\ud800-\\udfff]", payload.text)
]
SHORT = (
    *[payload.text for payload in _BRIEF if payload.can_act][::8],
    *(payload.text for payload in _BRIEF if not payload.can_act),
)
"""Those for Lab, which sets each text as Markdown and TeX would be set: of those that act in any page, every eighth.

A display has every fifth of these, each beginning with another one; and all with `make deep`."""
EVERY = examples(8, 1)
"""A display shows every eighth of the texts; with `make deep`, all."""
FORMULA = "mjx-container"
# Lab itself makes links of addresses in errors, of `data:` too; a browser follows none of those.
LINKS = """() => [...document.querySelectorAll('.jp-OutputArea-output[data-mime-type="text/html"] a, .jp-OutputArea-output a[href^="javascript"]')].map(link => String(link.href.baseVal ?? link.href))
  .filter(address => /^\\s*(javascript:|vbscript:|data:(?!image|video))/i.test(address))"""
LET_IN = 0.96
"""So many of the texts are found again in what is shown; the others are blank, cut off, or a name that stands for nothing."""

# Only the page itself counts, whoever in it sets the mark.
TRAP = """if (window === top) {
  window.fired = [];
  Object.defineProperty(window, '__pwned', {configurable: true, set: number => { window.fired.push(number); }, get: () => window.fired.at(-1)});
}"""

# What a reader may do: unfold, scroll, point, press each button, tick each box, type into each field.
USE = """async () => {
  const pause = () => new Promise(requestAnimationFrame);
  const all = kind => [...document.querySelectorAll(kind)];
  for (const fold of all('details')) fold.open = true;
  await pause();
  for (const element of all('figure, video, img, summary, td, [title]'))
    for (const name of ['pointerenter', 'mouseover']) element.dispatchEvent(new Event(name));
  for (const box of all('input[type=checkbox]').slice(0, 400)) box.click();
  for (const field of all('input[type=search]')) {
    field.value = 'pwned'; field.dispatchEvent(new Event('input', {bubbles: true})); await pause();
    field.value = ''; field.dispatchEvent(new Event('input', {bubbles: true})); await pause();
  }
  for (const box of all('.rb-box, pre').filter(box => box.scrollHeight > box.clientHeight + 20)) box.scrollTop = box.scrollHeight / 2;
  await pause();
  for (const button of all('button').slice(0, 300)) button.click();
  for (const link of all('a[href]')) if (/^\\s*(java|vb)script:/i.test(link.protocol)) link.click();
  await pause(); await pause();
}"""

# Elements that none of our displays has, attributes that run something, addresses that are not the display's own.
FOREIGN = """() => {
  const ours = new Set(`html head body meta title style script div span p b i br h1 h2 h3 h4 section header footer nav main figure
    figcaption img video details summary pre code table caption colgroup col thead tbody tfoot tr th td bdi dl dt dd ul ol li
    progress button input label select option a svg g rect text path use image line polyline title desc tspan circle defs clipPath small
    strong em article output canvas fieldset legend datalist kbd time`.split(/\\s+/));
  const found = [];
  for (const element of document.querySelectorAll('*')) {
    const name = element.localName;
    if (!ours.has(name)) found.push(`<${name}>`);
    for (const {name: key, value} of element.attributes) {
      if (key.startsWith('on')) found.push(`${name} ${key}`);
      if (/^(href|src|srcset|poster|action|formaction|data|background|ping|xlink:href)$/.test(key)
        && !/^(data:(image|video)\\/(jpeg|png|webp|gif|mp4|webm|quicktime|x-matroska);base64,|blob:|#|media\\/)/.test(value))
        found.push(`${name} ${key}=${value.slice(0, 60)}`);
      if (key === 'style' && /url\\(|expression|@import/i.test(value)) found.push(`${name} style=${value.slice(0, 60)}`);
      if (key === 'srcdoc') found.push(`${name} ${key}`);
    }
  }
  return [...new Set(found)].slice(0, 20);
}"""

WORDS = """() => [...document.querySelectorAll('*')].flatMap(element => element.matches('style, script:not([type="application/json"])') ? []
  : [...[...element.childNodes].map(node => node.nodeType === 3 ? node.data : ''), ...[...element.attributes].map(one => one.value)]
).join('\\n').replaceAll('\\\\u003c', '<')"""


@dataclass
class Watched:
    """What happened on a page that should stay quiet."""

    page: Page
    asked: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def dismiss(self, dialog: Dialog) -> None:
        """Note what a dialog says, and close it."""
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def note(self, request: Request) -> None:
        """Note which address is asked for."""
        self.asked.append(request.url)

    @property
    def fired(self) -> list[int]:
        """The numbers of the texts that ran."""
        return list(self.page.evaluate("window.fired"))

    @property
    def words(self) -> str:
        """All text of the page, that of hover and of screen readers too, and what its scripts are given to read."""
        return str(self.page.evaluate(WORDS))


@pytest.fixture(scope="module")
def tab(chromium: Browser) -> Iterator[Page]:
    """A page that one test after the other fills anew: a process of its own for each would take most of their time."""
    tab = marking(chromium)
    yield tab
    tab.context.close()


def marking(chromium: Browser) -> Page:
    """A page that marks what runs in it."""
    context = chromium.new_context(viewport={"width": 1200, "height": 900})
    context.add_init_script(TRAP)
    return context.new_page()


@contextmanager
def page_of(where: Page | Browser, content: str, *, wait: str = "load") -> Iterator[Watched]:
    """A page with this content and nothing behind it: every other address is noted, and refused.

    It is that page, filled anew, or in a browser one of its own.
    """
    tab = marking(where) if isinstance(where, Browser) else where
    context, watched = tab.context, Watched(tab)

    def route(request: Route) -> None:
        if request.request.url == HOME:
            request.fulfill(body=content.encode("utf-8", "replace"), content_type="text/html; charset=utf-8")
            return
        watched.asked.append(request.request.url)
        request.abort()

    context.route("**/*", route)
    tab.on("dialog", watched.dismiss)
    try:
        tab.goto(HOME, wait_until=wait)  # type: ignore[arg-type]
        yield watched
    finally:
        tab.goto("about:blank")
        for popup in context.pages[1:]:
            popup.close()
        context.unroute("**/*", route)
        tab.remove_listener("dialog", watched.dismiss)
        if tab is not where:
            context.close()


@pytest.fixture(scope="module")
def media(tmp_path_factory: pytest.TempPathFactory) -> Media:
    """A clip and a picture to go with the words."""
    return media_in(tmp_path_factory.mktemp("media"))


def test_the_texts_do_run_and_load_where_nobody_escapes_them(tab: Page) -> None:
    """The control: put into a page as they are, most of them act. Without this the tests below would prove nothing."""
    acting = [payload for payload in PAYLOADS if payload.can_act][::EVERY]
    frames = "".join(f'<iframe srcdoc="{html_module.escape(payload.raw)}"></iframe>' for payload in acting)

    with page_of(tab, f"<!doctype html><meta charset=utf-8>{frames}", wait="commit") as watched:
        watched.page.wait_for_function(f"window.fired.length >= {100 // EVERY}")
        watched.page.evaluate(
            "for (const frame of document.querySelectorAll('iframe'))"
            " try { for (const link of frame.contentDocument.querySelectorAll('a')) link.click(); } catch {}"
        )
        watched.page.wait_for_function(f"window.fired.length >= {105 // EVERY}")
        fired = set(watched.fired)
        loaded = {int(number) for address in watched.asked for number in re.findall(r"/h(\d+)", address)}

    assert len(fired) >= 100 // EVERY
    assert len(loaded) >= 40 // EVERY
    assert watched.dialogs


@pytest.mark.parametrize("name", NAMES)
def test_nothing_runs_and_nothing_is_loaded(tab: Page, media: Media, name: str) -> None:
    """With our scripts at work, and after a reader has pressed and unfolded whatever there is.

    Each display has some of the texts, beginning with another one, so that each text is in a display at least.
    """
    texts = TEXTS[:: min(EVERY, 2)] if name in SELDOM else TEXTS[NAMES.index(name) % EVERY :: EVERY]
    bundles = outputs(name, media, texts)
    content = joined(str(bundle["text/html"]) for bundle in bundles)

    with page_of(tab, content) as watched:
        told = found_again(watched, texts[:: SELDOM.get(name, 1)])
        watched.page.evaluate(USE)
        foreign = watched.page.evaluate(FOREIGN)
        fired = watched.fired

    assert {kind for bundle in bundles for kind in bundle} <= KINDS
    assert fired == []
    assert foreign == []
    assert watched.asked == []
    assert watched.dialogs == []
    assert told >= LET_IN


def test_a_report_runs_and_loads_nothing(tab: Page, media: Media, tmp_path: Path) -> None:
    """A page of its own, written from a table in which every word is a stranger's, with its title and its views."""
    table: Any = hostile_table(media, TEXTS[::EVERY])
    views = [table.reel.plot("prompt", "note", "model"), table.iloc[[0, 2]].reel.compare()]
    page = table.reel.report(tmp_path / "report.html", title=TEXTS[0], views=views)

    with page_of(tab, page.read_text(encoding="utf-8")) as watched:
        watched.page.evaluate(USE)
        foreign = watched.page.evaluate(FOREIGN)
        fired = watched.fired

    assert fired == []
    assert foreign == []
    assert watched.asked == []
    assert watched.dialogs == []


@pytest.fixture(scope="module")
def shown(
    lab: Lab, chromium: Browser, media: Media, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[OpenNotebook, Watched]]:
    """A notebook in a real JupyterLab that trusts it: one output for each display, and errors with such words."""
    step = examples(5, 1)
    place = tmp_path_factory.mktemp("hostile") / "displays.json"
    place.write_text(
        json.dumps([in_one(name, outputs(name, media, SHORT[at % step :: step])) for at, name in enumerate(NAMES)])
    )
    path = lab.write(
        "hostile",
        f"import json, pathlib\nbundles = json.loads(pathlib.Path({str(place)!r}).read_text())",
        "for bundle in bundles:\n    display(bundle, raw=True)",
        f"from reelbook.errors import RunFailed\nimport reelbook as rb\nraise RunFailed(*[{' '.join(SHORT[::step])!r}] * 3)",
        f"from IPython.display import HTML\nHTML({f'<p id=rb-control>$a+b$ {PAYLOADS[19].text}</p>'!r})",
    )
    with OpenNotebook(lab, chromium, path, height=1400) as notebook:
        watched = Watched(notebook.open().page)
        notebook.page.evaluate(TRAP)
        notebook.page.on("dialog", watched.dismiss)
        notebook.page.on("request", watched.note)
        yield notebook, watched
        notebook.page.remove_listener("dialog", watched.dismiss)
        notebook.page.remove_listener("request", watched.note)
        notebook.page.evaluate("delete window.__pwned; delete window.fired")


def test_nothing_runs_in_jupyterlab_and_the_control_does(shown: tuple[OpenNotebook, Watched], lab: Lab) -> None:
    """Lab runs scripts of what it trusts, links addresses in plain text and sets TeX: none of it acts. Raw HTML does."""
    notebook, watched = shown
    page = notebook.page
    run_cells(notebook, 0, 1, 2)
    page.locator(".jp-OutputArea-output").nth(len(NAMES)).wait_for()

    page.evaluate(USE)
    fired = watched.fired
    outside = [url for url in watched.asked if not url.startswith((lab.base_url, "data:", "blob:"))]
    run_cells(notebook, 3)
    page.wait_for_function("window.fired.length > 0")
    # When the control's formula is set, all others before it were, too.
    page.locator(f"#rb-control {FORMULA}").wait_for()
    typeset = page.locator(FORMULA).count()
    links = page.evaluate(LINKS)

    assert fired == []
    assert links == []
    assert outside == []
    assert watched.dialogs == []
    assert notebook.is_trusted()
    assert watched.fired == [PAYLOADS[19].number]
    assert typeset == 1, "a prompt with two dollar signs in it is no formula"


def joined(parts: Iterable[str]) -> str:
    """The parts of a page, of which each of our own sheets and scripts is kept once: there are thousands of outputs."""
    content = "\n".join(parts)
    for own in OUR_SHEETS:
        first, _, rest = content.partition(own)
        content = first + own + rest.replace(own, "") if rest else content
    for own in OUR_SCRIPTS:
        if own in content:
            content = content.replace(own, "") + own
    return f"<!doctype html><meta charset=utf-8><body>{content}"


def run_cells(notebook: OpenNotebook, *places: int) -> None:
    """Run these cells, one after the other."""
    for place in places:
        notebook.run_cell(place)


def in_one(name: str, bundles: Sequence[Bundle]) -> dict[str, Any]:
    """All outputs of a display as one."""
    page = joined(str(bundle["text/html"]) for bundle in bundles)
    return {"text/html": f"<p>{name}</p>{page.partition('<body>')[2]}", "text/plain": name}


def found_again(watched: Watched, texts: Sequence[str]) -> float:
    """How many of the texts that say their number can be read on the page, in one place at least."""
    number = re.compile(r"(?:__pwned=|/h)(\d+)\b")
    wanted = {found for text in texts for found in number.findall(text)}
    return len(wanted.intersection(number.findall(watched.words))) / len(wanted)
