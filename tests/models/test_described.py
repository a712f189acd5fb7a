"""Any description becomes an input of the same kind as those written by hand, or is refused in one sentence."""

from __future__ import annotations

import copy
import inspect
import json
import socket
from collections import Counter
from collections.abc import Callable
from datetime import date
from itertools import islice
from typing import Any

import jsonschema_rs
import pytest
from openapi_spec_validator import validate
from pydantic import ValidationError

from reelbook.errors import BadDescription, InvalidInput
from reelbook.models.base import WIRE, Input
from reelbook.models.catalog import CATALOG
from reelbook.models.described import Described, describe
from reelbook.models.problems import problems_of
from reelbook_service.docs import describe_model
from tests.models.described_inputs import DESCRIPTIONS, document, reference, with_fields, wrapped
from tests.models.near import values_near

OURS = [pytest.param(row, id=row.input.__name__) for row in CATALOG]


def on_the_wire(kind: type[Input], value: Any) -> Input | None:
    """What a service reads; None where it refuses."""
    try:
        return kind.model_validate(value, context=dict(WIRE))
    except ValidationError:
        return None


def refusal(make: Callable[[], object]) -> str:
    """The sentence of a refusal."""
    with pytest.raises(InvalidInput) as caught:
        make()
    return str(caught.value)


# The class.


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_an_input_accepts_exactly_what_its_description_accepts(name: str) -> None:
    """For values near the mark: what is taken is valid as it is sent, there and in the class's own schema; the rest is not."""
    kind, expected = describe(DESCRIPTIONS[name]), reference(name)
    schema = kind.model_json_schema()
    shown = jsonschema_rs.Draft202012Validator(schema)
    validate(DESCRIPTIONS[name])
    verdicts: Counter[bool] = Counter()

    for value in values_near(schema, 0, 200):
        request = on_the_wire(kind, value)
        verdicts[request is not None] += 1
        assert expected.is_valid(value if request is None else request.wire()) == (request is not None)
        assert request is None or shown.is_valid(request.wire())

    names = {place if field.alias is None else field.alias for place, field in kind.model_fields.items()}
    assert names == set(schema["properties"])
    assert min(verdicts[True], verdicts[False]) >= 5, verdicts


@pytest.mark.parametrize("row", OURS)
def test_our_own_inputs_accept_what_their_schemas_accept(row: Any) -> None:
    """For values near the mark, but for rules of several fields, which no schema can express."""
    schema = row.input.model_json_schema()
    expected = jsonschema_rs.Draft202012Validator(schema)
    verdicts: Counter[bool] = Counter()

    for value in values_near(schema, 0, 300):
        try:
            is_taken = bool(row.input.model_validate(value, context=dict(WIRE)))
        except ValidationError as error:
            kinds = {problem.kind for problem in problems_of(row.input, error)}
            is_taken = kinds <= {"skip_too_large", "no_canvas", "too_many_frames"}
        verdicts[is_taken] += 1
        assert is_taken == expected.is_valid(value), value

    assert min(verdicts[True], verdicts[False]) >= 5, verdicts


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_an_accepted_input_survives_every_journey(name: str) -> None:
    """The wire, `repr`, a copy and `revised` give back the same input."""
    kind = describe(DESCRIPTIONS[name])
    made = (on_the_wire(kind, value) for value in values_near(kind.model_json_schema(), 1, 400))
    requests = list(islice((request for request in made if request is not None), 10))

    for request in requests:
        again = [
            kind.model_validate(json.loads(json.dumps(request.wire())), context=dict(WIRE)),
            kind.model_validate_json(request.model_dump_json()),
            eval(repr(request), {"model": {kind.endpoint_id: kind}.__getitem__}),
            copy.deepcopy(request),
            request.revised(),
        ]

        assert again == [request] * len(again)
        assert {hash(one) for one in again} == {hash(request)}
        assert [one.wire() for one in again] == [request.wire()] * len(again)
    assert len(requests) == 10


@pytest.mark.parametrize("row", OURS)
def test_our_own_inputs_come_back_from_their_descriptions(row: Any) -> None:
    """Names, order, what is required, defaults, bounds, choices and texts are all there again."""
    again, ours = describe(wrapped(row.input)), row.input.model_json_schema()
    served = describe(describe_model(row, "http://127.0.0.1")).model_json_schema()

    assert again.model_json_schema() == ours
    assert {word: value for word, value in served.items() if word != "x-order"} == ours
    assert list(again.model_json_schema()["properties"]) == list(row.input.model_fields)
    assert again.endpoint_id == row.id
    for name, field in row.input.model_fields.items():
        assert again.model_fields[name].get_default() == field.get_default()


def test_it_is_immutable_hashable_and_as_deep_as_its_values() -> None:
    """Lists become tuples and objects become records, which are read by item or by attribute."""
    kind = describe(DESCRIPTIONS["arrays_of_objects"])
    board = kind(scenes=[{"prompt": "a quay", "actors": [{"name": "Ida"}]}], tags=["sea"])
    scene = board["scenes"][0]

    assert board.scenes is board["scenes"]
    assert scene.actors[0].name == scene["actors"][0]["name"] == "Ida"
    assert {board, board.revised(tags=("sea",))} == {board}
    assert "cannot be set" in refusal(lambda: setattr(scene, "prompt", "a pier"))
    with pytest.raises(AttributeError, match="promt"):
        _ = scene.promt
    with pytest.raises(KeyError, match="scene"):
        _ = board["scene"]


def test_defaults_are_spelled_out_at_every_depth() -> None:
    """So that leaving a default out and writing it down are one and the same request."""
    kind = describe(DESCRIPTIONS["arrays_of_objects"])

    short = kind(scenes=[{"prompt": "a quay"}])
    long = kind(title="Untitled", tags=[], palette=["#102030", "#f0e0d0"], scenes=[{"prompt": "a quay", "seconds": 4}])

    assert short == long
    assert short.wire() == long.wire()
    assert list(short.wire()) == ["title", "scenes", "tags", "palette"]
    assert repr(long) == "model('svc/storyboard')(scenes=({'prompt': 'a quay'},))"


def test_nulls_and_defaults_are_sent_only_where_they_say_something() -> None:
    """Not a null that means "left out", a default that its own rule refuses, or one of another kind of object."""
    speech, shape = describe(DESCRIPTIONS["optional_by_null"]), describe(DESCRIPTIONS["two_kinds"])
    either = {"oneOf": [{"type": "integer"}, {"type": "number"}], "default": 1}
    sloppy = describe(with_fields({"size": {"enum": ["s", "m"], "default": "xl"}, "scale": either}))
    request = speech(text="hello", speaker=None, seed=None, pitch=None, style=None)

    assert request.wire() == {"text": "hello", "speaker": None, "speed": 1.0, "style": None}
    assert request == speech(text="hello", speaker=None, style=None)
    assert (sloppy().size, sloppy().wire(), sloppy(size="m").wire()) == (None, {"scale": 1}, {"size": "m", "scale": 1})
    assert sloppy().revised(scale=0.5)["scale"] == 0.5
    assert "does not fit its description: `oneOf`" in refusal(lambda: sloppy(scale=2))
    assert "default" not in sloppy.model_json_schema()["properties"]["size"]
    assert shape(kind="circle", radius=1).wire() == {"kind": "circle", "radius": 1.0, "color": "red"}
    assert shape(kind="square", side=2).wire() == {"kind": "square", "side": 2, "color": "red"}
    assert "is not one of 'circle', 'square'" in refusal(lambda: shape(kind="circel", radius=1))


def test_every_name_works_and_none_breaks_a_method() -> None:
    """Keywords, dashes, spaces, methods of ours and of pydantic, markup, and the empty name."""
    kind = describe(DESCRIPTIONS["hostile_names"])
    names = [name for name in kind.model_json_schema()["properties"] if name not in ("prompt", "nested")]

    request = kind(prompt="a boat", **{name: 1000 + place for place, name in enumerate(names)})

    assert [request[name] for name in names] == list(range(1000, 1000 + len(names)))
    assert [request.wire()[name] for name in names] == [request[name] for name in names]
    assert request.revised(revised=5, self=6)["revised"] == 5
    assert (getattr(request, "my-field"), request.größe) == (request["my-field"], request["größe"])
    assert request.json_ == request["json"]
    for name in ("revised", "wire", "changed", "copy", "json", "dict", "model_dump", "model_json_schema"):
        assert callable(getattr(request, name)), name
    assert inspect.signature(kind).parameters["prompt"].default is inspect.Parameter.empty
    assert {place for place in kind.model_fields if not hasattr(Described, place)} == set(kind.model_fields)


def test_fields_stand_in_the_order_that_is_wished_for() -> None:
    """`x-order` is a list on the object or a number on each field; what it leaves out follows."""
    (path,) = DESCRIPTIONS["ordered_fields"]["paths"].values()
    rules = path["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
    listed = describe(with_fields({"a": {}, "b": {}, "c": {}}, **{"x-order": ["c", "a"]}))
    numbered = describe(DESCRIPTIONS["ordered_fields"])

    assert list(numbered.model_fields) == sorted(rules, key=lambda name: rules[name]["x-order"])
    assert list(listed.model_fields) == ["c", "a", "b"]


def test_typos_are_refused_wherever_fields_are_listed() -> None:
    """Also where a description is silent about other fields; allowed ones pass."""
    size = {"type": "object", "properties": {"width": {"type": "integer"}}}
    silent = describe(with_fields({"size": size, "tags": {"type": "object"}}))
    open_ = describe(
        with_fields({"size": {**size, "additionalProperties": True}}, additionalProperties={"type": "integer"})
    )

    assert "There is no field `widht` of `size`. Did you mean `width`?" in refusal(lambda: silent(size={"widht": 1}))
    assert "There is no field `sise`. Did you mean `size`?" in refusal(lambda: silent(sise={}))
    assert silent(tags={"anything": [1]}).tags["anything"] == [1]
    assert open_(size={"widht": 1}, more=3).wire() == {"size": {"widht": 1}, "more": 3}
    assert "`more` needs a whole number" in refusal(lambda: open_(more="3"))


def test_what_fits_no_type_is_said_of_the_closest_one() -> None:
    """With the place of the fault, and by `jsonschema` where all types are right and a rule beyond them is broken."""
    size = {"type": "object", "properties": {"width": {"type": "integer", "minimum": 64}}}
    fields = {
        "size": {"anyOf": [part("Size"), {"enum": ["square_hd", "portrait"]}]},
        "inner": {"allOf": [part("Size")], "default": {"width": 64}},
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "style": {"type": "string", "pattern": "^(?!none)"},
    }
    kind = describe(document({"type": "object", "properties": fields}, Size=size))

    assert type(kind(size={"width": 64}).size) is type(kind().inner)
    assert "`size` = 'sqare_hd' is not one of 'square_hd', 'portrait'. Did you mean 'square_hd'?" in refusal(lambda: kind(size="sqare_hd"))  # fmt: skip
    assert "`size.width` = 1 is outside the bounds (at least 64). The nearest allowed value is 64." in refusal(lambda: kind(size={"width": 1}))  # fmt: skip
    assert "`tags` = ['a', 'a'] does not fit its description: `uniqueItems` is True." in refusal(lambda: kind(tags=["a", "a"]))  # fmt: skip
    assert "`style` = 'none' does not fit its description: `pattern` is '^(?!none)'." in refusal(lambda: kind(style="none"))  # fmt: skip


def test_of_alternatives_the_one_that_is_meant_is_explained() -> None:
    """A constant names it: what it lacks is said, and not that another one has another constant."""
    modes = [
        {"type": "object", "required": ["mode", "words"], "properties": {"mode": {"const": "words"}, "words": {"type": "string"}}},
        {"type": "object", "required": ["mode"], "properties": {"mode": {"const": "all"}}},
    ]  # fmt: skip
    kind = describe(document({"oneOf": modes}))

    assert kind(mode="all").wire() == {"mode": "all"}
    assert "`required` is ['mode', 'words']" in refusal(lambda: kind(mode="words"))


def test_steps_tell_alternatives_apart() -> None:
    """Of which exactly one may hold; by the digits as written."""
    halves = {"oneOf": [{"type": "number", "multipleOf": 0.05}, {"type": "number", "multipleOf": 0.04}]}
    kind = describe(with_fields({"a": halves}))

    assert [kind(a=value)["a"] for value in (0.15, 0.04)] == [0.15, 0.04]
    for value in (0.2, 0.01):
        refusal(lambda value=value: kind(a=value))  # type: ignore[misc]


def test_a_value_may_be_deep_but_not_bottomless() -> None:
    """Up to a limit it is taken; beyond, and where it holds itself, it is refused in words."""
    kind = describe(with_fields({"names": {}}))
    deep: Any = "leaf"
    for _ in range(39):
        deep = [deep]
    endless: list[Any] = []
    endless += [endless, endless]

    assert kind(names=deep).wire()["names"] == deep
    assert "`names` needs at most 40 levels" in refusal(lambda: kind(names=[[deep]]))
    assert "at most 40 levels" in refusal(lambda: kind(names=endless))


def test_the_same_description_gives_the_same_class() -> None:
    """So that inputs made on either side are equal; another model gives another class."""
    one, same = describe(DESCRIPTIONS["all_of"]), describe(copy.deepcopy(DESCRIPTIONS["all_of"]))
    other = describe(DESCRIPTIONS["all_of"], "svc/other")

    assert one is same
    assert other is not one
    assert repr(other(image_url="a", faces=100)) == "model('svc/other')(image_url='a', faces=100)"


# The document.

TEXT = {"type": "object", "properties": {"prompt": {"type": "string"}}}
NUMBER = {"type": "object", "properties": {"size": {"type": "integer"}}}
ENVELOPE = {"type": "object", "properties": {"endpointId": {"type": "string"}, "input": {"type": "object"}}}


def post(schema: Any, media: str = "application/json") -> dict[str, Any]:
    """One address that takes a body."""
    return {"post": {"requestBody": {"content": {media: {"schema": schema}}}, "responses": {}}}


def several(**paths: Any) -> dict[str, Any]:
    """A description of several addresses, `a__b` standing for `/a/b`."""
    return {"openapi": "3.1.0", "paths": {f"/{name.replace('__', '/')}": entry for name, entry in paths.items()}}


def part(name: str) -> dict[str, str]:
    """A reference to a part."""
    return {"$ref": f"#/components/schemas/{name}"}


@pytest.mark.parametrize(
    ("description", "endpoint_id", "fields", "named"),
    [
        (several(svc__a=post(TEXT), svc__b=post(NUMBER)), "svc/b", ["size"], "svc/b"),
        (several(svc__a=post(part("Missing")), v1__svc__b=post(NUMBER)), "/svc/b/", ["size"], "svc/b"),
        (several(svc__a=post(TEXT), svc__b=post(NUMBER)), None, ["prompt"], "svc/a"),
        (several(models__run=post(ENVELOPE), svc__b=post(NUMBER)), None, ["size"], "svc/b"),
        (several(models__run=post(ENVELOPE), svc__b=post(NUMBER)), "svc/unheard-of", ["size"], "svc/unheard-of"),
        (several(upload=post(TEXT, media="multipart/form-data"), svc__b=post(NUMBER)), None, ["size"], "svc/b"),
        (several(a={"get": {}}, svc__b=post(NUMBER, media="application/vnd.x+json")), None, ["size"], "svc/b"),
    ],
)
def test_the_input_and_the_model_are_found(
    description: dict[str, Any], endpoint_id: str | None, fields: list[str], named: str
) -> None:
    """By the address, or as the first that is no run call and takes JSON."""
    kind = describe(description, endpoint_id)

    assert list(kind.model_fields) == fields
    assert kind.endpoint_id == named


def test_references_are_followed_wherever_they_lead() -> None:
    """Through chains, into the middle of other parts, to `$defs` of the schema itself, and back to the beginning."""
    schema = {
        "type": "object",
        "properties": {
            "size": part("Chain"),
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
        refusal(lambda wrong=wrong: kind(**wrong))  # type: ignore[misc]


def test_nothing_is_fetched_for_a_rule_that_no_type_reads() -> None:
    """What stands behind an address outside of the description is left to the service."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        kind = describe(with_fields({"a": {"not": {"$ref": f"http://127.0.0.1:{server.getsockname()[1]}/x.json"}}}))

        assert kind(a=5).wire() == {"a": 5}
        with pytest.raises(BlockingIOError):
            server.accept()


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
        assert "needs text, not nothing" in refusal(lambda name=name: new(**{name: None}))  # type: ignore[misc]


def test_a_keyword_is_one_only_where_a_rule_stands() -> None:
    """Not as the name of a field or of a part, nor inside of a default."""
    fields = {
        "nullable": {"type": "boolean", "nullable": True},
        "properties": {"$ref": "#/components/schemas/nullable"},
        "default": {"type": "object", "default": {"nullable": True, "items": [1]}},
    }

    kind = describe(document({"properties": fields}, version="3.0.3", nullable={"type": "integer"}))

    assert list(kind.model_fields) == list(fields)
    assert kind(nullable=False, properties=2).wire() == {
        "nullable": False, "properties": 2, "default": {"nullable": True, "items": [1]},
    }  # fmt: skip


def test_bounds_may_be_written_with_a_point() -> None:
    """As a service in another language writes them: 1.0 is 1, for a length as for a number."""
    fields = {
        "text": {"type": "string", "minLength": 1.0, "maxLength": 3.0},
        "tags": {"type": "array", "minItems": 1.0, "maxItems": 2.0, "items": {"type": "integer", "minimum": 2.0}},
    }
    kind = describe(with_fields(fields))

    assert kind(text="abc", tags=[2, 3]).wire() == {"text": "abc", "tags": [2, 3]}
    assert "needs at most 3 characters and has 4" in refusal(lambda: kind(text="abcd"))
    assert "needs at least 1 entry and has 0" in refusal(lambda: kind(tags=[]))
    assert "The nearest allowed value is 2" in refusal(lambda: kind(tags=[1]))


@pytest.mark.parametrize(
    ("description", "reason"),
    [
        (None, "has None where an object with fields should be"),
        ({}, "its `openapi` is None"),
        ({"openapi": "3.1.0"}, "has no POST that takes one model's input as JSON"),
        ({"openapi": "3.1.0", "paths": {"/a": "b"}}, "has 'b' where an object with fields should be"),
        (several(a={"post": {"requestBody": []}}), "has [] where an object with fields should be"),
        (several(a=post(TEXT, media="text/plain")), "has no POST that takes one model's input as JSON"),
        (several(models__run=post(ENVELOPE)), "has no POST that takes one model's input as JSON"),
        ({"openapi": "3.1.0", "paths": {"/{model}/run": post(TEXT)}}, "pass its endpoint_id"),
        (document(False), "has False where an object with fields should be"),
        (document({"type": "array"}), "The input is of the type array"),
        (document(part("Missing")), "leads to nothing"),
        (document({"$ref": "http://127.0.0.1:9/x.json#/A"}), "leads to nothing in the description"),
        (document({"$ref": "file:///etc/passwd"}), "leads to nothing in the description"),
        (document(part("A"), A=part("B"), B=part("A")), "goes round in a circle"),
        (document(part("A"), A={"type": "object", "allOf": [part("A")]}), "goes round in a circle"),
        (with_fields({"a": {"maximum": float("nan")}}), "cannot be read"),
        (with_fields({"a": {"default": date(2024, 1, 1)}}), "cannot be read"),
        (with_fields({"a": {"type": "number", "maximum": "many"}}), "cannot be read"),
        (with_fields({"a": {"type": "any"}}), "is of the type 'any', which JSON does not have."),
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
