"""Facts as JSON and back: in order, within bounds, and never more than a record."""

from __future__ import annotations

import json

import pytest

from reelbook.media.metadata.run_record import format_record, parse_record
from reelbook.models.text_to_video import TextToVideo


def test_only_facts_of_a_run_are_written() -> None:
    """A library keeps more of a run than others need to know, such as where it keeps it."""
    assert format_record({"request_id": "r", "path": "/home/jane", "credits": None}) == '{"requestId":"r"}'
    assert format_record({}) == "{}"


def test_a_record_has_bounds() -> None:
    """An input beyond all measure is left out; the run stays."""
    for values in (TextToVideo(prompt="x" * 1_000_000), {"images": ["https://example.org/a.png"] * 100_000}):
        assert json.loads(format_record({"input": values, "seed": 7})) == {"input": None, "seed": 7}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{",
        '{"a":',
        "not JSON",
        '{"a":' * 100_000,
        "[" * 500_000,
        '{"a":' * 60 + "1" + "}" * 60,
        '{"seed":' + "9" * 5000 + "}",
        '{"a":"' + "x" * 3_000_000 + '"}',
    ],
    ids=lambda text: text[:12],
)
def test_what_is_no_record_is_none(text: str) -> None:
    """Not JSON, not an object, too deep, too long, numbers that Python does not read."""
    assert parse_record(text) is None
