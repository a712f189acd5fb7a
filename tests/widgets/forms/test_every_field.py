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
from reelbook.models.described import describe
from tests.models.described_inputs import document
from tests.models.inputs import JSON_VALUES
from tests.widgets.forms.described import (
    DESCRIPTIONS,
    EACH_KIND,
    KINDS,
    SCHEMAS,
    TELLING,
    Values,
    accepted,
    beyond,
    samples,
)
from tests.widgets.forms.page import Page

Pages = Callable[[str], Page]

SIZES = [pytest.param(4, id="ci"), pytest.param(400, id="deep", marks=[pytest.mark.deep, pytest.mark.timeout(900)])]
"""How many inputs each form is tried with."""
STRANGE: list[Any] = [
    None,
    True,
    0.5,
    10**30,
    "no such thing",
    [[]],
    {"unheard_of": 1},
    json.loads("[" * 60 + "]" * 60),
]
"""Values that most fields refuse, and the last of them every one: it is too deep."""

NO_JSON = [
    " ",
    "{",
    "text",
    "'a'",
    "[1,]",
    "NaN",
    "-Infinity",
    "1e999",
    "9" * 5_000,
    "[" * 600 + "]" * 600,
    "[" * 100_000,
]
"""Texts that no JSON value is written as, or none that can be sent."""


def strange(place: int, *, deep: bool) -> list[Any]:
    """A few of those for the field at this place, in turn, and the last; all in `make deep`."""
    *others, last = STRANGE
    return STRANGE if deep else [others[place % len(others)], others[(place + 3) % len(others)], last]


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


def typed_wire(page: Page, values: dict[str, Any], field: str) -> dict[str, Any]:
    """What the service gets where the page sends a field as it begins."""
    page.show(values)
    page.send(field, page.node(field)["default"])
    return dict(page.form.value.wire())


@lru_cache(maxsize=64)
def sent_for(name: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """A few samples, each with what the service gets for it."""
    return [(values, wire(name, values)) for values in samples(name)[::2]]


@lru_cache(maxsize=64)
def smallest(name: str) -> dict[str, Any]:
    """The fewest values that are valid as a whole."""
    found = samples(name)[0]
    for spare in samples(name)[0]:
        fewer = {one: value for one, value in found.items() if one != spare}
        found = fewer if accepted(KINDS[name], fewer) is not None else found
    return found


def base_for(name: str, field: str) -> dict[str, Any]:
    """Values that are valid as a whole, and in whose company the field may be given."""
    with_it = next((values for values in samples(name) if field in values), None)
    if with_it is None or accepted(KINDS[name], {**smallest(name), field: with_it[field]}) is not None:
        return smallest(name)
    return with_it


def problems_at(page: Page, field: str) -> list[str]:
    """What the page is told about one field."""
    return [problem["words"] for problem in page.form.state["problems"] if problem["at"][:1] == [field]]


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_every_description_here_is_valid_openapi(name: str) -> None:
    """What forms are tried on is what services may send."""
    validate(DESCRIPTIONS[name])


@pytest.mark.parametrize("name", KINDS)
def test_a_form_draws_every_field_once_and_no_other(pages: Pages, name: str) -> None:
    """All of them, whatever they are called; what only the service writes is not asked for."""
    page = pages(name)

    assert sorted(page.names) == sorted(SCHEMAS[name]["properties"])
    assert json.loads(json.dumps(page.form.sheet, allow_nan=False)) == page.form.sheet


@pytest.mark.parametrize("name", EACH_KIND)
def test_a_field_starts_at_its_default(pages: Pages, name: str) -> None:
    """What the page shows in a field that nobody touched is what the class fills in; nothing where it fills in nothing."""
    for field in SCHEMAS[name]["properties"]:
        node = pages(name).node(field)
        needed = SCHEMAS[name].get("required", ())

        left_out = [(values, sent) for values, sent in sent_for(name) if field not in values]
        filled = [(values, sent) for values, sent in left_out if field in sent][:2]
        shown = [typed_wire(pages(name), values, field) for values, _ in filled if "default" in node]

        assert node.get("required", False) is (field in needed), field
        assert bool(left_out) is not node.get("required", False), field
        assert bool(filled) is (node.get("default") is not None), field
        assert shown == [sent for _, sent in filled], field


@pytest.mark.parametrize("name", EACH_KIND)
def test_a_field_refuses_what_its_class_refuses(pages: Pages, name: str, request: pytest.FixtureRequest) -> None:
    """Past a bound, off a step, of another type: words stand at the field, and nothing can be started until it is right."""
    kind, page = KINDS[name], pages(name)
    deep = request.config.getoption("--deep")
    for place, (field, rule) in enumerate(SCHEMAS[name]["properties"].items()):
        base = base_for(name, field)
        past = list(beyond(rule, Values(SCHEMAS[name])))
        refused = 0
        page.show(base)

        for value in [*past, *strange(place, deep=deep)]:
            page.edit(field, value)
            by_class = refusal(name, {**base, field: value})

            assert value not in past or by_class, (field, value)
            if by_class:
                refused += 1
                assert field in by_class or () in by_class, (field, value)
                assert problems_at(page, field) or [] in page.places, (field, value)
                assert page.form.state["ready"] is False, (field, value)
                with pytest.raises(InvalidInput) as caught:
                    _ = page.form.value
                assert {problem.loc[0] for problem in caught.value.problems if problem.loc} == by_class - {()}
            else:
                assert page.value() == accepted(kind, {**base, field: value}), (field, value)
                assert page.places == [], (field, value)

        assert refused, field


@pytest.mark.parametrize("examples", SIZES)
@pytest.mark.parametrize("name", EACH_KIND)
def test_a_form_takes_a_value_exactly_if_its_class_does(pages: Pages, name: str, examples: int) -> None:
    """Anything at all in any field: the form says yes where the class does, to the same inputs."""
    page, kind = pages(name), KINDS[name]
    drawn, bases = Values(SCHEMAS[name]), samples(name)[:10]

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


@pytest.mark.parametrize("text", NO_JSON, ids=lambda text: ascii(text[:12]))
def test_text_that_is_no_json_value_is_refused_at_its_field(pages: Pages, text: str) -> None:
    """Half typed, not a number, too long, too deep: the draft keeps what was typed, and nothing can be started."""
    page = pages("transcriber")
    page.show(smallest("transcriber"))

    page.send("context", text)

    assert problems_at(page, "context")
    assert page.form.state["ready"] is False
    assert page.form.draft["context"] == text
    with pytest.raises(InvalidInput, match="context"):
        _ = page.form.value


@pytest.mark.parametrize(
    ("text", "number"), [(str(2**53 + 1), 2**53 + 1), (str(-(10**4299)), -(10**4299)), ("1,5", None)]
)
def test_long_numbers_are_read_from_text(pages: Pages, text: str, number: int | None) -> None:
    """A page sends a whole number as text where it would not know it exactly; any other text is not a number."""
    page = pages("TextToVideo")
    page.show({"prompt": "a paper boat"})

    page.send("seed", text)

    value = page.value()
    assert (None if value is None else value["seed"]) == number
    assert bool(problems_at(page, "seed")) is (number is None)


def test_a_description_that_doubles_at_every_level_is_drawn_in_time() -> None:
    """Rules that share parts are few; drawn one by one they would be a thousand million, so the deepest are JSON."""
    parts: dict[str, Any] = {
        f"Part{level}": {
            "type": "object",
            "properties": {side: {"$ref": f"#/components/schemas/Part{level + 1}"} for side in ("left", "right")},
        }
        for level in range(30)
    }
    parts["Part30"] = {"type": "integer"}
    kind = describe(document({"$ref": "#/components/schemas/Part0"}, **parts))

    page = Page(kind)

    assert len(json.dumps(page.form.sheet)) < 2_000_000
    page.edit("left", {"left": {"right": {}}})
    assert page.form.value == kind(left={"left": {"right": {}}})
    page.form.close()
