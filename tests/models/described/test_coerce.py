"""What a value becomes is worked out with numbers of any size."""

from __future__ import annotations

from typing import Any

import pytest

from reelbook.errors import InvalidInput
from reelbook.models.described.input_class import describe
from tests.models.described_inputs import with_fields


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ({"multipleOf": 10**400}, "`x` = 1.5 is not a multiple of a number of about 401 digits"),
        ({"multipleOf": 2, "minimum": 10**400}, "`x` = 1.5 is outside the bounds"),
        ({"multipleOf": 0.1, "maximum": -(10**400)}, "`x` = 1.5 is outside the bounds"),
        ({"multipleOf": 1e-320, "minimum": 10**400}, "`x` = 1.5 is outside the bounds"),
    ],
)
def test_numbers_too_large_for_a_float_are_no_obstacle(rule: dict[str, Any], sentence: str) -> None:
    """A step or a bound of hundreds of digits refuses in words, and takes what fits it."""
    kind = describe(with_fields({"x": {"type": "number", **rule}}))
    large = -(10**400) if "maximum" in rule else 10**400

    with pytest.raises(InvalidInput, match=sentence):
        kind(x=1.5)

    assert kind(x=large).wire() == {"x": large}


def test_noise_in_the_last_digits_is_lost_and_no_more() -> None:
    """A millionth of a step is noise."""
    kind = describe(with_fields({"x": {"type": "number", "multipleOf": 0.05}}))

    assert kind(x=0.15000000000000002).wire() == {"x": 0.15}
    with pytest.raises(InvalidInput, match=r"not a multiple of 0\.05"):
        kind(x=0.1500001)


def test_a_whole_number_is_no_noise_however_large_the_step() -> None:
    """A millionth of ten million is 10, and whoever gives 3 does not mean 0."""
    kind = describe(with_fields({"x": {"type": "integer", "multipleOf": 10_000_000}}))

    with pytest.raises(InvalidInput, match="`x` = 3 is not a multiple of 10000000"):
        kind(x=3)
