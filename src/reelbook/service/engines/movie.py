"""An MP4 being written: H.264 that every browser plays, the same bytes for the same frames."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Self

import av
from av.video.reformatter import ColorRange, Colorspace

from .provenance import Provenance

THREADS = 2
"""Fixed, not the number of cores: x264 writes different bytes for different numbers of threads."""

QUICK: Mapping[str, str] = {
    "preset": "ultrafast",
    "crf": "20",
    "x264-params": "subme=1:bframes=3:b-adapt=0:cabac=1:deblock=0,0:partitions=i4x4:force-cfr=1",
}
"""Settings measured for moving pictures: small files at little more than the cost of the fastest preset."""


def exact_rate(fps: float) -> Fraction:
    """Frames per second as a fraction; broadcast rates such as 23.976 become their true 24000/1001.

    >>> exact_rate(24), exact_rate(23.976), exact_rate(12.5)
    (Fraction(24, 1), Fraction(24000, 1001), Fraction(25, 2))
    """
    for nominal in (24, 30, 48, 60, 120):
        if abs(fps - nominal * 1000 / 1001) < 0.002:
            return Fraction(nominal * 1000, 1001)
    return Fraction(str(fps)).limit_denominator(1001)


def has_x264() -> bool:
    """Whether this build of PyAV brings x264; distributions without GPL parts do not."""
    return "libx264" in av.codecs_available


class Movie:
    """A video file; add frames, then close it, or leave its `with` block."""

    def __init__(
        self,
        path: Path,
        size: tuple[int, int],
        rate: Fraction,
        provenance: Provenance,
        options: Mapping[str, str] = QUICK,
    ) -> None:
        self.frames = 0
        self._rate = rate
        self._file = av.open(str(path), "w", format="mp4", options={"movflags": "+faststart"})
        self._file.metadata.update(provenance.mp4())
        x264 = has_x264()
        self._stream = self._file.add_stream(
            "libx264" if x264 else "mpeg4", rate=rate, options=dict(options) if x264 else {}
        )
        self._stream.width, self._stream.height = size
        self._stream.pix_fmt = "yuv420p"
        self._stream.time_base = 1 / rate
        context = self._stream.codec_context
        context.thread_count = THREADS
        context.color_range, context.colorspace = ColorRange.MPEG, Colorspace.ITU709
        context.color_primaries = context.color_trc = 1  # BT.709, so that players do not guess by the height

    def add(self, frame: av.VideoFrame) -> None:
        """Append one frame, yuv420p in BT.709."""
        frame.pts, frame.time_base = self.frames, 1 / self._rate
        self.frames += 1
        self._file.mux(self._stream.encode(frame))

    def close(self) -> None:
        """Write what is still in the encoder, then the index."""
        self._file.mux(self._stream.encode(None))
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            # Cancelled or broken: the file is thrown away with its folder, only its handle must go.
            self._file.close()
