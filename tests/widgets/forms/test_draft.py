"""Values that are easily taken for others on their way between a form and its page."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import reelbook as rb
from reelbook.errors import InvalidInput
from tests.widgets.forms.described import described
from tests.widgets.forms.page import Page

BIG = 2**60
"""A whole number that a page does not know exactly."""
WHOLE, TEXT = {"type": "integer"}, {"type": "string"}


def holding(rule: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": rule}, "required": ["x"]}


def listing(rule: Any) -> dict[str, Any]:
    return {"type": "array", "items": rule}


SAID: list[tuple[Any, Any]] = [
    ({"anyOf": [WHOLE, TEXT]}, BIG),
    ({"anyOf": [WHOLE, TEXT]}, str(BIG)),
    ({"anyOf": [WHOLE, {"enum": ["auto", str(BIG)]}]}, BIG),
    ({"anyOf": [WHOLE, {"enum": ["auto", str(BIG)]}]}, str(BIG)),
    ({"anyOf": [listing(WHOLE), listing(TEXT)]}, [str(BIG)]),
    ({"anyOf": [listing(WHOLE), listing(TEXT)]}, [BIG, 1]),
    ({"anyOf": [holding(TEXT), holding(WHOLE)]}, {"x": BIG}),
    ({"anyOf": [holding(WHOLE), holding(TEXT)]}, {"x": str(BIG)}),
    ({"anyOf": [holding(WHOLE), holding(listing({"anyOf": [TEXT, WHOLE]}))]}, {"x": [str(BIG), BIG, "1", 1]}),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "value"), SAID, ids=[json.dumps(one)[:90] for one in SAID])
def test_long_numbers_and_their_digits_are_told_apart(rule: Any, value: Any) -> None:
    """Set in Python, read out of the code, and typed by a page: it is the same value each time, also as a default."""
    kind = described({"e": rule})
    in_notebook = {"rb": SimpleNamespace(model=lambda _: kind)}
    wanted = kind(e=value)
    set_, resent, typed, left = (Page(one) for one in (kind, kind, kind, described({"e": {**rule, "default": value}})))

    set_.form.value = wanted
    for name, drafted in json.loads(json.dumps(set_.form.draft)).items():
        resent.send(name, drafted)
    typed.edit("e", value)
    left.send("e", left.node("e")["default"])

    for page in (set_, resent, typed):
        assert page.form.value.wire() == wanted.wire()
        assert eval(page.form.code, in_notebook).wire() == wanted.wire()
    assert left.form.value.wire() == {"e": value}
    for page in (set_, resent, typed, left):
        page.form.close()


class Ink(StrEnum):
    BLUE = "blue"


@pytest.mark.parametrize(
    ("rule", "given", "value"),
    [
        (TEXT, Ink.BLUE, "blue"),
        (WHOLE, np.int64(7), 7),
        (WHOLE, np.int64(BIG), BIG),
        ({"type": "number"}, Fraction(1, 2), 0.5),
        ({"type": "number"}, Decimal("0.25"), 0.25),
        ({"type": "boolean"}, np.True_, True),
        (listing(WHOLE), np.array([1, 2]), [1, 2]),
        (listing(WHOLE), range(3), [0, 1, 2]),
        (listing(WHOLE), [np.int64(1)], [1]),
        ({"anyOf": [WHOLE, TEXT]}, np.int64(5), 5),
        ({}, {"a": np.float32(1)}, {"a": 1.0}),
    ],
    ids=str,
)
def test_a_field_takes_from_python_what_its_class_takes(rule: Any, given: Any, value: Any) -> None:
    """Numbers of other libraries, members of enums, and whatever has an order."""
    kind = described({"e": rule})
    page = Page(kind)

    page.form.edit("e", given)

    assert page.form.value.wire() == kind(e=given).wire() == {"e": value}
    page.form.close()


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("prompt", b"abc", r"`prompt` needs a text, .* not b'abc' \(bytes\)"),
        ("prompt", pd.NA, r"`prompt` needs .* not <NA>"),
        ("prompt", {1, 2}, r"`prompt` needs .* not \{1, 2\} \(set\)"),
        ("prompt", "\ud800", "`prompt` needs text that can be written as UTF-8"),
        ("seed", math.nan, "`seed` needs a finite number"),
        ("loras", [{"path": "ink", "scale": math.inf}], r"`loras.* needs a finite number"),
    ],
    ids=repr,
)
def test_what_no_page_could_show_is_refused_at_once(name: str, given: Any, words: str) -> None:
    """In words that name the field; the form stays as it was. What it can show is shown, and judged by the class."""
    page = Page(rb.TextToVideo)
    page.edit("prompt", "a boat")

    with pytest.raises(InvalidInput, match=words):
        page.form.edit(name, given)
    kept = page.form.value
    page.form.edit("prompt", BIG)

    assert kept == rb.TextToVideo(prompt="a boat")
    assert page.places == [["prompt"]]
    page.form.close()


def test_null_is_offered_only_where_it_is_taken() -> None:
    """A list of values beside `null` says whether it is one of them."""
    kinds = {"type": ["string", "null"]}
    page = Page(
        described({"without": {**kinds, "enum": ["a", "b"]}, "with": {**kinds, "enum": ["a", None]}, "any": kinds})
    )

    offered = {name: bool(page.node(name).get("nullable")) for name in page.names}

    assert offered == {"without": False, "with": True, "any": True}
    page.form.close()


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("my-field", "My field needs a whole number, not 'x'."),
        ("a b", "A b needs a whole number, not 'x'."),
        ("a.b", "A.b needs a whole number, not 'x'."),
        ("x[0]", "X[0] needs a whole number, not 'x'."),
        ("", "(no name) needs a whole number, not 'x'."),
    ],
)
def test_a_field_of_any_name_is_called_by_its_label(name: str, problem: str) -> None:
    """Also where it has the look of a place inside of another one; a pattern in a sentence stays what it is."""
    page = Page(described({name: WHOLE, "a": {"type": "string", "pattern": "[abc]"}}))

    page.send(name, "x")
    page.send("a", "x")

    assert [one["words"] for one in page.form.state["problems"]] == [problem, "A = 'x' does not have the form [abc]."]
    page.form.close()


def test_an_object_is_read_as_the_one_that_it_says_it_is() -> None:
    """By what can only be one thing, also where that is an enum of one; what was typed as JSON is never sent as its text."""
    first = {"type": {"type": "string", "enum": ["text"]}, "data": {"type": "object", "additionalProperties": TEXT}}
    other = {"type": {"type": "string", "enum": ["raw"]}, "data": {}}
    steps = [{"type": "object", "properties": one, "required": ["type", "data"]} for one in (first, other)]
    sent = {"type": "raw", "data": {"__text__": "[1, 2]"}}

    for order in (steps, steps[::-1]):
        page = Page(described({"step": {"oneOf": order}, "steps": {"type": "array", "items": {"oneOf": order}}}))
        page.send("step", sent)
        page.send("steps", [sent, {"type": "text", "data": {"a": "b"}}])

        wire = page.form.value.wire()
        assert wire["step"] == {"type": "raw", "data": [1, 2]}
        assert wire["steps"] == [{"type": "raw", "data": [1, 2]}, {"type": "text", "data": {"a": "b"}}]
        page.send("step", {"type": "raw", "data": {"__text__": "["}})
        assert page.places == [["step", "data"]]
        page.form.close()
