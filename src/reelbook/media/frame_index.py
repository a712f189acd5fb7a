"""The index of a clip: where each sample is in the file, which frame it becomes and when, for a decoder in the page."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from . import video_colours
from .bounded_open import open_video
from .stream_facts import get_display_size, get_rate, get_rotation, read_first_frame, turn_size
from .video_colours import ColourSpace

if TYPE_CHECKING:
    from av import Packet, VideoStream
    from av.container import InputContainer

NO_FRAME = -1
"""The number of a sample that is decoded, but cut off by the edit list."""
EVEN_SECONDS = 1e-3
"""Frames whose times differ from an even rate by less are evenly spaced; containers round their times."""
MAX_FRAMES = 100_000
MAX_BLOCK_HEADER = 64
IDR = 5
"""The type of an H.264 unit at which a decoder can start."""

_MATRICES = {0: "rgb", 1: "bt709", 5: "bt470bg", 6: "smpte170m", 9: "bt2020-ncl"}
_PRIMARIES = {1: "bt709", 5: "bt470bg", 6: "smpte170m", 9: "bt2020", 12: "smpte432"}
_TRANSFERS = {
    1: "bt709",
    6: "smpte170m",
    8: "linear",
    13: "iec61966-2-1",
    14: "bt709",
    15: "bt709",
    16: "pq",
    18: "hlg",
}
"""The names of WebCodecs for the codes of H.273; 14 and 15 are the curve of BT.709 at more bits."""


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
    display: tuple[int, int]
    """Width and height as displayed."""
    colours: ColourSpace
    """The colour space as a player takes it; WebCodecs by itself take all that is not stated in H.264 for BT.709."""
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
            "colours": self._format_colours(),
        }  # fmt: skip
        if self.numbers != tuple(range(len(self.numbers))):
            found["numbers"] = self.numbers
        if not self.is_even:
            found["times"] = [round(time, 5) for time in self.times]
        if self.rotation:
            found["rotation"] = self.rotation
        if self.display != turn_size(self.size, self.rotation):
            found["display"] = self.display
        return found

    def _format_colours(self) -> dict[str, Any]:
        """The colour space in the terms of `VideoColorSpaceInit`, which has no name for some."""
        names = {
            "matrix": _MATRICES.get(self.colours.matrix),
            "primaries": _PRIMARIES.get(self.colours.primaries),
            "transfer": _TRANSFERS.get(self.colours.transfer),
        }
        return {
            "fullRange": self.colours.range == video_colours.FULL,
            **{key: name for key, name in names.items() if name},
        }


def _ends(offsets: Sequence[int], lengths: Sequence[int]) -> list[int]:
    """Where each sample would start if it followed the one before."""
    return [0, *(offset + length for offset, length in zip(offsets, lengths, strict=True))]


def read_frame_index(source: str | Path | bytes) -> FrameIndex | None:
    """The index of a clip, given by its path or its bytes; None for one that browsers do not decode, or a broken one."""
    try:
        if isinstance(source, bytes):
            import av

            with av.open(io.BytesIO(source), "r", format="mp4") as container:
                return _index(container, container.streams.video[0], io.BytesIO(source))
        with open_video(source, to_decode=False) as (container, stream), Path(source).open("rb") as file:
            return _index(container, stream, file)
    # Decoders raise errors of many types for a broken file.
    except Exception:
        return None


def read_uneven_times(path: str | Path) -> tuple[float, ...]:
    """The times of a clip's frames if they are not evenly spaced, rounded; empty if they are, or cannot be read."""
    index = read_frame_index(path)
    return () if index is None or index.is_even else tuple(round(time, 5) for time in index.times)


def _index(container: InputContainer, stream: VideoStream, file: BinaryIO) -> FrameIndex | None:
    codec = _format_codec(stream)
    if codec is None:
        return None
    samples = [_sample(packet, stream, file) for packet in container.demux(stream) if packet.size]
    if not samples or len(samples) > MAX_FRAMES or not samples[0].is_key:
        return None
    visible = sorted(sample.pts for sample in samples if not sample.is_discard)
    if len(set(visible)) < len(visible) or not visible:
        return None  # Two frames at one time: their order is unknown.
    numbers = {pts: number for number, pts in enumerate(visible)}
    base = stream.time_base or Fraction(1, 24)
    frame = read_first_frame(container, stream)
    if frame is None:
        return None
    size, rotation = (stream.width, stream.height), get_rotation(frame)
    return FrameIndex(
        codec,
        bytes(stream.codec_context.extradata or b"") if codec.startswith(("avc1", "av01")) else b"",
        size,
        rotation,
        get_display_size(size, stream.codec_context.sample_aspect_ratio, rotation),
        video_colours.get_colours(frame),
        tuple(sample.offset for sample in samples),
        tuple(sample.length for sample in samples),
        tuple(place for place, sample in enumerate(samples) if sample.is_key),
        tuple(NO_FRAME if sample.is_discard else numbers[sample.pts] for sample in samples),
        tuple(float((pts - visible[0]) * base) for pts in visible),
        get_rate(stream, visible),
    )


class _Sample(NamedTuple):
    """The facts of a packet, without its data."""

    offset: int
    length: int
    pts: int
    is_key: bool
    is_discard: bool


def _sample(packet: Packet[VideoStream], stream: VideoStream, file: BinaryIO) -> _Sample:
    """Where a packet is in the file, and whether decoding can start with it; `ValueError` if it is not there as it is."""
    if packet.pos is None or packet.pos < 0 or packet.pts is None:
        raise ValueError("a packet without a position or a time")
    data = bytes(packet)
    file.seek(packet.pos)
    # The position in a Matroska file is that of the block, whose header comes before the data.
    offset = packet.pos + file.read(len(data) + MAX_BLOCK_HEADER).index(data)
    is_key = packet.is_keyframe and (stream.codec_context.name != "h264" or _has_idr(stream, data))
    return _Sample(offset, len(data), packet.pts, is_key, packet.is_discard)


def _has_idr(stream: VideoStream, data: bytes) -> bool:
    """Whether an H.264 sample is an instantaneous refresh; WebCodecs start with no other, such as one of an open group."""
    extra = bytes(stream.codec_context.extradata or b"")
    width, place = (extra[4] & 3) + 1, 0
    while place + width < len(data):
        if data[place + width] & 31 == IDR:
            return True
        place += width + int.from_bytes(data[place : place + width])
    return False


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
