"""What the queue says, in whatever shape it says it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from reelbook.models.queue import STATUSES, QueueStatus
from tests.spec import tables


def status(**values: Any) -> QueueStatus:
    return QueueStatus.model_validate({"status": "IN_PROGRESS", "request_id": "1", **values})


def test_the_statuses_are_those_of_the_specification() -> None:
    """Three, in the order in which a request goes through them."""
    assert list(STATUSES) == tables.SERVICE["statuses"]


@pytest.mark.parametrize("name", [*tables.SERVICE["statuses"], "CANCELLED", "PAUSED", ""])
def test_only_completed_is_finished(name: str) -> None:
    """A status that nobody knows counts as still going."""
    assert status(status=name).finished == (name == "COMPLETED")


def test_status_and_request_are_all_that_is_needed() -> None:
    """Everything else may be missing; without these two nothing is known."""
    assert QueueStatus.model_validate({"status": "IN_QUEUE", "request_id": "1"}).queue_position is None
    for told in ({"status": "IN_QUEUE"}, {"request_id": "1"}):
        with pytest.raises(ValidationError):
            QueueStatus.model_validate(told)


@pytest.mark.parametrize(
    ("logs", "lines"),
    [
        (None, []),
        ({}, []),
        ([], []),
        ({"entries": []}, []),
        ({"entries": None}, []),
        ({"entries": [{"message": "warming up", "level": "INFO"}, "done"]}, ["warming up", "done"]),
        ([{"message": "warming up", "timestamp": "2026"}, {"text": "odd"}], ["warming up", "{'text': 'odd'}"]),
        ({"stage": "first pass", "step": 3}, ["stage: first pass", "step: 3"]),
        ("one line", ["one line"]),
        (7, ["7"]),
    ],
    ids=str,
)
def test_logs_of_any_shape_become_lines(logs: Any, lines: list[str]) -> None:
    """The specification types them as a free-form object; others send lists, null or text."""
    assert status(logs=logs).lines == lines


def test_what_else_the_queue_says_is_kept() -> None:
    """A failure comes as further fields, and metrics are free-form."""
    told = {"error": "The engine broke off.", "error_type": "engine_error", "metrics": {"inference_time": 2.5}}

    shown = status(**told).model_dump()

    assert {name: shown[name] for name in told} == told
