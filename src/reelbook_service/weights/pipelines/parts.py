"""What both families share: parts from folders, safetensors only, prompts, the check of pictures, and the writing of frames."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import av
import numpy as np
import torch
from av.video.reformatter import Colorspace
from diffusers.utils import logging as diffusers_logging
from numpy.typing import NDArray
from PIL import Image
from transformers import AutoModelForImageClassification, T5EncoderModel, T5TokenizerFast
from transformers.utils import logging as transformers_logging

from reelbook.models.image_to_video import ImageToVideo

from ...engines.open_pictures import flattened, frame_size, open_picture, upright_size
from ...engines.protocol import EngineTask, OutputFile, Report
from ...engines.video_writer import Movie
from ...engines.write_provenance import WrittenProvenance
from ...prompt_check import ContentRefused
from ..clip_plan import PixelSize
from ..config import BadWeights, LtxWeights, SafetyCheck, WanWeights, Weights
from ..folder import weights_identity

WeightsRow = TypeVar("WeightsRow", LtxWeights, WanWeights)

CHECKS_PER_STEP = 6
"""Places within a step at which a cancelled run ends: a step of a large clip takes seconds."""
IMAGE_RATE = 24
"""Frames a second of clips that start with a picture."""
MAX_TOKENS = 256
"""Of a prompt, as LTX reads it."""
CACHED_PROMPTS = 64

# Both libraries draw bars on stderr, which is the operator's log.
diffusers_logging.disable_progress_bar()
transformers_logging.disable_progress_bar()


def load_model(kind: Any, folder: Path, dtype: Any) -> Any:
    """A model of either library, ready to run; raises `BadWeights` for absent tensors.

    The libraries go on with random values or none in their place, and only warn.
    """
    safe = {"use_safetensors": True, "local_files_only": True}
    model, facts = kind.from_pretrained(folder, dtype=dtype, output_loading_info=True, **safe)
    absent = sorted({*facts["missing_keys"], *(name for name, value in model.named_parameters() if value.is_meta)})
    if absent:
        raise BadWeights(
            f"{folder.parent.name}/{folder.name} lacks {len(absent)} tensors, the first {absent[0]}. The folder is damaged "
            "or of another version: fetch it again."
        )
    return model.eval().requires_grad_(False)


class EncodedPrompt(NamedTuple):
    """A prompt as the transformer reads it."""

    embeds: Any
    mask: Any


class PromptEncoder:
    """Encodes prompts; a sweep over seeds runs the encoder once."""

    def __init__(self, row: Weights, kind: Any = T5EncoderModel, max_tokens: int = MAX_TOKENS) -> None:
        self.max_tokens = max_tokens
        self._device = row.devices[0]
        self._runs_on = "cpu" if row.text_encoder == "cpu" else self._device
        self._rests_on = self._device if row.text_encoder == "stay" else "cpu"
        self._tokenizer = T5TokenizerFast.from_pretrained(row.folder / "tokenizer", local_files_only=True)
        self._encoder = load_model(kind, row.folder / "text_encoder", getattr(torch, row.dtype))
        self._encoder.to(self._rests_on)
        self.cached = lru_cache(CACHED_PROMPTS)(self._encode)

    def encode(self, prompt: str) -> EncodedPrompt:
        """The prompt on the device, from the cache if it is there."""
        return EncodedPrompt(*(values.to(self._device) for values in self.cached(prompt)))

    def _encode(self, prompt: str) -> EncodedPrompt:
        tokens = self._tokenizer(
            prompt, padding="max_length", max_length=self.max_tokens, truncation=True, return_tensors="pt"
        )
        mask, device = tokens.attention_mask.bool(), self._runs_on
        try:
            self._encoder.to(device)
            with torch.no_grad():
                embeds = self._encoder(tokens.input_ids.to(device), attention_mask=mask.to(device))[0].cpu()
        finally:
            # Also after running out of memory: a parked encoder must not stay on the device.
            self._encoder.to(self._rests_on)
        return EncodedPrompt(embeds, mask)


class PictureCheck:
    """An image classifier, which reads eight pictures of each clip, the first and the last among them."""

    def __init__(self, settings: SafetyCheck, device: str) -> None:
        self._settings, self._device = settings, device
        self._model = load_model(AutoModelForImageClassification, settings.folder, torch.float32).to(device)
        labels = self._model.config.id2label
        self._number = next(int(number) for number, label in labels.items() if label == settings.label)

    def score(self, picture: NDArray[np.uint8]) -> float:
        """The probability of the label for a picture of red, green and blue."""
        pixels = torch.from_numpy(picture).to(self._device).permute(2, 0, 1)[None].float() / 127.5 - 1
        size = self._model.config.image_size
        pixels = torch.nn.functional.interpolate(pixels, size, mode="bilinear", antialias=True)
        with torch.inference_mode():
            return float(self._model(pixel_values=pixels).logits[0].softmax(-1)[self._number])

    def check(self, picture: NDArray[np.uint8], number: int, count: int) -> None:
        """Raise `ContentRefused` for one of the eight pictures that reaches the threshold."""
        is_read = number in {round(part * (count - 1) / 7) for part in range(8)}
        if is_read and not self.score(picture) < self._settings.threshold:  # A score that is no number is refused, too.
            raise ContentRefused(
                "The safety check refused the pictures of this clip. Nothing was charged; another seed may pass."
            )


class Model(Generic[WeightsRow]):
    """Loaded weights on one device, and the run that they work on at the moment."""

    name: ClassVar[str]

    def __init__(
        self, row: WeightsRow, report: Report, transformer: Any, encoder: Any = T5EncoderModel, tokens: int = MAX_TOKENS
    ) -> None:
        self.row: WeightsRow = row
        self.version = f"{row.folder.name}@{weights_identity(row)}"
        self.device = row.devices[0]
        self.report = Report()
        """That of the run, which the models report to from inside."""
        self._pictures = PictureCheck(row.safety, self.device) if row.safety else None
        report.progress("loading the text encoder", 0.0)
        self.prompts = PromptEncoder(row, encoder, tokens)
        report.progress("loading the transformer", 0.0)
        dtype = getattr(torch, row.dtype)
        self.transformer = load_model(transformer, row.folder / "transformer", dtype)
        if row.storage:
            storage = getattr(torch, row.storage)
            self.transformer.enable_layerwise_casting(storage_dtype=storage, compute_dtype=dtype)
        self.transformer.to(self.device)
        report.progress("loading the decoder", 0.0)

    def _begin_image(self, job: EngineTask[ImageToVideo]) -> tuple[float, Image.Image]:
        """The guidance of a run and its start picture at the size of the clip."""
        self.report.log(f"The seed is {job.seed}, chosen by the service.")
        low, high = self.row.guidance
        source = job.input.image_url
        size = frame_size(*upright_size(source, job.sources[source]))
        picture = flattened(open_picture(source, job.sources[source], at_least=size))
        return low + (high - low) * job.input.cfg_scale, picture.resize(size, Image.Resampling.LANCZOS)

    def _encoded(self, prompt: str) -> EncodedPrompt:
        self.report.progress("reading the prompt", 0.01)
        encoded = self.prompts.encode(prompt)
        if encoded.mask.all():
            self.report.log(
                f"The prompt is longer than the {self.prompts.max_tokens} tokens that the model reads; its end has no effect.",
                "WARNING",
            )
        return encoded

    def _encode_both(
        self, job: EngineTask[Any], prompt: str, guidance: float
    ) -> tuple[EncodedPrompt, EncodedPrompt | None]:
        """The prompt, and the negative one where there is guidance, so that it acts."""
        return self._encoded(prompt), self._encoded(job.input.negative_prompt) if guidance > 1 else None

    def _check_within_steps(self, blocks: Any) -> None:
        """Let a cancelled run end at some of a transformer's blocks, each time before the block runs."""
        for block in list(blocks)[:: max(1, len(blocks) // CHECKS_PER_STEP)]:
            block.register_forward_pre_hook(self._check)

    def _check(self, module: Any, inputs: Any) -> None:
        if self.device != "cpu":
            # Python runs ahead of the device; without this, a run would be cancelled in the device's future.
            torch.cuda.current_stream().synchronize()
        self.report.check()

    def _write(self, job: EngineTask[Any], size: PixelSize, count: int, rate: int, pieces: Iterable[Any]) -> OutputFile:
        """Write and check the frames of the pieces in their order; a cancelled run ends between two of them."""
        check = self._picture_check(job)
        path = job.folder / "clip.mp4"
        provenance = WrittenProvenance(job.input.endpoint_id, job.input.wire(), job.seed, self.name, self.version)
        with Movie(path, size, Fraction(rate), provenance) as movie:
            for pixels in pieces:
                for picture in as_bytes(pixels):
                    self.report.check()
                    if check:
                        check.check(picture, movie.frames, count)
                    frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
                    movie.add(frame.reformat(format="yuv420p", dst_colorspace=Colorspace.ITU709))
            frames = movie.frames
        if frames != count:
            raise AssertionError(f"{frames} frames were decoded, and {count} were planned.")
        facts = {"width": size[0], "height": size[1], "frames": frames, "frame_rate": rate}
        return OutputFile(path, "video/mp4", facts)

    def _picture_check(self, job: EngineTask[Any]) -> PictureCheck | None:
        """The check of this clip's pictures; None without a classifier, and where the account may turn it off and did."""
        if job.may_be_unchecked and not getattr(job.input, "enable_safety_checker", True):
            self.report.log("The safety check is turned off for this run.")
            return None
        if self._pictures is None:
            self.report.log(
                "The safety check read the prompt only: models.toml names no classifier of pictures in [safety]."
            )
        return self._pictures


def with_edges(picture: Image.Image, size: PixelSize, left: int = 0, top: int = 0) -> Image.Image:
    """A picture within a larger one, its edges repeated around it."""
    right, below = size[0] - picture.width - left, size[1] - picture.height - top
    return Image.fromarray(np.pad(np.asarray(picture), ((top, below), (left, right), (0, 0)), mode="edge"))


def as_bytes(pixels: Any) -> np.ndarray[Any, Any]:
    """Decoded frames, `(frames, 3, height, width)` from -1 to 1, as pictures of red, green and blue."""
    values = pixels.float().clamp(-1, 1).add(1).mul(127.5).round().to(torch.uint8)
    return values.permute(0, 2, 3, 1).contiguous().cpu().numpy()  # type: ignore[no-any-return]  # torch has no types here.
