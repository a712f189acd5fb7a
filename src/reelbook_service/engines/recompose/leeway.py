"""How much each strip of a picture may be stretched or squeezed before it is noticeable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .importance import Analysis, Mask

Numbers = npt.NDArray[np.float64]

RIGID = 0.02
"""The minimum leeway, which even the subject has, so that no strip is fixed; 2% is not visible."""

HOLD = 0.82
"""How firmly the faint parts of a subject are preserved; important parts are preserved by their importance."""


@dataclass(frozen=True, slots=True)
class Leeway:
    """For each strip along one axis, the logarithms of its maximum stretch and its maximum squeeze."""

    stretch: Numbers
    squeeze: Numbers

    def __getitem__(self, part: slice) -> Leeway:
        return Leeway(self.stretch[part], self.squeeze[part])

    def leaning(self, centre: float, goal: float, growth: float, firmness: float) -> Leeway:
        """The leeway with more give on one side, so that the centre, given as a strip index, is closer to its goal."""
        low, high, leaning = -firmness, firmness, self
        for _ in range(8):
            lean = (low + high) / 2
            leaning = self._leaning(centre, lean)
            edges = np.concatenate([[0.0], strip_sizes(leaning, growth).cumsum()])
            now = np.interp(centre, np.arange(len(edges)), edges) / edges[-1]
            low, high = (lean, high) if now < goal else (low, lean)
        return leaning

    def _leaning(self, centre: float, lean: float) -> Leeway:
        side = np.clip((np.arange(len(self.stretch)) + 0.5 - centre) / 4, -1, 1)
        return Leeway(self.stretch * np.exp(-lean * side), self.squeeze * np.exp(lean * side))

    def limits(self) -> tuple[Numbers, Numbers]:
        """Each strip's size at maximum squeeze and at maximum stretch, relative to its own size."""
        return np.exp(-self.squeeze), np.exp(self.stretch)


def leeway_across(analysis: Analysis, top: int = 0, bottom: int | None = None) -> Leeway:
    """The leeway of the columns, computed from these rows."""
    rows = slice(top, bottom)
    return _leeway(analysis.importance[rows], analysis.subject[rows], analysis.across[rows])


def leeway_down(analysis: Analysis, left: int = 0, right: int | None = None) -> Leeway:
    """The leeway of the rows, computed from these columns."""
    columns = slice(left, right)
    return _leeway(analysis.importance[:, columns].T, analysis.subject[:, columns].T, analysis.down[:, columns].T)


def strip_sizes(leeway: Leeway, growth: float) -> Numbers:
    """The size of each strip relative to its own, so that together they are `growth` times as long.

    The strips share the change in proportion to their leeway.

    >>> calm, subject = 1.0, 0.02
    >>> sizes = strip_sizes(Leeway(np.array([calm, subject, calm]), np.array([calm, subject, calm])), 1.5)
    >>> [round(float(size), 2) for size in sizes]
    [1.74, 1.01, 1.74]
    """
    give = leeway.stretch if growth >= 1 else -leeway.squeeze
    low, high = 0.0, 64.0  # Some strip has a leeway of 2%, so this suffices for any growth that a picture can need.
    for _ in range(36):
        middle = (low + high) / 2
        enough = np.abs(np.log(np.exp(middle * give).mean())) >= abs(np.log(growth))
        low, high = (low, middle) if enough else (middle, high)
    sizes: Numbers = np.exp(high * give)
    return sizes * (growth / float(sizes.mean()))


def _leeway(importance: npt.NDArray[Any], subject: Mask, changes: npt.NDArray[Any]) -> Leeway:
    """The leeway of the columns of these grids."""
    held = _widened(np.maximum(importance.max(0), HOLD * subject.any(0)).astype(np.float64))
    # The strongest change counts separately: a small round sun must not become an egg.
    changes = changes.astype(np.float64)
    rough = _smoothed(changes.mean(0) + 0.25 * np.percentile(changes, 90, axis=0) + 0.12 * _widened(changes.max(0)))
    free = np.clip(1 - 1.15 * held, 0, 1)
    stretch = free**2 * np.log1p(2.2 / (0.1 + rough))
    squeeze = free * np.log1p(1.0 / (0.2 + 0.35 * rough))
    return Leeway(np.maximum(_smoothed(stretch), RIGID), np.maximum(_smoothed(squeeze), RIGID))


def _widened(values: Numbers) -> Numbers:
    """The maximum of each value and its neighbours, so that the subject's rim is preserved as well."""
    padded = np.pad(values, 2, mode="edge")
    return np.asarray(np.max([padded[at : at + len(values)] for at in range(5)], axis=0))


def _smoothed(values: Numbers) -> Numbers:
    padded = np.pad(values, 1, mode="edge")
    return np.asarray((padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4)
