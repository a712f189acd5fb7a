"""Videos as players see them: PyAV read strictly, and Debian's ffmpeg."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from av.video.reformatter import Colorspace
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Playback:
    """What came out of a video."""

    size: tuple[int, int]
    rate: Fraction
    duration: Fraction
    times: list[Fraction]
    frames: list[Pixels]
    """One pixel of each frame, or all of it, in RGB."""
    messages: list[str]
    """What the decoder had to say; nothing, if all is well."""


def played(path: Path, *, whole: bool = False) -> Playback:
    """Decode every frame, strictly: the decoder must neither stumble nor say anything."""
    before = av.logging.get_level()
    av.logging.set_level(av.logging.WARNING)
    try:
        with av.logging.Capture(local=False) as said, av.open(str(path)) as file:
            stream = file.streams.video[0]
            stream.codec_context.options = {"err_detect": "explode+bitstream+buffer"}
            stream.codec_context.thread_count = 1
            times, frames = [], []
            for frame in file.decode(stream):
                assert frame.pts is not None
                assert frame.time_base is not None
                times.append(frame.pts * frame.time_base)
                frames.append(_seen(frame, whole=whole))
            assert stream.average_rate is not None
            assert stream.duration is not None
            assert stream.time_base is not None
            size = stream.codec_context.width, stream.codec_context.height
            duration = stream.duration * stream.time_base
            return Playback(size, stream.average_rate, duration, times, frames, [text for _, _, text in said])
    finally:
        av.logging.set_level(before)


def _seen(frame: av.VideoFrame, *, whole: bool) -> Pixels:
    rgb = frame.to_ndarray(format="rgb24", src_colorspace=Colorspace.ITU709).astype(np.uint8, copy=False)
    # A copy of the one pixel: a view would keep the whole frame.
    return rgb if whole else rgb[rgb.shape[0] // 2, rgb.shape[1] // 2].copy()


def second_opinion(path: Path) -> tuple[int, str]:
    """How many frames another decoder finds, and what it says about them.

    That is Debian's ffmpeg, which CI always has. On a machine without it, PyAV decodes once more, with frame threads.
    """
    if shutil.which("ffmpeg"):
        command = ["ffmpeg", "-nostdin", "-v", "error", "-err_detect", "explode", "-i", str(path)]
        done = subprocess.run([*command, "-f", "framehash", "-"], capture_output=True, text=True, check=False)
        return sum(1 for line in done.stdout.splitlines() if not line.startswith("#")), done.stderr
    if os.environ.get("CI"):
        pytest.fail("CI must have ffmpeg: apt-get install ffmpeg.", pytrace=False)
    with av.open(str(path)) as file:
        file.streams.video[0].thread_type = "FRAME"
        return sum(1 for _ in file.decode(video=0)), ""
