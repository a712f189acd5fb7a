"""The settings that picture tools write, as values."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reelbook.media.metadata.parameters_text import parse_settings
from tests.media.making import SIGN


def test_settings_of_another_tool_are_values() -> None:
    """Prompt and what to avoid over several lines, then settings, one of them in quotes with commas inside."""
    text = (
        "a paper boat,\non a river\nNegative prompt: rain,\nblur\n"
        'Steps: 20, Sampler: Euler a, CFG scale: 7, Seed: 965400086, Size: 512x512, Lora hashes: "a: 1, b: 2", Model: tiny'
    )

    assert parse_settings(text) == {
        "prompt": "a paper boat,\non a river",
        "negative_prompt": "rain,\nblur",
        "steps": "20",
        "sampler": "Euler a",
        "cfg_scale": "7",
        "seed": 965400086,
        "size": "512x512",
        "lora_hashes": "a: 1, b: 2",
        "model": "tiny",
    }


def test_our_own_engines_write_the_same_form() -> None:
    """Where a program kept only this text, prompt, seed and model are still known."""
    values = parse_settings(SIGN.parameters())

    assert values is not None
    assert (values["prompt"], values["seed"], values["model"]) == ("a paper boat", 7, SIGN.endpoint_id)


@pytest.mark.parametrize("text", ["", "\n\n", "a holiday in Rome", "Copyright: me, Year: 2026", "{}", "Seed", ": ,: ,"])
def test_another_text_is_none(text: str) -> None:
    """A comment of a camera or a person is not taken for settings."""
    assert parse_settings(text) is None


def test_a_setting_called_prompt_does_not_replace_the_prompt() -> None:
    """The settings come last, and the prompt has been said by then."""
    assert parse_settings("a boat\nSeed: 7, Prompt: other, Negative prompt: none") is not None
    assert parse_settings("a boat\nSeed: 7, Prompt: other") == {"prompt": "a boat", "seed": 7}


@pytest.mark.parametrize("seed", ["none", "1.5", "٣", "9" * 5000, ""])
def test_a_seed_that_is_no_number_is_none(seed: str) -> None:
    """Letters, fractions, digits that JSON does not know, and more of them than Python reads."""
    values = parse_settings(f"a boat\nSteps: 2, Seed: {seed}")

    assert values is not None
    assert values.get("seed") is None


def test_what_moves_a_cursor_is_left_out() -> None:
    """Escapes of a terminal, turned writing and zeros do not come along."""
    values = parse_settings("a \x1b[31mboat\u202e\0\nSeed: 7, Model: ti\x07ny")

    assert values == {"prompt": "a [31mboat", "seed": 7, "model": "tiny"}


@pytest.mark.parametrize("piece", ["a", "a:", 'a:"', 'a: "\\"', "a b ", " ", "a: b, ", "\\", '"', "Seed: 1, "])
def test_a_long_text_is_read_quickly(piece: str) -> None:
    """No text makes the search for settings go back and forth."""
    start = time.process_time()

    parse_settings(piece * 60_000)
    parse_settings("a boat\n" + piece * 60_000)

    assert time.process_time() - start < 1


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    """Settings or none."""
    values = parse_settings(f"{text}\nSeed: 7")

    assert values is not None
    assert values["seed"] == 7
