"""What a sweep promises, end to end: money on the charge log, words on the panel, and few updates of it on a real kernel's wire."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import reelbook as rb
from reelbook.client import Client
from tests.faults.kernels import PATIENCE, Kernel
from tests.support import Served


@pytest.fixture
def served(shared: Served) -> Served:
    return shared.with_own_account()


@pytest.fixture
def client(served: Served, tmp_path: Path) -> Iterator[Client]:
    with rb.connect(served.base_url, api_key=served.key, library=tmp_path / "library") as client:
        yield client


def counts(table: pd.DataFrame, column: str) -> dict[str, int]:
    return {str(value): int(count) for value, count in table[column].value_counts().items() if count}


# Money.


# What is shown.


SCRIPT = """
import sys
import reelbook as rb
from tests.sweeps.dots import dots
if __name__ == "__main__":
    with rb.connect(sys.argv[1], api_key=sys.argv[2], library=sys.argv[3]):
        plan = dots(6)
        assert (plan.run(budget=plan.credits).status == "completed").all()
"""


@pytest.fixture
def script(served: Served, tmp_path: Path) -> list[str]:
    """The command of a script with a sweep of six."""
    return [sys.executable, "-c", SCRIPT, served.base_url, served.key, str(tmp_path / "library")]


def _read(terminal: Any) -> Iterator[bytes]:
    """What comes from a terminal until everybody has left it, which Linux tells with an error."""
    try:
        while piece := terminal.read(4096):
            yield piece
    except OSError:
        return


RATE, SECOND = 4, 0.95
"""Updates, and the second in which they are counted: a little less than one, because the wire itself is not even."""


def _updates(kernel: Kernel, code: str) -> dict[str, list[float]]:
    """When each display and each widget was updated, by its name, while this ran."""
    cell = kernel.begin(code)
    found: dict[str, list[float]] = {}
    while True:
        message = cell.client.get_iopub_msg(timeout=PATIENCE)
        content, kind, at = message["content"], message["msg_type"], message["header"]["date"]
        assert kind != "error", content["evalue"]
        if kind == "update_display_data":
            found.setdefault(content["transient"]["display_id"], []).append(_seconds(at))
        elif kind == "comm_msg":
            found.setdefault(content["comm_id"], []).append(_seconds(at))
        elif kind == "status" and content["execution_state"] == "idle" and message["parent_header"].get("msg_id") == cell.name:  # fmt: skip
            return found


def _seconds(at: datetime) -> float:
    return at.timestamp()


def _most_in_a_second(moments: Sequence[float]) -> int:
    """The most of them in any second."""
    return max((sum(start <= moment < start + SECOND for moment in moments) for start in moments), default=0)


def test_a_count_of_updates_is_a_count() -> None:
    """The ruler itself: five within a second are five, and evenly spread ones are four."""
    assert _most_in_a_second([0, 0.1, 0.2, 0.3, 0.9, 1.5]) == 5
    assert _most_in_a_second([number * 0.26 for number in range(40)]) == 4
