"""Writing of decoded frames: colours are converted on the device, many frames at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import torch

from ...engines.protocol import OutputFile
from ...engines.video_writer import Movie
from ...engines.write_provenance import Provenance
from ..clip_plan import Size

CHECKED_FRAMES = 8
"""Frames of each clip that the picture check reads, evenly spread from the first to the last."""

_RED, _BLUE = 0.2126, 0.0722
_LUMA = (_RED, 1 - _RED - _BLUE, _BLUE)
"""The share of red, green and blue in the brightness, by BT.709."""


def yuv_planes(pixels: Any) -> Any:
    """Frames of H.264: from `(frames, 3, height, width)`, -1 to 1, to `(frames, height * 3 / 2, width)` of bytes."""
    pixels = pixels.clamp(-1, 1)
    luma = _weighted(pixels, _LUMA).mul_(219 / 2).add_(16 + 219 / 2).round_().to(torch.uint8)
    # The colours are linear in the pixels, so that a quarter of them is enough to compute.
    halves = torch.nn.functional.avg_pool2d(pixels, 2)
    grey = _weighted(halves, _LUMA)
    differences = [(halves[:, 2] - grey) / (1 - _BLUE), (halves[:, 0] - grey) / (1 - _RED)]
    chroma = torch.stack(differences, 1).mul_(224 / 4).add_(128).round_().to(torch.uint8)
    return torch.cat([luma.flatten(1), chroma.flatten(1)], 1).view(len(pixels), -1, pixels.shape[-1])


def _weighted(pixels: Any, weights: tuple[float, float, float]) -> Any:
    red, green, blue = pixels.unbind(1)
    return (red * weights[0]).add_(green, alpha=weights[1]).add_(blue, alpha=weights[2])


def write_clip(
    path: Path,
    size: Size,
    count: int,
    rate: Fraction,
    provenance: Provenance,
    pieces: Iterable[Any],
    *,
    is_reversed: bool,
    check: Callable[[], None],
) -> OutputFile:
    """Write the pieces; `check` is called between frames and raises where the run was cancelled."""
    with Movie(path, size, rate, provenance) as movie:
        for pixels in pieces:
            piece = pixels.flip(0) if is_reversed else pixels
            for planes in yuv_planes(piece).cpu().numpy():
                check()
                movie.add(av.VideoFrame.from_ndarray(planes, format="yuv420p"))
        frames = movie.frames
    if frames != count:
        raise AssertionError(f"{frames} frames were decoded, and {count} were planned.")
    width, height = size
    facts = {"width": width, "height": height, "frames": frames, "frame_rate": int(rate)}
    return OutputFile(path, "video/mp4", facts)


def spread(count: int) -> list[int]:
    """The frames that are checked of so many: no more than eight, the first and last among them."""
    number = min(CHECKED_FRAMES, count)
    return [round(one * (count - 1) / max(1, number - 1)) for one in range(number)]


def sampled_frames(path: Path, check: Callable[[], None]) -> list[np.ndarray[Any, Any]]:
    """Frames of a finished clip, evenly spread over it, as red, green and blue."""
    with av.open(str(path)) as file:
        numbers = spread(file.streams.video[0].frames)
        frames = []
        for number, frame in enumerate(file.decode(video=0)):
            check()
            if number in numbers:
                frames.append(frame.to_ndarray(format="rgb24"))
        return frames
