"""The path of the camera over a picture, which it never leaves."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from .plan import CAMERA, SCENE, Act, Plan, Vector

CLOSEST = 0.6
"""The smallest share of the picture's sides that the view may shrink to."""

SOFTEST = 1.35
"""Maximum enlargement of the picture beyond its own pixels where blur is unwanted."""

SLIDES = frozenset({"pan", "tilt", "truck", "crane"})

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
    shift: Vector
    """The displacement of the nearest points relative to the farthest."""
    swell: float
    """The enlargement of the nearest points relative to the farthest."""
    turn: float
    """How far the camera has moved around the subject; warps the picture like perspective."""
    pull: float
    """How far the camera has pulled back, 0 to 1."""
    drift: Vector
    """The displacement of the subject itself."""


class Path:
    """The path of the camera through a clip."""

    def __init__(self, plan: Plan, centre: Vector, aspect: float, seconds: float, detail: float) -> None:
        """`detail` is the number of pixels of the picture per pixel of the clip, along a side."""
        self._plan, self._centre, self._aspect, self._seconds = plan, centre, aspect, seconds
        # A long strip can hardly be rotated before its ends leave the picture.
        self._max_turn = 0.35 / max(aspect, 1 / aspect)
        shake, draw = plan.amount("shake"), random.Random(plan.seed)
        self._reach, self._tremble = 0.011 * shake, min(0.008 * shake, self._max_turn / 4)
        # Incommensurate rates, so that the pattern does not visibly repeat.
        self._waves = [
            [(rate * draw.uniform(0.85, 1.15), draw.uniform(0, math.tau), share) for rate, share in _TREMOR]
            for _ in range(3)
        ]
        sideways = [act for act in plan.acts if _effect(act, "room")]
        self._room = max((_effect(act, "room") * act.amount for act in sideways), default=0.0)
        self._room_from = min((act.begin for act in sideways), default=0.0)
        self._restraint = 1.0
        closest = max(CLOSEST, 1 / (SOFTEST * max(1.0, detail))) if plan.sharp else CLOSEST
        nearest = max(self._closeness(step / 50) for step in range(51))
        self._restraint = min(1.0, -math.log(closest) / max(nearest, 1e-9))

    def at(self, share: float) -> CameraPose:
        """The pose at a share of the clip, 0 to 1."""
        seconds, bend = share * self._seconds, self._plan.bend
        ramp = ease(min(1.0, seconds / 1.2))
        roll = max(-self._max_turn, min(self._max_turn, self._sum(share, "roll")[2]))
        # The view is small enough for the maximum rotation and shake, not for the current ones.
        turned = abs(roll) + self._tremble * ramp
        wide = math.cos(turned) + math.sin(turned) / self._aspect
        high = math.cos(turned) + math.sin(turned) * self._aspect
        margin = self._reach * ramp
        scale = math.exp(-self._closeness(share)) * (1 - 2 * margin) / max(wide, high)
        x, y = self._anchor(share)
        shake_x, shake_y, tremor = (
            ramp * sum(part * math.sin(math.tau * rate * seconds + phase) for rate, phase, part in waves)
            for waves in self._waves
        )
        shift_x, shift_y, _ = self._sum(share, "shift")
        drift_x, drift_y, _ = self._sum(share, "drift")
        return CameraPose(
            seconds=seconds,
            ramp=ramp,
            scale=scale,
            centre=(
                x * (1 - scale * wide - 2 * margin) + self._reach * shake_x,
                y * (1 - scale * high - 2 * margin) + self._reach * shake_y,
            ),
            angle=roll + self._tremble * tremor,
            # Near points move against the camera, and more than far ones.
            shift=(-bend * shift_x, -bend * shift_y),
            swell=bend * self._sum(share, "swell")[2],
            turn=bend * self._sum(share, "turn")[0],
            pull=min(1.0, max(0.0, -self._sum(share, "closer")[2]) / CAMERA["zoom"]["closer"]),
            drift=(drift_x, drift_y),
        )

    def _closeness(self, share: float) -> float:
        """The closeness of the camera, as a logarithm, including the margin for sideways moves."""
        opened = ease(min(1.0, max(0.0, share - self._room_from) / 0.6))
        breath = 0.012 * self._plan.amount("breathe") * (1 - math.cos(share * self._seconds * math.tau / 4))
        return self._restraint * (max(0.0, self._sum(share, "closer")[2]) + self._room * opened + breath)

    def _anchor(self, share: float) -> Vector:
        """The fixed point of the picture while the view shrinks, each coordinate from -0.5 to 0.5."""
        # The target of the zooms: the place that the prompt names, otherwise the subject.
        target, slide = list(self._centre), [0.0, 0.0]
        for axis in (0, 1):
            place = 0.0
            for act in self._plan.acts:
                come = _come(act, share)
                if act.kind == "zoom" and any(act.toward):
                    target[axis] += (0.42 * act.toward[axis] - target[axis]) * come
                elif act.kind in SLIDES and (goal := 0.5 * act.toward[axis]):
                    slide[axis] += (goal - place) * come
                    place = goal
            slide[axis] = max(-0.5, min(0.5, slide[axis]))
        x, y = (at + aim * (1 - 2 * abs(at)) for at, aim in zip(slide, target, strict=True))
        return x, y

    def _sum(self, share: float, effect: str) -> tuple[float, float, float]:
        """The sum of one effect over all moves at a share of the clip: to the right, down, and along their sign."""
        x = y = along = 0.0
        for act in self._plan.acts:
            if size := _effect(act, effect) * act.amount * _come(act, share):
                x, y, along = x + size * act.toward[0], y + size * act.toward[1], along + size * act.sign
        return x, y, along


def _effect(act: Act, name: str) -> float:
    """What a move does at an amount of 1."""
    return float((CAMERA.get(act.kind) or SCENE.get(act.kind) or {}).get(name, 0.0))


def _come(act: Act, share: float) -> float:
    """How far a move has come at a share of the clip."""
    return ease(max(0.0, min(1.0, (share - act.begin) / (act.end - act.begin))))


def ease(part: float) -> float:
    """The distance covered by a motion with a soft start, constant speed and a soft stop.

    >>> [round(ease(part / 4), 3) for part in range(5)]
    [0.0, 0.126, 0.5, 0.874, 1.0]
    """
    if part > 0.5:
        return 1 - ease(1 - part)
    soft = 0.35
    step = min(1.0, part / soft)
    return (soft * step**3 * (1 - step / 2) + max(0.0, part - soft)) / (1 - soft)
