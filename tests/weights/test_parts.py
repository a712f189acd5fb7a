"""The colours of a clip."""

from __future__ import annotations

import av
import numpy as np
import torch
from av.video.reformatter import Colorspace

from reelbook_service.weights.pipelines.clip import yuv_planes


def test_colours_are_those_of_ffmpeg() -> None:
    """Within two levels on surfaces of one colour, for every corner of the colour cube and greys between."""
    colours = torch.cartesian_prod(*[torch.tensor([-1.0, -0.3, 0.4, 1.0])] * 3)
    frames = colours.view(-1, 3, 1, 1).expand(-1, 3, 16, 32)
    ours = yuv_planes(frames).numpy()

    for planes, frame in zip(ours, frames, strict=True):
        pixels = frame.add(1).mul(127.5).round().to(torch.uint8).permute(1, 2, 0).contiguous().numpy()
        theirs = av.VideoFrame.from_ndarray(pixels, format="rgb24").reformat(
            format="yuv420p", dst_colorspace=Colorspace.ITU709
        )
        difference = planes.astype(int) - theirs.to_ndarray().astype(int)
        assert np.abs(difference).max() <= 2
