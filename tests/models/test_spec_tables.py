"""Every row of the specification's tables, against the Python classes and their JSON schemas."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from reelbook.errors import InvalidInput, UnknownModel
from reelbook.models.base import WIRE, File, Input
from reelbook.models.catalog import CATALOG, Endpoint, get_endpoint
from reelbook.models.images_to_video import Frame
from reelbook.models.problems import problems_of
from reelbook.models.queue_status import QueueStatus
from reelbook.models.smart_resize import ResizedImage, ResizeResult
from reelbook.models.text_to_video import FRAME_SIZES, LoRA, TextToVideo
from tests.models.inputs import nearly
from tests.spec import tables
from tests.spec.tables import Model, Row
from tests.support import examples

PARTS: dict[str, tuple[type[BaseModel], str, str]] = {
    "LoRAWeight": (LoRA, "svc/text-to-video-13b-distilled", "loras"),
    "Frame": (Frame, "svc/frames-api/images-to-video", "images"),
}
"""Objects inside an input, with the model and the list that hold them."""
READ: dict[str, type[BaseModel]] = {
    "File": File,
    "QueueStatus": QueueStatus,
    "ResizedImage": ResizedImage,
    "ResizeResult": ResizeResult,
}
"""Objects that are only read."""

BEYOND_A_SCHEMA = {"skip_too_large", "no_canvas", "too_many_frames"}
"""Rules that JSON Schema cannot express, so that a value may break only them and still fit the schema."""


class Place:
    """One field of one model, or of an object in one of its lists."""

    def __init__(self, model: Model, row: Row, part: str = "") -> None:
        self.model, self.row, self.part = model, row, part
        self.kind: type[Input] = get_endpoint(model.id).input
        self.inside = f"{PARTS[part][2]}[0]." if part else ""

    def __repr__(self) -> str:
        return f"{self.kind.__name__}.{self.inside}{self.row.name}"

    def values(self, value: Any) -> dict[str, Any]:
        """A whole input with this field set, valid if the value is."""
        if not self.part:
            changed = tables.with_companions(self.model.id, {self.row.name: value})
            return {**tables.smallest(self.model.input), **changed}
        whole = {**tables.smallest(tables.OBJECTS[self.part]), self.row.name: value}
        return {**tables.smallest(self.model.input), PARTS[self.part][2]: [whole]}

    def held(self, request: Input) -> Any:
        """This field's value in an input."""
        holder = getattr(request, PARTS[self.part][2])[0] if self.part else request
        return getattr(holder, self.row.name)


def places() -> Iterator[Place]:
    for model in tables.MODELS:
        yield from (Place(model, row) for row in model.input)
    for part, (_, endpoint_id, _) in PARTS.items():
        yield from (Place(tables.model(endpoint_id), row, part) for row in tables.OBJECTS[part])


PLACES = list(places())
every_field = pytest.mark.parametrize("place", PLACES, ids=repr)
every_model = pytest.mark.parametrize("model", tables.MODELS, ids=lambda model: model.id)


def accepts_in_python(kind: type[Input], values: dict[str, Any]) -> bool:
    try:
        kind(**values)
    except InvalidInput:
        return False
    return True


def accepts_on_the_wire(kind: type[Input], values: Any) -> bool:
    try:
        kind.model_validate(values, context=WIRE)
    except ValidationError:
        return False
    return True


def test_the_tables_name_exactly_the_models_of_the_catalog() -> None:
    """No model is missing from the catalog, and none is there that the specification does not have."""
    assert [model.id for model in tables.MODELS] == [row.id for row in CATALOG]


@every_model
def test_a_json_schema_says_what_the_table_says(model: Model) -> None:
    """Names, types, what is required, defaults, bounds and choices agree; the schema says nothing more and nothing less."""
    row = get_endpoint(model.id)

    assert list(row.input.model_fields) == [field.name for field in model.input]
    assert tables.differences(model.input, row.input.model_json_schema()) == []
    assert tables.differences(model.output, row.output.model_json_schema(), liberal=True) == []
    assert [tables.undescribed(kind.model_json_schema()) for kind in (row.input, row.output)] == [[], []]


@pytest.mark.parametrize("name", [*PARTS, *READ])
def test_an_object_says_what_its_table_says(name: str) -> None:
    """What stands inside inputs and outputs agrees with its table, too, and is described for forms and other tools."""
    schema = (PARTS[name][0] if name in PARTS else READ[name]).model_json_schema()

    assert tables.differences(tables.OBJECTS[name], schema, liberal=name in READ) == []
    assert tables.undescribed(schema) == []


@every_field
def test_a_field_is_required_exactly_where_the_table_says(place: Place) -> None:
    """Without the field an input is refused, or has the table's default, of the table's type."""
    values = place.values(tables.sample(place.row))
    holder = values[PARTS[place.part][2]][0] if place.part else values
    holder.pop(place.row.name)

    if place.row.required:
        assert not accepts_in_python(place.kind, values)
        assert not accepts_on_the_wire(place.kind, values)
    else:
        default = place.held(place.kind(**values))
        expected = {tables.ABSENT: None, "[]": ()}.get(str(place.row.default), place.row.default)
        assert tables.same(default, expected)
        assert tables.same(place.held(place.kind.model_validate(values, context=WIRE)), expected)


@every_field
def test_a_bound_is_where_the_table_has_it(place: Place) -> None:
    """At the bound and just inside a value is taken, just outside it is not; in Python and by the service alike."""
    for value, allowed in tables.edges(place.row):
        values = place.values(value)

        assert accepts_in_python(place.kind, values) == allowed, value
        assert accepts_on_the_wire(place.kind, values) == allowed, value


@every_field
def test_other_json_types_are_refused(place: Place) -> None:
    """No text counts as a number, no number as true or false, and null is taken only where the table has it."""
    for value in tables.wrong_types(place.row):
        assert not accepts_in_python(place.kind, place.values(value)), value
        assert not accepts_on_the_wire(place.kind, place.values(value)), value


REFERENCES = {
    model.id: jsonschema_rs.Draft202012Validator(get_endpoint(model.id).input.model_json_schema())
    for model in tables.MODELS
}


def assert_agreement(model: Model, values: Any) -> None:
    """The class takes a value exactly if a validator of JSON Schema, knowing only the schema, does."""
    try:
        get_endpoint(model.id).input.model_validate(values, context=WIRE)
        taken = True
    except ValidationError as error:
        taken = {problem.kind for problem in problems_of(get_endpoint(model.id).input, error)} <= BEYOND_A_SCHEMA

    assert taken == REFERENCES[model.id].is_valid(values)


@every_field
@settings(max_examples=examples(8, 30), deadline=None)
@given(data=st.data())
def test_class_and_schema_agree_on_every_value_of_a_field(place: Place, data: st.DataObject) -> None:
    """With the rest of the input in order, whatever JSON comes for one field is judged alike by both."""
    value = data.draw(nearly(place.row))

    assert_agreement(place.model, place.values(value))


@every_model
def test_an_output_keeps_what_the_table_does_not_show(model: Model) -> None:
    """A hosted service sends more than the specification lists, and nothing of it is lost."""
    kind = get_endpoint(model.id).output
    told = {row.name: tables.sample(row) for row in model.output}

    output = kind.model_validate({**told, "timings": {"inference": 2.5}})

    assert output.model_dump()["timings"] == {"inference": 2.5}
    assert output.model_dump(mode="json", exclude_unset=True) == {**told, "timings": {"inference": 2.5}}


@pytest.mark.parametrize("model", tables.MODELS, ids=lambda model: model.id)
def test_a_row_says_what_the_specification_says(model: Model) -> None:
    """Category, rate card, credits and multipliers."""
    row = get_endpoint(model.id)

    assert row.id == model.id == row.input.endpoint_id
    assert (row.category, row.rate_card) == (model.category, model.rate_card)
    assert (row.base_credits, row.minimum_credits) == (model.base_credits, model.minimum_credits)
    assert dict(row.multipliers) == {name: Decimal(factor) for name, factor in model.multipliers.items()}
    assert {name for name, _ in row.multipliers} <= set(row.input.model_fields)


@pytest.mark.parametrize("row", CATALOG, ids=lambda row: row.id)
def test_what_a_row_says_of_fields_is_of_fields_that_there_are(row: Endpoint) -> None:
    """A field without effect is one of the input's, has a reason, and costs nothing."""
    without_effect = dict(row.without_effect)

    assert set(without_effect) <= set(row.input.model_fields)
    assert set(without_effect).isdisjoint(name for name, _ in row.multipliers)
    assert all(reason and not reason.endswith(".") for reason in without_effect.values())


def test_an_unknown_model_is_an_error_that_names_the_known_ones() -> None:
    """A slip of the pen gets the right name back."""
    with pytest.raises(UnknownModel, match="Did you mean 'svc/smart-resize'") as caught:
        get_endpoint("svc/smart-rezise")

    assert isinstance(caught.value, LookupError)
    assert all(row.id in str(caught.value) for row in CATALOG)


SIZES = {(row["resolution"], row["aspect_ratio"]): (row["width"], row["height"]) for row in tables.GAPS["frame_sizes"]}


def test_every_shape_has_its_size() -> None:
    """One for each resolution and aspect ratio, all with even sides, and each input knows its own."""
    rows = {row.name: row for row in tables.model(TextToVideo.endpoint_id).input}
    shapes = list(itertools.product(rows["resolution"].choices or (), rows["aspect_ratio"].choices or ()))

    taken = {
        (resolution, aspect): TextToVideo.model_validate(
            {"prompt": "a", "resolution": resolution, "aspect_ratio": aspect}
        ).frame_size
        for resolution, aspect in shapes
    }

    assert taken == SIZES == FRAME_SIZES
    assert all(side % 2 == 0 for size in taken.values() for side in size)


def test_the_second_pass_needs_a_step_to_run() -> None:
    """Fewer steps may be skipped than there are; otherwise input and service refuse, and the advice works."""
    for skipped, steps in itertools.product(range(1, 12), range(2, 13)):
        values = {"prompt": "a", "second_pass_skip_initial_steps": skipped, "second_pass_num_inference_steps": steps}
        if skipped < steps:
            assert TextToVideo(**values) == TextToVideo.model_validate(values, context=WIRE)
            continue
        with pytest.raises(ValidationError):
            TextToVideo.model_validate(values, context=WIRE)
        with pytest.raises(InvalidInput) as caught:
            TextToVideo(**values)
        (problem,) = caught.value.problems
        assert problem.field == "second_pass_skip_initial_steps"
        assert TextToVideo(**{**values, problem.field: problem.nearest})
