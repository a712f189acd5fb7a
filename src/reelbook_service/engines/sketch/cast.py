"""Placement of figures: each actor gets a place, a size and a path."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from .figures import FIGURES, Figure
from .figures.kit import Kit
from .grounds import NEARNESS
from .interiors import room_light
from .layers import seen_at
from .palette import Colour, Light, mixed, named
from .puppet import Part, Pose, show
from .scene import Actor
from .stage import Stage, view

_MIDDLE = 2.5
"""Moving figures are at their place after so many seconds, the middle of a five-second clip."""


@dataclass(frozen=True, slots=True)
class Role:
    """One figure in the scene."""

    figure: Figure
    parts: tuple[Part, ...]
    x: float
    y: float
    """Its position in the world at the middle of a five-second clip."""
    scale: float
    """Its height in pixels."""
    vx: float
    vy: float
    """Velocity in pixels per second."""
    nearness: float
    layer: str
    """`heaven`, `sky`, `water`, `bridge` or `ground`: the planes between which it is painted."""
    bob: float
    phase: float
    jump: float = 0.0
    turn: float = 0.0
    """Rotation in degrees per second."""
    growth: float = 0.0
    """Relative growth per second of a figure that approaches; negative if it moves away."""


def cast_role(stage: Stage, actor: Actor, index: int) -> Role:
    """The `index`-th figure of an actor."""
    figure = FIGURES[actor.kind]
    rng = stage.random("role", actor.kind, index)
    layer = _choose_layer(stage, figure, actor)
    x, y = _choose_position(stage, figure, actor, index, layer, rng)
    size = figure.size * actor.size * _crowd_scale(actor.count)
    if layer == "bridge":
        size *= 0.62
    elif layer in ("ground", "water") and actor.kind != "bridge":
        band = _band(stage, figure, layer)
        size *= band.scale * stage.size_at(y) / stage.size_at(_row_y(stage, band.alone))
    scale = size * stage.unit
    vx, vy = _choose_velocity(stage, figure, actor, rng)
    kit = Kit(
        light=_choose_light(stage, layer),
        scale=scale * (1 + max(0.0, abs(stage.scene.camera.zoom)) * 0.6),
        colours=_colours(actor, index),
        rng=rng,
        depth=_haze_depth(stage, y, layer),
        still=actor.heading == "stay" or actor.deed == "rest",
        season=stage.scene.season,
    )
    return Role(
        figure, tuple(figure.draw(kit)), x, y, scale, vx, vy,
        nearness=NEARNESS if layer in ("ground", "water", "bridge") else 0.45 if layer == "sky" else 0.05 if layer == "heaven" else 0.9,
        layer=layer,
        bob={"sail": 0.012, "fly": 0.10, "drift": 0.05, "hover": 0.07, "swim": 0.06}.get(figure.gait, 0.0),
        phase=float(rng.uniform(0, 1)),
        jump=0.55 if actor.deed == "jump" else 0.12 if actor.deed == "dance" else 0.0,
        turn=40.0 if actor.deed == "spin" and layer == "sky" else 0.0,
        growth={"near": 0.06, "away": -0.05}.get(actor.heading or "", 0.0),
    )  # fmt: skip


def show_role(picture: Image.Image, role: Role, stage: Stage, seconds: float) -> None:
    """Paint a figure at a time."""
    pace = stage.scene.pace
    time = seconds * pace
    camera = view(stage, seconds, role.nearness)
    x, y = _find_position(role, stage, time)
    scale = role.scale * camera.scale * max(0.3, 1 + role.growth * (seconds - _MIDDLE) * pace)
    lift = role.bob * role.scale * float(np.sin(2 * np.pi * (0.21 * time + role.phase)))
    hop = abs(float(np.sin(np.pi * (0.8 * time + role.phase)))) * role.jump * role.scale
    px, py = seen_at(stage, camera, x, y - lift)
    mirrored = role.vx < 0
    if role.layer == "water" and role.figure.draw is not FIGURES["bridge"].draw:
        _paint_reflection(picture, role, Pose(px, py, scale, mirrored, time=time))
    elif role.figure.shadow and role.layer == "ground":
        _paint_shadow(picture, px, py, scale * role.figure.shadow, 0.34 * (1 - 0.5 * min(1.0, hop / (role.scale + 1))))
    show(picture, role.parts, Pose(px, py - hop * camera.scale, scale, mirrored, turn=role.turn * time, time=time))


def _choose_layer(stage: Stage, figure: Figure, actor: Actor) -> str:
    ground = stage.scene.ground
    watery = ground in ("water", "river", "beach", "floe")
    if figure.where == "heaven":
        return "heaven"
    if actor.deed == "fly" or figure.where == "sky":
        return "sky"
    if ground == "seabed":
        return "ground" if figure.gait in ("stand", "walk") and figure.where != "under" else "sky"
    if ground in ("none", "cloudsea"):
        return "sky"
    if (
        figure.gait in ("walk", "roll")
        and actor.kind != "ball"
        and any(other.kind == "bridge" for other in stage.scene.actors)
    ):
        return "bridge"
    if figure.where in ("water", "under"):
        return "water" if watery else "ground"
    return "water" if ground == "water" else "ground"


def _choose_position(
    stage: Stage, figure: Figure, actor: Actor, index: int, layer: str, rng: np.random.Generator
) -> tuple[float, float]:
    count = actor.count
    slot = (index + 0.5) / count + float(rng.uniform(-0.22, 0.22)) / count
    middle, room = _lane(stage, actor)
    # Crowds of several kinds mix: the second kind fills the gaps of the first.
    crowds = [other.kind for other in stage.scene.actors if other.count > 1]
    if actor.kind in crowds and len(crowds) > 1:
        slot = (index + (crowds.index(actor.kind) + 0.5) / len(crowds)) / count
    x = (middle + (slot - 0.5) * room) * stage.width
    height, horizon = stage.height, stage.horizon
    if actor.kind == "rainbow":
        return stage.width / 2, horizon + 0.02 * height
    if layer in ("sky", "heaven"):
        low = min(horizon, 0.94 * height) - 0.04 * height
        middle = low * (0.56 if figure.gait != "drift" else 0.66)
        jitter = (rng.uniform(-0.5, 0.5) if count > 1 else rng.uniform(-0.1, 0.1)) * low * 0.5
        return x, max(float(middle + jitter), _ceiling(stage, figure, actor))
    if actor.kind == "bridge":
        return stage.width / 2, _row_y(stage, _BRIDGE)
    if layer == "bridge":
        return x, _deck_y(stage)
    band = _band(stage, figure, layer)
    if count == 1:
        return x, _row_y(stage, band.alone + float(rng.uniform(-0.04, 0.04)))
    share = (index * 0.618 + rng.uniform(0, 0.2)) % 1
    return x, _row_y(stage, band.far + (band.near - band.far) * share)


def _ceiling(stage: Stage, figure: Figure, actor: Actor) -> float:
    """The smallest y of a figure's origin at which its head stays in the picture when the camera zooms in."""
    if figure.gait not in ("drift", "hover", "fly"):
        return 0.0
    tall = figure.size * actor.size * _crowd_scale(actor.count) * stage.unit * (0.55 if figure.gait == "fly" else 1.0)
    near = 1 + max(0.0, stage.scene.camera.zoom) * 0.7 * (not stage.scene.camera.breathing)
    return min(stage.horizon, stage.height) * (1 - 1 / near) + 1.04 * tall + 0.05 * stage.height


def _lane(stage: Stage, actor: Actor) -> tuple[float, float]:
    """The centre and width of an actor's part of the picture: single figures are placed side by side."""
    side = {"left": 0.24, "right": 0.76, "middle": 0.5}.get(actor.side or "")
    if side is not None:
        return side, 0.3
    if actor.count > 1:
        return 0.5, 0.84
    singles = [
        other.kind
        for other in stage.scene.actors
        if other.count == 1 and other.side is None and other.kind not in _SPANNING
    ]
    if len(singles) < 2 or actor.kind not in singles:
        return 0.5, 0.3
    # Not in the order of mention: left and right are random, from the seed of the stage.
    order = stage.random("lanes", len(singles)).permutation(len(singles))
    breadth = min(0.74, 0.30 * len(singles))
    return 0.5 + ((int(order[singles.index(actor.kind)]) + 0.5) / len(singles) - 0.5) * breadth, 0.1


def _deck_y(stage: Stage) -> float:
    """The y of the bridge's deck."""
    index = next(index for index, actor in enumerate(stage.scene.actors) if actor.kind == "bridge")
    foot = _row_y(stage, _BRIDGE)
    return foot - 0.93 * FIGURES["bridge"].size * stage.scene.actors[index].size * stage.unit


_BRIDGE = 0.40
_SPANNING = frozenset({"rainbow", "bridge"})


@dataclass(frozen=True, slots=True)
class _Band:
    """The strip of ground for a figure, as fractions of the distance from the horizon to the lower edge."""

    alone: float = 0.62
    far: float = 0.4
    near: float = 0.84
    scale: float = 1.0


def _band(stage: Stage, figure: Figure, layer: str) -> _Band:
    ground = stage.scene.ground
    if layer == "water":
        return {
            "river": _Band(0.36, 0.28, 0.46, 0.8),
            "beach": _Band(0.2, 0.12, 0.3, 0.62),
            "floe": _Band(0.2, 0.12, 0.3, 0.7),
        }.get(ground, _Band(0.5, 0.2, 0.8))
    if figure.where == "road":
        return _ROADS.get(ground, _Band(0.62, 0.5, 0.85))
    if ground == "street" and any(FIGURES[actor.kind].where == "road" for actor in stage.scene.actors):
        return _Band(0.24, 0.14, 0.24, 0.72)
    return _GROUNDS.get(ground, _Band())


_ROADS = {
    "street": _Band(0.6, 0.45, 0.86), "road": _Band(0.62, 0.4, 0.64), "rails": _Band(0.445, 0.445, 0.45, 1.15), "park": _Band(0.56, 0.5, 0.6),
}  # fmt: skip
_GROUNDS = {
    "beach": _Band(0.8, 0.66, 0.94), "floe": _Band(0.74, 0.62, 0.92), "river": _Band(0.86, 0.8, 0.95), "street": _Band(0.8, 0.5, 0.92), "park": _Band(0.6, 0.5, 0.9),
    "floor": _Band(0.42, 0.25, 0.62), "stage": _Band(0.6, 0.4, 0.8), "seabed": _Band(0.5, 0.3, 0.8), "rails": _Band(0.8, 0.68, 0.9),
    "road": _Band(0.84, 0.78, 0.94), "roofs": _Band(0.5, 0.4, 0.6),
}  # fmt: skip


def _row_y(stage: Stage, share: float) -> float:
    return stage.horizon + share * (stage.height - stage.horizon)


def _crowd_scale(count: int) -> float:
    return 1.0 if count == 1 else max(0.34, 1.05 / count**0.36)


def _choose_velocity(stage: Stage, figure: Figure, actor: Actor, rng: np.random.Generator) -> tuple[float, float]:
    if actor.heading == "stay" or actor.deed == "rest":
        return 0.0, 0.0
    speed = figure.speed * stage.unit * (1 + 0.15 * float(rng.uniform(-1, 1)))
    if actor.heading in ("left", "right", "up", "down"):
        speed = max(speed, 0.05 * stage.unit)
    vertical = {"up": -0.8, "down": 0.8}.get(actor.heading or "", 0.0)
    if vertical:
        return speed * 0.2, speed * vertical
    direction = {"left": -1.0, "right": 1.0}.get(actor.heading or "")
    if direction is None:
        direction = 1.0 if stage.random("direction", actor.kind).random() < 0.6 else -1.0
    return direction * speed, 0.0


def _find_position(role: Role, stage: Stage, time: float) -> tuple[float, float]:
    """The position of a figure at a time; one that leaves on one side reappears on the other."""
    room = role.scale * role.figure.width + 0.08 * stage.width
    middle = _MIDDLE * stage.scene.pace
    x, y = role.x + role.vx * (time - middle), role.y + role.vy * (time - middle)
    low, high = -room - stage.margin_x, stage.width + room + stage.margin_x
    if role.vx:
        x = low + (x - low) % (high - low)
    if role.vy:
        top, bottom = -0.2 * stage.height - role.scale, max(stage.horizon, 0.7 * stage.height) + role.scale
        y = top + (y - top) % (bottom - top)
    return x, y


def _choose_light(stage: Stage, layer: str) -> Light:
    light = stage.light
    if stage.scene.ground == "floor" and layer == "ground":
        return replace(light, ambient=room_light(stage), haze=room_light(stage))
    if not light.dark or stage.scene.time in ("space", "stage"):
        return light
    # At night a figure keeps a little of its own colour, to be recognisable.
    return replace(light, ambient=mixed(light.ambient, (0.72, 0.74, 0.84), 0.42))


def _haze_depth(stage: Stage, y: float, layer: str) -> float:
    fog = 0.16 * stage.scene.weather.fog
    if layer in ("ground", "water"):
        far = 1 - min(1.0, max(0.0, (y - stage.horizon) / (0.72 * (stage.height - stage.horizon) + 1)))
        return min(0.7, 0.05 + 0.35 * far + fog)
    return 0.08 + fog * 0.8


def _colours(actor: Actor, index: int) -> tuple[Colour, ...]:
    if not actor.colours:
        return ()
    start = index % len(actor.colours)
    return tuple(named(word) for word in (*actor.colours[start:], *actor.colours[:start]))


def _paint_reflection(picture: Image.Image, role: Role, pose: Pose) -> None:
    show(picture, role.parts, replace(pose, squash=-0.55, alpha=0.3))


def _paint_shadow(picture: Image.Image, x: float, y: float, width: float, strength: float) -> None:
    """A soft dark patch on the ground."""
    half, high = max(2.0, width / 2), max(1.0, width / 11)
    left, top = int(x - half) - 1, int(y - high) - 1
    columns = (np.arange(int(2 * half) + 3) + left - x) / half
    rows = (np.arange(int(2 * high) + 3) + top - y)[:, None] / high
    fall = np.clip(1 - columns**2 - rows**2, 0, 1) * strength * 255
    picture.paste((18, 20, 34), (left, top), Image.fromarray(fall.astype(np.uint8), "L"))
