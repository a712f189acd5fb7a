"""The size of a video made of pictures, and the placement of pictures of other shapes on its canvas."""

from __future__ import annotations

from itertools import product
from math import floor, prod, sqrt

import numpy as np
from PIL import Image, ImageFilter, ImageOps

from .open_pictures import flattened

PixelSize = tuple[int, int]

MAX_BLOCKS = 36_864
"""Maximum 16 × 16 blocks in a frame: ordinary players' hardware decodes no more."""

LONGEST_SIDE = 8192
"""Maximum pixels of a side, for the same reason."""

PIXELS_WHEN_SHRUNK = 9_000_000
"""The area to which a canvas that is too large is reduced; below the limit, so that partial blocks fit too."""

AREA = 1280 * 720
"""Maximum pixels in a frame of a clip that is made from one picture."""

LONGEST, SHORTEST = 4096, 16
"""Bounds of its sides: hardware decoders support no more, and one block of H.264 is the least."""

THIN = 0.02
"""A border narrower than this share looks unintended; the picture is stretched instead."""

BACKDROP = 48
"""Pixels along the longer side of the backdrop before it is enlarged, which makes it blurred and cheap."""

DIMMED = 0.55
"""Brightness of the backdrop, relative to the picture."""


def canvas_for(first: PixelSize) -> PixelSize:
    """The size of a video from the size of its first picture: the same, even, and not too large to be played.

    >>> canvas_for((1280, 720)), canvas_for((641, 1)), canvas_for((8000, 5000))
    ((1280, 720), (642, 2), (3794, 2372))
    """
    width, height = (side + side % 2 for side in first)
    blocks = -(-width // 16) * -(-height // 16)
    if blocks <= MAX_BLOCKS and max(width, height) <= LONGEST_SIDE:
        return width, height
    scale = min(sqrt(PIXELS_WHEN_SHRUNK / (width * height)), LONGEST_SIDE / max(width, height))
    return _even(width * scale), _even(height * scale)


def frame_size(width: int, height: int) -> PixelSize:
    """The even width and height of a clip from a picture of this size, as close to its aspect ratio as possible.

    Larger pictures are reduced; smaller ones are never enlarged, as that adds no detail.

    >>> frame_size(1920, 1080), frame_size(3000, 4000), frame_size(641, 481), frame_size(1, 1)
    ((1280, 720), (830, 1108), (640, 480), (16, 16))
    """
    scale = max(min(1.0, sqrt(AREA / (width * height))), SHORTEST / min(width, height))
    scale = min(scale, LONGEST / max(width, height))

    def misfit(size: tuple[int, ...]) -> float:
        return abs(size[0] / (width * scale) - 1) + abs(size[1] / (height * scale) - 1)

    below = (2 * floor(length * scale / 2 + 1e-9) for length in (width, height))
    sizes = product(*((max(SHORTEST, even), max(SHORTEST, even + 2)) for even in below))
    best = min((size for size in sizes if prod(size) <= AREA and max(size) <= LONGEST), key=misfit)
    return best[0], best[1]


def on_canvas(picture: Image.Image, canvas: PixelSize) -> Image.Image:
    """The picture as a frame of the video: complete, undistorted, as large as fits, over a blurred copy of itself.

    A blurred copy rather than black bars, because bars look unintended between pictures that fill the frame. But
    transparency is composited over black, so a picture with transparency gets black bars.
    """
    see_through = picture.mode == "RGBA" and picture.getchannel("A").getextrema() != (255, 255)
    picture = flattened(picture)
    missing = canvas[0] - picture.width, canvas[1] - picture.height
    if missing == (0, 0):
        return picture
    if set(missing) <= {0, 1}:  # Video needs even sides: the last column or row is repeated.
        return Image.fromarray(np.pad(np.asarray(picture), ((0, missing[1]), (0, missing[0]), (0, 0)), mode="edge"))
    scale = min(canvas[0] / picture.width, canvas[1] / picture.height)
    width, height = picture.width * scale, picture.height * scale
    fills = canvas[0] - width <= THIN * canvas[0] and canvas[1] - height <= THIN * canvas[1]
    size = canvas if fills else (min(_even(width), canvas[0]), min(_even(height), canvas[1]))
    sharp = Image.Resampling.LANCZOS if size[0] < picture.width else Image.Resampling.BICUBIC
    fitted = picture.resize(size, sharp)
    if fills:
        return fitted
    frame = Image.new("RGB", canvas)
    if not see_through:
        # The middle of the picture, dimmed and so blurred that only its colours remain.
        across, down = (max(1, round(side * BACKDROP / max(canvas))) for side in canvas)
        soft = ImageOps.fit(picture, (across, down), Image.Resampling.BOX).filter(ImageFilter.GaussianBlur(3))
        frame = soft.point(lambda value: value * DIMMED).resize(canvas, Image.Resampling.BICUBIC)
    # On even pixels: two pixels share their colour, so an odd edge would tint the border.
    frame.paste(fitted, ((canvas[0] - size[0]) // 4 * 2, (canvas[1] - size[1]) // 4 * 2))
    return frame


def _even(side: float) -> int:
    return max(2, round(side / 2) * 2)
