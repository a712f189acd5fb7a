"""What a cell or a terminal sees of what it waits for: runs, counts, and many at once; and nothing is left running."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from reelbook.display import live, run_card
from reelbook.display.live import Count, LiveOutput, OutputUpdater, watch_count, watch_measuring
from reelbook.display.live import updater as clock
from reelbook.display.run_card import (
    show,
    watch,
)
from reelbook.display.run_text import format_status
from reelbook.errors import RunFailed
from reelbook.runs.run import Run
from reelbook.util.notebook import get_kernel_shell
from tests.clips import film
from tests.display.stand_in import bare, run_of

PATIENCE = 10


@dataclass
class Cell:
    """Stands in for a kernel's cell, and keeps every message that would go to the page."""

    execution_count: int = 4
    shown: list[dict[str, Any]] = field(default_factory=list)
    updates: queue.Queue[dict[str, Any]] = field(default_factory=queue.Queue)
    kernel: Any = True

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
    monkeypatch.setattr(run_card, "get_kernel_shell", lambda: cell)
    monkeypatch.setattr(live, "get_kernel_shell", lambda: cell)
    monkeypatch.setattr("IPython.display.display", cell.display)
    monkeypatch.setattr(live, "UPDATE_SECONDS", 0.005)
    yield cell
    clock.join(PATIENCE)
    assert not [thread for thread in threading.enumerate() if thread.name == "reelbook-progress"]


def under_way(**state: Any) -> Run:
    return run_of(**{"status": "IN_PROGRESS", "progress": (0.1, "painting"), "prompt": None, **state})


def test_outside_a_notebook_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script sees no output and pays for no thread."""
    monkeypatch.setattr("IPython.display.display", lambda *arguments, **options: pytest.fail("something was shown"))
    threads = set(threading.enumerate())

    with watch(under_way()):
        more = set(threading.enumerate()) - threads

    assert get_kernel_shell() is None
    assert more == set()


def test_the_line_follows_the_run(cell: Cell) -> None:
    """Each change of the run is one message, which replaces the line before it."""
    run = under_way(status="IN_QUEUE", progress=(0.0, "2 ahead in the queue"))

    with watch(run):
        vars(run).update(status="IN_PROGRESS", progress=(0.5, "painting"))
        second = cell.next_update()
        run.logs.append("Scene: one boat.")
        third = cell.next_update()

    assert cell.shown[0]["text/plain"] == "◔ 2 ahead in the queue · 3 s"
    assert second["text/plain"].startswith("◑ painting · 50%")
    assert "Scene: one boat." in third["text/html"]


def test_the_result_takes_the_place_of_the_line(cell: Cell, tmp_path: Path) -> None:
    """What stays is the figure, its strip as a picture of its own, and a line of text, in one message."""
    run = run_of(film(tmp_path / "clip.mp4", frames=3))

    with watch(run):
        pass

    left = cell.last_update
    assert left.keys() == {"text/plain", "text/html", "image/jpeg"}
    assert bare(left["text/html"]).one("video")["src"].startswith("data:video/mp4;base64,")
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


def test_a_failure_stays_as_a_card(cell: Cell) -> None:
    """The error goes on its way, and the cell keeps what the service said."""
    run = run_of(status="failed", failure=RunFailed("r-1", "no such picture", None))

    with pytest.raises(RunFailed), watch(run):
        raise RunFailed("r-1", "no such picture", None)

    left = cell.last_update
    assert "no such picture" in bare(left["text/html"]).text
    assert left["text/plain"].startswith("✕ failed: no such picture")
    assert run.displayed_in is None


def test_an_interrupt_says_that_the_run_goes_on(cell: Cell) -> None:
    """Stopping the cell stops the waiting only; what stays is the line of code that picks the run up again."""
    run = under_way()

    with pytest.raises(KeyboardInterrupt), watch(run):
        raise KeyboardInterrupt

    left = cell.last_update
    code = "rb.attach('request-1', model='svc/text-to-video-13b-distilled')"
    assert "the run continues" in bare(left["text/html"]).text
    assert bare(left["text/html"]).text.endswith(code)
    assert left["text/plain"].endswith(code)


class TestHandle:
    """A run that is the value of a cell while it is under way."""

    def test_it_is_shown_as_it_goes_and_becomes_its_result(self, cell: Cell, tmp_path: Path) -> None:
        """One output: where it stands, then how far it is, then the figure; all after the cell has ended."""
        run = under_way(status="IN_QUEUE", progress=(0.0, "2 ahead in the queue"))

        show(run)
        cell.execution_count += 1
        vars(run).update(status="IN_PROGRESS", progress=(0.5, "painting"))
        second = cell.next_update()
        vars(run).update(vars(run_of(film(tmp_path / "clip.mp4", frames=3))))
        last = cell.next_update()
        clock.join(PATIENCE)

        assert [bundle["text/plain"] for bundle in cell.shown] == ["◔ 2 ahead in the queue · 3 s"]
        assert second["text/plain"].startswith("◑ painting · 50%")
        assert last.keys() == {"text/plain", "text/html", "image/jpeg"}
        assert cell.updates.empty()

    def test_many_in_one_cell_bring_pictures_only(self, cell: Cell, tmp_path: Path) -> None:
        """Four runs bring their clips along; of five each brings its poster, so that the notebook stays small."""
        clip = film(tmp_path / "clip.mp4", frames=3)
        few, many = (
            [under_way() for _ in range(run_card.MAX_WITH_CLIPS)],
            [under_way() for _ in range(run_card.MAX_WITH_CLIPS + 1)],
        )

        found = []
        for runs in (few, many):
            cell.execution_count += 1
            for run in runs:
                show(run)
            for run in runs:
                vars(run).update(vars(run_of(clip)))
            found.append([len(bare(cell.next_update()["text/html"]).all("video")) for _ in runs])

        assert found == [[1] * run_card.MAX_WITH_CLIPS, [0] * (run_card.MAX_WITH_CLIPS + 1)]


class TestTerminal:
    """`rb.run` in a script."""

    def test_a_terminal_gets_one_line_that_moves(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """It is written over while the run works, and what stays says what came of it and where it is."""
        monkeypatch.setattr(live, "is_terminal", lambda: True)
        monkeypatch.setattr(live, "UPDATE_SECONDS", 0.001)
        looked, run = threading.Event(), under_way()

        def looked_at(run: Run) -> str:
            looked.set()
            return format_status(run)

        monkeypatch.setattr(run_card, "format_status", looked_at)
        clip = film(tmp_path / "clip.mp4", frames=3)

        with watch(run):
            assert looked.wait(PATIENCE)
            vars(run).update(vars(run_of(clip)))

        written = capsys.readouterr().err
        assert written.startswith("\r\x1b[K◑ painting")
        assert written.rpartition("\x1b[K")[2].startswith("● completed · 3.2 s · 53 credits · ")
        assert written.endswith("\n")


def test_a_notebook_sees_a_bar_that_moves_and_then_a_line(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the cell that waits: the thread that shows it knows whose it is, as kernels tell cells apart by context."""
    number: ContextVar[int] = ContextVar("number", default=0)
    number.set(7)
    shown = threading.Event()
    numbers: list[int] = []

    def display(bundle: dict[str, Any], **options: bool) -> Cell:
        numbers.append(number.get())
        shown.set()
        return cell.display(bundle, **options)

    monkeypatch.setattr("IPython.display.display", display)
    monkeypatch.setattr(live, "QUIET_SECONDS", 0.01)

    with watch_measuring(200) as tell:
        assert shown.wait(PATIENCE)
        tell(50, 200)
        first = cell.next_update()
        tell(200, 200)

    assert numbers == [7]
    assert first["text/plain"].startswith("50 of 200 files measured")
    assert 'value="0.250"' in first["text/html"]
    assert "<progress" not in cell.last_update["text/html"]


def test_what_is_quick_shows_nothing(cell: Cell) -> None:
    """Within the second that anybody waits."""
    with watch_measuring(2) as tell:
        tell(2, 2)

    assert (cell.shown, cell.updates.qsize()) == ([], 0)


def test_an_interrupt_leaves_how_far_it_came(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is raised all the same."""
    monkeypatch.setattr(live, "QUIET_SECONDS", 0.0)

    count = Count(3, "files measured")
    count(1, 3)

    with pytest.raises(KeyboardInterrupt), watch_count(count):
        raise KeyboardInterrupt

    left = cell.last_update
    assert left["text/plain"].startswith("1 of 3 files measured")
    assert "<progress" not in left["text/html"]


def test_the_time_that_is_left_counts_what_is_measured_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ninety of a hundred files came from the library; two more took ten seconds, so the other eight take forty."""
    now = [0.0]
    monkeypatch.setattr("reelbook.display.live.time.monotonic", lambda: now[0])
    count = Count(100, "files measured")

    count(90, 100)
    before = count.line
    now[0] = 10.0
    count(92, 100)

    assert before == "90 of 100 files measured"
    assert count.line == "92 of 100 files measured · about 40 s left"


PATIENCE = 30
RUNS = 64


def test_sixty_four_outputs_are_told_once_in_a_turn_of_the_clock_all_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though each of them always has news. At the end every one is told of its own end."""
    monkeypatch.setattr(live, "UPDATE_SECONDS", 0.05)
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

    began = time.monotonic()
    for number in range(RUNS):
        clock.add(watched(number))
    time.sleep(0.25)
    count, seconds = len(sent), time.monotonic() - began
    monkeypatch.setattr(live, "UPDATE_SECONDS", 0.001)
    over.set()
    clock.join(PATIENCE)

    assert 2 <= count <= seconds / 0.05 + 2
    assert last == set(range(RUNS))
