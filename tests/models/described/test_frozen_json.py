"""Objects inside an input are equal as their JSON is."""

from __future__ import annotations

import pytest

from reelbook.models.described.frozen_json import Record


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [(1, 1.0, True), (1, True, False), (0, False, False), ((1,), (True,), False), ((1,), (1.0,), True)],
)
def test_records_are_equal_as_json_is(one: object, other: object, expected: bool) -> None:
    """1 and 1.0 are one and the same, 1 and true are not, at any depth."""
    outer, same = Record({"x": Record({"y": one})}), Record({"x": Record({"y": other})})

    assert (outer == same) is expected
    assert len({outer, same}) == (1 if expected else 2)


def test_a_record_equals_a_plain_object_with_the_same_json() -> None:
    """Its lists are tuples, which JSON does not tell apart; what is no object is never equal."""
    record = Record({"sizes": (1, 2), "scale": Record({"x": 0.5})})

    assert record == {"scale": {"x": 0.5}, "sizes": [1, 2]}
    assert record == {"sizes": (1, 2), "scale": {"x": 0.5}}
    assert record != {"sizes": [True, 2], "scale": {"x": 0.5}}
    assert record != (1, 2)
