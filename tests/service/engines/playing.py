"""Videos as players see them: PyAV read strictly, Debian's ffmpeg, and Chromium."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from av.video.reformatter import Colorspace
from numpy.typing import NDArray
from playwright.sync_api import Browser

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


@dataclass(frozen=True)
class Sighting:
    """What Chromium shows after it was sent to the middle of a frame."""

    frame: int
    """The frame it says it shows."""
    colour: tuple[int, int, int]
    """The pixel in the middle."""


_SEEK = """async ([data, fps, wanted]) => {
  const video = document.createElement("video");
  document.body.append(video);  // Else nothing holds it while it waits for a frame, and it may be collected.
  video.muted = true;
  video.preload = "auto";
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  video.src = URL.createObjectURL(new Blob([bytes], { type: "video/mp4" }));
  await new Promise((resolve, reject) => {
    video.onloadeddata = resolve;
    video.onerror = () => reject(new Error(video.error.message));
  });
  const canvas = document.createElement("canvas");
  canvas.width = video.videoWidth;
  canvas.height = video.videoHeight;
  const paper = canvas.getContext("2d", { willReadFrequently: true });
  const seen = [];
  for (const frame of wanted) {
    const shown = new Promise((resolve) => video.requestVideoFrameCallback((_, told) => resolve(told.mediaTime)));
    video.currentTime = (frame + 0.5) / fps;
    const time = await shown;
    paper.drawImage(video, 0, 0);
    const pixel = paper.getImageData(canvas.width >> 1, canvas.height >> 1, 1, 1).data;
    seen.push([time, ...pixel]);
  }
  return { seen, duration: video.duration, size: [video.videoWidth, video.videoHeight] };
}"""


def watched(chromium: Browser, path: Path, fps: float, wanted: Sequence[int]) -> tuple[dict[str, Any], list[Sighting]]:
    """Play a video in Chromium and seek to the middle of each of these frames; no two in a row may be the same."""
    page = chromium.new_page()
    try:
        told = page.evaluate(_SEEK, [base64.b64encode(path.read_bytes()).decode(), fps, list(wanted)])
    finally:
        page.close()
    sightings = [Sighting(round(time * fps), (red, green, blue)) for time, red, green, blue, _ in told["seen"]]
    return told, sightings
