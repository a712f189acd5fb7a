"""Small frames of a clip and small copies of a picture, with no more decoded than they need."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from PIL import Image, ImageCms, ImageOps

from ..errors import ReelbookError
from .local import CONTAINERS

if TYPE_CHECKING:
    from av import Packet, VideoFrame, VideoStream
    from av.container import InputContainer

PICTURES = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "AVIF")
"""The kinds of pictures that are opened; Pillow knows more, and runs other programs for some of them."""
GROUND = (255, 255, 255)
"""What is seen through a picture that is not opaque."""
_SRGB = ImageCms.createProfile("sRGB")

Size = tuple[int, int]


def is_film(path: str | Path) -> bool:
    """Whether it plays; a GIF counts as a picture."""
    return Path(path).suffix.lower() in CONTAINERS


def within(size: Size, box: Size) -> Size:
    """The largest size of this shape inside a box, and never larger than it is.

    >>> within((1280, 720), (320, 320)), within((10, 1000), (320, 320)), within((1, 1), (320, 320))
    ((320, 180), (3, 320), (1, 1))
    """
    shrink = min(1.0, box[0] / size[0], box[1] / size[1])
    return max(1, round(size[0] * shrink)), max(1, round(size[1] * shrink))


def size_of(path: str | Path) -> Size:
    """Width and height as it is seen."""
    if is_film(path):
        with film(path) as (_, stream):
            return stream.width, stream.height
    with _opened(path) as picture:
        # A picture on its side tells so in its Exif; these are the four ways to lie on a side.
        return (picture.height, picture.width) if picture.getexif().get(0x0112) in (5, 6, 7, 8) else picture.size


def picture(path: str | Path, box: Size) -> Image.Image:
    """A picture inside a box, upright, in sRGB and opaque."""
    with _opened(path) as source:
        # A JPEG is decoded at an eighth, a quarter or half of its size where that is enough.
        source.draft(None, (2 * box[0], 2 * box[1]))
        upright = ImageOps.exif_transpose(source)
    if upright.has_transparency_data:
        upright = upright.convert("RGBA")
    elif upright.mode not in ("RGB", "CMYK"):
        # Resizing a picture with a palette would mix the numbers of its colours.
        upright = upright.convert("RGB")
    small = upright.resize(within(upright.size, box), Image.Resampling.LANCZOS, reducing_gap=3.0)
    return _opaque(_in_srgb(small, upright.info.get("icc_profile")))


def middle(path: str | Path, box: Size) -> Image.Image:
    """A frame of a clip near its middle, inside a box.

    The keyframe before the middle if it is in the second quarter: one frame is decoded then. Else the middle itself,
    because the clips of a sweep from one picture all begin alike.
    """
    with film(path) as (container, stream):
        start, length = _span(container, stream)
        # The last frame begins before the end.
        length -= length // stream.frames if stream.frames else 0
        goal, earliest = start + length // 2, start + length // 4
        container.seek(goal, stream=stream)
        frame = _frame_from(container, stream, goal, earliest)
        if frame is None:
            raise ReelbookError(f"{path} holds no frame. Pick the run up with rb.attach, which fetches it anew.")
        return shrunk(frame, box)


@dataclass(frozen=True, slots=True)
class Film:
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


def spread(path: str | Path, count: int, box: Size) -> Film:
    """So many frames inside a box, evenly from the first to the last; one alone is that in the middle."""
    return frames(
        path,
        lambda whole, _: (
            [round(place * (whole - 1) / (count - 1)) for place in range(count)] if count > 1 else [whole // 2]
        ),
        box,
    )


def frames(path: str | Path, choose: Callable[[int, Fraction], Sequence[int]], box: Size) -> Film:
    """The frames of a clip that `choose` names when it is told how many there are, and how many in a second."""
    with film(path) as (container, stream):
        packets = [packet for packet in container.demux(stream) if packet.size and packet.pts is not None]
        times = sorted(cast(int, packet.pts) for packet in packets)
        if not times or len(times) < stream.frames:
            raise ReelbookError(
                f"{path} names {stream.frames} frames and holds fewer. Pick the run up with rb.attach, which fetches it anew."
            )
        rate = stream.average_rate or stream.guessed_rate or Fraction(24)
        numbers = [min(max(number, 0), len(times) - 1) for number in choose(len(times), rate)]
        wanted = {times[number] for number in numbers}
        found = _decoded(stream, packets, wanted, box)
        size = stream.width, stream.height
    if len(found) < len(wanted):
        raise ReelbookError(
            f"{path} has frames that cannot be read. Pick the run up with rb.attach, which fetches it anew."
        )
    return Film([found[times[number]] for number in numbers], numbers, len(times), rate, size)


def shrunk(frame: VideoFrame, box: Size) -> Image.Image:
    """A frame as a picture inside a box."""
    width, height = within((frame.width, frame.height), box)
    # Shrunk while its colours are converted, which is five times as quick as one after the other.
    small: Image.Image = frame.reformat(width, height, "rgb24", interpolation="AREA").to_image()  # type: ignore[no-untyped-call]
    return small


@contextmanager
def film(path: str | Path) -> Iterator[tuple[InputContainer, VideoStream]]:
    """A clip that is open for reading, by one thread: several clips at once are quicker than several threads for one."""
    import av

    kind = CONTAINERS[Path(path).suffix.lower()]
    # Without this option FFmpeg decodes the first frame while it opens the file, only to know what we shall see.
    with av.open(str(path), format=kind, options={"skip_frame": "all"}) as container:
        stream = container.streams.video[0]
        stream.codec_context.thread_count = 1
        yield container, stream


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
    context.options = {"skip_loop_filter": "all"}
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


def _decoded(
    stream: VideoStream, packets: Sequence[Packet[VideoStream]], wanted: set[int], box: Size
) -> dict[int, Image.Image]:
    """The frames of these times. Only stretches that hold one are decoded, and of those only what it takes."""
    context: Any = stream.codec_context
    found: dict[int, Image.Image] = {}
    for stretch in _stretches(packets, wanted):
        for packet in [*stretch, None]:
            if packet is not None:
                # What no other frame builds on is decoded only where it is itself wanted.
                context.skip_frame = "DEFAULT" if packet.pts in wanted else "NONREF"
            for frame in context.decode(packet):
                if frame.pts in wanted and frame.pts not in found:
                    found[frame.pts] = shrunk(frame, box)
        context.flush_buffers()
    return found


def _stretches(packets: Sequence[Packet[VideoStream]], wanted: set[int]) -> list[list[Packet[VideoStream]]]:
    """What has to be decoded: from a keyframe to the last wanted frame before the next one."""
    stretches: list[list[Packet[VideoStream]]] = []
    for packet in packets:
        if packet.is_keyframe or not stretches:
            stretches.append([])
        stretches[-1].append(packet)
    joined: list[list[Packet[VideoStream]]] = []
    for stretch in stretches:
        if joined and _leans_back(stretch, wanted):
            joined[-1] += stretch
        else:
            joined.append(stretch)
    ends = [max((place for place, packet in enumerate(one, 1) if packet.pts in wanted), default=0) for one in joined]
    return [stretch[:end] for stretch, end in zip(joined, ends, strict=True) if end]


def _leans_back(stretch: Sequence[Packet[VideoStream]], wanted: set[int]) -> bool:
    """Whether a wanted frame is shown before its own keyframe; then it builds on the stretch before, too."""
    begins = cast(int, stretch[0].pts)
    return any(packet.pts in wanted and packet.pts < begins for packet in stretch)


@contextmanager
def _opened(path: str | Path) -> Iterator[Image.Image]:
    with Image.open(path, formats=PICTURES) as source:
        yield source


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
