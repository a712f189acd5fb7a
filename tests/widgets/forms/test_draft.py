"""Values that are easily taken for others on their way between a form and its page."""

from __future__ import annotations

import math
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
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


def listing(rule: Any) -> dict[str, Any]:
    return {"type": "array", "items": rule}


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
    page.form.edit("prompt", 7)

    assert kept == rb.TextToVideo(prompt="a boat")
    assert page.places == [["prompt"]]
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


def test_what_could_not_be_told_from_json_is_typed_as_json() -> None:
    """One of several kinds of which one is JSON, an object of any names for instance, is a text that is read whole."""
    first = {"type": {"type": "string", "enum": ["text"]}, "data": {"type": "object", "additionalProperties": TEXT}}
    other = {"type": {"type": "string", "enum": ["raw"]}, "data": {}}
    steps = [{"type": "object", "properties": one, "required": ["type", "data"]} for one in (first, other)]
    page = Page(described({"step": {"oneOf": steps}}))

    page.edit("step", {"type": "raw", "data": [1, 2]})
    value = page.form.value.wire()
    page.send("step", '{"type": "raw", "data": [')

    assert page.node("step")["kind"] == "json"
    assert value == {"step": {"type": "raw", "data": [1, 2]}}
    assert page.places == [["step"]]
    page.form.close()
