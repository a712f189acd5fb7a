"""A second interrupt, one at the end of the process and an order to end lose nothing that would have been known.

Scripts and commands in processes of their own, against a real service whose answers are held back. The oracles are the
ledger and the service's charge log; what the process wrote is read, too.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import reelbook as rb
from tests.faults.audit import query
from tests.faults.kernels import PATIENCE
from tests.faults.nursery import clip, until
from tests.faults.proxy import Proxy
from tests.support import Served

APART = 0.5
"""A person who presses again, and means it."""
IGNORED = "Exception ignored"
CONNECT = "import reelbook as rb\nclient = rb.connect({address!r}, api_key={key!r}, library={library!r})\n"
CLIP = f"rb.ImagesToVideo(**{clip(1)!r})"
SCRIPTS = {
    "a run": f"rb.run({CLIP})\n",
    "a sweep": f"rb.sweep({CLIP}, fps=range(1, 9)).run(budget=9999)\n",
    # Short sleeps: a signal that comes in the very moment in which one begins is handled after it.
    "something else": f"import time\njob = rb.sweep({CLIP}, fps=range(1, 9)).start(budget=9999, concurrency=1)\n"
    "for _ in range(600):\n    time.sleep(0.1)\n",
}


@dataclass(frozen=True)
class Process:
    """A script, and what it writes to standard error."""

    popen: subprocess.Popen[bytes]
    errors: Path

    @property
    def text(self) -> str:
        return self.errors.read_text(encoding="utf-8")

    def signal(self, number: int = signal.SIGINT) -> None:
        self.popen.send_signal(number)

    def until(self, text: str) -> None:
        """Wait until it has written this."""
        until(lambda: text in self.text)

    def ended(self) -> int:
        """Its exit status."""
        return self.popen.wait(PATIENCE)


@dataclass
class Place:
    """A service that holds answers back, and a library."""

    served: Served
    gate: Proxy
    library: Path

    def script(self, code: str) -> Process:
        """A script that has connected."""
        # Whatever started the tests may ignore what a closed terminal sends, and children would, too.
        before = "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
        before += CONNECT.format(address=self.gate.base_url, key=self.served.key, library=str(self.library))
        return self.process([sys.executable, "-c", before + code])

    def process(self, command: list[str], **environment: str) -> Process:
        errors = self.library.with_name("errors.txt")
        with errors.open("wb") as file:
            env = {**os.environ, **environment}
            return Process(subprocess.Popen(command, stderr=file, stdout=subprocess.DEVNULL, env=env), errors)

    def states(self) -> list[str]:
        found = query(self.library / "ledger.sqlite", "SELECT state FROM runs WHERE state != 'planned' ORDER BY id")
        return [state for (state,) in found]

    def paid(self) -> list[str]:
        return [line["request_id"] for line in self.served.charges() if line["kind"] == "reserve"]

    def uncertain(self) -> list[int]:
        """The runs of which the next notebook knows that nobody knows."""
        with rb.connect(self.gate.base_url, api_key=self.served.key, library=self.library):
            return [one.run for one in rb.library().uncertain]


@pytest.fixture
def place(shared_spec_only: Served, tmp_path: Path) -> Iterator[Place]:
    served = shared_spec_only.with_own_account()
    with Proxy(served.base_url) as gate:
        yield Place(served, gate, tmp_path / "library")


def test_the_second_interrupt_at_the_end_gives_up_and_says_what_is_uncertain(place: Place) -> None:
    """Knowingly: it ends at once, and names the run and what it may have cost."""
    held = place.gate.hold("POST /models/run", after=True)
    process = place.script(SCRIPTS["a run"])
    held.arrived()
    process.signal()
    process.until("Interrupted")
    for words in ("once more", "You gave up"):
        time.sleep(APART)
        process.signal()
        process.until(words)
    status = process.ended()
    held.let_go()

    assert status == 1
    assert IGNORED not in process.text
    assert process.text.count("Traceback") == 1
    assert "for run 1 of the library: rb.library().uncertain" in process.text
    assert place.uncertain() == [1]


def test_a_sweep_on_the_command_line_says_what_goes_on(place: Place, tmp_path: Path) -> None:
    """The command ends with the status that shells expect; a second interrupt changes nothing."""
    file = tmp_path / "plan.toml"
    rb.sweep(rb.ImagesToVideo(**clip(1)), fps=[1, 2, 3]).to_toml(file)
    held = place.gate.hold("POST /models/run", after=True)
    process = place.process(
        [sys.executable, "-c", "import sys\nfrom reelbook.cli import main\nsys.exit(main())", "sweep", str(file), "--budget", "999"],
        REELBOOK_URL=place.gate.base_url, REELBOOK_API_KEY=place.served.key, REELBOOK_LIBRARY=str(place.library),
    )  # fmt: skip
    held.arrived()
    process.signal()
    process.until("You interrupted a sweep: 0 of 3 runs completed")
    time.sleep(APART)
    process.signal()
    process.until("1 paid request waits")
    held.let_go()

    status = process.ended()

    assert status == 130
    assert "Traceback" not in process.text
    assert IGNORED not in process.text
    assert len(place.paid()) == len(place.states()) == 1
    assert place.uncertain() == []


@pytest.mark.parametrize(
    ("what", "order"),
    [
        pytest.param("something else", signal.SIGTERM, marks=pytest.mark.deep),
        ("something else", signal.SIGHUP),
        pytest.param("a sweep", signal.SIGTERM, marks=pytest.mark.deep),
        pytest.param("a run", signal.SIGHUP, marks=pytest.mark.deep),
    ],
)
def test_an_order_to_end_while_something_is_paid_for_waits_for_the_answer(
    place: Place, what: str, order: signal.Signals
) -> None:
    """As the system sends it when a machine is shut down, or a terminal closed; whatever the script does meanwhile."""
    held = place.gate.hold("POST /models/run", after=True)
    process = place.script(SCRIPTS[what])
    held.arrived()
    process.signal(order)
    threading.Timer(0.3, held.let_go).start()

    status = process.ended()

    assert (status, process.text) == (128 + order, "")
    assert len(place.paid()) == 1
    assert place.uncertain() == []
