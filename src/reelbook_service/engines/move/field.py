"""Displacement of the points of a picture: near objects move more than far ones, water ripples, borders stay fixed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..saliency import Saliency, blurred
from .camera import CameraPose
from .plan import Plan

Map = NDArray[np.floating[Any]]

ROUNDS = 6
"""Iterations of the inverse search for the point that moved to a given place; each nearly halves the error."""

MAX = 0.55
"""Maximum strain, the stretching or squeezing by the displacement; at 1 the picture would fold over itself."""

PULL = 0.5
"""How much the middle shrinks when the camera pulls back as far as possible."""


@dataclass(frozen=True, slots=True)
class Relief:
    """Estimated depth and subject of a picture; both maps run from 0 to 1."""

    near: Map
    """1 is nearest."""
    subject: Map
    """1 where the subject of the picture is."""
    centre: tuple[float, float]
    """The centre of the subject, each coordinate from -0.5 to 0.5."""


def relief_of(saliency: Saliency) -> Relief:
    """The depth of a picture: the ground is nearer downwards, and objects are as near as their lowest point."""
    subject = saliency.importance.astype(np.float64)
    ground = np.clip(np.linspace(-0.5, 1, len(subject)), 0, 1)[:, None] ** 1.2 * np.ones_like(subject)
    hold = np.clip(2 * blurred(saliency.importance, 1) - 0.3, 0, 1)
    for row in range(len(subject) - 2, -1, -1):
        ground[row] += hold[row] * (ground[row + 1] - ground[row])
    weight = subject**2 / max(float((subject**2).sum()), 1e-6)
    y, x = (
        float((weight.sum(1 - axis) * (np.arange(side) + 0.5)).sum()) / side - 0.5
        for axis, side in enumerate(subject.shape)
    )
    centre = (max(-0.3, min(0.3, x)), max(-0.3, min(0.3, y))) if saliency.boxes else (0.0, 0.0)
    return Relief(_softened(0.6 * ground + 0.4 * subject), _softened(subject), centre)


def _softened(chart: Map) -> Map:
    """The map from 0 to 1 without steep slopes, which would tear objects: peaks keep their height and become wider.

    So near objects move as one piece, and only the background around them is warped.
    """
    radius = max(1, max(chart.shape) // 12)
    reach = radius + radius // 2
    for axis in (0, 1):
        ends = [(reach, reach) if axis == at else (0, 0) for at in (0, 1)]
        padded = np.pad(chart, ends, mode="edge")
        chart = np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1, axis=axis).max(axis=-1)
    for _ in range(3):
        chart = blurred(chart, radius)
    chart = chart - chart.min()
    return np.asarray(chart / max(float(chart.max()), 1e-4))


def value_at(chart: Map, x: Map, y: Map) -> Map:
    """The values of a map at points of the picture, each coordinate from -0.5 to 0.5."""
    rows, columns = chart.shape
    across = np.clip((x + 0.5) * columns - 0.5, 0, columns - 1)
    down = np.clip((y + 0.5) * rows - 0.5, 0, rows - 1)
    left, top = np.floor(across).astype(int), np.floor(down).astype(int)
    right, bottom = np.minimum(left + 1, columns - 1), np.minimum(top + 1, rows - 1)
    u, v = across - left, down - top
    above = chart[top, left] * (1 - u) + chart[top, right] * u
    below = chart[bottom, left] * (1 - u) + chart[bottom, right] * u
    return np.asarray(above * (1 - v) + below * v)


class Field:
    """The displacement of every point of a picture, for a clip with the given poses."""

    def __init__(self, relief: Relief, plan: Plan, aspect: float, poses: Sequence[CameraPose]) -> None:
        self._relief, self._plan, self._aspect = relief, plan, aspect
        self._pivot = float(value_at(relief.near, np.array(relief.centre[0]), np.array(relief.centre[1])))
        self._pulls = _pull(relief.subject.mean(axis=0)), _pull(relief.subject.mean(axis=1))
        self._restraint = 1.0
        self._restraint = min(1.0, MAX / max(self._strain(pose) for pose in poses))

    def origin(self, x: Map, y: Map, pose: CameraPose) -> tuple[Map, Map]:
        """The picture coordinates of points of the frame; coordinates run from -0.5 to 0.5."""
        cos, sin = math.cos(pose.angle), math.sin(pose.angle)
        seen_x = pose.centre[0] + pose.scale * (x * cos + y * sin / self._aspect)
        seen_y = pose.centre[1] + pose.scale * (y * cos - x * sin * self._aspect)
        from_x, from_y = seen_x, seen_y
        for _ in range(ROUNDS):
            dx, dy = self.moved(from_x, from_y, pose)
            from_x, from_y = np.clip(seen_x - dx, -0.5, 0.5), np.clip(seen_y - dy, -0.5, 0.5)
        return from_x, from_y

    def moved(self, x: Map, y: Map, pose: CameraPose) -> tuple[Map, Map]:
        """Displacement of points of the picture; those on its border move only along it, so it covers the frame."""
        near, subject = value_at(self._relief.near, x, y), value_at(self._relief.subject, x, y)
        right, down = x - self._relief.centre[0], y - self._relief.centre[1]
        depth = near - self._pivot
        dx = depth * (pose.shift[0] + pose.swell * right) + pose.turn * right * right / 2 + pose.drift[0] * subject
        dy = depth * (pose.shift[1] + pose.swell * down) + pose.turn * right * down + pose.drift[1] * subject
        time, bend = pose.seconds * math.tau, self._plan.bend * pose.ramp
        if size := bend * self._plan.amount("ripple"):
            # Water is low in the picture, and its waves are denser towards the horizon.
            low = size * np.clip((y + 0.1) / 0.35, 0, 1) * (1 - 0.85 * subject)
            phase = math.tau * 7 * np.sqrt(np.clip(y + 0.2, 0, 1))
            wave = np.sin(phase + 5 * x - 0.8 * time) + 0.6 * np.sin(1.5 * phase - 8 * x - 1.1 * time)
            dx, dy = dx + 0.0045 * low * wave, dy + 0.003 * low * np.cos(phase + 3 * x - 0.6 * time)
        if size := bend * self._plan.amount("sway"):
            loose = size * (0.25 + 0.75 * near) * np.clip(0.5 - y, 0, 1)
            gust = np.sin(0.33 * time - 6 * x + 2 * y) + 0.5 * np.sin(0.71 * time - 11 * x)
            gust = gust + 0.25 * np.sin(1.3 * time + 17 * x)
            dx, dy = dx + 0.016 * loose * gust, dy + 0.004 * loose * np.cos(0.5 * time - 9 * x)
        if size := bend * self._plan.amount("breathe"):
            deep = 0.035 * size * subject * (1 - math.cos(0.25 * time))
            dx, dy = dx + deep * right, dy + deep * down
        if size := bend * self._plan.amount("bob"):
            dx = dx + 0.008 * size * subject * math.sin(0.21 * time)
            dy = dy + 0.03 * size * subject * math.sin(0.36 * time)
        dx, dy = dx * (1 - (2 * x) ** 4), dy * (1 - (2 * y) ** 4)
        if pose.pull:
            dx, dy = dx + pose.pull * np.interp(x, *self._pulls[0]), dy + pose.pull * np.interp(y, *self._pulls[1])
        return self._restraint * dx, self._restraint * dy

    def _strain(self, pose: CameraPose) -> float:
        """The maximum stretching or squeezing of the picture."""
        side = np.linspace(-0.5, 0.5, 41)
        dx, dy = self.moved(*np.meshgrid(side, side), pose)
        (x_down, x_right), (y_down, y_right) = np.gradient(dx, side, side), np.gradient(dy, side, side)
        # Pure shear, such as a wave, never folds: each direction must also act back on the other.
        strain = np.maximum(abs(x_right), abs(y_down)) + np.sqrt(abs(x_down * y_right))
        return max(float(strain.max()), 1e-9)


def _pull(profile: Map) -> tuple[Map, Map]:
    """Positions along a side, and their displacement when the middle, and the subject most, shrinks for the margins."""
    places = np.linspace(-0.5, 0.5, len(profile) + 1)
    out = np.clip((0.5 - abs(places[1:] + places[:-1]) / 2) / 0.3, 0, 1)
    middle = out * out * (3 - 2 * out)
    lengths = 1 - PULL * middle * (0.7 + 0.3 * profile / max(float(profile.max()), 1e-6))
    ends = np.concatenate([[0.0], np.cumsum(lengths)]) / lengths.sum() - 0.5
    return places, ends - places
