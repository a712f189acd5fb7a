"""Metrics of consecutive frames: amount of change, motion, smoothness and flicker."""

from __future__ import annotations

import numpy as np

from .gauge import Mean, Value
from .measured_frames import Frame, MeasuredFile, Pixels, Plane
from .optical_flow import flow, halve, mean_length
from .pixel_statistics import mean, mean_difference

LEVELS = 255.0
FLOWS_PER_SECOND = 8
"""How often the flow is measured; between frames this far apart, slow motion exceeds the noise."""


class Motion:
    """Amount of change: the mean absolute difference of consecutive frames in luma, times the frames per second.

    The same scene therefore has the same figure at 12 and at 24 frames per second, as long as it moves steadily.
    """

    def __init__(self) -> None:
        self._last: Plane | None = None
        self._mean = Mean()

    def update(self, frame: Frame, reference: Frame | None) -> None:
        if self._last is not None:
            self._mean.add(_mean_absolute(frame.luma - self._last))
        self._last = frame.luma

    def value(self, film: MeasuredFile) -> Value:
        change = self._mean.value
        return None if change is None or film.rate is None else change * film.rate


class TemporalFlickering:
    """Absence of flicker: (255 − MAE) / 255, where 1 is a still.

    MAE is the mean absolute difference of consecutive frames over all pixels and colours at full size, averaged over
    the film. The formula is VBench's temporal flickering (Huang et al., "VBench: Comprehensive benchmark suite for
    video generative models", CVPR 2024). VBench first leaves out the films that are not static, by their optical
    flow; nothing is left out here, so that in a film with motion the motion counts as flicker. Compare films of
    like motion, or of still scenes.
    """

    def __init__(self) -> None:
        self._last: Pixels | None = None
        self._mean = Mean()

    def update(self, frame: Frame, reference: Frame | None) -> None:
        if self._last is not None:
            self._mean.add(mean_difference(frame.whole, self._last))
        self._last = frame.whole

    def value(self, film: MeasuredFile) -> Value:
        error = self._mean.value
        return None if error is None else (LEVELS - error) / LEVELS


class MotionSmoothness:
    """How well each frame is predicted by its neighbours: (255 − MAE) / 255, where 1 is perfect.

    MAE is the mean absolute difference between a frame and the mean of the one before and the one after, in luma,
    averaged over the film. VBench's motion smoothness has the same form, with frames that a network for
    interpolation (AMT) generates in place of the mean. The mean cannot move things, so fast motion scores lower than
    with VBench however even it is: the direction is the same among films of similar speed, the scale is not.
    """

    def __init__(self) -> None:
        self._before: Plane | None = None
        self._last: Plane | None = None
        self._mean = Mean()

    def update(self, frame: Frame, reference: Frame | None) -> None:
        if self._before is not None and self._last is not None:
            predicted = self._before + frame.luma
            predicted *= 0.5
            predicted -= self._last
            self._mean.add(_mean_absolute(predicted))
        self._before, self._last = self._last, frame.luma

    def value(self, film: MeasuredFile) -> Value:
        error = self._mean.value
        return None if error is None else (LEVELS - error) / LEVELS


class DynamicDegree:
    """Speed of motion: the mean length of the optical flow, in percent of the longer side per second.

    The flow is pyramidal Lucas–Kanade (see `flow`) on the luma at 128 pixels, between frames an eighth of a second
    apart. VBench's dynamic degree takes the longest flow vectors of a network (RAFT) at the same distance, and
    classifies each film by a threshold. This is an approximation that has the same direction but another scale:
    areas without texture count as still, the rim of a moving object counts as moving (so that small objects weigh two
    or three times their area), and motion beyond some 60% per second is underestimated.
    """

    def __init__(self, film: MeasuredFile) -> None:
        self._apart = max(1, round((film.rate or 0) / FLOWS_PER_SECOND))
        self._number = 0
        self._last: Plane | None = None
        self._mean = Mean()

    def update(self, frame: Frame, reference: Frame | None) -> None:
        if self._number % self._apart == 0:
            picture = halve(halve(frame.luma))
            if self._last is not None:
                self._mean.add(mean_length(*flow(self._last, picture)) / max(picture.shape))
            self._last = picture
        self._number += 1

    def value(self, film: MeasuredFile) -> Value:
        step = self._mean.value
        return None if step is None or film.rate is None else 100 * step * film.rate / self._apart


def _mean_absolute(differences: Plane) -> float:
    """The mean of the absolute values; overwrites the array."""
    return mean(np.abs(differences, out=differences))
