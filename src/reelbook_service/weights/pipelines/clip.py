"""What both families share: progress, checks within a step, start pictures, and the writing of decoded frames."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, ClassVar, Generic, TypeVar

import av
import numpy as np
import torch
from av.video.reformatter import Colorspace
from PIL import Image

from reelbook.models.image_to_video import ImageToVideo

from ...engines.canvas import frame_size
from ...engines.open_pictures import flattened, open_picture, upright_size
from ...engines.protocol import EngineTask, OutputFile, Report
from ...engines.video_writer import Movie
from ...engines.write_provenance import WrittenProvenance
from ..clip_plan import PixelSize
from ..config import LtxWeights, WanWeights
from ..folder import weights_identity
from .parts import EncodedPrompt, PictureCheck, PromptEncoder

CHECKS_PER_STEP = 6
"""Places within a step at which a cancelled run ends: a step of a large clip takes seconds."""
IMAGE_RATE = 24
"""Frames a second of clips that start with a picture."""

WeightsRow = TypeVar("WeightsRow", LtxWeights, WanWeights)


class Model(Generic[WeightsRow]):
    """Loaded weights on one device, and the run that they work on at the moment."""

    name: ClassVar[str]
    prompts: PromptEncoder

    def __init__(self, row: WeightsRow) -> None:
        self.row: WeightsRow = row
        self.version = f"{row.folder.name}@{weights_identity(row)}"
        self._device = row.devices[0]
        self._pictures = PictureCheck(row.safety, self._device) if row.safety else None
        self._report: Report | None = None

    def close(self) -> None:
        """Free what does not go with the last reference."""

    def end_run(self) -> None:
        """Forget the run that is reported to."""
        self._report = None

    def _begin_image(self, job: EngineTask[ImageToVideo], report: Report) -> tuple[float, Image.Image]:
        """The guidance of a run and its start picture at the size of the clip."""
        self._report = report
        report.log(f"The seed is {job.seed}, chosen by the service.")
        low, high = self.row.guidance
        source = job.input.image_url
        size = frame_size(*upright_size(source, job.sources[source]))
        picture = flattened(open_picture(source, job.sources[source], at_least=size))
        return low + (high - low) * job.input.cfg_scale, picture.resize(size, Image.Resampling.LANCZOS)

    def _encoded(self, prompt: str, report: Report) -> EncodedPrompt:
        report.progress("reading the prompt", 0.01)
        encoded = self.prompts.encode(prompt)
        if encoded.is_full:
            report.log(
                f"The prompt is longer than the {self.prompts.max_tokens} tokens that the model reads; its end has no effect.",
                "WARNING",
            )
        return encoded

    def _check_within_steps(self, blocks: Any) -> None:
        """Let a cancelled run end at some of a transformer's blocks, each time before the block runs."""
        for block in list(blocks)[:: max(1, len(blocks) // CHECKS_PER_STEP)]:
            block.register_forward_pre_hook(self._check)

    def _check(self, module: Any, inputs: Any) -> None:
        if self._report is None:
            return
        if self._device != "cpu":
            # Python runs ahead of the device; without this, a run would be cancelled in the device's future.
            torch.cuda.current_stream().synchronize()
        self._report.check()

    def _write(
        self, job: EngineTask[Any], size: PixelSize, count: int, rate: int, pieces: Iterable[Any], report: Report
    ) -> OutputFile:
        """Write and check the frames of the pieces in their order; a cancelled run ends between two of them."""
        check = self._picture_check(job, report)
        checked = check.numbers(count) if check else ()
        path = job.folder / "clip.mp4"
        provenance = WrittenProvenance(job.input.endpoint_id, job.input.wire(), job.seed, self.name, self.version)
        with Movie(path, size, Fraction(rate), provenance) as movie:
            for pixels in pieces:
                for picture in as_bytes(pixels):
                    report.check()
                    if check and movie.frames in checked:
                        check.check(picture)
                    frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
                    movie.add(frame.reformat(format="yuv420p", dst_colorspace=Colorspace.ITU709))
            frames = movie.frames
        if frames != count:
            raise AssertionError(f"{frames} frames were decoded, and {count} were planned.")
        facts = {"width": size[0], "height": size[1], "frames": frames, "frame_rate": rate}
        return OutputFile(path, "video/mp4", facts)

    def _picture_check(self, job: EngineTask[Any], report: Report) -> PictureCheck | None:
        """The check of this clip's pictures; None without a classifier, and where the account may turn it off and did."""
        if job.may_be_unchecked and not getattr(job.input, "enable_safety_checker", True):
            report.log("The safety check is turned off for this run.")
            return None
        if self._pictures is None:
            report.log(
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
