"""Run: one request to a model, from submission to media; and the cancelling of several in a service's queue."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import Counter
from collections.abc import Callable, Collection, Generator
from typing import TYPE_CHECKING, Any

from ..errors import Interrupted, InvalidInput, ReelbookError, RunTimeout
from ..media.local_file import LocalFile
from ..models.base import Input, Output
from ..models.catalog import find_endpoint
from ..models.images import Image, unwrap_pictures
from ..models.queue_status import COMPLETED, IN_PROGRESS, IN_QUEUE
from ..storage.ledger.transitions import ATTACHED, Entry, State
from ..storage.ledger.writer import describe_maker
from ..storage.run_status import get_end_status
from ..storage.shelf import Shelf
from ..storage.table import READ_COLUMNS, build_table
from ..transport.answers import Accepted
from ..util.background_loop import TICK_SECONDS, background
from ..util.printable import format_count, readable_id
from .follow import FollowedRun, find_end

if TYPE_CHECKING:
    from .submit import ClientContext

WAIT_SECONDS = 3600.0
NOTICE_SECONDS = 5.0
"""How long to wait for cancelled runs to end; polling notices it later anyway."""


class Run(FollowedRun):
    """One run, as returned by `run`, `start` and `attach`. It is followed in the background.

    Example::

        run = rb.run(boat)
        run.status, run.credits, run.video.probe
    """

    def __init__(
        self,
        context: ClientContext,
        entry: Entry,
        *,
        input: Input | None = None,
        answer: Accepted | None = None,
        owned_elsewhere: bool = False,
        watched: bool = False,
    ) -> None:
        self.id = entry.id
        """Number of the run in the library."""
        self.take = entry.take
        """Which of several repetitions of the same input this is."""
        self.endpoint_id = entry.model
        self.displayed_in: int | None = None
        """Execution count of the cell that already displays this run, so that it is not displayed there twice."""
        super().__init__(context, entry, input or input_from_entry(entry), watched=watched)
        self._task: asyncio.Task[None] | None = None
        self.from_library = entry.state == State.STORED
        """Whether the result was already in the library, so that nothing was sent and nothing was paid."""
        self.failure = find_end(entry)
        if self.failure is not None or self._load():
            self._took = 0.0
            self._done.set()
        else:
            context.ledger.live[entry.id] = self
            # Runs that are not over are created on the background loop, where all HTTP calls run.
            self._task = asyncio.get_running_loop().create_task(self._follow(answer, owned_elsewhere))

    @property
    def status(self) -> str:
        """`IN_QUEUE`, `IN_PROGRESS`, then `completed`, `failed` or `cancelled`.

        It is `uncertain` where a gateway has lost the answer of the service behind it, and `unfinished` after a failure on the
        client's side, while the run continued or ended at the service: `rb.attach` resumes it at no cost.
        """
        if not self._done.is_set():
            return self.queue_status.status if self.queue_status.status != COMPLETED else IN_PROGRESS
        return get_end_status(self.failure)

    @property
    def progress(self) -> tuple[float, str]:
        """Fraction done, 0 to 1, and the current stage."""
        status, metrics = self.queue_status, self.queue_status.metrics or {}
        if self._done.is_set():
            return 1.0, self.status
        if status.status == COMPLETED:
            return 1.0, "fetching the files"
        if status.queue_position is not None:
            return 0.0, f"{status.queue_position} ahead in the queue"
        value = metrics.get("progress")
        fraction = float(value) if isinstance(value, (int, float)) else 0.0
        return min(max(fraction, 0.0), 1.0), str(metrics.get("stage") or "starting")

    @property
    def output(self) -> Output:
        """The typed output; waits for it."""
        self.wait()
        assert self._output is not None
        return self._output

    @property
    def media(self) -> tuple[LocalFile, ...]:
        """All files of the output as local files; waits for them."""
        self.wait()
        return self._media

    @property
    def video(self) -> LocalFile:
        """The video; waits for it."""
        for file in self.media:
            if file.is_video:
                return file
        raise ReelbookError(f"Run {readable_id(self.request_id)} made no video. Look at run.images.")

    @property
    def images(self) -> tuple[LocalFile, ...]:
        """The pictures, in the order of the output; waits for them."""
        return tuple(file for file in self.media if not file.is_video)

    @property
    def credits(self) -> int | None:
        """Credits that the run has cost, or may have cost: see `credits_source`. None if unknown.

        A run that failed or was cancelled is estimated at its price, until the service says what it charges for that.
        """
        return self.entry.credits

    @property
    def credits_source(self) -> str:
        """`charged` if the service reported the charge, else `estimated`."""
        return self.entry.credits_source

    @property
    def made_by(self) -> str:
        """Who made it: the address of a hosted service, or "embedded sketch, free"."""
        return describe_maker(self.entry.service, self.context.ledger.folder)

    @property
    def timings(self) -> dict[str, float]:
        """Seconds in the queue (`queued`), in progress (`running`), and overall as measured by the client (`total`)."""
        entry = self.entry
        total = time.monotonic() - self._started if self._took is None else self._took
        if self.from_library and entry.finished and entry.sent:
            total = entry.finished - entry.sent
        phases = {"queued": entry.queued_s, "running": entry.running_s, "total": round(total, 3)}
        return {name: seconds for name, seconds in phases.items() if seconds is not None}

    @property
    def logs(self) -> list[str]:
        """Log lines so far, without repetitions; a long log is truncated to its last lines, after a note on that."""
        return list(self._log)

    @property
    def row(self) -> dict[str, Any]:
        """The run as a row of the library's table, with its present status."""
        rows = self.context.ledger.select(", ".join(READ_COLUMNS), "id = ?", (self.id,))
        paths = dict(zip(self.entry.hashes, (str(file.path) for file in self._media), strict=False))
        row = build_table(rows, paths).iloc[0]
        return {**dict(zip(map(str, row.index), row, strict=True)), "status": self.status}

    def wait(self, timeout: float | None = None) -> Run:
        """Wait until the run is finished and its media are downloaded, for at most `timeout` seconds (default 3600).

        An interrupt ends the wait, never the run.
        """
        limit = WAIT_SECONDS if timeout is None else timeout
        deadline = time.monotonic() + limit
        # Not `Thread.join` or the future, which may return early after an interrupt.
        try:
            while not self._done.wait(min(TICK_SECONDS, max(deadline - time.monotonic(), 0.0))):
                if time.monotonic() >= deadline:
                    raise RunTimeout(self.request_id, self.status, limit)
        except KeyboardInterrupt:
            raise Interrupted(self.resume_hint) from None
        if self.failure is not None:
            raise self.failure.with_traceback(None)
        return self

    def __await__(self) -> Generator[Any, None, Run]:
        return self._wait_async().__await__()

    def cancel(self) -> bool:
        """Ask the service to cancel the run; return whether it agreed."""
        return not self._done.is_set() and background.wait(self.request_cancel(), timeout=60)

    async def request_cancel(self) -> bool:
        """Like `cancel`, for callers on the background loop."""
        agreed = await self.context.calls.cancel(self.endpoint_id, self.request_id)
        self.context.poller.poll_soon(self.request_id)
        return agreed

    def on_change(self, listener: Callable[[Run], None]) -> None:
        """Call `listener` with the run on every change, from a background thread."""
        self._listeners.append(listener)

    @property
    def resume_hint(self) -> str:
        """Message for an interrupted wait: the run continues, and how to resume or cancel it."""
        return (
            f"You stopped waiting; run {readable_id(self.request_id)} continues at the service. Run the cell again to wait for it, or: "
            f"rb.attach({self.request_id!r}, model={self.endpoint_id!r}), then .wait() or .cancel()."
        )

    async def wait_finished(self) -> None:
        """Wait for the end on the background loop, without raising the error of a failed run."""
        if self._task is not None:
            await asyncio.wait([self._task])

    def stop_following(self) -> None:
        """Stop following the run, which continues at the service."""
        if self._task is not None:
            self._task.cancel()

    def __repr__(self) -> str:
        what = [self.status, f"request {readable_id(self.request_id)}"]
        if self._done.is_set() and self.failure is None:
            paid = f"{self.credits} credits" if self.credits is not None else "credits unknown"
            what += [str(file.path) for file in self._media]
            what += [f"from the library, paid before ({paid})" if self.from_library else paid]
        return f"<Run of {self.endpoint_id}: {', '.join(what)}>"

    def __reel_picture__(self) -> tuple[bytes, str]:
        if not self.media:
            raise ReelbookError(f"Run {readable_id(self.request_id)} made no picture or video that could be a source.")
        return next((file for file in self.media if file.is_video), self.media[0]).__reel_picture__()

    async def _wait_async(self) -> Run:
        # Polled, because an interrupt of a notebook's cell is only delivered when its loop wakes.
        try:
            while not self._done.is_set():
                await asyncio.sleep(0.02 if time.monotonic() - self._started < 5 else TICK_SECONDS)
        except asyncio.CancelledError:
            # Jupyter interrupts an awaiting cell by cancellation.
            raise asyncio.CancelledError(self.resume_hint) from None
        return self.wait(0)


def input_from_entry(entry: Entry) -> Input | None:
    """The typed input of a ledger row; None if it is attached, invalid, or of a model outside the catalog."""
    row = find_endpoint(entry.model)
    if row is None or entry.identity.startswith(ATTACHED):
        return None
    try:
        return row.input(**unwrap_pictures(json.loads(entry.input), Image.from_library))
    except InvalidInput:
        return None


def is_over(entry: Entry, shelf: Shelf) -> bool:
    """Whether a run is finished and its files are on the shelf, so that no service is needed."""
    if entry.state == State.STORED:
        return all(shelf.find(sha256) is not None for sha256 in entry.hashes)
    return find_end(entry) is not None


async def cancel_runs(runs: Collection[Run], *, at_work: bool = False) -> str:
    """Cancel the runs that are still queued, with `at_work` also those in progress, and say what came of it."""
    returned = 0

    async def cancel(run: Run) -> str:
        nonlocal returned
        before = run.credits or 0
        try:
            # Polled first, because it may have started in the meantime.
            if not at_work:
                status = (await run.context.calls.status(run.endpoint_id, run.request_id)).status
                if status != IN_QUEUE:
                    return "at work" if status == IN_PROGRESS else "over"
            if not await run.request_cancel():
                return "refused"
        except ReelbookError:
            return "refused"
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(run.wait_finished(), NOTICE_SECONDS)
        # Only what the service says: the specification does not promise a refund.
        returned += max(before - (run.credits or 0), 0)
        return "cancelled"

    counts = Counter(await asyncio.gather(*(cancel(run) for run in runs if run.queue_status.status != COMPLETED)))
    parts = {
        "cancelled": f"cancelled, {returned:,} credits come back." if returned else "cancelled.",
        "at work": "being worked on and not stopped.",
        "refused": "not cancelled and may still cost credits; look again in a moment.",
    }
    words = [
        f"{format_count(counts[end], 'run')} {'is' if counts[end] == 1 else 'are'} {what}"
        for end, what in parts.items()
        if counts[end]
    ]
    return " ".join(words) or "No runs are waiting in the service's queue."
