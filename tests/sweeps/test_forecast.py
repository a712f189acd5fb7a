"""How long a plan may take: told by what the library has seen."""

from __future__ import annotations

from pathlib import Path

import reelbook as rb
from tests.sweeps.dots import Scripted
from tests.transport.variants import Hosted

BOAT = rb.TextToVideo(prompt="a paper boat", num_frames=25, resolution="480p", aspect_ratio="1:1")


def test_a_plan_tells_its_time_once_something_like_it_has_run(tmp_path: Path) -> None:
    """Three runs in one minute, some of them at once: three more take a minute."""
    with Hosted() as hosted, rb.connect(hosted.base_url, api_key="a-key", library=tmp_path / "library") as client:
        scripted = Scripted(hosted)
        scripted.end.set()
        plan, more = (rb.sweep(BOAT, seed=range(first, first + 3)) for first in (0, 10))
        before = plan.facts.seconds
        plan.run(budget=plan.credits)
        times = [(0, 40, 1), (10, 30, 2), (100, 120, 3)]
        client.ledger.transact_now(
            lambda db: db.executemany("UPDATE runs SET sent = ?, finished = ? WHERE id = ?", times)
        )
        told = more.facts.seconds

    assert (before, told) == (None, 60.0)
