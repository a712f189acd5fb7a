"""A described input is what it sends: that is what it is equal by."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from reelbook.models.base import WIRE
from reelbook.models.described.input_class import describe
from reelbook.storage.run_identity import format_canonical
from tests.models.described_inputs import with_fields

EITHER = describe(with_fields({"effort": {"anyOf": [{"type": "boolean"}, {"type": "integer"}, {"type": "array"}]}}))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [(1, True, False), (0, False, False), (1, 1.0, True), ([1], [True], False), ([1], (1.0,), True)],
)
def test_inputs_are_equal_where_they_send_the_same(one: Any, other: Any, expected: bool) -> None:
    """The library goes by the same rule: 1 and 1.0 are one and the same, 1 and true are not."""
    first, second = EITHER(effort=one), EITHER(effort=other)

    assert (first == second) is expected
    assert len({first, second}) == (1 if expected else 2)
    assert (format_canonical(first) == format_canonical(second)) is expected


def test_inputs_of_two_models_are_never_equal() -> None:
    """Though they send the same."""
    other = describe(with_fields({"effort": {"type": "integer"}}))

    assert other(effort=1) != EITHER(effort=1)
    assert EITHER(effort=1) != {"effort": 1}


@pytest.mark.parametrize("given", [{"seed": 1}, {"seed_": 1}, {"_seed": 1}, {"_seed": 1, "seed": 2, "seed_": 3}, {}])
def test_a_field_beyond_the_listed_ones_stays_what_it_is(given: dict[str, int]) -> None:
    """Though it has the name by which another field is read as an attribute."""
    kind = describe(with_fields({"_seed": {"type": "integer"}}, additionalProperties=True))

    request = kind(**given)

    assert request.wire() == given
    assert [request[name] for name in given] == list(given.values())
    assert kind.model_validate(given, context=dict(WIRE)) == request
    assert request.revised() == pickle.loads(pickle.dumps(request)) == request
    assert eval(repr(request), {"model": lambda _: kind}) == request
