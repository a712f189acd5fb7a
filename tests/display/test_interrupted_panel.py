"""A sweep that is interrupted in its cell: its panel goes on with what is paid for, and says at last how it ended."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.faults.kernels import PATIENCE, Kernel
from tests.sweeps.dots import Scripted
from tests.transport.variants import Hosted

ROOT = Path(__file__).resolve().parents[2]
CODE = """
import reelbook as rb
from tests.sweeps.dots import BOAT
client = rb.connect()
plan = rb.sweep(BOAT, seed=range(6))"""


def test_the_panel_of_an_interrupted_sweep_goes_on_to_its_end(tmp_path: Path) -> None:
    """The cell has ended with the interrupt; its panel shows both runs that were paid for, and why there are no more."""
    with Hosted() as hosted:
        scripted = Scripted(hosted)
        environment = {
            "REELBOOK_URL": hosted.base_url, "REELBOOK_API_KEY": "a-key-of-this-test", "PYTHONPATH": str(ROOT),
            "REELBOOK_LIBRARY": str(tmp_path / "library"), "PATH": os.environ["PATH"],
        }  # fmt: skip
        with Kernel(tmp_path / "kernel", **environment) as kernel:
            kernel.run(CODE)
            cell = kernel.begin("plan.run(budget=10_000, concurrency=2)")
            hosted.wait_until(lambda _: scripted.sent == 2)
            kernel.interrupt()
            seen = [_until_idle(cell.client)]
            scripted.end.set()
            seen += _until(cell.client, "Stopped:")
            kernel.run("client.close()")

    assert seen[0].startswith("error Interrupted")
    assert "2 of 6" in seen[-1]
    assert "106 of 10,000 credits spent" in seen[-1]
    assert "Stopped: The sweep was interrupted. Run the plan again" in seen[-1]
    assert "about" not in seen[-1]


def _until_idle(client: object) -> str:
    """What the cell ended with."""
    found = ""
    while True:
        message = client.get_iopub_msg(timeout=PATIENCE)  # type: ignore[attr-defined]
        if message["msg_type"] == "error":
            found = f"error {message['content']['ename']} {message['content']['evalue']}"
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle" and found:
            return found


def _until(client: object, words: str) -> list[str]:
    """The panels that are shown from now on, until one says this."""
    found: list[str] = []
    deadline = time.monotonic() + PATIENCE
    while not found or words not in found[-1]:
        message = client.get_iopub_msg(timeout=max(deadline - time.monotonic(), 0.1))  # type: ignore[attr-defined]
        if message["msg_type"] == "update_display_data":
            found.append(message["content"]["data"]["text/plain"] + message["content"]["data"]["text/html"])
    return found
