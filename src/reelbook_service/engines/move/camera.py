"""The path of the camera over a picture, which it never leaves."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass

from .plan import Act, Plan, Vector

CLOSEST = 0.6
"""The smallest share of the picture's sides that the view may shrink to."""

SOFTEST = 1.35
"""Maximum enlargement of the picture beyond its own pixels, which would look blurred."""

OVERLAP = 0.06
"""How far two steps overlap, as a share of the clip, so that the camera never stops abruptly."""

EFFECTS = ("closer", "roll", "shift", "swell", "turn", "drift")
"""What moves do, as in `moves.toml`."""

_TREMOR = ((0.43, 0.5), (0.97, 0.3), (2.3, 0.2))
"""Oscillations of a hand-held camera per second, and their shares of its reach, which add up to one."""


@dataclass(frozen=True, slots=True)
class CameraPose:
    """The camera pose at one moment. Lengths are shares of the picture's sides, angles are in radians."""

    seconds: float
    ramp: float
    """0 at the first frame, 1 after about a second: oscillations begin softly."""
    scale: float
    """The view's side as a share of the picture's."""
    centre: Vector
    """The centre of the view."""
    angle: float
    """The clockwise rotation of the visible picture."""
    sums: Mapping[str, tuple[float, float, float]]
    """Each of the `EFFECTS` over all moves: to the right, down, and along their sign."""


class Path:
    """The path of the camera through a clip."""

    def __init__(self, plan: Plan, centre: Vector, aspect: float, seconds: float, detail: float) -> None:
        """`detail` is the number of pixels of the picture per pixel of the clip, along a side."""
        self._plan, self._aspect, self._seconds = plan, aspect, seconds
        self._steps = 1 + max((act.step for act in plan.acts), default=0)
        # A long strip can hardly be rotated before its ends leave the picture.
        self._max_turn = 0.35 / max(aspect, 1 / aspect)
        self._reach, draw = 0.012 * plan.amount("shake"), random.Random(plan.seed)
        self._phases = [[draw.uniform(0, math.tau) for _ in _TREMOR] for _ in range(2)]
        aims = [act.toward for act in plan.acts if act.kind == "zoom" and any(act.toward)]
        self._target = (0.42 * aims[0][0], 0.42 * aims[0][1]) if aims else centre
        self._room = plan.strength * max((act.effect("room") * act.vigour for act in plan.acts), default=0.0)
        closest = max(CLOSEST, 1 / (SOFTEST * max(1.0, detail)))
        nearest = self._room + plan.strength * sum(
            act.effect("closer") * act.vigour for act in plan.acts if act.sign > 0
        )
        self._restraint = min(1.0, -math.log(closest) / max(nearest, 1e-9))

    def at(self, share: float) -> CameraPose:
        """The pose at a share of the clip, 0 to 1."""
        seconds = share * self._seconds
        ramp, sums = ease(min(1.0, seconds / 1.2)), {effect: self._sum(share, effect) for effect in EFFECTS}
        roll = max(-self._max_turn, min(self._max_turn, sums["roll"][2]))
        # The view is small enough for the rotation, and for the largest shake.
        margin = self._reach * ramp
        wide = math.cos(roll) + math.sin(abs(roll)) / self._aspect
        high = math.cos(roll) + math.sin(abs(roll)) * self._aspect
        scale = math.exp(-self._closeness(share)) * (1 - 2 * margin) / max(wide, high)
        x, y = self._anchor(share)
        shake_x, shake_y = (
            margin * sum(part * math.sin(math.tau * rate * seconds + phase) for (rate, part), phase in waves)
            for waves in (zip(_TREMOR, phases, strict=True) for phases in self._phases)
        )
        centre = x * (1 - scale * wide - 2 * margin) + shake_x, y * (1 - scale * high - 2 * margin) + shake_y
        return CameraPose(seconds, ramp, scale, centre, roll, sums)

    def _closeness(self, share: float) -> float:
        """The closeness of the camera, as a logarithm, including the margin for sideways moves."""
        room = self._room * ease(min(1.0, share / 0.6))
        return self._restraint * (max(0.0, self._sum(share, "closer")[2]) + room)

    def _anchor(self, share: float) -> Vector:
        """The fixed point of the picture while the view shrinks, each coordinate from -0.5 to 0.5."""
        slide = [0.0, 0.0]
        for axis in (0, 1):
            place = 0.0
            for act in self._plan.acts:
                if act.kind not in ("zoom", "orbit", "drift") and (goal := 0.5 * act.toward[axis]):
                    slide[axis] += (goal - place) * self._come(act, share)
                    place = goal
        x, y = (at + aim * (1 - 2 * abs(at)) for at, aim in zip(slide, self._target, strict=True))
        return x, y

    def _sum(self, share: float, effect: str) -> tuple[float, float, float]:
        """The sum of one effect over all moves at a share of the clip: to the right, down, and along their sign."""
        x = y = along = 0.0
        for act in self._plan.acts:
            size = act.effect(effect) * self._plan.strength * act.vigour * self._come(act, share)
            x, y, along = x + size * act.toward[0], y + size * act.toward[1], along + size * act.sign
        return x, y, along

    def _come(self, act: Act, share: float) -> float:
        """How far a move has come at a share of the clip, which its steps share between them."""
        begin = 0.5 - OVERLAP if act.step else 0.0
        end = 0.5 + OVERLAP if act.step + 1 < self._steps else 1.0
        return ease(max(0.0, min(1.0, (share - begin) / (end - begin))))


def ease(part: float) -> float:
    """The distance covered by a motion with a soft start and a soft stop.

    >>> [ease(part / 4) for part in range(5)]
    [0.0, 0.15625, 0.5, 0.84375, 1.0]
    """
    return part * part * (3 - 2 * part)
