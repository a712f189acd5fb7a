"""Previews: small cached copies of clips, which browsers play and seek quickly."""

from __future__ import annotations

import io
from collections.abc import Iterable
from contextlib import ExitStack
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

from . import derived_cache, stills, video_colours
from .bounded_open import is_video, open_video
from .derived_cache import FileVersion, map_files
from .stream_facts import get_display_size, read_rotation, read_timing

if TYPE_CHECKING:
    from av import VideoCodecContext, VideoFrame, VideoStream
    from av.container import OutputContainer

ENCODER = "libx264"
"""The encoder of clips, which every wheel of PyAV has; browsers play its output everywhere."""

FOLDER = "previews"
LONGEST, MAX_BYTES, GOP = 320, 150_000, 12
LEAST_LONGEST, LEAST_BITS = 160, 0.04
"""A long clip has few bits per pixel: its copy is made smaller, down to this size, rather than blurred."""

CRF, TINY_CRF, TINY_PIXELS, TINY_BITS = "26", "18", 160 * 160, 0.5
"""x264's quality. In a tiny picture a block holds several colours, whose change is not worth the few bytes saved."""


def get_preview(
    path: str | Path, *, longest: int = LONGEST, max_bytes: int = MAX_BYTES, gop: int = GOP
) -> bytes | None:
    """All frames of a clip as a small MP4 without sound; None if it cannot be that small, or the file is no clip."""
    try:
        return make_preview(path, longest=longest, max_bytes=max_bytes, gop=gop)
    # Decoders raise errors of many types for a broken file.
    except Exception:
        return None


def get_previews(paths: Iterable[str | Path]) -> list[bytes | None]:
    """The previews of many files of the usual size, in their order, made in parallel."""
    return map_files(get_preview, paths)


def make_preview(path: str | Path, *, longest: int, max_bytes: int, gop: int = GOP) -> bytes | None:
    """The same as `get_preview`, but raising the error if the file cannot be read."""
    if not is_video(path):
        return None
    ending = f"{longest}-{max_bytes}-{gop}.mp4"
    return derived_cache.read_or_make(path, FOLDER, ending, lambda file: _encoded(file, longest, max_bytes, gop))


@lru_cache(maxsize=16)  # Also caches that a clip cannot be made small enough, which would be tried at each display.
def _encoded(file: FileVersion, longest: int, max_bytes: int, gop: int) -> bytes | None:
    import av

    out = io.BytesIO()
    with open_video(file.path) as (source, clip), ExitStack() as stack:
        frames, rate = read_timing(source, clip)
        target = stack.enter_context(av.open(out, "w", format="mp4"))
        rotation = read_rotation(source, clip)
        square = get_display_size((clip.width, clip.height), clip.codec_context.sample_aspect_ratio, 0)
        box = _box(square, frames, longest, max_bytes)
        bits = max_bytes * 8 / (frames * box[0] * box[1])
        crf = TINY_CRF if box[0] * box[1] <= TINY_PIXELS and bits >= TINY_BITS else CRF
        # PyAV's types know the stream's class only for a literal encoder name.
        options = _options(crf, max_bytes, max(frames / rate, Fraction(1)))
        small = cast("VideoStream", target.add_stream(ENCODER, rate=rate, options=options))
        _prepare(small.codec_context, box, gop)
        if rotation:
            # Not turned itself: a player turns it as it turns the original.
            small.set_display_rotation(-rotation)
        _copy(source.decode(clip), target, small, tick=1 / rate)
    content = out.getvalue()
    return content if len(content) <= max_bytes else None


def _prepare(context: VideoCodecContext, size: stills.PixelSize, gop: int) -> None:
    context.width, context.height = size
    context.pix_fmt = "yuv420p"
    context.gop_size = gop
    # Copies are made in parallel, and a small picture gains nothing from several threads.
    context.thread_count = 1
    context.max_b_frames = 0


def _copy(frames: Iterable[VideoFrame], target: OutputContainer, small: VideoStream, *, tick: Fraction) -> None:
    meant: video_colours.ColourSpace | None = None
    for number, frame in enumerate(frames):
        if meant is None:
            # Without these a player guesses from the height, which is smaller in the copy.
            meant = video_colours.get_colours(frame)
            video_colours.tag(small.codec_context, video_colours.get_encodable_colours(meant))
        shrunk = video_colours.resize_frame(frame, meant, (small.width, small.height))
        shrunk.pts, shrunk.time_base = number, tick
        target.mux(small.encode(shrunk))
    target.mux(small.encode())


def _box(size: stills.PixelSize, frames: int, longest: int, max_bytes: int) -> stills.PixelSize:
    """The size of the copy, with even sides, because 4:2:0 video stores colours for pairs of pixels."""
    enough = (max_bytes * 8 / (frames * LEAST_BITS * size[0] * size[1])) ** 0.5
    fitting = min(longest, max(LEAST_LONGEST, int(enough * max(size))))
    shrink = min(1.0, fitting / max(size))
    return max(2, 2 * round(size[0] * shrink / 2)), max(2, 2 * round(size[1] * shrink / 2))


def _options(crf: str, max_bytes: int, seconds: Fraction) -> dict[str, str]:
    """The encoder's options: constant quality, capped at the rate that fits `max_bytes`."""
    room = max_bytes * 8
    rate = str(int(room * 0.85 / seconds))
    # The buffer lets complex scenes exceed the rate for a moment. Only gop determines where keyframes are.
    return {"preset": "veryfast", "crf": crf, "maxrate": rate, "bufsize": str(room // 10), "sc_threshold": "0"}
