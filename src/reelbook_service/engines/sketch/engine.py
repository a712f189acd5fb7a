"""The sketch engine: composes sky, land, water, figures and weather frame by frame, and renders them as an MP4."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import closing
from fractions import Fraction
from typing import Any

import av
import numpy as np
from PIL import Image, ImageChops, ImageFilter

from reelbook.models.text_to_video import TextToVideo

from ..protocol import EngineTask, OutputFile, Report
from ..video_writer import Movie, in_order, yuv
from ..write_provenance import WrittenProvenance
from .cast import Role, cast_role
from .figures import FIGURES
from .land import Water, backdrop, ground, reflect_in_street
from .noise import generator
from .sky import Sky, Weather
from .stage import Plane, Stage, built_stage, light_of, picture_of
from .words import TABLE, Actor, Scene, expanded, scene_of

_PREPARED, _PAINTED = 0.06, 0.98

CHUNK = 64
"""Frames whose colours belong together; later chunks drift away from the first one."""

_FIRST_PASS, _SECOND_PASS, _USUAL_STEPS = 0.8, 0.6, 8
"""The share of a pass's noise that each of its steps leaves, and how many steps the first one usually has."""


class Painter:
    """Paints the frames of a clip in any order: each depends only on its number."""

    def __init__(self, request: TextToVideo, scene: Scene, seed: int) -> None:
        light = light_of(scene, request.loras)
        self.stage = built_stage(scene, light, seed, request.frame_size, detailed=request.enable_detail_pass)
        self.rate = request.frame_rate
        self.finish = Finish(self.stage, request)
        self.layers: dict[str, list[Plane | Role]] = defaultdict(list)

    def prepare(self) -> Iterator[str]:
        """Paint everything that is painted only once; yields the name of each part when it is ready."""
        stage, scene = self.stage, self.stage.scene
        self.sky = Sky(stage)
        yield "sky"
        self.layers["soil"] = [*ground(stage)]
        yield scene.ground
        row = TABLE["ground"][scene.ground]
        self.water = Water(stage, row["calm"]) if "calm" in row else None
        self.is_wet = "rain" in scene.weather and scene.ground in ("street", "road", "roofs")
        for name in scene.backdrops:
            for item in backdrop(stage, name):
                layer = "behind" if item.nearness < 0.6 else "soil" if item.nearness < 0.9 else "front"
                self.layers[layer].append(item)
                yield name
        self.weather = Weather(stage)
        yield "weather"
        moving = [Actor(name) for name in scene.backdrops if name in FIGURES and FIGURES[name].where == "backdrop"]
        roles = []
        for actor in (*moving, *scene.actors):
            for index in range(actor.count):
                roles.append(cast_role(stage, actor, index))
                yield actor.kind
        for role in sorted(roles, key=lambda role: role.y):
            self.layers[role.layer].append(role)

    def frame(self, number: int) -> Image.Image:
        """One frame."""
        stage, seconds = self.stage, number / self.rate
        far = stage.view(seconds, 0)
        picture = self.sky.paint(seconds, far)
        self._show(picture, seconds, "heaven", "behind", "backdrop")
        if self.water:
            self.water.paint(picture, seconds, far, self.sky.sun_at()[0])
        self._show(picture, seconds, "soil")
        if self.is_wet:
            reflect_in_street(picture, stage, far)
        self.weather.among(picture, seconds)
        self._show(picture, seconds, "water", "bridge", "ground", "sky", "front")
        self.weather.over(picture, seconds)
        return self.finish.apply(picture, number)

    def _show(self, picture: Image.Image, seconds: float, *layers: str) -> None:
        """Paint the planes and the figures of some layers."""
        for layer in layers:
            for item in self.layers[layer]:
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
    'Scene: water, hills, pines; sunset; 2 × red boat.'
    """
    place = ", ".join((scene.ground, *scene.backdrops)).replace("none", "open sky")
    who = [f"{actor.count} × {' '.join((*actor.colours, actor.kind))}" for actor in scene.actors]
    return f"Scene: {place}; {scene.time}; {', '.join(who) or 'no figures'}."


def frames_of(painter: Painter, request: TextToVideo) -> Generator[av.VideoFrame, None, None]:
    """All frames in the order of the clip, painted on threads; only a few are in memory."""
    numbers = range(request.num_frames)

    def painted(number: int) -> av.VideoFrame:
        return yuv(painter.frame(number), request.frame_size)

    return in_order(painted, numbers[::-1] if request.reverse_video else numbers, name="sketch")


class Finish:
    """The last touch of every frame: light that wanders slowly, a vignette, grade, grain and tone curve."""

    def __init__(self, stage: Stage, request: TextToVideo) -> None:
        rng = generator("finish", stage.seed)
        self.size, self.rate = (stage.width, stage.height), request.frame_rate
        small = (max(2, stage.width // 8), max(2, stage.height // 8))  # Light has no detail.
        # How much lighter and warmer each chunk is than the first; AdaIN takes back its share of it.
        angle = rng.uniform(0, 2 * np.pi, 1 + (request.num_frames - 2) // CHUNK)
        self.drift = np.stack([np.cos(angle), np.sin(angle)], 1) * (1.1 * (1 - request.temporal_adain_factor))
        self.drift[0] = 0
        # Each step leaves a share of the noise of its pass: blotches of light after the first, grain after the second.
        unsettled = _FIRST_PASS**request.first_pass_num_inference_steps
        steps = request.second_pass_num_inference_steps - request.second_pass_skip_initial_steps
        x, y = np.linspace(-1, 1, small[0])[None], np.linspace(-1, 1, small[1])[:, None]
        fine = rng.standard_normal(small[::-1]) * _SECOND_PASS**steps
        self.base = 0.515 - 0.10 * np.clip(x * x + y * y - 0.5, 0, 2) + 0.03 * fine
        rough = Image.fromarray(rng.standard_normal((4, 6)).astype(np.float32)).resize(small, Image.Resampling.BICUBIC)
        self.blotches = np.asarray(rough) * 0.14 * unsettled
        grade = TABLE["grade"].get(stage.scene.grade)
        colour, *tint = grade["tint"] if isinstance(grade, dict) else (1.0, 1.0, 1.0, 1.0)
        colour *= 1 + 0.25 * (_FIRST_PASS**_USUAL_STEPS - unsettled)
        self.matrix = [
            tint[channel] * ((1 - colour) * part + colour * (channel == other))
            for channel in range(3)
            for other, part in enumerate((0.30, 0.59, 0.11, 0.0))
        ]
        self.is_detailed = request.enable_detail_pass
        # Dark and bright values are compressed towards middle grey.
        strength, values = 0.75 * request.tone_map_compression_ratio, (np.arange(256) / 255 - 0.5) * 4
        pull = 1 / (1 + np.exp(-4 * strength * (np.abs(values) - 1)))
        mapped = values * (1 - 0.8 * strength * pull) / 4 + 0.5
        self.curve = [int(value) for value in np.clip(mapped * 255 + 0.5, 0, 255)] * 3 if strength else None

    def apply(self, picture: Image.Image, number: int) -> Image.Image:
        """The finished frame."""
        picture = ImageChops.soft_light(picture, self._light(number)).convert("RGB", tuple(self.matrix))
        if self.is_detailed:
            picture = picture.filter(ImageFilter.UnsharpMask(1.4, 120, 0))
        return picture.point(self.curve) if self.curve else picture

    def _light(self, number: int) -> Image.Image:
        """The soft-light layer: mid-grey where neutral, else lighter, darker, warmer or cooler."""
        # Chunks blend over a few frames, so that no cut is seen.
        chunk = min(number // CHUNK, len(self.drift) - 1)
        share = min(1.0, (number - chunk * CHUNK) / 16)
        light, warmth = self.drift[max(0, chunk - 1)] * (1 - share) + self.drift[chunk] * share
        level = self.base + self.blotches * math.cos(2 * math.pi * number / self.rate / 7) + 0.04 * light
        warm = 0.035 * warmth
        small = picture_of(np.stack([level + warm, level, level - warm], 2))
        return small.resize(self.size, Image.Resampling.BILINEAR)
