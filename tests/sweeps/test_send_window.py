"""A sweep sends little ahead of what the service works on, and what waits there when it is stopped can be cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import reelbook as rb
from reelbook.client import Client
from reelbook.sweeps.executor import MIN_AHEAD
from tests.faults.kernels import PATIENCE, Kernel
from tests.support import KEY, Serve, deep, png
from tests.sweeps.dots import BOAT, PRICE, RUN, paid, reserved
from tests.transport.variants import Hosted, Received, Reply

AT_WORK = 2
LONG = "rb.TextToVideo(prompt='a boat', num_frames=1441, resolution='480p')"


class Line:
    """A hosted service that works on two runs at once, each for as long as the test wants."""

    def __init__(self, hosted: Hosted, *, positions: bool, silent: bool = False) -> None:
        self._hosted, self._positions, self._silent = hosted, positions, silent
        self._guard = threading.Condition()
        self._sent: list[str] = []
        self._ended: set[str] = set()
        self._cancelled: set[str] = set()
        self.most_waiting = 0
        hosted.on("POST", RUN, self._accept)
        hosted.on("GET", "/file", Reply(200, png()))

    @property
    def going(self) -> list[str]:
        return [one for one in self._sent if one not in self._ended]

    def end(self, count: int) -> None:
        """Wait until so many are worked on or wait, and end the first ones."""
        with self._guard:
            assert self._guard.wait_for(lambda: len(self.going) >= count, PATIENCE)
            self._ended.update(self.going[:count])

    def until_sent(self, count: int) -> None:
        with self._guard:
            assert self._guard.wait_for(lambda: len(self._sent) >= count, PATIENCE), len(self._sent)

    def _accept(self, _: Received) -> Reply:
        with self._guard:
            name = f"r{len(self._sent)}"
            self._sent.append(name)
            self.most_waiting = max(self.most_waiting, len(self.going) - AT_WORK)
            self._guard.notify_all()
        one = f"/{BOAT.endpoint_id}/requests/{name}"
        self._hosted.on("GET", f"{one}/status", lambda _: self._status(name))
        self._hosted.on("GET", one, lambda _: self._result(name))
        self._hosted.on("PUT", f"{one}/cancel", lambda _: self._cancel(name))
        return Reply(200, {"requestId": name})

    def _status(self, name: str) -> Reply:
        with self._guard:
            if name in self._ended:
                return Reply(200, {"status": "COMPLETED"})
            place = self.going.index(name)
        if place < AT_WORK and not self._silent:
            return Reply(200, {"status": "IN_PROGRESS"})
        position = {"queue_position": place - AT_WORK} if self._positions else {}
        return Reply(200, {"status": "IN_QUEUE", **position})

    def _result(self, name: str) -> Reply:
        if name in self._cancelled:
            return Reply(499, {"detail": "cancelled", "error_type": "cancelled"})
        return Reply(200, {"video": {"url": f"{self._hosted.base_url}/file"}, "seed": 1, "prompt": "a boat"})

    def _cancel(self, name: str) -> Reply:
        with self._guard:
            self._cancelled.add(name)
            self._ended.add(name)
        return Reply(200, {"success": True})


@pytest.fixture
def hosted() -> Iterator[Hosted]:
    with Hosted() as service:
        yield service


@pytest.fixture
def client(hosted: Hosted, tmp_path: Path) -> Iterator[Client]:
    with rb.connect(hosted.base_url, api_key="a-key-of-this-test", library=tmp_path / "hosted") as client:
        yield client


@pytest.mark.parametrize("positions", [True, *deep((False,))])
def test_little_waits_at_the_service_however_many_there_are(hosted: Hosted, client: Client, positions: bool) -> None:
    """Twelve runs and room for 64 at once: two are worked on, and no more wait than those that end in two seconds, or two."""
    line = Line(hosted, positions=positions)
    plan = rb.sweep(BOAT, seed=range(12))
    job = plan.start(budget=plan.credits, concurrency=64)

    line.until_sent(AT_WORK + MIN_AHEAD)
    line.end(1)
    line.until_sent(AT_WORK + MIN_AHEAD + 1)
    cancelled = job.cancel(queued=True)
    most = line.most_waiting
    line.end(len(line.going))
    table = job.wait(PATIENCE)

    # The first one may be seen to have begun only after the second has been sent.
    assert most <= MIN_AHEAD + 1
    assert cancelled is not None
    # One that has just begun may still be taken for one that waits.
    assert 1 <= cancelled.runs <= most + 1
    assert cancelled.credits == 0, "the service does not say that it gives any back"
    assert set(table["status"]) == {"completed", "cancelled", "not started"}
    assert line.going == []


def test_a_service_that_never_says_what_it_works_on_is_sent_as_many_as_may_be(hosted: Hosted, client: Client) -> None:
    """Where nothing can be learned from the statuses, `concurrency` alone is the limit, after the first few."""
    line = Line(hosted, positions=False, silent=True)
    plan = rb.sweep(BOAT, seed=range(20))
    job = plan.start(budget=plan.credits, concurrency=8)

    for _ in range(6):
        line.end(1)
    line.until_sent(6 + 8)
    job.cancel(running=True)

    assert job.wait(PATIENCE)["status"].value_counts()["completed"] == 6


@pytest.mark.deep
def test_what_queues_after_an_interrupt_is_cancelled_by_the_line_that_it_names(serve: Serve, tmp_path: Path) -> None:
    """One worker and long clips, in a real kernel: nothing is sent after the stop, and the credits of what queued come back."""
    served = serve(workers=1)
    with Kernel(tmp_path / "kernel") as kernel:
        kernel.run(
            f"import reelbook as rb\nclient = rb.connect({served.base_url!r}, api_key={KEY!r}, library={str(tmp_path / 'library')!r})"
        )
        cell = kernel.begin(
            f"plan = rb.sweep({LONG}, seed=range(60))\nprint('begun.')\nplan.run(budget=plan.credits, concurrency=64)"
        )
        cell.until("begun.")
        _wait_until(lambda: len(reserved(served)) >= 1 + MIN_AHEAD)
        kernel.interrupt()
        ended = cell.ended()
        sent = len(reserved(served))
        again = kernel.run("print(rb.cancel_queued())\nprint(rb.cancel_queued())")
        left = paid(served)
        rest = kernel.run("print(client.ledger.live and [run.cancel() for run in list(client.ledger.live.values())])")

    assert ended.error == "Interrupted"
    assert ended.seconds <= 2.0
    assert sent <= 1 + MIN_AHEAD + 1
    back = (sent - 1) * PRICE
    assert f"0 of 60 runs are completed, and {60 - sent} runs will not be sent." in ended.message
    assert f"1 run is being worked on and {sent - 1} runs wait in the service's queue" in ended.message
    assert f"which may still cost {sent * PRICE} credits." in ended.message
    assert f"get {back} credits back: rb.cancel_queued()" in ended.message
    first, second = again.out.splitlines()
    assert first.startswith(f"{sent - 1} runs are cancelled, {back} credits come back.")
    assert second.endswith("is being worked on and goes on.") or second == "No runs are waiting in the service's queue."
    assert len(left) == 1
    assert len(reserved(served)) == sent
    assert rest.out == "[True]\n"


def test_the_runs_of_a_sweep_that_goes_on_are_not_cancelled_along(serve: Serve, tmp_path: Path) -> None:
    """Only after it was told to stop; also what an earlier process has left in the queue."""
    served = serve(workers=1)
    folder = tmp_path / "library"
    with rb.connect(served.base_url, api_key=KEY, library=folder):
        job = rb.sweep(rb.TextToVideo(prompt="a boat", num_frames=1441, resolution="480p"), seed=range(60)).start(
            budget=9999
        )
        # One is worked on, though the client may not know yet, and two wait behind it.
        _wait_until(lambda: len(reserved(served)) > MIN_AHEAD)
        untouched = rb.cancel_queued()
        job.cancel()
    with rb.connect(served.base_url, api_key=KEY, library=folder):
        cancelled = rb.cancel_queued()
        with pytest.raises(rb.RunTimeout):
            rb.attach(paid(served)[0]).wait(0)
        rb.attach(paid(served)[0]).cancel()

    assert untouched.runs == 0
    assert cancelled.runs >= MIN_AHEAD
    assert cancelled.credits == cancelled.runs * PRICE
    assert len(paid(served)) <= 1


def _wait_until(true: Callable[[], bool]) -> None:
    for _ in range(int(PATIENCE / 0.02)):
        if true():
            return
        threading.Event().wait(0.02)
    raise AssertionError("it did not come about")
