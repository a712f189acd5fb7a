"""The frames of a clip, from a picture and a plan."""

from __future__ import annotations

from PIL import Image

from ..open_pictures import flattened, open_picture, upright_size
from .depth import estimate_scene
from .field import Field
from .light_effects import ClipLight
from .path import Path
from .shot_plan import ShotPlan
from .size import frame_size
from .warp import OVERSIZE, Planes, Warp, planes_of
from .weather_overlay import ClipWeather

BLEND_FRAMES = 6
"""Frames over which the original picture is blended into the camera's view, so that the transition is not visible."""


class Shot:
    """Renders the frames of a clip, in any order and on any thread."""

    def __init__(self, source: str, data: bytes, plan: ShotPlan, seconds: float) -> None:
        full = upright_size(source, data)
        self.size = width, height = frame_size(*full)
        larger = _even(width * OVERSIZE), _even(height * OVERSIZE)
        picture = open_picture(source, data, at_least=larger)
        large, still = _scaled(picture, larger), _scaled(picture, self.size)
        del picture  # It may take more memory than all other work.
        scene = estimate_scene(still)
        self._still = planes_of(still)
        self._seconds = seconds
        self._path = Path(plan, scene.centre, width / height, seconds, full[0] / width)
        poses = [self._path.at(step / 12) for step in range(13)]
        self._warp = Warp(planes_of(large), self.size, Field(scene, plan, width / height, poses))
        self._light = ClipLight(plan, seconds)
        self._weather = ClipWeather(plan, self.size)

    def frame(self, number: int, count: int) -> Planes:
        """The planes of one frame; the first is the picture itself."""
        if not number:
            return self._still
        share = number / (count - 1)
        planes = self._warp.seen(self._path.at(share))
        if number < BLEND_FRAMES:
            planes = _between(self._still, planes, number / BLEND_FRAMES)
        moment = share * self._seconds
        return self._weather.over(self._light.lit(planes, moment), moment)


def _between(one: Planes, other: Planes, share: float) -> Planes:
    light, blue, red = (Image.blend(first, second, share) for first, second in zip(one, other, strict=True))
    return light, blue, red


def _scaled(picture: Image.Image, size: tuple[int, int]) -> Image.Image:
    """The picture at another size, as RGB; transparency is composited over black."""
    return flattened(picture.resize(size, Image.Resampling.LANCZOS))


def _even(length: float) -> int:
    return 2 * round(length / 2)
