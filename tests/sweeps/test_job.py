"""A sweep is run under its budget, each run by itself, and nothing is paid for twice. The charge log is the oracle."""

from __future__ import annotations

import _thread
import asyncio
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import reelbook as rb
from reelbook.client import Client
from reelbook.sweeps.background_job import StillRunning
from reelbook.sweeps.job import SweepJob
from reelbook.sweeps.plan import sweep
from tests.support import Served, png
from tests.sweeps.dots import BOAT, DOT, PRICE, RUN, Scripted, counts, dots, paid, reserved
from tests.transport.variants import Hosted, Reply, page

SAME = (
    "fps",
    "status",
    "credits",
    "credits_source",
    "output_video",
    "output_video_url",
    "request_id",
    "take",
    "input_json",
)
"""The columns of a table that do not tell when something happened."""


# Money.


def test_a_budget_is_never_exceeded_and_a_larger_one_finishes_the_rest(served: Served, client: Client) -> None:
    """Money for three of seven, all at once: three are paid for, the next call pays for four, and more calls for none."""
    plan = dots(7)

    first = plan.run(budget=3 * PRICE + PRICE - 1, concurrency=16)
    after_first = len(reserved(served))
    second = plan.run(budget=plan.credits)
    calls = client.context.http.calls_made
    free, unsaid = plan.run(budget=0), plan.run()

    assert counts(first) == {"completed": 3, "not started": 4}
    assert after_first == 3
    assert first["credits"].sum() == 3 * PRICE
    waiting = first[first["status"] == "not started"]
    assert set(waiting["error_type"]) == {"OverBudget"}
    assert waiting["error"].str.contains("Raise budget to go on").all()
    assert counts(second) == {"completed": 7}
    assert client.context.http.calls_made == calls
    assert len(reserved(served)) == 7
    pd.testing.assert_frame_equal(second[list(SAME)], free[list(SAME)])
    pd.testing.assert_frame_equal(free, unsaid)
    assert (plan.credits, plan.credits_due) == (7 * PRICE, 0)


def test_the_most_expensive_guess_holds_where_nobody_knows_a_price(
    hosted: Hosted, at_hosted: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three runs at most 40 each fit into 130; without a price, none may run."""
    scripted = Scripted(hosted)
    scripted.end.set()
    monkeypatch.setattr("reelbook.models.catalog.estimate", lambda request, rates=None: rb.Estimate(None))
    plan = sweep(BOAT, seed=range(5)).priced(lambda request: None)

    with pytest.raises(rb.InvalidInput, match="price="):
        plan.run()
    unpriced = plan.run(budget=130)
    priced = plan.run(budget=130, price=40)

    assert counts(unpriced) == {"not started": 5}
    assert unpriced["error"].str.contains("price=").all()
    assert counts(priced) == {"completed": 3, "not started": 2}
    assert scripted.sent == 3


def _broken() -> list[dict[str, object]]:
    return [{"url": "http://127.0.0.1:9/nobody.png", "frames": 1}]


def _good(count: int) -> list[list[dict[str, object]]]:
    return [[{"url": DOT.images[0].url, "frames": number + 1}] for number in range(count)]


# What goes wrong.


def test_failures_stay_with_their_rows_and_are_tried_again_alone(
    served: Served, client: Client, tmp_path: Path
) -> None:
    """A picture that is missing, one that nobody can fetch, one that is none: the rest is finished, nothing failed is charged."""
    picture = tmp_path / "late.png"
    kinds = [_broken(), [{"url": str(picture), "frames": 1}], [{"url": "data:image/png;base64,AAAA", "frames": 1}]]
    plan = sweep(
        rb.ImagesToVideo(images=["https://example.org/gone.png"]), images=[*kinds, *_good(1)], fps=[12.0, 24.0]
    )

    first = plan.run(budget=plan.credits)
    after_first = len(reserved(served))
    picture.write_bytes(png(16, 16, "red"))
    second = plan.run(budget=plan.credits)

    assert counts(first) == {"completed": 2, "failed": 6}
    assert int(first["error_type"].value_counts().max()) == 4
    assert first.loc[first["status"] == "failed", "error"].notna().all()
    assert len(paid(served)) == 4
    assert counts(second) == {"completed": 4, "failed": 4}
    # Those two that can be fetched by nobody were tried again, and the two that are there now.
    assert len(reserved(served)) == after_first + 4


@pytest.mark.parametrize(("code", "error"), [(401, "Unauthorized"), (404, "NotFound")])
def test_a_key_or_a_model_that_is_no_good_is_refused_once(
    hosted: Hosted, at_hosted: Client, code: int, error: str, caplog: pytest.LogCaptureFixture
) -> None:
    """One paid call, not forty; every row says why it was not started."""
    hosted.on("POST", RUN, Reply(code, {"detail": "not like this"}))

    with caplog.at_level(logging.WARNING, "reelbook"):
        table = sweep(BOAT, seed=range(40)).run(budget=40 * PRICE)

    assert len(hosted.seen("POST", RUN)) == 1
    assert counts(table) == {"not started": 40}
    assert set(table["error_type"]) == {error}
    assert "not like this" in caplog.text


def test_an_uncertain_run_is_shown_and_never_sent_again(hosted: Hosted, at_hosted: Client) -> None:
    """Its answer was lost; the others go on, and the next call leaves it alone."""
    scripted = Scripted(hosted, before=[Reply(fault="close")])
    scripted.end.set()
    plan = sweep(BOAT, seed=range(5))

    first = plan.run(budget=plan.credits)
    second = plan.run(budget=plan.credits)

    assert counts(first) == counts(second) == {"completed": 4, "uncertain": 1}
    assert first[["status", "credits", "credits_source"]].iloc[0].tolist() == ["uncertain", PRICE, "estimated"]
    assert scripted.sent == 5


def test_many_lost_answers_in_a_row_end_the_sweep(hosted: Hosted, at_hosted: Client) -> None:
    """Each may have cost its price, so a broken proxy does not get to see forty."""
    hosted.on("POST", RUN, page(502))

    table = sweep(BOAT, seed=range(40)).run(budget=40 * PRICE)

    assert counts(table) == {"uncertain": 8, "not started": 32}
    assert len(hosted.seen("POST", RUN)) == 8


def test_a_service_that_is_gone_for_a_while_is_waited_for(
    hosted: Hosted, at_hosted: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was sent, so the run goes back into the queue; from the very first, it is the address that is wrong."""
    scripted = Scripted(hosted)
    scripted.end.set()
    submit, tries = Client.submit_run, iter(range(100))

    async def sometimes(self: Client, submission: object, **facts: bool) -> rb.Run:
        if next(tries) in (1, 2):
            submission.release()  # type: ignore[attr-defined]
            raise rb.Unreachable(hosted.base_url, "a cable")
        return await submit(self, submission, **facts)  # type: ignore[arg-type]

    monkeypatch.setattr("reelbook.sweeps.job.FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(Client, "submit_run", sometimes)
    table = sweep(BOAT, seed=range(4)).run(budget=4 * PRICE)
    hosted.stop_listening()
    nobody = sweep(BOAT, seed=range(4, 8)).run(budget=4 * PRICE)

    assert counts(table) == {"completed": 4}
    assert counts(nobody) == {"not started": 4}
    assert set(nobody["error_type"]) == {"Unreachable"}


def test_impossible_rows_and_rows_that_ask_for_the_same_are_not_sent(served: Served, client: Client) -> None:
    """An impossible one says why; two that ask for the same share one run, which is paid for once."""
    plan = sweep(DOT, fps=[1.0, 2.0, 2, 500.0])

    table = plan.run(budget=plan.credits)

    assert table["status"].tolist() == ["completed", "completed", "completed", "impossible"]
    assert "120" in str(table.loc[3, "error"])
    assert table["request_id"].dropna().nunique() == 2
    assert len(reserved(served)) == 2


# A person.


def test_no_more_runs_are_under_way_than_was_said(hosted: Hosted, at_hosted: Client) -> None:
    """Three at once, from submission to the files; eight where nothing was said."""
    scripted = Scripted(hosted)
    job = sweep(BOAT, seed=range(5)).start(budget=99999, concurrency=3)
    hosted.wait_until(lambda _: scripted.sent == 3)
    at_first = job.progress.under_way
    scripted.end.set()
    job.wait(60)
    most, scripted.most = scripted.most, 0
    scripted.end.clear()
    unsaid = sweep(BOAT, seed=range(20, 30)).start(budget=99999)
    hosted.wait_until(lambda _: scripted.sent == 5 + 8)
    scripted.end.set()
    unsaid.wait(60)

    assert (at_first, most) == (3, 3)
    assert scripted.most == 8


def test_a_job_can_be_paused_and_resumed(hosted: Hosted, at_hosted: Client) -> None:
    """While it is paused nothing is sent, and what was sent goes on."""
    scripted = Scripted(hosted)
    job = sweep(BOAT, seed=range(6)).start(budget=99999, concurrency=2)
    hosted.wait_until(lambda _: scripted.sent == 2)

    job.pause()
    scripted.end.set()
    _until(lambda: job.progress.counts["completed"] == 2)
    state, sent = job.progress.state, scripted.sent
    with pytest.raises(StillRunning, match="The sweep continues"):
        job.wait(0)
    job.resume()
    table = job.wait(60)

    assert (state, sent) == ("paused", 2)
    assert counts(table) == {"completed": 6}


def _until(claim: Callable[[], bool], within: float = 20.0) -> None:
    over = threading.Event()
    deadline = time.monotonic() + within
    while not claim():
        assert time.monotonic() < deadline, "it never came true"
        over.wait(0.02)


def test_a_cancelled_job_sends_nothing_more_and_lets_paid_runs_end(hosted: Hosted, at_hosted: Client) -> None:
    """The table says which were not started; run again, the plan goes on. The running ones are cancelled on demand."""
    scripted = Scripted(hosted)
    plan = sweep(BOAT, seed=range(6))
    job = plan.start(budget=99999, concurrency=2)
    hosted.wait_until(lambda _: scripted.sent == 2)

    job.cancel()
    state = job.progress.state
    so_far = counts(job.frame)
    scripted.end.set()
    table = job.wait(60)
    again = plan.run(budget=99999)
    scripted.end.clear()
    whole = sweep(BOAT, seed=range(10, 16)).start(budget=99999, concurrency=2)
    _until(lambda: whole.progress.under_way == 2 == scripted.sent - 6)
    whole.cancel(running=True)

    assert counts(whole.wait(60)) == {"cancelled": 2, "not started": 4}
    assert sorted(scripted.cancelled) == ["r6", "r7"]
    assert state == "stopping"
    assert so_far["not started"] == 4
    assert set(so_far) <= {"not started", "waiting", "running"}
    assert counts(table) == {"completed": 2, "not started": 4}
    assert set(table["error_type"].dropna()) == {"Stopped"}
    assert counts(again) == {"completed": 6}


def test_an_interrupt_stops_the_sending_and_not_what_is_paid(hosted: Hosted, at_hosted: Client) -> None:
    """The prompt is back within two seconds, no call stands behind the stop mark, and the same cell goes on."""
    scripted = Scripted(hosted)
    plan = sweep(BOAT, seed=range(6))
    moment: list[float] = []

    def interrupt() -> None:
        hosted.wait_until(lambda _: scripted.sent == 2)
        moment.append(time.monotonic())
        _thread.interrupt_main()

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(
        KeyboardInterrupt, match=r"4 runs will not be sent.*may still cost 106 credits.*nothing is paid for twice"
    ):
        plan.run(budget=99999, concurrency=2)
    took = time.monotonic() - moment[0]
    thread.join()
    scripted.end.set()
    table = plan.run(budget=99999, concurrency=2)
    events = at_hosted.ledger.read(lambda db: db.execute("SELECT state FROM events ORDER BY seq").fetchall())
    story = [state for (state,) in events]

    assert took < 2.0
    assert counts(table) == {"completed": 6}
    assert scripted.sent == 6
    assert story[: story.index("stop")].count("sending") == 2


def test_a_sweep_can_be_awaited_and_tells_at_the_end(served: Served, client: Client) -> None:
    """Listeners get the job, few times, and at the end with its whole table; `notify` only then, once.

    A notebook is saved when its last cell has ended, so what a slow listener draws at the end is drawn by then; one that
    waits for the sweep itself is no deadlock.
    """
    seen: list[tuple[str, str, int]] = []
    notified: list[tuple[str, int]] = []
    never = threading.Event()

    def listen(job: SweepJob) -> None:
        if job.is_done:
            never.wait(0.05)
            job.wait(5)
        seen.append((job.progress.state, repr(job), len(job.frame)))

    async def cell() -> pd.DataFrame:
        job = dots(4).start(budget=4 * PRICE, notify=lambda job: notified.append((repr(job), len(job.wait(5)))))
        job.on_change(listen)
        return await job

    began = time.monotonic()
    table = asyncio.run(cell())
    took = time.monotonic() - began

    assert counts(table) == {"completed": 4}
    state, text, rows = seen[-1]
    assert (state, rows) == ("done", 4)
    assert notified == [(text, 4)]
    assert "4 completed" in text
    assert len(seen) <= took * 4 + 3


def test_a_closed_client_ends_a_sweep_without_losing_what_is_paid(hosted: Hosted, tmp_path: Path) -> None:
    """The runs go on at the service; the next client follows them, and nothing is paid for twice."""
    scripted = Scripted(hosted)
    plan = sweep(BOAT, seed=range(6))
    with rb.connect(hosted.base_url, api_key="a-key-of-this-test", library=tmp_path / "library"):
        job = plan.start(budget=99999, concurrency=2)
        hosted.wait_until(lambda _: scripted.sent == 2)
    table = job.wait(30)
    scripted.end.set()
    with rb.connect(hosted.base_url, api_key="a-key-of-this-test", library=tmp_path / "library"):
        again = plan.run(budget=99999)

    assert counts(table)["not started"] == 4
    assert counts(again) == {"completed": 6}
    assert scripted.sent == 6


def test_on_error_stop_ends_a_sweep_with_its_first_failure(served: Served, client: Client) -> None:
    """What was under way ends, the rest is not sent."""
    plan = sweep(rb.ImagesToVideo(images=["https://example.org/gone.png"]), images=[_broken(), *_good(20)])

    table = plan.run(budget=plan.credits, concurrency=1, on_error="stop")

    assert counts(table) == {"failed": 1, "not started": 20}
    assert len(reserved(served)) == 1


def test_a_rate_is_never_exceeded_and_leaves_no_burst_behind(hosted: Hosted, at_hosted: Client) -> None:
    """Eight runs at 20 a second, the last four of them after a pause, take at least seven twentieths of a second."""
    scripted, began = Scripted(hosted), time.monotonic()
    scripted.end.set()
    job = sweep(BOAT, seed=range(8)).start(budget=99999, rate="20/s")
    hosted.wait_until(lambda _: scripted.sent >= 4)
    job.pause()
    job.resume()
    job.wait(60)

    assert time.monotonic() - began >= 7 / 20
    assert scripted.sent == 8
