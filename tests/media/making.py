"""Small files of every kind for the tests of provenance, plain ones and some as an engine of ours signs them."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from PIL import Image

from reelbook_service.engines.video_writer import Movie
from reelbook_service.engines.write_provenance import WrittenProvenance as Sign
from tests.clips import write_clip

MODEL = "svc/text-to-video-13b-distilled"
ASKED = {"prompt": "a paper boat", "num_frames": 49, "seed": 7}
SIGN = Sign(MODEL, ASKED, 7, "sketch", "1")
FACTS: dict[str, Any] = {
    "model": MODEL,
    "input": ASKED,
    "seed": 7,
    "request_id": "request-12345678",
    "credits": 53,
    "credits_source": "charged",
    "made_at": "2026-03-01T12:30:00+00:00",
    "service": "https://host.example/api",
}
PICTURES = ("png", "jpeg", "webp")
KINDS = (*PICTURES, "mp4")


def grain(width: int = 24, height: int = 16, mode: str = "RGB") -> Image.Image:
    """A picture with no two pixels alike, so that a byte too many or too few is seen."""
    values = np.random.default_rng(7).integers(0, 256, (height, width, len(mode)), np.uint8)
    return Image.fromarray(values if len(mode) > 1 else values[:, :, 0], mode)


def signed(path: Path, sign: Sign = SIGN) -> Path:
    """A file of the kind that its name says, with an engine's record in it."""
    if path.suffix == ".mp4":
        with Movie(path, (32, 16), Fraction(24), sign) as movie:
            for number in range(5):
                shade = np.full((16, 32, 3), 40 * number, np.uint8)
                movie.add(av.VideoFrame.from_ndarray(shade, format="rgb24").reformat(format="yuv420p"))
        return path
    kind = path.suffix[1:]
    grain().save(path, kind, **sign.save_options(kind))
    return path


def plain(path: Path, *, movflags: str = "faststart", **options: Any) -> Path:
    """A file of the kind that its name says, which tells nothing."""
    if path.suffix == ".mp4":
        greys = (np.full((16, 32, 3), 40 * number, np.uint8) for number in range(5))
        return write_clip(path, greys, movflags=movflags)
    grain().save(path, path.suffix[1:], **options)
    return path


def content(path: Path) -> str:
    """The hash of what a file shows: every pixel of a picture, every packet and every frame of a film."""
    digest = hashlib.sha256()
    if path.suffix != ".mp4":
        with Image.open(path) as picture:
            digest.update(f"{picture.mode} {picture.size}".encode() + picture.tobytes())
        return digest.hexdigest()
    with av.open(str(path)) as container:
        for packet in container.demux(video=0):
            digest.update(f"{packet.pts} {packet.dts} {packet.duration}".encode() + bytes(packet))
    with av.open(str(path)) as container:
        for frame in container.decode(video=0):
            digest.update(f"{frame.pts}".encode() + frame.to_ndarray().tobytes())
    return digest.hexdigest()


def boxes(path: Path) -> list[tuple[str, bytes]]:
    """The boxes of a film with their content, in order."""
    data, found, start = path.read_bytes(), [], 0
    while start < len(data):
        size = int.from_bytes(data[start : start + 4])
        assert size >= 8
        found.append((data[start + 4 : start + 8].decode("latin-1"), data[start + 8 : start + size]))
        start += size
    return found
