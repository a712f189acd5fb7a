"""Bars of known colours, as clips whose tags say in every way what their numbers mean."""

from __future__ import annotations

import io
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from reelbook.media import video_colours

COLOURS: list[tuple[int, ...]] = [
    (219, 38, 39), (30, 200, 40), (40, 60, 220), (128, 128, 128), (224, 172, 140), (12, 12, 12), (244, 244, 244), (160, 140, 40),
]  # fmt: skip
"""Red, green, blue, grey, skin, near black, near white, and a dark yellow."""


@dataclass(frozen=True)
class Says:
    """What a clip's tags say, in codes of H.273."""

    name: str
    matrix: int
    range: int
    primaries: int
    transfer: int
    is_tagged: bool = True

    def __str__(self) -> str:
        return self.name


SAYS = [
    Says("BT.709", 1, 1, 1, 1),
    Says("BT.709, full", 1, 2, 1, 1),
    Says("BT.601 of 525 lines", 6, 1, 6, 6),
    Says("BT.601 of 525 lines, full", 6, 2, 6, 6),
    Says("BT.709 of matrix 5", 5, 1, 1, 1),
    Says("nothing", 2, 0, 2, 2, is_tagged=False),
    Says("full only", 2, 2, 2, 2, is_tagged=False),
]


def bars(width: int, height: int) -> Image.Image:
    """The colours side by side."""
    pixels = np.zeros((height, width, 3), np.uint8)
    for number, colour in enumerate(COLOURS):
        pixels[:, number * width // len(COLOURS) : (number + 1) * width // len(COLOURS)] = colour
    return Image.fromarray(pixels)


def bar_clip(
    path: Path,
    size: tuple[int, int],
    says: Says,
    *,
    codec: str = "libx264",
    frames: int = 3,
    picture: NDArray[np.uint8] | None = None,
) -> Path:
    """A clip of the bars, or of this picture, in 4:2:0; without tags its numbers are made as a browser reads them."""
    made = says.matrix if says.is_tagged else 1 if size[1] >= 720 and says.range != 2 else 6
    how = {"preset": "ultrafast", "crf": "4"} if codec == "libx264" else {"crf": "4", "b": "50M", "qmax": "8"}
    kind = "webm" if path.suffix == ".webm" else "mp4"
    with av.open(str(path), "w", format=kind) as container:
        stream = cast(Any, container.add_stream(codec, rate=24, options=how))
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        context = stream.codec_context
        context.color_range = says.range
        context.colorspace, context.color_primaries, context.color_trc = says.matrix, says.primaries, says.transfer
        shown = np.asarray(bars(*size)) if picture is None else picture
        frame = av.VideoFrame.from_ndarray(shown, format="rgb24").reformat(
            format="yuv420p",
            dst_colorspace={6: 5}.get(made, made),
            dst_color_range=says.range or 1,
            interpolation=video_colours.AREA,
        )
        for number in range(frames):
            frame.pts, frame.time_base = number, Fraction(1, 24)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def bar_values(picture: Image.Image | bytes | None) -> list[tuple[int, ...]]:
    """The colour in the middle of each bar."""
    if not isinstance(picture, Image.Image):
        assert picture is not None
        picture = Image.open(io.BytesIO(picture))
    plain = np.asarray(picture.convert("RGB"))
    height, width, _ = plain.shape
    places = [(2 * number + 1) * width // (2 * len(COLOURS)) for number in range(len(COLOURS))]
    return [tuple(int(value) for value in plain[height // 2, place]) for place in places]
