"""A form without a page: it reads, sets, follows, fills from rows, costs little, and leaves nothing behind."""

from __future__ import annotations

import gc
import json
import threading
import weakref
from pathlib import Path
from typing import Any

import ipywidgets
import pandas as pd
import pytest

import reelbook as rb
from reelbook.errors import InvalidInput, ReelbookError
from reelbook.widgets.forms.form import CLOSED
from reelbook.widgets.forms.runs import MOVED
from tests.support import Served, png
from tests.widgets.forms.described import KINDS, described
from tests.widgets.forms.page import Page, edit

BOAT = rb.TextToVideo(prompt="a paper boat", num_frames=49, seed=7)


@pytest.fixture
def page() -> Any:
    page = Page(rb.TextToVideo)
    yield page
    page.form.close()


def test_a_form_can_begin_with_inputs() -> None:
    """`rb.form(boat)` shows the boat; a class or an id begins empty, and says what it needs."""
    full, empty = rb.form(BOAT), rb.form("svc/text-to-video-13b-distilled")

    assert full.value == BOAT
    assert full.draft == {"prompt": "a paper boat", "num_frames": 49, "seed": 7}
    with pytest.raises(InvalidInput, match="prompt"):
        _ = empty.value
    assert empty.state["price"]["credits"] == 53
    full.close()
    empty.close()


def test_what_is_no_model_is_refused_in_words() -> None:
    """The sentence says what a form is made for."""
    with pytest.raises(ReelbookError, match="A form is made for a model"):
        rb.form(int)  # type: ignore[arg-type]


def test_a_form_drives_an_interactive_output() -> None:
    """As any other widget does."""
    form = rb.form(BOAT)
    seen: list[Any] = []

    ipywidgets.interactive_output(lambda boat: seen.append(boat.seed), {"boat": form})
    form.edit("seed", 8)

    assert seen == [7, 8]
    assert ipywidgets.VBox([form]).children == (form,)
    form.close()


def test_a_form_is_filled_from_a_row(page: Page) -> None:
    """Columns of the outcome are left out, and so is what is empty; a row of another model is refused."""
    row = {
        "prompt": "a boat",
        "seed": 7.0,
        "num_frames": 49,
        "negative_prompt": None,
        "status": "completed",
        "credits": 53,
    }
    frame = pd.DataFrame([{**row, "model": rb.TextToVideo.endpoint_id}])

    page.form.link(frame.iloc[0])

    assert page.form.value == rb.TextToVideo(prompt="a boat", seed=7, num_frames=49)
    with pytest.raises(ReelbookError, match="svc/smart-resize"):
        page.form.link({**row, "model": "svc/smart-resize"})
    with pytest.raises(ReelbookError, match="Nothing of this row"):
        page.form.link({"a": 1})


def test_columns_of_a_table_are_not_the_fields_of_their_names() -> None:
    """A model's own `credits` and `model` stand under `input_…` in a table; in what somebody wrote they are the fields."""
    fields = {"credits": {"type": "integer"}, "model": {"enum": ["small", "large"]}, "seed": {"type": "integer"}}
    kind = described(fields)
    page = Page(kind)
    base = kind(credits=7, model="large", seed=1)

    planned = page.form.link(rb.sweep(base, {"seed": [1, 2]}).frame.iloc[1]).value
    told = page.form.link({"model": kind.endpoint_id, "input_model": "small", "credits": 53, "input_credits": 3}).value
    written = page.form.link({"model": "large", "credits": 53}).value

    assert planned == kind(credits=7, model="large", seed=2)
    assert told == kind(credits=3, model="small")
    assert written == kind(credits=53, model="large")
    page.form.close()


def test_a_row_brings_its_pictures_back(shared: Served, tmp_path: Path) -> None:
    """From the table of a sweep and from the library alike: pictures go by their content, also those inside of a list."""
    two = [png(16, 16), rb.Frame(url=png(16, 16, "brown"), frames=3)]
    bases = (rb.ImagesToVideo(images=two), rb.SmartResize(image_url=png(64, 64), target_sizes=["16x16"]))
    served = shared.with_own_account()
    with rb.connect(served.base_url, api_key=served.key, library=tmp_path / "library"):
        for base in bases:
            table = rb.sweep(base).run(budget=1000, progress=False)
            for row in (table.iloc[0], rb.library().frame.iloc[-1]):
                form = rb.form(type(base)).link(row)
                again = rb.run(form.value)
                form.close()
                assert again.status == "completed"
                # Without a seed another run is another result, so only the pure one is found again.
                assert again.from_library is (type(base) is rb.ImagesToVideo)


def test_the_first_problem_is_the_first_on_the_page(page: Page) -> None:
    """What Run waits for is told from the top of the form down, however the model lists its fields."""
    page.edit("loras", [{}])
    page.edit("num_frames", 5)
    listed = [*rb.TextToVideo.model_fields]
    places = [problem["at"][0] for problem in page.form.state["problems"]]

    assert listed.index("loras") < listed.index("num_frames")
    assert places == ["prompt", "num_frames", "loras"]
    assert page.form.state["why"] == page.form.state["problems"][0]["words"]


def test_the_price_follows_what_is_typed(page: Page) -> None:
    """Also while something else is missing."""
    page.edit("enable_detail_pass", True)

    assert page.form.state["price"] == {
        "credits": 106, "told": "≈ 106 credits", "lines": [["base", "53"], ["detail pass", "× 2.0"]],
        "source": "estimated from the catalog",
    }  # fmt: skip


def test_a_closed_form_leaves_nothing_behind() -> None:
    """Five forms opened, used and closed: no thread, no widget, no object stays."""
    ipywidgets.Widget.close_all()
    threads, kept = set(threading.enumerate()), []

    for number in range(5):
        page = Page(rb.TextToVideo)
        page.edit("prompt", f"boat {number}")
        kept.append(weakref.ref(page.form))
        page.form.close()
    del page
    gc.collect()

    assert [one for one in kept if one() is not None] == []
    assert set(threading.enumerate()) <= threads


def test_a_message_that_makes_no_sense_changes_nothing(page: Page) -> None:
    """Whatever a page sends, the form stays what it is."""
    before = page.form.state
    odd: list[Any] = [
        None,
        7,
        [],
        {},
        {"do": 1},
        {"do": "edit"},
        {"do": "edit", "view": "v", "n": "1", "draft": {}},
        {"do": "edit", "view": "v", "n": 1, "draft": [3]},
        {"do": "close"},
    ]

    for content in odd:
        page.form._handle_custom_msg(content, [])

    assert page.form.state == before


@pytest.mark.parametrize("who", ["the same page", "the price"])
def test_a_price_that_nobody_has_seen_is_not_paid(page: Page, who: str) -> None:
    """A press says which price it has seen; whatever became dearer since, by its own last edit too, waits for another press."""
    pressed, sent = listen(page)
    page.edit("prompt", "a boat")
    seen = page.form.state["price"]["credits"]
    typed: dict[str, Any] = {"prompt": "a boat"}

    if who == "the same page":
        typed["enable_detail_pass"] = True
    else:
        # A fake, because nobody is connected here.
        dearer = {**page.form.state["price"], "credits": 99, "told": "99 credits"}
        page.form._pricer.price = lambda value: dearer  # type: ignore[method-assign]
    page.tell({**edit("v", 8, **typed), "do": "run", "credits": seen})
    refused = list(pressed)
    price = page.form.state["price"]
    page.tell({**edit("v", 9, **typed), "do": "run", "credits": price["credits"]})

    assert refused == []
    assert sent[0] == {"said": MOVED.format(price=price["told"])}
    assert len(pressed) == 1


def test_a_press_that_a_later_edit_overtakes_runs_nothing(page: Page) -> None:
    """Two threads may handle one page's messages: what was pressed is not on the page any more."""
    pressed, sent = listen(page)
    page.tell(edit("v", 7, prompt="later"))

    page.tell({**edit("v", 6, prompt="pressed"), "do": "run"})

    assert pressed == []
    assert "has changed since Run was pressed" in sent[0]["said"]


def test_a_draft_is_put_back_as_it_was() -> None:
    """In another form, such as that of a studio after a restart: what was typed as JSON is not encoded once more."""
    kind = described({"weight": {"anyOf": [{"type": "number"}, {"type": "string"}]}, "extra": {}})
    before, after = Page(kind), Page(kind)
    before.show({"weight": 0.5, "extra": {"a": 1}})

    assert after.form.restore({**before.form.draft, "gone": 1}) == ["weight", "extra"]

    assert after.form.value == before.form.value
    assert after.form.value.weight == 0.5


@pytest.mark.parametrize("who", ["python", "another view"])
def test_a_press_runs_what_its_page_displays(page: Page, who: str) -> None:
    """What somebody else has changed meanwhile, of which the page has not heard, is not run."""
    pressed, _ = listen(page)
    page.edit("prompt", "a boat")
    seen = page.form.state["price"]["credits"]

    if who == "python":
        page.form.value = rb.TextToVideo(prompt="another boat", enable_detail_pass=True)
    else:
        page.tell(edit("other", 1, enable_detail_pass=True))
    page.tell({**edit("v", 8, prompt="a boat"), "do": "run", "credits": seen})

    assert len(pressed) == 1
    assert page.form.running.entries[-1].value == rb.TextToVideo(prompt="a boat")


def listen(page: Page) -> tuple[list[Any], list[Any]]:
    """What the form starts, and what it says to the page."""
    pressed: list[Any] = []
    sent: list[Any] = []
    page.form.in_background = lambda name, function: pressed.append(name)  # type: ignore[method-assign]
    page.form.send = lambda content, buffers=None: sent.append(content)  # type: ignore[method-assign]
    return pressed, sent


def test_names_that_cannot_be_sent_do_not_silence_a_form() -> None:
    """Half a sign in the name of a further field, as a page can send it, is told as something that can be sent."""
    page = Page(KINDS["training_job"])

    page.form._handle_custom_msg(edit("v", 1, **{"\ud83d": "["}), [])

    json.dumps(page.form.state, ensure_ascii=False, allow_nan=False).encode()
    assert ["�"] in page.places
    page.form.close()


def test_a_closed_form_says_so_where_it_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Shown once more, it is a sentence and no picture of something that works."""
    page = Page(rb.TextToVideo)
    page.form.close()

    page.form._ipython_display_()

    assert page.form.bundle() == {"text/plain": CLOSED}
    assert CLOSED in capsys.readouterr().out
