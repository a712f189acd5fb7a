"""What a form has started, on a bare page: news change nothing that somebody uses, and all of it is in reach of everybody.

A stand-in for the widget's model carries what the page and the kernel say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Route, expect

from reelbook.display.run_card import failed_card, progress_card, run_figure
from reelbook.errors import ReelbookError
from tests.browser.axe import beyond, faint, findings, tabbed
from tests.browser.bundle import bundle, read_styles
from tests.browser.looks import overflow, shot
from tests.clips import film
from tests.display.stand_in import run_of
from tests.support import deep

pytestmark = pytest.mark.browser

ADDRESS = "http://localhost/form"
ROOT = ".rbf-runs"
SCRIPT = """
import { h, render } from "preact";
import { FormLink } from "./form/link.ts";
import { Runs } from "./form/form.tsx";
const state = { draft: {}, problems: [], view: "", n: 0 };
window.kernel = { records: [], key: "k", sheet: { fields: [] }, state, sent: [], heard: new Map(), hasEnded: false };
const model = {
  get: (name) => kernel[name],
  on: (name, listener) => kernel.heard.set(listener, name), off: (_, listener) => kernel.heard.delete(listener),
  send: async (content) => { if (kernel.hasEnded) throw new Error("gone"); kernel.sent.push(content); },
};
const root = document.querySelector(".rbf");
const happen = (what, content) => kernel.heard.forEach((name, listener) => { if (name === what) listener(content, []); });
window.tell = (content) => happen("msg:custom", content);
window.setRuns = (runs) => { kernel.records = runs; happen("change:records"); };
window.end = () => { kernel.hasEnded = true; link.here(); };
window.begin = () => {
  window.link = new FormLink(model);
  render(h(Runs, { link }), root);
  root.append(link.voice);
};
window.leave = () => { render(null, root); link.dispose(); link.voice.remove(); kernel.sent = []; };
begin();
"""

Open = Callable[..., Page]


def html(theme: str) -> str:
    ground = {"light": "#fff", "dark": "#111"}[theme]
    sheet = read_styles("page/tokens.css", "form/form.css", "form/runs.css")
    return (
        f'<!doctype html><html lang="en" style="color-scheme:{theme};background:{ground}"><head><meta charset="utf-8"><title>runs</title>'
        f"<style>body {{ margin: 12px }} {sheet}</style></head><body><main><div class='rb rbf rb-{theme}'></div></main>"
        f'<script type="module">{bundle(SCRIPT)}</script></body></html>'
    )


@pytest.fixture(scope="module")
def shared_page(chromium: Browser) -> Iterator[Page]:
    page = chromium.new_context().new_page()
    yield page
    page.context.close()


@pytest.fixture
def open_page(shared_page: Page) -> Iterator[Open]:
    """Opens the page with the runs of a form; whatever it complains of fails the test."""
    page, complaints = shared_page, list[str]()

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            complaints.append(message.text)

    def opened(*runs: dict[str, Any], theme: str = "light", width: int = 900) -> Page:
        def answer(route: Route) -> None:
            route.fulfill(body=html(theme), content_type="text/html")

        page.set_viewport_size({"width": width, "height": 800})
        page.unroute_all()
        page.route("**/*", answer)
        page.goto(ADDRESS)
        if runs:
            page.evaluate("runs => setRuns(runs)", list(runs))
        return page

    page.on("console", note)
    yield opened
    page.remove_listener("console", note)
    assert complaints == []


CANCEL, USE = ([name, label, ""] for name, label in (("cancel", "Cancel"), ("use", "Use these inputs")))


def entry(key: int, status: str = "completed", mark: str = "●", **more: Any) -> dict[str, Any]:
    """One run as the kernel tells of it."""
    return {"key": str(key), "kind": "run", "status": status, "mark": mark, "line": f"{mark} boat {key}", "title": f"boat {key}",
            "isOver": True, "actions": [USE], **more}  # fmt: skip


def going(key: int, **more: Any) -> dict[str, Any]:
    return entry(key, "running", "◑", **{"isOver": False, "fraction": 0.4, "actions": [CANCEL, USE], **more})


def sent(page: Page, do: str) -> list[dict[str, Any]]:
    """What the page has asked the kernel for."""
    return list(page.evaluate("what => kernel.sent.filter(one => one.do === what)", do))


def card(page: Page, key: int, html: str) -> None:
    page.evaluate("([card, html]) => tell({ card, html })", [str(key), html])


def test_news_leave_the_focus_and_what_is_read_aloud_alone(open_page: Open) -> None:
    """Twenty steps of progress are silent and move nothing; a change of state is read aloud, and only then."""
    page = open_page(going(1))
    cancel = page.get_by_role("button", name="Cancel")
    cancel.focus()
    page.evaluate("""() => {
      window.spoken = [];
      new MutationObserver(() => spoken.push(document.querySelector('[aria-live=polite]').textContent))
        .observe(document.querySelector('[aria-live=polite]'), {childList: true, characterData: true, subtree: true});
    }""")

    for number in range(20):
        page.evaluate("runs => setRuns(runs)", [going(1, fraction=number / 20)])
        card(page, 1, f"<p>painting · {5 * number}%</p>")
    expect(cancel).to_be_focused()
    expect(page.locator(".rbf-run")).to_contain_text("painting · 95%")
    silent = page.evaluate("spoken.length")
    page.evaluate("runs => setRuns(runs)", [entry(1)])
    page.wait_for_function("spoken.length === 1")

    assert silent == 0
    assert page.evaluate("spoken") == ["run 1 completed"]


def test_earlier_runs_are_reached_with_the_keyboard(open_page: Open) -> None:
    """Tab goes along, Enter shows one large; a new run is shown by itself."""
    many = [entry(key) for key in range(20, 0, -1)]
    page = open_page(*many)
    cells, shown = page.locator(".rbf-run-cell"), page.locator(".rbf-run")
    expect(cells).to_have_count(20)

    cells.first.focus()
    for key in ("Tab", "Tab", "Enter"):
        page.keyboard.press(key)
    expect(shown).to_have_attribute("aria-label", "run 18")
    expect(cells.nth(2)).to_be_focused()
    expect(cells.nth(2)).to_have_attribute("aria-pressed", "true")
    page.evaluate("runs => setRuns(runs)", many)
    expect(shown).to_have_attribute("aria-label", "run 18")
    page.evaluate("runs => setRuns(runs)", [going(21), *many])
    expect(shown).to_have_attribute("aria-label", "run 21")

    assert [content["run"] for content in sent(page, "show")] == ["20", "18", "21"]
    assert overflow(page) == 0


def test_each_state_has_its_actions(open_page: Open) -> None:
    """Buttons send what they say, and are there only where they are of use; a kernel that has ended has none."""
    page = open_page(going(1))
    names = page.locator(".rbf-run-actions button")
    expect(names).to_have_text(["Cancel", "Use these inputs"])

    page.get_by_role("button", name="Cancel").click()
    uses = [["svc/a", "Image to video"]]
    page.evaluate("runs => setRuns(runs)", [entry(2, uses=uses), entry(1, "cancelled", "⊘")])
    expect(names).to_have_text(["Use these inputs"])
    page.get_by_label("Use the frame displayed in").select_option("Image to video")
    page.get_by_role("button", name="Use these inputs").click()
    page.evaluate("tell({ acted: '2', words: 'The form has the inputs of this run now.' })")
    expect(page.get_by_text("The form has the inputs of this run now.")).to_be_visible()
    page.evaluate("runs => setRuns(runs)", [going(3)])
    page.evaluate("end()")
    expect(page.locator(".rbf-run-state")).to_have_text("?uncertain · it was running")
    expect(names).to_have_count(0)

    assert sent(page, "act") == [
        {"do": "act", "run": "1", "what": "cancel"},
        {"do": "act", "run": "2", "what": "use_in", "model": "svc/a", "file": 0, "frame": 0},
        {"do": "act", "run": "2", "what": "use"},
    ]


@pytest.mark.parametrize(("theme", "widths"), [("dark", [320]), *deep(("light", [900, 320]))])
def test_it_is_in_reach_of_everybody(open_page: Open, tmp_path: Path, theme: str, widths: list[int]) -> None:
    """Contrast, names, keyboard and layout, of the cards as they are: under way, failed, and finished."""
    clip = film(tmp_path / "clip.mp4", size=(640, 360), frames=9)
    cards = {
        3: progress_card(run_of(status="IN_PROGRESS", progress=(0.4, "x" * 90), logs=["y" * 900])),
        2: failed_card(run_of(status="failed", failure=ReelbookError("z" * 300))),
        1: run_figure(run_of(clip)),
    }
    page = open_page(going(3, title="ما هذا " * 8), entry(2, "failed", "✕"), entry(1), theme=theme)
    pale, wide, grave = [], [], []
    for width in widths:
        page.set_viewport_size({"width": width, "height": 800})
        for key, text in cards.items():
            page.locator(f".rbf-run-cell[data-run='{key}']").click()
            card(page, key, text)
            pale += faint(page, ROOT)
            wide += [*beyond(page, ROOT), *([] if overflow(page) == 0 else [f"run {key} at {width}"])]
            grave += findings(page, ROOT, colours=False)
            shot(page, f"form-run-{theme}-{width}-{key}", whole=True)
    expect(page.locator(".rbf-run video")).to_be_visible()
    reached = tabbed(page, ROOT)

    assert grave == []
    assert pale == []
    assert wide == []
    assert (reached.missed, reached.unseen) == ([], [])
    assert len(reached.controls) > 3


def test_a_page_that_comes_back_has_everything_again_and_leaves_nothing(open_page: Open) -> None:
    """The runs are in the state, the card is asked for; what has ended is not announced again; no listener stays."""
    page = open_page(entry(2), entry(1))
    expect(page.locator(".rbf-run-cell")).to_have_count(2)
    page.evaluate("leave()")
    page.wait_for_function("kernel.heard.size === 0")
    page.evaluate("begin()")

    expect(page.locator(".rbf-run-cell")).to_have_count(2)
    assert sent(page, "show") == [{"do": "show", "run": "2"}]
    assert page.locator("[aria-live=polite]").inner_text() == ""
