"""Previews: small copies of clips that browsers play and step through quickly, made once."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import cast

import av
from av import VideoCodecContext, VideoFrame, VideoStream
from av.container import InputContainer, OutputContainer

from ..errors import ReelbookError
from . import derived_cache, stills, video_colours
from .bounded_open import open_video
from .derived_cache import FileVersion

ENCODERS = ("libx264", "libvpx-vp9")
"""What browsers play inside an MP4; the first that this machine has is used."""

FOLDER = "previews"
LONGEST, MAX_BYTES, GOP = 320, 150_000, 12
LEAST_LONGEST, LEAST_BITS = 160, 0.04
"""A long clip has few bits for each pixel: its copy becomes smaller, down to this size, rather than a blur."""

CRF, TINY_CRF, TINY_PIXELS, TINY_BITS = "26", "18", 160 * 160, 0.5
"""x264's quality. In a tiny picture a block holds several colours, and the fewer bytes are not worth their change."""

INDEX_BYTES, FRAME_BYTES = 2000, 16
"""More than the index of a small copy takes, as a whole and for each frame."""

Progress = Callable[[int, int], object]


def get_preview(
    path: str | Path, *, longest: int = LONGEST, max_bytes: int = MAX_BYTES, gop: int = GOP
) -> bytes | None:
    """The whole clip, frame for frame, as a small MP4 without sound; None where there is none that small, or no clip."""
    try:
        return make_preview(path, longest=longest, max_bytes=max_bytes, gop=gop)
    # Whatever a decoder stumbles over, it is the file.
    except Exception:
        return None


def get_previews(
    paths: Iterable[str | Path],
    *,
    longest: int = LONGEST,
    max_bytes: int = MAX_BYTES,
    gop: int = GOP,
    progress: Progress | None = None,
) -> list[bytes | None]:
    """The previews of many files, in their order; several are made at the same time.

    `progress` is called with the number of files done and of all files, in this thread.
    """
    places = list(map(str, paths))
    different = list(dict.fromkeys(places))
    found: dict[str, bytes | None] = {}
    with ThreadPoolExecutor(min(len(different), os.cpu_count() or 1, 8) or 1) as threads:
        orders = {
            threads.submit(get_preview, place, longest=longest, max_bytes=max_bytes, gop=gop): place
            for place in different
        }
        try:
            for order in as_completed(orders):
                found[orders[order]] = order.result()
                if progress is not None:
                    progress(len(found), len(different))
        finally:
            # Somebody may have interrupted this; what has not begun is not begun any more.
            threads.shutdown(wait=False, cancel_futures=True)
    return [found[place] for place in places]


def make_preview(path: str | Path, *, longest: int, max_bytes: int, gop: int = GOP) -> bytes | None:
    """What `get_preview` gives; whatever is wrong with the file is an error here."""
    file = derived_cache.get_file_version(path)
    if file is None:
        raise ReelbookError(f"{path} is not there. Pick the run up with rb.attach, which fetches it anew.")
    if not stills.is_video(file.path):
        return None
    place = derived_cache.get_cache_path(file.path, FOLDER, f"{longest}-{max_bytes}-{gop}.mp4")
    content = derived_cache.read_cached(place, _is_mp4) if place else None
    if content is None:
        encoder = next((name for name in ENCODERS if name in av.codecs_available), None)
        content = None if encoder is None else _encoded(file, encoder, longest, max_bytes, gop)
        if place and content is not None:
            derived_cache.store(place, content)
    return content


@lru_cache(maxsize=16)  # Also what cannot be made small enough, which would be tried each time it is shown.
def _encoded(file: FileVersion, encoder: str, longest: int, max_bytes: int, gop: int) -> bytes | None:
    out = io.BytesIO()
    with open_video(file.path) as (source, clip), ExitStack() as stack:
        rate = clip.average_rate or clip.guessed_rate or Fraction(24)
        frames = _frames(source, clip, rate)
        # The index stands at the front, where room is left for it: FFmpeg's own way there needs a file on a disk.
        index = {"moov_size": str(INDEX_BYTES + FRAME_BYTES * frames)}
        target = stack.enter_context(av.open(out, "w", format="mp4", options=index))
        box = _box((clip.width, clip.height), frames, longest, max_bytes)
        # PyAV knows the type of a stream only where the encoder's name stands in the code.
        bits = max_bytes * 8 / (frames * box[0] * box[1])
        crf = TINY_CRF if box[0] * box[1] <= TINY_PIXELS and bits >= TINY_BITS else CRF
        options = _options(encoder, crf, max_bytes, max(frames / rate, Fraction(1)))
        small = cast(VideoStream, target.add_stream(encoder, rate=rate, options=options))
        _prepare(small.codec_context, box, gop)
        _copy(source.decode(clip), clip.codec_context.name, target, small, tick=1 / rate)
    content = out.getvalue()
    return content if len(content) <= max_bytes else None


def _prepare(context: VideoCodecContext, size: stills.Size, gop: int) -> None:
    context.width, context.height = size
    context.pix_fmt = "yuv420p"
    context.gop_size = gop
    # Several copies are made at once, and a small picture gains nothing from several threads.
    context.thread_count = 1
    context.max_b_frames = 0


def _copy(
    frames: Iterable[VideoFrame], codec: str, target: OutputContainer, small: VideoStream, *, tick: Fraction
) -> None:
    meant: video_colours.Colours | None = None
    for number, frame in enumerate(frames):
        if meant is None:
            # Without these a player guesses by the height, and the copy is lower than the clip.
            meant = video_colours.get_colours(frame, codec)
            video_colours.tag(small.codec_context, video_colours.get_encodable_colours(meant))
        shrunk = video_colours.resize_frame(frame, meant, (small.width, small.height))
        shrunk.pts, shrunk.time_base = number, tick
        target.mux(small.encode(shrunk))
    target.mux(small.encode())


def _frames(source: InputContainer, film: VideoStream, rate: Fraction) -> int:
    """How many frames there will be; a WebM does not say, and its length tells it nearly."""
    return film.frames or round((source.duration or 0) / 1_000_000 * rate) or 1


def _box(size: stills.Size, frames: int, longest: int, max_bytes: int) -> stills.Size:
    """The size of the copy; its sides are even, because the colours of a video are kept for pairs of pixels."""
    enough = (max_bytes * 8 / (frames * LEAST_BITS * size[0] * size[1])) ** 0.5
    fitting = min(longest, max(LEAST_LONGEST, int(enough * max(size))))
    shrink = min(1.0, fitting / max(size))
    return max(2, 2 * round(size[0] * shrink / 2)), max(2, 2 * round(size[1] * shrink / 2))


def _options(encoder: str, crf: str, max_bytes: int, seconds: Fraction) -> dict[str, str]:
    """Good looks at first, and never more bytes than there is room for."""
    room = max_bytes * 8
    rate = str(int(room * 0.85 / seconds))
    if encoder == "libx264":
        # The buffer is what a busy moment may borrow beyond the rate. Nothing but gop tells where keyframes are.
        return {"preset": "veryfast", "crf": crf, "maxrate": rate, "bufsize": str(room // 10), "sc_threshold": "0"}
    return {"deadline": "realtime", "cpu-used": "8", "crf": "36", "b": rate}


def _is_mp4(content: bytes) -> bool:
    """Whether this is the whole of an MP4: its boxes fill it to the last byte."""
    place, kinds = 0, []
    while place + 8 <= len(content):
        length = int.from_bytes(content[place : place + 4], "big")
        kinds.append(content[place + 4 : place + 8])
        if length < 8:
            return False
        place += length
    return place == len(content) and kinds[:1] == [b"ftyp"] and b"moov" in kinds and b"mdat" in kinds
