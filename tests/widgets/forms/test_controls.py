"""The fields of a model as plain widgets: the same judge, laid out by whoever likes to."""

from __future__ import annotations

from typing import Any

import ipywidgets
import pytest

import reelbook as rb
from reelbook.errors import InvalidInput

BOAT = rb.TextToVideo(prompt="a paper boat", num_frames=49, seed=7, loras=[rb.LoRA(path="ink")])


def test_every_field_has_a_plain_widget() -> None:
    """Of the kinds that ipywidgets has, with the defaults of the class."""
    controls = rb.controls(rb.TextToVideo)

    assert set(controls) == set(rb.TextToVideo.model_fields)
    assert isinstance(controls["num_frames"], ipywidgets.IntText)
    assert isinstance(controls["resolution"], ipywidgets.ToggleButtons)
    assert controls["num_frames"].value == 121
    with pytest.raises(InvalidInput, match="prompt"):
        _ = controls.value
    controls.close()


def test_widgets_make_inputs_and_inputs_fill_widgets() -> None:
    """What is set in Python or typed on the page is one draft, judged by the class."""
    controls = rb.controls(rb.TextToVideo)
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
    assert heard[-1] == BOAT
    controls.close()


def test_what_is_wrong_stands_below_its_widget() -> None:
    """In words, as text; and the inputs are refused until it is mended."""
    controls = rb.controls(BOAT)
    row = next(row for row in controls.children if row.children[0] is controls["num_frames"])

    controls["num_frames"].value = 5000
    words = row.children[1].value
    with pytest.raises(InvalidInput, match="num_frames"):
        _ = controls.value
    controls["num_frames"].value = 49

    assert "outside 9 to 1441" in words
    assert isinstance(row.children[1], ipywidgets.Label)
    assert row.children[1].value == ""
    assert controls.value == BOAT
    controls.close()
