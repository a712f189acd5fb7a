"""What every input and every output can do."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from pydantic import ValidationError

from reelbook.errors import InvalidInput
from reelbook.models.base import WIRE, Input, Output
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.smart_resize import Size, SmartResize
from reelbook.models.text_to_video import LoRA, TextToVideo
from tests.models.inputs import INPUTS, LORAS, NAMES
from tests.support import examples

BOAT = TextToVideo(prompt="a paper boat", loras=[LoRA(path="watercolour")])
few = settings(max_examples=examples(30, 100), deadline=None)


@few
@given(INPUTS)
def test_an_input_survives_every_journey(request: Input) -> None:
    """As code pasted into a cell, as the JSON that a service reads strictly, as a copy, a pickle, and a key."""
    kind = type(request)

    twins = [
        eval(repr(request), dict(NAMES)),
        kind.model_validate(request.wire(), context=WIRE),
        kind.model_validate(json.loads(json.dumps(request.wire())), context=WIRE),
        kind.model_validate_json(request.model_dump_json(), context=WIRE),
        *(pickle.loads(pickle.dumps(request)), copy.deepcopy(request), copy.copy(request), request.revised()),
    ]

    assert all(twin == request and hash(twin) == hash(request) for twin in twins)
    assert {request: 1} == dict.fromkeys(twins, 1)
    assert str(request) == repr(request)


@few
@given(INPUTS, LORAS)
def test_an_input_never_changes(request: Input, lora: LoRA) -> None:
    """No field can be set or removed, in an input as in its parts, nor can a new one be added."""
    before = repr(request)

    for part, names in ((request, [*type(request).model_fields, "bogus"]), (lora, ["scale"])):
        for name in names:
            with pytest.raises(InvalidInput, match="never changes"):
                setattr(part, name, 5)
        with pytest.raises(ValidationError, match="frozen"):
            delattr(part, names[0])

    assert repr(request) == before


def test_a_revised_input_is_validated_again() -> None:
    """Changes go through the same checks as a new input, and the first one stays as it was."""
    longer = BOAT.revised(num_frames=241.0, seed=numpy.int64(8))

    assert (longer.num_frames, longer.seed, BOAT.num_frames, BOAT.seed) == (241, 8, 121, None)
    assert type(longer.num_frames) is int
    assert longer.loras == BOAT.loras
    with pytest.raises(InvalidInput, match="`num_frames` = 5 is outside 9 to 1441"):
        BOAT.revised(num_frames=5)
    with pytest.raises(InvalidInput, match="second_pass_skip_initial_steps"):
        BOAT.revised(second_pass_num_inference_steps=4)
    with pytest.raises(InvalidInput, match="Did you mean `num_frames`"):
        BOAT.revised(num_frame=9)


def test_every_problem_is_told_at_once() -> None:
    """Nobody mends five mistakes in five attempts."""
    kind: Any = TextToVideo

    with pytest.raises(InvalidInput) as caught:
        kind(num_frames=5, resolution="1080p", loras=[{"scale": 9}], bogus=1)

    assert [problem.field for problem in caught.value.problems] == [
        "prompt",
        "loras[0].path",
        "loras[0].scale",
        "resolution",
        "num_frames",
        "bogus",
    ]
    assert str(caught.value).startswith("TextToVideo has 6 problems:\n  - `prompt` is required.\n  - ")


def test_the_wire_has_every_default_and_no_null() -> None:
    """The service gets the whole input, under the specification's names, in plain JSON."""
    wire = TextToVideo(prompt="a paper boat", loras=[LoRA(path="b")], temporal_adain_factor=-0.0).wire()

    assert set(wire) == set(TextToVideo.model_fields) - {"seed"}
    assert wire["loras"] == [{"path": "b", "scale": 1.0}]
    # Minus zero is zero: two spellings of one input would be paid for twice.
    assert str(wire["temporal_adain_factor"]) == "0.0"
    assert str(ImageToVideo(prompt="a", image_url="b", cfg_scale=-0.0).wire()["cfg_scale"]) == "0.0"
    assert SmartResize(image_url="a.png", target_sizes=[Size(300, 600)]).wire()["target_sizes"] == ["300x600"]


def test_an_output_never_changes_and_keeps_what_it_does_not_know() -> None:
    """The specification leaves much of the answers open, so nothing in them is thrown away."""
    output = Output.model_validate({"surprise": {"deep": [1, 2]}})

    assert output.model_dump() == {"surprise": {"deep": [1, 2]}}
    with pytest.raises(ValidationError):
        output.surprise = 5  # type: ignore[attr-defined]
