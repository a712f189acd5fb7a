"""Small films for tests: each frame is grey, and how grey tells its number."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import cast

import av
import numpy as np
from av import VideoStream
from numpy.typing import NDArray
from PIL import Image

from reelbook.media.local_file import LocalFile
from reelbook.models.base import File

DARKEST, STEP = 20, 8
FAST = {"preset": "ultrafast"}

Pixels = NDArray[np.uint8]


def write_clip(
    path: Path, frames: Iterable[Pixels], *, codec: str = "libx264", rate: Fraction | int = 24, pixels: str = "yuv420p",
    options: dict[str, str] = FAST, times: Iterable[Fraction] | None = None, movflags: str = "",
) -> Path:  # fmt: skip
    """A clip of these frames, one after the other or at these times; the path's suffix names the container."""
    tick = 1 / Fraction(rate) if times is None else Fraction(1, 1000)
    whens = iter(times or ())
    with av.open(str(path), "w", options={"movflags": movflags} if movflags else {}) as container:
        # PyAV knows the type of a stream only where the encoder's name stands in the code.
        stream = cast(VideoStream, container.add_stream(codec, rate=rate, options=options))
        stream.pix_fmt, stream.codec_context.time_base = pixels, tick
        for number, picture in enumerate(frames):
            if not number:
                stream.height, stream.width = picture.shape[:2]
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = int(next(whens, number * tick) / tick), tick
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def film(
    path: Path,
    *,
    frames: int = 25,
    size: tuple[int, int] = (64, 48),
    rate: Fraction = Fraction(24),
    noise: int = 0,
    coloured: bool = True,
    options: dict[str, str] | None = None,
) -> LocalFile:
    """A film at this path; `noise` makes it grainy, and so its file large: in all colours, or in greys alone."""
    width, height = size
    random = np.random.default_rng(7)
    grain = (random.integers(-noise, noise + 1, (height, width, 3 if coloured else 1), np.int16) for _ in range(frames))
    greys = (np.full((height, width, 3), DARKEST + STEP * (number % 25), np.int16) for number in range(frames))
    pictures = ((grey + grains).clip(0, 255).astype(np.uint8) for grey, grains in zip(greys, grain, strict=True))
    return at(write_clip(path, pictures, rate=rate, options={**FAST, "crf": "18", **(options or {})}))


def at(path: Path) -> LocalFile:
    """The file at a path, as a run would have it."""
    return LocalFile(path, File(url=f"http://127.0.0.1/files/{path.name}"))


def number_of(picture: Image.Image) -> int:
    """Which of the first 25 frames of a film this is."""
    return round((float(np.asarray(picture.convert("L")).mean()) - DARKEST) / STEP)
