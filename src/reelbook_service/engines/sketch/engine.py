"""The sketch engine: composes sky, land, water, figures and weather frame by frame, and renders them as an MP4."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from fractions import Fraction
from typing import Any

import av
from PIL import Image

from reelbook.models.text_to_video import TextToVideo

from ..protocol import EngineTask, OutputFile, Report
from ..video_writer import Movie, in_order, yuv
from ..write_provenance import WrittenProvenance
from .backdrops import backdrop
from .cast import MOVING_BACKDROPS, Role, cast_role
from .finish import Finish
from .ground import ground
from .light import light_of
from .sky import Sky
from .stage import STILL, Plane, built_stage, united
from .water import Water, reflect_in_street
from .weather import Weather
from .words import Actor, Scene, expanded, scene_of

_PREPARED, _PAINTED = 0.06, 0.98
_CALM = {"water": 0.6, "river": 0.75, "beach": 0.45, "floe": 0.6}


class Painter:
    """Paints the frames of a clip in any order: each depends only on its number."""

    def __init__(self, request: TextToVideo, scene: Scene, seed: int) -> None:
        light = light_of(scene, request.loras)
        self.stage = built_stage(scene, light, seed, request.frame_size, detailed=request.enable_detail_pass)
        self.rate = request.frame_rate
        self.finish = Finish(self.stage, request)
        self.planes: dict[str, list[Plane]] = {"behind": [], "soil": [], "front": []}
        self.roles: list[Role] = []

    def prepare(self) -> Iterator[str]:
        """Paint everything that is painted only once; yields the name of each part when it is ready."""
        stage, scene = self.stage, self.stage.scene
        self.sky = Sky(stage)
        yield "sky"
        soil = ground(stage)
        yield scene.ground
        self.water = Water(stage, calm=_CALM[scene.ground]) if scene.ground in _CALM else None
        self.is_wet = "rain" in scene.weather and scene.ground in ("street", "road", "roofs")
        for name in scene.backdrops:
            for item in backdrop(stage, name):
                place = "behind" if item.nearness < 0.6 else "soil" if item.nearness < 0.9 else "front"
                self.planes[place].append(item)
            yield name
        self.planes["soil"][:0] = soil
        still = [item for item in self.planes["behind"] if item.nearness <= STILL]
        if scene.camera.breathing and still:
            self.planes["behind"] = [united(still), *self.planes["behind"][len(still) :]]
        self.weather = Weather(stage)
        yield "weather"
        backdrops = [Actor(name) for name in scene.backdrops if name in MOVING_BACKDROPS]
        for actor in (*backdrops, *scene.actors):
            for index in range(actor.count):
                self.roles.append(cast_role(stage, actor, index))
                yield actor.kind
        self.roles.sort(key=lambda role: role.y)

    def frame(self, number: int) -> Image.Image:
        """One frame."""
        stage, seconds = self.stage, number / self.rate
        far = stage.view(seconds, 0)
        picture = self.sky.paint(seconds, far)
        self._show(picture, seconds, "heaven")
        self.weather.behind(picture, seconds)
        self._show(picture, seconds, "behind", "backdrop")
        if self.water:
            self.water.paint(picture, seconds, far, self.sky.sun_at()[0])
        self._show(picture, seconds, "soil")
        if self.is_wet:
            reflect_in_street(picture, stage, far)
        self.weather.among(picture, seconds)
        self._show(picture, seconds, "water", "bridge", "ground", "sky", "front")
        return self.finish.apply(self.weather.over(picture, seconds), number)

    def _show(self, picture: Image.Image, seconds: float, *layers: str) -> None:
        """Paint the planes and the figures of some layers."""
        for layer in layers:
            for item in (*self.planes.get(layer, ()), *(role for role in self.roles if role.layer == layer)):
                item.show(picture, self.stage, seconds)


class Sketch:
    """Paints scenes from the words of a prompt, without a model, weights or network."""

    name = "sketch"
    version = "3"

    def __call__(self, job: EngineTask[TextToVideo], report: Report) -> dict[str, Any]:
        """Render the clip."""
        report.log(
            "This is the sketch engine: it paints scenes from the words it knows, on this machine. "
            "It is not the hosted model, and its pictures are not that model's."
        )
        request = job.input
        prompt = expanded(request.prompt) if request.expand_prompt else request.prompt
        scene = scene_of(prompt, request.negative_prompt)
        report.log(described(scene))
        painter = Painter(request, scene, job.seed)
        for ready, thing in enumerate(painter.prepare(), 1):
            report.progress(f"preparing {thing}", _PREPARED * ready / (ready + 4))
        path, (width, height) = job.folder / "clip.mp4", request.frame_size
        provenance = WrittenProvenance(request.endpoint_id, request.wire(), job.seed, self.name, self.version)
        with (
            Movie(path, (width, height), Fraction(request.frame_rate), provenance) as movie,
            closing(frames_of(painter, request)) as frames,
        ):
            for number, frame in enumerate(frames, 1):
                movie.add(frame)
                share = _PREPARED + (_PAINTED - _PREPARED) * number / request.num_frames
                report.progress(f"painting {number} of {request.num_frames}", share)
            report.progress("encoding", _PAINTED)
        facts = {"width": width, "height": height, "frames": request.num_frames, "frame_rate": request.frame_rate}
        return {"video": OutputFile(path, "video/mp4", facts), "seed": job.seed, "prompt": prompt}


sketch = Sketch()


def described(scene: Scene) -> str:
    """A summary of the scene for the log.

    >>> described(scene_of("two red boats on a lake at sunset"))
    'Scene: water with hills, pines; sunset; 2 × boat (red).'
    >>> described(scene_of("a farm"))
    'Scene: green rows with hills, barn; day; no figures.'
    """
    behind = f" with {', '.join(scene.backdrops)}" if scene.backdrops else ""
    who = [
        f"{actor.count} × {actor.kind}{f' ({chr(44).join(actor.colours)})' if actor.colours else ''}"
        for actor in scene.actors
    ]
    # `rows-green` is one of several kinds of rows.
    ground = "no ground" if scene.ground == "none" else " ".join(reversed(scene.ground.split("-")))
    return f"Scene: {ground}{behind}; {scene.time}; {', '.join(who) or 'no figures'}."


def frames_of(painter: Painter, request: TextToVideo) -> Generator[av.VideoFrame, None, None]:
    """All frames in the order of the clip, painted on threads; only a few are in memory."""
    numbers = range(request.num_frames)

    def painted(number: int) -> av.VideoFrame:
        return yuv(painter.frame(number), request.frame_size)

    return in_order(painted, numbers[::-1] if request.reverse_video else numbers, name="sketch")
