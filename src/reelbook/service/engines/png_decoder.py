"""Fast decoding of plain PNGs: Pillow needs half as long again for them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import av
import numpy as np

Size = tuple[int, int]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_RGB = (8, 2, 0, 0, 0)
"""Bits, kind of colour, compression, filter, interlace of the one kind that is decoded here."""

_CHANGING = (b"PLTE", b"tRNS", b"eXIf", b"zTXt", b"acTL")
"""Chunks that may change the appearance; such files are left to Pillow."""

_PROBED_BYTES = 48
"""Bytes at the beginning of each row that usually show whether the row was decoded."""


def plain(data: bytes, size: Size) -> av.VideoFrame | None:
    """The picture in RGB, where it has this size and is a plain PNG; otherwise None.

    None, too, where the data may be damaged: Pillow then decides, as it does for every other picture.
    """
    bare = _bare(data, size)
    if bare is None:
        return None
    # A new decoder for each picture: its memory is empty, so what a cut picture lacks is black and not another picture.
    decoder = av.CodecContext.create("png", "r")
    decoder.thread_count = 1
    decoder.options = {"err_detect": "explode"}
    try:
        frames = [*decoder.decode(av.Packet(bare)), *decoder.decode(None)]
    except av.FFmpegError:
        return None
    (frame,) = frames
    return frame if frame.format.name == "rgb24" and not frame.is_corrupt and _has_every_row(frame) else None


def _bare(data: bytes, size: Size) -> bytes | None:
    """The file with nothing but its header and its pixels, if it is plain; everything else in an untrusted file is left out."""
    if not data.startswith(_SIGNATURE):
        return None
    parts, ended = [_SIGNATURE], False
    try:
        for name, body, chunk in _chunks(data):
            if name == b"IHDR" and struct.unpack(">II5B", body) != (*size, *_RGB):
                return None
            if name in _CHANGING or (name == b"iTXt" and _may_turn(body)):
                return None
            if name in (b"IHDR", b"IDAT", b"IEND"):
                parts.append(chunk)
            ended = name == b"IEND"
    except (struct.error, ValueError):
        return None
    return b"".join(parts) if ended else None


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Name, content and the whole of each chunk; a ValueError where one is damaged."""
    place = len(_SIGNATURE)
    name = b""
    while name != b"IEND":
        length, name = struct.unpack_from(">I4s", data, place)
        end = place + 12 + length
        if end > len(data) or zlib.crc32(data[place + 4 : end - 4]) != struct.unpack_from(">I", data, end - 4)[0]:
            raise ValueError("damaged")
        yield name, data[place + 8 : end - 4], data[place:end]
        place = end


def _may_turn(text: bytes) -> bool:
    """Whether a text chunk contains an orientation, or may do so in compressed form."""
    keyword, _, rest = text.partition(b"\0")
    return keyword == b"XML:com.adobe.xmp" and (rest[:1] != b"\0" or b"rientation" in rest)


def _has_every_row(frame: av.VideoFrame) -> bool:
    """Whether no row is all black: this decoder leaves black what it could not read, and is silent."""
    plane = frame.planes[0]
    rows = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)[: frame.height, : 3 * frame.width]
    # Most rows show their colour at once; only the others need to be read to their end.
    doubtful = ~rows[:, :_PROBED_BYTES].any(axis=1)
    return bool(rows[doubtful].any(axis=1).all())
