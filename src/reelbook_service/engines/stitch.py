"""The stitch engine: a sequence of pictures, each held for its own number of frames."""

from __future__ import annotations

from contextlib import closing
from math import prod
from typing import Any

import av
from av.video.frame import PictureType

from reelbook.models.images_to_video import ImagesToVideo

from .open_pictures import PixelSize, canvas_for, on_canvas, open_picture, upright_size
from .protocol import EngineTask, OutputFile, Report
from .video_writer import Movie, exact_rate, in_order, yuv
from .write_provenance import WrittenProvenance

LARGE_PIXELS = 8_000_000
"""Pixels of a picture above which no other is decoded concurrently: both could need too much memory for a worker."""

KEPT_PIXELS = 40_000_000
"""Pixels of decoded pictures that are kept because they may come again; each takes a byte and a half."""

FRAMES_SHARE = 0.98
"""The progress when all frames are written and only the index remains."""

STILLS = {
    "preset": "ultrafast",
    # One quantiser for every frame: the second frame of a hold then differs from the first in next to nothing.
    "qp": "19",
    "forced-idr": "1",
    # A player that seeks starts at a key frame: one at each cut, and after 250 frames at most.
    "x264-params": "bframes=0:scenecut=0:keyint=250:ipratio=1:rc-lookahead=0:sync-lookahead=0:force-cfr=1",
}


class Stitch:
    """Shows pictures in sequence, each for exactly as many frames as requested."""

    name = "stitch"
    version = "2"

    def __call__(self, job: EngineTask[ImagesToVideo], report: Report) -> dict[str, Any]:
        """Generate the video."""
        request, path, rate = job.input, job.folder / "video.mp4", exact_rate(job.input.fps)
        report.log(
            f"This is the stitch engine {self.version}: it puts pictures together on this machine. Pictures: "
            f"{len(request.images):,}, frames: {request.total_frames:,}, {request.fps:g} a second."
        )
        size, largest = _measure_pictures(job, report)
        threads = 1 if largest > LARGE_PIXELS else None
        provenance = WrittenProvenance(request.endpoint_id, request.wire(), None, self.name, self.version)

        def still(url: str) -> av.VideoFrame:
            return yuv(on_canvas(open_picture(url, job.sources[url], at_least=size), size))

        urls, keep = (image.url for image in request.images), max(1, KEPT_PIXELS // (size[0] * size[1]))
        with (
            closing(in_order(still, urls, name="stitch", threads=threads, keep=keep)) as stills,
            Movie(path, size, rate, provenance, STILLS) as video,
        ):
            if video.encoder != "libx264":
                report.log(f"x264 cannot be used here; the video is encoded with {video.encoder}.", "WARNING")
            for number, image in enumerate(request.images):
                stage = f"picture {number + 1:,} of {len(request.images):,}"
                report.progress(stage, FRAMES_SHARE * number / len(request.images))
                frame = next(stills)
                for done in range(image.frames):
                    frame.pict_type = PictureType.NONE if done else PictureType.I
                    video.add(frame)
                    share = (number + (done + 1) / image.frames) / len(request.images)
                    report.progress(stage, FRAMES_SHARE * share)
            report.progress("writing the index", FRAMES_SHARE)
        facts = {"width": size[0], "height": size[1], "frames": request.total_frames, "fps": request.fps}
        return {"video": OutputFile(path, "video/mp4", {**facts, "duration": float(request.total_frames / rate)})}


stitch = Stitch()
"""The engine instance."""


def _measure_pictures(job: EngineTask[ImagesToVideo], report: Report) -> tuple[PixelSize, int]:
    """The size of the video, which is the first picture's, and the pixels of the largest picture.

    Raises for a file that is not a picture, before any work is done.
    """
    urls = dict.fromkeys(image.url for image in job.input.images)
    sizes: list[PixelSize] = []
    for number, url in enumerate(urls, 1):
        report.progress(f"looking at picture {number} of {len(urls)}", 0.0)
        sizes.append(upright_size(url, job.sources[url]))
    seen, size = sizes[0], canvas_for(sizes[0])
    if size[0] < seen[0]:
        report.log(
            f"The first picture has {seen[0]} × {seen[1]} pixels, more than players take; the video has "
            f"{size[0]} × {size[1]}."
        )
    return size, max(map(prod, sizes))
