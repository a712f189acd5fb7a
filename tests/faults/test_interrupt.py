"""Figure 2: the stop button of a notebook loses nothing, and nothing is sent after it.

The kernels are real ones. What they call is a real service whose answers can be held back, so that each interrupt comes
at the moment that is meant. The oracles are the order of the ledger's own events and the service's charge log.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import reelbook as rb
from reelbook.errors import ReelbookError
from reelbook.runs.submit import Submission
from reelbook.storage.ledger import transitions
from reelbook.util.background_loop import background
from tests.faults.audit import query
from tests.faults.kernels import PATIENCE, Ended, Kernel
from tests.faults.nursery import clip
from tests.faults.proxy import Held, Proxy
from tests.support import Served

PROMPT_SECONDS = 2.0
SERVICES = [
    pytest.param("shared_spec_only", id="spec only"),
    pytest.param("shared", id="idempotent", marks=pytest.mark.deep),
]
HOW_TO_GO_ON = "Run the cell again"
SLOW_SECONDS = 3.5
"""Jupyter terminates a kernel after 2.5 s, and kills it after 5."""
SEED = 2
CONNECT = "client = rb.connect({!r}, api_key={!r}, library={!r})"


@dataclass(frozen=True)
class Bench:
    """A kernel with a client of a service, and what both have written down."""

    kernel: Kernel
    served: Served
    gate: Proxy
    library: Path

    def interrupted(self, code: str, held: Held, *, answered: bool = True, said: str = "") -> Ended:
        """Stop a cell as soon as a held call has come, and it has said this; the call is answered after the prompt is back."""
        cell = self.kernel.begin(code)
        held.arrived()
        cell.until(said)
        self.kernel.interrupt()
        ended = cell.ended()
        if answered:
            held.let_go()
            self.drained()
        return ended

    def drained(self) -> None:
        """Wait until nothing is under way to the service any more."""
        self.kernel.run(
            f"background.wait(drained(client._context, {PATIENCE}))\nclient.ledger.transact_now(lambda db: None)"
        )

    def paid(self) -> list[str]:
        return [line["request_id"] for line in self.served.charges() if line["kind"] == "reserve"]

    def states(self) -> list[str]:
        return [state for (state,) in self._query("SELECT state FROM runs ORDER BY id")]

    def requests(self) -> list[str | None]:
        return [name for (name,) in self._query("SELECT request_id FROM runs ORDER BY id")]

    def paid_after_the_stop(self) -> list[str]:
        """Requests that were paid for and whose sending is not written down, or only after a stop mark."""
        stops = [seq for (seq,) in self._query("SELECT seq FROM events WHERE state = 'stop'")]
        before = self._query(
            f"SELECT request_id FROM runs WHERE id IN (SELECT run FROM events WHERE state = 'sending' AND seq < {min(stops)})"
        )
        return [name for name in self.paid() if (name,) not in before]

    def sent_after_the_stop(self) -> list[int]:
        return [
            run
            for (run,) in self._query(
                "SELECT run FROM events WHERE state = 'sending' AND seq > (SELECT min(seq) FROM events WHERE state = 'stop')"
            )
        ]

    def _query(self, sql: str) -> Any:
        return query(self.library / "ledger.sqlite", sql)


@pytest.fixture(scope="module")
def kernel(shared_spec_only: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """One for all: whatever an interrupt has left in it must not disturb the next one."""
    served, folder = shared_spec_only.with_own_account(), tmp_path_factory.mktemp("kernel")
    with Kernel(folder) as kernel:
        kernel.run(
            "import asyncio\nimport reelbook as rb\nfrom reelbook.util.background_loop import background\nfrom reelbook.runs.submit import Submission\n"
            "async def drained(context, seconds):\n    if context._sending:\n        await asyncio.wait({*context._sending}, timeout=seconds)\n"
            f"def clip(number):\n    return rb.ImagesToVideo(**{{**{clip(0)!r}, 'fps': 1 + number / 2}})"
        )
        # How quick an interrupt is must not depend on what the first run and IPython's first traceback import, which takes
        # seconds on a busy machine: an interrupt waits for the end of an import.
        kernel.run(
            CONNECT.format(served.base_url, served.key, str(folder / "library")) + "\nrb.run(clip(0))\nclient.close()"
        )
        kernel.begin("1 / 0").ended()
        yield kernel


@contextmanager
def opened(kernel: Kernel, served: Served, library: Path) -> Iterator[Bench]:
    with Proxy(served.base_url) as gate:
        kernel.run(CONNECT.format(gate.base_url, served.key, str(library)))
        yield Bench(kernel, served, gate, library)


@pytest.fixture
def bench(request: pytest.FixtureRequest, kernel: Kernel, tmp_path: Path) -> Iterator[Bench]:
    service: Served = request.getfixturevalue(request.param)
    with opened(kernel, service.with_own_account(), tmp_path / "library") as bench:
        yield bench
    kernel.run("client.close()")


WAITS = {
    "rb.run waits": ("run = rb.run(clip(1))", "/status", "Interrupted"),
    # IPython cancels such a cell instead of interrupting it; the words are the same, and nothing else is cancelled.
    "a cell awaits": ("run = rb.start(clip(1))\nprint('started.')\nawait run", "/status", "CancelledError"),
    "its file comes": ("run = rb.run(clip(1))", "GET /files/", "Interrupted"),
}
"""What a cell does, the call that is held back, and the error in which the cell ends."""


@pytest.mark.parametrize("way", WAITS)
@pytest.mark.parametrize("bench", SERVICES, indirect=True)
def test_an_interrupt_while_a_run_is_waited_for(bench: Bench, way: str) -> None:
    """The prompt is back, the run and its download go on, and the same cell waits for it again at no cost."""
    code, held, error = WAITS[way]
    code += "\nprint(run.video.path.exists(), run.request_id)"

    ended = bench.interrupted(code, bench.gate.hold(held), said="started." if "started" in code else "")
    (paid,) = bench.paid()
    again = bench.kernel.run(code)

    assert_back_at_the_prompt(ended, error, names=paid)
    if error == "Interrupted":
        assert_nothing_sent_after_the_stop(bench)
    assert again.out.endswith(f"True {paid}\n")
    assert bench.paid() == [paid]
    assert bench.states() == ["stored"]


@pytest.mark.parametrize("bench", SERVICES, indirect=True)
def test_an_interrupt_while_many_are_submitted_in_a_loop(bench: Bench) -> None:
    """The one in flight is written down when its answer comes, the others are not sent; the same cell sends only them."""
    code = (
        "runs = [rb.start(clip(number)) for number in range(16)]\nprint(len({run.wait().request_id for run in runs}))"
    )
    held = bench.gate.hold("POST /models/run", skip=11, after=True)

    ended = bench.interrupted(code, held)
    paid = bench.paid()
    states = bench.states()
    assert_nothing_sent_after_the_stop(bench)
    again = bench.kernel.run(code)

    assert_back_at_the_prompt(ended, "Interrupted")
    assert len(paid) == len(states) == 12
    assert "uncertain" not in states
    assert "sending" not in states
    assert again.out == "16\n"
    assert len(bench.paid()) == 16
    assert bench.states() == ["stored"] * 16


@pytest.mark.parametrize("bench", SERVICES, indirect=True)
def test_what_has_not_left_when_the_interrupt_comes_does_not_leave(bench: Bench) -> None:
    """It stops between the price and the sending: nothing is paid, and the same cell starts it afresh."""
    code = "print(rb.run(clip(1)).video.path.exists())"

    ended = bench.interrupted(code, bench.gate.hold("POST /models/pricing/estimate"))
    paid = bench.paid()
    assert_nothing_sent_after_the_stop(bench)
    again = bench.kernel.run(code)

    assert_back_at_the_prompt(ended, "Interrupted")
    assert paid == []
    assert again.out == "True\n"
    assert len(bench.paid()) == 1


@pytest.mark.deep
@pytest.mark.parametrize("bench", SERVICES[:1], indirect=True)
def test_without_the_look_for_a_stop_a_run_is_sent_after_it(bench: Bench) -> None:
    """The control: the same interrupt, and a submission that does not look, is a payment after the stop mark."""
    bench.kernel.run("looks, Submission._check_stopped = Submission._check_stopped, lambda submission: None")

    bench.interrupted("rb.run(clip(1))", bench.gate.hold("POST /models/pricing/estimate"))
    bench.kernel.run("Submission._check_stopped = looks")

    assert len(bench.paid()) == 1
    assert bench.paid_after_the_stop() == bench.paid()
    assert bench.sent_after_the_stop() == [1]


@pytest.mark.parametrize("bench", SERVICES[:1], indirect=True)
def test_interrupts_in_a_row_in_a_kernel_are_one(bench: Bench) -> None:
    """Whoever presses the stop button several times gets the prompt, and loses nothing."""
    held = bench.gate.hold("POST /models/run", after=True)
    cell = bench.kernel.begin("rb.sweep(clip(1), fps=range(1, 9)).run(budget=9999)")
    held.arrived()
    for _ in range(5):
        bench.kernel.interrupt()
        threading.Event().wait(0.05)
    ended = cell.ended()
    held.let_go()
    bench.drained()

    # The next interrupt may come while IPython shows the first one; it then prints the name alone.
    assert "Interrupt" in ended.error + ended.err
    assert bench.kernel.said == ""
    assert len(bench.paid()) == 1
    assert "uncertain" not in bench.states()


@pytest.mark.parametrize(
    ("bench", "times", "runs"),
    [
        pytest.param("shared_spec_only", 3, 24, id="small", marks=pytest.mark.deep),
        pytest.param("shared_spec_only", 25, 200, id="deep", marks=[pytest.mark.deep, pytest.mark.timeout(600)]),
    ],
    indirect=["bench"],
)
def test_interrupts_at_any_moment(bench: Bench, times: int, runs: int) -> None:
    """Not only at the moments chosen above. Wherever they hit, nothing is uncertain, nothing is paid twice, and the prompt is back in time."""
    chance = random.Random(SEED)
    started = 0

    for _ in range(times):
        cell = bench.kernel.begin(
            f"for number in range({runs}):\n    rb.start(clip(number))\n    print('started', number, '.')"
        )
        started += chance.randrange(1, runs // (times + 1))
        cell.until(f"started {started} .")
        threading.Event().wait(chance.uniform(0, 0.05))
        bench.kernel.interrupt()
        ended = cell.ended()
        bench.drained()
        # The cell's own print may be what was interrupted.
        assert ended.error in ("Interrupted", "KeyboardInterrupt")
        assert ended.seconds <= PROMPT_SECONDS
        assert len(bench.paid()) == len(bench.states()) - bench.states().count("planned")

    last = bench.kernel.run(f"print(len({{rb.start(clip(number)).wait().request_id for number in range({runs})}}))")
    assert last.out == f"{runs}\n"
    assert len(bench.paid()) == runs
    assert bench.states() == ["stored"] * runs


def test_a_stop_that_comes_while_a_run_is_about_to_be_sent_is_heeded(shared_spec_only: Served, tmp_path: Path) -> None:
    """However close: once the stop mark is on its way to the ledger, no sending is written behind it."""
    served = shared_spec_only.with_own_account()
    with rb.connect(served.base_url, api_key=served.key, library=tmp_path / "library") as client:
        ledger = client.ledger
        submission = Submission(client._context, rb.ImagesToVideo(**clip(1)))
        submit = ledger.submit

        def submit_late(work: Any, **more: Any) -> Any:
            if submission.claimed is not None and not submission.stopped:
                submission.stopped = True
                submit(lambda db: transitions.record_event(db, None, "stop", "just now"))
            return submit(work, **more)

        ledger.submit = submit_late  # type: ignore[method-assign]
        with pytest.raises(ReelbookError, match="nothing was charged"):
            background.wait(client.submit_run(submission), PATIENCE)
        del ledger.submit
        story = ledger.transact_now(lambda db: db.execute("SELECT state FROM events ORDER BY seq").fetchall())

    assert story == [("claimed",), ("stop",), ("planned",)]
    assert served.charges() == []


@pytest.mark.parametrize("seconds", [0.0, pytest.param(SLOW_SECONDS, marks=pytest.mark.deep)])
def test_a_kernel_that_is_shut_down_writes_the_answer_in_flight_down(
    shared_spec_only: Served, kernel: Kernel, tmp_path: Path, seconds: float
) -> None:
    """The notebook is closed while a paid request waits for its answer: the next one finds it accepted.

    Also where the answer is so slow that Jupyter has asked the kernel's process to terminate meanwhile. The last test here:
    it is the end of the kernel of all.
    """

    def answer() -> None:
        threading.Event().wait(seconds)
        held.let_go()

    with ExitStack() as stack:
        if seconds:
            kernel = stack.enter_context(Kernel(tmp_path / "kernel"))
            kernel.run("import reelbook as rb")
        with opened(kernel, shared_spec_only.with_own_account(), tmp_path / "library") as bench:
            held = bench.gate.hold("POST /models/run", after=True)
            bench.interrupted(f"rb.start(rb.ImagesToVideo(**{clip(1)!r}))", held, answered=False)
            before = bench.states()

            status = kernel.shut_down(answer)

        assert (before, status) == (["sending"], 0)
        # Where its first news was quick enough, that is written down too.
        assert {*bench.states()} <= {"accepted", "stored"}
        assert bench.requests() == bench.paid()
        assert bench.paid_after_the_stop() == []
        assert kernel.said == ""


def assert_back_at_the_prompt(ended: Ended, error: str, *, names: str = "") -> None:
    """In time, and with words on how to go on that name the request."""
    assert ended.error == error
    assert HOW_TO_GO_ON in ended.message
    assert names in ended.message
    assert ended.seconds <= PROMPT_SECONDS


def assert_nothing_sent_after_the_stop(bench: Bench) -> None:
    """Neither by the order of the ledger nor by the service's own log."""
    assert bench.sent_after_the_stop() == []
    assert bench.paid_after_the_stop() == []
