"""Krippendorff's alpha: how far raters agree, beyond what chance would give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Level = Literal["nominal", "ordinal"]


@dataclass(frozen=True)
class Agreement:
    """How far raters agree: 1 is always, 0 as often as by chance, below 0 less often."""

    alpha: float | None
    """Krippendorff's alpha; None if it cannot be computed."""
    raters: int
    units: int
    """Pairs or clips that more than one of the raters has judged."""
    sentence: str

    def __str__(self) -> str:
        return self.sentence

    def __float__(self) -> float:
        return float("nan") if self.alpha is None else self.alpha

    def _repr_pretty_(self, printer: object, cycle: bool) -> None:
        printer.text(self.sentence)  # type: ignore[attr-defined]  # IPython's printer, which is not imported here.


def compute_alpha(
    units: Sequence[Sequence[int]], categories: int, *, level: Level = "nominal", mirror: Sequence[int] | None = None
) -> float | None:
    """Krippendorff's alpha of values from 0, one sequence for each unit; None where there is nothing to compute.

    `mirror` gives the value that each becomes when the two clips of a pair change places: the result then does not
    depend on which of them is called the first.

    >>> compute_alpha([[0, 0], [1, 1], [0, 1]], 2)
    0.4444444444444444
    """
    coincidences = np.zeros((categories, categories))
    for values in units:
        if len(values) > 1:
            counts = np.bincount(values, minlength=categories).astype(np.float64)
            coincidences += (np.outer(counts, counts) - np.diag(counts)) / (len(values) - 1)
    if mirror is not None:
        coincidences = (coincidences + coincidences[np.ix_(mirror, mirror)]) / 2
    totals = coincidences.sum(axis=1)
    distance = _measure_distances(totals, level)
    expected = float((np.outer(totals, totals) * distance).sum())
    if expected == 0:
        return None
    return 1 - (float(totals.sum()) - 1) * float((coincidences * distance).sum()) / expected


def measure_agreement(
    answers: Mapping[object, Mapping[str, int]],
    categories: int,
    *,
    level: Level,
    mirror: Sequence[int] | None = None,
    noun: str = "pair",
) -> Agreement:
    """The agreement on units, each with the value that each rater gave it."""
    raters = {rater for values in answers.values() for rater in values}
    shared = [list(values.values()) for values in answers.values() if len(values) > 1]
    if not raters:
        return Agreement(None, 0, 0, "Nothing has been judged yet, so there is no agreement to measure.")
    if len(raters) == 1:
        return Agreement(
            None, 1, 0, f"Only one person has judged ({min(raters)}), so there is no agreement to measure."
        )
    if not shared:
        return Agreement(
            None, len(raters), 0,
            f"{len(raters)} people have judged, but no {noun} was judged by two of them, so there is no agreement to measure.",
        )  # fmt: skip
    alpha = compute_alpha(shared, categories, level=level, mirror=mirror)
    basis = f"on the {len(shared):,} {noun}{'' if len(shared) == 1 else 's'} that more than one of {len(raters)} people judged"
    if alpha is None:
        return Agreement(None, len(raters), len(shared), f"All gave the same answer {basis}, so agreement cannot be told from chance.")  # fmt: skip
    return Agreement(
        alpha, len(raters), len(shared), f"Krippendorff's alpha is {alpha:.2f} {basis}: {_describe(alpha)}."
    )


def _measure_distances(totals: FloatArray, level: Level) -> FloatArray:
    """The squared distances of the values."""
    if level == "nominal":
        return np.asarray(1.0 - np.eye(len(totals)))
    middle = np.cumsum(totals) - totals / 2
    return np.asarray((middle[:, None] - middle[None, :]) ** 2)


def _describe(alpha: float) -> str:
    # The bounds are those that Krippendorff recommends.
    if alpha >= 0.8:
        return "they agree"
    if alpha >= 0.667:
        return "they agree enough for tentative conclusions"
    if alpha >= 0.2:
        return "they agree in part"
    return "they agree hardly more than by chance" if alpha >= 0 else "they disagree more than by chance"
