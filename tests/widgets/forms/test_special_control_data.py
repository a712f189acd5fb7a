"""What special controls are told: only what the class knows, as plain JSON, and true of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import reelbook as rb
from reelbook.models.base import Input
from reelbook.models.common_sizes import FORMATS
from reelbook.models.described import describe
from reelbook.models.smart_resize import Size, preset_for
from reelbook.models.text_to_video import FRAME_SIZES
from reelbook.widgets.forms.schema import get_control_data


def described(**properties: Any) -> type[Input]:
    """A model of which only a description is known."""
    post = {"requestBody": {"content": {"application/json": {"schema": {"properties": properties}}}}}
    return describe({"openapi": "3.1.0", "paths": {"/svc/other": {"post": post}}})


def test_common_formats_can_all_be_made() -> None:
    """Every format of the list is a size within bounds with a canvas, in its plain spelling, and no name stands twice."""
    named = [(name, text) for sizes in FORMATS.values() for name, text in sizes.items()]

    sizes = [Size.read(text) for _, text in named]
    asked = rb.SmartResize(image_url="https://example.org/a.png", target_sizes=sizes)

    assert all(preset_for(size) for size in asked.target_sizes)
    assert len({name for name, _ in named}) == len(named)


def test_the_control_of_sizes_knows_every_format() -> None:
    """By name, in the order of the list."""
    facts = get_control_data(rb.SmartResize, "target_sizes", "sizes")

    assert [text for _, formats in facts["formats"] for _, text in formats] == [
        text for sizes in FORMATS.values() for text in sizes.values()
    ]


def test_the_control_of_shapes_knows_every_frame_size() -> None:
    """For each resolution and shape the page can say how many pixels the clip has."""
    facts = get_control_data(rb.TextToVideo, "aspect_ratio", "aspect")

    told = {(lines, shape): tuple(size) for lines, of in facts["sizes"].items() for shape, size in of.items()}
    assert told == FRAME_SIZES
    assert facts["by"] in rb.TextToVideo.model_fields


@pytest.mark.parametrize(
    ("fields", "rate"),
    [
        ({"num_frames": {}, "fps": {}}, {"rate": "fps"}),
        ({"num_frames": {}, "frames_per_second": {}}, {"rate": "frames_per_second"}),
        ({"num_frames": {}, "fps": {}, "frame_rate": {}}, {"rate": "frame_rate"}),
        ({"num_frames": {}}, {}),
    ],
)
def test_frames_are_linked_to_the_field_with_their_rate(fields: dict[str, Any], rate: dict[str, Any]) -> None:
    """Whatever a model calls it; where there is none, nothing is made up."""
    assert get_control_data(described(**fields), "num_frames", "frames") == rate


def test_nothing_is_told_of_a_model_that_nobody_knows() -> None:
    """A described model may compose shapes in its own way."""
    other = described(target_sizes={"type": "array"}, aspect_ratio={"enum": ["16:9"]})

    assert get_control_data(other, "aspect_ratio", "aspect") == {}
    assert get_control_data(other, "seed", "seed") == {}


@pytest.mark.parametrize("special", ["sizes", "aspect", "frames", "seed", "duration", "loras", "prompt", "image"])
def test_facts_are_plain_json(special: str) -> None:
    """They travel to the page with the sheet, so they come back from JSON as they went."""
    for kind in (rb.TextToVideo, rb.SmartResize, rb.ImageToVideo):
        facts = get_control_data(kind, "num_frames", special)

        assert json.loads(json.dumps(facts)) == facts
