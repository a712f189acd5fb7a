"""Every field of every kind of input opens in a form, starts at its default, and takes exactly what its class takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openapi_spec_validator import validate

from reelbook.errors import InvalidInput
from tests.models.inputs import JSON_VALUES
from tests.widgets.forms.described import (
    DESCRIPTIONS,
    KINDS,
    TELLING,
    Values,
    accepted,
    beyond,
    fields,
    inputs,
    samples,
)
from tests.widgets.forms.page import Page

Pages = Callable[[str], Page]

SIZES = [pytest.param(12, id="ci"), pytest.param(400, id="deep", marks=[pytest.mark.deep, pytest.mark.timeout(900)])]
"""How many inputs each form is tried with."""
STRANGE: list[Any] = [None, True, 0.5, 10**30, "no such thing", [[]], {"unheard_of": 1}, "\ud800"]
"""Values that most fields refuse, and the last of them every one: half of a pair that makes one sign."""


@pytest.fixture(scope="module")
def pages() -> Iterator[Pages]:
    """A page for each kind, opened once."""
    opened: dict[str, Page] = {}

    def page(name: str) -> Page:
        if name not in opened:
            opened[name] = Page(KINDS[name])
        return opened[name]

    yield page
    for one in opened.values():
        one.form.close()


def wire(name: str, values: dict[str, Any]) -> dict[str, Any]:
    """What the service gets where a form has these values."""
    return dict(KINDS[name](**values).wire())


@lru_cache(maxsize=512)
def base_for(name: str, field: str) -> dict[str, Any]:
    """A few values that are valid as a whole, and in whose company the field may be given."""
    found = next((values for values in samples(name) if field in values), samples(name)[0])
    for spare in [one for one in found if one != field]:
        fewer = {one: value for one, value in found.items() if one != spare}
        found = fewer if accepted(KINDS[name], fewer) is not None else found
    return found


def problems_at(page: Page, field: str) -> list[str]:
    """What the page is told about one field."""
    return [problem["words"] for problem in page.form.state["problems"] if problem["at"][:1] == [field]]


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_every_description_here_is_valid_openapi(name: str) -> None:
    """What forms are tried on is what services may send."""
    validate(DESCRIPTIONS[name])

    assert len(DESCRIPTIONS) == 12


@pytest.mark.parametrize("name", KINDS)
def test_a_form_draws_every_field_once_and_no_other(pages: Pages, name: str) -> None:
    """All of them, whatever they are called; what only the service writes is not asked for."""
    page = pages(name)

    assert sorted(page.names) == sorted(KINDS[name].model_json_schema()["properties"])
    assert json.loads(json.dumps(page.form.sheet, allow_nan=False)) == page.form.sheet


@pytest.mark.parametrize(("name", "field"), list(fields()))
def test_a_field_starts_at_its_default(pages: Pages, name: str, field: str) -> None:
    """What the page shows in a field that nobody touched is what the class fills in; nothing where it fills in nothing."""
    node = pages(name).node(field)
    needed = KINDS[name].model_json_schema().get("required", ())

    left_out = [values for values in samples(name) if field not in values]
    filled = [values for values in left_out if field in wire(name, values)]
    shown = [wire(name, {**values, field: node["default"]}) for values in filled if "default" in node]

    assert node.get("required", False) is (field in needed)
    assert bool(left_out) is not node.get("required", False)
    assert bool(filled) is (node.get("default") is not None)
    assert shown == [wire(name, values) for values in filled]


@pytest.mark.parametrize(("name", "field"), list(fields()))
def test_a_field_refuses_what_its_class_refuses(pages: Pages, name: str, field: str) -> None:
    """Past a bound, off a step, of another type: words stand at the field, and nothing can be started until it is right."""
    kind, page, base = KINDS[name], pages(name), base_for(name, field)
    schema = kind.model_json_schema()
    past = list(beyond(schema["properties"][field], Values(schema)))
    refused = 0
    page.show(base)

    for value in [*past, *STRANGE]:
        page.edit(field, value)
        by_class = refusal(name, {**base, field: value})

        assert value not in past or by_class
        if by_class:
            refused += 1
            assert field in by_class or () in by_class
            assert problems_at(page, field) or [] in page.places
            assert page.form.state["ready"] is False
            with pytest.raises(InvalidInput) as caught:
                _ = page.form.value
            assert {problem.loc[0] for problem in caught.value.problems if problem.loc} == by_class - {()}
        else:
            assert page.value() == accepted(kind, {**base, field: value})
            assert page.places == []

    assert refused


@pytest.mark.parametrize("examples", SIZES)
@pytest.mark.parametrize("name", KINDS)
def test_a_form_has_the_inputs_that_its_class_has(pages: Pages, name: str, examples: int) -> None:
    """Values typed into the page one after the other are those that Python's own call takes."""
    page, kind = pages(name), KINDS[name]

    @settings(max_examples=examples, database=None)
    @given(inputs(name))
    def agree(values: dict[str, Any]) -> None:
        page.show(values)

        assert page.places == []
        assert page.form.value == kind(**values)
        assert page.form.value.wire() == kind(**values).wire()

    agree()


@pytest.mark.parametrize("examples", SIZES)
@pytest.mark.parametrize("name", KINDS)
def test_a_form_takes_a_value_exactly_if_its_class_does(pages: Pages, name: str, examples: int) -> None:
    """Anything at all in any field: the form says yes where the class does, to the same inputs."""
    page, kind = pages(name), KINDS[name]
    drawn, bases = Values(kind.model_json_schema()), samples(name)

    @settings(max_examples=examples, database=None)
    @given(st.data())
    def agree(data: st.DataObject) -> None:
        base = data.draw(st.sampled_from(bases))
        page.show(base)
        for field in data.draw(st.lists(st.sampled_from(page.names), min_size=1, max_size=4, unique=True)):
            value = data.draw(JSON_VALUES | TELLING | drawn.field(field))
            page.edit(field, value)

            assert page.value() == accepted(kind, {**base, field: value}), (field, value)
            assert page.form.state["ready"] is (page.form.state["problems"] == [])

            page.edit(field) if field not in base else page.edit(field, base[field])

    agree()


def refusal(name: str, values: dict[str, Any]) -> set[Any]:
    """The fields that the class names when it refuses values; empty where it takes them."""
    try:
        KINDS[name](**values)
    except InvalidInput as error:
        return {problem.loc[0] if problem.loc else () for problem in error.problems}
    return set()
