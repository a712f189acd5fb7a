"""The stitch engine: a sequence of pictures, each held for its own number of frames."""

from __future__ import annotations

from contextlib import closing
from math import prod, sqrt
from typing import Any

import av
import numpy as np
from av.video.frame import PictureType
from PIL import Image, ImageFilter, ImageOps

from reelbook.models.images_to_video import ImagesToVideo

from .open_pictures import even_size, flattened, open_picture, upright_size
from .protocol import EngineTask, OutputFile, Report
from .video_writer import Movie, exact_rate, in_order, yuv
from .write_provenance import WrittenProvenance

LARGE_PIXELS = 8_000_000
"""Pixels of a picture above which no other is decoded concurrently: both could need too much memory for a worker."""

KEPT_PIXELS = 40_000_000
"""Pixels of decoded pictures that are kept because they may come again; each takes a byte and a half."""

MOST_PIXELS, LONGEST_SIDE = 9_000_000, 8192
"""Bounds of a frame: ordinary players' hardware decodes no more."""

THIN = 0.02
"""A border narrower than this share looks unintended; the picture is stretched instead."""

BACKDROP = 48
"""Pixels along the longer side of the backdrop before it is enlarged, which makes it blurred and cheap."""

DIMMED = 0.55
"""Brightness of the backdrop, relative to the picture."""

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
    version = "3"

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


def _measure_pictures(job: EngineTask[ImagesToVideo], report: Report) -> tuple[tuple[int, int], int]:
    """The size of the video, which is the first picture's, and the pixels of the largest picture.

    Raises for a file that is not a picture, before any work is done.
    """
    urls = dict.fromkeys(image.url for image in job.input.images)
    sizes: list[tuple[int, int]] = []
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


def canvas_for(first: tuple[int, int]) -> tuple[int, int]:
    """The size of a video from the size of its first picture: the same, even, and not too large to be played.

    >>> canvas_for((1280, 720)), canvas_for((641, 1)), canvas_for((8000, 5000))
    ((1280, 720), (642, 2), (3794, 2370))
    """
    scale = min(sqrt(MOST_PIXELS / prod(first)), LONGEST_SIDE / max(first))
    return even_size(first[0] * scale, first[1] * scale) if scale < 1 else even_size(first[0] + 1, first[1] + 1)


def on_canvas(picture: Image.Image, canvas: tuple[int, int]) -> Image.Image:
    """The picture as a frame of the video: complete, undistorted, as large as fits, over a blurred copy of itself.

    A blurred copy rather than black bars, because bars look unintended between pictures that fill the frame.
    """
    picture = flattened(picture)
    missing = canvas[0] - picture.width, canvas[1] - picture.height
    if set(missing) <= {0, 1}:  # Video needs even sides: the last column or row is repeated.
        return Image.fromarray(np.pad(np.asarray(picture), ((0, missing[1]), (0, missing[0]), (0, 0)), mode="edge"))
    scale = min(canvas[0] / picture.width, canvas[1] / picture.height)
    size = even_size(picture.width * scale, picture.height * scale)
    if all(side - fitted <= max(2, THIN * side) for side, fitted in zip(canvas, size, strict=True)):
        size = canvas
    fitted = picture.resize(size, Image.Resampling.LANCZOS if scale < 1 else Image.Resampling.BICUBIC)
    if size == canvas:
        return fitted
    # The middle of the picture, dimmed and so blurred that only its colours remain.
    across, down = (max(1, round(side * BACKDROP / max(canvas))) for side in canvas)
    soft = ImageOps.fit(picture, (across, down), Image.Resampling.BOX).filter(ImageFilter.GaussianBlur(3))
    frame = soft.point(lambda value: value * DIMMED).resize(canvas, Image.Resampling.BICUBIC)
    # On even pixels: two pixels share their colour, so an odd edge would tint the border.
    frame.paste(fitted, ((canvas[0] - size[0]) // 4 * 2, (canvas[1] - size[1]) // 4 * 2))
    return frame
