"""Small frames of clips and small copies of pictures, with minimal decoding."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from PIL import Image, ImageCms

from ..errors import ReelbookError
from . import bounded_open, video_colours
from .bounded_open import ON_ITS_SIDE, ORIENTATION, open_video
from .local_file import is_video
from .stream_facts import get_display_size, get_rate, get_rotation, read_display_size, turn_size

if TYPE_CHECKING:
    from av import Packet, VideoCodecContext, VideoFrame, VideoStream
    from av.container import InputContainer

GROUND = (255, 255, 255)
"""The background behind transparent pixels."""
STRIP_PIXELS = 2_000_000
_SRGB = ImageCms.createProfile("sRGB")
_DEEP = ("I;16", "I;16B", "I;16L", "I")
"""Pillow's grey modes with more than 8 bits."""
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180, 4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE, 6: Image.Transpose.ROTATE_270, 7: Image.Transpose.TRANSVERSE, 8: Image.Transpose.ROTATE_90,
}  # fmt: skip

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


def format_colour_note(path: str | Path) -> str:
    """A note for a clip whose colours stills cannot reproduce; empty for others."""
    if not is_video(path):
        return ""
    with open_video(path, to_decode=False) as (_, stream):
        return video_colours.format_colour_note(stream.codec_context.color_trc)


def read_picture(path: str | Path | IO[bytes], box: PixelSize) -> Image.Image:
    """A picture scaled down to fit a box, rotated by its Exif orientation, in sRGB and opaque."""
    with bounded_open.open_picture(path, (max(box), max(box))) as source:
        source.load()
        # After `load`: some formats store it behind the pixels, and Pillow rotates a TIFF itself.
        turn = source.getexif().get(ORIENTATION, 1)
        profile = source.info.get("icc_profile")
        inside = (box[1], box[0]) if turn in ON_ITS_SIDE else box
        small = _reduced(source, fit_size(source.size, inside))
    if turn in _TURNS:
        small = small.transpose(_TURNS[turn])
    return _opaque(_in_srgb(small, profile))


def read_middle(path: str | Path, box: PixelSize) -> Image.Image:
    """A frame near the middle of a clip, scaled down to fit a box.

    The keyframe before the middle if it is in the second quarter, so that a single frame is decoded; else the middle
    itself, because the clips of a sweep that start from one picture all begin alike.
    """
    with open_video(path) as (container, stream):
        start, length = _span(container, stream)
        # The last frame starts before the end.
        length -= length // stream.frames if stream.frames else 0
        goal, earliest = start + length // 2, start + length // 4
        container.seek(goal, stream=stream)
        frame = _frame_from(container, stream, goal, earliest)
        if frame is None:
            raise ReelbookError(f"{path} holds no frame. rb.attach downloads it again.")
        return shrink_frame(frame, stream.codec_context, box)


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
        size = read_display_size(container, stream)
    numbers = [min(max(number, 0), len(times) - 1) for number in choose(len(times), rate)]
    wanted = {times[number] for number in numbers}
    decoded = decode_marked(path, marks, wanted)
    found = {frame.pts: shrink_frame(frame, context, box) for frame, context in decoded}
    if len(found) < len(wanted):
        raise ReelbookError(f"{path} has frames that cannot be read. rb.attach downloads it again.")
    return ClipFrames([found[times[number]] for number in numbers], numbers, len(times), rate, size)


def shrink_frame(frame: VideoFrame, context: VideoCodecContext, box: PixelSize | None) -> Image.Image:
    """A decoded frame as a picture as it is displayed: upright, with square pixels, inside a box if one is given."""
    rotation = get_rotation(frame)
    size = get_display_size((frame.width, frame.height), context.sample_aspect_ratio, rotation)
    colours = video_colours.get_colours(frame, context.name)
    picture = video_colours.convert_to_rgb(frame, colours, turn_size(fit_size(size, box or size), rotation))
    return picture.transpose(_CLOCKWISE[rotation]) if rotation else picture


def _span(container: InputContainer, stream: VideoStream) -> tuple[int, int]:
    """Start and duration of a clip, in units of its time base."""
    if stream.duration is not None:
        return stream.start_time or 0, stream.duration
    # A WebM states the duration of the file only, in microseconds.
    seconds = (container.duration or 0) / 1_000_000
    return stream.start_time or 0, int(seconds / stream.time_base) if stream.time_base else 0


def _frame_from(container: InputContainer, stream: VideoStream, goal: int, earliest: int) -> VideoFrame | None:
    """The next keyframe if it is not before `earliest`, else the frame at the goal, or the last frame."""
    context = stream.codec_context
    last: VideoFrame | None = None
    # In a small picture the lack of deblocking is not visible.
    context.options = {**context.options, "skip_loop_filter": "all"}
    for packet in container.demux(stream):
        # Before the goal, frames that no other refers to are skipped.
        is_before = packet.pts is not None and packet.pts < goal and not packet.is_keyframe
        _skip_unreferenced(context, is_before)
        frames = context.decode(packet)
        if last is None and packet.is_keyframe and packet.pts is not None and packet.pts >= earliest:
            # A decoder delays frames until it knows their order: flush it for this one.
            return next(iter(frames or context.decode(None)), None)
        for frame in frames:
            last = frame
            if frame.pts is not None and frame.pts >= goal:
                return frame
    return last


def _skip_unreferenced(context: Any, is_skipped: bool) -> None:
    """Skip the next frame if no other refers to it, or decode it."""
    # dav1d reads this with the first packet only, and would then never decode any of these frames.
    context.skip_frame = "NONREF" if is_skipped and context.name != "libdav1d" else "DEFAULT"


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
    path: str | Path, marks: Sequence[PacketMark], wanted: Collection[int]
) -> Iterator[tuple[VideoFrame, VideoCodecContext]]:
    """Decode the frames at these times. Only stretches that contain one are, without frames they do not refer to."""
    stretches, missing = _stretches(marks, wanted), {*wanted}
    begins, ends = ({stretch[place].number for stretch in stretches} for place in (0, -1))
    is_needed = False
    if not stretches:
        return
    with open_video(path) as (container, stream):
        context: Any = stream.codec_context
        for number, packet in enumerate(_packets(container, stream)):
            is_needed = is_needed or number in begins
            if not is_needed:
                continue
            # A frame that no other refers to is decoded only if it is wanted itself.
            _skip_unreferenced(context, packet.pts not in wanted)
            is_needed = number not in ends
            for frame in [*context.decode(packet), *(() if is_needed else context.decode(None))]:
                if frame.pts in missing:
                    missing.remove(frame.pts)
                    # Those that come after the last packet have no unit of time.
                    frame.time_base = stream.time_base or Fraction(1, 24)
                    yield frame, context
            if not is_needed:
                context.flush_buffers()
                if number == max(ends):
                    break


def _stretches(packets: Sequence[PacketMark], wanted: Collection[int]) -> list[list[PacketMark]]:
    """The packets to decode: from a keyframe to the last wanted frame before the next keyframe."""
    stretches: list[list[PacketMark]] = []
    for packet in packets:
        if packet.is_keyframe or not stretches:
            stretches.append([])
        stretches[-1].append(packet)
    joined: list[list[PacketMark]] = []
    for stretch in stretches:
        if joined and _refers_back(stretch, wanted):
            joined[-1] += stretch
        else:
            joined.append(stretch)
    ends = [
        max((place for place, packet in enumerate(stretch, 1) if packet.pts in wanted), default=0) for stretch in joined
    ]
    return [stretch[:end] for stretch, end in zip(joined, ends, strict=True) if end]


def _refers_back(stretch: Sequence[PacketMark], wanted: Collection[int]) -> bool:
    """Whether a wanted frame is displayed before its own keyframe; then it refers to the previous stretch, too."""
    begins = stretch[0].pts
    return any(packet.pts in wanted and packet.pts < begins for packet in stretch)


def _reduced(source: Image.Image, size: PixelSize) -> Image.Image:
    """The picture at this size in RGB, RGBA, CMYK or grey; converted in strips, to avoid a second full copy."""
    factor = max(1, min(source.width // (2 * size[0]), source.height // (2 * size[1])))
    mode = _plain_mode(source)
    if factor == 1 and mode == source.mode:
        return source.resize(size, Image.Resampling.LANCZOS, reducing_gap=3.0)
    plain = Image.new(mode, (-(-source.width // factor), -(-source.height // factor)))
    rows = max(1, STRIP_PIXELS // (source.width * factor)) * factor
    for top in range(0, source.height, rows):
        strip = _plain(source.crop((0, top, source.width, min(top + rows, source.height))), mode)
        plain.paste(strip.reduce(factor) if factor > 1 else strip, (0, top // factor))
    return plain.resize(size, Image.Resampling.LANCZOS, reducing_gap=3.0)


def _plain_mode(source: Image.Image) -> str:
    if source.mode in _DEEP:
        return "L"
    if source.has_transparency_data:
        return "RGBA"
    # Others, such as palette modes, cannot be averaged: that would mix palette indices.
    return source.mode if source.mode in ("RGB", "CMYK", "L") else "RGB"


def _plain(strip: Image.Image, mode: str) -> Image.Image:
    if strip.mode not in _DEEP:
        return strip if strip.mode == mode else strip.convert(mode)
    # Pillow would clip all values above 255 of 65,535 to white.
    import numpy as np

    return Image.fromarray((np.clip(np.asarray(strip), 0, 65535) / 257 + 0.5).astype(np.uint8))


def _in_srgb(picture: Image.Image, profile: bytes | None) -> Image.Image:
    """The picture converted to sRGB; an invalid profile is ignored."""
    mode = "RGBA" if picture.mode == "RGBA" else "RGB"
    if not profile:
        return picture.convert(mode)
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        found = ImageCms.profileToProfile(picture, source, _SRGB, outputMode=mode)
    except (ImageCms.PyCMSError, OSError, ValueError):
        return picture.convert(mode)
    return found if found is not None else picture.convert(mode)


def _opaque(picture: Image.Image) -> Image.Image:
    if picture.mode != "RGBA":
        return picture
    ground = Image.new("RGBA", picture.size, (*GROUND, 255))
    return Image.alpha_composite(ground, picture).convert("RGB")
