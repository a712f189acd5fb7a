"""Sizes, canvases, and which canvas a target gets."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from reelbook.errors import InvalidInput
from reelbook.models.base import WIRE
from reelbook.models.smart_resize import PRESETS, Preset, Size, SmartResize, preset_for
from tests.spec import tables
from tests.support import examples

DECIDED: dict[str, Any] = tables.GAPS["presets"]
TIERS: dict[str, int] = DECIDED["tiers"]
LEAST, MAX = tables.GAPS["target_side"]["minimum"], tables.GAPS["target_side"]["maximum"]
CANVASES = [
    (aspect, tier, width * factor, height * factor)
    for tier, factor in TIERS.items()
    for aspect, (width, height) in DECIDED["at_1K"].items()
]
"""Aspect, tier, width and height of every canvas, from the table."""

SIDES = st.integers(LEAST, MAX)
SIZES = st.builds(Size, SIDES, SIDES)
ANY_TIER = st.sampled_from(list(TIERS))


def resize(size: Any, **values: Any) -> SmartResize:
    return SmartResize(image_url="a.png", target_sizes=[size], **values)


def on_the_wire(size: Any) -> SmartResize:
    return SmartResize.model_validate({"image_url": "a.png", "target_sizes": [size]}, context=WIRE)


def best(width: int, height: int, resolution: str) -> tuple[str, str] | None:
    """The rule in other words: which canvas covers the target, lowest tier first, then nearest shape, then fewest pixels."""
    order = list(TIERS)
    covering = [
        (order.index(tier), max(Fraction(w * height, h * width), Fraction(h * width, w * height)), w * h, aspect, tier)
        for aspect, tier, w, h in CANVASES
        if w >= width and h >= height and order.index(tier) >= order.index(resolution)
    ]
    return min(covering)[3:] if covering else None


def named(preset: Preset | None) -> tuple[str, str] | None:
    return (preset.aspect_ratio, preset.resolution) if preset else None


def test_the_canvases_are_those_of_the_table() -> None:
    """Ten shapes in three tiers, each tier twice or four times as large as the first."""
    assert sorted((p.aspect_ratio, p.resolution, p.width, p.height) for p in PRESETS) == sorted(CANVASES)


@pytest.mark.parametrize("example", DECIDED["examples"], ids=lambda example: f"{example['target']} at {example['resolution']}")  # fmt: skip
def test_a_target_gets_the_canvas_of_the_examples(example: dict[str, Any]) -> None:
    """Worked out by hand; 1080x1920, which 1K does not cover, gets 9:16 at 2K."""
    expected = (example["aspect_ratio"], example["tier"]) if example["tier"] else None

    assert named(preset_for(Size.parse(example["target"]), example["resolution"])) == expected


@given(SIZES, ANY_TIER)
@settings(max_examples=examples(60, 200), deadline=None)
def test_an_input_takes_exactly_the_targets_that_have_a_canvas(size: Size, resolution: Any) -> None:
    """Where none covers the target the input is refused, in Python as on the wire, and the advice is a size that works."""
    values = {"image_url": "a.png", "target_sizes": [str(size)], "resolution": resolution}
    if best(size.width, size.height, resolution):
        assert SmartResize(**values).target_sizes == (size,)
        assert SmartResize.model_validate(values, context=WIRE).target_sizes == (size,)
    else:
        with pytest.raises(ValidationError):
            SmartResize.model_validate(values, context=WIRE)
        with pytest.raises(InvalidInput, match="no canvas covers") as caught:
            SmartResize(**values)
        advised = Size.parse(caught.value.problems[0].nearest)
        assert resize(advised, resolution=resolution)
        assert advised.width <= size.width
        assert advised.height <= size.height


def test_the_place_of_an_uncovered_target_is_told() -> None:
    """Of several targets only the ones that cannot be made are named."""
    with pytest.raises(InvalidInput) as caught:
        SmartResize(image_url="a.png", target_sizes=["300x600", "6000x6000", "16x6336", "8x600"])

    assert [problem.field for problem in caught.value.problems] == [f"target_sizes[{at}]" for at in (1, 2, 3)]
    assert [problem.nearest for problem in caught.value.problems] == ["4096x4096", "16x5504", "16x600"]


def test_what_is_no_size_is_refused() -> None:
    """Neither Python nor a service guesses."""
    for text in (
        "",
        "300",
        "300x",
        "x600",
        "+300x600",
        "3e2x600",
        "٣٠٠x600",
        "300x600x3",
        "300.0x600",
        "stories",
        "300-600",
    ):
        with pytest.raises(InvalidInput, match="a size is written <width>x<height>"):
            resize(text)
        with pytest.raises(ValidationError):
            on_the_wire(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        *((text, "300x600") for text in ("300X600", "300 x 600", "300×600", " 300*600 px", "300x600\n", "0300x600")),
        *((pair, "300x600") for pair in ((300, 600), [300, 600], numpy.array([300, 600]), (300.0, numpy.int64(600)))),
        ("story", "1080x1920"),
        ("Full HD", "1920x1080"),
        ("  half   PAGE ", "300x600"),
    ],
    ids=repr,
)
def test_python_takes_what_the_form_takes_and_the_wire_has_one_spelling(size: Any, text: str) -> None:
    """Any spelling of a size, a pair, and the name of a common format; a service need not guess."""
    assert resize(size).wire()["target_sizes"] == [text]
    assert resize(size) == resize(text) == resize(Size.parse(text))
    with pytest.raises(ValidationError):
        on_the_wire(size)
