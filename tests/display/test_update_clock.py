"""One clock for all outputs that keep up: how many messages it sends, and whose turn it is."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reelbook.display import update_clock
from reelbook.display.update_clock import LiveOutput, OutputUpdater
from tests.faults.kernels import PATIENCE, Kernel
from tests.sweeps.dots import Scripted
from tests.transport.variants import Hosted

ROOT = Path(__file__).resolve().parents[2]
RUNS, WATCHED_SECONDS = 64, 1.5

RUNS_UNDER_WAY = """
import sys, threading, time
sys.path.insert(0, {root!r})
import reelbook as rb
from IPython.display import display
from reelbook.display import run_progress, update_clock
from tests.display.stand_in import run_of
rb.options  # Hangs the pictures.

runs = [run_of(status="IN_PROGRESS", progress=(0.0, "painting"), request_id=f"run-{{n}}") for n in range({runs})]
told, over = [0], threading.Event()
listeners = {{id(run): [] for run in runs}}

def work():
    # Each run tells something new fifty times a second.
    while not over.is_set():
        for run in runs:
            vars(run)["progress"] = ((run.progress[0] + 0.001) % 1.0, "painting")
            for tell in listeners[id(run)]:
                tell(run)
            told[0] += 1
        time.sleep(0.02)

threading.Thread(target=work, daemon=True).start()
"""
NAIVE = """
for run in runs:
    handle = display(run_progress.progress_bundle(run), raw=True, display_id=True)
    listeners[id(run)].append(lambda run, handle=handle: handle.update(run_progress.progress_bundle(run), raw=True))
"""
END = """
over.set()
update_clock.UPDATE_SECONDS = 0.002
for run in runs:
    vars(run).update(status="cancelled")
"""


SIX_RUNS = """
import reelbook as rb
from tests.sweeps.dots import BOAT
client = rb.connect({url!r}, api_key="a-key-of-this-test", library={library!r})
plan = rb.sweep(BOAT, seed=range(6))"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("kernel")
    environment = {"PYTHONPATH": str(ROOT), "REELBOOK_LIBRARY": str(folder / "library"), "REELBOOK_URL": ""}
    with Kernel(folder, **environment) as running:
        yield running


class Page:
    """What a page would be sent: every display message, with the second in which it came."""

    def __init__(self, kernel: Kernel) -> None:
        self._client: Any = kernel._client
        self.shown: dict[str, list[dict[str, Any]]] = {}
        self.updates: list[float] = []

    def run(self, code: str) -> str:
        """Run a cell to its end; gives the id of its request."""
        name = str(self._client.execute(code))
        while True:
            message = self._next(PATIENCE)
            assert message is not None, "the kernel says nothing"
            assert message["msg_type"] != "error", message["content"]
            mine = message["parent_header"].get("msg_id") == name
            if mine and message["content"].get("execution_state") == "idle":
                return name

    def watch(self, seconds: float) -> None:
        """Look on for a while."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._next(left)

    def until(self, wanted: str, count: int) -> None:
        """Look on until so many outputs show this."""
        end = time.monotonic() + PATIENCE
        while sum(wanted in bundles[-1]["text/plain"] for bundles in self.shown.values()) < count:
            assert time.monotonic() < end, f"not every output shows {wanted!r}"
            self._next(1)

    def _next(self, timeout: float) -> dict[str, Any] | None:
        from queue import Empty

        try:
            message: dict[str, Any] = self._client.get_iopub_msg(timeout=timeout)
        except Empty:
            return None
        if message["msg_type"] in ("display_data", "update_display_data"):
            name = message["content"].get("transient", {}).get("display_id", "")
            self.shown.setdefault(name, []).append(message["content"]["data"])
            if message["msg_type"] == "update_display_data":
                self.updates.append(time.monotonic())
        return message


def most_in_a_second(times: list[float]) -> int:
    return max((sum(start <= other < start + 1 for other in times) for start in times), default=0)


class TestKernel:
    """Measured on the channel by which a real kernel talks to its page."""

    @pytest.mark.deep
    def test_sixty_four_runs_send_four_messages_a_second_in_all(self, kernel: Kernel) -> None:
        """Though each of them has news fifty times a second. At the end every one of them is shown as ended."""
        page = Page(kernel)
        page.run(RUNS_UNDER_WAY.format(root=str(ROOT), runs=RUNS) + "for run in runs:\n    run_progress.show(run)")
        page.updates.clear()

        page.watch(WATCHED_SECONDS)
        sent, crowded = len(page.updates), most_in_a_second(page.updates)
        page.run(END)
        page.until("⊘ cancelled", RUNS)

        assert len(page.shown) == RUNS
        assert 2 * WATCHED_SECONDS <= sent <= 4 * WATCHED_SECONDS + 1
        assert crowded <= 5  # Four gaps of a quarter of a second have five ends.

    @pytest.mark.deep
    def test_the_count_of_messages_works(self, kernel: Kernel) -> None:
        """The control of the test above: the same runs, each telling its own output, send hundreds a second."""
        page = Page(kernel)
        page.run(RUNS_UNDER_WAY.format(root=str(ROOT), runs=RUNS) + NAIVE)
        page.updates.clear()

        page.watch(1.0)
        page.run("over.set()")

        assert len(page.updates) > 100

    @pytest.mark.deep
    def test_a_started_run_as_the_value_of_a_cell_becomes_its_result(self, kernel: Kernel) -> None:
        """Its cell ends at once; later messages go to the same output, though another cell has run since."""
        page = Page(kernel)
        page.run("import reelbook as rb\nclient = rb.connect()")
        page.run(
            "rb.start(rb.TextToVideo(prompt='a paper boat', num_frames=9, resolution='480p', aspect_ratio='1:1', seed=1))"
        )
        page.run("1 + 1")

        page.until("● completed", 1)
        page.run("client.close()")

        # What the control sent at last may still have been on its way.
        (bundles,) = [found for found in page.shown.values() if "● completed" in found[-1]["text/plain"]]
        assert bundles[0]["text/plain"].startswith(("◔", "◑"))
        assert re.search(r'<video src="data:video/mp4;base64,', bundles[-1]["text/html"])
        assert bundles[-1].keys() == {"text/plain", "text/html", "image/jpeg"}


@pytest.mark.deep
def test_the_panel_of_an_interrupted_sweep_goes_on_to_its_end(kernel: Kernel, tmp_path: Path) -> None:
    """The cell has ended with the interrupt; its panel shows both runs that were paid for, and why there are no more."""
    with Hosted() as hosted:
        scripted = Scripted(hosted)
        kernel.run(SIX_RUNS.format(url=hosted.base_url, library=str(tmp_path / "library")))
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


class TestTurns:
    """Whose turn it is."""

    def test_an_end_comes_first_then_what_has_changed_most(self) -> None:
        """Nothing new waits; a finished run does not."""
        now = time.monotonic() + 1
        same = card("a", shown=("a",))
        little, much = card("a", 0.5, shown=("a", 0.4)), card("b", 0.9, shown=("a", 0.1))
        ended = card("a", shown=("a",), over=True)

        turns = sorted([same, little, much, ended], key=lambda card: -card.urgency(now))

        assert turns == [ended, much, little, same]
        assert same.urgency(now) == 0

    def test_who_has_waited_longest_comes_before_who_has_changed_a_little_more(self) -> None:
        """Nobody waits for ever."""
        waited, moved = card("b", shown=("a",)), card("b", 0.9, shown=("a", 0.1))
        waited._since -= 60

        assert waited.urgency(time.monotonic()) > moved.urgency(time.monotonic())

    def test_the_thread_ends_with_the_last_output(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """And a new output starts another one."""
        monkeypatch.setattr(update_clock, "UPDATE_SECONDS", 0.001)
        clock, sent = OutputUpdater(), list[dict[str, Any]]()

        for place in range(2):
            clock.add(LiveOutput(sent.append, lambda: {"text/plain": "done"}, lambda: ("new",), is_over=lambda: True))
            clock.join(PATIENCE)
            assert len(sent) == place + 1

    def test_sixty_four_outputs_are_told_once_in_a_turn_of_the_clock_all_together(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Though each of them always has news. At the end every one is told of its own end."""
        monkeypatch.setattr(update_clock, "UPDATE_SECONDS", 0.05)
        clock, sent, last, over = OutputUpdater(), list[float](), set[int](), threading.Event()

        def watched(number: int) -> LiveOutput:
            def tell(bundle: dict[str, Any]) -> None:
                sent.append(time.monotonic())
                if bundle["text/plain"] == "ended":
                    last.add(number)

            return LiveOutput(
                tell,
                lambda: {"text/plain": "ended" if over.is_set() else "painting"},
                lambda: ("ended",) if over.is_set() else (time.monotonic(),),
                is_over=over.is_set,
            )

        outputs = [watched(number) for number in range(RUNS)]
        began = time.monotonic()
        for output in outputs:
            clock.add(output)
        time.sleep(0.25)
        count, seconds = len(sent), time.monotonic() - began
        monkeypatch.setattr(update_clock, "UPDATE_SECONDS", 0.001)
        over.set()
        clock.join(PATIENCE)

        assert 2 <= count <= seconds / 0.05 + 2
        assert last == set(range(RUNS))

    def test_a_closed_output_is_left_as_it_is(self) -> None:
        """What was being made while it closed is not sent."""
        sent = list[dict[str, Any]]()

        def late() -> dict[str, Any]:
            closing.close()
            return {"text/plain": "late"}

        closing = LiveOutput(sent.append, late, lambda: ("new",))

        closing.update()

        assert sent == []


def card(*key: Any, shown: tuple[Any, ...], over: bool = False) -> LiveOutput:
    return LiveOutput(lambda bundle: None, dict, lambda: key, is_over=lambda: over, sent_key=shown)
