"""Files that are small on the disk and very large in memory, made without much of it."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import av
from PIL import Image

SIDE = 8_600


SOME = {"largest.webp", "middling.webp", "plain.jpg", "animated.gif", "film.mp4"}
"""Those made in a moment: each way in which a file is opened, and both what is shown and what is not."""


def files(folder: Path, *, every: bool) -> Iterator[Path]:
    """One of each kind, or some of them."""
    for name, make in makers().items():
        if every or name in SOME:
            make(folder / name)
            yield folder / name


def makers() -> dict[str, Callable[[Path], object]]:
    """How each file is made, by its name."""
    grey = Image.new("L", (SIDE, SIDE))
    pictures = (("rgb", 2, 8), ("rgba", 6, 8), ("deep", 2, 16), ("palette", 3, 8), ("bits", 0, 1))
    compressed: dict[str, dict[str, Any]] = {
        "plain.jpg": {}, "progressive.jpg": {"progressive": True}, "still.gif": {},
        "packed.tiff": {"compression": "tiff_adobe_deflate"},
    }  # fmt: skip
    return {
        **{
            f"{name}.png": partial(png, width=SIDE, height=SIDE, kind=kind, depth=depth)
            for name, kind, depth in pictures
        },
        "largest.webp": partial(webp, width=13_000, height=13_000),
        "middling.webp": partial(webp, width=4_000, height=4_000),
        **{name: partial(grey.save, **how) for name, how in compressed.items()},
        "animated.gif": partial(animation, frames=10_000),
        "film.mp4": partial(film, size=(9_000, 4_500)),
    }


def png(path: Path, width: int, height: int, kind: int, depth: int) -> Path:
    """A PNG of one colour, written a row at a time."""
    channels = {0: 1, 2: 3, 3: 1, 6: 4}[kind]
    row, packer = b"\0" + bytes((width * channels * depth + 7) // 8), zlib.compressobj(1)
    rows = b"".join(packer.compress(row) for _ in range(height)) + packer.flush()
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)), (b"IDAT", rows), (b"IEND", b"")]
    if kind == 3:
        chunks.insert(1, (b"PLTE", bytes(3)))
    packed = [
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    ]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(packed))
    return path


def webp(path: Path, width: int, height: int) -> Path:
    """A lossless WebP of one colour: 32 bytes, for no pixel takes a bit."""
    value = bits = 0
    fields = [(0x2F, 8), (width - 1, 14), (height - 1, 14), (0, 7)]
    for letter in (40, 200, 40, 255):  # Prefix codes of one symbol each, for green, red, blue and alpha.
        fields += [(1, 1), (0, 1), (1, 1), (letter, 8)]
    fields += [(1, 1), (0, 1), (0, 1), (0, 1)]
    for number, width_of in fields:
        value |= number << bits
        bits += width_of
    body = value.to_bytes((bits + 15) // 16 * 2, "little")
    chunk = b"WEBPVP8L" + struct.pack("<I", len(body)) + body
    path.write_bytes(b"RIFF" + struct.pack("<I", len(chunk)) + chunk)
    return path


def animation(path: Path, frames: int) -> Path:
    """A GIF of many frames, each of one pixel on a canvas of 64 by 64."""
    frame = bytes.fromhex("21f90400020000002c00000000010001000002024401 00".replace(" ", ""))
    head = b"GIF89a" + struct.pack("<HHBBB", 64, 64, 0x80, 0, 0) + bytes(6)
    path.write_bytes(head + frame * frames + b";")
    return path


def film(path: Path, size: tuple[int, int]) -> Path:
    """A clip of one very large frame, as coarse as can be, which is much quicker to write."""
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=24, options={"preset": "ultrafast", "qp": "51"})
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        stream.codec_context.thread_count = 1
        frame = av.VideoFrame(*size, "yuv420p")
        for plane in frame.planes:
            plane.update(bytes(plane.buffer_size))
        frame.pts, frame.time_base = 0, Fraction(1, 24)
        container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path
