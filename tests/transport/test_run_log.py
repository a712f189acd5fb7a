"""The log of a run: bounded, and nothing else waits for it."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest

import reelbook as rb
from reelbook.models.queue_status import QueueStatus
from reelbook.transport.run_log import MAX_LINE_LENGTH, MAX_LOG_LINES, RunLog, merge_lines
from reelbook.util.background_loop import background
from tests.support import deep, png
from tests.transport.variants import Hosted, Received, Reply

BOAT = rb.TextToVideo(prompt="a boat", seed=7)
ONE = f"/{BOAT.endpoint_id}/requests/r-1"
MAX_PAUSE = 1.5
"""Seconds; on a machine with nothing else to do it is a fifteenth of that."""


def lines(count: int, first: int = 0) -> list[str]:
    return [f"step {number} of the second pass, all is well" for number in range(first, first + count)]


def told(entries: list[str]) -> QueueStatus:
    return QueueStatus(status="IN_PROGRESS", request_id="r-1", logs=[{"message": line} for line in entries])


@pytest.mark.parametrize(
    ("seen", "news", "both"),
    [("", "", ""), ("", "ab", "ab"), ("ab", "abc", "abc"), ("abc", "cde", "abcde"), ("abc", "xy", "abcxy"), ("ab", "a", "ab"),
     ("aa", "aaa", "aaa"), ("abab", "ababc", "ababc"), ("xaab", "aabaac", "xaabaac"), ("abc", "xbz", "abcxz")],
)  # fmt: skip
def test_what_is_told_again_counts_once(seen: str, news: str, both: str) -> None:
    """Whether all of a log comes each time, or a window that moves along it."""
    assert merge_lines(list(seen), list(news)) == list(both)


def test_a_long_log_is_kept_by_its_end() -> None:
    """It says how many lines are missing, whether the log came whole or in pieces, and no line is endless."""
    whole, pieces = RunLog(), RunLog()
    for count in (MAX_LOG_LINES + 10, MAX_LOG_LINES + 50, 4 * MAX_LOG_LINES):
        whole.add(told(lines(count)))
    for first in range(0, 3 * MAX_LOG_LINES, 500):
        pieces.add(told(lines(1_000, first)))
    pieces.add(told(["x" * 10 * MAX_LINE_LENGTH]))

    assert whole.lines == lines(MAX_LOG_LINES, 3 * MAX_LOG_LINES)
    assert whole.text[0] == f"({3 * MAX_LOG_LINES:,} earlier lines are not kept)"
    assert (len(pieces.lines), pieces.left_out) == (MAX_LOG_LINES, 2 * MAX_LOG_LINES + 501)
    assert len(pieces.lines[-1]) == MAX_LINE_LENGTH


@pytest.mark.parametrize("count", [20_000, *deep((60_000,))])
def test_nothing_stands_still_while_a_huge_log_comes(tmp_path: Path, count: int) -> None:
    """The one loop of all conversation pauses for a moment at most, and the run is stored with its last lines."""
    # Written beforehand: in this process nobody else works while a service writes so much JSON.
    answers = [
        {"logs": json.dumps({**state, "logs": [{"message": line} for line in lines(count + more)]}).encode(), "": json.dumps(state).encode()}
        for more in (0, 50, 100, 150, 200)
        for state in [{"status": "COMPLETED" if more == 200 else "IN_PROGRESS", "request_id": "r-1"}]
    ]  # fmt: skip

    def status(received: Received) -> Reply:
        answer = answers[0] if len(answers) == 1 else answers.pop(0)
        return Reply(200, answer["logs" if "logs" in received.query else ""], {"content-type": "application/json"})

    async def longest_pause(over: asyncio.Event) -> float:
        found = 0.0
        while not over.is_set():
            began = time.monotonic()
            await asyncio.sleep(0.01)
            found = max(found, time.monotonic() - began - 0.01)
        return found

    async def begun() -> asyncio.Event:
        return asyncio.Event()

    with Hosted() as hosted, rb.connect(hosted.base_url, api_key="a-key-of-this-test", library=tmp_path) as client:
        hosted.on("POST", "/models/run", {"requestId": "r-1"})
        hosted.on("GET", f"{ONE}/status", status)
        hosted.on("GET", ONE, {"video": {"url": f"{hosted.base_url}/file"}, "seed": 7, "prompt": "a boat"})
        hosted.on("GET", "/file", Reply(200, png()))
        over = background.wait(begun())
        watching = background.submit(longest_pause(over))
        run = client.run(BOAT)
        background._running().call_soon_threadsafe(over.set)

        assert watching.result(10) < MAX_PAUSE
    assert run.status == "completed"
    assert run.logs[0].startswith(f"({count - MAX_LOG_LINES + 200:,} earlier")
    assert run.logs[1:] == lines(MAX_LOG_LINES, count + 200 - MAX_LOG_LINES)
