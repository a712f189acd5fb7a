"""Displacement of the points of a picture: near objects move more than far ones, water ripples, borders stay fixed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .depth import Map, PictureDepth
from .path import CameraPose
from .shot_plan import ShotPlan

PointGrid = NDArray[np.float64]

ROUNDS = 6
"""Iterations of the inverse search for the point that moved to a given place; each nearly halves the error."""

MAX = 0.55
"""Maximum strain, the stretching or squeezing by the displacement; at 1 the picture would fold over itself."""

PULL = 0.5
"""How much the middle shrinks when the camera pulls back as far as possible."""


class Field:
    """The displacement of every point of a scene, for a clip with the given poses."""

    def __init__(self, scene: PictureDepth, plan: ShotPlan, aspect: float, poses: Sequence[CameraPose]) -> None:
        self._scene, self._plan, self._aspect = scene, plan, aspect
        self._pivot = float(scene.at(scene.near, np.array(scene.centre[0]), np.array(scene.centre[1])))
        self._pulls = (
            _pull(scene.subject.mean(axis=0)),
            _pull(scene.subject.mean(axis=1)),
        )
        self._restraint = 1.0
        self._restraint = min(1.0, MAX / max(self._strain(pose) for pose in poses))

    @property
    def waves(self) -> bool:
        """Whether there are waves, which need a mesh with low cells."""
        return any(self._plan.amount(kind) for kind in ("ripple", "heat"))

    def origin(self, x: PointGrid, y: PointGrid, pose: CameraPose) -> tuple[PointGrid, PointGrid]:
        """The picture coordinates of points of the frame; coordinates run from -0.5 to 0.5."""
        cos, sin = math.cos(pose.angle), math.sin(pose.angle)
        seen_x = pose.centre[0] + pose.scale * (x * cos + y * sin / self._aspect)
        seen_y = pose.centre[1] + pose.scale * (y * cos - x * sin * self._aspect)
        from_x, from_y = seen_x, seen_y
        for _ in range(ROUNDS):
            dx, dy = self.moved(from_x, from_y, pose)
            from_x, from_y = np.clip(seen_x - dx, -0.5, 0.5), np.clip(seen_y - dy, -0.5, 0.5)
        return from_x, from_y

    def moved(self, x: PointGrid, y: PointGrid, pose: CameraPose) -> tuple[PointGrid, PointGrid]:
        """Displacement of points of the picture; those on its border move only along it, so it covers the frame."""
        near, subject = self._scene.at(self._scene.near, x, y), self._scene.at(self._scene.subject, x, y)
        right, down = x - self._scene.centre[0], y - self._scene.centre[1]
        depth = near - self._pivot
        dx = depth * (pose.shift[0] + pose.swell * right) + pose.turn * right * right / 2
        dy = depth * (pose.shift[1] + pose.swell * down) + pose.turn * right * down
        dx, dy = dx + pose.drift[0] * subject, dy + pose.drift[1] * subject
        for local_x, local_y in self._local_displacements(x, y, near, subject, pose):
            dx, dy = dx + self._plan.bend * pose.ramp * local_x, dy + self._plan.bend * pose.ramp * local_y
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

    def _local_displacements(
        self, x: PointGrid, y: PointGrid, near: PointGrid, subject: PointGrid, pose: CameraPose
    ) -> list[tuple[PointGrid, PointGrid]]:
        """The displacements by wind, water and the like at a moment."""
        time, amount = pose.seconds * math.tau, self._plan.amount
        effects = []
        if size := amount("ripple"):
            # Water is low in the picture, and its waves are denser towards the horizon.
            low = np.clip((y + 0.1) / 0.35, 0, 1) * (1 - 0.85 * subject)
            phase = math.tau * 7 * np.sqrt(np.clip(y + 0.2, 0, 1))
            wave = np.sin(phase + 5 * x - 0.8 * time) + 0.6 * np.sin(1.5 * phase - 8 * x - 1.1 * time)
            effects.append((0.0045 * size * low * wave, 0.003 * size * low * np.cos(phase + 3 * x - 0.6 * time)))
        if size := amount("sway"):
            loose = (0.25 + 0.75 * near) * np.clip(0.5 - y, 0, 1)
            gust = (
                np.sin(0.33 * time - 6 * x + 2 * y)
                + 0.5 * np.sin(0.71 * time - 11 * x)
                + 0.25 * np.sin(1.3 * time + 17 * x)
            )
            effects.append((0.016 * size * loose * gust, 0.004 * size * loose * np.cos(0.5 * time - 9 * x)))
        if size := amount("bob"):
            effects.append((0.008 * size * subject * np.sin(0.21 * time), 0.03 * size * subject * np.sin(0.36 * time)))
        if size := amount("breathe"):
            deep = 0.07 * size * subject * (1 - math.cos(0.25 * time)) / 2
            effects.append((deep * (x - self._scene.centre[0]), deep * (y - self._scene.centre[1])))
        if size := amount("heat"):
            wave = np.sin(math.tau * 7 * y + 6 * x + 1.4 * time) + 0.5 * np.sin(math.tau * 10 * y - 9 * x + 2.1 * time)
            effects.append((0.002 * size * wave, 0.001 * size * wave))
        return effects


def _pull(profile: Map) -> tuple[PointGrid, PointGrid]:
    """Positions along a side, and their displacement when the middle, and the subject most, shrinks for the margins."""
    places = np.linspace(-0.5, 0.5, len(profile) + 1)
    out = np.clip((0.5 - abs(places[1:] + places[:-1]) / 2) / 0.3, 0, 1)
    middle = out * out * (3 - 2 * out)
    lengths = 1 - PULL * middle * (0.7 + 0.3 * profile / max(float(profile.max()), 1e-6))
    ends = np.concatenate([[0.0], np.cumsum(lengths)]) / lengths.sum() - 0.5
    return places, ends - places
