"""The rules of text-to-video that no single field can tell."""

from __future__ import annotations

import itertools

import pytest
from pydantic import ValidationError

from reelbook.errors import InvalidInput
from reelbook.models.base import WIRE
from reelbook.models.text_to_video import FRAME_SIZES, TextToVideo
from tests.spec import tables

SIZES = {(row["resolution"], row["aspect_ratio"]): (row["width"], row["height"]) for row in tables.GAPS["frame_sizes"]}


def test_every_shape_has_its_size() -> None:
    """One for each resolution and aspect ratio, all with even sides, and each input knows its own."""
    rows = {row.name: row for row in tables.model(TextToVideo.endpoint_id).input}
    shapes = list(itertools.product(rows["resolution"].choices or (), rows["aspect_ratio"].choices or ()))

    taken = {
        (resolution, aspect): TextToVideo.model_validate(
            {"prompt": "a", "resolution": resolution, "aspect_ratio": aspect}
        ).frame_size
        for resolution, aspect in shapes
    }

    assert taken == SIZES == FRAME_SIZES
    assert all(side % 2 == 0 for size in taken.values() for side in size)


@pytest.mark.parametrize(("skipped", "steps"), list(itertools.product(range(1, 12), range(2, 13))))
def test_the_second_pass_needs_a_step_to_run(skipped: int, steps: int) -> None:
    """Fewer steps may be skipped than there are; otherwise input and service refuse, and the advice works."""
    values = {"prompt": "a", "second_pass_skip_initial_steps": skipped, "second_pass_num_inference_steps": steps}

    if skipped < steps:
        assert TextToVideo(**values) == TextToVideo.model_validate(values, context=WIRE)
    else:
        with pytest.raises(ValidationError):
            TextToVideo.model_validate(values, context=WIRE)
        with pytest.raises(InvalidInput) as caught:
            TextToVideo(**values)
        (problem,) = caught.value.problems
        assert problem.field == "second_pass_skip_initial_steps"
        assert TextToVideo(**{**values, problem.field: problem.nearest})
