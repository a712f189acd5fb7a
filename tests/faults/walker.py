"""What clients of the random walk and of races do, in processes of their own that may be killed at any moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.faults.nursery import DOT, PATIENCE, tell


def walked(
    address: str,
    key: str,
    library: Path,
    numbers: Sequence[int],
    *,
    by: str = "sweep",
    budget: int | None = None,
    rule: str = "",
) -> None:
    """Make the clips of these numbers, `by` a sweep or one run after another; `rule`: with the old rule, as a control."""
    import reelbook as rb
    from reelbook.transport import poller

    hurry(pytest.MonkeyPatch())  # For all of its life.
    poller.GIVE_UP_SECONDS = 1.5
    if rule:
        _follow_the_old_rule()
    try:
        tell("ready")
        with rb.connect(address, api_key=key, library=library) as client:
            base = rb.ImagesToVideo(images=[rb.Frame(url=DOT, frames=1)])
            if by == "sweep":
                rb.sweep(base, fps=[number + 1 for number in numbers]).run(budget=budget, client=client)
            else:
                runs = [_tried(lambda n=number: client.start(base.revised(fps=n + 1))) for number in numbers]  # type: ignore[misc]
                for run in runs:
                    if run is not None:
                        _tried(lambda run=run: run.wait(PATIENCE / 2))  # type: ignore[misc]
        tell("over")
    except KeyboardInterrupt:
        tell("interrupted")
    except rb.ReelbookError as error:
        tell(f"stopped {type(error).__name__} {error}"[:200])


def _tried(work: Callable[[], Any]) -> Any:
    """What some work gives, None where it ends in an error of ours; any other one shows as a traceback."""
    import reelbook as rb

    try:
        return work()
    except rb.ReelbookError:
        return None


def hurry(patch: pytest.MonkeyPatch) -> None:
    """The same rules in a shorter life."""
    from reelbook.transport import answers, downloader, http, poller
    from reelbook.transport.http import RetryPolicy

    policy = RetryPolicy(free_seconds=8, attempt_seconds=4, paid_seconds=4, backoff_seconds=0.005, max_attempts=3)
    patch.setattr(http, "RetryPolicy", lambda: policy)
    patch.setattr(answers, "RESULT_SECONDS", 0.3)
    patch.setattr(answers, "REFUSED_SECONDS", 1.5)
    patch.setattr(downloader, "PAUSE_SECONDS", 0.01)
    patch.setattr(poller, "FIRST_FAILURE_SECONDS", 0.05)
    patch.setattr(poller, "MAX_PAUSE_SECONDS", 0.5)
    patch.setattr(poller, "FIRST_SECONDS", 0.02)


def _follow_the_old_rule() -> None:
    from reelbook.errors import RunFailed
    from reelbook.transport import answers

    answers.get_end_by_refusal = lambda request_id, error: RunFailed(request_id, str(error), None)


RACE_BUDGET = 530
"""Of 24 runs, which cost more than twice as much."""


def begin_race(seed: int) -> Any:
    """The race, in whatever process."""
    from tests.decide.races import make_plan, merit

    return make_plan(3, 2, 4).race(by=merit, over="fps", budget=RACE_BUDGET, seed=seed, concurrency=2)


def race_to_the_end(address: str, key: str, library: Path, seed: int) -> None:
    import reelbook as rb

    with rb.connect(address, api_key=key, library=library):
        begin_race(seed).wait()
