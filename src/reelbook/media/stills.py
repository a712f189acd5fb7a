"""Small frames of clips and small copies of pictures, with minimal decoding."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from PIL import Image, ImageCms, ImageOps

from ..errors import ReelbookError
from ..models.file_kinds import HEAD_BYTES, SENDABLE, sniff_kind
from ..models.images import NotAPicture, check_pixels, require_picture
from . import bounded_open, video_colours
from .bounded_open import CONTAINERS, ON_ITS_SIDE, ORIENTATION, is_video, open_video
from .stream_facts import get_display_size, get_rate, get_rotation, read_display_size, turn_size

if TYPE_CHECKING:
    from av import Packet, VideoCodecContext, VideoFrame, VideoStream
    from av.container import InputContainer

GROUND = (255, 255, 255)
"""The background behind transparent pixels."""
SMALL = 400
"""Up to this side a still is decoded without deblocking."""
_SRGB = ImageCms.createProfile("sRGB")
_DEEP = ("I;16", "I;16B", "I;16L", "I")
"""Pillow's grey modes with more than 8 bits."""
_CLOCKWISE = {90: Image.Transpose.ROTATE_270, 180: Image.Transpose.ROTATE_180, 270: Image.Transpose.ROTATE_90}

PixelSize = tuple[int, int]


def fit_size(size: PixelSize, box: PixelSize) -> PixelSize:
    """The largest size of the same aspect ratio that fits a box; never enlarged.

    >>> fit_size((1280, 720), (320, 320)), fit_size((10, 1000), (320, 320)), fit_size((1, 1), (320, 320))
    ((320, 180), (3, 320), (1, 1))
    """
    shrink = min(1.0, box[0] / size[0], box[1] / size[1])
    return max(1, round(size[0] * shrink)), max(1, round(size[1] * shrink))


def get_size(path: str | Path) -> PixelSize:
    """Width and height of a video or picture, after its rotation."""
    if is_video(path):
        with open_video(path, to_decode=False) as (container, stream):
            return read_display_size(container, stream)
    return bounded_open.read_picture_size(path)


def read_picture(path: str | Path | IO[bytes], box: PixelSize) -> Image.Image:
    """A picture scaled down to fit a box, rotated by its Exif orientation, in sRGB and opaque."""
    with bounded_open.open_picture(path, (max(box), max(box))) as source:
        source.load()
        # After `load`: some formats store it behind the pixels, and Pillow rotates a TIFF itself.
        turn = source.getexif().get(ORIENTATION, 1)
        profile = source.info.get("icc_profile")
        inside = (box[1], box[0]) if turn in ON_ITS_SIDE else box
        small = _reduced(source, fit_size(source.size, inside))
    return _opaque(_in_srgb(ImageOps.exif_transpose(small), profile))


@dataclass(frozen=True, slots=True)
class ClipFrames:
    """Some frames of a clip, and its number of frames, rate and size."""

    frames: list[Image.Image]
    numbers: list[int]
    """The frames' indices; the first frame of a clip is 0."""
    count: int
    """Number of frames of the clip."""
    rate: Fraction
    size: PixelSize

    @property
    def seconds(self) -> float:
        """The clip's duration."""
        return float(self.count / self.rate)


def read_spread(path: str | Path, count: int, box: PixelSize) -> ClipFrames:
    """`count` frames scaled to fit a box, evenly spaced from the first to the last; the middle one for a count of 1."""
    return read_frames(
        path,
        lambda total, _: (
            [round(place * (total - 1) / (count - 1)) for place in range(count)] if count > 1 else [total // 2]
        ),
        box,
    )


def read_frames(
    path: str | Path, choose: Callable[[int, Fraction], Sequence[int]], box: PixelSize | None
) -> ClipFrames:
    """Read the frames of a clip whose numbers `choose` returns for the number of frames and their rate."""
    with open_video(path, to_decode=False) as (container, stream):
        marks = read_packets(container, stream)
        times = sorted(mark.pts for mark in marks if not mark.is_discard)
        if not times or len(marks) < stream.frames:
            raise ReelbookError(f"{path} names {stream.frames} frames and holds fewer. rb.attach downloads it again.")
        rate = get_rate(stream, times)
    numbers = [min(max(number, 0), len(times) - 1) for number in choose(len(times), rate)]
    wanted = {times[number] for number in numbers}
    stills: dict[int | None, Image.Image] = {}
    size: PixelSize | None = None
    for frame, context in decode_marked(path, marks, wanted, is_small=box is not None and max(box) <= SMALL):
        stills[frame.pts] = shrink_frame(frame, context, box)
        size = get_display_size((frame.width, frame.height), context.sample_aspect_ratio, get_rotation(frame))
    if len(stills) < len(wanted):
        raise ReelbookError(f"{path} has frames that cannot be read. rb.attach downloads it again.")
    return ClipFrames([stills[times[number]] for number in numbers], numbers, len(times), rate, size or get_size(path))


def has_video_content(path: Path) -> bool:
    """Whether a file has a video's suffix and its content is no picture; `OSError` if it cannot be read."""
    if path.suffix.lower() not in CONTAINERS:
        return False
    with path.open("rb") as file:
        return sniff_kind(file.read(HEAD_BYTES)) not in SENDABLE


def read_last_frame(path: Path) -> bytes:
    """The last frame as a PNG, the same bytes that `run.video` gives as a picture; `NotAPicture` if there is none."""
    try:
        facts = path.stat()
        return _encode_last_frame(str(path), facts.st_size, facts.st_mtime_ns)
    except NotAPicture:
        raise
    # Decoders raise errors of many types for a broken file.
    except Exception:
        raise NotAPicture(
            f"is a video that cannot be read: it is damaged or cut short, or of a kind other than {', '.join(CONTAINERS)}. "
            "Give another one, or a picture."
        ) from None


@lru_cache(maxsize=4)  # The runs of a sweep often start from the same clip.
def _encode_last_frame(path: str, size: int, changed: int) -> bytes:
    check_pixels(*get_size(path))
    out = io.BytesIO()
    read_frames(path, lambda count, _: [count - 1], None).frames[0].save(out, "PNG")
    return require_picture(out.getvalue())


def shrink_frame(frame: VideoFrame, context: VideoCodecContext, box: PixelSize | None) -> Image.Image:
    """A decoded frame as a picture as it is displayed: upright, with square pixels, inside a box if one is given."""
    rotation = get_rotation(frame)
    size = get_display_size((frame.width, frame.height), context.sample_aspect_ratio, rotation)
    colours = video_colours.get_colours(frame)
    picture = video_colours.convert_to_rgb(frame, colours, turn_size(fit_size(size, box or size), rotation))
    return picture.transpose(_CLOCKWISE[rotation]) if rotation else picture


class PacketMark(NamedTuple):
    """Number and time of a packet without its data, so that a long clip is not held in memory."""

    number: int
    pts: int
    is_keyframe: bool
    is_discard: bool
    """Whether an edit list cuts its frame off."""


def read_packets(container: InputContainer, stream: VideoStream) -> list[PacketMark]:
    """All packets of a clip, in the order of the file."""
    packets = enumerate(_packets(container, stream))
    return [PacketMark(number, packet.pts or 0, packet.is_keyframe, packet.is_discard) for number, packet in packets]


def _packets(container: InputContainer, stream: VideoStream) -> Iterator[Packet[VideoStream]]:
    return (packet for packet in container.demux(stream) if packet.size and packet.pts is not None)


def decode_marked(
    path: str | Path, marks: Sequence[PacketMark], wanted: Collection[int], *, is_small: bool = False
) -> Iterator[tuple[VideoFrame, VideoCodecContext]]:
    """Decode the frames at these times, each from its keyframe, without others that they do not refer to."""
    needed, missing = _needed(marks, wanted), {*wanted}
    if not needed:
        return
    with open_video(path) as (container, stream):
        context: Any = stream.codec_context
        if is_small:
            # In a small picture the lack of deblocking is not visible.
            context.options = {**context.options, "skip_loop_filter": "all"}
        for number, packet in enumerate(_packets(container, stream)):
            if number not in needed:
                continue
            # A frame that no other refers to is decoded only if it is wanted itself. dav1d reads this with the first packet
            # only, and would then never decode any of these frames.
            is_skipped = packet.pts not in wanted and context.name != "libdav1d"
            context.skip_frame = "NONREF" if is_skipped else "DEFAULT"
            is_last = number + 1 not in needed
            for frame in [*context.decode(packet), *(context.decode(None) if is_last else ())]:
                if frame.pts in missing:
                    missing.remove(frame.pts)
                    # Those that come after the last packet have no unit of time.
                    frame.time_base = stream.time_base or Fraction(1, 24)
                    yield frame, context
            if is_last:
                context.flush_buffers()
                if number == max(needed):
                    break


def _needed(marks: Sequence[PacketMark], wanted: Collection[int]) -> set[int]:
    """The numbers of the packets to decode: those from the keyframe of a wanted frame to its own."""
    needed: set[int] = set()
    keyframes: list[PacketMark] = []
    for mark in marks:
        if mark.is_keyframe:
            keyframes.append(mark)
        if mark.pts in wanted:
            # A frame that is displayed before the last keyframe in the file refers to the one before that, too.
            begin = next((key.number for key in reversed(keyframes) if key.pts <= mark.pts), 0)
            needed.update(range(begin, mark.number + 1))
    return needed


def _reduced(source: Image.Image, size: PixelSize) -> Image.Image:
    """The picture at this size in RGB, RGBA, CMYK or grey."""
    if source.mode in _DEEP:
        # Pillow would clip all values above 255 of 65,535 to white.
        import numpy as np

        info = source.info  # Which says how it is turned.
        source = Image.fromarray((np.clip(np.asarray(source), 0, 65535) / 257 + 0.5).astype(np.uint8))
        source.info = info
    elif source.mode not in ("RGB", "RGBA", "CMYK", "L") or source.has_transparency_data:
        # Palette modes, for example, cannot be averaged: that would mix palette indices.
        grey_or_colours = "L" if source.mode == "1" else "RGB"
        source = source.convert("RGBA" if source.has_transparency_data else grey_or_colours)
    return source.resize(size, Image.Resampling.LANCZOS, reducing_gap=3.0)


def _in_srgb(picture: Image.Image, profile: bytes | None) -> Image.Image:
    """The picture converted to sRGB; an invalid profile is ignored."""
    mode = "RGBA" if picture.mode == "RGBA" else "RGB"
    if not profile:
        return picture.convert(mode)
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        converted = ImageCms.profileToProfile(picture, source, _SRGB, outputMode=mode)
    except (ImageCms.PyCMSError, OSError, ValueError):
        return picture.convert(mode)
    return converted if converted is not None else picture.convert(mode)


def _opaque(picture: Image.Image) -> Image.Image:
    if picture.mode != "RGBA":
        return picture
    ground = Image.new("RGBA", picture.size, (*GROUND, 255))
    return Image.alpha_composite(ground, picture).convert("RGB")
