"""Clips of every kind whose frames carry their number as a pattern of black and white blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import av
import numpy as np
from PIL import Image

BITS = 8
COLUMNS = BITS + 2
"""White, the number with its lowest bit first, and black; the lower half has the number inverted."""


@dataclass(frozen=True)
class Kind:
    """How a clip is made."""

    name: str
    suffix: str = ".mp4"
    codec: str = "libx264"
    frames: int = 40
    size: tuple[int, int] = (160, 90)
    """As it is displayed."""
    rate: Fraction = Fraction(24)
    ticks: Sequence[int] = ()
    """When each frame begins, in hundredths of a second; by default at the rate."""
    pixels: str = "yuv420p"
    options: dict[str, str] = field(default_factory=dict)
    rotation: int = 0
    """Degrees clockwise by which the coded picture is turned to be displayed."""
    cut: int = 0
    """So many frames at the start are left out by an edit list."""
    aspect: Fraction = Fraction(1)
    """Width of a pixel through its height."""
    is_decoded: bool = True
    """Whether browsers decode it."""
    is_played: bool = True
    """Whether Chromium's player finds all its frames; seeking to an open group ends in an error of its own."""

    def __str__(self) -> str:
        return self.name

    @property
    def shown(self) -> int:
        """Number of frames that are displayed."""
        return self.frames - self.cut


def _kinds() -> list[Kind]:
    one_group = {"g": "250", "bf": "3"}
    open_groups = {"g": "8", "bf": "3", "x264-params": "open-gop=1:scenecut=0:b-adapt=0"}
    uneven = [number * 4 + number % 4 + 30 * (number > 20) for number in range(40)]
    kinds = [
        Kind("plain", options={"bf": "0", "g": "12"}),
        Kind("B-frames, one group", options=one_group, frames=70),
        Kind("open groups", options=open_groups, is_played=False),
        Kind("closed groups with B-frames", options={"g": "10", "bf": "2", "sc_threshold": "0"}, rate=Fraction(25)),
        Kind("odd size", size=(161, 91), pixels="yuv444p", options={"bf": "2"}),
        Kind("uneven", ticks=uneven, options={"bf": "3", "g": "12"}),
        *(
            Kind(f"{rate} frames a second", rate=rate, options={"bf": "2"})
            for rate in (Fraction(24000, 1001), Fraction(30), Fraction(60))
        ),
        Kind("cut", cut=3, options={"bf": "0"}),
        Kind("cut, B-frames", cut=5, options=one_group),
        *(Kind(f"turned by {turn}", rotation=turn, options={"bf": "2"}) for turn in (90, 180, 270)),
        Kind("turned, odd", rotation=90, size=(91, 161), pixels="yuv444p"),
        Kind("wide pixels", aspect=Fraction(4, 3), options={"bf": "2"}),
        Kind("VP9 in WebM", ".webm", "libvpx-vp9", size=(161, 91)),
        Kind("VP9 in MP4", ".mp4", "libvpx-vp9", rate=Fraction(30)),
        Kind("VP9 in WebM, uneven", ".webm", "libvpx-vp9", ticks=uneven),
        Kind("VP9 in WebM, 24000/1001", ".webm", "libvpx-vp9", rate=Fraction(24000, 1001)),
        Kind("VP8 in WebM", ".webm", "libvpx"),
        Kind("H.264 in Matroska", ".mkv", "libx264", options={"bf": "2"}),
        Kind("AV1", ".mp4", "libsvtav1", options={"preset": "10", "crf": "20"}),
        Kind("AV1 in WebM", ".webm", "libsvtav1", options={"preset": "10", "crf": "20"}),
        Kind("10 bits", pixels="yuv420p10le", options={"bf": "2"}),
        Kind("HEVC", codec="libx265", is_decoded=False, options={"x265-params": "log-level=none"}),
        Kind("MPEG-4 part 2", codec="mpeg4", is_decoded=False),
    ]
    return [kind for kind in kinds if kind.codec in av.codecs_available]


KINDS = _kinds()


def kind_of(name: str) -> Kind:
    """The kind of this name."""
    return next(kind for kind in KINDS if kind.name == name)


def numbered_clip(folder: Path, kind: Kind) -> Path:
    """A clip of this kind, made once in a folder."""
    path = folder / f"clip{KINDS.index(kind) if kind in KINDS else kind.name}{kind.suffix}"
    if not path.exists():
        _write(path, kind)
    return path


def _write(path: Path, kind: Kind) -> None:
    fast = {
        "libx264": {"preset": "ultrafast", "crf": "20"},
        "libvpx-vp9": {"cpu-used": "8", "deadline": "realtime", "b": "600k"},
    }
    base = Fraction(1, 100) if kind.ticks else 1 / kind.rate
    with av.open(str(path), "w") as container:
        how = {**fast.get(kind.codec, {}), **kind.options}
        stream = cast(Any, container.add_stream(kind.codec, rate=kind.rate, options=how))
        width, height = kind.size if kind.rotation % 180 == 0 else kind.size[::-1]
        stream.width, stream.height, stream.pix_fmt = width, height, kind.pixels
        stream.codec_context.time_base = base
        if kind.aspect != 1:
            stream.codec_context.sample_aspect_ratio = kind.aspect
        if kind.rotation:
            stream.set_display_rotation(-kind.rotation)
        for number in range(kind.frames):
            upright = draw(number - kind.cut if number >= kind.cut else 255 - number, kind.size)
            coded = np.ascontiguousarray(np.rot90(upright, kind.rotation // 90))  # Counterclockwise.
            frame = av.VideoFrame.from_ndarray(coded, format="rgb24")
            frame.pts, frame.time_base = kind.ticks[number] if kind.ticks else number, base
            _put(container, stream, kind, base, frame)
        _put(container, stream, kind, base, None)


def _put(container: Any, stream: Any, kind: Kind, base: Fraction, frame: av.VideoFrame | None) -> None:
    for packet in stream.encode(frame):
        if kind.cut:
            # The muxer cuts off what is before zero by an edit list.
            early = int(kind.cut * base / packet.time_base)
            packet.pts, packet.dts = packet.pts - early, packet.dts - early
        container.mux(packet)


def draw(number: int, size: tuple[int, int]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The pattern of a number."""
    bits = [1, *(number >> bit & 1 for bit in range(BITS)), 0]
    lower = [1, *(1 - bit for bit in bits[1:-1]), 0]
    picture = np.zeros((size[1], size[0], 3), np.uint8)
    edges = [round(column * size[0] / COLUMNS) for column in range(COLUMNS + 1)]
    for column in range(COLUMNS):
        part = slice(edges[column], edges[column + 1])
        picture[: size[1] // 2, part] = 235 * bits[column]
        picture[size[1] // 2 :, part] = 235 * lower[column]
    return picture


def read_number(picture: Image.Image) -> int:
    """The number of the frame; -1 for a picture that is no upright pattern."""
    plain = np.asarray(picture.convert("L"))
    height, width = plain.shape
    places = [int((column + 0.5) * width / COLUMNS) for column in range(COLUMNS)]
    upper, lower = (plain[int(height * part), places] > 128 for part in (0.25, 0.75))
    if not (upper[0] and lower[0]) or upper[-1] or lower[-1] or (upper[1:-1] == lower[1:-1]).any():
        return -1
    return sum(int(bit) << place for place, bit in enumerate(upper[1:-1]))


READ_NUMBER = """const readNumber = (drawable, width, height) => {
  const pen = new OffscreenCanvas(width, height).getContext("2d", {willReadFrequently: true});
  pen.drawImage(drawable, 0, 0, width, height);
  const at = (column, part) => pen.getImageData(Math.floor((column + 0.5) * width / COLUMNS), Math.floor(height * part), 1, 1).data[1] > 128;
  const [upper, lower] = [0.25, 0.75].map((part) => Array.from({length: COLUMNS}, (_, column) => at(column, part)));
  if (!upper[0] || !lower[0] || upper.at(-1) || lower.at(-1)) return -1;
  const bits = upper.slice(1, -1);
  if (bits.some((bit, place) => bit === lower[place + 1])) return -1;
  return bits.reduce((sum, bit, place) => sum + (bit << place), 0);
};""".replace("COLUMNS", str(COLUMNS))
"""The same in a page, for whatever can be drawn on a canvas."""
