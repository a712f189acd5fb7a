"""Every field that a description knows of can be given, however it is mentioned."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from reelbook.errors import InvalidInput
from reelbook.models.described.input_class import describe
from tests.models.described_inputs import document, with_fields

STEPS = {"steps": {"type": "integer"}}


def test_a_field_that_is_only_asked_for_can_be_given() -> None:
    """It stands among the others, takes anything, and a typo is told of it, too."""
    kind = describe(with_fields(STEPS, required=["prompt"]))

    assert kind(prompt="x", steps=2).wire() == {"steps": 2, "prompt": "x"}
    assert kind.model_json_schema()["properties"] == {**STEPS, "prompt": {}}
    assert kind.model_fields["prompt"].is_required()
    with pytest.raises(InvalidInput, match="`prompt` is required"):
        kind(steps=2)
    with pytest.raises(InvalidInput, match="Did you mean `prompt`"):
        kind(promt="x")


def test_a_field_inside_an_object_can_be_asked_for_without_a_word() -> None:
    """As at the top."""
    kind = describe(with_fields({"size": {"type": "object", "properties": STEPS, "required": ["width"]}}))

    assert kind(size={"width": 2}).wire() == {"size": {"width": 2}}
    with pytest.raises(InvalidInput, match=r"There is no field `widht` of `size`. Did you mean `width`"):
        kind(size={"width": 2, "widht": 2})


@pytest.mark.parametrize(
    "more",
    [
        {"required": ["prompt"]},
        {"required": ["prompt"], "additionalProperties": {"type": "string"}},
        {"required": ["prompt"], "patternProperties": {"^pro": {"type": "string"}, "t$": {"minLength": 2}}},
        {"required": ["prompt"], "additionalProperties": False},
        {"anyOf": [{"required": ["prompt"]}, {"required": ["image"]}]},
        {"allOf": [{"required": ["prompt"]}, {"properties": {"prompt": {"type": "string"}}}]},
        {"dependentRequired": {"steps": ["prompt"]}},
        {"if": {"required": ["image"]}, "then": {"required": ["prompt"]}},
    ],
)
def test_what_is_only_asked_for_keeps_to_what_is_said_of_any_field(more: dict[str, Any]) -> None:
    """The class and its schema accept what the description accepts."""
    schema = {"type": "object", "properties": STEPS, **more}
    kind, reference = describe(document(schema)), jsonschema_rs.Draft202012Validator(schema)
    shown = jsonschema_rs.Draft202012Validator(kind.model_json_schema())
    values: list[dict[str, Any]] = [{}, {"prompt": "xy"}, {"prompt": "x"}, {"prompt": 1}, {"image": "xy"}]
    values += [{"prompt": "xy", "image": "xy"}, {"steps": 1}, {"steps": 1, "prompt": "xy"}]
    # What is not mentioned at all would be a typo.
    values = [value for value in values if all(f"{name}'" in str(schema) for name in value)]

    expected = [reference.is_valid(value) for value in values]

    assert [_is_taken(kind, value) for value in values] == expected
    assert [shown.is_valid(value) for value in values] == expected


def _is_taken(kind: Any, value: dict[str, Any]) -> bool:
    """Whether the class takes a value."""
    try:
        kind(**value)
    except InvalidInput:
        return False
    return True
