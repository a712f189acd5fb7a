"""Steps in a thread that report their own progress, and end where the run is cancelled."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor

import pytest

from reelbook_service.engines.long_step import StepCancelled, StepReport, report_from_thread
from reelbook_service.engines.protocol import Log, Progress


@pytest.fixture
def pool() -> Iterator[Executor]:
    """One thread, as an engine has."""
    with ThreadPoolExecutor(1) as pool:
        yield pool


def test_news_comes_in_order_and_progress_never_decreases(pool: Executor) -> None:
    """And the generator returns what the step does."""

    def step(report: StepReport) -> str:
        report.progress("first", 0.5)
        report.log("a line")
        report.progress("second", 0.2)
        return "done"

    work = report_from_thread(pool, step)
    news: list[object] = []

    def read() -> None:
        while True:
            news.append(next(work))

    with pytest.raises(StopIteration) as stop:
        read()

    assert [item for item in news if item != Progress("waiting", 0.0)] == [
        Progress("first", 0.5),
        Log("a line"),
        Progress("second", 0.5),
    ]
    assert stop.value.value == "done"


def test_a_silent_step_repeats_its_latest_report(pool: Executor) -> None:
    """So that the run can be cancelled at any time."""
    go_on = threading.Event()

    def step(report: StepReport) -> None:
        report.progress("busy", 0.1)
        go_on.wait(30)

    work = report_from_thread(pool, step)
    news = [item for item, _ in zip(work, range(3), strict=False)]
    go_on.set()
    list(work)

    assert news[-1] == Progress("busy", 0.1)


def test_closing_ends_the_step_at_its_next_check(pool: Executor) -> None:
    """Through handlers of ordinary errors, and before `close` returns."""
    ended, started = [], threading.Event()

    def step(report: StepReport) -> None:
        report.progress("started", 0.0)
        started.set()
        try:
            while True:
                try:
                    report.check()
                except Exception:
                    ended.append("caught")
        except StepCancelled:
            ended.append("cancelled")
            raise

    work = report_from_thread(pool, step)
    next(work)
    started.wait(30)
    work.close()

    assert ended == ["cancelled"]


def test_an_error_of_the_step_is_raised_after_its_news(pool: Executor) -> None:
    """What it logged before is not lost."""

    def step(report: StepReport) -> None:
        report.log("before")
        raise ValueError("broken")

    work = report_from_thread(pool, step)
    news: list[object] = []

    def read() -> None:
        while True:
            news.append(next(work))

    with pytest.raises(ValueError, match="broken"):
        read()

    assert Log("before") in news
