"""A run in its cell: what is sent to the page while it works, and what stays there."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.formatters import DisplayFormatter

from reelbook.display import live, register
from reelbook.display.live import final_bundle, interrupted_bundle, kernel_shell, progress_bundle, show, watch
from reelbook.errors import RunFailed
from reelbook.models.pricing import Estimate
from reelbook.runs import Run
from tests.clips import film
from tests.display.stand_in import Read, run_of

PATIENCE = 10


@dataclass
class Cell:
    """Stands in for a kernel's cell, and keeps every message that would go to the page."""

    execution_count: int = 4
    shown: list[dict[str, Any]] = field(default_factory=list)
    updates: queue.Queue[dict[str, Any]] = field(default_factory=queue.Queue)

    def display(self, bundle: dict[str, Any], *, raw: bool, display_id: bool = False) -> Cell:
        assert raw
        self.shown.append(bundle)
        return self

    def update(self, bundle: dict[str, Any], *, raw: bool) -> None:
        assert raw
        self.updates.put(bundle)

    def next_update(self) -> dict[str, Any]:
        return self.updates.get(timeout=PATIENCE)

    @property
    def last_update(self) -> dict[str, Any]:
        found = self.updates.get_nowait()
        while not self.updates.empty():
            found = self.updates.get_nowait()
        return found


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cell]:
    """A cell of a notebook, with a clock that ticks quickly."""
    cell = Cell()
    monkeypatch.setattr(live, "kernel_shell", lambda: cell)
    monkeypatch.setattr("IPython.display.display", cell.display)
    monkeypatch.setattr(live, "UPDATE_SECONDS", 0.005)
    yield cell
    assert not [thread for thread in threading.enumerate() if thread.name == "reelbook-progress"]


def under_way(**state: Any) -> Run:
    return run_of(**{"status": "IN_PROGRESS", "progress": (0.1, "painting"), "prompt": None, **state})


def test_outside_a_notebook_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script sees no output and pays for no thread."""
    monkeypatch.setattr("IPython.display.display", lambda *arguments, **options: pytest.fail("something was shown"))
    threads = threading.active_count()

    with watch(under_way()):
        during = threading.active_count()

    assert kernel_shell() is None
    assert during == threads


def test_the_line_follows_the_run(cell: Cell) -> None:
    """Each change of the run is one message, which replaces the line before it."""
    run = under_way(status="IN_QUEUE", progress=(0.0, "2 ahead in the queue"))

    with watch(run):
        vars(run).update(status="IN_PROGRESS", progress=(0.5, "painting"))
        second = cell.next_update()
        run.logs.append("Understood: one boat.")
        third = cell.next_update()

    assert cell.shown[0]["text/plain"] == "◔ 2 ahead in the queue · 3 s"
    assert second["text/plain"].startswith("◑ painting · 50%")
    assert "Understood: one boat." in third["text/html"]


def test_nothing_is_sent_while_nothing_is_new(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page is not bothered with the same line again, however often the run is looked at."""
    looked = threading.Semaphore(0)

    def counted(run: Run) -> dict[str, str]:
        looked.release()
        return progress_bundle(run)

    monkeypatch.setattr(live, "progress_bundle", counted)
    with watch(under_way()):
        for _ in range(20):
            assert looked.acquire(timeout=PATIENCE)
        sent = cell.updates.qsize()

    assert sent == 0


def test_the_result_takes_the_place_of_the_line(cell: Cell, tmp_path: Path) -> None:
    """What stays is the figure, its strip as a picture of its own, and a line of text, in one message."""
    run = run_of(film(tmp_path / "clip.mp4", frames=3))

    with watch(run):
        pass

    left = cell.last_update
    assert left.keys() == {"text/plain", "text/html", "image/jpeg"}
    assert Read(left["text/html"]).one("video")["src"].startswith("data:video/mp4;base64,")
    assert left["image/jpeg"].startswith(b"\xff\xd8\xff")
    assert len(cell.shown) == 1


def test_a_result_is_shown_once_in_its_cell(cell: Cell, tmp_path: Path) -> None:
    """`rb.run(…)` as the last line of a cell shows one figure, not two; the next cell shows it again."""
    run = run_of(film(tmp_path / "clip.mp4", frames=3))
    with watch(run):
        pass

    show(run)
    in_its_own_cell = len(cell.shown)
    cell.execution_count += 1
    show(run)

    assert in_its_own_cell == 1
    assert [sorted(bundle) for bundle in cell.shown[1:]] == [["image/jpeg", "text/html", "text/plain"]]


def test_a_failure_stays_as_a_line(cell: Cell) -> None:
    """The error goes on its way, and the cell keeps what the service said."""
    run = run_of(status="failed", failure=RunFailed("r-1", "no such picture", None))

    with pytest.raises(RunFailed), watch(run):
        raise RunFailed("r-1", "no such picture", None)

    assert "✕ failed: Run r-1 failed: no such picture." in cell.last_update["text/html"]
    assert run.shown_in is None


def test_an_interrupt_says_that_the_run_goes_on(cell: Cell) -> None:
    """Stopping the cell stops the waiting only; what stays is the line of code that picks the run up again."""
    run = under_way()

    with pytest.raises(KeyboardInterrupt), watch(run):
        raise KeyboardInterrupt

    left = cell.last_update
    code = 'rb.attach("request-1", model="svc/text-to-video-13b-distilled")'
    assert "the run goes on" in Read(left["text/html"]).text
    assert Read(left["text/html"]).text.endswith(code)
    assert left["text/plain"].endswith(code)


def test_an_interrupt_after_the_end_shows_the_result(tmp_path: Path) -> None:
    """Where the run was done already, there is nothing to pick up."""
    run = run_of(film(tmp_path / "clip.mp4", frames=2))

    assert interrupted_bundle(run) == final_bundle(run)


def test_the_bar_shows_only_what_is_known() -> None:
    """A service that tells no progress gets a bar without an end, not an empty one."""
    told, untold = (Read(progress_bundle(under_way(progress=(n, "work")))["text/html"]) for n in (0.25, 0.0))

    assert told.one("progress")["value"] == "0.250"
    assert "value" not in untold.one("progress")
    assert told.one("progress")["aria-label"] == "progress"


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</div></div>" * 3])
def test_what_the_service_says_stays_a_text(text: str) -> None:
    """A hostile log line or stage adds no element to the page, while it works or after an interrupt."""

    def shapes(words: str) -> list[list[tuple[str, dict[str, str]]]]:
        run = under_way(progress=(0.5, words), logs=[words], request_id=words, endpoint_id=words)
        return [
            Read(bundle(run)["text/html"]).elements for bundle in (progress_bundle, interrupted_bundle, final_bundle)
        ]

    assert shapes(text) == shapes("a boat")


def test_a_shell_learns_to_show_our_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After `register`, a notebook shows files as figures, prices as tables, and leaves runs to `show`."""
    shown: list[Run] = []
    monkeypatch.setattr(live, "show", shown.append)
    formatter: Any = DisplayFormatter()
    run = object.__new__(Run)
    register(SimpleNamespace(display_formatter=formatter, kernel=object()))

    file, _ = formatter.format(film(tmp_path / "clip.mp4", frames=3))
    price, _ = formatter.format(Estimate(53))
    of_run, _ = formatter.format(run)

    assert file.keys() >= {"text/html", "image/jpeg", "text/plain"}
    assert "53 credits" in price["text/html"]
    assert (of_run, shown) == ({}, [run])


def test_in_a_terminal_a_run_is_its_line_of_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing but text can be shown, no picture is made."""
    monkeypatch.setattr(live, "show", lambda run: pytest.fail("a figure was made"))
    monkeypatch.setattr(Run, "__repr__", lambda run: "<Run of a model>")
    formatter: Any = DisplayFormatter()
    register(SimpleNamespace(display_formatter=formatter))

    shown, _ = formatter.format(object.__new__(Run))

    assert shown == {"text/plain": "<Run of a model>"}
