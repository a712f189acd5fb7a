"""A plan and a running sweep as pictures: pure functions of what is known."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import reelbook as rb
from reelbook.display.live import watch_job
from reelbook.display.sweep_panel import HINT, format_panel, plan_card, render_panel
from reelbook.storage.run_status import STATUSES
from reelbook.sweeps.job import SweepJob
from reelbook.sweeps.progress import Group, Progress, Result, format_interrupt
from tests.support import png

HOSTILE = "<img src=x onerror=alert(1)>"
BOAT = rb.TextToVideo(prompt=HOSTILE, seed=7)


def progress(**changes: Any) -> Progress:
    """A sweep of ten, half-way."""
    known: dict[str, Any] = {
        "state": "running", "reason": None, "from_library": 1, "spent": 159, "reserved": 106, "spent_now": 159,
        "reserved_now": 106, "budget": 530, "spend": None, "per_minute": 12.0,
        "seconds_left": 25.0, "elapsed": 15.2, "failures": (), "results": (),
    }  # fmt: skip
    counts = {"completed": 4, "running": 2, "not started": 3, "failed": 1}
    return Progress(**{"counts": {**dict.fromkeys(STATUSES, 0), **counts}, **known, **changes})


def test_a_plan_shows_axes_price_and_what_cannot_run() -> None:
    """Each with its number, in words that are words."""
    card = plan_card(rb.sweep(BOAT, num_frames=[49, 97, 5000], aspect_ratio=["16:9", "1:1"]))

    assert all(
        told in card for told in ("6 runs of", "212 credits (assumed)", "num_frames", "49, 97, 5000", "2 impossible")
    )
    assert HOSTILE not in card
    assert "&lt;img src=x" in card


def test_a_panel_tells_counts_money_time_and_failures() -> None:
    """Everything at one glance, and the same on one line."""
    group = Group("image_load_error", 1, 3, HOSTILE)

    html, line = render_panel(progress(failures=(group,))), format_panel(progress())

    assert line == (
        "5 of 10 · 4 completed · 1 of them from the library · 2 running · 1 failed · 3 not started · "
        "159 of 530 credits spent · 106 more set aside · 15 s · 12 a minute · about 25 s left"
    )
    assert all(
        told in html
        for told in (
            'aria-valuenow="5"', "</span> 1 of them from the library", "</span> 1 · image load error · run 3",
        )
    )  # fmt: skip
    assert "5 of 10 · 159 of 530 credits spent · 106 more set aside" in " ".join(re.sub(r"<[^>]*>", "", html).split())
    # Every sign of a state has the colour of its state.
    signs = dict(re.findall(r"--rb-(\w+)\) 75%,var\(--rb-ink\)\)\">(.)</span>", html))
    assert signs == {"good": "◉", "accent": "◑", "bad": "✕", "soft": "○"}
    assert HOSTILE not in html


@pytest.mark.parametrize(
    ("changes", "words", "is_there"),
    [
        ({"state": "stopping", "reason": "the budget is used up"}, "Stopping: the budget is used up", True),
        ({"state": "done", "reason": "the budget is used up"}, "Stopped: the budget is used up", True),
        # A place for results is kept while it runs; where everything came from the library there is nothing to show.
        ({}, "min-height:82px", True),
        ({"state": "done"}, "min-height:82px", False),
        # A blocked kernel handles no buttons; what stays in the notebook says nothing of it.
        ({}, "start(…) in place of run(…)", True),
        ({"state": "done"}, "start(…) in place of run(…)", False),
        # A kernel that has ended updates nothing: what stays names the time.
        ({}, "If the kernel has ended since, the sweep ended with it: run its cells again", True),
        ({"state": "done"}, "If the kernel has ended since", False),
    ],
)
def test_a_panel_says_what_holds_in_its_state(changes: dict[str, Any], words: str, *, is_there: bool) -> None:
    """While the sweep runs, while its last runs end, and afterwards."""
    assert (words in render_panel(progress(**changes), hint=HINT)) is is_there


def test_the_latest_results_are_small_pictures_and_a_broken_one_is_left_out(tmp_path: Path) -> None:
    """Inside the panel itself, so that a saved notebook has them."""
    good, bad = tmp_path / "a.png", tmp_path / "b.png"
    good.write_bytes(png(640, 320))
    bad.write_bytes(b"no picture")
    values = {"seed": 7, "resolution": "480p"}
    files = tuple(Result(number, path, values) for number, path in ((7, good), (8, bad)))

    html = render_panel(progress(results=files))

    assert html.count("<img ") == 1
    # Told apart by what varies, and it says that there are more.
    assert 'alt="seed 7 · 480p"' in html
    assert html.count("seed 7 · 480p") == 3
    assert "1 of 4 results" in html
    assert len(html) < 20_000


def test_in_a_terminal_it_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Written over and over, and left standing at the end; where nobody looks, nothing is written."""
    job = cast(SweepJob, SimpleNamespace(progress=progress()))
    terminal, file = io.StringIO(), io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]

    for stream in (terminal, file):
        monkeypatch.setattr(sys, "stderr", stream)
        with watch_job(job):
            pass

    assert terminal.getvalue().count("\n") == 1
    assert terminal.getvalue().endswith("\n")
    assert "5 of 10" in terminal.getvalue()
    assert file.getvalue() == ""


def test_an_interrupt_says_what_goes_on_and_how_to_stop_what_waits() -> None:
    """Two are worked on, three queue, and the line to type names the credits that come back."""
    counts = {**dict.fromkeys(STATUSES, 0), "completed": 1, "running": 2, "waiting": 3, "not started": 54}

    words = format_interrupt(progress(counts=counts, reserved=265, queued=3, queued_credits=159))

    assert words == (
        "You interrupted a sweep: 1 of 60 runs completed, and 54 runs will not be sent. "
        "5 runs under way will go on in the background, and may still cost 265 credits. "
        "To cancel the 3 in the service's queue and get 159 credits back: rb.cancel_queued(). "
        "Run the same plan again to continue: nothing is paid for twice."
    )


def test_the_first_rows_of_a_plan_are_folded_into_its_card() -> None:
    """With the values of the axes and the price of each; an impossible one says so."""
    card = plan_card(rb.sweep(BOAT, num_frames=[49, 5000, 97, 121, 145, 169]))

    rows = re.findall(r"<tr.*?</tr>", card.partition("<details")[2], re.DOTALL)
    assert len(rows) == 1 + 5
    assert "53" in rows[1]
    assert "✕ impossible" in rows[2]
    assert "plan.frame has all 6" in card
