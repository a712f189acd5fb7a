"""One clock for all outputs that keep up: how many messages it sends, and whose turn it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reelbook.display import update_clock
from reelbook.display.update_clock import LiveOutput, OutputUpdater
from tests.faults.kernels import PATIENCE, Kernel

ROOT = Path(__file__).resolve().parents[2]
RUNS, WATCHED_SECONDS = 64, 1.5

END = """
over.set()
update_clock.UPDATE_SECONDS = 0.002
for run in runs:
    vars(run).update(status="cancelled")
"""


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


class TestKernel:
    """Measured on the channel by which a real kernel talks to its page."""


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
