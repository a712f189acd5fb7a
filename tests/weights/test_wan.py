"""Image to video with tiny weights of Wan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from reelbook.models.image_to_video import ImageToVideo
from reelbook_service.weights.config import WanWeights
from reelbook_service.weights.pipelines.engine import WeightsEngine
from reelbook_service.weights.pipelines.parts import as_bytes
from reelbook_service.weights.pipelines.wan import WanModel
from tests.weights.ltx_runs import IMAGE, PICTURE, Finished, picture, run
from tests.weights.tiny import WAN

SIZE = (40, 24)


@pytest.fixture(scope="module")
def engine(weights: Path) -> WeightsEngine:
    """A model with two steps and guidance."""
    torch.set_num_threads(1)  # Two of them wait for each other busily where other processes have the cores.
    row = WanWeights(endpoint_id=IMAGE, folder=weights / WAN, dtype="float32", guidance=(1.0, 9.0), steps=2)
    return WeightsEngine({IMAGE: row}, "cpu")


def image(**fields: Any) -> ImageToVideo:
    return ImageToVideo(**{"prompt": "slowly closer", "image_url": PICTURE, **fields})


def clip_of(engine: WeightsEngine, seed: int = 7, **fields: Any) -> Finished:
    return run(engine, image(**fields), seed, picture(*SIZE))


@pytest.fixture(scope="module")
def usual(engine: WeightsEngine) -> Finished:
    """The clip of the default input."""
    return clip_of(engine)


def pixels_of(clip: Finished) -> bytes:
    """All frames: a file records its input, so its bytes differ anyway."""
    return b"".join(frame.tobytes() for frame in clip.frames())


def test_five_seconds_are_120_frames_of_the_pictures_size(usual: Finished) -> None:
    """In one part, with progress that never falls; the seed is logged, for the input has none."""
    assert (len(usual.frames()), usual.frames()[0].shape) == (120, (24, 40, 3))
    assert usual.output["video"].facts == {"width": 40, "height": 24, "frames": 120, "frame_rate": 24}
    assert usual.fractions == sorted(usual.fractions)
    assert usual.fractions[-1] == pytest.approx(0.99)
    assert "seed is 7" in usual.log


def test_the_same_seed_gives_the_same_bytes_and_each_field_acts(engine: WeightsEngine, usual: Finished) -> None:
    """The prompt, the negative one, `cfg_scale` and the seed; also after other runs."""
    others = [{"prompt": "a red balloon"}, {"negative_prompt": "green"}, {"cfg_scale": 0.9}, {"seed": 10**400}]
    changed = [pixels_of(clip_of(engine, **fields)) for fields in others]  # type: ignore[arg-type]

    assert len({pixels_of(usual), *changed}) == 5
    assert clip_of(engine).data == usual.data


def test_ten_seconds_are_two_parts_that_share_a_frame(
    engine: WeightsEngine, usual: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second part starts with the last frame of the first, which appears once; each has noise of its own."""
    denoise, decode = WanModel._denoise, WanModel._decode
    starts, pixels = [], []

    def denoised(model: WanModel, start: Any, *rest: Any) -> Any:
        starts.append(np.asarray(start))
        return denoise(model, start, *rest)

    def decoded(model: WanModel, latents: Any) -> Any:
        part = decode(model, latents)
        pixels.append(as_bytes(part))
        return part

    monkeypatch.setattr(WanModel, "_denoise", denoised)
    monkeypatch.setattr(WanModel, "_decode", decoded)
    frames = clip_of(engine, duration="10").frames()

    assert (len(frames), len(pixels), len(pixels[0])) == (240, 2, 121)
    assert np.array_equal(starts[1], pixels[0][120])
    # The first part is that of a clip of five seconds; of the second, its own start is seen and no frame before it.
    assert all(np.array_equal(ten, five) for ten, five in zip(frames[:100], usual.frames()[:100], strict=True))
    differences = [abs(frames[120].astype(int) - pixels[1][number, :24, :40]).mean() for number in (0, 30)]
    assert differences[0] < differences[1]
