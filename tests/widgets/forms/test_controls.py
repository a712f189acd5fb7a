"""The fields of a model as plain widgets: the same judge, laid out by whoever likes to."""

from __future__ import annotations

import gc
import json
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import ipywidgets
import pytest
import traitlets
from ipywidgets.widgets.widget import _instances

import reelbook as rb
from reelbook.errors import InvalidInput, ReelbookError
from reelbook.models.described.input_class import describe
from reelbook.widgets.forms.control_widgets import CHOSEN_BY_SERVICE, Unset
from reelbook.widgets.forms.controls import Controls
from tests.models.described_inputs import document
from tests.support import as_data_uri, png
from tests.widgets.forms.described import EACH_KIND, KINDS, SCHEMAS, samples

BOAT = rb.TextToVideo(prompt="a paper boat", num_frames=49, seed=7, loras=[rb.LoRA(path="ink")])

Open = Callable[[Any], Controls]


@pytest.fixture
def opened() -> Iterator[Open]:
    """Makes controls, and closes them with the test."""
    made: list[Controls] = []

    def make(model: Any) -> Controls:
        made.append(rb.controls(model))
        return made[-1]

    yield make
    for controls in made:
        controls.close()


def shown(widget: Any) -> Any:
    """What a page shows: the place in a list of choices, else the value."""
    return widget.index if widget.has_trait("index") else widget.value


def show(widget: Any, what: Any) -> None:
    """What a page does when somebody chooses or types."""
    widget.set_state({"index" if widget.has_trait("index") else "value": what})


def test_every_field_has_a_plain_widget(opened: Open) -> None:
    """Of the kinds that ipywidgets has, with the defaults of the class."""
    controls = opened(rb.TextToVideo)

    assert set(controls) == set(rb.TextToVideo.model_fields)
    assert isinstance(controls["num_frames"], ipywidgets.IntText)
    assert isinstance(controls["resolution"], ipywidgets.ToggleButtons)
    assert isinstance(controls["enable_detail_pass"], ipywidgets.Checkbox)
    assert isinstance(controls["loras"], ipywidgets.Textarea)
    assert controls["num_frames"].value == 121
    assert controls["loras"].value == "[]"
    with pytest.raises(InvalidInput, match="prompt"):
        _ = controls.value


def test_widgets_make_inputs_and_inputs_fill_widgets(opened: Open) -> None:
    """What is set in Python or typed on the page is one draft, judged by the class."""
    controls = opened(rb.TextToVideo)
    heard: list[Any] = []
    controls.observe(lambda change: heard.append(change["new"]), "value")

    controls["prompt"].value = "a boat"
    controls["num_frames"].value = 9
    controls["seed"].value = "8"
    typed = controls.value
    controls.value = BOAT

    assert typed == rb.TextToVideo(prompt="a boat", num_frames=9, seed=8)
    assert controls.value == BOAT
    assert controls["seed"].value == "7"
    assert controls["loras"].value == '[{"path": "ink"}]'
    assert heard[-1] == BOAT


def test_what_is_wrong_stands_below_its_widget(opened: Open) -> None:
    """In words, as text; and the inputs are refused until it is mended."""
    controls = opened(BOAT)
    row = next(row for row in controls.children if row.children[0] is controls["num_frames"])

    controls["num_frames"].value = 5000
    words = row.children[1].value
    with pytest.raises(InvalidInput, match="num_frames"):
        _ = controls.value
    controls["num_frames"].value = 49

    assert "outside 9 to 1441" in words
    assert isinstance(row.children[1], ipywidgets.Label)
    assert (row.children[1].value, row.children[1].layout.display) == ("", "none")
    assert controls.value == BOAT


@pytest.mark.parametrize("name", KINDS)
def test_controls_begin_at_the_defaults(name: str, opened: Open) -> None:
    """Nothing is in the draft; what is asked for is named below its field; every field has one of the plain widgets."""
    controls = opened(KINDS[name])
    needed = set(SCHEMAS[name].get("required", ()))

    assert controls.draft == {}
    assert {field for field in controls if controls.words(field)} == needed
    assert {type(controls[field]).__name__ for field in controls} <= {
        "Checkbox", "Dropdown", "FloatText", "IntText", "Text", "Textarea", "ToggleButtons",
    }  # fmt: skip


@pytest.mark.parametrize("name", EACH_KIND)
def test_what_is_shown_is_what_is_meant(name: str, opened: Open) -> None:
    """Inputs that fill the widgets read back; and whoever types into others what stands there makes the same inputs."""
    kind = KINDS[name]
    filled, other = opened(kind), opened(kind)
    blank = {field: shown(other[field]) for field in other}

    for values in samples(name)[::5]:
        wanted = kind(**values)
        filled.value = values
        assert filled.value == wanted
        if any(shown(filled[field]) == "" for field in values):
            continue  # An empty text, and none where a text is meant, look like a field that is left alone.
        # Back to what it began with: a field that is left alone is one that looks like it.
        for field, what in [*blank.items(), *((field, shown(filled[field])) for field in filled)]:
            show(other[field], what)
        assert {field: other.words(field) for field in other if other.words(field)} == {}
        assert other.value.wire() == wanted.wire()


@pytest.mark.parametrize("name", EACH_KIND)
def test_whatever_is_typed_is_judged_in_words(name: str, opened: Open, request: pytest.FixtureRequest) -> None:
    """No text breaks a control: it is a value of the field, or its words say why not, and emptying it mends it."""
    controls = opened(KINDS[name])
    texts = ["{", "NaN", "[" * 100_000, "9" * 5_000, "1e999", "null", "[[]]", '{"unheard_of": 1}', "'a'", " "]

    deep = request.config.getoption("--deep")
    for place, (field, widget) in enumerate(zip(controls, map(controls.__getitem__, controls), strict=True)):
        if not isinstance(widget, (ipywidgets.Text, ipywidgets.Textarea)):
            continue
        before = widget.value, controls.words(field)
        for text in texts if deep else (texts * 2)[place % len(texts) :][:4]:
            show(widget, text)
            assert widget.value == text
            assert controls.words(field) or field in controls.draft or not text.strip()
        show(widget, before[0])
        assert (widget.value, controls.words(field)) == before
        assert controls.draft == {}


def test_a_list_that_is_not_json_says_so(opened: Open) -> None:
    """With what JSON asks for, once, and among the problems of the inputs."""
    controls = opened(BOAT)

    controls["loras"].value = "[{'path': 'ink'}]"
    words = controls.words("loras")
    with pytest.raises(InvalidInput, match="`loras` is not JSON"):
        _ = controls.value
    controls["loras"].value = '[{"path": "ink", "scale": 9}]'

    assert "`loras` is not JSON: Expecting property name" in words
    assert words.endswith("Text stands in double quotes.")
    assert "`loras[0].scale`" in controls.words("loras")
    with pytest.raises(KeyError, match="There is no field 'sed'"):
        controls.words("sed")


def test_what_may_be_left_out_can_be_left_out_again() -> None:
    """Choices without a default have a first entry for it; null, where it is a value, is another one."""
    rules = {
        "mode": {"enum": ["fast", "good"]},
        "loop": {"type": "boolean"},
        "quiet": {"type": ["boolean", "null"], "default": True},
        "size": {"enum": [1, True, "1"]},
        "kind": {"const": "video"},
    }
    schema = {"type": "object", "properties": rules, "required": ["kind"]}
    controls = rb.controls(describe(document(schema)))

    assert controls["mode"].options[0] == (CHOSEN_BY_SERVICE, Unset.CHOSEN_BY_SERVICE)
    assert controls["kind"].options == (("choose …", Unset.CHOSEN_BY_SERVICE), ("video", "video"))
    controls.value = {"kind": "video", "mode": "good", "loop": False, "quiet": None, "size": True}
    assert controls.value.wire() == {"kind": "video", "mode": "good", "loop": False, "quiet": None, "size": True}
    assert [label for label, _ in controls["size"].options] == [CHOSEN_BY_SERVICE, "1", "true", '"1"']
    for name in ("mode", "loop", "size"):
        show(controls[name], 0)
    controls["quiet"].value = True
    assert controls.value.changed() == {"kind": "video"}
    controls["mode"].value = "fast"
    controls["mode"].value = None
    assert controls.value.changed() == {"kind": "video"}
    controls.close()


def test_long_numbers_and_telling_texts_keep_what_they_are(opened: Open) -> None:
    """A number that no page can hold, and a text that reads like JSON."""
    rules = {
        "count": {"type": "integer", "default": 1},
        "large": {"type": "integer"},
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    }
    controls = opened(describe(document({"type": "object", "properties": rules})))

    controls.value = {"count": 2**60, "large": 10**30 + 7, "either": "12"}

    assert controls.value.wire() == {"count": 2**60, "large": 10**30 + 7, "either": "12"}
    assert [controls[name].value for name in controls] == [2**60, str(10**30 + 7), '"12"']
    controls["either"].value = "12"
    assert controls.value.wire()["either"] == 12


def test_a_pasted_picture_does_not_stay_in_the_widget(opened: Open) -> None:
    """The widget would be saved with the notebook: it shows what stands for the picture, and the value has it."""
    picture = png(64, 64)
    controls = opened(rb.ImageToVideo)

    controls["image_url"].value = as_data_uri(picture)
    controls["prompt"].value = "it moves"

    assert controls["image_url"].value.startswith("sha256:")
    assert controls.value.image_url.content == picture


def test_two_ways_to_type_can_be_linked(opened: Open) -> None:
    """A form and plain widgets that show the same inputs."""
    form, controls = rb.form(BOAT), opened(rb.TextToVideo)

    traitlets.link((form, "value"), (controls, "value"))
    controls["seed"].value = "8"
    form.edit("num_frames", 9)

    assert form.value == controls.value == BOAT.revised(seed=8, num_frames=9)
    form.close()


def test_inputs_of_another_model_are_refused(opened: Open) -> None:
    """And nothing changes."""
    controls = opened(BOAT)

    with pytest.raises(ReelbookError, match="cannot show a SmartResize"):
        controls.value = rb.SmartResize(image_url="https://example.org/a.png", target_sizes=["64x64"])
    with pytest.raises(InvalidInput, match="num_frames"):
        controls.value = {"prompt": "a boat", "num_frames": 5}

    assert controls.value == BOAT


def test_closed_controls_leave_nothing_behind() -> None:
    """No widget, layout, style, thread or object; what the person has put in their place stays theirs."""
    before, threads, layout = set(_instances), set(threading.enumerate()), ipywidgets.Layout()
    kept: list[Any] = []

    for kind in list(KINDS.values())[::3]:
        controls = rb.controls(kind)
        controls.observe(print, "value")
        next(iter(controls.children)).children[0].layout = layout
        kept.append(weakref.ref(controls))
        own = controls._own[-len(controls) :]
        controls.close()
        controls.close()
    del controls, own
    gc.collect()

    assert [one for one in kept if one() is not None] == []
    assert set(_instances) - before == {layout.model_id}
    assert set(threading.enumerate()) <= threads
    layout.close()


def test_what_is_saved_of_controls_is_plain_json(opened: Open) -> None:
    """The state of all its widgets can be written into a notebook."""
    controls = opened(BOAT)

    state = ipywidgets.Widget.get_manager_state(widgets=[controls, *map(controls.__getitem__, controls)])

    assert len(json.dumps(state)) < 60_000
