"""The painter: composes sky, land, water, figures and weather, frame by frame."""

from __future__ import annotations

from collections.abc import Iterator

from PIL import Image

from reelbook.models.text_to_video import TextToVideo

from .backdrops import backdrop
from .cast import MOVING_BACKDROPS, Role, cast_role
from .finish import Finish
from .ground import ground
from .light import light_of
from .sky import Sky
from .stage import STILL, Plane, built_stage, merged, show_plane
from .water import Water, WetStreet
from .weather import Weather
from .words import Actor, Scene

_CALM = {"water": 0.6, "river": 0.75, "beach": 0.45, "floe": 0.6}


class Painter:
    """Paints the frames of a clip in any order: each depends only on its number."""

    def __init__(self, request: TextToVideo, scene: Scene, seed: int) -> None:
        light = light_of(scene, request.loras)
        self.stage = built_stage(scene, light, seed, request.frame_size, detailed=request.enable_detail_pass)
        self.rate = request.frame_rate
        self.finish = Finish(self.stage, request)
        self.planes: dict[str, list[Plane]] = {"behind": [], "ground": [], "front": []}
        self.roles: list[Role] = []

    def prepare(self) -> Iterator[str]:
        """Paint everything that is painted only once; yields the name of each part when it is ready."""
        stage, scene = self.stage, self.stage.scene
        self.sky = Sky(stage)
        yield "sky"
        soil = ground(stage)
        yield scene.ground
        self.water = Water(stage, calm=_CALM[scene.ground]) if scene.ground in _CALM else None
        wet = "rain" in scene.weather and scene.ground in ("street", "road", "roofs")
        self.wet = WetStreet(stage) if wet else None
        for name in scene.backdrops:
            for item in backdrop(stage, name):
                place = "behind" if item.nearness < 0.6 else "ground" if item.nearness < 0.9 else "front"
                self.planes[place].append(item)
            yield name
        for item in reversed(soil):
            self.planes["ground"].insert(0, item)
        self.planes = {name: self._merged(planes) for name, planes in self.planes.items()}
        self.weather = Weather(stage)
        yield "weather"
        backdrops = [Actor(name) for name in scene.backdrops if name in MOVING_BACKDROPS]
        for actor in (*backdrops, *scene.actors):
            for index in range(actor.count):
                self.roles.append(cast_role(stage, actor, index))
                yield actor.kind
        self.roles.sort(key=lambda role: role.y)

    def _merged(self, planes: list[Plane]) -> list[Plane]:
        if not self.stage.scene.camera.breathing:
            return merged(planes, 0.07)
        still = [item for item in planes if item.nearness <= STILL]
        return [*merged(still, 1.0), *merged([item for item in planes if item.nearness > STILL], 0.07)]

    def frame(self, number: int) -> Image.Image:
        """One frame."""
        stage, seconds = self.stage, number / self.rate
        far = stage.view(seconds, 0)
        picture = self.sky.paint(seconds, far)
        self._show(picture, seconds, "heaven")
        self.weather.behind(picture, seconds)
        self._show_planes(picture, seconds, "behind")
        self._show(picture, seconds, "backdrop")
        if self.water:
            self.water.paint(picture, seconds, far, self.sky.sun_at()[0])
        self._show_planes(picture, seconds, "ground")
        if self.wet:
            self.wet.paint(picture, far)
        self.weather.among(picture, seconds)
        self._show(picture, seconds, "water", "bridge", "ground", "sky")
        self._show_planes(picture, seconds, "front")
        return self.finish.apply(self.weather.over(picture, seconds), number)

    def _show_planes(self, picture: Image.Image, seconds: float, place: str) -> None:
        for item in self.planes[place]:
            show_plane(picture, item, self.stage, self.stage.view(seconds, item.nearness))

    def _show(self, picture: Image.Image, seconds: float, *layers: str) -> None:
        for layer in layers:
            for role in self.roles:
                if role.layer == layer:
                    role.show(picture, self.stage, seconds)
