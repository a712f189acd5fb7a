"""Any description becomes an input of the same kind as those written by hand."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from random import Random
from typing import Any

import jsonschema_rs
import pytest
from openapi_spec_validator import validate
from pydantic import ValidationError

from reelbook.errors import InvalidInput
from reelbook.models.base import WIRE, Input
from reelbook.models.catalog import CATALOG
from reelbook.models.described import Described, describe
from reelbook.storage.run_identity import format_canonical
from reelbook_service.docs import describe_model
from tests.models.described_inputs import DESCRIPTIONS, reference, with_fields, wrapped
from tests.models.near import Near

ACROSS_FIELDS = {"skip_too_large", "too_many_frames", "no_canvas"}
"""Refusals by hand-written rules that no schema has words for."""

OURS = [pytest.param(row.input, id=row.input.__name__) for row in CATALOG]


def on_the_wire(kind: type[Input], value: Any) -> Input | None:
    """What a service reads; None where it refuses."""
    try:
        return kind.model_validate(value, context=dict(WIRE))
    except ValidationError as error:
        own = {found["type"] for found in error.errors()} <= ACROSS_FIELDS
        return kind.model_construct() if own else None


def refusal(make: Callable[[], object]) -> str:
    """The sentence of a refusal."""
    with pytest.raises(InvalidInput) as caught:
        make()
    return str(caught.value)


def values_near(schema: dict[str, Any], seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Objects near what a schema allows."""
    drawn = (Near(schema, random).value(schema) for random in map(Random, range(seed, seed + count)))
    return (value for value in drawn if isinstance(value, dict))


LOOSE = {"additional_properties", "arrays_of_objects", "recursive", "two_kinds"}
"""Descriptions with a rule for names, that entries differ, lists in lists without end, or that fields belong together, which
are left to the service."""


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_an_input_accepts_what_its_description_accepts_and_hardly_more(name: str) -> None:
    """For values near the mark: whatever the reference accepts is taken, and what it refuses is refused, too."""
    kind, expected = describe(DESCRIPTIONS[name]), reference(name)
    validate(DESCRIPTIONS[name])
    verdicts: Counter[tuple[bool, bool]] = Counter()

    for value in values_near(kind.model_json_schema(), 0, 200):
        verdicts[expected.is_valid(value), on_the_wire(kind, value) is not None] += 1

    refused, missed = verdicts[False, False], verdicts[False, True]
    assert verdicts[True, False] == 0
    assert min(verdicts[True, True], refused) >= 5, verdicts
    assert name in LOOSE or missed <= (refused + missed) * 0.03, verdicts


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_its_json_schema_has_all_fields_at_the_top(name: str) -> None:
    """Forms are built from it: whatever the class accepts is valid there."""
    kind = describe(DESCRIPTIONS[name])
    schema = kind.model_json_schema()
    shown = jsonschema_rs.Draft202012Validator(schema)

    accepted = [value for value in values_near(schema, 0, 100) if on_the_wire(kind, value) is not None]

    assert {place if field.alias is None else field.alias for place, field in kind.model_fields.items()} == set(
        schema["properties"]
    )
    assert len(accepted) >= 5
    assert all(map(shown.is_valid, accepted))


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_an_accepted_input_survives_every_journey(name: str) -> None:
    """The wire, `repr`, a pickle, a copy and `revised` give back the same input."""
    kind, expected = describe(DESCRIPTIONS[name]), reference(name)
    made = (on_the_wire(kind, value) for value in values_near(kind.model_json_schema(), 1, 400))
    requests = list(islice((request for request in made if request is not None), 10))

    for request in requests:
        again = [
            kind.model_validate(json.loads(json.dumps(request.wire())), context=dict(WIRE)),
            kind.model_validate_json(request.model_dump_json()),
            eval(repr(request), {"model": {kind.endpoint_id: kind}.__getitem__}),
            pickle.loads(pickle.dumps(request)),
            copy.deepcopy(request),
            request.revised(),
        ]

        assert name in LOOSE or expected.is_valid(request.wire())
        assert again == [request] * len(again)
        assert {hash(one) for one in again} == {hash(request)}
        assert [one.wire() for one in again] == [request.wire()] * len(again)
    assert len(requests) == 10


@pytest.mark.parametrize("kind", OURS)
def test_our_own_inputs_come_back_from_their_descriptions(kind: type[Input]) -> None:
    """Names, order, what is required, defaults, bounds, choices and texts are all there again."""
    again = describe(wrapped(kind))

    assert again.model_json_schema() == kind.model_json_schema()
    assert list(again.model_json_schema()["properties"]) == list(kind.model_fields)
    assert again.endpoint_id == kind.endpoint_id
    for name, field in kind.model_fields.items():
        assert again.model_fields[name].is_required() == field.is_required()
        assert again.model_fields[name].description == field.description
        if not field.is_required():
            assert again.model_fields[name].get_default() == field.get_default()


@pytest.mark.parametrize("row", [pytest.param(row, id=row.id) for row in CATALOG])
def test_the_embedded_service_describes_our_inputs(row: Any) -> None:
    """What our own service says about a model is enough to write its input by itself."""
    again = describe(describe_model(row, "http://127.0.0.1")).model_json_schema()

    assert {word: value for word, value in again.items() if word != "x-order"} == row.input.model_json_schema()


def test_it_is_immutable_hashable_and_as_deep_as_its_values() -> None:
    """Lists become tuples and objects become records, which are read by item or by attribute."""
    kind = describe(DESCRIPTIONS["arrays_of_objects"])
    board = kind(scenes=[{"prompt": "a quay", "actors": [{"name": "Ida"}]}], tags=["sea"])
    scene = board["scenes"][0]

    assert board.scenes is board["scenes"]
    assert scene.actors[0].name == scene["actors"][0]["name"] == "Ida"
    assert {board, board.revised(tags=("sea",))} == {board}
    assert "cannot be set" in refusal(lambda: setattr(board, "tags", ()))
    assert "cannot be set" in refusal(lambda: setattr(scene, "prompt", "a pier"))
    with pytest.raises(TypeError):
        scene["prompt"] = "a pier"
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


def test_nulls_are_sent_only_where_they_say_something() -> None:
    """A null that is required or differs from the default goes out; one that means "left out" does not."""
    kind = describe(DESCRIPTIONS["optional_by_null"])

    request = kind(text="hello", speaker=None, seed=None, pitch=None, style=None)

    assert request.wire() == {"text": "hello", "speaker": None, "speed": 1.0, "style": None}
    assert request == kind(text="hello", speaker=None, style=None)


def test_a_default_that_its_own_rule_refuses_is_never_sent() -> None:
    """Sloppy descriptions have them; the service fills them in itself."""
    kind = describe(
        with_fields({"size": {"enum": ["s", "m"], "default": "xl"}, "seed": {"type": "integer", "default": None}})
    )

    assert kind().wire() == {}
    assert (kind().size, kind().seed) == (None, None)
    assert "default" not in kind.model_json_schema()["properties"]["size"]
    assert kind(size="m").wire() == {"size": "m"}


def test_a_default_of_one_kind_is_not_sent_with_another() -> None:
    """Of two kinds of object, neither gets the other's defaults; the service fills in its own."""
    kind = describe(DESCRIPTIONS["two_kinds"])

    assert kind(kind="circle", radius=1).wire() == {"kind": "circle", "radius": 1.0, "color": "red"}
    assert kind(kind="square", side=2).wire() == {"kind": "square", "side": 2, "color": "red"}
    assert "is not one of 'circle', 'square'" in refusal(lambda: kind(kind="circel", radius=1))


def test_every_name_works_and_none_breaks_a_method() -> None:
    """Keywords, dashes, spaces, methods of ours and of pydantic, markup, and the empty name."""
    kind = describe(DESCRIPTIONS["hostile_names"])
    names = [name for name in kind.model_json_schema()["properties"] if name not in ("prompt", "nested")]

    request = kind(prompt="a boat", **{name: 1000 + place for place, name in enumerate(names)})

    assert [request[name] for name in names] == list(range(1000, 1000 + len(names)))
    assert [request.wire()[name] for name in names] == [request[name] for name in names]
    assert request.revised(revised=5, self=6)["revised"] == 5
    assert (getattr(request, "my-field"), request.größe, request.copy_) == tuple(
        request[name] for name in ("my-field", "größe", "copy_")
    )
    for name in ("revised", "wire", "changed", "copy", "json", "dict", "model_dump", "model_json_schema"):
        assert callable(getattr(request, name)), name
    assert inspect.signature(kind).parameters["prompt"].default is inspect.Parameter.empty
    assert {place for place in kind.model_fields if not hasattr(Described, place)} == set(kind.model_fields)


def test_fields_stand_in_the_order_that_is_wished_for() -> None:
    """`x-order` is a list on the object or a number on each field; what it leaves out follows."""
    (path,) = DESCRIPTIONS["sixty_fields"]["paths"].values()
    rules = path["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
    listed = describe(with_fields({"a": {}, "b": {}, "c": {}}, **{"x-order": ["c", "a"]}))

    assert list(describe(DESCRIPTIONS["sixty_fields"]).model_fields) == sorted(
        rules, key=lambda name: rules[name]["x-order"]
    )
    assert list(listed.model_fields) == ["c", "a", "b"]
    assert list(describe(DESCRIPTIONS["all_of"]).model_fields)[:2] == ["image_url", "faces"]


def test_typos_are_refused_wherever_fields_are_listed() -> None:
    """Also where a description is silent about other fields; where it allows them, they pass."""
    size = {"type": "object", "properties": {"width": {"type": "integer"}}}
    silent = describe(with_fields({"size": size, "tags": {"type": "object"}}))
    open_ = describe(
        with_fields({"size": {**size, "additionalProperties": True}}, additionalProperties={"type": "integer"})
    )

    assert "There is no field `widht` of `size`. Did you mean `width`?" in refusal(lambda: silent(size={"widht": 1}))
    assert "There is no field `sise`. Did you mean `size`?" in refusal(lambda: silent(sise={}))
    assert silent(tags={"anything": [1]}).tags["anything"] == (1,)
    assert open_(size={"widht": 1}, more=3).wire() == {"size": {"widht": 1}, "more": 3}
    assert open_(more=3)["more"] == 3
    assert "`more` needs a whole number" in refusal(lambda: open_(more="3"))


def test_what_only_the_service_writes_is_not_asked_for() -> None:
    """A field that is read-only is neither required nor taken."""
    kind = describe(DESCRIPTIONS["version_3_0"])

    assert "id" not in kind.model_fields
    assert "id" not in kind.model_json_schema()["required"]
    assert "There is no field `id`" in refusal(lambda: kind(video_url="v", audio_url="a", language=None, id="7"))


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
    """So that inputs made on either side are equal; another description gives another class."""
    one, same = describe(DESCRIPTIONS["all_of"]), describe(copy.deepcopy(DESCRIPTIONS["all_of"]))
    other = describe(DESCRIPTIONS["all_of"], "svc/other")

    assert one is same
    assert other is not one
    assert repr(other(image_url="a", faces=100)) == "model('svc/other')(image_url='a', faces=100)"


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
