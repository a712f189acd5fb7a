"""The types of the tables: strict about JSON, kind to numpy."""

from __future__ import annotations

import enum
import itertools
import math
from collections import OrderedDict, deque
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy
import pandas
import pytest
from pydantic import ValidationError

from reelbook.errors import InvalidInput
from reelbook.models.base import WIRE
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.smart_resize import SmartResize
from reelbook.models.text_to_video import TextToVideo

TWENTIETHS = [float(f"{count / 20:.2f}") for count in range(21)]
NOISY = {
    "numpy.linspace": numpy.linspace(0, 1, 21),
    "products": [count * 0.05 for count in range(21)],
    "sums": list(itertools.accumulate([0.0] + [0.05] * 20)),
    "single precision": numpy.linspace(0, 1, 21, dtype=numpy.float32),
    "decimals": [Decimal(count) / 20 for count in range(21)],
    "fractions": [Fraction(count, 20) for count in range(21)],
    "a column": pandas.DataFrame({"factor": numpy.linspace(0, 1, 21)}).factor,
}


@pytest.mark.parametrize("values", list(NOISY.values()), ids=list(NOISY))
def test_noise_in_the_last_digits_is_rounded_away_in_python(values: Any) -> None:
    """However a sweep's multiples were computed, they arrive as one would write them, and within the bounds."""
    taken = [TextToVideo(prompt="a", temporal_adain_factor=value).temporal_adain_factor for value in values]

    assert list(map(repr, taken)) == list(map(repr, TWENTIETHS))


def test_noise_is_refused_on_the_wire() -> None:
    """A service reads a number as it is written: 0.15000000000000002 is no multiple of 0.05."""
    noisy = [count * 0.05 for count in range(21) if count * 0.05 not in TWENTIETHS]

    assert len(noisy) >= 5
    for value in noisy:
        with pytest.raises(ValidationError):
            TextToVideo.model_validate({"prompt": "a", "temporal_adain_factor": value}, context=WIRE)


class Level(enum.IntEnum):
    """Numbers with names."""

    FRAMES = 49


class Shape(enum.StrEnum):
    """Texts with names."""

    WIDE = "16:9"


def test_numpys_and_other_numbers_become_plain_ones() -> None:
    """An input holds Python's own numbers, so that its `repr` and its JSON are plain."""
    request = TextToVideo(
        prompt=numpy.str_("a paper boat"),
        num_frames=Level.FRAMES,
        seed=numpy.int64(7),
        frame_rate=numpy.float64(30),
        aspect_ratio=Shape.WIDE,
        reverse_video=numpy.bool_(True),
        tone_map_compression_ratio=numpy.float32(0.25),
        loras=numpy.array([{"path": "b", "scale": numpy.int8(2)}]),
    )

    assert repr(request) == (
        "TextToVideo(prompt='a paper boat', loras=(LoRA(path='b', scale=2.0),), seed=7, num_frames=49, "
        "frame_rate=30, reverse_video=True, tone_map_compression_ratio=0.25)"
    )
    assert {type(value) for value in request.model_dump().values()} <= {str, int, float, bool, tuple}


@pytest.mark.parametrize("value", [math.nan, -math.inf, numpy.float32("inf"), Decimal("sNaN"), 10**400, Fraction(10**400)])  # fmt: skip
def test_a_number_that_is_not_finite_is_refused(value: Any) -> None:
    """Neither can JSON write it, nor would a model know what to do."""
    with pytest.raises(InvalidInput, match="`cfg_scale` needs a finite number"):
        ImageToVideo(prompt="a", image_url="b", cfg_scale=value)
    with pytest.raises(InvalidInput):
        TextToVideo(prompt="a", num_frames=value)


def test_anything_in_order_is_a_list() -> None:
    """Lists, tuples, arrays, columns, `zip` and generators have an order; text, sets and mappings have not."""
    sizes = [[300, 600], [640, 480]]
    columns = pandas.DataFrame(sizes, columns=["width", "height"])
    sequences: list[Any] = [
        tuple(sizes),
        numpy.array(sizes),
        deque(sizes),
        (size for size in sizes),
        zip(columns.width, columns.height, strict=True),
        columns.to_numpy(),
        pandas.Series(["300x600", "640x480"]),
    ]

    taken = [SmartResize(image_url="a", target_sizes=sequence).target_sizes for sequence in sequences]

    assert {tuple(map(str, sizes)) for sizes in taken} == {("300x600", "640x480")}
    unordered: Any
    for unordered in ("300x600", b"300x600", {"300x600"}, {"300x600": 1}, OrderedDict(a=1), 5, None):
        with pytest.raises(InvalidInput, match="`target_sizes` needs a list"):
            SmartResize(image_url="a", target_sizes=unordered)
