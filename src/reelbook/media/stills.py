"""Small frames of a clip and small copies of a picture, with no more decoded than they need."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from PIL import Image, ImageCms

from ..errors import ReelbookError
from . import bounded_open, video_colours
from .bounded_open import ON_ITS_SIDE, ORIENTATION, open_video
from .local_file import CONTAINERS

if TYPE_CHECKING:
    from av import Packet, VideoFrame, VideoStream
    from av.container import InputContainer

GROUND = (255, 255, 255)
"""What is seen through a picture that is not opaque."""
STRIP_PIXELS = 2_000_000
_SRGB = ImageCms.createProfile("sRGB")
_DEEP = ("I;16", "I;16B", "I;16L", "I")
"""Grey with more than 8 bits."""
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180, 4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE, 6: Image.Transpose.ROTATE_270, 7: Image.Transpose.TRANSVERSE, 8: Image.Transpose.ROTATE_90,
}  # fmt: skip

Size = tuple[int, int]


def is_video(path: str | Path) -> bool:
    """Whether it plays; a GIF counts as a picture."""
    return Path(path).suffix.lower() in CONTAINERS


def fit_size(size: Size, box: Size) -> Size:
    """The largest size of this shape inside a box, and never larger than it is.

    >>> fit_size((1280, 720), (320, 320)), fit_size((10, 1000), (320, 320)), fit_size((1, 1), (320, 320))
    ((320, 180), (3, 320), (1, 1))
    """
    shrink = min(1.0, box[0] / size[0], box[1] / size[1])
    return max(1, round(size[0] * shrink)), max(1, round(size[1] * shrink))


def get_size(path: str | Path) -> Size:
    """Width and height as it is seen."""
    if is_video(path):
        with open_video(path, to_decode=False) as (_, stream):
            return stream.width, stream.height
    return bounded_open.read_picture_size(path)


def format_colour_note(path: str | Path) -> str:
    """What to say of the colours of a clip where its stills cannot show them."""
    if not is_video(path):
        return ""
    with open_video(path, to_decode=False) as (_, stream):
        return video_colours.format_colour_note(stream.codec_context.color_trc)


def read_picture(path: str | Path | IO[bytes], box: Size) -> Image.Image:
    """A picture inside a box, upright, in sRGB and opaque."""
    with bounded_open.open_picture(path, (max(box), max(box))) as source:
        source.load()
        # Only now: some kinds tell it behind their pixels, and Pillow turns a TIFF by itself.
        turn = source.getexif().get(ORIENTATION, 1)
        profile = source.info.get("icc_profile")
        inside = (box[1], box[0]) if turn in ON_ITS_SIDE else box
        small = _reduced(source, fit_size(source.size, inside))
    if turn in _TURNS:
        small = small.transpose(_TURNS[turn])
    return _opaque(_in_srgb(small, profile))


def read_middle(path: str | Path, box: Size) -> Image.Image:
    """A frame of a clip near its middle, inside a box.

    The keyframe before the middle if it is in the second quarter: one frame is decoded then. Else the middle itself,
    because the clips of a sweep from one picture all begin alike.
    """
    with open_video(path) as (container, stream):
        start, length = _span(container, stream)
        # The last frame begins before the end.
        length -= length // stream.frames if stream.frames else 0
        goal, earliest = start + length // 2, start + length // 4
        container.seek(goal, stream=stream)
        frame = _frame_from(container, stream, goal, earliest)
        if frame is None:
            raise ReelbookError(f"{path} holds no frame. Pick the run up with rb.attach, which fetches it anew.")
        return shrink_frame(frame, stream.codec_context.name, box)


@dataclass(frozen=True, slots=True)
class ClipFrames:
    """Some frames of a clip, and what there is to know of the whole."""

    frames: list[Image.Image]
    numbers: list[int]
    """Which frames these are; the first of a clip is 0."""
    count: int
    """How many it has in all."""
    rate: Fraction
    size: Size

    @property
    def seconds(self) -> float:
        """How long it plays."""
        return float(self.count / self.rate)


def read_spread(path: str | Path, count: int, box: Size) -> ClipFrames:
    """So many frames inside a box, evenly from the first to the last; one alone is that in the middle."""
    return read_frames(
        path,
        lambda whole, _: (
            [round(place * (whole - 1) / (count - 1)) for place in range(count)] if count > 1 else [whole // 2]
        ),
        box,
    )


def read_frames(path: str | Path, choose: Callable[[int, Fraction], Sequence[int]], box: Size) -> ClipFrames:
    """Read the frames of a clip whose numbers `choose` returns for the number of frames and their rate."""
    with open_video(path, to_decode=False) as (container, stream):
        marks = [_Mark(number, *mark) for number, mark in enumerate(_marks(container, stream))]
        times = sorted(mark.pts for mark in marks)
        if not times or len(times) < stream.frames:
            raise ReelbookError(
                f"{path} names {stream.frames} frames and holds fewer. Pick the run up with rb.attach, which fetches it anew."
            )
        rate = stream.average_rate or stream.guessed_rate or Fraction(24)
        size = stream.width, stream.height
    numbers = [min(max(number, 0), len(times) - 1) for number in choose(len(times), rate)]
    wanted = {times[number] for number in numbers}
    found = _decoded(path, _stretches(marks, wanted), wanted, box) if wanted else {}
    if len(found) < len(wanted):
        raise ReelbookError(
            f"{path} has frames that cannot be read. Pick the run up with rb.attach, which fetches it anew."
        )
    return ClipFrames([found[times[number]] for number in numbers], numbers, len(times), rate, size)


def shrink_frame(frame: VideoFrame, codec: str, box: Size) -> Image.Image:
    """A frame of a stream of this codec as a picture inside a box."""
    return video_colours.convert_to_rgb(
        frame, video_colours.get_colours(frame, codec), fit_size((frame.width, frame.height), box)
    )


def _span(container: InputContainer, stream: VideoStream) -> tuple[int, int]:
    """When a clip begins and how long it is, in its own ticks."""
    if stream.duration is not None:
        return stream.start_time or 0, stream.duration
    # A WebM tells it for the whole file, in millionths of a second.
    seconds = (container.duration or 0) / 1_000_000
    return stream.start_time or 0, int(seconds / stream.time_base) if stream.time_base else 0


def _frame_from(container: InputContainer, stream: VideoStream, goal: int, earliest: int) -> VideoFrame | None:
    """The first keyframe from here if it is late enough, else the frame at the goal, or the last there is."""
    context = stream.codec_context
    last: VideoFrame | None = None
    # A small picture does not show whether the edges of blocks were smoothed on the way to it.
    context.options = {**context.options, "skip_loop_filter": "all"}
    for packet in container.demux(stream):
        # On the way there, frames that no other one builds on are passed over.
        is_before = packet.pts is not None and packet.pts < goal and not packet.is_keyframe
        context.skip_frame = "NONREF" if is_before else "DEFAULT"
        frames = context.decode(packet)
        if last is None and packet.is_keyframe and packet.pts is not None and packet.pts >= earliest:
            # A decoder holds frames back until it knows their order. There is only this one.
            return next(iter(frames or context.decode(None)), None)
        for frame in frames:
            last = frame
            if frame.pts is not None and frame.pts >= goal:
                return frame
    return last


class _Mark(NamedTuple):
    """One packet, without what it holds: a long clip is not to be in memory as a whole."""

    number: int
    pts: int
    is_keyframe: bool


def _marks(container: InputContainer, stream: VideoStream) -> Iterator[tuple[int, bool]]:
    for packet in _packets(container, stream):
        yield cast(int, packet.pts), packet.is_keyframe


def _packets(container: InputContainer, stream: VideoStream) -> Iterator[Packet[VideoStream]]:
    return (packet for packet in container.demux(stream) if packet.size and packet.pts is not None)


def _decoded(
    path: str | Path, stretches: Sequence[Sequence[_Mark]], wanted: set[int], box: Size
) -> dict[int, Image.Image]:
    """The frames of these times. Only stretches that hold one are decoded, and of those only what it takes."""
    found: dict[int, Image.Image] = {}
    begins, ends = ({stretch[place].number for stretch in stretches} for place in (0, -1))
    is_needed = False
    with open_video(path) as (container, stream):
        context: Any = stream.codec_context
        for number, packet in enumerate(_packets(container, stream)):
            is_needed = is_needed or number in begins
            if not is_needed:
                continue
            # What no other frame builds on is decoded only where it is itself wanted.
            context.skip_frame = "DEFAULT" if packet.pts in wanted else "NONREF"
            is_needed = number not in ends
            for frame in [*context.decode(packet), *(() if is_needed else context.decode(None))]:
                if frame.pts in wanted and frame.pts not in found:
                    found[frame.pts] = shrink_frame(frame, context.name, box)
            if not is_needed:
                context.flush_buffers()
                if number == max(ends):
                    break
    return found


def _stretches(packets: Sequence[_Mark], wanted: set[int]) -> list[list[_Mark]]:
    """What has to be decoded: from a keyframe to the last wanted frame before the next one."""
    stretches: list[list[_Mark]] = []
    for packet in packets:
        if packet.is_keyframe or not stretches:
            stretches.append([])
        stretches[-1].append(packet)
    joined: list[list[_Mark]] = []
    for stretch in stretches:
        if joined and _leans_back(stretch, wanted):
            joined[-1] += stretch
        else:
            joined.append(stretch)
    ends = [max((place for place, packet in enumerate(one, 1) if packet.pts in wanted), default=0) for one in joined]
    return [stretch[:end] for stretch, end in zip(joined, ends, strict=True) if end]


def _leans_back(stretch: Sequence[_Mark], wanted: set[int]) -> bool:
    """Whether a wanted frame is shown before its own keyframe; then it builds on the stretch before, too."""
    begins = stretch[0].pts
    return any(packet.pts in wanted and packet.pts < begins for packet in stretch)


def _reduced(source: Image.Image, size: Size) -> Image.Image:
    """The picture at this size in RGB, RGBA, CMYK or grey; converted a strip at a time, so that no second whole is needed."""
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
    # Others, such as those with a palette, cannot be shrunk: that would mix the numbers of their colours.
    return source.mode if source.mode in ("RGB", "CMYK", "L") else "RGB"


def _plain(strip: Image.Image, mode: str) -> Image.Image:
    if strip.mode not in _DEEP:
        return strip if strip.mode == mode else strip.convert(mode)
    # Pillow would take all that is lighter than 255 of 65,535 for white.
    return Image.fromarray((np.clip(np.asarray(strip), 0, 65535) / 257 + 0.5).astype(np.uint8))


def _in_srgb(picture: Image.Image, profile: bytes | None) -> Image.Image:
    """The picture in the colours that screens expect; those of a profile that makes no sense stay as they are."""
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
