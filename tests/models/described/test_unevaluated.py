"""What no other keyword speaks of is judged by the keywords that are there for it."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from reelbook.errors import InvalidInput
from reelbook.models.base import WIRE
from reelbook.models.described.frozen_json import freeze
from reelbook.models.described.input_class import describe
from reelbook.models.described.schema_judge import problems
from tests.models.described_inputs import document, with_fields

PAIR = {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "integer"}]}
LORA = {"type": "object", "properties": {"path": {"type": "string"}, "scale": {}}}
SPHERE = {"properties": {"radius": {"type": "number"}}, "required": ["radius"]}
CUBE = {"properties": {"side": {"type": "number"}}, "required": ["side"]}


@pytest.mark.parametrize(
    ("rule", "value", "sentence"),
    [
        ({**PAIR, "unevaluatedItems": False}, [1, 2, 3], "`x[2]` is not allowed here."),
        ({**PAIR, "unevaluatedItems": {"type": "string"}}, [1, 2, 3], "`x[2]` needs text, not 3 (int). Did you mean '3'?"),
        ({**LORA, "unevaluatedProperties": False}, {"scael": 1}, "There is no field `scael` of `x`. Did you mean `scale`?"),
        ({**LORA, "unevaluatedProperties": {"type": "integer"}}, {"weight": "1"}, "`x.weight` needs a whole number, not '1' (str). Did you mean 1?"),
        ({"patternProperties": {"^x-": {}}, "unevaluatedProperties": False}, {"y": 1}, "There is no field `y` of `x`."),
        ({"anyOf": [SPHERE, CUBE], "unevaluatedProperties": False}, {"radius": 1, "sid": 2}, "There is no field `sid` of `x`. The fields are: radius."),
    ],
)  # fmt: skip
def test_what_is_left_is_refused_with_its_place(rule: dict[str, Any], value: Any, sentence: str) -> None:
    """As fields and entries are that the other keywords refuse."""
    found = problems(freeze({"x": value})[0], {"properties": {"x": rule}}, {})

    assert [problem.message for problem in found] == [sentence]


@pytest.mark.parametrize(
    "fields",
    [
        {"pair": {**PAIR, "unevaluatedItems": False}},
        {"pair": {**PAIR, "contains": {"const": "a"}, "minContains": 0, "unevaluatedItems": False}},
        {"lora": {**LORA, "unevaluatedProperties": {"type": "integer"}}},
        {"lora": {**LORA, "anyOf": [SPHERE, CUBE], "unevaluatedProperties": False}},
        {"lora": {"allOf": [LORA, SPHERE], "unevaluatedProperties": False}},
        {"lora": {"if": SPHERE, "then": LORA, "else": CUBE, "unevaluatedProperties": False}},
    ],
)
def test_a_class_accepts_what_the_reference_accepts(fields: dict[str, Any]) -> None:
    """So does the schema of the class, from which forms are made."""
    reference = jsonschema_rs.Draft202012Validator(
        {"properties": fields, "propertyNames": {"enum": list(fields)}, "type": "object"}
    )
    kind = describe(with_fields(fields))
    shown = jsonschema_rs.Draft202012Validator(kind.model_json_schema())
    inner: list[Any] = [
        [],
        [1, 2],
        [1, 2, 3],
        [1, 2, "a"],
        {},
        {"path": "a"},
        {"radius": 1},
        {"radius": 1, "path": "a"},
    ]
    inner += [{"side": 1, "path": "a"}, {"radius": 1, "side": 1}, {"radius": 1, "path": "a", "more": 1}, {"more": 1}]
    values = [{name: value} for name in fields for value in inner]

    expected = [reference.is_valid(value) for value in values]

    assert [shown.is_valid(value) for value in values] == expected
    assert [_is_taken(kind, value) for value in values] == expected


@pytest.mark.timeout(5)
def test_rules_for_the_rest_that_nest_are_judged_in_a_moment() -> None:
    """Twenty levels of them evaluate each part once, not a million times."""
    defs: dict[str, Any] = {
        f"L{n}": {"allOf": [{"$ref": f"#/$defs/L{n + 1}"}], "unevaluatedProperties": False} for n in range(20)
    }
    defs["L20"] = {"properties": {"a": {"type": "integer"}}}

    assert problems(freeze({"a": 1})[0], {"$ref": "#/$defs/L0"}, defs) == []
    assert {problem.loc for problem in problems(freeze({"b": 1})[0], {"$ref": "#/$defs/L0"}, defs)} == {("b",)}


def test_a_field_that_two_parts_list_is_not_left_by_either() -> None:
    """Two rules for one field are not written as one, where that would change what is left."""
    strict = {"properties": {"a": {"properties": {"path": {}}, "unevaluatedProperties": False}}}
    loose = {"properties": {"a": {"anyOf": [{"required": ["path"]}, {"properties": {"more": {}}}]}}}
    kind = describe(document({"allOf": [strict, loose]}))

    assert kind(a={"path": 1}).wire() == {"a": {"path": 1}}
    assert not jsonschema_rs.is_valid(kind.model_json_schema()["properties"]["a"], {"path": 1, "more": 1})
    with pytest.raises(InvalidInput, match="There is no field `more`"):
        kind(a={"path": 1, "more": 1})


def _is_taken(kind: Any, value: dict[str, Any]) -> bool:
    """Whether a service with this description takes a value."""
    try:
        kind.model_validate(value, context=dict(WIRE))
    except ValueError:
        return False
    return True
