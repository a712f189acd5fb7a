"""The forms of all four models as guests of a JupyterLab: they fit its width and colours, and leave its keys alone.

For `make deep` each is filled and run by keys alone: every part has a test of its own on a bare page or without one.
"""

from __future__ import annotations

import ast
import base64
import hashlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.axe import CONTROLS, FOCUSED, beyond, faint, findings
from tests.browser.lab import Lab, OpenNotebook
from tests.browser.looks import playback, shot
from tests.support import deep, png

pytestmark = pytest.mark.browser

START = """\
import reelbook as rb
client = rb.connect(library={library!r})
kinds = {{"text": rb.TextToVideo, "moving": rb.ImageToVideo, "resize": rb.SmartResize, "reel": rb.ImagesToVideo}}
forms = {{name: rb.form(kind) for name, kind in kinds.items()}}"""
TITLES = {"text": "Text to video", "moving": "Image to video", "resize": "Smart resize", "reel": "Images to video"}
PATIENCE = 60_000
"""Milliseconds for what takes one second here."""

# What an expression is in the kernel, asked beside the cells so that the notebook stays as it is.
ASKED = """async expression => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  const { content } = await kernel.requestExecute({code: '', user_expressions: {asked: `repr((${expression}))`}, store_history: false}).done;
  const told = content.user_expressions.asked;
  return told.status === 'ok' ? {is: told.data['text/plain']} : {error: `${told.ename}: ${told.evalue}`};
}"""

# What dragging a file or pressing Ctrl+V gives to a page.
GIVEN = """(element, [way, name, content]) => {
  const data = new DataTransfer();
  data.items.add(new File([Uint8Array.from(atob(content), letter => letter.charCodeAt(0))], name, {type: 'image/png'}));
  const how = {bubbles: true, cancelable: true};
  if (way === 'paste') element.focus();
  if (way === 'paste') element.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, ...how}));
  else for (const kind of ['dragenter', 'dragover', 'drop']) element.dispatchEvent(new DragEvent(kind, {dataTransfer: data, ...how}));
}"""


# Where the notebook stands: what a key that was meant for a form must not change.
STANDING = """() => {
  const panel = window.jupyterapp.shell.currentWidget, { content, sessionContext } = panel;
  return {
    cells: [...content.model.cells].map(cell => [cell.id, cell.type, cell.sharedModel.getSource()]), mode: content.mode, active: content.activeCellIndex,
    dialogs: document.querySelectorAll('.jp-Dialog').length, kernel: sessionContext.session.kernel.id, panel: panel.id,
    folded: document.querySelectorAll('.jp-mod-outputsScrolled, .jp-Placeholder').length, panels: document.querySelectorAll('.lm-DockPanel-tabBar .lm-TabBar-tab').length,
  };
}"""
FOCUSABLE = "button:not(:disabled), a[href], input:not(:disabled), select, textarea, summary, video, [tabindex]"

# The controls in a part of a page, or the first one of each kind, and what kinds there are.
TRIED = """(root, [selector, whole]) => {
  const kinds = new Set();
  window.tried = [...root.querySelectorAll(selector)].filter(e => {
    const kind = [e.tagName, e.type, e.getAttribute('role'), e.classList[0], e.closest('[data-field]') !== null].join(' ');
    // Some are folded away, and take no focus.
    e.focus();
    if (e !== document.activeElement || !whole && kinds.has(kind)) return false;
    return kinds.add(kind);
  });
  return [...kinds];
}"""
FOCUS = (
    "number => { const e = window.tried[number]; if (e.isConnected) e.focus(); return e === document.activeElement; }"
)

# A player's ring is drawn by the box that cuts its corners.
RINGED = "getComputedStyle(document.activeElement.closest('.rbf-clip-frame') ?? document.body).outlineStyle === 'solid'"


@dataclass(frozen=True)
class Forms:
    """A notebook with a form for each model, under `forms[name]` in its kernel."""

    notebook: OpenNotebook

    @property
    def page(self) -> Page:
        return self.notebook.page

    def __getitem__(self, name: str) -> Locator:
        return self.page.locator(f".rbf[aria-label='{TITLES[name]}']")

    def run_button(self, name: str) -> Locator:
        """The button that sends what stands in a form."""
        return self[name].locator(".rbf-foot .rbf-primary")

    def ask(self, expression: str) -> Any:
        """What the kernel has, as a value made of plain Python."""
        told = self.page.evaluate(ASKED, expression)
        assert "is" in told, told["error"]
        # A text in a text: what comes is shown as a cell would show it.
        return ast.literal_eval(ast.literal_eval(told["is"]))

    def wait(self, expression: str, value: Any) -> None:
        """Ask until it is so: what is typed reaches the kernel a moment later."""
        wanted = repr(repr(value))
        for _ in range(200):
            told = self.page.evaluate(ASKED, expression)
            if told.get("is") == wanted:
                return
            self.page.wait_for_timeout(100)
        raise AssertionError(f"{expression} is {told}, not {value!r}")

    def tab_to(self, control: Locator) -> None:
        """Press Tab until this has the focus."""
        for _ in range(60):
            if control.evaluate("element => element === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab does not lead to {control}")

    def choose(self, control: Locator, *files: Any) -> None:
        """Open the dialog by a key, and take these files there."""
        self.tab_to(control)
        with self.page.expect_file_chooser() as chooser:
            self.page.keyboard.press("Enter")
        chooser.value.set_files(list(files))

    def run_by_key(self, name: str) -> None:
        """Tab to the button and press it; comes back when the run is done."""
        run = self.run_button(name)
        expect(run).to_be_enabled()
        self.tab_to(run)
        self.page.keyboard.press("Enter")
        expect(self[name].locator(".rbf-run-state")).to_contain_text("completed", timeout=PATIENCE)

    def begin(self, name: str) -> None:
        """Put the focus where the form begins; from there on, keys lead."""
        self[name].locator("input, textarea").first.focus()


def file(name: str, content: bytes) -> Any:
    """A file as a dialog gives it."""
    return {"name": name, "mimeType": "image/png", "buffer": content}


def named(content: bytes) -> str:
    """What stands for a picture in a draft."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def frames(*colours: str) -> list[bytes]:
    """Pictures that one can tell apart."""
    return [png(160, 90, colour) for colour in colours]


@contextmanager
def patient() -> Iterator[None]:
    """Wait for everything as long as a slow machine needs."""
    expect.set_options(timeout=PATIENCE / 2)
    yield
    expect.set_options(timeout=5_000)


@contextmanager
def all_forms(lab: Lab, chromium: Browser, name: str, height: int) -> Iterator[Forms]:
    """All four forms in one notebook."""
    start = START.format(library=str(lab.root / f"{name}-library"))
    path = lab.write(name, start, *(f"forms[{name!r}]" for name in TITLES))
    with patient(), OpenNotebook(lab, chromium, path, height=height) as notebook:
        # The first listener makes Playwright catch dialogs, which takes a moment; one that stays is there for all of them.
        notebook.page.on("filechooser", lambda _: None)
        notebook.open()
        for place in range(5):
            notebook.run_cell(place)
        expect(notebook.page.locator(".rbf")).to_have_count(4, timeout=PATIENCE)
        yield Forms(notebook)


@pytest.fixture(scope="module")
def forms(lab: Lab, chromium: Browser) -> Iterator[Forms]:
    """All four forms, filled."""
    with all_forms(lab, chromium, "models", 3000) as forms:
        filled(forms)
        yield forms


def filled(forms: Forms) -> None:
    """Everything that a form can show at once: pictures, entries of lists, what is folded away, and a run."""
    one, two, three = frames("teal", "navy", "maroon")
    for name in ("text", "moving", "resize"):
        forms[name].locator(".rbf-fold > summary").click()
    forms["text"].get_by_role("textbox", name="Prompt").first.fill("a paper boat on a rainy street")
    forms["moving"].locator("[data-field=prompt] textarea").fill("slowly closer")
    forms["resize"].locator("input[type=file]").set_input_files(file("boat.png", one))
    # What misses the place for it opens nothing.
    forms["moving"].locator(".rbf-foot").evaluate(GIVEN, ["drop", "miss.png", base64.b64encode(one).decode()])
    forms["moving"].locator(".rbf-image").evaluate(GIVEN, ["drop", "boat.png", base64.b64encode(one).decode()])
    files = [file(f"frame {place}.png", content) for place, content in enumerate((one, two, three))]
    forms["reel"].locator("input[type=file]").set_input_files(files)
    for size in ("1080x1920", "300x600", "9x9"):
        forms["resize"].get_by_role("button", name="Add to Target sizes").click()
        forms["resize"].locator(".rbf-size input").last.fill(size)
    forms["text"].get_by_role("button", name="Add to LoRAs").click()
    expect(forms["reel"].locator(".rbf-tl-tile")).to_have_count(3)
    for name in ("moving", "resize"):
        expect(forms[name].locator(".rbf-image-words")).to_contain_text("boat.png")
    forms.wait("[len(one.draft) for one in forms.values()]", [2, 2, 2, 1])
    forms.run_button("reel").click()
    expect(forms["reel"].locator("video")).to_be_visible()


def reached(forms: Forms, name: str) -> list[str]:
    """What Tab does not lead to within a form, and what has the focus there without showing it."""
    root = f".rbf[aria-label='{TITLES[name]}']"
    controls: list[str] = forms.page.evaluate(CONTROLS, root)
    # Of buttons that exclude each other only the chosen one is a stop; arrows lead to the others.
    others = (
        forms[name]
        .locator("input[type=radio]:not(:checked)")
        .evaluate_all("all => all.map(e => Number(e.dataset.control))")
    )
    seen: dict[int, bool] = {}
    forms[name].locator("[data-control='0']").focus()
    now = {"place": 0, "isSeen": True}
    # A player has several stops of its own inside.
    for _ in range(len(controls) + 16):
        if not now:
            break
        seen.setdefault(now["place"], bool(now["isSeen"] or forms.page.evaluate(RINGED)))
        forms.page.keyboard.press("Tab")
        now = forms.page.evaluate(FOCUSED)
    forms[name].locator("[data-control]").evaluate_all("all => all.forEach(e => delete e.dataset.control)")
    missed = [f"missed: {control}" for place, control in enumerate(controls) if place not in (*seen, *others)]
    return [*missed, *(f"unseen: {controls[place]}" for place, is_seen in seen.items() if not is_seen)]


def test_forms_of_several_models_share_a_page(forms: Forms) -> None:
    """Each kind of form is a script of its own: no two elements have the same name, and each choice shows its default."""
    twice = forms.page.evaluate(
        """() => {
          const ids = [...document.querySelectorAll('.rbf [id]')].map(element => element.id);
          return ids.filter((id, place) => ids.indexOf(id) !== place);
        }"""
    )
    chosen = [form.locator("input[type=radio]:checked").count() for form in map(forms.__getitem__, TITLES)]

    assert twice == []
    assert chosen == [2, 1, 2, 0]  # Shape and resolution; the length; the least canvas and the format.


def test_what_was_given_is_the_value_and_what_was_run_plays(forms: Forms) -> None:
    """A picture that was dropped on its field, and those of the dialog in their order; and the clip of these."""
    one, two, three = map(named, frames("teal", "navy", "maroon"))

    dropped = forms.ask("repr(forms['moving'].value.image_url)")
    clip = playback(forms["reel"].locator("video"))

    assert dropped == f"Image.from_library('{one.removeprefix('sha256:')}')"
    assert order(forms) == [(one, 24), (two, 24), (three, 24)]
    assert clip["error"] is None
    assert clip["advanced"] > 0
    assert forms.notebook.complaints == []
    assert forms.notebook.cell_errors() == []


# A window of 320 pixels, of which Lab leaves 216 to an output; and one of 1280 that is enlarged to 200 %, which is one of 640.
@pytest.mark.parametrize(
    ("width", "size", "tabbed"), [(320, "narrow", ["text"]), *deep((320, "narrow", TITLES), (640, "large", TITLES))]
)
def test_every_form_fits_a_narrow_window(forms: Forms, width: int, size: str, tabbed: Collection[str]) -> None:
    """Nothing sticks out or is cut off sideways, every control is still reached by Tab, and nothing is grave for axe or faint."""
    page = forms.page
    forms.notebook.resize(width, 3000)
    try:
        sticking = beyond(page, ".rbf")
        scrolled = page.evaluate(
            "[...document.querySelectorAll('.jp-OutputArea-output:has(.rbf)')].map(output => output.scrollWidth - output.clientWidth)"
        )
        lost = [found for name in tabbed for found in reached(forms, name)]
        grave = [*findings(page, ".rbf", colours=False), *faint(page, ".rbf")]
        for name in TITLES:
            shot(forms[name], f"form-{name}-{size}")
    finally:
        forms.notebook.resize(1200, 3000)

    assert sticking == []
    assert scrolled == [0] * 4
    assert grave == []
    assert lost == []


def command_mode(forms: Forms) -> Any:
    """Put the notebook into the mode in which single letters are its commands; says where it stands."""
    forms.page.evaluate("window.jupyterapp.shell.currentWidget.content.mode = 'command'")
    return forms.page.evaluate(STANDING)


@pytest.mark.parametrize(("name", "whole"), [(next(iter(TITLES)), False), *deep(*[(name, True) for name in TITLES])])
def test_no_key_leaves_a_form(forms: Forms, name: str, whole: bool) -> None:
    """From a control of each kind, or from every one that takes the focus: what would insert, delete, change or restart something in the notebook does not."""
    cell = 1 + list(TITLES).index(name)
    forms.page.locator(".jp-Cell").nth(cell).locator(".jp-InputPrompt").click()
    before = command_mode(forms)
    tried = 0
    kinds = forms[name].evaluate(TRIED, [FOCUSABLE, whole])

    for number in range(forms.page.evaluate("window.tried.length")):
        # What is typed into one may take others away.
        if not forms.page.evaluate(FOCUS, number):
            continue
        forms.page.keyboard.type("bdd00am")
        tried += 1
        assert forms.page.evaluate(STANDING) == before, forms.page.evaluate(
            f"window.tried[{number}].outerHTML.slice(0, 200)"
        )

    assert tried >= ({"text": 30, "moving": 8, "resize": 25, "reel": 16}[name] if whole else 9)
    assert whole or {"BUTTON", "INPUT", "TEXTAREA"} <= {kind.partition(" ")[0] for kind in kinds}


def order(forms: Forms) -> list[tuple[str, int]]:
    """The pictures of the timeline as the kernel has them, and how long each is held."""
    told = "[(repr(frame.url)[20:-2], frame.frames) for frame in forms['reel'].value.images]"
    return [(f"sha256:{sha256}", held) for sha256, held in forms.ask(told)]


@pytest.fixture(scope="module")
def empty(lab: Lab, chromium: Browser) -> Iterator[Forms]:
    """All four forms, with nothing in them."""
    with all_forms(lab, chromium, "by-keys", 1600) as forms:
        yield forms


@pytest.mark.deep
def test_image_to_video_is_filled_by_keys(empty: Forms) -> None:
    """The picture by the dialog, words, a choice by arrows, a setting that was folded away; then it runs and plays."""
    keyboard, form = empty.page.keyboard, empty["moving"]
    empty.begin("moving")

    empty.choose(form.locator("input[type=file]"), file("boat.png", png(160, 90)))
    expect(form.locator(".rbf-image-words")).to_contain_text("boat.png")
    empty.tab_to(form.locator("[data-field=prompt] textarea"))
    keyboard.type("slowly closer")
    empty.tab_to(form.locator("[data-field=duration] input:checked"))
    keyboard.press("ArrowRight")
    empty.wait("forms['moving'].draft['duration']", "10")
    keyboard.press("ArrowLeft")
    empty.tab_to(form.locator(".rbf-fold > summary"))
    keyboard.press("Enter")
    empty.tab_to(form.locator("[data-field=cfg_scale] input[type=text]"))
    keyboard.press("Control+A")
    keyboard.type("0.7")
    empty.wait(
        "[forms['moving'].draft[name] for name in ('prompt', 'duration', 'cfg_scale')]", ["slowly closer", "5", 0.7]
    )
    empty.run_by_key("moving")

    clip = playback(form.locator("video"))
    shot(empty.page, "form-moving-run")
    assert clip["error"] is None
    assert clip["ready"] >= 2
    assert clip["advanced"] > 0


@pytest.mark.deep
def test_smart_resize_is_filled_by_keys(empty: Forms) -> None:
    """A size is typed, another one is named; the pictures that come are seen."""
    keyboard, form = empty.page.keyboard, empty["resize"]
    empty.begin("resize")

    empty.choose(form.locator("input[type=file]"), file("boat.png", png(160, 90)))
    for size in ("120 x 160", "leaderboard"):
        empty.tab_to(form.get_by_role("button", name="Add to Target sizes"))
        keyboard.press("Enter")
        keyboard.type(size)
    empty.wait("[str(size) for size in forms['resize'].value.target_sizes]", ["120x160", "728x90"])
    empty.run_by_key("resize")

    pictures = form.locator(".rbf-run-media img")
    expect(pictures).to_have_count(2)
    for picture in pictures.all():
        picture.scroll_into_view_if_needed()
        expect(picture).to_have_js_property("complete", True)
        picture.evaluate("image => image.decode()")
    shot(empty.page, "form-resize-run")
    assert all(picture.evaluate("image => image.naturalWidth") > 0 for picture in pictures.all())


@pytest.mark.deep
def test_images_to_video_is_filled_by_keys(empty: Forms) -> None:
    """Pictures by the dialog, one moved and held by keys alone; the video plays."""
    keyboard, form = empty.page.keyboard, empty["reel"]
    one, two, three = frames("teal", "navy", "maroon")
    empty.begin("reel")

    files = [file(f"frame {place}.png", content) for place, content in enumerate((one, two, three))]
    empty.choose(form.locator("input[type=file]"), *files)
    tiles = form.locator(".rbf-tl-tile")
    expect(tiles).to_have_count(3)
    expect(form.locator(".rbf-tl-total")).to_have_text("3 pictures · 72 frames · 3 s")
    # The strip stands before the button that filled it.
    while not form.locator(".rbf-tl-tile:focus").count():
        keyboard.press("Shift+Tab")
    keyboard.press("Home")
    keyboard.press("Alt+ArrowRight")
    empty.tab_to(form.get_by_label("Hold this picture, in frames"))
    keyboard.press("Control+A")
    keyboard.type("12")
    expect(form.locator(".rbf-tl-total")).to_have_text("3 pictures · 60 frames · 2.5 s")
    empty.wait("[frame.frames for frame in forms['reel'].value.images]", [24, 12, 24])
    assert order(empty) == [(named(two), 24), (named(one), 12), (named(three), 24)]
    empty.run_by_key("reel")

    clip = playback(form.locator("video"))
    shot(empty.page, "form-reel-run")
    assert clip["error"] is None
    assert clip["ready"] >= 2
    assert clip["advanced"] > 0


@pytest.mark.deep
def test_nothing_complained(empty: Forms) -> None:
    """After all of that neither the page's console nor a cell has an error, and there are as many cells as before."""
    assert empty.notebook.complaints == []
    assert empty.notebook.cell_errors() == []
    assert empty.page.locator(".jp-Cell").count() == 5
