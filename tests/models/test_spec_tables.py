"""Every row of the specification's tables, against the Python classes and their JSON schemas."""

from __future__ import annotations

import itertools
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from reelbook.errors import InvalidInput, UnknownModel
from reelbook.models.base import WIRE, File, Input
from reelbook.models.catalog import CATALOG, get_endpoint
from reelbook.models.images_to_video import Frame
from reelbook.models.queue_status import QueueStatus
from reelbook.models.smart_resize import ResizedImage, ResizeResult
from reelbook.models.text_to_video import FRAME_SIZES, LoRA, TextToVideo
from tests.spec import tables
from tests.spec.tables import Model, Row

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

every_model = pytest.mark.parametrize("model", tables.MODELS, ids=lambda model: model.id)
FIELDS = [(model, row, "") for model in tables.MODELS for row in model.input]
FIELDS += [(tables.model(model), row, part) for part, (_, model, _) in PARTS.items() for row in tables.OBJECTS[part]]


def set_field(model: Model, row: Row, part: str, value: Any) -> dict[str, Any]:
    """A whole input with this field of it, or of the first object in one of its lists, valid if the value is."""
    if not part:
        return {**tables.smallest(model.input), **tables.with_companions(model.id, {row.name: value})}
    return {
        **tables.smallest(model.input),
        PARTS[part][2]: [{**tables.smallest(tables.OBJECTS[part]), row.name: value}],
    }


def is_accepted(kind: type[Input], values: dict[str, Any]) -> bool:
    """Whether an input takes these values, in Python and on the wire alike."""
    verdicts = [False, False]
    with suppress(InvalidInput):
        verdicts[0] = bool(kind(**values))
    with suppress(ValidationError):
        verdicts[1] = bool(kind.model_validate(values, context=WIRE))
    assert verdicts[0] == verdicts[1], values
    return verdicts[0]


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


@pytest.mark.parametrize(
    ("model", "row", "part"), FIELDS, ids=lambda value: getattr(value, "name", None) or getattr(value, "id", value)
)
def test_a_field_takes_what_its_table_says(model: Model, row: Row, part: str) -> None:
    """Required or with its default, up to its bounds and no further; no text is a number, and null only where it is listed."""
    kind = get_endpoint(model.id).input
    left_out = set_field(model, row, part, tables.sample(row))
    (left_out[PARTS[part][2]][0] if part else left_out).pop(row.name)

    assert is_accepted(kind, left_out) == (not row.required)
    if not row.required:
        request: Any = kind(**left_out)
        default = getattr(getattr(request, PARTS[part][2])[0] if part else request, row.name)
        assert tables.same(default, {tables.ABSENT: None, "[]": ()}.get(str(row.default), row.default))
    for value, allowed in (*tables.edges(row), *((value, False) for value in tables.wrong_types(row))):
        assert is_accepted(kind, set_field(model, row, part, value)) == allowed, value


@every_model
def test_an_output_keeps_what_the_table_does_not_show(model: Model) -> None:
    """A hosted service sends more than the specification lists, and nothing of it is lost."""
    kind = get_endpoint(model.id).output
    told = {row.name: tables.sample(row) for row in model.output}

    output = kind.model_validate({**told, "timings": {"inference": 2.5}})

    assert output.model_dump()["timings"] == {"inference": 2.5}
    assert output.model_dump(mode="json", exclude_unset=True) == {**told, "timings": {"inference": 2.5}}


@every_model
def test_a_row_says_what_the_specification_says(model: Model) -> None:
    """Category, rate card, credits and multipliers."""
    row = get_endpoint(model.id)

    assert row.id == model.id == row.input.endpoint_id
    assert (row.category, row.rate_card) == (model.category, model.rate_card)
    assert (row.base_credits, row.minimum_credits) == (model.base_credits, model.minimum_credits)
    assert dict(row.multipliers) == {name: Decimal(factor) for name, factor in model.multipliers.items()}
    assert {name for name, _ in row.multipliers} <= set(row.input.model_fields)


def test_an_unknown_model_is_an_error_that_names_the_known_ones() -> None:
    """A slip of the pen gets the right name back."""
    with pytest.raises(UnknownModel, match="Did you mean 'svc/smart-resize'") as caught:
        get_endpoint("svc/smart-rezise")

    assert isinstance(caught.value, LookupError)
    assert all(row.id in str(caught.value) for row in CATALOG)


def test_every_shape_has_its_size() -> None:
    """One for each resolution and aspect ratio, and each input knows its own."""
    rows = tables.GAPS["frame_sizes"]

    assert {(row["resolution"], row["aspect_ratio"]): (row["width"], row["height"]) for row in rows} == FRAME_SIZES
    for (resolution, aspect), size in FRAME_SIZES.items():
        assert TextToVideo(prompt="a", resolution=resolution, aspect_ratio=aspect).frame_size == size


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
