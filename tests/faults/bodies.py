"""Small files of every kind that a model makes, drawn on the spot."""

from __future__ import annotations

import io
import struct
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import av
import numpy as np
from PIL import Image


def picture(kind: str, side: int = 24, seed: int = 0, **options: object) -> bytes:
    """A grainy picture, so that its size grows with its sides."""
    grain = np.random.default_rng(seed).integers(0, 255, (side, side, 3), np.uint8)
    out = io.BytesIO()
    Image.fromarray(grain).save(out, kind, **options)
    return out.getvalue()


def animation(seed: int = 0) -> bytes:
    """A GIF of three pictures."""
    grain = np.random.default_rng(seed).integers(0, 255, (3, 16, 16), np.uint8)
    out = io.BytesIO()
    first, *others = (Image.fromarray(frame) for frame in grain)
    first.save(out, "GIF", save_all=True, append_images=others, duration=40)
    return out.getvalue()


def film(frames: int = 4, side: int = 64, seed: int = 0, **options: str) -> bytes:
    """A grainy film."""
    grain = np.random.default_rng(seed)
    # By its path: to write the index first, the film is read again.
    with TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        _filmed(path, grain, frames, side, options)
        return path.read_bytes()


def _filmed(path: Path, grain: np.random.Generator, frames: int, side: int, options: dict[str, str]) -> None:
    with av.open(str(path), "w", options=options) as container:
        stream = container.add_stream("libx264", rate=Fraction(24), options={"preset": "ultrafast", "crf": "10"})
        stream.width, stream.height, stream.pix_fmt = side, side, "yuv420p"
        for _ in range(frames):
            pixels = grain.integers(0, 255, (side, side, 3), np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode())


def sound(count: int = 400) -> bytes:
    """A WAV file of noise."""
    noise = np.random.default_rng(0).integers(0, 255, count, np.uint8).tobytes()
    head = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8)
    inner = b"WAVE" + head + struct.pack("<4sI", b"data", len(noise)) + noise
    return struct.pack("<4sI", b"RIFF", len(inner)) + inner


def every_kind() -> dict[str, bytes]:
    """One of each, by suffix; twice where there are two ways to write one."""
    return {
        "plain.png": picture("PNG"),
        "baseline.jpg": picture("JPEG"),
        "progressive.jpg": picture("JPEG", side=64, progressive=True),
        "lossy.webp": picture("WEBP"),
        "lossless.webp": picture("WEBP", lossless=True),
        "still.gif": picture("GIF"),
        "moving.gif": animation(),
        "film.mp4": film(),
        "fast.mp4": film(movflags="faststart"),
        "pieces.mp4": film(movflags="frag_keyframe+empty_moov"),
        "picture.avif": picture("AVIF"),
        "sound.wav": sound(),
    }
