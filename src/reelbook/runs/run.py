"""Run: one request to a model, from submission to media."""

from __future__ import annotations

import asyncio
import json
import threading
import time
import weakref
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from ..errors import Interrupted, InvalidInput, ReelbookError, RunTimeout
from ..media.local_file import LocalFile
from ..models.base import Input, Output
from ..models.catalog import find_endpoint
from ..models.images import Image, pictures_of, unwrap_pictures
from ..models.queue_status import COMPLETED, IN_PROGRESS
from ..storage.ledger.known_services import describe_maker
from ..storage.ledger.transitions import ATTACHED, Entry, State
from ..storage.run_status import get_end_status
from ..storage.table import find_marks
from ..transport.service_calls import Accepted
from ..util.background_loop import TICK_SECONDS, background
from ..util.printable import readable_id
from .follow import FollowedRun, error_kind_of

if TYPE_CHECKING:
    from .submit import ClientContext

WAIT_SECONDS = 3600.0


class Run(FollowedRun):
    """One run, as returned by `run`, `start` and `attach`. It is followed in the background.

    Example::

        run = rb.run(boat)
        run.status, run.credits, run.video.probe
    """

    def __init__(
        self,
        context: Callable[[], ClientContext],
        entry: Entry,
        *,
        input: Input | None = None,
        answer: Accepted | None = None,
        owned_elsewhere: bool = False,
        watched: bool = False,
    ) -> None:
        self.endpoint_id = entry.model
        self.input = input if input is not None else input_from_entry(entry)
        self.from_library = entry.state == State.STORED
        """Whether the result was already in the library, so that nothing was sent and nothing was paid."""
        self.displayed_in: int | None = None
        """Execution count of the cell that already displays this run, so that it is not displayed there twice."""
        sources = [getattr(picture, "label", picture) for _, picture in pictures_of(self.input)] if self.input else []
        super().__init__(context, entry, watched=watched, source=next(iter(sources), ""))
        self._started, self._took = time.monotonic(), 0.0
        self._done = threading.Event()
        context().ledger.live[entry.id] = self
        # Runs are created on the background loop, where all HTTP calls run.
        self._task = asyncio.get_running_loop().create_task(self._follow(answer, owned_elsewhere))

    @property
    def id(self) -> int:
        """Number of the run in the library."""
        return self.entry.id

    @property
    def take(self) -> int:
        """Which of several repetitions of the same input this is."""
        return self.entry.take

    @property
    def status(self) -> str:
        """`IN_QUEUE`, `IN_PROGRESS`, then `completed`, `failed` or `cancelled`.

        It is `uncertain` where a gateway has lost the answer of the service behind it, and `unfinished` after a failure on the client's side, while the run continued or ended at the service: it is
        no longer followed, and `rb.attach` resumes it at no cost.
        """
        if not self._done.is_set():
            return self._queue_status.status if self._queue_status.status != COMPLETED else IN_PROGRESS
        return get_end_status(self.failure)

    @property
    def progress(self) -> tuple[float, str]:
        """Fraction done, 0 to 1, and the current stage."""
        metrics = self._queue_status.metrics or {}
        if self._done.is_set():
            return 1.0, self.status
        if self._queue_status.status == COMPLETED:
            return 1.0, self._download_text
        if self._queue_status.queue_position is not None:
            return 0.0, f"{self._queue_status.queue_position} ahead in the queue"
        value = metrics.get("progress")
        fraction = float(value) if isinstance(value, (int, float)) else 0.0
        return min(max(fraction, 0.0), 1.0), str(metrics.get("stage") or "starting")

    @property
    def service_status(self) -> str:
        """Latest status from the service; when it is `COMPLETED`, the files may still be downloading."""
        return self._queue_status.status

    @property
    def queue_position(self) -> int | None:
        """Number of requests ahead in the queue, if the service reports it."""
        return self._queue_status.queue_position

    @property
    def output(self) -> Output:
        """The typed output; waits for it."""
        self.wait()
        assert self._output is not None
        _remember_media(self._output, self._media)
        return self._output

    @property
    def media(self) -> tuple[LocalFile, ...]:
        """All files of the output as local files; waits for them."""
        self.wait()
        return self._media

    @property
    def video(self) -> LocalFile:
        """The video; waits for it."""
        found = next((file for file in self.media if file.is_video), None)
        if found is None:
            raise ReelbookError(f"Run {readable_id(self.request_id)} made no video. Look at run.images.")
        return found

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
        return describe_maker(self.entry.service, self._context().ledger.folder)

    @property
    def timings(self) -> dict[str, float]:
        """Seconds in the queue (`queued`), in progress (`running`), and overall as measured by the client (`total`)."""
        entry = self.entry
        phases = {"queued": entry.queued_s, "running": entry.running_s}
        found = {name: seconds for name, seconds in phases.items() if seconds is not None}
        if self.from_library and entry.finished and entry.sent:
            return {**found, "total": round(entry.finished - entry.sent, 3)}
        return {**found, "total": round(self._took or time.monotonic() - self._started, 3)}

    @property
    def logs(self) -> list[str]:
        """Log lines so far, without repetitions; a long log is truncated to its last lines, after a note on that."""
        return list(self._log)

    @property
    def row(self) -> dict[str, Any]:
        """The run as a table row: input fields by name, output fields as `output_…`, then status, cost and timings."""
        inputs = {name: getattr(self.input, name) for name in type(self.input).model_fields} if self.input else {}
        outputs = {f"output_{name}": value for name, value in self._output or () if name != "video"}
        media, timings, failure = self._media, self.timings, self.failure
        for file in media:
            if file.is_video and "output_video" not in outputs:
                outputs |= {"output_video": str(file.path), "output_video_url": file.source.url}
        if pictures := [str(file.path) for file in media if not file.is_video]:
            # Where they are on this machine, as in the table of a sweep.
            outputs["output_images"] = pictures
        return {
            **inputs,
            **outputs,
            "status": self.status,
            "credits": self.credits,
            "credits_source": self.credits_source,
            "marks": find_marks(self.entry.files),
            "queued_s": timings.get("queued"),
            "running_s": timings.get("running"),
            "error_type": None if failure is None else error_kind_of(failure),
            "error": None if failure is None else str(failure),
            "request_id": self.request_id,
            "model": self.endpoint_id,
            "take": self.take,
        }

    def wait(self, timeout: float | None = None) -> Run:
        """Wait until the run is finished and its media are downloaded, for at most `timeout` seconds (default 3600).

        An interrupt ends the wait, never the run.
        """
        if not self._done.is_set():
            self._context()  # In a forked process nothing would ever end the wait.
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
        if self._done.is_set():
            return False
        return background.wait(self._context().calls.cancel(self.endpoint_id, self.request_id), timeout=60)

    def revised(self, /, **changes: Any) -> Run:
        """Start a new run with some fields of the input changed."""
        if self.input is None:
            raise ReelbookError(
                f"The input of run {readable_id(self.request_id)} is unknown here, because it was started on another machine. Start a new run with an input of your own."
            )
        started: Run = self._context().start(self.input.revised(**changes))
        return started

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
        await asyncio.wait([self._task])

    def is_followed_by(self, context: ClientContext) -> bool:
        """Whether the client with this context follows the run."""
        return self._context() is context

    def stop_following(self) -> None:
        """Stop following the run, which continues at the service."""
        self._task.cancel()

    def __repr__(self) -> str:
        what = [self.status, f"request {readable_id(self.request_id)}"]
        if self._done.is_set() and self.failure is None:
            paid = f"{self.credits} credits" if self.credits is not None else "credits unknown"
            what += [str(file.path) for file in self._media]
            what += [f"from the library, paid before ({paid})" if self.from_library else paid]
        return f"<Run of {self.endpoint_id}: {', '.join(what)}>"

    def __reel_key__(self) -> tuple[str, str, str, int]:
        """Key of the run in a library: service, request id, identity and take."""
        entry = self.entry
        return entry.service, entry.request_id or "", entry.identity, entry.take

    def __reel_picture__(self) -> tuple[bytes, str]:
        file = next((file for file in self.media if file.is_video), None) or next(iter(self.images), None)
        if file is None:
            raise ReelbookError(f"Run {readable_id(self.request_id)} made no picture or video that could be a source.")
        return file.__reel_picture__()

    async def _wait_async(self) -> Run:
        # Polled, because an interrupt of a notebook's cell is only delivered when its loop wakes.
        try:
            while not self._done.is_set():
                await asyncio.sleep(0.02 if time.monotonic() - self._started < 5 else TICK_SECONDS)
        except asyncio.CancelledError:
            # Jupyter interrupts an awaiting cell by cancellation.
            raise asyncio.CancelledError(self.resume_hint) from None
        return self.wait(0)

    async def _follow(self, answer: Accepted | None, owned_elsewhere: bool) -> None:
        try:
            await self._follow_to_end(answer, owned_elsewhere)
        finally:
            self._took = time.monotonic() - self._started
            self._done.set()
            self._notify_listeners()


_media: dict[int, tuple[weakref.ref[Output], tuple[LocalFile, ...]]] = {}
"""The files of each output that is still referenced, by its `id()`."""


def media_of(output: Output) -> tuple[LocalFile, ...]:
    """The local files of a run's output; empty for an output not returned by a run."""
    output_ref, files = _media.get(id(output), (None, ()))
    return files if output_ref is not None and output_ref() is output else ()


def _remember_media(output: Output, files: tuple[LocalFile, ...]) -> None:
    """Associate files with an output for its lifetime, without changing the output itself."""
    if id(output) not in _media:
        key = id(output)
        _media[key] = weakref.ref(output, lambda _: _media.pop(key, None)), files


def input_from_entry(entry: Entry) -> Input | None:
    """The typed input of a ledger row; None if it is attached, invalid, or of a model outside the catalog."""
    row = find_endpoint(entry.model)
    if row is None or entry.identity.startswith(ATTACHED):
        return None
    try:
        return row.input(**unwrap_pictures(json.loads(entry.input), Image.from_library))
    except InvalidInput:
        return None
