"""Two runs are the same run if, and only if, the service is asked for the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reelbook as rb
from reelbook.models.images import Image
from reelbook.storage.run_identity import dumps, format_canonical, make_identity
from tests.support import png

ODD = st.text(st.characters(codec=None), max_size=8)
"""Any text that Python can hold, also half of a surrogate pair."""

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ODD,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD, inner, max_size=3),
    max_leaves=6,
)


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same, where numbers count by their value and `true` is not a number."""
    if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@given(one=VALUES, other=VALUES)
def test_values_have_one_form_each(one: Any, other: Any) -> None:
    """Different values never share a form, and the same value has one however it was written."""
    assert (dumps(one) == dumps(other)) == same(one, other)


@pytest.mark.parametrize(
    ("one", "other", "are_same"),
    [
        (1, 1.0, True), (1, True, False), (0, False, False), (0.0, -0.0, True), (10**22, 1e22, True), (2**53, 2**53 + 1, False),
        (0.1 + 0.2, 0.3, False), ("1", 1, False), (None, False, False), ("é", "e\u0301", False), ([1], (1,), True),
        ("\ud83d", "\ude00", False), ("\ud83d\ude00", "😀", False), ("\\ud83d", "\ud83d", False),
    ],
)  # fmt: skip
def test_numbers_count_by_their_value_and_texts_by_their_letters(one: Any, other: Any, are_same: bool) -> None:
    """A whole number may be typed with a fraction; a truth value is no number; letters are never made alike."""
    assert (dumps(one) == dumps(other)) == are_same
    assert (make_identity("m", dumps(one)) == make_identity("m", dumps(other))) == are_same


def test_defaults_are_spelled_out() -> None:
    """Who leaves a field out and who writes its default ask for the same; whole numbers may have a fraction."""
    short = rb.TextToVideo(prompt="a paper boat", seed=7)
    long = rb.TextToVideo(prompt="a paper boat", seed=7, num_frames=121, resolution="720p")

    assert format_canonical(short) == format_canonical(long)
    assert format_canonical(short) != format_canonical(short.revised(seed=8))


def test_the_model_is_part_of_the_name() -> None:
    """The same input of another model is another run, also where a name looks like JSON."""
    names = {make_identity(model, "{}") for model in ("a", "b", 'a"', '{"input":{},"model":"a"}', "")}

    assert len(names) == 5


def test_a_picture_counts_by_its_content() -> None:
    """As bytes, from the library or from a file: it is the hash that counts, and neither label nor address."""
    picture = Image.of(png())
    request = rb.ImageToVideo(prompt="closer", image_url=picture)
    again = rb.ImageToVideo(prompt="closer", image_url="elsewhere.png")
    place = ("image_url",)

    one, other = format_canonical(request, {place: "0" * 64}), format_canonical(again, {place: "0" * 64})

    assert one == other
    assert one != format_canonical(again, {place: "1" * 64})
    assert "elsewhere" not in one
