"""The painter: composes sky, land, water, figures and weather, frame by frame."""

from __future__ import annotations

from collections.abc import Iterator

from PIL import Image

from .backdrops import BACKDROPS
from .cast import Role, cast_role, show_role
from .figures import FIGURES
from .finish import Finish
from .grounds import GROUNDS
from .layers import Layer, merged, show_layer
from .moving_backdrops import Fall, Plume
from .sampler import Latents
from .sky import Sky
from .stage import STILL, Stage, view
from .water import Sheen, Water
from .weather import Weather

WATERS = ("water", "river", "beach", "floe")
_CALM = {"river": 0.75, "beach": 0.45}


class Painter:
    """Paints the frames of a clip in any order: each depends only on its number."""

    def __init__(self, stage: Stage, latents: Latents, frame_rate: int, compression: float) -> None:
        self.stage, self.latents, self.frame_rate = stage, latents, frame_rate
        self.finish = Finish(stage, compression, latents.fine)
        self.behind: list[Layer] = []
        self.ground: list[Layer] = []
        self.front: list[Layer] = []
        self.roles: list[Role] = []

    def prepare(self) -> Iterator[str]:
        """Paint everything that is painted only once; yields the name of each part when it is ready."""
        stage = self.stage
        self.sky = Sky(stage)
        yield "sky"
        for name in stage.scene.backdrops:
            self._set_up(BACKDROPS[name](stage) if name in BACKDROPS else [])
            yield name
        ground = stage.scene.ground
        self.water = Water(stage, calm=_CALM.get(ground, 0.6)) if ground in WATERS else None
        self.fall = Fall(stage) if "waterfall" in stage.scene.backdrops else None
        self.plume = Plume(stage) if "volcano" in stage.scene.backdrops else None
        wet = stage.scene.weather.rain and ground in ("street", "road", "roofs")
        self.sheen = Sheen(stage) if wet else None
        if ground in GROUNDS:
            self.ground = [*GROUNDS[ground](stage), *self.ground]
        yield ground
        self.behind, self.ground, self.front = (
            self._merged(planes) for planes in (self.behind, self.ground, self.front)
        )
        self.weather = Weather(stage)
        yield "weather"
        for actor in stage.scene.actors:
            if actor.kind in FIGURES:
                for index in range(actor.count):
                    self.roles.append(cast_role(stage, actor, index))
                    yield actor.kind
        self.roles.sort(key=lambda role: (role.nearness, role.y))

    def _set_up(self, planes: list[Layer]) -> None:
        """Sort the planes of a backdrop by nearness: behind the ground, on it, or in front of the figures."""
        for plane in planes:
            if plane.nearness < 0.6:
                self.behind.append(plane)
            elif plane.nearness < 0.9:
                self.ground.append(plane)
            else:
                self.front.append(plane)

    def _merged(self, planes: list[Layer]) -> list[Layer]:
        if not self.stage.scene.camera.breathing:
            return merged(planes, 0.07)
        still = [plane for plane in planes if plane.nearness <= STILL]
        moving = [plane for plane in planes if plane.nearness > STILL]
        return [*merged(still, 1.0), *merged(moving, 0.07)]

    def frame(self, number: int) -> Image.Image:
        """One frame."""
        stage, seconds = self.stage, number / self.frame_rate
        latents = self.latents.at(number)
        far = view(stage, seconds, 0)
        picture = self.sky.paint(seconds, latents, far)
        self._show("heaven", picture, seconds)
        self.weather.behind(picture, seconds)
        if self.plume:
            self.plume.rise(picture, seconds, view(stage, seconds, 0.25))
        self._planes(self.behind, picture, seconds)
        if self.fall:
            self.fall.pour(picture, seconds, view(stage, seconds, 0.3))
        if self.water:
            self.water.paint(picture, seconds, latents, far, self.sky.sun_at()[0])
        self._planes(self.ground, picture, seconds)
        if self.sheen:
            self.sheen.paint(picture, far)
        self.weather.among(picture, seconds)
        for layer in ("water", "bridge", "ground", "sky"):
            self._show(layer, picture, seconds)
        self._planes(self.front, picture, seconds)
        return self.finish.apply(self.weather.over(picture, seconds), latents)

    def _planes(self, planes: list[Layer], picture: Image.Image, seconds: float) -> None:
        for plane in planes:
            show_layer(picture, plane, self.stage, view(self.stage, seconds, plane.nearness))

    def _show(self, layer: str, picture: Image.Image, seconds: float) -> None:
        for role in self.roles:
            if role.layer == layer:
                show_role(picture, role, self.stage, seconds)
