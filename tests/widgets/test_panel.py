"""The buttons of a sweep, pressed without a page: what they send does what they say, and nothing else does anything."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import reelbook as rb
from reelbook.sweeps.job import SweepJob
from reelbook.widgets import panel as panel_module
from reelbook.widgets.panel import Panel, show_job
from tests.sweeps.dots import BOAT, PRICE, Scripted
from tests.transport.variants import Hosted

pytestmark = pytest.mark.usefixtures("quick_updates")

WAIT = 20.0


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    with Hosted() as hosted:
        yield Scripted(hosted)


@pytest.fixture
def job(scripted: Scripted, tmp_path: Path) -> Iterator[SweepJob]:
    """A sweep of six runs, two at a time, which end when the test says so."""
    with rb.connect(scripted.hosted.base_url, api_key="a-key-of-this-test", library=tmp_path / "library"):
        job = rb.sweep(BOAT, seed=range(6)).start(budget=6 * PRICE, concurrency=2)
        scripted.hosted.wait_until(lambda _: scripted.sent == 2)
        yield job
        job.cancel()
        scripted.end.set()
        job.wait(WAIT)


def press(panel: Panel, content: Any) -> None:
    """What the page sends when somebody presses a button."""
    panel._handle_custom_msg(content, [])


def until(panel: Panel, state: str) -> None:
    """Wait until the panel shows this state."""
    seen = threading.Event()
    panel.observe(lambda _: seen.set() if panel.state == state else None, "state")
    assert panel.state == state or seen.wait(WAIT), f"still {panel.state}"


def test_the_buttons_pause_resume_and_cancel(job: SweepJob, scripted: Scripted) -> None:
    """Each message has its effect, the panel says so, and what was sent is not touched."""
    panel = job.panel
    until(panel, "running")

    press(panel, {"do": "pause"})
    until(panel, "paused")
    press(panel, {"do": "resume"})
    until(panel, "running")
    press(panel, {"do": "cancel"})
    until(panel, "stopping")
    sent = scripted.sent
    scripted.end.set()
    until(panel, "done")

    assert sent == scripted.sent == 2
    assert scripted.cancelled == []
    assert "The sweep was cancelled" in panel.html


def test_a_page_can_ask_for_nothing_else(job: SweepJob) -> None:
    """A message is data from outside: of the job's methods only three are for it."""
    panel = job.panel
    until(panel, "running")

    odd: list[Any] = [{"do": "wait"}, {"do": "__init__"}, {"do": ["cancel"]}, {"do": None}, {}, [], "cancel", None, 5]
    for content in odd:
        press(panel, content)
        assert job.progress.state == "running", content


def test_buttons_beside_a_panel_do_not_carry_it_again(job: SweepJob) -> None:
    """The state alone goes to the page with each change, not the pictures."""
    beside, whole = Panel(job, with_html=False), Panel(job)
    until(whole, "running")

    assert beside.html == ""
    assert "0 of 6" in whole.html


def test_a_sweep_that_ends_while_its_panel_is_rendered_is_shown_at_its_end(
    job: SweepJob, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last update says that it is done, although the first one was of the moment before."""
    sent: list[str] = []
    is_final = threading.Event()

    class Handle:
        def update(self, bundle: dict[str, Any], raw: bool = True) -> None:
            sent.append(bundle["text/plain"])
            if "6 of 6" in sent[-1]:
                is_final.set()

    def displayed(bundle: dict[str, Any]) -> Handle:
        sent.append(bundle["text/plain"])
        scripted.end.set()
        job.wait(WAIT)
        return Handle()

    monkeypatch.setattr(panel_module, "new_output", displayed)
    show_job(job)

    assert is_final.wait(WAIT), sent
    assert "6 of 6" not in sent[0]
