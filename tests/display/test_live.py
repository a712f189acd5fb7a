"""Waiting for figures: something moves when it takes longer than a moment, and nothing is left running."""

from __future__ import annotations

import io
import queue
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import pytest

from reelbook.display import live
from reelbook.display.live import Count, watch_measuring

PATIENCE = 10
cell_number: ContextVar[int] = ContextVar("cell_number", default=0)


class Page:
    """Stands in for a notebook's page, and keeps what it is told, with the cell that told it."""

    def __init__(self) -> None:
        self.told: queue.Queue[tuple[int, dict[str, Any]]] = queue.Queue()

    def display(self, bundle: dict[str, Any], *, raw: bool, display_id: bool = False) -> Page:
        self.told.put((cell_number.get(), bundle))
        return self

    def update(self, bundle: dict[str, Any], *, raw: bool) -> None:
        self.told.put((cell_number.get(), bundle))

    def until(self, words: str) -> dict[str, Any]:
        """The first thing from now on that says so."""
        while True:
            _, bundle = self.told.get(timeout=PATIENCE)
            if words in bundle["text/plain"]:
                return bundle


@pytest.fixture(autouse=True)
def _leaves_no_thread() -> Iterator[None]:
    yield
    live.updater.join(PATIENCE)
    assert not [one for one in threading.enumerate() if one.name == "reelbook-progress"]


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Page:
    """The page of a notebook, where nobody has patience and clocks tick quickly."""
    page = Page()
    monkeypatch.setattr(live, "get_kernel_shell", lambda: page)
    monkeypatch.setattr("IPython.display.display", page.display)
    monkeypatch.setattr(live, "QUIET_SECONDS", 0.01)
    monkeypatch.setattr(live, "UPDATE_SECONDS", 0.005)
    return page


def test_a_notebook_sees_a_bar_that_moves_and_then_a_line(page: Page) -> None:
    """In the cell that waits: the thread that shows it knows whose it is, as kernels tell cells apart by context."""
    cell_number.set(7)

    with watch_measuring(200) as tell:
        number, _ = page.told.get(timeout=PATIENCE)
        tell(50, 200)
        first = page.until("50 of 200 files measured")
        tell(200, 200)

    assert number == 7
    assert 'value="0.250"' in first["text/html"]
    assert "<progress" not in page.until("200 of 200 files measured")["text/html"]


def test_what_is_quick_shows_nothing(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the second that anybody waits."""
    monkeypatch.setattr(live, "QUIET_SECONDS", 60.0)

    with watch_measuring(2) as tell:
        tell(2, 2)

    assert page.told.empty()


def test_an_interrupt_leaves_how_far_it_came(page: Page) -> None:
    """And is raised all the same."""

    def interrupted() -> None:
        with watch_measuring(3) as tell:
            tell(1, 3)
            page.until("1 of 3 files measured")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    assert "<progress" not in page.until("1 of 3 files measured")["text/html"]


def test_a_pipe_sees_nothing_and_pays_for_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in scripts whose output goes to a file."""
    pipe = io.StringIO()
    monkeypatch.setattr("sys.stderr", pipe)
    threads = set(threading.enumerate())

    with watch_measuring(5) as tell:
        tell(1, 5)
        more = set(threading.enumerate()) - threads

    assert (pipe.getvalue(), more) == ("", set())


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
