"""What the queue says, in whatever shape it says it, and what is kept of a log."""

from __future__ import annotations

from typing import Any

import pytest

from reelbook.models.queue_status import (
    MAX_LINE_LENGTH,
    MAX_LOG_LINES,
    STATUSES,
    QueueStatus,
)
from tests.spec import tables


def status(**values: Any) -> QueueStatus:
    return QueueStatus.model_validate({"status": "IN_PROGRESS", "request_id": "1", **values})


def test_the_statuses_are_those_of_the_specification() -> None:
    """Three, in the order in which a request goes through them."""
    assert list(STATUSES) == tables.SERVICE["statuses"]


def test_a_known_status_is_known_however_it_is_written() -> None:
    """A run that is over must not be followed for ever because of a small letter."""
    assert all(status(status=name).finished for name in ("completed", " Completed ", "COMPLETED"))
    assert status(status="in progress").status == "IN_PROGRESS"
    assert status(status="in_limbo").status == "in_limbo"


@pytest.mark.parametrize(
    ("logs", "lines"),
    [
        (None, []),
        ({}, []),
        ({"entries": [{"message": "warming up", "level": "INFO"}, "done"]}, ["warming up", "done"]),
        ([{"message": "warming up", "timestamp": "2026"}, {"text": "odd"}], ["warming up", "{'text': 'odd'}"]),
        ({"stage": "first pass", "step": 3}, ["stage: first pass", "step: 3"]),
        ("one line", ["one line"]),
        ({"entries": {"stage": "first pass"}}, ["stage: first pass"]),
    ],
    ids=str,
)
def test_logs_of_any_shape_become_lines(logs: Any, lines: list[str]) -> None:
    """The specification types them as a free-form object; others send lists, null or text."""
    assert status(logs=logs).log_lines == lines


@pytest.mark.parametrize(
    ("field", "value", "read"),
    [
        ("queue_position", "3", 3),
        ("queue_position", 3.0, 3),
        ("queue_position", "soon", None),
        ("queue_position", 2.5, None),
        ("queue_position", float("nan"), None),
        ("queue_position", "9" * 5_000, None),
        ("metrics", [1], None),
        ("metrics", {"inference_time": "odd"}, {"inference_time": "odd"}),
        ("status_url", 7, None),
    ],
    ids=lambda value: str(value)[:20],
)
def test_an_odd_value_in_an_optional_field_counts_as_missing(field: str, value: object, read: object) -> None:
    """It is no reason to lose sight of a run that is paid for."""
    assert getattr(status(**{field: value}), field) == read


def test_a_long_log_is_kept_by_its_end() -> None:
    """It says how many lines are missing, and no line is endless."""
    lines = [f"step {number} of the second pass, all is well" for number in range(MAX_LOG_LINES + 10)]

    kept = status(logs=[{"message": line} for line in [*lines, "x" * 10 * MAX_LINE_LENGTH]]).log_lines

    assert kept[:2] == ["(11 earlier lines are not kept)", lines[11]]
    assert len(kept) == MAX_LOG_LINES + 1
    assert len(kept[-1]) == MAX_LINE_LENGTH
