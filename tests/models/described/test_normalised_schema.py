"""Older ways to write a schema are read as what they meant."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from reelbook.models.described.frozen_json import freeze
from reelbook.models.described.normalised_schema import normalise
from reelbook.models.described.references import Document
from reelbook.models.described.schema_judge import accepts

NUMBER = {"type": "number"}


@pytest.mark.parametrize(
    "older",
    [
        {"items": [NUMBER, {"$ref": "#/components/schemas/Text"}]},
        {"items": [NUMBER], "additionalItems": {"type": "string"}},
        {"items": [NUMBER, NUMBER], "additionalItems": False, "minItems": 2},
    ],
)
@pytest.mark.parametrize("is_3_0", [True, False])
def test_a_list_of_rules_for_entries_has_one_for_each_place(older: dict[str, Any], is_3_0: bool) -> None:
    """As FastAPI wrote tuples before pydantic 2; the reference for that time accepts the same."""
    parts = {"components": {"schemas": {"Text": {"type": "string"}}}}
    reference = jsonschema_rs.Draft7Validator({**parts, "allOf": [older]})
    values: list[Any] = [[], [1], [1, "a"], [1, 2], ["a"], [1, "a", "b"], [1, 2, 3], "no list"]

    rule = normalise(older, Document(parts), "#", is_3_0=is_3_0)

    verdicts = [accepts(freeze(value)[0], rule, rule.get("$defs", {})) for value in values]
    assert verdicts == [reference.is_valid(value) for value in values]


def test_an_empty_list_of_rules_for_entries_says_nothing() -> None:
    """Only what is said of further entries counts."""
    assert normalise({"items": []}, Document({}), "#", is_3_0=True) == {}
    assert normalise({"items": [], "additionalItems": False}, Document({}), "#", is_3_0=True) == {"items": False}
