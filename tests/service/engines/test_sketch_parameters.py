"""Every parameter of the sketch engine acts, in the direction that its meaning says, on the frames as they are painted."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reelbook.models.text_to_video import LoRA, TextToVideo
from reelbook_service.engines.protocol import EngineTask, Report
from reelbook_service.engines.sketch import stage
from reelbook_service.engines.sketch.engine import frames_of, sketch
from tests.tools.sketch_sheet import finished_painter

Clip = NDArray[np.float32]
COARSE = 160 * 160


def film(prompt: str = "a sailing boat on a lake", seed: int = 7, *, pixels: int = COARSE, **fields: Any) -> Clip:
    """A small clip: frame, row, column, channel; coarse, which takes less time, and without the encoder."""
    return painted(asked(prompt, **fields), seed, pixels)


def asked(prompt: str, **fields: Any) -> TextToVideo:
    return TextToVideo(prompt=prompt, **{"resolution": "480p", "aspect_ratio": "1:1", "num_frames": 9, **fields})


@cache
def painted(request: TextToVideo, seed: int, pixels: int) -> Clip:
    """All frames as they are painted, once for all tests."""
    with pytest.MonkeyPatch.context() as coarse:
        coarse.setattr(stage, "PAINTED", pixels)
        painter = finished_painter(request, seed)
    return np.stack([np.asarray(painter.frame(number), np.float32) for number in range(request.num_frames)])


def grey(clip: Clip) -> Clip:
    return clip @ np.array([0.299, 0.587, 0.114], np.float32)


def apart(first: Clip, second: Clip) -> float:
    """The mean difference of two clips, in steps of 255."""
    return float(np.abs(first - second).mean(dtype=np.float64))


def laplacian(clip: Clip) -> float:
    value = grey(clip)
    edges = (
        4 * value[:, 1:-1, 1:-1] - value[:, :-2, 1:-1] - value[:, 2:, 1:-1] - value[:, 1:-1, :-2] - value[:, 1:-1, 2:]
    )
    return float(edges.var(dtype=np.float64))


@pytest.mark.parametrize(
    ("change", "least"),
    [
        ({"first_pass_num_inference_steps": 2}, 0.3),
        ({"second_pass_num_inference_steps": 12}, 0.3),
        ({"second_pass_skip_initial_steps": 1}, 0.3),
        ({"seed": 8}, 3.0),
        ({"loras": [LoRA(path="watercolour")]}, 2.0),
        ({"tone_map_compression_ratio": 0.5}, 2.0),
        ({"prompt": "a sailing boat on a lake zorblax"}, 0.5),
        ({"negative_prompt": "zorblax"}, 0.3),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_changed_parameter_changes_the_picture(change: dict[str, Any], least: float) -> None:
    """The same seed with one field changed is another clip, by more than an encoder's noise; the detail pass has a test below."""
    before = film()

    after = film(**change)

    assert apart(before, after) > least


def test_nothing_changed_changes_nothing() -> None:
    """The control for the test above: the same input twice, and a LoRA with scale 0, give the same frames."""
    before = film()

    assert apart(before, painted.__wrapped__(asked("a sailing boat on a lake"), 7, COARSE)) == 0
    assert apart(before, film(loras=[LoRA(path="watercolour", scale=0)])) == 0


def test_tone_mapping_narrows_the_range_from_dark_to_bright() -> None:
    """The more compression, the smaller the spread of brightness."""
    spreads = [
        float(grey(film("a lighthouse by the sea", tone_map_compression_ratio=ratio)).std(dtype=np.float64))
        for ratio in (0, 0.5, 1)
    ]

    assert spreads[0] > spreads[1] * 1.03
    assert spreads[1] > spreads[2] * 1.03


def test_colour_matching_keeps_later_chunks_at_the_colours_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default length has two chunks; their mean colours differ, less the higher the factor. Some frames tell."""
    monkeypatch.setattr(stage, "PAINTED", 96 * 96)  # Colour needs no detail, and no encoder.
    drifts = []
    for factor in (0.0, 0.5, 1.0):
        request = asked("hills", num_frames=121, temporal_adain_factor=factor)
        painter = finished_painter(request, 7)
        first, later = (
            np.mean([np.asarray(painter.frame(number), np.float64).mean((0, 1)) for number in numbers], axis=0)
            for numbers in (range(0, 65, 8), range(80, 121, 8))
        )
        drifts.append(float(np.abs(first - later).sum()))

    assert drifts[0] > 1.3 * drifts[1] > 1.6 * drifts[2]


def test_the_detail_pass_adds_fine_structure() -> None:
    """The variance of the Laplacian, a common measure of sharpness, rises clearly."""
    plain, fine = (film("a meadow", pixels=stage.PAINTED, enable_detail_pass=detailed) for detailed in (False, True))

    assert laplacian(fine) > 1.5 * laplacian(plain)


def test_a_reversed_clip_has_exactly_the_same_frames_backwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the encoder sees them, the frames are equal to the last bit."""
    monkeypatch.setattr(stage, "PAINTED", COARSE)
    request = asked("birds in the rain")
    painter = finished_painter(request, 7)

    forwards = [frame.to_ndarray() for frame in frames_of(painter, request) if frame]
    backwards = [frame.to_ndarray() for frame in frames_of(painter, request.revised(reverse_video=True)) if frame]

    assert not np.array_equal(forwards[0], forwards[-1])
    for first, second in zip(forwards, reversed(backwards), strict=True):
        assert np.array_equal(first, second)


def test_an_expanded_prompt_is_longer_and_the_picture_follows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The output tells the prompt that was painted: asking for it outright gives the same picture."""
    monkeypatch.setattr(stage, "PAINTED", 64 * 64)  # Only the words of this one count.
    told = sketch(EngineTask(asked("a boat", expand_prompt=True), 7, tmp_path), Report())["prompt"]

    assert told.startswith("a boat, ")
    assert len(told) > 40
    assert apart(film("a boat", expand_prompt=True), film(told)) == 0
    assert apart(film("a boat"), film(told)) > 3
