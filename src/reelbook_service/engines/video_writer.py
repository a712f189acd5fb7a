"""Writing of MP4 files that every browser plays, with the same bytes for the same frames."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar, cast

import av
import numpy as np
from av.video.reformatter import ColorRange, Colorspace, Interpolation
from PIL import Image

from .write_provenance import WrittenProvenance

A = TypeVar("A")
T = TypeVar("T")

THREADS = 2
"""Fixed, not the number of cores: x264 writes different bytes for different numbers of threads."""

AHEAD = 2
"""Threads that compute frames ahead of the encoder; the bytes of a clip do not depend on their number."""

QUICK: Mapping[str, str] = {
    "preset": "ultrafast",
    "crf": "20",
    "x264-params": "subme=1:bframes=3:b-adapt=0:cabac=1:deblock=0,0:partitions=i4x4:force-cfr=1",
}
"""Settings measured for moving pictures: small files at little more than the cost of the fastest preset."""

SUBSTITUTE: Mapping[str, str] = {
    "deadline": "realtime", "cpu-used": "8", "crf": "24", "b": "0", "row-mt": "1", "lag-in-frames": "0",
}  # fmt: skip
"""Settings of VP9 for the same quality, where libx264 is missing; in MP4 it plays wherever H.264 does, except on some old televisions."""


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
    """Whether this build of PyAV includes x264; distributions without GPL parts do not."""
    return "libx264" in av.codecs_available


def yuv(picture: Image.Image, size: tuple[int, int] | None = None) -> av.VideoFrame:
    """A frame for a `Movie` from an RGB picture: yuv420p in BT.709 of limited range, enlarged to `size`."""
    return av.VideoFrame.from_ndarray(np.asarray(picture), format="rgb24").reformat(
        *(size or picture.size),
        format="yuv420p",
        dst_colorspace=Colorspace.ITU709,
        dst_color_range=ColorRange.MPEG,
        interpolation=Interpolation.BICUBIC if size else Interpolation.AREA,
    )


def in_order(
    work: Callable[[A], T], items: Iterable[A], *, name: str, threads: int | None = None, keep: int = 0
) -> Generator[T, None, None]:
    """Yield the result of each item in order, computed on threads a little ahead of its use.

    The last `keep` results are kept, in case the same item comes again. Close the generator (`contextlib.closing`) to end the
    threads: work that has begun is finished, and no other is started.
    """
    threads = threads or AHEAD
    pool, waiting = ThreadPoolExecutor(threads, name), deque[Future[T]]()
    begin = lru_cache(keep)(lambda item: pool.submit(work, item))
    try:
        for item in items:
            waiting.append(begin(item))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


class Movie:
    """A video file, for a `with` block that adds its frames."""

    def __init__(
        self,
        path: Path,
        size: tuple[int, int],
        rate: Fraction,
        provenance: WrittenProvenance,
        options: Mapping[str, str] = QUICK,
    ) -> None:
        self.encoder = "libx264" if has_x264() else "libvpx-vp9"
        self.frames, self._tick = 0, 1 / rate
        self._file = av.open(str(path), "w", format="mp4", options={"movflags": "+faststart"})
        self._file.metadata.update(provenance.mp4())
        chosen = dict(options if self.encoder == "libx264" else SUBSTITUTE)
        # PyAV infers the type of a stream only from a literal encoder name.
        self._stream = cast(av.VideoStream, self._file.add_stream(self.encoder, rate=rate, options=chosen))
        self._stream.time_base = self._tick
        context = self._stream.codec_context
        context.width, context.height = size
        context.pix_fmt = "yuv420p"
        context.thread_count = THREADS
        context.color_range, context.colorspace = ColorRange.MPEG, Colorspace.ITU709
        context.color_primaries = context.color_trc = 1  # BT.709, so that players do not guess by the height

    def add(self, frame: av.VideoFrame) -> None:
        """Append one frame, yuv420p in BT.709."""
        frame.pts, frame.time_base = self.frames, self._tick
        self.frames += 1
        self._file.mux(self._stream.encode(frame))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._file.mux(self._stream.encode(None))
            self._file.close()
            return
        # Cancelled or failed: the file is removed with its folder, only its handle must be closed. That may fail
        # for the same reason as the work did, such as a full disk; the first error is the one to report.
        with suppress(av.FFmpegError, OSError, ValueError):
            self._file.close()
