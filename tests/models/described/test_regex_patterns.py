"""Patterns mean what they mean in JavaScript, and none takes long."""

from __future__ import annotations

import time

import jsonschema_rs
import pytest

from reelbook.models.described.regex_patterns import MAX_BACKTRACKING_CHARS, matches

AS_THE_REFERENCE = [
    r"^\/a\/$", r"^[a-z\-]+$", r"^[\w-]+$", r"^[\w.\-]+@[\w.-]+$", r"^[\p{L}\s]+$", r"\P{L}", r"^[[a]+$", r"^[a[-b]+$",
    r"^[+--]$", r"^[--/]$", r"^[-a]$", r"^[^-a]$", r"^[a&&b]+$", r"^[a~~b]+$", r"\bfoo\b", r"\Boo", r"^[^\S]$",
    r"^[^\W_]+$", r"^[\D]$", r"^\$\{x\}$", r"^\"$", r"^\ $", r"^\u0041$", r"^\x41$", r"^\u{1F600}$", r"^(?!x)",
    r"^(?<year>\d{4})-(?<month>\d\d)$", r"^[\]a]$", r"^[\\/]$", r"^(.)\1$", r"^%\%$",
]  # fmt: skip
TEXTS = [
    "", "/a/", "a-z", "a.b@c.d", "é", "日本 語", "😀", "[", "[a", "+", ",", "-", ".", "/", "a", "b", "&", "a&b", "~", "foo",
    "a foo b", "xfoo", "oo", " ", "\u00a0", "ab1", "_", "9", "١", "${x}", "aa", "x", '"', "A", "2020-11", "]", "\\", "\n", "%%",
]  # fmt: skip


@pytest.mark.parametrize("pattern", AS_THE_REFERENCE)
def test_a_pattern_means_what_it_means_to_the_reference(pattern: str) -> None:
    """Also where Rust or Python spell it in another way: brackets, slashes, letters of all scripts, code points."""
    reference = jsonschema_rs.Draft202012Validator({"pattern": pattern})

    assert [text for text in TEXTS if matches(pattern, text)] == [text for text in TEXTS if reference.is_valid(text)]


def test_two_halves_of_a_character_are_that_character() -> None:
    """As JavaScript writes what has no place among its first 65,536 characters."""
    smile, range_of_them = r"^\uD83D\uDE00$", r"^[\ud83d\ude00-\ud83d\ude0f]+$"

    assert matches(smile, "😀")
    assert not matches(smile, "😁")
    assert matches(range_of_them, "😀😁")
    assert not matches(range_of_them, "a")


@pytest.mark.parametrize(
    "pattern", [r"^([a-zA-Z0-9]+\s?)+$", r"^(\w+\w+)+$", r"^(a|a)*$", r"^(?=.)([a-zA-Z0-9]+\s?)+$"]
)
def test_no_pattern_takes_long(pattern: str) -> None:
    """Also those that let Python's own engine go through all ways to cut a text into pieces."""
    texts = ["a" * 18 + "!", "a" * 36 + "!", "a" * 100_000 + "!"]

    start = time.perf_counter()
    for text in texts:
        matches(pattern, text)

    assert time.perf_counter() - start < 2


def test_what_only_pythons_engine_reads_is_judged_in_short_texts() -> None:
    """A longer one could take minutes, so the service is to judge it."""
    not_twice = r"^(?!.*--)[a-z-]+$"

    assert matches(not_twice, "a-b")
    assert not matches(not_twice, "a--b")
    assert not matches(not_twice, "--" * (MAX_BACKTRACKING_CHARS // 2))
    assert matches(not_twice, "--" * MAX_BACKTRACKING_CHARS)
