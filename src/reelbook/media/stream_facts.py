"""Size, rotation and number of frames of a video stream, as a player displays them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from .bounded_open import MAX_FRAME_PIXELS, large_file_lock

if TYPE_CHECKING:
    from av import VideoFrame, VideoStream
    from av.container import InputContainer

PixelSize = tuple[int, int]


def get_rotation(frame: VideoFrame) -> int:
    """Degrees by which a decoded frame is turned clockwise to be displayed: 0, 90, 180 or 270."""
    return round(-frame.rotation / 90) * 90 % 360


def turn_size(size: PixelSize, rotation: int) -> PixelSize:
    """Width and height after the rotation, or before it.

    >>> turn_size((640, 360), 90), turn_size((640, 360), 180)
    ((360, 640), (640, 360))
    """
    return size if rotation % 180 == 0 else (size[1], size[0])


def get_display_size(coded: PixelSize, aspect: Fraction | None, rotation: int) -> PixelSize:
    """Width and height as displayed, from those as coded, the ratio of a pixel's sides, and the rotation.

    >>> get_display_size((720, 576), Fraction(16, 15), 0), get_display_size((640, 360), None, 90)
    ((768, 576), (360, 640))
    """
    width = round(coded[0] * aspect) if aspect else coded[0]
    return turn_size((max(1, width), coded[1]), rotation)


def read_first_frame(container: InputContainer, stream: VideoStream) -> VideoFrame | None:
    """The first frame, with which a decoder states rotation and colours; None if it cannot be decoded, or is too large.

    Afterwards the container is at its start.
    """
    size = stream.width, stream.height
    if size[0] * size[1] > MAX_FRAME_PIXELS:
        return None
    container.seek(0, stream=stream, backward=True)
    try:
        with large_file_lock(size):
            frame = next(container.decode(stream), None)
    # Decoders raise errors of many types for a broken file.
    except Exception:
        frame = None
    container.seek(0, stream=stream, backward=True)
    return frame


def read_rotation(container: InputContainer, stream: VideoStream) -> int:
    """The rotation that the file asks for; 0 if no frame can be decoded."""
    frame = read_first_frame(container, stream)
    return get_rotation(frame) if frame is not None else 0


def read_display_size(container: InputContainer, stream: VideoStream) -> PixelSize:
    """Width and height as displayed."""
    coded = stream.width, stream.height  # Before decoding, which sets them to 0 if it fails.
    rotation = read_rotation(container, stream)
    # After it: only then the decoder knows the ratio.
    return get_display_size(coded, stream.codec_context.sample_aspect_ratio, rotation)


def read_timing(container: InputContainer, stream: VideoStream) -> tuple[int, Fraction]:
    """Number of frames that are displayed, without those that an edit list cuts off, and their rate."""
    if stream.frames:
        return stream.frames - sum(entry.is_discard for entry in stream.index_entries), get_rate(stream, ())
    # The header of a WebM does not contain the number.
    packets = (packet for packet in container.demux(stream) if packet.size and not packet.is_discard)
    times = sorted(packet.pts or 0 for packet in packets)
    return len(times), get_rate(stream, times)


def get_rate(stream: VideoStream, times: Sequence[int]) -> Fraction:
    """Frames per second; the average of frames with these times if they are uneven, and the header has no average.

    A WebM may state the shortest duration of a frame instead, with which the clip would end too early.
    """
    rate = stream.average_rate or stream.guessed_rate or Fraction(24)
    span = (times[-1] - times[0]) * (stream.time_base or Fraction(1)) if times else Fraction(0)
    steps = len(times) - 1
    if stream.frames or not span or abs(steps / rate - span) < 1 / rate:
        return rate
    return (steps / span).limit_denominator(1001)
