"""A sweep sends little ahead of what the service works on, and what waits there when it is stopped can be cancelled."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

import reelbook as rb
from reelbook.client import Client
from reelbook.sweeps.executor import MIN_AHEAD
from tests.faults.kernels import PATIENCE
from tests.support import KEY, Serve, png
from tests.sweeps.dots import BOAT, PRICE, RUN, paid, reserved
from tests.transport.variants import Hosted, Received, Reply

AT_WORK = 2


class Line:
    """A hosted service that works on two runs at once, each for as long as the test wants."""

    def __init__(self, hosted: Hosted) -> None:
        self._hosted = hosted
        self._guard = threading.Condition()
        self._sent: list[str] = []
        self._ended: set[str] = set()
        self._cancelled: set[str] = set()
        self.most_waiting = 0
        hosted.on("POST", RUN, self._accept)
        hosted.on("GET", "/file", Reply(200, png()))

    @property
    def going(self) -> list[str]:
        return [name for name in self._sent if name not in self._ended]

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
        if place < AT_WORK:
            return Reply(200, {"status": "IN_PROGRESS"})
        return Reply(200, {"status": "IN_QUEUE", "queue_position": place - AT_WORK})

    def _result(self, name: str) -> Reply:
        if name in self._cancelled:
            return Reply(499, {"detail": "cancelled", "error_type": "cancelled"})
        return Reply(200, {"video": {"url": f"{self._hosted.base_url}/file"}, "seed": 1, "prompt": "a boat"})

    def _cancel(self, name: str) -> Reply:
        with self._guard:
            self._cancelled.add(name)
            self._ended.add(name)
        return Reply(200, {"success": True})


def test_little_waits_at_the_service_however_many_there_are(hosted: Hosted, at_hosted: Client) -> None:
    """Twelve runs and room for 64 at once: two are worked on, and no more wait than those that end in two seconds, or two."""
    line = Line(hosted)
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


def test_the_runs_of_a_sweep_that_goes_on_are_not_cancelled_along(serve: Serve, tmp_path: Path) -> None:
    """Only after it was told to stop; also what an earlier process has left in the queue."""
    served = serve(workers=1)
    folder = tmp_path / "library"
    with rb.connect(served.base_url, api_key=KEY, library=folder):
        job = rb.sweep(rb.TextToVideo(prompt="a boat", num_frames=1441, resolution="480p"), seed=range(60)).start(
            budget=9999
        )
        # One is worked on, though the client may not know yet, and two wait behind it.
        for _ in range(int(PATIENCE / 0.02)):
            if len(reserved(served)) > MIN_AHEAD:
                break
            threading.Event().wait(0.02)
        untouched = rb.cancel_queued()
        job.cancel()
    with rb.connect(served.base_url, api_key=KEY, library=folder):
        cancelled = rb.cancel_queued()
        going = rb.attach(paid(served)[0])
        with suppress(rb.RunTimeout):  # On a busy machine it may have ended by now; a cancelled one would raise.
            going.wait(0)
        going.cancel()

    assert untouched.runs == 0
    assert cancelled.runs >= MIN_AHEAD
    assert cancelled.credits == cancelled.runs * PRICE
    assert len(paid(served)) <= 1
