"""The index of a clip: where each sample is in the file, which frame it becomes and when, for a decoder in the page."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import av

from .bounded_open import open_video
from .video_colours import BT470BG, BT601, BT709, FULL, get_colours

if TYPE_CHECKING:
    from av import VideoFrame, VideoStream

NO_FRAME = -1
"""The number of a sample that is decoded, but cut off by the edit list."""
EVEN_SECONDS = 1e-3
"""Frames whose times differ from an even rate by less are evenly spaced; containers round their times."""
MAX_FRAMES = 100_000

_MATRICES = {BT709: "bt709", BT470BG: "bt470bg", BT601: "smpte170m"}
_PRIMARIES = _MATRICES
_TRANSFERS = {BT709: "bt709", BT601: "smpte170m"}
"""The names that WebCodecs has for codes of H.273, as far as players assume them."""


@dataclass(frozen=True, slots=True)
class FrameIndex:
    """What WebCodecs needs to decode any frame of a clip from its bytes, in the terms of `VideoDecoderConfig`."""

    codec: str
    """The codec with its profile, such as `avc1.64001f`."""
    description: bytes
    """The decoder's configuration record; empty where the samples contain it."""
    size: tuple[int, int]
    """Width and height as coded, before the rotation."""
    rotation: int
    """Degrees by which the picture is turned clockwise to be displayed: 0, 90, 180 or 270."""
    offsets: tuple[int, ...]
    """The position of each sample in the file, in the order of decoding."""
    lengths: tuple[int, ...]
    keys: tuple[int, ...]
    """The indices of the samples with which decoding can start."""
    numbers: tuple[int, ...]
    """The number of the frame that each sample becomes, in the order of display."""
    times: tuple[float, ...]
    """Seconds from the start of the clip to each frame, in the order of display."""
    rate: Fraction
    colours: Mapping[str, str | bool] | None = None
    """The colour space as `VideoColorSpaceInit`, where the stream does not declare it wholly and WebCodecs guesses."""

    @property
    def frames(self) -> int:
        """Number of frames that are displayed."""
        return len(self.times)

    @property
    def is_even(self) -> bool:
        """Whether all frames are displayed equally long."""
        return all(abs(time - number / self.rate) < EVEN_SECONDS for number, time in enumerate(self.times))

    def to_json(self) -> dict[str, Any]:
        """The index as JSON values: positions as differences, and no list that follows from others."""
        jumps = [start - end for start, end in zip(self.offsets, _ends(self.offsets, self.lengths), strict=False)]
        found: dict[str, Any] = {
            "codec": self.codec, "description": base64.b64encode(self.description).decode(), "size": self.size,
            "lengths": self.lengths, "keys": self.keys, "rate": f"{self.rate.numerator}/{self.rate.denominator}",
            "jumps": {str(place): jump for place, jump in enumerate(jumps) if jump},
        }  # fmt: skip
        if self.numbers != tuple(range(len(self.numbers))):
            found["numbers"] = self.numbers
        if not self.is_even:
            found["times"] = [round(time, 5) for time in self.times]
        if self.colours:
            found["colours"] = dict(self.colours)
        return {**found, "rotation": self.rotation} if self.rotation else found


def _ends(offsets: Sequence[int], lengths: Sequence[int]) -> list[int]:
    """Where each sample would start if it followed the one before."""
    return [0, *(offset + length for offset, length in zip(offsets, lengths, strict=True))]


def read_frame_index(source: str | Path | bytes) -> FrameIndex | None:
    """The index of a clip, given by its path or its bytes; None for one that browsers do not decode, or a broken one."""
    try:
        if isinstance(source, bytes):
            with av.open(io.BytesIO(source), "r", format="mp4") as container:
                return _index(container, container.streams.video[0])
        with open_video(source, to_decode=False) as (container, stream):
            return _index(container, stream)
    # Decoders raise errors of many types for a broken file.
    except Exception:
        return None


def read_uneven_times(path: str | Path) -> tuple[float, ...]:
    """The times of a clip's frames if they are not evenly spaced, rounded; empty if they are, or cannot be read."""
    index = read_frame_index(path)
    return () if index is None or index.is_even else tuple(round(time, 5) for time in index.times)


def _index(container: av.container.InputContainer, stream: VideoStream) -> FrameIndex | None:
    codec = _format_codec(stream)
    packets = [packet for packet in container.demux(stream) if packet.size]
    if codec is None or not packets or len(packets) > MAX_FRAMES or not packets[0].is_keyframe:
        return None
    if any(packet.pos is None or packet.pos < 0 or packet.pts is None for packet in packets):
        return None
    visible = sorted((packet.pts or 0) for packet in packets if not packet.is_discard)
    if len(set(visible)) < len(visible) or not visible:
        return None  # Two frames at one time: their order is unknown.
    numbers = {pts: number for number, pts in enumerate(visible)}
    base = stream.time_base or Fraction(1, 24)
    rotation, colours = _read_first_frame(container, stream)
    return FrameIndex(
        codec,
        bytes(stream.codec_context.extradata or b"") if codec.startswith(("avc1", "av01")) else b"",
        (stream.width, stream.height),
        rotation,
        tuple(packet.pos or 0 for packet in packets),
        tuple(packet.size for packet in packets),
        tuple(place for place, packet in enumerate(packets) if packet.is_keyframe),
        tuple(NO_FRAME if packet.is_discard else numbers[packet.pts or 0] for packet in packets),
        tuple(float((pts - visible[0]) * base) for pts in visible),
        stream.average_rate or stream.guessed_rate or _rate(visible, base),
        colours,
    )


def _rate(times: Sequence[int], base: Fraction) -> Fraction:
    steps = sorted(late - early for early, late in pairwise(times))
    return 1 / (steps[len(steps) // 2] * base) if steps else Fraction(24)


def _format_codec(stream: VideoStream) -> str | None:
    """The codec as WebCodecs names it, from its configuration record; None for others than browsers decode."""
    name, extra = stream.codec_context.name, bytes(stream.codec_context.extradata or b"")
    if name == "h264":
        # Without a record (in a transport stream, for instance) its samples have another form.
        return f"avc1.{extra[1:4].hex()}" if len(extra) > 6 and extra[0] == 1 else None
    if name == "vp8":
        return "vp8"
    if name == "vp9":
        profile = (stream.codec_context.profile or "Profile 0")[-1]
        depth = "10" if "10" in (stream.codec_context.pix_fmt or "") else "08"
        return f"vp09.0{profile if profile.isdigit() else 0}.51.{depth}"
    if name in ("libdav1d", "av1") and len(extra) >= 4:
        tier, depth = "H" if extra[2] >> 7 else "M", "10" if extra[2] >> 6 & 1 else "08"
        return f"av01.{extra[1] >> 5}.{extra[1] & 31:02}{tier}.{depth}"
    return None


def _read_first_frame(
    container: av.container.InputContainer, stream: VideoStream
) -> tuple[int, Mapping[str, str | bool] | None]:
    """The rotation that the file asks for, and the colours if they are not declared: a decoder states both with a frame."""
    container.seek(0, stream=stream, backward=True)
    frame = next(container.decode(stream), None)
    if frame is None:
        return 0, None
    return round(-frame.rotation / 90) * 90 % 360, _get_colours(frame, stream.codec_context.name)


def _get_colours(frame: VideoFrame, codec: str) -> Mapping[str, str | bool] | None:
    """The colour space that players assume for this frame, unless its stream declares the same by itself."""
    found = get_colours(frame, codec)
    declared = frame.colorspace, frame.color_primaries, frame.color_trc
    names = _MATRICES.get(found.matrix), _PRIMARIES.get(found.primaries), _TRANSFERS.get(found.transfer)
    if declared == (found.matrix, found.primaries, found.transfer) or None in names:
        return None
    matrix, primaries, transfer = (str(name) for name in names)
    return {"matrix": matrix, "primaries": primaries, "transfer": transfer, "fullRange": found.range == FULL}
