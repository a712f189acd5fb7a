"""The forms of all four models in a real JupyterLab: filled by keys, given pictures in every way, run, cancelled, refused.

Each a second time, for `make deep`: every part has a test of its own on a bare page or without one, and all four forms are
filled in a JupyterLab by `test_form_guest`, where one of them runs.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.lab import Lab, OpenNotebook
from tests.browser.looks import playback, shot
from tests.support import png

pytestmark = [pytest.mark.browser, pytest.mark.deep]

START = """\
import reelbook as rb
client = rb.connect(library={library!r})
made = rb.run(rb.TextToVideo(prompt="made before", num_frames=9, resolution="480p", seed=1))
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


@pytest.fixture(scope="module")
def forms(lab: Lab, chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forms]:
    """All four forms in one notebook, whose library holds a run that was made before."""
    library = str(tmp_path_factory.mktemp("models") / "library")
    path = lab.write("models", START.format(library=library), *(f"forms[{name!r}]" for name in TITLES))
    with patient(), OpenNotebook(lab, chromium, path, height=1600) as notebook:
        # The first listener makes Playwright catch dialogs, which takes a moment; one that stays is there for all of them.
        notebook.page.on("filechooser", lambda _: None)
        notebook.open()
        notebook.run_all()
        expect(notebook.page.locator(".rbf")).to_have_count(4, timeout=PATIENCE)
        yield Forms(notebook)


def test_image_to_video_is_filled_by_keys(forms: Forms) -> None:
    """The picture by the dialog, words, a choice by arrows, a setting that was folded away; then it runs and plays."""
    keyboard, form = forms.page.keyboard, forms["moving"]
    forms.begin("moving")

    forms.choose(form.locator("input[type=file]"), file("boat.png", png(160, 90)))
    expect(form.locator(".rbf-image-words")).to_contain_text("boat.png")
    forms.tab_to(form.locator("[data-field=prompt] textarea"))
    keyboard.type("slowly closer")
    forms.tab_to(form.locator("[data-field=duration] input:checked"))
    keyboard.press("ArrowRight")
    forms.wait("forms['moving'].draft['duration']", "10")
    keyboard.press("ArrowLeft")
    forms.tab_to(form.locator(".rbf-fold > summary"))
    keyboard.press("Enter")
    forms.tab_to(form.locator("[data-field=cfg_scale] input[type=text]"))
    keyboard.press("Control+A")
    keyboard.type("0.7")
    forms.wait(
        "[forms['moving'].draft[name] for name in ('prompt', 'duration', 'cfg_scale')]", ["slowly closer", "5", 0.7]
    )
    forms.run_by_key("moving")

    clip = playback(form.locator("video"))
    shot(forms.page, "form-moving-run")
    assert clip["error"] is None
    assert clip["ready"] >= 2
    assert clip["advanced"] > 0


def test_smart_resize_is_filled_by_keys(forms: Forms) -> None:
    """A size is typed, another one is named; the pictures that come are seen."""
    keyboard, form = forms.page.keyboard, forms["resize"]
    forms.begin("resize")

    forms.choose(form.locator("input[type=file]"), file("boat.png", png(160, 90)))
    forms.tab_to(form.locator(".rbf-size-add"))
    keyboard.type("120 x 160")
    keyboard.press("Enter")
    keyboard.type("leaderboard")
    keyboard.press("Enter")
    forms.wait("[str(size) for size in forms['resize'].value.target_sizes]", ["120x160", "728x90"])
    forms.tab_to(form.get_by_role("button", name="Move leaderboard up"))
    keyboard.press("Enter")
    forms.wait("[str(size) for size in forms['resize'].value.target_sizes]", ["728x90", "120x160"])
    forms.run_by_key("resize")

    pictures = form.locator(".rbf-run-media img")
    expect(pictures).to_have_count(2)
    for picture in pictures.all():
        picture.scroll_into_view_if_needed()
        expect(picture).to_have_js_property("complete", True)
        picture.evaluate("image => image.decode()")
    shot(forms.page, "form-resize-run")
    assert all(picture.evaluate("image => image.naturalWidth") > 0 for picture in pictures.all())


def order(forms: Forms) -> list[tuple[str, int]]:
    """The pictures of the timeline as the kernel has them, and how long each is held."""
    told = "[(repr(frame.url)[20:-2], frame.frames) for frame in forms['reel'].value.images]"
    return [(f"sha256:{sha256}", held) for sha256, held in forms.ask(told)]


def test_images_to_video_is_filled_by_keys(forms: Forms) -> None:
    """Pictures by the dialog, one moved and held by keys alone; the video plays."""
    keyboard, form = forms.page.keyboard, forms["reel"]
    one, two, three = frames("teal", "navy", "maroon")
    forms.begin("reel")

    files = [file(f"frame {place}.png", content) for place, content in enumerate((one, two, three))]
    forms.choose(form.locator("input[type=file]"), *files)
    tiles = form.locator(".rbf-tl-tile")
    expect(tiles).to_have_count(3)
    expect(form.locator(".rbf-tl-total")).to_have_text("3 pictures · 72 frames · 3 s")
    # The strip stands before the button that filled it.
    while not form.locator(".rbf-tl-tile:focus").count():
        keyboard.press("Shift+Tab")
    keyboard.press("Home")
    keyboard.press("Alt+ArrowRight")
    forms.tab_to(form.get_by_label("Hold this picture, in frames"))
    keyboard.press("Control+A")
    keyboard.type("6")
    forms.tab_to(form.get_by_label("Hold this picture, in seconds"))
    keyboard.press("Control+A")
    keyboard.type("0.5")
    expect(form.locator(".rbf-tl-total")).to_have_text("3 pictures · 60 frames · 2.5 s")
    forms.wait("[frame.frames for frame in forms['reel'].value.images]", [24, 12, 24])
    assert order(forms) == [(named(two), 24), (named(one), 12), (named(three), 24)]
    forms.run_by_key("reel")

    clip = playback(form.locator("video"))
    shot(forms.page, "form-reel-run")
    assert clip["error"] is None
    assert clip["ready"] >= 2
    assert clip["advanced"] > 0


def test_nothing_complained(forms: Forms) -> None:
    """After all of that neither the page's console nor a cell has an error, and there are as many cells as before."""
    assert forms.notebook.complaints == []
    assert forms.notebook.cell_errors() == []
    assert forms.page.locator(".jp-Cell").count() == 5
