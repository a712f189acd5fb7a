"""What a sweep promises, end to end: money on the charge log, words on the panel, and few updates of it on a real kernel's wire."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import reelbook as rb
from reelbook.client import Client
from reelbook.display.sweep_panel import format_panel, render_panel
from reelbook_service.service_settings import Settings
from reelbook_service.worker_pool import Worker
from tests.faults.kernels import PATIENCE, Kernel
from tests.support import Served, deep, png
from tests.sweeps.dots import PRICE, dots, paid, reserved

ENDLESS = 101
"""The seed of a run that takes longer than it may."""


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


@pytest.mark.deep
def test_a_budget_of_530_runs_ten_of_24_and_says_so(served: Served, client: Client) -> None:
    """Exactly ten, in the table and on the panel, without an exception; a larger budget pays for the other fourteen alone."""
    plan = dots(24)

    job = plan.start(budget=10 * PRICE)
    table = job.wait(60)
    line, page = format_panel(job.progress), render_panel(job.progress)
    ten = reserved(served)
    rest = plan.run(budget=plan.credits)

    assert counts(table, "status") == {"completed": 10, "not started": 14}
    assert len(ten) == 10
    assert set(table.loc[table["status"] == "completed", "request_id"]) == set(ten)
    assert all(told in line for told in ("10 of 24", "10 completed", "14 not started", "530 of 530 credits spent"))
    assert all(
        told in page
        for told in (
            "10 completed",
            "14 not started",
            "530 of 530 credits spent",
            "To finish the plan: budget=plan.credits",
        )
    )
    assert counts(rest, "status") == {"completed": 24}
    assert reserved(served)[:10] == ten
    assert len(reserved(served)) == 24


@pytest.mark.deep
def test_a_sweep_with_a_third_of_failing_rows_finishes_the_others_and_pays_for_them_alone(
    served: Served, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two pictures that nobody can read, two prompts that the check refuses, a run that the engine does not end."""
    # Such a run says that it has hardly begun when it is stopped, so it would be looked at again only much later.
    monkeypatch.setattr("reelbook.transport.poller.MAX_PAUSE_SECONDS", 0.5)
    perform = Worker.perform

    async def limited(worker: Worker, order: Mapping[str, Any], request: Any, settings: Settings) -> Any:
        # The time of this one alone is short, so that no other depends on how busy the machine is.
        limit = 0.3 if order["input"]["seed"] == ENDLESS else settings.run_seconds
        return await perform(worker, order, request, replace(settings, run_seconds=limit))

    monkeypatch.setattr(Worker, "perform", limited)
    picture, gone, none = png(16, 16), "http://127.0.0.1:9/nobody.png", "data:image/png;base64,AAAA"
    base = rb.SmartResize(image_url=picture, target_sizes=["16x16"], seed=1)
    endless = {"target_sizes": [f"{side}x{side}" for side in range(3000, 3200, 10)], "resolution": "4K", "num_images_per_size": 4}  # fmt: skip
    bad: list[dict[str, Any]] = [
        {"image_url": gone}, {"image_url": none}, {"prompt": "a scene of gore"}, {"prompt": "gore, again"},
        {"seed": ENDLESS, **endless},
    ]  # fmt: skip
    good: list[dict[str, Any]] = [{"seed": number} for number in range(2, 12)]

    plan = rb.sweep(base, [*bad, *good])
    table = plan.run(budget=plan.credits)

    failed = table[table["status"] == "failed"]
    assert counts(table, "status") == {"completed": 10, "failed": 5}
    assert table["status"].tolist() == ["failed"] * 5 + ["completed"] * 10
    groups = failed.groupby("error_type", observed=True).size().to_dict()
    assert (groups["content_policy_violation"], groups["engine_timeout"]) == (2, 1)
    assert sum(groups.values()) == 5
    assert failed["error"].notna().all()
    assert failed["credits"].fillna(0).sum() == 0
    assert set(paid(served)) == set(table.loc[table["status"] == "completed", "request_id"])
    assert _net(served) == table["credits"].sum() == sum(row.credits or 0 for row in plan[5:])


def _net(served: Served) -> int:
    """What the service has kept of what it took."""
    sign = {"reserve": 1, "refund": -1, "settle": 0}
    return sum(sign[line["kind"]] * line["credits"] for line in served.charges())


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


@pytest.mark.deep
def test_a_script_in_a_terminal_shows_one_line(script: list[str]) -> None:
    """It is written over and over, and left standing at the end: a single line break, from a real terminal."""
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        process = subprocess.Popen(script, stdout=subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        told = b"".join(_read(terminal)).decode()
        out, _ = process.communicate(timeout=60)

    assert (process.returncode, out) == (0, b"")
    assert told.count("\n") == 1
    assert told.endswith("\n")
    left = told.rstrip().rpartition("\r\x1b[K")[2]
    assert left.startswith("6 of 6 · 6 completed")
    assert len(left) < 80


def _read(terminal: Any) -> Iterator[bytes]:
    """What comes from a terminal until everybody has left it, which Linux tells with an error."""
    try:
        while piece := terminal.read(4096):
            yield piece
    except OSError:
        return


SEVERAL = """
import os
import reelbook as rb
from IPython.display import display
from reelbook.sweeps.execute.progress import Tally
from tests.sweeps.dots import DOT
client = rb.connect(library=os.environ["REELBOOK_LIBRARY"])
speeds = [round(1 + number * 0.1, 1) for number in range(MANY + FEW)]
plan, more = (rb.sweep(DOT, fps=some) for some in (speeds[:MANY], speeds[MANY:]))
naive, change = display("naive", display_id="naive"), Tally.change

def changed(tally, *what, **facts):
    change(tally, *what, **facts)
    naive.update("naive")
"""
RATE, SECOND = 4, 0.95
"""Updates, and the second in which they are counted: a little less than one, because the wire itself is not even."""


@pytest.mark.deep
@pytest.mark.parametrize(("many", "few"), [(36, 20), *deep((150, 50))])
def test_the_panel_of_many_instant_runs_is_updated_four_times_a_second_at_most(
    served: Served, tmp_path: Path, many: int, few: int
) -> None:
    """Counted on the wire of a real kernel. The control is what one would write first: an update for each change."""
    environment = {
        "REELBOOK_URL": served.base_url, "REELBOOK_API_KEY": served.key, "REELBOOK_LIBRARY": str(tmp_path / "library"),
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]),
    }  # fmt: skip
    with Kernel(tmp_path / "kernel", **environment) as kernel:
        kernel.run(f"MANY, FEW = {many}, {few}\n{SEVERAL}")
        by_run = _updates(kernel, "table = plan.run(budget=plan.credits)")
        kernel.run("Tally.change = changed")
        by_job = _updates(kernel, "job = more.start(budget=more.credits); display(job); table = job.wait()")

    naive = by_job.pop("naive")
    assert len(naive) > 2 * few
    assert _most_in_a_second(naive) > 5 * RATE
    assert max(map(len, by_run.values())) >= 3, "the panel has not moved"
    assert by_job
    for updates in (by_run, by_job):
        for name, moments in updates.items():
            # The last one comes at once, whenever that is.
            assert _most_in_a_second(moments[:-1]) <= RATE, name
    assert len(paid(served)) == many + few


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
