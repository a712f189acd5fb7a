"""A video of still pictures, each for some frames: every picture is encoded once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Protocol, TypeVar

import av
from av.codec.context import Flags
from av.video.frame import PictureType

from . import video_writer
from .h264 import IDR_SLICE, PPS, SPS, START_CODE, Holder, UnknownStream, kind, nal_units
from .video_writer import Movie
from .write_provenance import WrittenProvenance

PHOTO, DRAWING = 21, 14
"""Quantisers for still pictures. Text and flat colours make every flaw visible, and need few bits.

Not x264's constant rate factor, with which the quality of a picture depends on the previous ones: here a picture
always has the same bytes, so that they can be reused.
"""

KEY_EVERY = 250
"""Maximum frames between key frames; a player that seeks starts decoding at a key frame."""

_X264_HELD = (
    # Skipped slices are supported for this kind of stream only.
    "cabac=0:ref=1:bframes=0:weightp=0:scenecut=0:keyint=infinite:"
    # No delay between a picture and its packet.
    "rc-lookahead=0:sync-lookahead=0:mbtree=0:force-cfr=1:"
    # The quantiser is the key frame's own, and the headers are the same for every quantiser.
    "ipratio=1:stitchable=1"
)

S = TypeVar("S")


def slides(path: Path, size: tuple[int, int], rate: Fraction, provenance: WrittenProvenance) -> Held | EveryFrame:
    """A new video of still pictures, with the best encoder available."""
    if video_writer.has_x264():
        # An unusual build of x264 may enforce its own headers; it still encodes every frame well.
        with suppress(UnknownStream):
            return Held(path, size, rate, provenance)
    return EveryFrame(path, size, rate, provenance)


class Slides(Protocol[S]):
    """A video of still pictures, each for some frames."""

    def prepared(self, frame: av.VideoFrame, quantiser: int) -> S:
        """The encoded picture, which can be shown repeatedly."""

    def show(self, picture: S, frames: int) -> Iterator[int]:
        """Append the picture for this number of frames, a few at each step; yields how many are done."""


class EveryFrame(Movie):
    """Slides for any encoder: each frame is encoded, even if it is equal to the previous one."""

    def prepared(self, frame: av.VideoFrame, quantiser: int) -> av.VideoFrame:
        return frame

    def show(self, picture: av.VideoFrame, frames: int) -> Iterator[int]:
        for done in range(1, frames + 1):
            self.add(picture)
            yield done


class Held(Movie):
    """Slides for x264: each picture is encoded once, every further frame is a skipped one of a dozen bytes."""

    def __init__(self, path: Path, size: tuple[int, int], rate: Fraction, provenance: WrittenProvenance) -> None:
        super().__init__(path, size, rate, provenance, _encoder_options(PHOTO))
        self._stream.codec_context.thread_count = 1  # One slice per picture, and no delay.
        self._file.start_encoding()
        self._headers = _headers(self._stream.codec_context)
        try:
            self._holder = Holder(self._headers)
        except UnknownStream:
            self._file.close()
            raise
        self._repeat_units: list[bytes] = []
        self._encoders = {PHOTO: self._stream.codec_context}
        self._prepared = 0
        self._last: int | None = None
        """The number of the last key frame, if no other frame followed; the next must have another."""

    def prepared(self, frame: av.VideoFrame, quantiser: int) -> bytes:
        encoder = self._encoders.get(quantiser) or self._make_encoder(quantiser)
        frame.pts, frame.time_base, frame.pict_type = self._prepared, self._tick, PictureType.I
        self._prepared += 1
        (packet,) = encoder.encode(frame)
        (unit,) = (unit for unit in nal_units(bytes(packet)) if kind(unit) == IDR_SLICE)
        return unit

    def show(self, picture: bytes, frames: int) -> Iterator[int]:
        for done in range(0, frames, KEY_EVERY):
            group = min(KEY_EVERY, frames - done)
            self._write_key(picture)
            for since in range(1, group):
                if since > len(self._repeat_units):
                    self._repeat_units.append(self._holder.held(since))
                self._write(self._repeat_units[since - 1])
            yield done + group

    def _write_key(self, unit: bytes) -> None:
        number = self._holder.number(unit)
        if self._last == number:
            number ^= 1
            unit = self._holder.renumbered(unit, number)
        self._write(unit, is_key=True)
        self._last = number

    def _write(self, unit: bytes, *, is_key: bool = False) -> None:
        packet = av.Packet(START_CODE + unit)
        packet.pts = packet.dts = self.frames
        packet.duration, packet.time_base = 1, self._tick
        packet.stream, packet.is_keyframe = self._stream, is_key
        self._file.mux_one(packet)
        self.frames += 1
        self._last = None

    def _make_encoder(self, quantiser: int) -> av.VideoCodecContext:
        """An encoder for the same stream with another quantiser, which x264 cannot change while encoding."""
        context = av.CodecContext.create("libx264", "w")
        context.options = _encoder_options(quantiser)
        context.framerate, context.time_base = self._rate, self._tick
        context.flags |= Flags.global_header
        self._prepare(context)
        context.thread_count = 1
        context.open()
        if _headers(context) != self._headers:
            raise RuntimeError("x264 made two streams that do not belong together")
        self._encoders[quantiser] = context
        return context

    def _finish(self) -> None:
        """Do nothing: this encoder has no delayed frames."""


def _encoder_options(quantiser: int) -> dict[str, str]:
    return {"preset": "ultrafast", "qp": str(quantiser), "forced-idr": "1", "x264-params": _X264_HELD}


def _headers(context: av.VideoCodecContext) -> bytes:
    """The headers of the stream, without the encoder's information about itself."""
    units = nal_units(context.extradata or b"")
    return b"".join(START_CODE + unit for unit in units if kind(unit) in (SPS, PPS))
