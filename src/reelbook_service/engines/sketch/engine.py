"""The sketch engine: renders a request as an MP4."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from threading import local
from typing import Any

import av
import numpy as np
from av.video.reformatter import Colorspace, Interpolation, VideoReformatter

from reelbook.models.text_to_video import TextToVideo

from ..protocol import EngineTask, OutputFile, Report
from ..video_writer import Movie
from ..write_provenance import Provenance
from .painter import Painter
from .words import Scene, expanded, scene_of

PAINTERS = 2
"""Threads that paint frames; the bytes of the clip do not depend on their number."""

_PREPARED, _PAINTED = 0.06, 0.98


class Sketch:
    """Paints scenes from the words of a prompt, without a model, weights or network."""

    name = "sketch"
    version = "2"

    def __call__(self, job: EngineTask[TextToVideo], report: Report) -> dict[str, Any]:
        """Render the clip."""
        report.log(
            "This is the sketch engine: it paints scenes from the words it knows, on this machine. "
            "It is not the hosted model, and its pictures are not that model's."
        )
        request = job.input
        prompt = expanded(request.prompt) if request.expand_prompt else request.prompt
        scene = scene_of(prompt, request.negative_prompt)
        report.log(described(scene))
        painter = Painter(request, scene, job.seed)
        for ready, thing in enumerate(painter.prepare(), 1):
            report.progress(f"preparing {thing}", _PREPARED * ready / (ready + 4))
        path, (width, height) = job.folder / "clip.mp4", request.frame_size
        provenance = Provenance(request.endpoint_id, request.wire(), job.seed, self.name, self.version)
        with (
            Movie(path, (width, height), Fraction(request.frame_rate), provenance) as movie,
            closing(frames_of(painter, request)) as frames,
        ):
            for number, frame in enumerate(frames, 1):
                movie.add(frame)
                share = number / request.num_frames
                report.progress(
                    f"painting {number} of {request.num_frames}", _PREPARED + (_PAINTED - _PREPARED) * share
                )
            report.progress("encoding", _PAINTED)
        facts = {"width": width, "height": height, "frames": request.num_frames, "frame_rate": request.frame_rate}
        return {"video": OutputFile(path, "video/mp4", facts), "seed": job.seed, "prompt": prompt}


sketch = Sketch()


def described(scene: Scene) -> str:
    """A summary of the scene for the log.

    >>> described(scene_of("two red boats on a lake at sunset"))
    'Scene: water with hills, pines; sunset; 2 × boat (red).'
    >>> described(scene_of("a farm"))
    'Scene: green rows with hills, barn; day; no figures.'
    """
    behind = f" with {', '.join(scene.backdrops)}" if scene.backdrops else ""
    who = [
        f"{actor.count} × {actor.kind}{f' ({chr(44).join(actor.colours)})' if actor.colours else ''}"
        for actor in scene.actors
    ]
    # `rows-green` is one of several kinds of rows.
    ground = "no ground" if scene.ground == "none" else " ".join(reversed(scene.ground.split("-")))
    return f"Scene: {ground}{behind}; {scene.time}; {', '.join(who) or 'no figures'}."


def finished_painter(job: EngineTask[TextToVideo]) -> Painter:
    """The prepared painter of a job, for single frames without a clip."""
    request = job.input
    prompt = expanded(request.prompt) if request.expand_prompt else request.prompt
    painter = Painter(request, scene_of(prompt, request.negative_prompt), job.seed)
    deque(painter.prepare(), maxlen=0)
    return painter


def frames_of(painter: Painter, request: TextToVideo) -> Generator[av.VideoFrame, None, None]:
    """All frames in the order of the clip, painted in threads; at most `PAINTERS` + 1 are in memory."""
    width, height = request.frame_size
    own = local()

    def painted(number: int) -> av.VideoFrame:
        if not hasattr(own, "scaler"):
            own.scaler = VideoReformatter()
        picture = np.asarray(painter.frame(number))
        frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
        scaled: av.VideoFrame = own.scaler.reformat(
            frame, width, height, "yuv420p", interpolation=Interpolation.BICUBIC, dst_colorspace=Colorspace.ITU709
        )
        return scaled

    numbers = range(request.num_frames)
    waiting: deque[Future[av.VideoFrame]] = deque()
    pool = ThreadPoolExecutor(PAINTERS, thread_name_prefix="sketch")
    try:
        for number in numbers[::-1] if request.reverse_video else numbers:
            waiting.append(pool.submit(painted, number))
            if len(waiting) > PAINTERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        # Also when the run is cancelled: at most the frames in progress are finished, and no thread is left running.
        pool.shutdown(wait=True, cancel_futures=True)
