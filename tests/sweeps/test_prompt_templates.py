"""Prompts come from templates, whose words stay in the table."""

from __future__ import annotations

from typing import Any

import pytest

from reelbook.errors import InvalidInput
from reelbook.sweeps.plan.parts import template, zipped
from reelbook.sweeps.plan.sweep_call import sweep
from tests.sweeps.axes import BOAT


def test_the_words_of_a_template_are_axes_and_columns() -> None:
    """Every combination, the last gap fastest, crossed with other axes."""
    plan = sweep(
        BOAT, prompt=template("a {colour} boat in {weather}", weather=["rain", "sun"], colour=["red", 7]), seed=[1, 2]
    )

    assert [run.prompt for run in plan][::2] == [
        "a red boat in rain", "a red boat in sun", "a 7 boat in rain", "a 7 boat in sun",
    ]  # fmt: skip
    assert plan.axes["colour"] == ("red", 7)
    assert plan.labels == {"colour", "weather"}
    assert plan.frame["weather"].tolist() == ["rain", "rain", "sun", "sun"] * 2


def test_a_template_can_be_for_any_text_and_be_zipped() -> None:
    """By keyword it is for that field; by position for the prompt."""
    shy = template("no {colour}", colour=["red", "blue"])

    plan = sweep(BOAT, zipped(negative_prompt=shy, seed=[1, 2]))

    assert [(run.negative_prompt, run.seed, run.colour) for run in plan] == [
        ("no red", 1, "red"),
        ("no blue", 2, "blue"),
    ]
    assert sweep(BOAT, shy).axes["prompt"] == ("no red", "no blue")


def test_braces_can_be_meant() -> None:
    """Doubled, they stand for themselves; a text without gaps is one prompt."""
    assert list(template("{{a}} {b}", b="x")) == ["{a} x"]
    assert list(template("a boat")) == ["a boat"]


MISTAKES: list[tuple[Any, str]] = [
    (lambda: template("a {colour} boat"), "add colour=[…]"),
    (lambda: template("a boat", colour=["red"]), "no gap {colour}"),
    (lambda: template("a {} boat"), "needs a plain name"),
    (lambda: template("a {colour!r} boat", colour="red"), "needs a plain name"),
    (lambda: template("a {colour.real} boat", colour="red"), "needs a plain name"),
    (lambda: template("a {colour boat", colour="red"), "Write {{ and }}"),
    (lambda: template(7), "a text with gaps"),  # type: ignore[arg-type]
    (lambda: template("a {colour} boat", colour=[]), "`colour` has no values"),
]


@pytest.mark.parametrize(("make", "sentence"), MISTAKES, ids=[sentence for _, sentence in MISTAKES])
def test_a_template_that_cannot_be_filled_says_why(make: Any, sentence: str) -> None:
    """One sentence, and the way out."""
    with pytest.raises(InvalidInput) as caught:
        make()

    assert sentence in str(caught.value)
