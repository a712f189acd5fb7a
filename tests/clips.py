"""Small films for tests: each frame is grey, and how grey tells its number."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from PIL import Image

from reelbook.media.local_file import LocalFile
from reelbook.models.base import File

DARKEST, STEP = 20, 8


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
    grain = np.random.default_rng(7)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(
            "libx264", rate=rate, options={"preset": "ultrafast", "crf": "18", **(options or {})}
        )
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for number in range(frames):
            picture = np.full((height, width, 3), DARKEST + STEP * (number % 25), np.int16)
            picture += grain.integers(-noise, noise + 1, (height, width, 3 if coloured else 1), np.int16)
            frame = av.VideoFrame.from_ndarray(picture.clip(0, 255).astype(np.uint8), format="rgb24")
            frame.pts, frame.time_base = number, 1 / rate
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return at(path)


def at(path: Path) -> LocalFile:
    """The file at a path, as a run would have it."""
    return LocalFile(path, File(url=f"http://127.0.0.1/files/{path.name}"))


def number_of(picture: Image.Image) -> int:
    """Which of the first 25 frames of a film this is."""
    return round((float(np.asarray(picture.convert("L")).mean()) - DARKEST) / STEP)
