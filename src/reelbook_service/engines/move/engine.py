"""The move engine: a camera move over one picture."""

from __future__ import annotations

from contextlib import closing
from fractions import Fraction
from typing import Any

from PIL import Image

from reelbook.models.image_to_video import ImageToVideo

from ..canvas import frame_size
from ..open_pictures import flattened, open_picture, upright_size
from ..protocol import EngineTask, OutputFile, Report
from ..saliency import saliency_of
from ..video_writer import Movie, in_order
from ..write_provenance import WrittenProvenance
from .camera import Path
from .effects import Effects
from .field import Field, relief_of
from .plan import Plan, described, make_plan
from .warp import OVERSIZE, Planes, Warp, frame_of, planes_of

RATE = 24
"""Frames per second."""

BLEND_FRAMES = 6
"""Frames over which the original picture is blended into the camera's view, so that the transition is not visible."""


class Move:
    """Generates a clip from one picture by a camera move over it, as the prompt describes."""

    name = "move"
    version = "3"

    def __call__(self, job: EngineTask[ImageToVideo], report: Report) -> dict[str, Any]:
        request = job.input
        report.log(
            "Move engine: a camera over the picture, computed on this machine. This is not the hosted model; "
            "nothing in the picture comes alive by itself."
        )
        plan = make_plan(request)
        report.log(described(plan))
        count = RATE * int(request.duration)
        report.progress("looking", 0.01)
        shot = Shot(request.image_url, job.sources[request.image_url], plan, int(request.duration))
        path, (width, height) = job.folder / "clip.mp4", shot.size
        provenance = WrittenProvenance(request.endpoint_id, request.wire(), None, self.name, self.version)
        with (
            closing(in_order(lambda number: shot.frame(number, count), range(count), name="move")) as frames,
            Movie(path, shot.size, Fraction(RATE), provenance) as movie,
        ):
            for done, planes in enumerate(frames, 1):
                movie.add(frame_of(planes))
                report.progress(f"moving {done} of {count}", 0.05 + 0.92 * done / count)
            report.progress("encoding", 0.98)
        facts = {"width": width, "height": height, "frames": count, "frame_rate": RATE}
        return {"video": OutputFile(path, "video/mp4", facts)}


move = Move()
"""The engine instance."""


class Shot:
    """Draws the frames of a clip, in any order and on any thread."""

    def __init__(self, source: str, data: bytes, plan: Plan, seconds: float) -> None:
        full = upright_size(source, data)
        self.size = width, height = frame_size(*full)
        larger = 2 * round(width * OVERSIZE / 2), 2 * round(height * OVERSIZE / 2)
        picture = open_picture(source, data, at_least=larger)
        # Transparency is composited over black.
        large, still = (flattened(picture.resize(size, Image.Resampling.LANCZOS)) for size in (larger, self.size))
        del picture  # It may take more memory than all other work.
        relief = relief_of(saliency_of(still))
        self._still, self._seconds = planes_of(still), seconds
        self._path = Path(plan, relief.centre, width / height, seconds, full[0] / width)
        poses = [self._path.at(step / 12) for step in range(13)]
        self._warp = Warp(planes_of(large), self.size, Field(relief, plan, width / height, poses))
        self._effects = Effects(plan, self.size, seconds)

    def frame(self, number: int, count: int) -> Planes:
        """The planes of one frame; the first is the picture itself."""
        if not number:
            return self._still
        share = number / (count - 1)
        planes = self._warp.seen(self._path.at(share))
        if number < BLEND_FRAMES:
            part = number / BLEND_FRAMES
            light, blue, red = (Image.blend(one, other, part) for one, other in zip(self._still, planes, strict=True))
            planes = light, blue, red
        return self._effects.over(planes, share * self._seconds)
