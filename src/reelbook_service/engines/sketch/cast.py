"""Placement of figures: each actor gets a place, a size and a path."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from .figures import FIGURES, Figure, FigurePart, Kit, Pose, draw, show
from .land import NEARNESS, inside
from .light import mixed
from .noise import generator
from .stage import Stage, named
from .words import TABLE, Actor

_BRIDGE = 0.40
"""Where a bridge stands, as a share of the way from the horizon to the lower edge."""

_PLANES = {"heaven": 0.05, "backdrop": 0.25, "sky": 0.45, "water": NEARNESS, "bridge": NEARNESS, "ground": NEARNESS}
"""The nearness of each layer of figures."""

_BOB = {"sail": 0.012, "fly": 0.10, "drift": 0.05, "hover": 0.07, "swim": 0.06}
"""How far a gait rises and sinks, in heights of the figure."""


@dataclass(frozen=True, slots=True)
class Role:
    """One figure in the scene."""

    actor: Actor
    layer: str
    """`heaven`, `backdrop`, `sky`, `water`, `bridge` or `ground`: the planes between which it is painted."""
    parts: Sequence[FigurePart]
    shadow: Sequence[FigurePart]
    x: float
    y: float
    """Its position in the world at the middle of a five-second clip."""
    scale: float
    """Its height in pixels."""
    velocity: tuple[float, float]
    """In pixels per second."""
    phase: float

    def show(self, picture: Image.Image, stage: Stage, seconds: float) -> None:
        """Paint the figure at a time."""
        figure, deed, time = FIGURES[self.actor.kind], self.actor.deed, seconds * stage.scene.pace
        camera = stage.view(seconds, _PLANES[self.layer])
        scale = self.scale * camera.scale
        lift = _BOB.get(figure.gait, 0.0) * self.scale * math.sin(2 * math.pi * (0.21 * time + self.phase))
        hop = abs(math.sin(math.pi * (0.8 * time + self.phase))) * {"jump": 0.55, "dance": 0.12}.get(deed, 0.0)
        gone = time - 2.5 * stage.scene.pace  # Moving figures are at their place in the middle of a five-second clip.
        x, y = self.x + self.velocity[0] * gone, self.y + self.velocity[1] * gone
        # A figure that leaves on one side reappears on the other.
        if self.velocity[0]:
            room = self.scale * figure.number("width", 1) + 0.08 * stage.width + stage.margin_x
            x = (x + room) % (stage.width + 2 * room) - room
        x, y = stage.seen_at(camera, x, y - lift)
        pose = Pose(x, y, scale, mirrored=self.velocity[0] < 0, time=time)
        if self.layer == "water" and "spans" not in figure.options:
            show(picture, self.parts, replace(pose, squash=-0.55, alpha=0.3))
        show(picture, self.shadow, Pose(x, y, scale * figure.number("shadow"), squash=0.18, alpha=1 - 0.5 * hop))
        show(picture, self.parts, replace(pose, y=y - hop * scale))


def cast_role(stage: Stage, actor: Actor, index: int) -> Role:
    """The `index`-th figure of an actor."""
    figure, rng = FIGURES[actor.kind], generator(stage.seed, "role", actor.kind, index)
    layer = _choose_layer(stage, figure, actor)
    crowded = 1.0 if actor.count == 1 else max(0.34, 1.05 / actor.count**0.36)
    size = figure.number("size") * (1.0 if "spans" in figure.options else actor.size * crowded)
    x, y = _choose_position(stage, figure, actor, index, layer, size * stage.unit, rng)
    if layer == "bridge":
        size *= 0.62
    elif layer in ("ground", "water") and "spans" not in figure.options:
        alone, _, _, shrunk = _band(stage, figure, layer)
        size *= shrunk * stage.size_at(y) / stage.size_at(stage.row_y(alone))
    light = inside(stage) if layer == "ground" else stage.light
    if light.dark and layer != "heaven" and stage.scene.time != "space" and stage.scene.ground != "floor":
        # At night a figure keeps a little of its own colour, to be recognisable.
        light = replace(light, ambient=mixed(light.ambient, (0.72, 0.74, 0.84), 0.42))
    # Things on land and water fade into the haze the nearer they are to the horizon.
    down = (y - stage.horizon) / (0.72 * (stage.height - stage.horizon) + 1) if layer in ("ground", "water") else 0.9
    haze = 0.40 - 0.35 * min(1.0, max(0.0, down)) + 0.15 * ("fog" in stage.scene.weather)
    start, resting = index % max(1, len(actor.colours)), actor.deed == "rest"
    colours = tuple(named(word) for word in (*actor.colours[start:], *actor.colours[:start]))
    painted = size * stage.unit * (1 + abs(stage.scene.camera.zoom) * 0.6)
    kit = Kit(light, painted, colours, rng, haze, still=resting, season=stage.scene.season)
    velocity = (0.0, 0.0) if resting else _choose_velocity(stage, figure, actor, rng)
    parts = draw(actor.kind, kit)
    shadow = draw("shadow", kit) if layer == "ground" and "shadow" in figure.options else []
    return Role(actor, layer, parts, shadow, x, y, size * stage.unit, velocity, float(rng.uniform(0, 1)))


def _choose_layer(stage: Stage, figure: Figure, actor: Actor) -> str:
    ground = stage.scene.ground
    if figure.where in ("heaven", "backdrop"):
        return figure.where
    if actor.deed == "fly" or figure.where == "sky" or ground in ("none", "cloudsea"):
        return "sky"
    if ground == "seabed":
        return "ground" if figure.gait in ("stand", "walk") and figure.where != "under" else "sky"
    if (
        any(other.kind == "bridge" for other in stage.scene.actors)
        and figure.gait in ("walk", "roll")
        and actor.kind != "ball"
    ):
        return "bridge"
    wet = "calm" in TABLE["ground"][ground] if figure.where in ("water", "under") else ground == "water"
    return "water" if wet else "ground"


def _choose_position(
    stage: Stage, figure: Figure, actor: Actor, index: int, layer: str, tall: float, rng: np.random.Generator
) -> tuple[float, float]:
    count, height, horizon = actor.count, stage.height, stage.horizon
    if "spans" in figure.options:
        return stage.width / 2, stage.row_y(_BRIDGE) if actor.kind == "bridge" else horizon + 0.02 * height
    slot = (index + 0.5) / count + float(rng.uniform(-0.22, 0.22)) / count
    single = [other.kind for other in stage.scene.actors if other.count == 1]
    singles = [kind for kind in single if "spans" not in FIGURES[kind].options]
    middle, room = 0.5, 0.84 if count > 1 else 0.3
    if len(singles) > 1 and actor.kind in singles:
        # Side by side, not in the order of mention: left and right are random, from the seed of the stage.
        order = generator(stage.seed, "lanes", len(singles)).permutation(len(singles))
        place = (int(order[singles.index(actor.kind)]) + 0.5) / len(singles) - 0.5
        middle, room = 0.5 + place * min(0.74, 0.30 * len(singles)), 0.1
    x = (middle + (slot - 0.5) * room) * stage.width
    if layer in ("sky", "heaven"):
        low = min(horizon, 0.94 * height) - 0.04 * height
        spread = 0.25 if count > 1 else 0.05
        y = low * (0.66 if figure.gait == "drift" else 0.56) + float(rng.uniform(-spread, spread)) * low
        if figure.gait in ("drift", "hover", "fly"):
            # So low that its head stays in the picture when the camera zooms in.
            zoom = 0.0 if stage.scene.camera.breathing else max(0.0, stage.scene.camera.zoom)
            head = tall * (0.57 if figure.gait == "fly" else 1.04) + 0.05 * height
            y = max(y, head + min(horizon, height) * 0.7 * zoom / (1 + 0.7 * zoom))
        return x, y
    if layer == "bridge":
        return x, stage.row_y(_BRIDGE) - 0.93 * FIGURES["bridge"].number("size") * stage.unit
    alone, far, near, _ = _band(stage, figure, layer)
    if count == 1:
        return x, stage.row_y(alone + float(rng.uniform(-0.04, 0.04)))
    share = (index * 0.618 + float(rng.uniform(0, 0.2))) % 1
    return x, stage.row_y(far + (near - far) * share)


def _band(stage: Stage, figure: Figure, layer: str) -> Sequence[float]:
    """Where a figure may stand: alone, far and near as shares of the way to the lower edge, and its scale."""
    row = TABLE["ground"][stage.scene.ground]
    kind = "water" if layer == "water" else "road" if figure.where == "road" else "ground"
    band: Sequence[float] = row.get(kind) or TABLE["band"][kind]
    return band


def _choose_velocity(stage: Stage, figure: Figure, actor: Actor, rng: np.random.Generator) -> tuple[float, float]:
    speed = figure.number("speed") * stage.unit * (1 + 0.15 * float(rng.uniform(-1, 1)))
    if actor.heading in ("left", "right", "up", "down"):
        speed = max(speed, 0.05 * stage.unit)
    if actor.heading in ("up", "down"):
        return speed * 0.2, speed * (0.8 if actor.heading == "down" else -0.8)
    usual = 1.0 if generator(stage.seed, "direction", actor.kind).random() < 0.6 else -1.0
    return {"left": -1.0, "right": 1.0}.get(actor.heading, usual) * speed, 0.0
