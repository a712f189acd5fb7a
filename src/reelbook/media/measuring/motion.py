"""Metrics of consecutive frames: amount of change, motion, smoothness and flicker."""

from __future__ import annotations

import numpy as np

from .gauge import Mean, Value, mean, mean_difference
from .measured_frames import MeasuredFile, MeasuredFrame, PixelPlane, Pixels

LEVELS = 255.0


class Motion:
    """Amount of change: the mean absolute difference of consecutive frames in luma, times the frames per second.

    The same scene therefore has the same figure at 12 and at 24 frames per second, as long as it moves steadily.
    """

    def __init__(self) -> None:
        self._last: PixelPlane | None = None
        self._mean = Mean()

    def update(self, frame: MeasuredFrame, reference: MeasuredFrame | None) -> None:
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

    def update(self, frame: MeasuredFrame, reference: MeasuredFrame | None) -> None:
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
        self._before: PixelPlane | None = None
        self._last: PixelPlane | None = None
        self._mean = Mean()

    def update(self, frame: MeasuredFrame, reference: MeasuredFrame | None) -> None:
        if self._before is not None and self._last is not None:
            predicted = self._before + frame.luma
            predicted *= 0.5
            predicted -= self._last
            self._mean.add(_mean_absolute(predicted))
        self._before, self._last = self._last, frame.luma

    def value(self, film: MeasuredFile) -> Value:
        error = self._mean.value
        return None if error is None else (LEVELS - error) / LEVELS


def _mean_absolute(differences: PixelPlane) -> float:
    """The mean of the absolute values; overwrites the array."""
    return mean(np.abs(differences, out=differences))
