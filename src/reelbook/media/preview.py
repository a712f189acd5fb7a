"""A small copy of a clip: what fits into a notebook when the clip itself does not."""

from __future__ import annotations

import io
import math
from fractions import Fraction
from pathlib import Path
from typing import cast

import av
from av import VideoStream

ENCODERS = ("libx264", "libvpx-vp9")
"""What browsers play inside an MP4; the first that this machine has is used."""


def preview(path: Path, *, longest: int, most_bytes: int) -> bytes | None:
    """The whole clip as a small MP4, no side longer than this; None where it cannot be made small enough."""
    encoder = next((name for name in ENCODERS if name in av.codecs_available), None)
    if encoder is None:
        return None
    out = io.BytesIO()
    with av.open(str(path)) as source, av.open(out, "w", format="mp4") as target:
        film = source.streams.video[0]
        rate = film.average_rate or Fraction(24)
        seconds = max(film.frames / rate, Fraction(1))
        # PyAV knows the type of a stream only where the encoder's name stands in the code.
        small = cast(VideoStream, target.add_stream(encoder, rate=rate, options=_options(encoder, most_bytes, seconds)))
        small.width, small.height = _even_size(film.codec_context.width, film.codec_context.height, longest)
        small.pix_fmt = "yuv420p"
        small.gop_size = math.ceil(rate)  # A keyframe each second, so that jumping about is quick.
        for number, frame in enumerate(source.decode(film)):
            shrunk = frame.reformat(small.width, small.height, format="yuv420p", interpolation="AREA")
            shrunk.pts, shrunk.time_base = number, 1 / rate
            target.mux(small.encode(shrunk))
        target.mux(small.encode())
    content = out.getvalue()
    return content if len(content) <= most_bytes else None


def _options(encoder: str, most_bytes: int, seconds: Fraction) -> dict[str, str]:
    """Good looks at first, and never more bytes than there is room for."""
    room = most_bytes * 8
    rate = str(int(room * 0.85 / seconds))
    if encoder == "libx264":
        # The buffer is what a busy moment may borrow beyond the rate.
        return {"preset": "veryfast", "crf": "26", "maxrate": rate, "bufsize": str(room // 10)}
    return {"deadline": "realtime", "cpu-used": "8", "crf": "36", "b": rate}


def _even_size(width: int, height: int, longest: int) -> tuple[int, int]:
    """A size of the same shape; even, because the colours of a video are kept for pairs of pixels."""
    shrink = min(1.0, longest / max(width, height))
    return max(2, 2 * round(width * shrink / 2)), max(2, 2 * round(height * shrink / 2))
