"""The path of the camera over a picture, which it never leaves."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .read_prompt import MoveWish, Vector
from .shot_plan import Act, ShotPlan

CLOSEST = 0.6
"""The smallest share of the picture's sides that the view may shrink to."""

SOFTEST = 1.35
"""Maximum enlargement of the picture beyond its own pixels where blur is unwanted."""

# The effect of a move of amount 1. Closeness is a logarithm: 0.42 enlarges by half.
CLOSER: Mapping[str, float] = {"zoom": 0.42, "dolly": 0.34, "vertigo": 0.2}
SWELL: Mapping[str, float] = {"zoom": 0.06, "dolly": 0.26, "vertigo": -0.32}
ROOM: Mapping[str, float] = {"pan": 0.34, "tilt": 0.34, "truck": 0.34, "crane": 0.34, "orbit": 0.1, "drift": 0.04}
SHIFT: Mapping[str, float] = {"pan": 0.02, "tilt": 0.02, "truck": 0.05, "crane": 0.05, "orbit": 0.06}
TURN: Mapping[str, float] = {"orbit": 0.22}
ROLL: Mapping[str, float] = {"roll": 0.24}
DRIFT: Mapping[str, float] = {"drift": 0.13}

SLIDES = frozenset({"pan", "tilt", "truck", "crane"})


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

    def __init__(self, plan: ShotPlan, centre: Vector, aspect: float, seconds: float, detail: float) -> None:
        """`detail` is the number of pixels of the picture per pixel of the clip, along a side."""
        self._plan, self._centre, self._aspect, self._seconds = plan, centre, aspect, seconds
        # A long strip can hardly be rotated before its ends leave the picture.
        self._max_turn = 0.35 / max(aspect, 1 / aspect)
        self._swing = min(0.07 * plan.amount("swing"), self._max_turn / 2)
        shake = plan.amount("shake")
        self._shake = _Shake(plan.seed, 0.011 * shake, min(0.008 * shake, self._max_turn / 4))
        sideways = [act for act in plan.acts if act.wish.kind in ROOM]
        self._room = max((ROOM[act.wish.kind] * act.amount for act in sideways), default=0.0)
        self._room_from = min((act.begin for act in sideways), default=0.0)
        self._restraint = 1.0
        closest = max(CLOSEST, 1 / (SOFTEST * max(1.0, detail))) if plan.sharp else CLOSEST
        nearest = max(self._closeness(step / 50) for step in range(51))
        self._restraint = min(1.0, -math.log(closest) / max(nearest, 1e-9))

    def at(self, share: float) -> CameraPose:
        """The pose at a share of the clip, 0 to 1."""
        seconds = share * self._seconds
        ramp = ease(min(1.0, seconds / 1.2))
        roll = self._roll(share)
        # The view is small enough for the maximum rotation and shake, not for the current ones.
        turned = abs(roll) + (self._swing + self._shake.turn) * ramp
        wide = math.cos(turned) + math.sin(turned) / self._aspect
        high = math.cos(turned) + math.sin(turned) * self._aspect
        margin = self._shake.reach * ramp
        scale = math.exp(-self._closeness(share)) * (1 - 2 * margin) / max(wide, high)
        anchor_x, anchor_y = self._anchor(share)
        shake_x, shake_y, shake_turn = self._shake.at(seconds)
        return CameraPose(
            seconds=seconds,
            ramp=ramp,
            scale=scale,
            centre=(
                anchor_x * (1 - scale * wide - 2 * margin) + shake_x * ramp,
                anchor_y * (1 - scale * high - 2 * margin) + shake_y * ramp,
            ),
            angle=roll + (self._swing * math.sin(seconds * math.tau / 3.6) + shake_turn) * ramp,
            # Near points move against the camera, and more than far ones.
            shift=(
                -self._plan.bend * self._sum(share, SHIFT, _right),
                -self._plan.bend * self._sum(share, SHIFT, _down),
            ),
            swell=self._plan.bend * self._sum(share, SWELL, _sign),
            turn=self._plan.bend * self._sum(share, TURN, _right),
            pull=min(1.0, max(0.0, -self._sum(share, CLOSER, _sign)) / CLOSER["zoom"]),
            drift=(self._sum(share, DRIFT, _right), self._sum(share, DRIFT, _down)),
        )

    def _closeness(self, share: float) -> float:
        """The closeness of the camera, as a logarithm, including the margin for sideways moves."""
        opened = ease(min(1.0, max(0.0, share - self._room_from) / 0.6))
        breath = 0.012 * self._plan.amount("breathe") * (1 - math.cos(share * self._seconds * math.tau / 4))
        closer = max(0.0, self._sum(share, CLOSER, _sign))
        return self._restraint * (closer + self._room * opened + breath)

    def _anchor(self, share: float) -> Vector:
        """The fixed point of the picture while the view shrinks, each coordinate from -0.5 to 0.5."""
        x, y = self._aim(share)
        slide_x, slide_y = self._slide(share, _right), self._slide(share, _down)
        return slide_x + x * (1 - 2 * abs(slide_x)), slide_y + y * (1 - 2 * abs(slide_y))

    def _aim(self, share: float) -> Vector:
        """The target of the zooms: the place that the prompt names, otherwise the subject."""
        x, y = self._centre
        for act in self._plan.acts:
            if act.wish.kind == "zoom" and any(act.wish.toward):
                come = ease(_part(act, share))
                x += (0.42 * act.wish.toward[0] - x) * come
                y += (0.42 * act.wish.toward[1] - y) * come
        return x, y

    def _slide(self, share: float, along: Callable[[MoveWish], float]) -> float:
        """The position of the view within its margin, from -0.5 to 0.5."""
        place = now = 0.0
        for act in self._plan.acts:
            if act.wish.kind in SLIDES and (goal := 0.5 * along(act.wish)):
                now += (goal - place) * ease(_part(act, share))
                place = goal
        return max(-0.5, min(0.5, now))

    def _roll(self, share: float) -> float:
        return max(-self._max_turn, min(self._max_turn, self._sum(share, ROLL, _sign)))

    def _sum(self, share: float, effects: Mapping[str, float], component: Callable[[MoveWish], float]) -> float:
        """The sum of one effect over all moves, at a share of the clip."""
        return sum(
            effects[act.wish.kind] * act.amount * component(act.wish) * ease(_part(act, share))
            for act in self._plan.acts
            if act.wish.kind in effects
        )


def _right(wish: MoveWish) -> float:
    return wish.toward[0]


def _down(wish: MoveWish) -> float:
    return wish.toward[1]


def _sign(wish: MoveWish) -> float:
    return wish.sign


class _Shake:
    """Hand-held shake: slow sway with a slight tremor, within a given reach."""

    def __init__(self, seed: int, reach: float, turn: float) -> None:
        self.reach, self.turn = reach, turn
        draw = random.Random(seed)
        # Incommensurate rates, so that the pattern does not visibly repeat.
        self._waves = [
            [(rate * draw.uniform(0.85, 1.15), draw.uniform(0, math.tau), share) for rate, share in _TREMOR]
            for _ in range(3)
        ]

    def at(self, seconds: float) -> tuple[float, float, float]:
        """The displacement to the right, down and clockwise."""
        x, y, turn = (
            sum(share * math.sin(math.tau * rate * seconds + phase) for rate, phase, share in waves)
            for waves in self._waves
        )
        return self.reach * x, self.reach * y, self.turn * turn


_TREMOR = ((0.43, 0.45), (0.97, 0.3), (2.3, 0.17), (4.1, 0.08))
"""Oscillations per second, and their shares of the reach, which add up to one."""


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


def _part(act: Act, share: float) -> float:
    """The elapsed share of a move's own time."""
    return max(0.0, min(1.0, (share - act.begin) / (act.end - act.begin)))
