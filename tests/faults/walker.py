"""What a client of the random walk does, in a process of its own that may be killed or interrupted at any moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

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

    _hurry()
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


def _hurry() -> None:
    """The same rules in a shorter life."""
    from reelbook.runs import follow, submit
    from reelbook.transport import answers, downloader, http, poller
    from reelbook.transport.http import RetryPolicy

    http.RetryPolicy = lambda: RetryPolicy(  # type: ignore[misc, assignment]
        free_seconds=4, attempt_seconds=2, large_seconds=6, paid_seconds=3, backoff_seconds=0.005, max_attempts=3
    )
    setattr(follow, "RESULT_SECONDS", 0.3)  # noqa: B010  # Names of other modules, which it has taken over.
    answers.REFUSED_SECONDS, poller.GIVE_UP_SECONDS = 0.8, 1.5
    poller.FIRST_FAILURE_SECONDS, poller.MAX_PAUSE_SECONDS = 0.02, 0.3
    submit.MAX_BUSY_SECONDS = 1.0
    downloader.PAUSE_SECONDS, poller.FIRST_SECONDS = 0.01, 0.02


def _follow_the_old_rule() -> None:
    from reelbook.errors import RunFailed
    from reelbook.transport import answers

    answers.get_end_by_refusal = lambda request_id, error: RunFailed(request_id, str(error), None)
