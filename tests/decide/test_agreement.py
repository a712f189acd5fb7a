"""Agreement: Krippendorff's alpha as he computes it himself, and in words where there is none."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest

from reelbook.decide.advice import Level, compute_alpha, measure_agreement

# Klaus Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), examples A to C; "." is a missing value.
BINARY = ("0100000010", "1110010000")
NOMINAL = ("aabbdcccedda", "babbbccceddd")
FOUR = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")


def units_of(observers: Sequence[str]) -> list[list[int]]:
    """The values of each unit as numbers from 0."""
    names = sorted({value for row in observers for value in row if value != "."})
    return [[names.index(value) for value in unit if value != "."] for unit in zip(*observers, strict=True)]


@pytest.mark.parametrize(
    ("observers", "level", "published"),
    [(BINARY, "nominal", 0.095), (NOMINAL, "nominal", 0.692), (FOUR, "nominal", 0.743), (FOUR, "ordinal", 0.815)],
)
def test_alpha_is_that_of_the_published_examples(observers: Sequence[str], level: Level, published: float) -> None:
    """To the three digits that are printed."""
    alpha = compute_alpha(units_of(observers), 5, level=level)

    assert alpha == pytest.approx(published, abs=6e-4)


def test_which_clip_of_a_pair_is_called_the_first_makes_no_difference() -> None:
    """A pair turned round has the same agreement, although its answers have other names."""
    pairs = [[0, 0], [0, 1], [0, 0], [2, 0], [0, 0]]
    turned = [[1, 1], [0, 1], [1, 1], [2, 0], [0, 0]]
    mirror = (1, 0, 2, 3)

    alphas = {compute_alpha(units, 4, mirror=mirror) for units in (pairs, turned)}

    assert len(alphas) == 1
    assert compute_alpha(pairs, 4) != compute_alpha(turned, 4)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({}, "Nothing has been judged yet"),
        ({1: {"ana": 0}}, r"Only one person has judged \(ana\)"),
        ({1: {"ana": 0}, 2: {"ben": 1}}, "no pair was judged by two of them"),
        ({1: {"ana": 0, "ben": 0}}, "All gave the same answer on the 1 pair"),
    ],
)
def test_what_cannot_be_computed_is_said_in_words(answers: dict[object, dict[str, int]], words: str) -> None:
    """No judge, one, two who have nothing in common, and no variation."""
    agreement = measure_agreement(answers, 2, level="nominal")

    assert agreement.alpha is None
    assert np.isnan(float(agreement))
    assert re.search(words, str(agreement))
