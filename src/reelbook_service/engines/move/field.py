"""Where each point of a frame comes from: near things move more than far ones, water ripples, borders stay."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from ..saliency import Saliency, blurred
from ..sketch.noise import SIZE, sampled
from .camera import CameraPose
from .plan import CAMERA, Plan

Map = NDArray[np.floating[Any]]

PULL = 0.4
"""How much the middle shrinks when the camera pulls back as far as possible."""


class Field:
    """The displacement of every point of a picture. It is soft and short, so that the picture never folds over itself."""

    def __init__(self, saliency: Saliency, plan: Plan, aspect: float) -> None:
        self._plan, self._aspect, self._centre = plan, aspect, middle_of(saliency)
        subject = saliency.importance.astype(np.float64)
        # The ground is nearer downwards, and things are as near as their lowest point.
        ground = np.clip(np.linspace(-0.5, 1, len(subject)), 0, 1)[:, None] ** 1.2 * np.ones_like(subject)
        hold = np.clip(2 * blurred(saliency.importance, 1) - 0.3, 0, 1)
        for row in range(len(subject) - 2, -1, -1):
            ground[row] += hold[row] * (ground[row + 1] - ground[row])
        self._near, self._subject = _softened(0.6 * ground + 0.4 * subject), _softened(subject)
        across, down = np.array(self._centre, np.float32)[:, None] + np.float32(0.5)
        self._pivot = float(sampled(self._near, across, down)[0])

    def origin(self, x: Map, y: Map, pose: CameraPose) -> tuple[Map, Map]:
        """The picture coordinates of points of the frame; coordinates run from -0.5 to 0.5."""
        cos, sin = math.cos(pose.angle), math.sin(pose.angle)
        seen_x = pose.centre[0] + pose.scale * (x * cos + y * sin / self._aspect)
        seen_y = pose.centre[1] + pose.scale * (y * cos - x * sin * self._aspect)
        dx, dy = self.moved(seen_x, seen_y, pose)
        return np.clip(seen_x - dx, -0.5, 0.5), np.clip(seen_y - dy, -0.5, 0.5)

    def moved(self, x: Map, y: Map, pose: CameraPose) -> tuple[Map, Map]:
        """Displacement of what is seen at points of the picture; its border moves only along itself."""
        u, v = (np.asarray(part + 0.5, np.float32) for part in (x, y))
        near, subject = sampled(self._near, u, v), sampled(self._subject, u, v)
        right, down, depth = x - self._centre[0], y - self._centre[1], near - self._pivot
        shift, drift, swell, turn = (pose.sums[effect] for effect in ("shift", "drift", "swell", "turn"))
        # Near points move against the camera, and more than far ones.
        dx = depth * (swell[2] * right - shift[0]) + turn[0] * right * right / 2 + drift[0] * subject
        dy = depth * (swell[2] * down - shift[1]) + turn[0] * right * down + drift[1] * subject
        time = pose.seconds * math.tau
        if size := 0.7 * pose.ramp * self._plan.amount("ripple"):
            # Water is low in the picture, and its waves are denser towards the horizon.
            low = size * np.clip((y + 0.1) / 0.35, 0, 1) * (1 - 0.85 * subject)
            phase = math.tau * 7 * np.sqrt(np.clip(y + 0.2, 0, 1))
            wave = np.sin(phase + 5 * x - 0.8 * time) + 0.6 * np.sin(1.5 * phase - 8 * x - 1.1 * time)
            dx, dy = dx + 0.0045 * low * wave, dy + 0.003 * low * np.cos(phase + 3 * x - 0.6 * time)
        if size := 0.7 * pose.ramp * self._plan.amount("sway"):
            loose = size * (0.25 + 0.75 * near) * np.clip(0.5 - y, 0, 1)
            gust = np.sin(0.33 * time - 6 * x + 2 * y) + 0.5 * np.sin(0.71 * time - 11 * x)
            dx, dy = dx + 0.016 * loose * gust, dy + 0.004 * loose * np.cos(0.5 * time - 9 * x)
        dx, dy = dx * (1 - (2 * x) ** 4), dy * (1 - (2 * y) ** 4)
        # Pulling back shrinks the middle and widens the margins.
        pull = PULL * min(1.0, max(0.0, -pose.sums["closer"][2]) / CAMERA["zoom"]["closer"]) / math.tau
        dx, dy = dx - pull * np.sin(math.tau * x), dy - pull * np.sin(math.tau * y)
        return dx, dy


def middle_of(saliency: Saliency) -> tuple[float, float]:
    """The centre of the subject, each coordinate from -0.3 to 0.3; 0 where nothing stands out."""
    x, y = (max(-0.3, min(0.3, part - 0.5)) for part in saliency.centre)
    return x, y


def _softened(chart: Map) -> Map:
    """The map from 0 to 1 without steep slopes, which would tear things: peaks keep their height and become wider.

    So near things move as one piece, and only the background around them is warped.
    """
    radius = max(1, max(chart.shape) // 12)
    coarse = Image.fromarray(np.rint(255 * np.clip(chart, 0, 1)).astype(np.uint8))
    soft = coarse.filter(ImageFilter.MaxFilter(2 * radius + 1)).filter(ImageFilter.GaussianBlur(radius))
    fine = np.asarray(soft.convert("F").resize((SIZE, SIZE), Image.Resampling.BICUBIC))
    fine = fine - fine.min()
    return np.asarray(fine / max(float(fine.max()), 1e-2), np.float32)
