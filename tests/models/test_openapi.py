"""A description is read as it is meant, or refused in one sentence."""

from __future__ import annotations

import socket
from datetime import date
from typing import Any

import pytest

from reelbook.errors import BadDescription, InvalidInput
from reelbook.models.described import describe
from tests.models.described_inputs import document, with_fields

TEXT = {"type": "object", "properties": {"prompt": {"type": "string"}}}
NUMBER = {"type": "object", "properties": {"size": {"type": "integer"}}}
ENVELOPE = {"type": "object", "properties": {"endpointId": {"type": "string"}, "input": {"type": "object"}}}


def post(schema: Any, media: str = "application/json") -> dict[str, Any]:
    """One address that takes a body."""
    return {"post": {"requestBody": {"content": {media: {"schema": schema}}}, "responses": {}}}


def hinted(word: str, value: Any) -> dict[str, Any]:
    """An address whose model is told by an extension."""
    return {"post": {**post(NUMBER)["post"], word: value}}


def several(**paths: Any) -> dict[str, Any]:
    """A description of several addresses, `a__b` standing for `/a/b`."""
    return {"openapi": "3.1.0", "paths": {f"/{name.replace('__', '/')}": entry for name, entry in paths.items()}}


def part(name: str) -> dict[str, str]:
    """A reference to a part."""
    return {"$ref": f"#/components/schemas/{name}"}


def nested(levels: int, word: str) -> Any:
    """A rule that has another inside, and so on."""
    rule: Any = {"type": "string"}
    for _ in range(levels):
        rule = {word: {"a": rule}} if word == "properties" else {word: [rule]} if word == "allOf" else {word: rule}
    return rule


def multiplying(levels: int, word: str) -> dict[str, Any]:
    """Parts of which each names three of the next kind, with fields that differ."""
    parts: dict[str, Any] = {
        f"{one}{levels}": {"properties": {"a": {"type": "integer", "minimum": 1}}} for one in "ABC"
    }
    for level in range(levels):
        next_kind = [part(f"{one}{level + 1}") for one in "ABC"]
        parts |= {f"{one}{level}": {word: next_kind, "properties": {"a": {"title": f"{one}{level}"}}} for one in "ABC"}
    return parts


@pytest.mark.parametrize(
    ("description", "endpoint_id", "fields", "named"),
    [
        (several(svc__a=post(TEXT), svc__b=post(NUMBER)), "svc/b", ["size"], "svc/b"),
        (several(svc__a=post(TEXT), v1__svc__b=post(NUMBER)), "svc/b", ["size"], "svc/b"),
        (several(svc__a=post(TEXT), svc__b=post(NUMBER)), "/svc/b/", ["size"], "svc/b"),
        (several(svc__a=post(TEXT), svc__b=post(NUMBER)), None, ["prompt"], "svc/a"),
        (several(models__run=post(ENVELOPE), svc__b=post(NUMBER)), None, ["size"], "svc/b"),
        (several(models__run=post(ENVELOPE), svc__b=post(NUMBER)), "svc/unheard-of", ["size"], "svc/unheard-of"),
        (several(upload=post(TEXT, media="multipart/form-data"), svc__b=post(NUMBER)), None, ["size"], "svc/b"),
        (several(a={"get": {}}, svc__b=post(NUMBER, media="application/vnd.x+json")), None, ["size"], "svc/b"),
        (several(svc__a=post(TEXT), run=hinted("x-endpoint-id", "svc/b")), "svc/b", ["size"], "svc/b"),
        (several(run=hinted("x-endpoint-id", "svc/b")), None, ["size"], "svc/b"),
        ({**several(run=post(NUMBER)), "info": {"x-endpoint-id": "svc/b"}}, None, ["size"], "svc/b"),
    ],
)
def test_the_input_and_the_model_are_found(
    description: dict[str, Any], endpoint_id: str | None, fields: list[str], named: str
) -> None:
    """By the address, by a hint, or as the first that is no run call and takes JSON."""
    kind = describe(description, endpoint_id)

    assert list(kind.model_fields) == fields
    assert kind.endpoint_id == named


def test_references_are_followed_wherever_they_lead() -> None:
    """Through chains, into the middle of other parts, to `$defs` of the schema itself, and back to the beginning."""
    schema = {
        "type": "object",
        "properties": {
            "size": {"$ref": "#/components/schemas/Chain"},
            "corner": {"$ref": "#/components/schemas/Sizes/oneOf/1"},
            "voice": {"$ref": "#/$defs/Voice"},
            "inner": {"$ref": "#"},
        },
        "$defs": {"Voice": {"enum": ["alto", "tenor"]}},
    }
    sizes = {"oneOf": [{"type": "string"}, {"type": "integer", "maximum": 9}]}
    kind = describe(document(schema, Chain=part("Link"), Link=part("Sizes"), Sizes=sizes))

    assert kind(size="big", corner=3, voice="alto", inner={"size": 2}).wire()["inner"] == {"size": 2}
    for wrong in ({"size": 10}, {"corner": "big"}, {"voice": "bass"}, {"inner": {"size": 10}}):
        with pytest.raises(InvalidInput):
            kind(**wrong)


def test_nullable_is_a_word_of_3_0_only() -> None:
    """It adds null to the types, beside a list of parts also to those; in 3.1 it means nothing."""
    fields = {
        "a": {"type": "string", "nullable": True, "default": "x"},
        "b": {"allOf": [part("Word")], "nullable": True, "default": "x"},
    }

    old = describe(document({"properties": fields}, version="3.0.3", Word={"type": "string"}))
    new = describe(document({"properties": fields}, Word={"type": "string"}))

    assert old(a=None, b=None).wire() == {"a": None, "b": None}
    for name in fields:
        with pytest.raises(InvalidInput, match="needs text, not nothing"):
            new(**{name: None})


@pytest.mark.parametrize(
    ("description", "reason"),
    [
        (None, "has None where an object with fields should be"),
        ({}, "it has no field `openapi`"),
        ({"swagger": "2.0"}, "its `swagger` is '2.0'"),
        ({"openapi": "3.1.0"}, "has no POST that takes JSON"),
        ({"openapi": "3.1.0", "paths": {"/a": "b"}}, "has 'b' where an object with fields should be"),
        (several(a={"post": {"requestBody": []}}), "has [] where an object with fields should be"),
        (several(a=post(TEXT, media="text/plain")), "has no POST that takes JSON"),
        (several(models__run=post(ENVELOPE)), "only run calls"),
        ({"openapi": "3.1.0", "paths": {"/{model}/run": post(TEXT)}}, "pass its endpoint_id"),
        (document("a schema"), "has 'a schema' where an object with fields should be"),
        (document(False), "it should be an object with fields."),
        (document({"type": "array"}), "The input is of the type array"),
        (document(part("Missing")), "leads to nothing"),
        (document({"$ref": 5}), "should be text and is 5."),
        (document({"$ref": "http://127.0.0.1:9/x.json#/A"}), "nothing was fetched"),
        (document({"$ref": "file:///etc/passwd"}), "nothing was fetched"),
        (document({"$ref": "#anchor"}), "names an anchor"),
        (document(part("A"), A=part("B"), B=part("A")), "goes round in a circle"),
        (document(part("A"), A={"type": "object", "allOf": [part("A")]}), "in a circle and never says what it takes"),
        (document(nested(1000, "properties")), "more than 100 levels deep"),
        (document(nested(120, "allOf")), "more than 100 levels deep"),
        (with_fields({"a": {"default": nested(120, "items")}}), "more than 100 levels deep"),
        (with_fields({f"f{n}": {} for n in range(10_001)}), "more than 10,000 rules"),
        (with_fields({"a": {"maximum": float("nan")}}), "is not JSON"),
        (with_fields({"a": {"enum": "b"}}), "`enum` should be a list and is 'b'."),
        (with_fields({"a": {"type": "any"}}), "is of the type 'any', which JSON does not have."),
        (with_fields({"a": {"allOf": []}}), "`allOf` should be a list and is []."),
        (with_fields({"a": {"default": date(2024, 1, 1)}}), "is not JSON"),
        (with_fields({"a": {"maximum": 10**5000}}), "is not JSON"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(
    description: Any, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says where and why; nothing else is raised, and nothing is fetched."""
    monkeypatch.setattr(socket, "socket", None)

    with pytest.raises(BadDescription) as caught:
        describe(description)

    assert reason in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_huge_list_of_choices_is_no_trouble() -> None:
    """A hundred thousand choices are checked, and only the first are listed."""
    kind = describe(with_fields({"style": {"enum": [f"style {n}" for n in range(100_000)]}}))

    assert kind(style="style 99999").style == "style 99999"
    with pytest.raises(InvalidInput, match="and 99,960 more") as caught:
        kind(style="stile 7")
    assert len(str(caught.value)) < 1000


def test_parts_that_multiply_are_judged_in_a_moment() -> None:
    """Eight levels of three parts with three parts each are still one form."""
    kind = describe(document(part("A0"), **multiplying(8, "allOf")))

    assert kind(a=5).wire() == {"a": 5}
    with pytest.raises(InvalidInput, match="`a` = 0 is outside"):
        kind(a=0)
