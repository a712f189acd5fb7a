"""Image to video with tiny weights of Wan."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import av
import numpy as np
import pytest
import torch
from diffusers.pipelines.wan import pipeline_wan_i2v
from numpy.typing import NDArray
from PIL import Image

from reelbook.models.image_to_video import ImageToVideo
from reelbook_service.engines.protocol import Cancelled, EngineTask, OutputFile, Report
from reelbook_service.weights.config import WanWeights
from reelbook_service.weights.pipelines.wan import WanModel
from tests.heard import Heard, Log, Progress
from tests.weights.tiny import WAN

SIZE = (40, 24)


def picture(width: int = SIZE[0], height: int = SIZE[1]) -> bytes:
    buffer = io.BytesIO()
    noise = np.random.default_rng(3).integers(0, 256, (height // 8, width // 8, 3), dtype=np.uint8)
    Image.fromarray(noise).resize((width, height)).save(buffer, "PNG")
    return buffer.getvalue()


class Watching(Heard):
    """May cancel at a stage."""

    def __init__(self, stop_at: str = "") -> None:
        super().__init__(lambda item: stop_at and isinstance(item, Progress) and item.stage.startswith(stop_at))


class WatchedModel(WanModel):
    """Remembers the picture that each part starts from."""

    def __init__(self, row: WanWeights, report: Report) -> None:
        super().__init__(row, report)
        self.starts: list[NDArray[np.uint8]] = []

    def _denoise(self, picture: Image.Image, *rest: Any) -> Any:
        self.starts.append(np.asarray(picture))
        return super()._denoise(picture, *rest)


class Runs:
    """One loaded model and its runs."""

    def __init__(self, row: WanWeights, folder: Path) -> None:
        self._folder, self._count = folder, 0
        self.model = WatchedModel(row, Watching())

    def run(self, *, report: Watching | None = None, seed: int = 7, data: bytes | None = None, **fields: Any) -> bytes:
        """The bytes of the clip."""
        self._count += 1
        folder = self._folder / str(self._count)
        folder.mkdir()
        request = ImageToVideo.model_construct(**{"prompt": "slowly closer", "image_url": "data:x", **fields})
        task = EngineTask(request, seed, folder, {"data:x": data or picture()})
        try:
            video: OutputFile = self.model.image_to_video(task, report or Watching())["video"]
        finally:
            self.model.end_run()
        self.facts = video.facts
        return video.path.read_bytes()


@pytest.fixture(scope="module")
def runs(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """A model with two steps and guidance."""
    torch.set_num_threads(1)  # Two of them wait for each other busily where other processes have the cores.
    row = WanWeights(endpoint_id="svc/video-gen/v2.1/master/image-to-video", folder=weights / WAN, devices=("cpu",), dtype="float32", guidance=(1.0, 9.0), steps=2
    )  # fmt: skip
    return Runs(row, tmp_path_factory.mktemp("wan"))


@pytest.fixture(scope="module")
def clip(runs: Runs) -> bytes:
    """The clip of the default input."""
    return runs.run()


def frames_of(data: bytes) -> list[NDArray[Any]]:
    with av.open(io.BytesIO(data), "r") as file:
        return [frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)]


def pixels_of(data: bytes) -> str:
    """A hash of all frames."""
    return hashlib.sha256(b"".join(frame.tobytes() for frame in frames_of(data))).hexdigest()


def test_five_seconds_are_120_frames_of_the_pictures_size(runs: Runs) -> None:
    """In one part, with progress that never falls; the seed is logged, for the input has none."""
    report = Watching()
    frames = frames_of(runs.run(report=report))
    fractions = [item.fraction for item in report.news if isinstance(item, Progress)]
    logs = [item.message for item in report.news if isinstance(item, Log)]

    assert (len(frames), frames[0].shape) == (120, (24, 40, 3))
    assert dict(runs.facts) == {"width": 40, "height": 24, "frames": 120, "frame_rate": 24}
    assert fractions == sorted(fractions)
    assert fractions[-1] == pytest.approx(0.99)
    assert any("seed is 7" in line for line in logs)


def test_the_same_seed_gives_the_same_bytes_and_each_field_acts(runs: Runs, clip: bytes) -> None:
    """The prompt, the negative one, `cfg_scale` and the seed; also after other runs."""
    others: list[dict[str, Any]] = [
        {"prompt": "a red balloon"},
        {"negative_prompt": "green"},
        {"cfg_scale": 0.9},
        {"seed": 10**400},
    ]
    changed = [pixels_of(runs.run(**fields)) for fields in others]

    # The pixels: a file records its input, so its bytes differ anyway.
    assert len({pixels_of(clip), *changed}) == 5
    assert runs.run() == clip


def test_without_guidance_the_negative_prompt_is_not_read(runs: Runs) -> None:
    """`cfg_scale` 0 is guidance 1 here, and the log says what has no effect."""
    report, encoded = Watching(), runs.model.prompts.encoded
    plain = runs.run(cfg_scale=0.0, report=report)
    log = " ".join(item.message for item in report.news if isinstance(item, Log))

    assert pixels_of(plain) == pixels_of(runs.run(cfg_scale=0.0, negative_prompt="never read"))
    assert runs.model.prompts.encoded == encoded
    assert "Without effect: negative_prompt" in log


def test_the_transformer_reads_prompts_as_the_library_encodes_them(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """512 tokens, with zeros after the last: it has no mask, so it would read the padding."""
    # Its cleaning of texts needs one more package.
    monkeypatch.setattr(pipeline_wan_i2v, "prompt_clean", lambda text: text)
    prompts, text = runs.model.prompts, "a paper boat on a rainy street"
    library = type(runs.model.pipe)._get_t5_prompt_embeds
    pipe = SimpleNamespace(tokenizer=prompts._tokenizer, text_encoder=prompts._encoder)
    with torch.no_grad():
        expected = library(pipe, text, device="cpu", dtype=torch.float32)

    assert torch.equal(runs.model._words(text, Watching()), expected)


def test_ten_seconds_are_two_parts_that_share_a_frame(runs: Runs, clip: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second part starts with the last frame of the first, which appears once; each has noise of its own."""
    pixels: list[NDArray[np.uint8]] = []
    inner = runs.model._decode

    def watched(*args: Any) -> Any:
        decoded = inner(*args)
        values = decoded.clamp(-1, 1).add(1).mul(127.5).round().to(torch.uint8)
        pixels.append(values.permute(0, 2, 3, 1).numpy())
        return decoded

    runs.model.starts.clear()
    monkeypatch.setattr(runs.model, "_decode", watched)
    frames = frames_of(runs.run(duration="10"))

    assert (len(frames), len(pixels), len(pixels[0])) == (240, 2, 121)
    assert np.array_equal(runs.model.starts[1], pixels[0][120])
    # The first part is that of a clip of five seconds; of the second, its own start is seen and no frame before it.
    assert all(np.array_equal(ten, five) for ten, five in zip(frames[:100], frames_of(clip)[:100], strict=True))
    assert (
        abs(frames[120].astype(int) - pixels[1][0, :24, :40]).mean()
        < abs(frames[120].astype(int) - pixels[1][30, :24, :40]).mean()
    )


@pytest.mark.parametrize("stage", ["part 1 of 1, step 1", "decoding part 1 of 1,"])
def test_a_cancelled_run_ends_and_the_next_is_unharmed(runs: Runs, clip: bytes, stage: str) -> None:
    """Between steps, and while decoding."""
    with pytest.raises(Cancelled):
        runs.run(report=Watching(stage))

    assert runs.run() == clip
