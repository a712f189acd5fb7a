"""Fast decoding of plain PNGs, for which Pillow takes half as long again."""

from __future__ import annotations

import io
import struct

import av
import numpy as np

from reelbook.util.containers import PNG_SIGNATURE, MalformedFile, has_valid_checksum, parse_png_chunks, read_content

PixelSize = tuple[int, int]

_RGB = (8, 2, 0, 0, 0)
"""Bit depth, colour type, compression, filter and interlace of the only kind that is decoded."""

_CHANGING = (b"PLTE", b"tRNS", b"eXIf", b"zTXt", b"acTL")
"""Chunks that may change the appearance; such files are decoded by Pillow."""

_PROBED_BYTES = 48
"""Bytes at the beginning of each row that usually suffice to tell whether it was decoded."""


def plain(data: bytes, size: PixelSize) -> av.VideoFrame | None:
    """The picture in RGB if it has this size and is a plain PNG; otherwise None.

    Also None where the data may be damaged: Pillow then decides, as for every other picture.
    """
    stripped = _stripped(data, size)
    if stripped is None:
        return None
    # A new decoder for each picture: its memory is empty, so missing rows are black and not of another picture.
    decoder = av.CodecContext.create("png", "r")
    decoder.thread_count = 1
    decoder.options = {"err_detect": "explode"}
    try:
        frames = [*decoder.decode(av.Packet(stripped)), *decoder.decode(None)]
    except av.FFmpegError:
        return None
    (frame,) = frames
    return frame if frame.format.name == "rgb24" and not frame.is_corrupt and _has_every_row(frame) else None


def _stripped(data: bytes, size: PixelSize) -> bytes | None:
    """The file reduced to its header and its pixels; None unless it is plain."""
    if not data.startswith(PNG_SIGNATURE):
        return None
    file, parts = io.BytesIO(data), [PNG_SIGNATURE]
    try:
        for chunk in parse_png_chunks(file):
            if chunk.kind in _CHANGING or not has_valid_checksum(file, chunk):
                return None
            if chunk.kind == b"IHDR" and struct.unpack(">II5B", read_content(file, chunk)) != (*size, *_RGB):
                return None
            if chunk.kind == b"iTXt" and _may_turn(read_content(file, chunk)):
                return None
            if chunk.kind in (b"IHDR", b"IDAT", b"IEND"):
                parts.append(data[chunk.start : chunk.end])
    except (struct.error, MalformedFile):
        return None
    return b"".join(parts)


def _may_turn(text: bytes) -> bool:
    """Whether a text chunk contains an orientation, or may do so in compressed form."""
    keyword, _, rest = text.partition(b"\0")
    return keyword == b"XML:com.adobe.xmp" and (rest[:1] != b"\0" or b"rientation" in rest)


def _has_every_row(frame: av.VideoFrame) -> bool:
    """Whether no row is all black: this decoder silently leaves rows black that it could not decode."""
    plane = frame.planes[0]
    rows = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)[: frame.height, : 3 * frame.width]
    # Most rows have a colour near their start; only the others are read to their end.
    dark = ~rows[:, :_PROBED_BYTES].any(axis=1)
    return bool(rows[dark].any(axis=1).all())
