"""The picture that a clip starts with."""

from __future__ import annotations

import numpy as np
from PIL import Image

from ...engines.move.size import frame_size
from ...engines.open_pictures import flattened, open_picture, upright_size
from ..clip_plan import ClipPlan, Size


def start_picture(source: str, data: bytes) -> Image.Image:
    """A source picture at the size of its clip."""
    size = frame_size(*upright_size(source, data))
    picture = flattened(open_picture(source, data, at_least=size))
    return picture.resize(size, Image.Resampling.LANCZOS)


def placed(picture: Image.Image, plan: ClipPlan, made: Size) -> Image.Image:
    """The start picture within a picture of a pass, its edges repeated around it."""
    place = plan.placement(made)
    pixels = np.asarray(picture.resize(place.size, Image.Resampling.LANCZOS))
    right, below = made[0] - place.size[0] - place.left, made[1] - place.size[1] - place.top
    return Image.fromarray(np.pad(pixels, ((place.top, below), (place.left, right), (0, 0)), mode="edge"))
