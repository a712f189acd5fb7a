"""A video of pictures that stand still, each for some frames: every picture is encoded once."""

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
from .write_provenance import Provenance

PHOTO, DRAWING = 21, 14
"""Quantisers for pictures that are held. Text and flat colours show every flaw, and cost few bits.

Not x264's constant rate factor, which makes the quality of a picture depend on those before it: here a picture
always has the same bytes, so that they can be used again.
"""

KEY_EVERY = 250
"""Frames from one key frame to the next at most; a player that seeks starts decoding at a key frame."""

_X264_HELD = (
    # Skipped slices can be written by hand for this kind of stream only.
    "cabac=0:ref=1:bframes=0:weightp=0:scenecut=0:keyint=infinite:"
    # A picture goes in, its bytes come out.
    "rc-lookahead=0:sync-lookahead=0:mbtree=0:force-cfr=1:"
    # The quantiser is the key frame's own, and the headers are the same for every quantiser.
    "ipratio=1:stitchable=1"
)

S = TypeVar("S")


def slides(path: Path, size: tuple[int, int], rate: Fraction, provenance: Provenance) -> Held | EveryFrame:
    """A new video of still pictures, with the best encoder of this machine."""
    if video_writer.has_x264():
        # An x264 built in an unusual way may insist on headers of its own; it still encodes every frame well.
        with suppress(UnknownStream):
            return Held(path, size, rate, provenance)
    return EveryFrame(path, size, rate, provenance)


class Slides(Protocol[S]):
    """A video of pictures that stand still, each for some frames."""

    def prepared(self, frame: av.VideoFrame, quantiser: int) -> S:
        """The picture in a form that can be shown, also more than once."""

    def show(self, picture: S, frames: int) -> Iterator[int]:
        """Append the picture for so many frames, a little at each step; yields how many are done."""


class EveryFrame(Movie):
    """Slides for any encoder: each frame is encoded, however equal it is to the one before."""

    def prepared(self, frame: av.VideoFrame, quantiser: int) -> av.VideoFrame:
        return frame

    def show(self, picture: av.VideoFrame, frames: int) -> Iterator[int]:
        for done in range(1, frames + 1):
            self.add(picture)
            yield done


class Held(Movie):
    """Slides for x264: each picture is encoded once, every further frame is a skipped one of a dozen bytes."""

    def __init__(self, path: Path, size: tuple[int, int], rate: Fraction, provenance: Provenance) -> None:
        super().__init__(path, size, rate, provenance, _still(PHOTO))
        self._stream.codec_context.thread_count = 1  # One slice to a picture, and no delay.
        self._file.start_encoding()
        self._headers = _headers(self._stream.codec_context)
        try:
            self._holder = Holder(self._headers)
        except UnknownStream:
            self._file.close()
            raise
        self._same_again: list[bytes] = []
        self._encoders = {PHOTO: self._stream.codec_context}
        self._prepared = 0
        self._last: int | None = None
        """The number of the key frame written last, where nothing came after it; the next must have another."""

    def prepared(self, frame: av.VideoFrame, quantiser: int) -> bytes:
        encoder = self._encoders.get(quantiser) or self._another(quantiser)
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
                if since > len(self._same_again):
                    self._same_again.append(self._holder.held(since))
                self._write(self._same_again[since - 1])
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

    def _another(self, quantiser: int) -> av.VideoCodecContext:
        """An encoder for the same stream with another quantiser; x264 cannot change it on the way."""
        context = av.CodecContext.create("libx264", "w")
        context.options = _still(quantiser)
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
        """Nothing is left in an encoder that answers every picture at once."""


def _still(quantiser: int) -> dict[str, str]:
    return {"preset": "ultrafast", "qp": str(quantiser), "forced-idr": "1", "x264-params": _X264_HELD}


def _headers(context: av.VideoCodecContext) -> bytes:
    """What the stream begins with, without the encoder's remarks on itself."""
    units = nal_units(context.extradata or b"")
    return b"".join(START_CODE + unit for unit in units if kind(unit) in (SPS, PPS))
