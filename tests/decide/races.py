"""Plans for races of the quickest jobs there are, with known merits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import reelbook as rb
from reelbook.models.base import Input
from reelbook.sweeps.plan import Plan, sweep
from tests.support import png

PRICE = 53
BASE = rb.ImagesToVideo(images=[rb.Frame(url=png(16, 16), frames=1), rb.Frame(url=png(16, 16), frames=1)])
FIRST, SECOND = "images[0].frames", "images[1].frames"
NOWHERE = "http://127.0.0.1:9/none.png"
"""A picture that the service refuses to fetch, so that a run of it fails there, and is not charged."""


def make_plan(first: int = 3, second: int = 2, repeats: int = 4, **axes: Sequence[Any]) -> Plan:
    """Settings of how long each of two pictures is held; the speed only repeats them."""
    held = {FIRST: range(1, first + 1), SECOND: range(1, second + 1)}
    return sweep(BASE, {name: values for name, values in held.items() if len(values) > 1}, fps=[float(2 + number) for number in range(repeats)], **axes)  # fmt: skip


def race(plan: Plan, **choices: Any) -> Any:
    """A race of such a plan to its end."""
    return plan.race(**{"by": merit, "over": "fps", **choices}).wait(60)


def merit(run: Any) -> float:
    """Long first pictures are good; the speed is noise."""
    return utility(run.input)


def utility(request: Input) -> float:
    first, second = (frame.frames for frame in request.images)  # type: ignore[attr-defined]
    noise = (request.fps * 37 + first * 11 + second * 5) % 7 / 7  # type: ignore[attr-defined]
    return float(3 * first + second + noise)
