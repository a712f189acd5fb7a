"""A sweep as the value of a cell: how many messages of all kinds go to the page together, on a real kernel's wire.

Each output by itself is counted in tests/sweeps/test_acceptance.py, and runs by themselves in test_ticker.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faults.kernels import PATIENCE, Kernel

ROOT = Path(__file__).resolve().parents[2]
RATE, SECOND = 4, 0.95
"""Messages, and the second in which they are counted: a little less than one, because the wire itself is not even."""
SHOWN = ("display_data", "update_display_data", "comm_msg")

SETUP = """\
import os, sys
sys.path.insert(0, {root!r})
import reelbook as rb
from reelbook.display.panels import panel_bundle
from reelbook.sweeps.tally import Tally
from tests.sweeps.dots import DOT
client = rb.connect(library=os.environ["REELBOOK_LIBRARY"])
plan = rb.sweep(DOT, fps=[1 + number / 10 for number in range(120)])
rest = rb.sweep(DOT, fps=[50 + number / 10 for number in range(40)])
"""
EACH_CHANGE = """\
change = Tally.change
def changed(tally, *what, **facts):
    change(tally, *what, **facts)
    naive.update(panel_bundle(job.progress), raw=True)
naive = display("naive", display_id=True)
Tally.change = changed
job = rest.start()
job.wait()"""


@dataclass(frozen=True)
class Message:
    """Something that was sent to the page."""

    at: float
    kind: str


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Message], list[Message]]:
    """What a sweep of 120 instant runs sends as the value of a cell, and what a page would be sent by each change."""
    folder = tmp_path_factory.mktemp("messages")
    environment = {"PYTHONPATH": str(ROOT), "REELBOOK_LIBRARY": str(folder / "library"), "REELBOOK_URL": ""}
    with Kernel(folder / "kernel", **environment) as kernel:
        kernel.run(SETUP.format(root=str(ROOT)))
        return messages(kernel, "job = plan.start()\ndisplay(job)\njob.wait(100);"), messages(kernel, EACH_CHANGE)


def messages(kernel: Kernel, code: str) -> list[Message]:
    """Everything that goes to the page while this runs."""
    cell = kernel.begin(code)
    found: list[Message] = []
    while True:
        message = cell.client.get_iopub_msg(timeout=PATIENCE)
        content, kind = message["content"], message["msg_type"]
        assert kind != "error", content["evalue"]
        if kind in SHOWN:
            found.append(Message(message["header"]["date"].timestamp(), kind))
        elif (
            kind == "status"
            and content["execution_state"] == "idle"
            and message["parent_header"].get("msg_id") == cell.name
        ):
            return found


def most_in_a_second(moments: Sequence[float]) -> int:
    """The most of them in any second."""
    return max((sum(start <= moment < start + SECOND for moment in moments) for start in moments), default=0)


def test_a_sweep_in_its_cell_sends_four_messages_a_second(sent: tuple[list[Message], list[Message]]) -> None:
    """Panel and buttons together, however many runs end meanwhile; only the first and the last moment have their own few."""
    ours, _ = sent
    first, last = ours[0].at, ours[-1].at

    under_way = [message.at for message in ours if first + 1 < message.at < last - 0.1]

    assert len(under_way) >= 2, "the panel has not moved"
    assert most_in_a_second(under_way) <= RATE
    assert len(ours) <= RATE * (last - first) + 10


def test_the_count_finds_too_many(sent: tuple[list[Message], list[Message]]) -> None:
    """The control: a message for each change of a run, which is what one would write first."""
    _, naive = sent

    assert len(naive) > 80
    assert most_in_a_second([message.at for message in naive]) > 3 * RATE
