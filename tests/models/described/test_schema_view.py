"""What a schema says of one place is found through references, parts and alternatives."""

from __future__ import annotations

from typing import Any

import pytest

from reelbook.models.described.schema_view import rule_at, rules_at, types_of

SEED = {"type": "integer", "maximum": 9}
AT_SEED = {"$ref": "#/$defs/Seed"}


def test_types_are_found_through_references_and_alternatives() -> None:
    """What a rule admits is known without a value."""
    defs = {"Seed": {"type": "integer"}}

    assert types_of(AT_SEED, defs) == ("integer",)
    assert types_of({"anyOf": [AT_SEED, {"type": "null"}]}, defs) == ("integer", "null")
    assert types_of({"anyOf": [AT_SEED, {}]}, defs) == ()


@pytest.mark.parametrize(
    "rule",
    [
        SEED,
        AT_SEED,
        {"anyOf": [{"type": "null"}, AT_SEED], "default": None},
        {"oneOf": [{"type": "null"}, {"allOf": [AT_SEED]}]},
    ],
)
def test_the_rule_of_a_place_says_what_the_value_is(rule: dict[str, Any]) -> None:
    """In an object, in a list, and in whichever alternative has such a place; null aside."""
    schema = {
        "properties": {"seed": rule, "seeds": {"anyOf": [{"type": "string"}, {"type": "array", "items": rule}]}},
        "$defs": {"Seed": SEED},
    }

    assert rule_at(schema, ("seed",)) == SEED
    assert rule_at(schema, ("seeds", 7)) == SEED


def test_of_a_place_that_no_rule_describes_nothing_is_said() -> None:
    """Neither of an unknown field, nor of what is inside a number."""
    schema = {"properties": {"seed": SEED}, "additionalProperties": False}

    assert rules_at(schema, ("sede",)) == []
    assert rule_at(schema, ("seed", "inside")) == {}
