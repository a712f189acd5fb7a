"""The runs of a form on a bare page: a click becomes a clip that plays, and nothing on the way jumps, shouts or is lost.

The page is ours alone, without JupyterLab: a stand-in for the form's link carries what the page and the kernel say.
"""

from __future__ import annotations

import base64
import io
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Browser, ConsoleMessage, Page, Route, expect

from tests.browser.axe import beyond, faint, findings, tabbed
from tests.browser.bundle import bundle, read_styles
from tests.browser.looks import overflow, shot
from tests.clips import film
from tests.support import deep

pytestmark = pytest.mark.browser

ADDRESS = "http://localhost/form"
WAIT = 20.0
ROOT = ".rbf-runs"

LINK = """
window.kernel = { records: [], sent: [], on: new Map(), changed: new Set(), swept: 0 };
const model = { get: () => kernel.records, on: (_, f) => kernel.changed.add(f), off: (_, f) => kernel.changed.delete(f) };
const link = {
  model,
  openSweep() { kernel.swept += 1; },
  on(key, listener) {
    if (!kernel.on.has(key)) kernel.on.set(key, new Set());
    kernel.on.get(key).add(listener);
    return () => kernel.on.get(key).delete(listener);
  },
  async send(content) {
    if (kernel.hasEnded) throw new Error("Cannot send");
    kernel.sent.push(content);
    window.toKernel?.(content);
  },
  ask(content) { return link.send(content).then(() => true, () => false); },
};
const bytes = (text) => new DataView(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
window.tell = (content, parts = []) =>
  Object.keys(content).forEach((key) => kernel.on.get(key)?.forEach((listener) => listener(content, parts.map(bytes))));
window.setRuns = (runs) => { kernel.records = runs; kernel.changed.forEach((listener) => listener()); };
window.urls = new Set();
const create = URL.createObjectURL, revoke = URL.revokeObjectURL;
URL.createObjectURL = (blob) => { const url = create(blob); urls.add(url); return url; };
URL.revokeObjectURL = (url) => { urls.delete(url); revoke(url); };
window.begin = () => { window.ours = makeRuns(link); document.querySelector(".rbf").append(ours.said, ours.el); };
begin();
"""


def html(theme: str) -> str:
    ground = {"light": "#fff", "dark": "#111"}[theme]
    sheet = read_styles("page/tokens.css", "form/form.css", "form/runs.css")
    script = bundle(f'import {{ makeRuns }} from "./form/runs.ts";{LINK}')
    return (
        f'<!doctype html><html lang="en" style="color-scheme:{theme};background:{ground}"><head><meta charset="utf-8"><title>runs</title>'
        f"<style>body {{ margin: 12px }} {sheet}</style></head><body><main><div class='rb rbf rb-{theme}'></div></main>"
        f'<script type="module">{script}</script></body></html>'
    )


Open = Callable[..., Page]


class Common:
    """A page for all tests, each of which loads it anew: a window for each would take longer than most of them."""

    def __init__(self, browser: Browser) -> None:
        self.page = browser.new_context(accept_downloads=True).new_page()
        self.page.set_default_timeout(WAIT * 1000)
        self.kernel: Callable[[Any], Any] = _nobody
        self.page.expose_function("heard", lambda content: self.kernel(content))


def _nobody(content: Any) -> None:
    """The kernel of pages that have none."""


@pytest.fixture(scope="module")
def common(chromium: Browser) -> Iterator[Common]:
    common = Common(chromium)
    yield common
    common.page.context.close()


@pytest.fixture
def open_page(common: Common) -> Iterator[Open]:
    """Opens the page with the runs of a form; whatever it complains of fails the test."""
    page, complaints = common.page, list[str]()

    def complain(error: Any) -> None:
        complaints.append(str(error))

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            complaints.append(message.text)

    def opened(
        *, theme: str = "light", width: int = 900, runs: Any = (), kernel: Callable[[Any], Any] | None = None
    ) -> Page:
        def answer(route: Route) -> None:
            route.fulfill(body=html(theme), content_type="text/html")

        page.set_viewport_size({"width": width, "height": 800})
        page.unroute_all()
        page.route("**/*", answer)
        common.kernel = kernel or _nobody
        page.goto(ADDRESS)
        if kernel is not None:
            page.evaluate("() => { window.toKernel = window.heard; }")
        if runs:
            page.evaluate("runs => setRuns(runs)", list(runs))
        return page

    page.on("pageerror", complain)
    page.on("console", note)
    yield opened
    page.remove_listener("pageerror", complain)
    page.remove_listener("console", note)
    common.kernel = _nobody
    assert complaints == []


def entry(key: int, status: str = "completed", mark: str = "●", **more: Any) -> dict[str, Any]:
    """One run as the kernel tells of it."""
    return {
        "key": str(key),
        "status": status,
        "mark": mark,
        "lead": f"boat {key}",
        "line": "3.2 s",
        "can": ["use", "code", "facts"],
        **more,
    }


def going(key: int, **more: Any) -> dict[str, Any]:
    return entry(key, "running", "◑", **{"line": "painting · 40%", "fraction": 0.4, "since": time.time() - 5, "lines": 1, "log": "a line", "can": ["cancel", "use", "facts"], "shapes": [[16000, 9000]], **more})  # fmt: skip


def clip(width: int = 640, height: int = 360, **more: Any) -> dict[str, Any]:
    return {"kind": "video/mp4", "name": "boat.mp4", "width": width, "height": height, "bytes": 20_000_000, "rate": 24.0, "frames": 25, "caption": "640×360", **more}  # fmt: skip


def jpeg() -> str:
    out = io.BytesIO()
    Image.new("RGB", (64, 36), "teal").save(out, "JPEG")
    return base64.b64encode(out.getvalue()).decode()


def sent(page: Page, do: str) -> list[dict[str, Any]]:
    """What the page has asked the kernel for."""
    return list(page.evaluate("what => kernel.sent.filter(one => one.do === what)", do))


def wanted(page: Page) -> list[list[Any]]:
    """The files that the page has asked for."""
    return [content["want"] for content in sent(page, "want")]


def bring(page: Page, *wants: list[Any]) -> None:
    """Small posters of these files arrive."""
    for want in wants:
        page.evaluate("([clip, part]) => tell({ clip, part: 0, of: 1, kind: 'image/jpeg' }, [part])", [want, jpeg()])


# With a kernel.


# Without one.


def test_a_large_clip_waits_for_a_click_and_comes_in_parts(open_page: Open, tmp_path: Path) -> None:
    """Nothing large is fetched unasked; the box stands before anything has come; parts of any order make the clip, which plays."""
    content = film(tmp_path / "clip.mp4", size=(640, 360), frames=25, noise=20).path.read_bytes()
    page = open_page(runs=[entry(1, files=[clip()])])
    frame = page.locator(".rbf-clip-frame")
    empty = frame.bounding_box()
    expect(page.locator(".rbf-clip-play")).to_have_text("20.0 MB")
    page.wait_for_function("kernel.sent.some(one => one.do === 'want')")
    unasked = wanted(page)

    bring(page, ["1", 0, 640])
    expect(frame.locator("img")).to_have_attribute("src", re.compile("^blob:"))
    page.locator(".rbf-clip-play").focus()
    page.keyboard.press("Enter")
    parts = [base64.b64encode(content[at : at + 20_000]).decode() for at in range(0, len(content), 20_000)]
    for number in reversed(range(len(parts))):
        page.evaluate(
            "([said, part]) => tell(said, [part])",
            [{"clip": ["1", 0], "part": number, "of": len(parts), "kind": "video/mp4"}, parts[number]],
        )
        if number == 1:
            expect(page.locator(".rbf-clip-play")).to_contain_text("%")
    video = page.locator("video")
    page.wait_for_function("document.querySelector('video')?.currentTime > 0.2")
    playing = video.evaluate("v => [v === document.activeElement, v.muted, v.videoWidth]")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save").click()

    assert unasked == [["1", 0, 640]]
    assert wanted(page) == [["1", 0, 640], ["1", 0]]
    assert len(parts) > 2
    assert frame.bounding_box() == empty
    assert empty is not None
    assert (round(empty["width"]), round(empty["height"])) == (569, 320)
    assert playing == [True, True, 640]
    assert download.value.suggested_filename == "boat.mp4"
    assert Path(download.value.path()).read_bytes() == content


def test_pictures_of_a_run_are_shown(open_page: Open) -> None:
    """Those that a run has made, each in its own box, as soon as they have come."""
    files = [clip(width, 36, kind="image/jpeg", name=f"boat {width}.jpg", bytes=900) for width in (64, 36)]
    page = open_page(runs=[entry(1, files=files)])
    page.wait_for_function("kernel.sent.filter(one => one.want?.[2] === 320).length === 2")

    bring(page, ["1", 0, 320], ["1", 1, 320])
    pictures = page.locator(".rbf-run-media img")
    expect(pictures).to_have_count(2)

    for picture in pictures.all():
        picture.evaluate("image => image.decode()")
    assert [picture.evaluate("image => image.naturalWidth") for picture in pictures.all()] == [64, 64]


def test_what_cannot_be_brought_or_played_is_told(open_page: Open) -> None:
    """A refusal and a file that the browser cannot play are words under the picture, and the picture stays."""
    page = open_page(runs=[entry(1, files=[clip(bytes=1000)])])
    page.wait_for_function("kernel.sent.some(one => one.do === 'want')")
    bring(page, ["1", 0, 640])
    page.wait_for_function("kernel.sent.some(one => one.want?.length === 2)")

    page.evaluate("tell({clip: ['1', 0], words: 'This file has 120.0 MB, too much to play here.'})")
    expect(page.locator(".rbf-clip-words")).to_contain_text("too much to play here")
    page.locator(".rbf-clip-play").click()
    page.evaluate("tell({clip: ['1', 0], part: 0, of: 1, kind: 'video/mp4'}, [btoa('this is no film')])")

    expect(page.locator(".rbf-clip-words")).to_contain_text("This browser cannot play it")
    expect(page.locator(".rbf-clip-frame img")).to_be_visible()


def test_news_of_one_run_leave_the_other_alone(open_page: Open) -> None:
    """Twenty messages: the player is the same element, the focus stays, and opened details stay open and get the new log."""
    page = open_page(runs=[going(1)])
    page.locator(".rbf-run-details summary").click()
    facts = {"facts": "1", "asked": [], "answered": [], "code": ""}
    page.evaluate("said => tell(said)", {**facts, "log": "first <i>"})
    page.evaluate("window.before = [...document.querySelectorAll('.rbf-run button, .rbf-run-log, .rbf-clip-frame')]")

    for number in range(20):
        page.evaluate(
            "runs => setRuns(runs)",
            [going(1, fraction=number / 20, line=f"painting · {5 * number}%", lines=2, log=f"line {number}")],
        )
    page.evaluate("said => tell(said)", {**facts, "log": "first <i>\nsecond"})

    now = "[...document.querySelectorAll('.rbf-run button, .rbf-run-log, .rbf-clip-frame')]"
    assert page.evaluate(f"{now}.length === before.length && {now}.every((one, at) => one === before[at])")
    expect(page.locator(".rbf-run-details summary")).to_be_focused()
    expect(page.locator(".rbf-run-log")).to_have_text("first <i>\nsecond")
    expect(page.locator(".rbf-run-state")).to_contain_text("painting · 95%")
    assert len(sent(page, "facts")) == 2


def test_time_passes_by_itself_on_the_clock_of_the_kernel(open_page: Open) -> None:
    """Without any message the seconds go on; a page whose clock is an hour off shows the same."""
    page = open_page(runs=[going(1, since=time.time() + 3600 - 65)])
    page.evaluate("now => tell({clock: now})", time.time() + 3600)
    state = page.locator(".rbf-run-state")

    expect(state).to_contain_text(re.compile(r"1 min [5-7] s"))
    first = state.inner_text()
    page.wait_for_function("first => document.querySelector('.rbf-run-state').innerText !== first", arg=first)

    assert sent(page, "clock") == [{"do": "clock"}]


def test_a_state_is_read_aloud_once_and_progress_is_not(open_page: Open) -> None:
    """Twenty steps of progress are silent; changes of state come at most once a second, the latest of each run."""
    page = open_page(runs=[going(1)])
    page.evaluate("""() => {
      window.spoken = [];
      new MutationObserver(() => spoken.push([performance.now(), document.querySelector('[aria-live=polite]').textContent]))
        .observe(document.querySelector('[aria-live=polite]'), {childList: true, characterData: true, subtree: true});
    }""")

    for number in range(20):
        page.evaluate("runs => setRuns(runs)", [going(1, fraction=number / 20)])
    silent = page.evaluate("spoken.length")
    page.evaluate("runs => setRuns(runs)", [entry(1)])
    page.wait_for_function("spoken.length === 1")
    page.evaluate(
        "runs => setRuns(runs)", [entry(2, "waiting", "◔", line="2 ahead in the queue", can=["use"]), entry(1)]
    )
    page.evaluate("runs => setRuns(runs)", [going(2), entry(1)])
    page.evaluate(
        "runs => setRuns(runs)", [entry(2, "failed", "✕", line="content policy violation · 1 s", error="No."), entry(1)]
    )
    page.wait_for_function("spoken.length === 2")

    (first, second) = page.evaluate("spoken")
    assert silent == 0
    assert first[1] == "Run 1 completed, 3.2 s"
    assert second[1] == "Run 2 failed, content policy violation · 1 s"
    assert second[0] - first[0] >= 990


def test_earlier_runs_are_reached_with_the_keyboard(open_page: Open) -> None:
    """One stop for all of them; arrows go along, Enter shows one large; a new run is shown by itself; the rest is counted."""
    many = [entry(key, files=[clip()]) for key in range(50, 0, -1)]
    many[-1]["older"] = 1200
    page = open_page(runs=many)
    cells, shown = page.locator(".rbf-run-cell"), page.locator(".rbf-run-caption")
    expect(cells).to_have_count(50)
    expect(shown).to_have_text("boat 50")

    cells.first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(shown).to_have_text("boat 48")
    expect(cells.nth(2)).to_be_focused()
    expect(cells.nth(2)).to_have_attribute("aria-pressed", "true")
    page.evaluate("runs => setRuns(runs)", many)
    expect(shown).to_have_text("boat 48")
    page.evaluate("runs => setRuns(runs)", [going(51), *many[:-1]])
    expect(shown).to_contain_text("boat 51")
    page.keyboard.press("End")
    expect(cells.last).to_be_focused()

    page.evaluate("runs => setRuns(runs)", many)
    expect(page.locator(".rbf-run-older")).to_have_text("1,200 older in rb.library()")
    longest = [want[2] for want in wanted(page)]
    assert set(longest) == {0, 640}
    assert longest.count(0) < 30
    assert page.locator(".rbf-run-cell[tabindex='0']").count() == 1
    assert overflow(page) == 0


def test_each_state_has_its_actions(open_page: Open) -> None:
    """Buttons send what they say, and are there only where they are of use."""
    page = open_page(runs=[going(1)])
    names = page.locator(".rbf-run-actions button")
    expect(names).to_have_text(["Cancel", "Use these inputs"])

    page.get_by_role("button", name="Cancel").click()
    page.evaluate("runs => setRuns(runs)", [going(1, line="being cancelled", can=["use"])])
    expect(names).to_have_text(["Use these inputs"])
    focused = page.evaluate("document.activeElement.textContent")
    page.evaluate("runs => setRuns(runs)", [entry(1, "cancelled", "⊘", facts=["not charged"])])
    expect(names).to_have_text(["Use these inputs", "Copy code"])
    page.evaluate(
        "runs => setRuns(runs)",
        [
            entry(
                1,
                "uncertain",
                "?",
                line="may have been paid · ≈ 53 credits",
                error="A paid request was sent.",
                can=["use", "code"],
            )
        ],
    )
    expect(page.locator(".rbf-run-state")).to_have_text("?uncertain · may have been paid · ≈ 53 credits")
    page.evaluate("runs => setRuns(runs)", [entry(2, files=[clip(), clip(360, 640)]), entry(1)])
    expect(names).to_have_text(["Use these inputs", "Copy code", "Sweep a field…", "Save all"])
    page.get_by_role("button", name="Use these inputs").click()
    expect(page.get_by_text("The form has the inputs of this run now.")).to_be_visible()
    page.get_by_role("button", name="Sweep a field…").click()
    page.wait_for_function("kernel.swept === 1")

    assert sent(page, "cancel") == [{"do": "cancel", "run": "1"}]
    assert focused == "Use these inputs"
    assert sent(page, "use") == 2 * [{"do": "use", "run": "2"}]
    page.evaluate("tell({said: 'TextToVideo: `prompt` is missing.'})")
    expect(page.locator(".rbf-run-said")).to_have_text("TextToVideo: `prompt` is missing.")


CUT = """() => [...document.querySelectorAll('.rbf-clip-play')].filter(one => one.offsetParent).flatMap(one =>
  one.scrollWidth > one.clientWidth || one.firstElementChild.offsetLeft < 0 ? [`${one.textContent} in ${one.clientWidth}`] : [])"""
"""Buttons that play, of which a part cannot be seen: on a tall clip there is little room."""


@pytest.mark.parametrize(("theme", "widths"), [("dark", [320]), *deep(("light", [900, 320]))])
def test_it_is_in_reach_of_everybody(open_page: Open, theme: str, widths: list[int]) -> None:
    """Contrast, names, keyboard and layout: under way, with several files, failed, finished; in a narrow window and a wide one."""
    several = entry(3, files=[clip(480, 480), clip(300, 600), clip(1200, 628)], facts=["seed 7", "3 files", "106 credits"])  # fmt: skip
    failed = entry(2, "failed", "✕", error="The safety check refused the word 'x' in the prompt.", blamed=[["prompt", "x" * 300]], advice="Change prompt and run it again.", can=["use", "code", "facts"])  # fmt: skip
    page = open_page(theme=theme, runs=[going(4, lead="ما هذا " * 8), several, failed, entry(1, files=[clip()])])
    pale, wide, grave = [], [], []
    for width in widths:
        page.set_viewport_size({"width": width, "height": 800})
        for key in ("4", "3", "2", "1"):
            page.locator(f".rbf-run-cell[data-run='{key}']").click()
            if key in "42":
                page.locator(".rbf-run-details summary").click()
                facts = {"facts": key, "asked": [["prompt", "x" * 300]], "answered": [], "code": "", "log": "y" * 900}
                page.evaluate("said => tell(said)", facts)
            pale += faint(page, ROOT)
            wide += [*beyond(page, ROOT), *([] if overflow(page) == 0 else [f"run {key} at {width}"])]
            wide += page.evaluate(CUT)
            grave += findings(page, ROOT, colours=False) if width == 320 else []  # Colours are measured above.
            if key in "43":
                shot(page, f"form-run-{theme}-{width}-{key}", whole=True)
    reached = tabbed(page, ROOT)

    assert grave == []
    assert pale == []
    assert wide == []
    assert (reached.missed, reached.unseen) == ([], [])
    assert len(reached.controls) > 3


def test_a_page_that_comes_back_has_everything_again(open_page: Open) -> None:
    """The runs are in the state; pictures are asked for anew; what has ended is not announced again."""
    page = open_page(runs=[entry(2, files=[clip()]), entry(1, files=[clip()])])
    expect(page.locator(".rbf-run-cell")).to_have_count(2)
    page.evaluate("ours.dispose(); ours.el.remove(); kernel.sent = []; begin()")

    expect(page.locator(".rbf-run-cell")).to_have_count(2)
    page.wait_for_function("kernel.sent.filter(one => one.do === 'want').length === 3")
    assert page.locator("[aria-live=polite]").inner_text() == ""


def test_nothing_stays_when_it_goes(open_page: Open) -> None:
    """No listener and no address of a picture; what the kernel still says goes nowhere."""
    page = open_page(runs=[going(2), entry(1, files=[clip()])])
    page.locator(".rbf-run-cell[data-run='1']").click()
    page.wait_for_function("kernel.sent.filter(one => one.do === 'want').length === 2")
    bring(page, ["1", 0, 640], ["1", 0, 0])
    held = page.evaluate("urls.size")

    page.evaluate("ours.dispose()")

    assert held == 2
    assert page.evaluate(
        "[kernel.changed.size, [...kernel.on.values()].reduce((sum, one) => sum + one.size, 0), urls.size]"
    ) == [0, 0, 0]
    page.evaluate(
        "runs => { setRuns(runs); tell({said: 'x'}); tell({log: '2', from: 0, of: 1, lines: ['x']}); }", [entry(3)]
    )
    expect(page.locator(".rbf-run-cell")).to_have_count(2)


TWIN = """
import { staleTwin } from "./form/root.ts";
const told = { twin: "a form", kept: 1 }, main = document.querySelector("main");
main.append(staleTwin({ get: (name) => told[name], on: (_, heard) => { window.heard = heard; }, off() {} }, main).el);
window.put = (kept) => { told.kept = kept; window.heard(); };
"""


def test_a_page_that_came_back_says_how_to_keep_what_is_made_in_it(offline_page: Page) -> None:
    """Lab brings later results to no output of a reloaded page: the form says so until the picture in the notebook has them."""
    page = offline_page
    picture = "<div data-rb-twin='a form' data-rb-kept=1></div>"
    page.set_content(f"<div>{picture}<main></main></div><script type=module>{bundle(TWIN)}</script>")
    note = page.get_by_text("Run the cell again to keep the newest results")

    expect(note).to_be_hidden()
    page.evaluate("put(2)")
    expect(note).to_be_visible()
    page.evaluate("document.querySelector('[data-rb-kept]').dataset.rbKept = 2")
    expect(note).to_be_hidden()
