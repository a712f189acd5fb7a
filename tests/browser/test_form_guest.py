"""Forms as guests of a JupyterLab: they fit its width and colours, and leave its keys alone."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.axe import CONTROLS, FOCUSED, beyond, faint, findings
from tests.browser.lab import Lab, OpenNotebook
from tests.browser.looks import playback, shot
from tests.browser.test_form_models import (
    GIVEN,
    PATIENCE,
    START,
    TITLES,
    Forms,
    file,
    frames,
    named,
    order,
    patient,
)
from tests.support import deep

pytestmark = pytest.mark.browser

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


@pytest.fixture(scope="module")
def forms(lab: Lab, chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forms]:
    """All four forms in one notebook."""
    library = str(tmp_path_factory.mktemp("guest") / "library")
    start = START.format(library=library).replace("made = ", "# made = ")
    path = lab.write("guest", start, *(f"forms[{name!r}]" for name in TITLES))
    with patient(), OpenNotebook(lab, chromium, path, height=3000) as notebook:
        notebook.open()
        for place in range(5):
            notebook.run_cell(place)
        expect(notebook.page.locator(".rbf")).to_have_count(4, timeout=PATIENCE)
        forms = Forms(notebook)
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
    # What misses the only place for it is caught all the same.
    forms["moving"].locator(".rbf-foot").evaluate(GIVEN, ["drop", "boat.png", base64.b64encode(one).decode()])
    files = [file(f"frame {place}.png", content) for place, content in enumerate((one, two, three))]
    forms["reel"].locator("input[type=file]").set_input_files(files)
    forms["resize"].locator(".rbf-size-add").fill("1080x1920, 300x600, 9x9, ")
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
    """A picture that was dropped beside its field, and those of the dialog in their order; and the clip of these."""
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

    assert tried >= ({"text": 40, "moving": 12, "resize": 25, "reel": 20}[name] if whole else 10)
    assert whole or {"BUTTON", "INPUT", "TEXTAREA"} <= {kind.partition(" ")[0] for kind in kinds}
